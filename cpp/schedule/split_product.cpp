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

// The epilogue as a kernel of its own: its accumulator is the sum of the slices, added up by pairs.
Program sum_of_slices(const Product& p, int64_t slices, int32_t binding) {
  const DType sums = wide_of(p.dtype);
  Program out = p.epilogue;
  out.views[0] = {.binding = binding, .dtype = sums, .strides = {0, p.n, 1}};
  std::vector<Instr> code;
  std::vector<int32_t> open;  // values still to be added
  for (int64_t s = 0; s < slices; ++s) {
    View slice = out.views[0];
    slice.offset = s * p.m * p.n;
    if (s > 0) out.views.push_back(slice);
    open.push_back(static_cast<int32_t>(code.size()));
    const auto view = static_cast<int32_t>(s > 0 ? out.views.size() - 1 : 0);
    code.push_back({.code = Code::load, .dtype = sums, .slot = view});
  }
  while (open.size() > 1) {
    std::vector<int32_t> next;
    for (size_t i = 0; i + 1 < open.size(); i += 2) {
      next.push_back(static_cast<int32_t>(code.size()));
      code.push_back({.code = Code::add, .dtype = sums, .a = open[i], .b = open[i + 1]});
    }
    if (open.size() % 2) next.push_back(open.back());
    open = std::move(next);
  }
  std::vector<int32_t> renumbered;
  for (Instr i : p.epilogue.code) {
    for (int32_t* operand : {&i.a, &i.b, &i.c})
      if (*operand >= 0) *operand = renumbered[static_cast<size_t>(*operand)];
    const bool sum = i.code == Code::load && i.slot == 0;
    renumbered.push_back(sum ? open[0] : static_cast<int32_t>(code.size()));
    if (!sum) code.push_back(i);
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
