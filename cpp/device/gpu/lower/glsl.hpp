// The GLSL spelling of types, values and instructions, and a small indenting writer.
// Called by the lowering passes only. Pure functions, any thread; knows Program instructions, not layouts or devices.
#pragma once
#include <functional>
#include <string>

#include "device/gpu/lower/address.hpp"
#include "kernel/program.hpp"

namespace sg::glsl {

const char* type_name(DType t);    // "float": in code; boolean is bool
const char* vector_name(DType t);  // "vec4"
const char* memory_name(DType t);  // "Float32": buffer reference to elements; memory_name + "x4": to 16-byte steps
std::string literal(DType t, Number n);  // exact
std::string identity(Fold f, DType t);   // what an empty row gives
std::string combine(Fold f, DType t, const std::string& a, const std::string& b);

// The expression of an ALU instruction; `operand` names the value of an instruction.
std::string expression(const Program& p, const Instr& i, const std::function<std::string(int32_t)>& operand);
// The lines that include what the expressions call of shaders/alu*.glsl.
std::string alu_includes(const Program& p);
// "precise float" or "const int": how a temporary of this type is declared.
std::string temporary(DType t);
// One element (width 1) or four (width 4) of a tensor whose address is `tensor`, from element number `index` on.
// `wide`: the index is an Offset, which GLSL may not subscript with.
std::string element(DType t, int width, bool wide, const std::string& tensor, const std::string& index);
std::string load(DType t, int width, const std::string& element);
std::string stored(DType t, int width, const std::string& value);

class Writer {
 public:
  Writer& line(const std::string& text = "");
  Writer& open(const std::string& head);  // "head {" and one step deeper
  Writer& close(const std::string& tail = "");
  std::string text;

 private:
  int depth_ = 0;
};

}  // namespace sg::glsl
