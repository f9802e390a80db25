// How GLSL spells types, literals, instructions and accesses to memory. Formulas are in math/alu.def and shaders/;
// nothing here knows a layout.
#include "device/gpu/lower/glsl.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstring>

namespace sg::glsl {
namespace {

int at(DType t) { return static_cast<int>(t); }

// The shortest decimal that gives the same number when it is read (std::to_chars), with a point, so that GLSL does not
// take it for an integer.
template <class F>
std::string shortest(F v) {
  char buffer[64];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, v).ptr;
  std::string s(buffer, end);
  if (s.find_first_of(".e") == std::string::npos) s += ".0";
  return v < 0 || std::signbit(v) ? "(" + s + ")" : s;
}

// Infinities and NaN have no literal in GLSL: they are written as bits.
std::string float_literal(double d) {
  const float f = static_cast<float>(d);
  if (std::isfinite(f)) return shortest(f);
  uint32_t bits;
  std::memcpy(&bits, &f, sizeof bits);
  char text[40];
  std::snprintf(text, sizeof text, "uintBitsToFloat(0x%08xu)", bits);
  return text;
}

std::string double_literal(double d) {
  if (std::isfinite(d)) {
    const std::string s = shortest(d);
    return s.back() == ')' ? s.substr(0, s.size() - 1) + "lf)" : s + "lf";
  }
  uint64_t bits;
  std::memcpy(&bits, &d, sizeof bits);
  char text[60];
  std::snprintf(text, sizeof text, "uint64BitsToDouble(0x%016llxul)", static_cast<unsigned long long>(bits));
  return text;
}

std::string call(const std::string& f, std::initializer_list<std::string> arguments) {
  std::string s = f + "(";
  for (const std::string& a : arguments) s += (s.back() == '(' ? "" : ", ") + a;
  return s + ")";
}

// GLSL has no arithmetic on booleans; this gives what math/alu.hpp computes for bool. Empty: no special text is needed.
std::string boolean_expression(Code c, const std::string& a, const std::string& b) {
  switch (c) {
    case Code::add:
    case Code::maximum:
    case Code::bit_or:
      return a + " || " + b;
    case Code::mul:
    case Code::minimum:
    case Code::bit_and:
      return a + " && " + b;
    case Code::sub:
    case Code::bit_xor:
      return a + " != " + b;
    case Code::lt:
      return "!" + a + " && " + b;
    case Code::le:
      return "!" + a + " || " + b;
    case Code::neg:
    case Code::abs:
      return a;
    default:
      return "";
  }
}

std::string cast_expression(DType from, DType to, const std::string& a) {
  if (from == to || to == wide_of(from)) return a;  // a narrow value is held in its wide type
  // alu.glsl tests for zero by bits, and gives the CPU's value for a float outside the integer's range.
  if (is_float(from) && !is_float(to))
    return call(std::string("alu_cast_") + (to == DType::boolean ? "boolean" : name_of(to)), {a});
  if (to == DType::boolean) return a + " != " + literal(from, Number{});
  switch (to) {
    case DType::uint8:
      return a + " & 255";
    case DType::int8:
      return "(" + a + " << 24) >> 24";
    case DType::int16:
      return "(" + a + " << 16) >> 16";
    case DType::float16:
    case DType::bfloat16:
      return call(std::string("round_") + name_of(to), {a});
    default:
      return call(type_name(to), {a});
  }
}

}  // namespace

const char* type_name(DType t) {
  constexpr const char* names[] = {"bool", "int", "int", "int", "int", "int64", "float", "float", "float", "double"};
  return names[at(t)];
}
const char* vector_name(DType t) {
  constexpr const char* names[] = {"bvec4",   "ivec4", "ivec4", "ivec4", "ivec4",
                                   "int64x4", "vec4",  "vec4",  "vec4",  "dvec4"};
  return names[at(t)];
}
const char* memory_name(DType t) {
  constexpr const char* names[] = {"Bool",  "Uint8",   "Int8",     "Int16",   "Int32",
                                   "Int64", "Float16", "Bfloat16", "Float32", "Float64"};
  return names[at(t)];
}

std::string literal(DType t, Number n) {
  switch (t) {
    case DType::boolean:
      return n.i ? "true" : "false";
    case DType::int32:
      if (n.i == INT32_MIN) return "int(0x80000000u)";
      return n.i < 0 ? "(" + std::to_string(n.i) + ")" : std::to_string(n.i);
    case DType::int64:
      if (n.i == INT64_MIN) return "int64(0x8000000000000000ul)";
      return n.i < 0 ? "(" + std::to_string(n.i) + "l)" : std::to_string(n.i) + "l";
    case DType::float32:
      return float_literal(n.f);
    case DType::float64:
      return double_literal(n.f);
    default:
      return "";  // no constant has a narrow type
  }
}

std::string identity(Fold f, DType t) {
  Number n{};
  const bool low = f == Fold::maximum;
  if (f == Fold::sum) return literal(t, n);
  if (f == Fold::product) return literal(t, is_float(t) ? Number{.f = 1} : Number{.i = 1});
  if (is_float(t))
    n.f = low ? -INFINITY : INFINITY;
  else if (t == DType::boolean)
    n.i = low ? 0 : 1;
  else if (t == DType::int32)
    n.i = low ? INT32_MIN : INT32_MAX;
  else
    n.i = low ? INT64_MIN : INT64_MAX;
  return literal(t, n);
}

