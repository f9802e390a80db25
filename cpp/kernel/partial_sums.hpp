// Into how many partial sums a product with few results is cut, so that a wide GPU has work for all its processors.
// Sizes alone decide (docs/decisions/013), by the costs on the GPU that the constants were measured on.
#pragma once
#include <cstdint>

namespace sg {

// What a product of `tiles` tiles of 128 x 128 costs, cut in `sums`: in steps along k of one tile.
// 132 processors, an H200: 0.12 us a step of two tiles that share a processor, 0.15 of one alone; a tile costs 64 steps
// more than its sum, a second kernel 26, and partial sums are written and read at 4 TB/s.
inline double cost_of_sums(int64_t tiles, int64_t k, int64_t results, int64_t sums) {
  constexpr int64_t kProcessors = 132;
  const int64_t turns = (tiles * sums + kProcessors - 1) / kProcessors;
  const double rounds = turns == 1 ? 1.26 : static_cast<double>(turns);
  const double steps = static_cast<double>(k) / static_cast<double>(sums) + 64;
  return rounds * steps + (sums > 1 ? 26 + 1.7e-5 * static_cast<double>(results * sums) : 0);
}

// The cheapest number of sums up to `most` for which fits(sums) holds; it holds for 1.
template <class Fits>
int64_t partial_sums(int64_t tiles, int64_t k, int64_t results, int64_t most, Fits fits) {
  int64_t best = 1;
  for (int64_t s = 2; s <= most; ++s)
    if (fits(s) && cost_of_sums(tiles, k, results, s) < cost_of_sums(tiles, k, results, best)) best = s;
  return best;
}

}  // namespace sg
