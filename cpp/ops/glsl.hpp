// A user's GLSL kernel as an operation: a row (OpInfo) for each kernel with its shapes, types and constants, kept for
// the life of the process, so that plans and pipelines are found again.
// Called by the binding. Threads: any.
#pragma once
#include <string>
#include <vector>

#include "graph/tensor.hpp"
#include "kernel/custom.hpp"

namespace sg {

struct GlslKernel {
  struct Argument {
    std::string name;
    DType dtype = DType::float32;
    Dims shape;
  };
  struct Constant {
    std::string name;
    const char* type = "int";
    std::string value = "0";  // in GLSL
  };
  std::string name, source;  // the body of main, or functions with main
  std::vector<Argument> inputs, outputs;
  std::vector<Constant> constants;
  int64_t local[3] = {1, 1, 1}, groups[3] = {1, 1, 1};
  bool unchecked = false;  // tensors are memory, x[i]; else they are handles for load(x, i) and store(y, i, v)
};

// The row of this kernel. Its tensors have the bindings 0 .. inputs - 1, then one that holds all outputs.
const OpInfo& glsl_row(const GlslKernel& kernel);
const CustomKernel& glsl_launch(const OpInfo& row);
// Records one launch; gradients are the caller's. Inputs have the types and shapes of the row.
std::vector<Tensor> glsl_apply(const OpInfo& row, const std::vector<Tensor>& inputs);

}  // namespace sg
