// The sum (maximum ...) of the values of several processes. Pure.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/dtype.hpp"
#include "kernel/program.hpp"

namespace sg {

// out[i] = fold of rows[0][i], rows[1][i] ... in a balanced tree: neighbours first, then neighbouring pairs. The same
// bits wherever it is computed, and equal parts of an even number of rows can be folded beforehand. Half types are
// added in float32 and rounded once. Booleans: the sum is or, the product and. `out` may be one of the rows. Values of
// floating types are multiplied by `scale` first.
void fold_rows(DType dtype, Fold fold, const std::vector<const std::byte*>& rows, std::byte* out, int64_t n,
               double scale = 1);

}  // namespace sg
