// Owns the rows of users' kernels and the GLSL written around their text. In a checked kernel, no name in reach of the
// user leads to an address.
#include "ops/glsl.hpp"

#include <map>
#include <memory>
#include <mutex>

#include "base/error.hpp"
#include "base/round.hpp"
#include "graph/build.hpp"
#include "ops/list.hpp"

namespace sg {
namespace {

constexpr int64_t kAlignment = 256;  // of each output in the memory that they share

struct GlslRow : OpInfo {
  GlslKernel kernel;
  CustomKernel launch;
  std::vector<int64_t> offsets;  // of each output, in bytes
  int64_t bytes = 0;             // of all outputs
  bool packed() const { return kernel.outputs.size() > 1; }
};

const GlslRow& row_of(const OpInfo& op) { return static_cast<const GlslRow&>(op); }

void expand(const Node& node, bool, Expansion& expansion) { expansion.launch(node.op->name) = row_of(*node.op).launch; }

std::string reference(DType t) {
  std::string name = name_of(t);
  name[0] = static_cast<char>(name[0] - 'a' + 'A');
  return name;
}

bool is_name(char c) { return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

// "x[i]" -> "x.at[i]" for the names of tensors of unchecked kernels; members such as "v.x[i]" are left alone.
std::string with_references(const std::string& text, const GlslKernel& k) {
  const auto is_tensor = [&](const std::string& word) {
    for (const auto* list : {&k.inputs, &k.outputs})
      for (const GlslKernel::Argument& a : *list)
        if (a.name == word) return true;
    return false;
  };
  std::string out;
  for (size_t i = 0; i < text.size();) {
    if (!is_name(text[i])) {
      out += text[i++];
      continue;
    }
    size_t end = i;
    while (end < text.size() && is_name(text[end])) ++end;
    const std::string word = text.substr(i, end - i);
    const bool member = i > 0 && text[i - 1] == '.';
    out += word;
    i = end;
    while (end < text.size() && (text[end] == ' ' || text[end] == '\t')) ++end;
    if (!member && end < text.size() && text[end] == '[' && is_tensor(word)) out += ".at";
  }
  return out;
}

bool has_main(const std::string& text) {
  for (size_t at = text.find("void"); at != text.npos; at = text.find("void", at + 1)) {
    size_t i = text.find_first_not_of(" \t\n", at + 4);
    if (i == text.npos || text.compare(i, 4, "main") != 0) continue;
    i = text.find_first_not_of(" \t\n", i + 4);
    if (i != text.npos && text[i] == '(') return true;
  }
  return false;
}

// The type that holds a narrow type's values in a kernel, and the functions that load and store it.
struct Element {
  const char *type, *value, *stored;
};
Element element(DType t) {
  switch (t) {
    case DType::boolean:
      return {"bool", "uint(element) != 0u", "uint8_t(v ? 1 : 0)"};
    case DType::uint8:
      return {"int", "int(element)", "uint8_t(v)"};
    case DType::int8:
      return {"int", "int(element)", "int8_t(v)"};
    case DType::int16:
      return {"int", "int(element)", "int16_t(v)"};
    case DType::float16:
      return {"float", "float16_value(uint(element))", "uint16_t(float16_bits(v))"};
    case DType::bfloat16:
      return {"float", "bfloat16_value(uint(element))", "uint16_t(bfloat16_bits(v))"};
    case DType::int32:
      return {"int", "element", "v"};
    case DType::int64:
      return {"int64", "element", "v"};
    case DType::float32:
      return {"float", "element", "v"};
    default:
      return {"double", "element", "v"};
  }
}

// A tensor as a handle without an address, and the only functions that can use it.
std::string accessors(const GlslKernel::Argument& a, size_t tensor, size_t word, bool output) {
  const std::string handle = "Tensor_" + a.name, number = std::to_string(tensor);
  const Element e = element(a.dtype);
  const std::string memory = reference(a.dtype) + "(tensor(" + number + ")).at[uint(i)]";
  const std::string inside = "inside_of_tensor(i, word(" + std::to_string(word) + "))";
  std::string value = e.value;
  if (const size_t at = value.find("element"); at != value.npos) value.replace(at, 7, memory);
  const std::string reads = std::string(e.type) + " load(" + handle + " t, int64 i) {\n  if (!" + inside + ") return " +
                            e.type + "(0);\n  return " + value + ";\n}\n";
  const std::string writes = "void store(" + handle + " t, int64 i, " + e.type + " v) {\n  if (" + inside + ") " +
                             memory + " = " + e.stored + ";\n}\n";
  return "struct " + handle + " { int number; };\nconst " + handle + " " + a.name + " = " + handle + "(" + number +
         ");\n" + reads + (output ? writes : "");
}

// The words of CustomKernel::reports come after all tensors and all other words.
std::string reporting(size_t before) {
  const std::string where = "tensor(" + std::to_string(before) + ")";
  const std::string status = "tensor(" + std::to_string(before + 1) + ")";
  return "bool inside_of_tensor(int64 i, int64 bound) {\n  check_index(i, bound, 1);\n"
         "  return uint64(i) < uint64(bound);\n}\n"
         "void report_kernel() { report_index(" +
         status + ", 1, " + where + "); }\n";
}

size_t words_of(const GlslKernel& k) {
  size_t words = 0;
  for (const auto* list : {&k.inputs, &k.outputs})
    for (const GlslKernel::Argument& a : *list) words += 1 + static_cast<size_t>(a.shape.rank);
  return words;
}

std::string head(const GlslKernel& k) {
  std::string s = "layout(local_size_x = " + std::to_string(k.local[0]) +
                  ", local_size_y = " + std::to_string(k.local[1]) + ", local_size_z = " + std::to_string(k.local[2]) +
                  ") in;\n";
  for (const GlslKernel::Constant& c : k.constants)
    s += std::string("const ") + c.type + " " + c.name + " = " + c.value + ";\n";
  s += "#define global_index (((gl_WorkGroupID.z * gl_NumWorkGroups.y + gl_WorkGroupID.y) * gl_NumWorkGroups.x + "
       "gl_WorkGroupID.x) * " +
       std::to_string(k.local[0] * k.local[1] * k.local[2]) + " + gl_LocalInvocationIndex)\n";
  if (!k.unchecked) s += reporting(k.inputs.size() + k.outputs.size() + words_of(k));
  size_t tensor = 0, word = 0;
  for (const auto* list : {&k.inputs, &k.outputs})
    for (const GlslKernel::Argument& a : *list) {
      const std::string type = reference(a.dtype);
      s += k.unchecked ? type + " " + a.name + " = " + type + "(tensor(" + std::to_string(tensor) + "));\n"
                       : accessors(a, tensor, word, list == &k.outputs);
      ++tensor;
      s += "uint size_of_" + a.name + "() { return uint(word(" + std::to_string(word) + ")); }\n";
      s += "uint " + a.name + "_shape(uint d) { return uint(word(" + std::to_string(word + 1) + " + d)); }\n";
      s += "#define " + a.name + "_size size_of_" + a.name + "()\n";
      word += 1 + static_cast<size_t>(a.shape.rank);
    }
  return s;
}

// The user's lines are source string 1 in the compiler's messages. In a checked kernel, no name in the user's reach
// leads to an address, and index errors are reported after the user's main.
std::string source_of(const GlslKernel& k) {
  const std::string text = k.unchecked ? with_references(k.source, k) : k.source;
  const bool whole = has_main(k.source);
  const std::string before = k.unchecked ? "" : "#undef tensor\n#undef word\n#define push\n#define main checked_main\n";
  const std::string behind =
      k.unchecked ? "" : "#undef main\nvoid main() {\n  checked_main();\n  report_kernel();\n}\n";
  return head(k) + before + (whole ? "" : "void main() {\n") + "#line 1 1\n" + text + "\n#line 1 0\n" +
         (whole ? "" : "}\n") + behind;
}

std::string key_of(const GlslKernel& k) {
  std::string key = k.name + '\0' + k.source + '\0';
  for (const auto* list : {&k.inputs, &k.outputs}) {
    for (const GlslKernel::Argument& a : *list) key += a.name + ' ' + name_of(a.dtype) + a.shape.str() + ',';
    key += ';';
  }
  for (const GlslKernel::Constant& c : k.constants) key += c.name + ' ' + c.type + c.value + ',';
  for (int d = 0; d < 3; ++d) key += ' ' + std::to_string(k.local[d]) + ' ' + std::to_string(k.groups[d]);
  return key + (k.unchecked ? " unchecked" : "");
}

std::unique_ptr<GlslRow> make_row(const GlslKernel& k) {
  auto row = std::make_unique<GlslRow>();
  row->kernel = k;
  row->name = row->kernel.name.c_str();
  row->doc = "A kernel of the user's.";
  row->kind = Kind::kernel;
  row->arity = static_cast<int>(k.inputs.size());
  row->expand = expand;
  CustomKernel& custom = row->launch;
  row->reports = custom.reports = !k.unchecked;
  custom.source = source_of(k);
  for (int d = 0; d < 3; ++d) custom.groups[d] = k.groups[d];
  const auto add = [&](const GlslKernel::Argument& a, int32_t binding, bool write, int64_t offset) {
    custom.tensors.push_back({binding, a.dtype, write, offset});
    custom.words.push_back(a.shape.numel());
    for (int64_t size : a.shape) custom.words.push_back(size);
  };
  for (size_t i = 0; i < k.inputs.size(); ++i) add(k.inputs[i], static_cast<int32_t>(i), false, 0);
  for (const GlslKernel::Argument& a : k.outputs) {
    const auto size = static_cast<int64_t>(size_of(a.dtype));
    row->bytes = round_up(row->bytes, kAlignment);
    row->offsets.push_back(row->bytes);
    add(a, static_cast<int32_t>(k.inputs.size()), true, row->bytes / size);
    row->bytes += a.shape.numel() * size;
  }
  return row;
}

// One of several outputs in its own memory: a copy that fuses with its readers.
Tensor output_of(const Tensor& packed, const GlslKernel::Argument& a, int64_t offset) {
  return clone(
      part_of(packed, a.dtype, a.shape, contiguous_strides(a.shape), offset / static_cast<int64_t>(size_of(a.dtype))));
}

}  // namespace

const OpInfo& glsl_row(const GlslKernel& kernel) {
  static auto* mutex = new std::mutex;
  static auto* rows = new std::map<std::string, std::unique_ptr<GlslRow>>;
  const std::lock_guard lock(*mutex);
  std::unique_ptr<GlslRow>& row = (*rows)[key_of(kernel)];
  if (!row) row = make_row(kernel);
  return *row;
}

const CustomKernel& glsl_launch(const OpInfo& row) { return row_of(row).launch; }

std::vector<Tensor> glsl_apply(const OpInfo& op, const std::vector<Tensor>& given) {
  const GlslRow& row = row_of(op);
  if (given.size() > kMaxInputs)
    fail<LimitError>(op.name, std::to_string(given.size()) + " inputs, a kernel takes " + std::to_string(kMaxInputs),
                     "join some with sg.cat()");
  const GradMode off(false);
  std::vector<Tensor> x;
  for (const Tensor& t : given) x.push_back(contiguous(t));
  const auto& outputs = row.kernel.outputs;
  const Dims shape = row.packed() ? Dims{row.bytes} : outputs[0].shape;
  const DType dtype = row.packed() ? DType::uint8 : outputs[0].dtype;
  const Tensor made = custom_kernel(op, x, shape, dtype, {});
  if (!row.packed()) return {made};
  std::vector<Tensor> out;
  for (size_t i = 0; i < outputs.size(); ++i) out.push_back(output_of(made, outputs[i], row.offsets[i]));
  return out;
}

}  // namespace sg
