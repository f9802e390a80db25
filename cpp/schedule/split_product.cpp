// Products of few but long sums, as the gradients of weights are: the sum is cut in slices, each a product of its own in
// one batch, so that a wide GPU has work for all its processors. A second kernel adds the slices up and does what
// follows the product. Sizes alone decide, so that results do not depend on the machine.
#include <algorithm>

#include "base/round.hpp"
#include "kernel/partial_sums.hpp"
#include "schedule/passes.hpp"

namespace sg::schedule_detail {
namespace {

constexpr int64_t kTile = 128;  // sides of what a workgroup computes, where there is enough
constexpr int64_t kMostTiles = 400, kMostSlices = 64;
constexpr int64_t kMinSlice = 256, kMinInner = 1024;

// Of one slice along k: slices begin at multiples of 16 bytes. Only the tiles of product.glsl take a last one that is
// shorter.
int64_t slice_of(const Product& p, int64_t slices) {
  const int64_t unit = std::max<int64_t>(4, 16 / static_cast<int64_t>(size_of(p.dtype)));
  return round_up(divide_up(p.k, slices), unit);
}

int64_t slices_of(const Product& p) {
  if (p.batch != 1 || p.folded != 1 || p.a_walks() || p.b_walks() || !is_float(p.dtype)) return 1;
  const int64_t tiles = divide_up(p.m, kTile) * divide_up(p.n, kTile);
  if (tiles > kMostTiles || p.k < kMinInner || p.k % 4) return 1;
  const bool equal = size_of(p.dtype) == 2 || p.precision != Precision::highest;
  return partial_sums(tiles, p.k, p.m * p.n, std::min(kMostSlices, p.k / kMinSlice), [&](int64_t slices) {
    const int64_t before = (slices - 1) * slice_of(p, slices);
    return equal ? before + slice_of(p, slices) == p.k : before < p.k;
  });
}

// The epilogue over [1, m, n, slices]: its accumulator is the sum of the slices.
Program sum_of_slices(const Product& p, int64_t slices, int32_t binding) {
  Program out = p.epilogue;
  out.domain.push(slices);
  out.inner = 1;
  for (View& v : out.views) v.strides.push(0);
  out.views[0] = {.binding = binding, .dtype = wide_of(p.dtype), .strides = {0, p.n, 1, p.m * p.n}};
  std::vector<int32_t> renumbered;
  std::vector<Instr> code;
  for (Instr i : p.epilogue.code) {
    for (int32_t* operand : {&i.a, &i.b, &i.c})
      if (*operand >= 0) *operand = renumbered[static_cast<size_t>(*operand)];
    code.push_back(i);
    if (i.code == Code::load && i.slot == 0)
      code.push_back({.code = Code::reduce, .dtype = i.dtype, .a = static_cast<int32_t>(code.size()) - 1});
    renumbered.push_back(static_cast<int32_t>(code.size()) - 1);
  }
  out.code = std::move(code);
  collapse(out);
  annotate(out);
  return out;
}

}  // namespace

std::optional<SplitProduct> split_product(const Product& p, int32_t binding) {
  const int64_t slices = slices_of(p);
  if (slices == 1) return std::nullopt;
  SplitProduct out{p, sum_of_slices(p, slices, binding), slices * p.m * p.n};
  Product& first = out.first;
  first.batch = slices;
  first.k = slice_of(p, slices);
  if (slices * first.k != p.k) first.sliced = p.k;
  first.inner.sizes = {first.k};
  first.a_batch = first.k * p.a_k;
  first.b_batch = first.k * p.b_k;
  const DType sums = wide_of(p.dtype);
  Program store;
  store.domain = {slices, p.m, p.n};
  store.views = {p.epilogue.views[0], {.binding = binding, .dtype = sums, .strides = {p.m * p.n, p.n, 1}}};
  store.views[0].strides = {p.m * p.n, p.n, 1};
  store.code = {{.code = Code::load, .dtype = sums, .slot = 0},
                {.code = Code::store, .dtype = sums, .a = 0, .slot = 1}};
  annotate(store);
  first.epilogue = std::move(store);
  return out;
}

}  // namespace sg::schedule_detail
