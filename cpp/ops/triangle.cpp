// Matrices cut along a diagonal, by comparing positions: nothing is read where nothing is kept.
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

Tensor tril(const Tensor& x, int64_t diagonal) { return cut("tril", x, diagonal, true); }
Tensor triu(const Tensor& x, int64_t diagonal) { return cut("triu", x, diagonal, false); }

}  // namespace sg
