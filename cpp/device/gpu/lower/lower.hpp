// Step -> what the GPU needs to launch it: GLSL (or the name of an embedded shader), the layout of its argument
// block, and the grid. A pure function of the step and the device's features: no Vulkan here, tests run it anywhere.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "kernel/features.hpp"
#include "plan/plan.hpp"

namespace sg {

class Shaders;

// A shader gets one push constant: the address of its argument block, an array of 64-bit words. Sizes and strides are
// integers in it, numbers keep the bits of their type in the low bytes, tensors are addresses of their first element.
struct ArgWord {
  enum class Kind : uint8_t {
    value,    // `value` as it is
    address,  // address of memories[memory] + value + element_bytes * offsets[start] (when start >= 0)
    number,   // numbers[index] converted to dtype
    status,   // address of the status block
    node,     // RunArguments::nodes[index]
  };
  Kind kind = Kind::value;
  DType dtype = DType::float32;
  int32_t memory = -1, start = -1, index = -1;
  int64_t value = 0;
  int64_t element_bytes = 0;
  bool operator==(const ArgWord&) const = default;
};

// What a kernel needs of subgroups: nothing, that each has all its threads, or Features::subgroup of them.
enum class Subgroups : uint8_t { any, full, counted };

// What a pipeline is made of.
struct Shader {
  std::string source = {};  // complete GLSL; empty: `builtin` names an embedded SPIR-V module
  std::string builtin = {};
  std::vector<uint32_t> constants = {};  // specialization constants 0, 1, 2 ...
  Subgroups subgroups = Subgroups::any;
  size_t hash = 0;  // of the rest
  bool operator==(const Shader& o) const;
};
std::shared_ptr<const Shader> sealed(Shader shader);  // with its hash

// Equal sources are one pipeline, so everything that differs from run to run, or from size to size where that costs
// nothing, is in the argument block and not in the text.
struct Lowered {
  std::string name;
  std::shared_ptr<const Shader> shader;
  std::vector<ArgWord> arguments;
  uint32_t groups[3] = {1, 1, 1};
  bool general = false;  // there is a special kernel as well
};

// Rows can have two kernels, which compute the same bits. The text of the special one contains how many threads share a
// row and how many columns each thread has, so that loops are unrolled and values stay in registers. The general one
// reads the number of threads from its arguments and loops over the columns, so that it serves rows of any length. Products
// on matrix units of whole workgroups have two as well: the text of the special one has several steps in a row, for which
// drivers need seconds. All other kernels serve any sizes of their class.
enum class Fit : uint8_t { special, general };

// LimitError names what the device lacks, such as float64. Text that `shaders` knows is not written again.
Lowered lower(const Step& step, const Features& features, Fit fit, Shaders& shaders);
Lowered lower(const Step& step, const Features& features, Fit fit = Fit::special);

}  // namespace sg
