// Matrices cut along a diagonal, by comparing positions: nothing is read where nothing is kept.
#include "base/error.hpp"
#include "ops/list.hpp"

namespace sg {
namespace {

// Where the element lies on the side of the diagonal that is kept.
Tensor cut(const char* op, const Tensor& x, int64_t diagonal, bool lower) {
  if (x.rank() < 2)
    fail<ValueError>(op, "a tensor of shape " + x.shape().str() + " is no matrix", "use two dimensions or more");
  const Tensor row = positions(x.shape(), x.rank() - 2, x.device()) + Tensor(diagonal);
  const Tensor column = positions(x.shape(), x.rank() - 1, x.device());
  const Tensor kept = where(lower ? column <= row : column >= row, x, 0);
  return kept;
}

}  // namespace

Tensor tril(const Tensor& x, int64_t diagonal) { return cut("tril", x, diagonal, true); }
Tensor triu(const Tensor& x, int64_t diagonal) { return cut("triu", x, diagonal, false); }

}  // namespace sg
