// Matrices cut along a diagonal, by comparing positions: elements that are cut off are not read. And the indices of
// triangles.
#include <algorithm>

#include "base/error.hpp"
#include "ops/list.hpp"

namespace sg {
namespace {

Tensor cut(const char* op, const Tensor& x, int64_t diagonal, bool lower) {
  if (x.rank() < 2)
    fail<ValueError>(op, "a tensor of shape " + x.shape().str() + " is no matrix", "use two dimensions or more");
  const int64_t across = std::clamp(diagonal, -x.shape()[x.rank() - 2], x.shape()[x.rank() - 1]);
  const Tensor row = positions(x.shape(), x.rank() - 2, x.device()) + Tensor(across);
  const Tensor column = positions(x.shape(), x.rank() - 1, x.device());
  return cast(where(lower ? column <= row : column >= row, x, 0), x.dtype());
}

}  // namespace

namespace {

// How many elements the rows below a diagonal have.
int64_t elements_below(int64_t rows, int64_t columns, int64_t offset) {
  const int64_t first = std::clamp<int64_t>(-offset, 0, rows);                   // row with an element,
  const int64_t whole = std::clamp<int64_t>(columns - offset - 1, first, rows);  // with all of them
  const int64_t growing = (whole - first) * (first + whole + 2 * offset + 1) / 2;
  return growing + (rows - whole) * columns;
}

// Rows and columns without elements are left out first, so at most twice as many elements are searched as are found.
Tensor triangle(const char* op, bool lower, int64_t rows, int64_t columns, int64_t diagonal, DType dtype,
                DeviceId device) {
  check_size(op, {rows, columns});
  const int64_t offset = std::clamp(diagonal, -rows, columns);
  const int64_t below = columns ? elements_below(rows, columns, lower ? offset : offset - 1) : 0;
  const int64_t count = lower ? below : rows * columns - below;
  if (count == 0) return empty({2, 0}, dtype, device);
  const int64_t top = lower ? std::max<int64_t>(-offset, 0) : 0, left = lower ? 0 : std::max<int64_t>(offset, 0);
  const Dims shape = {lower ? rows - top : std::min(rows, columns - offset),
                      lower ? std::min(columns, rows + offset) : columns - left};
  const Tensor row = positions(shape, 0, device) + Tensor(offset + top - left), column = positions(shape, 1, device);
  const Tensor inside = lower ? column <= row : column >= row;
  const std::vector<Tensor> found = coordinates(places(inside, running_count(inside), count), shape);
  return cast(stack({found[0] + Tensor(top), found[1] + Tensor(left)}), dtype);
}

}  // namespace

Tensor tril_indices(int64_t rows, int64_t columns, int64_t offset, std::optional<DType> dtype, DeviceId device) {
  return triangle("tril_indices", true, rows, columns, offset, dtype.value_or(DType::int64), device);
}
Tensor triu_indices(int64_t rows, int64_t columns, int64_t offset, std::optional<DType> dtype, DeviceId device) {
  return triangle("triu_indices", false, rows, columns, offset, dtype.value_or(DType::int64), device);
}

Tensor tril(const Tensor& x, int64_t diagonal) { return cut("tril", x, diagonal, true); }
Tensor triu(const Tensor& x, int64_t diagonal) { return cut("triu", x, diagonal, false); }

}  // namespace sg