std::string combine(Fold f, DType t, const std::string& a, const std::string& b) {
  const char* name = f == Fold::maximum ? "maximum" : "minimum";
  if (f == Fold::sum) return a + (t == DType::boolean ? " || " : " + ") + b;
  if (f == Fold::product) return a + (t == DType::boolean ? " && " : " * ") + b;
  if (t == DType::boolean) return a + (f == Fold::maximum ? " || " : " && ") + b;
  return is_float(t) ? call(std::string("alu_") + name, {a, b}) : call(f == Fold::maximum ? "max" : "min", {a, b});
}

std::string expression(const Program& p, const Instr& i, const std::function<std::string(int32_t)>& operand) {
  const std::string a = operand(i.a), b = i.b >= 0 ? operand(i.b) : "", c = i.c >= 0 ? operand(i.c) : "";
  const DType from = p.code[i.a].dtype;
  if (i.code == Code::cast) return cast_expression(from, i.dtype, a);
  if (i.code == Code::select) return a + " ? " + b + " : " + c;
  if (i.code == Code::check_index) return call("check_index", {a, b, std::to_string(i.imm.i)});
  if (from == DType::boolean)
    if (std::string text = boolean_expression(i.code, a, b); !text.empty()) return text;
  if (*infix_of(i.code)) return arity_of(i.code) == 1 ? infix_of(i.code) + a : a + " " + infix_of(i.code) + " " + b;
  if (!is_float(from)) {
    if (i.code == Code::abs) return call("abs", {a});
    if (i.code == Code::maximum) return call("max", {a, b});
    if (i.code == Code::minimum) return call("min", {a, b});
  }
  const std::string f = std::string("alu_") + name_of(i.code);
  if (arity_of(i.code) == 1) return call(f, {a});
  return arity_of(i.code) == 2 ? call(f, {a, b}) : call(f, {a, b, c});
}

// Whether the text will call something of alu.glsl, whose parsing takes time.
// Asks the text itself, so that it cannot differ from what is written later.
static bool calls_alu(const Program& p) {
  for (const Instr& i : p.code) {
    if (i.code == Code::reduce && (i.fold == Fold::maximum || i.fold == Fold::minimum) && is_float(i.dtype))
      return true;
    if (i.code <= Code::store_at) continue;
    if (expression(p, i, [](int32_t) { return "x"; }).find("alu_") != std::string::npos) return true;
  }
  return false;
}

std::string alu_includes(const Program& p) {
  constexpr struct {
    const char* file;
    Code first, last;
  } kFamilies[] = {{"alu_log.glsl", Code::expm1, Code::log10},
                   {"alu_inverse.glsl", Code::atan2, Code::atan2},
                   {"alu_erf.glsl", Code::erf, Code::erfc},
                   {"alu_whole.glsl", Code::floor, Code::shift_right},
                   {"alu_random.glsl", Code::random_bits, Code::unit_float}};
  std::string lines;
  const auto include = [&lines](const char* file) { lines += std::string("#include \"") + file + "\"\n"; };
  if (calls_alu(p)) include("alu.glsl");
  for (const auto& family : kFamilies)
    if (std::any_of(p.code.begin(), p.code.end(), [&](const Instr& i) {
          const bool whole_division = i.code == Code::div && !is_float(i.dtype) && family.last == Code::shift_right;
          return whole_division || (i.code >= family.first && i.code <= family.last);
        }))
      include(family.file);
  return lines;
}

std::string temporary(DType t) { return std::string(is_float(t) ? "precise " : "const ") + type_name(t); }

// Memory is seen through buffer references. A wide index is multiplied into the address, because GLSL subscripts
// have 32 bits.
std::string element(DType t, int width, bool wide, const std::string& tensor, const std::string& index) {
  const std::string name = std::string(memory_name(t)) + (width == 4 ? "x4" : "");
  const bool simple = index.find_first_of(" ") == std::string::npos;
  const std::string inside = simple ? index : "(" + index + ")";
  if (wide) return name + "(" + address_add(tensor, offset_text(size_of(t)) + " * " + inside) + ").at[0]";
  if (width == 4) return name + "(" + tensor + ").at[" + inside + " / 4]";
  return name + "(" + tensor + ").at[" + index + "]";
}

std::string load(DType t, int width, const std::string& element) {
  if (t == DType::boolean) return width == 4 ? "unpack_bools(" + element + ")" : "uint(" + element + ") != 0u";
  if (!is_narrow(t)) return element;
  if (width == 4) return std::string("unpack_") + name_of(t) + "(" + element + ")";
  return is_float(t) ? std::string(name_of(t)) + "_value(uint(" + element + "))" : "int(" + element + ")";
}

std::string stored(DType t, int width, const std::string& value) {
  if (t == DType::boolean) return width == 4 ? "pack_bools(" + value + ")" : "uint8_t(" + value + " ? 1 : 0)";
  if (!is_narrow(t)) return value;
  if (width == 4) return std::string("pack_") + name_of(t) + "(" + value + ")";
  if (is_float(t)) return std::string("uint16_t(") + name_of(t) + "_bits(" + value + "))";
  return std::string(name_of(t)) + "_t(" + value + ")";
}

Writer& Writer::line(const std::string& s) {
  if (!s.empty()) text.append(2 * static_cast<size_t>(depth_), ' ').append(s);
  text += '\n';
  return *this;
}
Writer& Writer::open(const std::string& head) {
  line(head + (head.empty() ? "{" : " {"));
  ++depth_;
  return *this;
}
Writer& Writer::close(const std::string& tail) {
  --depth_;
  return line("}" + tail);
}

}  // namespace sg::glsl
