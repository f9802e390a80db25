// A kernel: a Program, a matrix product with a Program as epilogue, or a custom kernel. Pure data.
#pragma once
#include "base/boxed.hpp"
#include "kernel/custom.hpp"
#include "kernel/gemm.hpp"
#include "kernel/precision.hpp"
#include "kernel/program.hpp"

namespace sg {

// out[b, m, n] = epilogue(sum over k of a[b, m, k] * b[b, k, n]).
// Any stride may be 0 (broadcast); all four layouts are strides. `epilogue` has the domain [batch, m, n]; its view 0
// is the accumulator: contiguous, without memory of its own on the GPU (binding -1).
//
// The image patches that a convolution reads are an operand without a single stride along k or n: k and n are then
// numbers of several digits, each with its own stride. The outer part of the batch, the images, is `folded`: all of
// them share a, so that they are further columns of one product.
struct Product {
  struct Digits {
    Dims sizes;  // the fastest last; their product is n or k
    Dims a, b;   // strides; empty: the operand has one stride along all of them
  };
  int64_t batch = 1, m = 0, n = 0, k = 0;
  int64_t sliced = 0;  // not 0: the batch are slices of one sum of so many elements; the last may be shorter than k
  DType dtype = DType::float32;
  int32_t a_binding = 0, b_binding = 1;
  int64_t a_batch = 0, a_m = 0, a_k = 0, a_offset = 0;  // strides of a, in elements
  int64_t b_batch = 0, b_k = 0, b_n = 0, b_offset = 0;
  bool a_aligned = true, b_aligned = true;  // the run-time parts of their addresses are multiples of 16 bytes
  Digits columns, inner;                    // of n (columns.a is not used) and k; b has strides in both or in none
  int64_t b_m = 0;                          // each row of a has its own b: channels that are convolved one by one
  Window window;                            // through which b is seen, when its pitch is not 0
  int64_t folded = 1, b_folded = 0;  // batch number = number in folded * (batch / folded) + the rest, which has a_batch
  Precision precision = Precision::highest;  // what the program asks for
  // An operand once more, in scaled halves for matrix units: element * 2^-exponent of its row of a or column of b. Two
  // planes: the second holds what the first lacks. Where an exponent is not finite, the operands themselves are read.
  struct Halves {
    int32_t binding = -1, exponents = -1;                     // -1: the operand is read as it is
    int64_t plane = 0, batch = 0, step_k = 0, step_side = 0;  // strides in halves
    int64_t exponents_batch = 0;
  };
  Halves a_halves, b_halves;  // both or none
  int planes() const { return a_halves.binding < 0 ? 0 : precision == Precision::high ? 2 : 1; }
  bool a_walks() const { return inner.a.rank > 0; }
  bool b_walks() const { return inner.b.rank > 0; }
  Program epilogue;
};

struct Kernel {
  enum class Kind : uint8_t {
    program,
    product,
    custom,
    copy
  };  // copy: binding 0 -> binding 1, whole buffers of equal size
  Kind kind = Kind::program;
  Program program;
  Boxed<Product> product;
  Boxed<CustomKernel> custom;
  // What it computes for each element: its program, or the epilogue of its product.
  const Program& elementwise() const { return kind == Kind::product ? product->epilogue : program; }
};

}  // namespace sg
