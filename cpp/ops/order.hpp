// Launches of sorting, for ops/ only: GLSL in shaders/sort*.glsl and select.glsl, their twins on the CPU beside them.
// A key is compared by its bits [begin, end), counted in an order-preserving unsigned number of its type; what lies
// outside them is the same for all keys. NaN is the largest, -0 equals 0; equal keys keep their order.
#pragma once
#include "base/dtype.hpp"
#include "kernel/custom.hpp"
#include "kernel/program.hpp"

namespace sg {

struct Keys {
  DType dtype =
      DType::float32;       // int32, int64, float32 or float64; integers with end below their width: 0 .. 2^end - 1
  int64_t rows = 0, n = 0;  // n < 2^31
  int begin = 0, end = 32;
  bool descending = false;
};

// Memory `order` [rows, n] gets, as int32, the order of each row of memory `x`. `with_keys`, GPU only, for one row of
// integers with end <= 32: [2, n], behind the order the keys in order, as int32.
void order_launches(Expansion& e, const Keys& keys, bool gpu, int32_t x, int32_t order, bool with_keys = false);
// Memory `places` [rows, k] gets, as int32, where the k keys are that come first in the order, by place.
void select_launches(Expansion& e, const Keys& keys, bool gpu, int64_t k, int32_t x, int32_t places);
// Memory `places` [rows, each] gets, as int32, where values [rows, each] belong in the sorted keys x [rows, n], or, if not
// `own_row`, [n]: before equal ones, or behind them.
void search_launches(Expansion& e, const Keys& keys, bool gpu, int64_t each, bool own_row, bool right, int32_t x,
                     int32_t values, int32_t places);
// Memory `out` [count, width] gets, in each row, the fold of the values [m, width] that belong there, by the order [2, m]
// of their rows with those; on a GPU.
void fold_rows_launches(Expansion& e, const std::string& name, Fold fold, DType dtype, int64_t count, int64_t m,
                        int64_t width, int32_t order, int32_t values, int32_t out);

}  // namespace sg
