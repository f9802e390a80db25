// A kernel: a Program, a matrix product with a Program as epilogue, or one written by hand. Pure data.
#pragma once
#include <string>

#include "kernel/own.hpp"
#include "kernel/program.hpp"

namespace sg {

// out[b, m, n] = epilogue(sum over k of a[b, m, k] * b[b, k, n]).
// Any stride may be 0 (broadcast); all four layouts are strides. `epilogue` has the domain [batch, m, n]; its view 0
// is the accumulator: contiguous, without memory of its own on the GPU (binding -1).
struct Product {
  int64_t batch = 1, m = 0, n = 0, k = 0;
  DType dtype = DType::float32;
  int32_t a_binding = 0, b_binding = 1;
  int64_t a_batch = 0, a_m = 0, a_k = 0, a_offset = 0;  // strides of a, in elements
  int64_t b_batch = 0, b_k = 0, b_n = 0, b_offset = 0;
  Program epilogue;
};

struct Kernel {
  enum class Kind : uint8_t {
    program,
    product,
    own,
    copy
  };  // copy: binding 0 -> binding 1, whole buffers of equal size
  Kind kind = Kind::program;
  Program program;
  Product product;
  Own own;
};

}  // namespace sg
