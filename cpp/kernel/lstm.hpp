// What follows the products of one step of an LSTM on the CPU, for some rows and features of the state. Plain data, as
// gemm.hpp.
#pragma once
#include <cstdint>

namespace sg {

inline constexpr int64_t kLstmColumns = 32;  // features that are computed together

// Pointers are to the first row and feature. A row of `gates` and `sums` is i, f, u, o, each `hidden` elements.
struct LstmPart {
  int64_t rows, columns, hidden;
  void* products;      // forward: [rows, 4, kLstmColumns]; backward: [rows, kLstmColumns], or nullptr
  const void* x;       // is added to them: forward the product of the input, backward the gradient of h
  int64_t x_row;       // elements from row to row
  void* gates;         // after their functions; forward: nullptr if nobody needs them
  const void* before;  // c of the step before
  void* c;
  void* h;     // forward: the result
  void* dc;    // backward: the gradient of c, which becomes that of `before`
  void* sums;  // backward: the result, gradients of the sums that gates are functions of
};

}  // namespace sg
