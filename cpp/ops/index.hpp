// The primitives of reading and writing at computed places; for ops/ only. Rows are int64 numbers that were checked.
#pragma once
#include <string>

#include "graph/tensor.hpp"
#include "kernel/custom.hpp"

namespace sg {

// A row that lets an index (input 0) pass if it is in [0, input 1), else reports it under the row's name.
Expr emit_check(ProgramBuilder& builder, const Node&, const Expr* in);
constexpr OpInfo check_row(const char* name, const char* doc = "Checks that an index is in range.") {
  return {.name = name, .doc = doc, .kind = Kind::pointwise, .arity = 2, .emit = emit_check, .reports = true};
}

// x's first `dims` dimensions are counted as rows -> [rows..., rest of x]. `distinct`: no row is there twice, so that a
// gradient needs no sums.
Tensor take_rows(const Tensor& x, int dims, const Tensor& rows, bool distinct = false);
// rows [m], values [m, width] -> [count, width]: zeros, to whose rows values are added, in order of m: the same sums in
// every run.
Tensor add_rows(int64_t count, const Tensor& rows, const Tensor& values);
// x [count, width], with values [m, width] folded into its rows by number: `reduce` is sum, prod, mean, amax or amin;
// without `include_self`, a row where values arrive starts from nothing. In order of m: the same result in every run.
Tensor reduce_into(const char* op, const std::string& reduce, const Tensor& x, const Tensor& rows, const Tensor& values,
                   bool include_self);
// A copy of x with values [rows..., rest of x] (or a number) in these rows.
Tensor put_rows(const Tensor& x, int dims, const Tensor& rows, const Tensor& values, bool distinct = false);

// The stable order of the last dimension, int32: x[..., order[..., i]] rises (falls, when descending) with i; NaN is the
// largest.
Tensor sort_order(const Tensor& x, bool descending);

Tensor move_dim(const Tensor& x, int from, int to);

// An integer that the size of a result depends on: runs what is pending and waits, with the host paused.
int64_t read_now(const Tensor& x);

}  // namespace sg
