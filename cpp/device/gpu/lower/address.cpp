// The forms of an address. Twin: shaders/address.glsl.
#include "device/gpu/lower/address.hpp"

#include "base/error.hpp"

namespace sg::glsl {

AddressForm address_form(const std::string& name) {
  if (name == "pointers") return AddressForm::pointer;
  if (name == "pairs") return AddressForm::pair;
  fail<ValueError>("SPIROGRAD_ADDRESSES", "'" + name + "' is not a form of addresses", "use pointers or pairs");
}

std::string in_form(AddressForm form, const std::string& source) {
  if (form == AddressForm::pointer) return source;
  const size_t line = source.find('\n') + 1;  // behind #version
  return source.substr(0, line) + "#define SG_ADDRESS_PAIRS\n" + source.substr(line);
}

std::string address_add(const std::string& address, const std::string& bytes) {
  return "address_add(" + address + ", " + bytes + ")";
}

std::string offset_text(size_t number) { return "Offset(" + std::to_string(number) + ")"; }

}  // namespace sg::glsl
