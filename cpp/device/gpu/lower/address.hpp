// How kernels know where memory is: the forms of an address, and how C++ spells what shaders/address.glsl defines. The
// text of a kernel is the same in every form but for a line in front. Knows no Vulkan.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>

namespace sg::glsl {

enum class AddressForm : uint8_t {
  pointer,  // 64-bit integers
  pair,     // two words of 32 bits each, offsets of 32 bits
};
// What SPIROGRAD_ADDRESSES calls it; ValueError.
AddressForm address_form(const std::string& name);
constexpr int64_t kMostPairBytes = INT32_MAX;  // of a tensor whose kernels have pairs

// The source of a shader, which begins with #version, in a form.
std::string in_form(AddressForm form, const std::string& source);

// The address `bytes` behind another, and a number as an Offset.
std::string address_add(const std::string& address, const std::string& bytes);
std::string offset_text(size_t number);

}  // namespace sg::glsl
