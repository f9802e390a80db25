// Owns the tiles of products: their sizes, their scratch memory, and the epilogue over each of them. Packing and the
// inner loops are in gemm_isa.hpp. Knows no ops.
#include "device/cpu/product.hpp"

#include <algorithm>
#include <utility>

#include "base/error.hpp"
#include "base/round.hpp"
#include "device/cpu/gemm_bfloat16.hpp"
#include "device/cpu/threads.hpp"

namespace sg::cpu {
namespace {

constexpr int64_t kTileM = 384, kTileN = 1024;
constexpr size_t kMostViews = 64;           // of an epilogue that runs tile by tile
constexpr int64_t kSmallProduct = 1 << 20;  // multiply-adds that one thread does sooner than two

int64_t gemm_scratch() { return std::max(blocks().gemm_scratch, kBfloat16Scratch); }

void choose_tiles(ProductPlan& plan) {
  const Product& s = plan.shape;
  const bool narrow = is_narrow(s.dtype);
  const int64_t unit_m = narrow ? kBfloat16Side : blocks().gemm_rows;
  const int64_t unit_n = narrow ? kBfloat16Side : blocks().gemm_columns_f32;
  // An epilogue reads its tile again, so a tile takes at most half of a second-level cache.
  const bool direct = plan.store == ProductPlan::Store::direct;
  const int64_t most_m = s.b_m && !direct ? kTileM / 16 : kTileM, most_n = s.b_m || direct ? kTileN : kTileN / 2;
  plan.tiles_m = std::max<int64_t>(1, divide_up(s.m, most_m));
  plan.tiles_n = std::max<int64_t>(1, divide_up(s.n, most_n));
  const auto size_m = [&] { return round_up(divide_up(s.m, plan.tiles_m), unit_m); };
  const auto size_n = [&] { return round_up(divide_up(s.n, plan.tiles_n), unit_n); };
  if (s.batch * s.m * s.n * s.k > kSmallProduct) {
    constexpr int64_t kFewRows = 128;  // of a tile whose image patches are packed for it alone
    const int64_t threads = thread_count(), wanted = 4 * threads;
    for (int64_t tiles; (tiles = s.batch * plan.tiles_m * plan.tiles_n) < wanted;) {
      const bool packs = s.b_walks() && tiles >= threads;
      if (size_n() > 2 * unit_n && size_n() >= size_m())
        plan.tiles_n *= 2;
      else if (size_m() > (packs ? 2 * kFewRows - 1 : 2 * unit_m))
        plan.tiles_m *= 2;
      else
        break;
    }
  }
  plan.tile_m = size_m();
  plan.tile_n = size_n();
  plan.tiles_m = (s.m + plan.tile_m - 1) / std::max<int64_t>(1, plan.tile_m);
  plan.tiles_n = (s.n + plan.tile_n - 1) / std::max<int64_t>(1, plan.tile_n);
}

// Strides of the digits of a number that has one stride.
Dims one_by_one(const Dims& sizes, int64_t stride) {
  Dims out = contiguous_strides(sizes);
  for (int d = 0; d < out.rank; ++d) out[d] *= stride;
  return out;
}

int64_t place(const Dims& sizes, const Dims& strides, int64_t number) {
  int64_t at = 0;
  for (int d = sizes.rank - 1; d >= 0; --d) at += number % sizes[d] * strides[d], number /= sizes[d];
  return at;
}

void choose_walks(ProductPlan& plan) {
  const Product& s = plan.shape;
  if (!s.a_walks() && !s.b_walks()) return;
  const Dims &k = s.inner.sizes, &n = s.columns.sizes;
  plan.inner = {k, s.a_walks() ? s.inner.a : one_by_one(k, s.a_k), s.b_walks() ? s.inner.b : one_by_one(k, s.b_k)};
  plan.columns = {n, {}, s.b_walks() ? s.columns.b : one_by_one(n, s.b_n)};
  const int last = k.rank - 1;
  if (s.window.pitch) {
    plan.k_in_rows = k.rank == 3;
    return;
  }
  // Sums along rows need no packing; packing pays only where packed values are used many times.
  constexpr int64_t kShort = 4, kLong = 32, kSmallResult = 2048;
  const bool in_order = plan.inner.a[last] == 1 && plan.inner.b[last] == 1;
  const int64_t least = s.m * s.n < kSmallResult ? kShort : kLong;
  plan.k_in_rows = !s.b_m && in_order && k[last] >= least && k[last] > n[n.rank - 1];
}

template <class T, class Wide>
void multiply_integers(const GemmTile& t) {
  const T* a = static_cast<const T*>(t.a);
  const T* b = static_cast<const T*>(t.b);
  T* c = static_cast<T*>(t.c);
  for (int64_t i = 0; i < t.m; ++i) {
    T* row = c + i * t.c_m;
    for (int64_t j = 0; j < t.n && !t.add; ++j) row[j * t.c_n] = 0;
    for (int64_t p = 0; p < t.k; ++p) {
      const GemmDigits* d = t.inner;
      const Wide x = static_cast<Wide>(a[i * t.a_m + (d ? place(d->sizes, d->a, p) : p * t.a_k)]);
      const T* from = b + i * t.b_m + (d ? place(d->sizes, d->b, p) : p * t.b_k);
      for (int64_t j = 0; j < t.n; ++j)
        row[j * t.c_n] = static_cast<T>(static_cast<Wide>(row[j * t.c_n]) +
                                        x * static_cast<Wide>(from[d ? t.b_columns[j] : j * t.b_n]));
    }
  }
}

// Few columns: the transposed product, whose vectors run along the rows.
GemmTile transposed(const GemmTile& t) {
  return {t.b, t.a, t.c, t.n, t.m, t.k, t.b_n, t.b_k, t.a_k, t.a_m, t.c_n, t.c_m, t.add, t.scratch};
}

// A vector times a matrix that lies in order along the sum. Asked of the whole product, so that no bit depends on tiles.
bool is_dots(const Product& s) {
  constexpr int64_t kLeast = 64;  // products of a result: fewer are packed sooner
  const bool wide = s.dtype == DType::float32 || s.dtype == DType::float64;
  return wide && s.k >= kLeast && (s.m == 1 || s.n == 1) && s.a_k == 1 && s.b_k == 1 && !s.b_m && !s.a_walks() &&
         !s.b_walks();
}

// [load view 0, store view 1] and nothing else.
bool only_stores(const Program& p, DType sums) {
  return p.inner == 0 && p.domain.rank == 3 && p.code.size() == 2 && p.code[0].code == Code::load &&
         p.code[0].slot == 0 && p.code[1].code == Code::store && p.code[1].a == 0 &&
         p.views[p.code[1].slot].dtype == sums;
}

// The view of a row that the epilogue adds before it stores the elements in order, and does nothing else; otherwise -1.
int32_t bias_of(const Product& s, const std::vector<int32_t>& memory_of) {
  const Program& p = s.epilogue;
  constexpr int64_t kColumns = 8;  // fewer are multiplied as rows
  if (is_narrow(s.dtype) || !is_float(s.dtype) || s.a_walks() || s.b_walks() || s.b_m || s.k == 0 || s.n < kColumns)
    return -1;
  if (p.inner != 0 || p.domain.rank != 3 || p.code.size() != 4) return -1;
  const Instr *loads = p.code.data(), &add = p.code[2], &store = p.code[3];
  for (int i = 0; i < 2; ++i)
    if (loads[i].code != Code::load || loads[i].dtype != s.dtype) return -1;
  const bool sums_first = loads[0].slot == 0;
  if (add.code != Code::add || add.a == add.b || sums_first == (loads[1].slot == 0)) return -1;
  if (store.code != Code::store || store.a != 2) return -1;
  const int32_t row = loads[sums_first].slot;
  const View &from = p.views[row], &to = p.views[store.slot];
  const bool apart = memory_of[from.binding] != memory_of[to.binding];
  const bool in_order = from.strides[2] == 1 && to.strides[2] == 1;
  return in_order && apart && (from.strides[1] == 0 || s.m == 1) && to.dtype == s.dtype ? row : -1;
}

}  // namespace

void multiply(DType dtype, GemmTile t) {
  if (dtype == DType::int32) return multiply_integers<int32_t, uint32_t>(t);
  if (dtype == DType::int64) return multiply_integers<int64_t, uint64_t>(t);
  if (t.dots) return (dtype == DType::float32 ? blocks().dots_f32 : blocks().dots_f64)(t);
  t.scratch = scratch(1, gemm_scratch());
  if (t.n < 8 && t.m > t.n && !t.inner && !t.b_m && !t.bias) t = transposed(t);
  if (dtype == DType::bfloat16) return gemm_bfloat16()(t);
  (dtype == DType::float32 ? blocks().gemm_f32 : blocks().gemm_f64)(t);
}

ProductPlan plan_product(const Product& product, const std::vector<int32_t>& memory_of, Compiled& compiled) {
  if (product.dtype == DType::boolean) fail<TypeError>("matmul", "boolean operands", "convert them to int32");
  ProductPlan plan;
  plan.shape = product;
  choose_walks(plan);
  plan.dots = is_dots(product);
  const Program& epilogue = product.epilogue;
  const bool in_order = epilogue.views.size() > 1 && epilogue.views[1].strides[2] == 1;
  plan.bias_view = bias_of(product, memory_of);
  const bool stores = only_stores(epilogue, wide_of(product.dtype)) && (in_order || !product.window.pitch);
  if (stores || plan.bias_view >= 0) {
    plan.out_view = epilogue.code.back().slot;
    if (plan.bias_view >= 0) plan.bias = epilogue.views[plan.bias_view];
    plan.out_strides = epilogue.views[plan.out_view].strides;
    plan.out_offset = epilogue.views[plan.out_view].offset;
    choose_tiles(plan);
    return plan;
  }
  const bool tile = epilogue.inner == 0 && epilogue.domain.rank == 3 && epilogue.views.size() <= kMostViews;
  plan.store = tile ? ProductPlan::Store::tile : ProductPlan::Store::whole;
  choose_tiles(plan);
  Program p = epilogue;
  if (tile) {  // the accumulator is a tile in scratch memory, the same for each batch entry
    p.views[0].strides = Dims{0, plan.tile_n, 1};
    p.views[0].offset = 0;
  }
  plan.epilogue = compiled.of(std::move(p), {&memory_of, tile});
  return plan;
}

namespace {
int64_t sum_size(const ProductPlan& plan) { return size_of(wide_of(plan.shape.dtype)); }
int64_t tile_bytes(const ProductPlan& plan) { return plan.tile_m * plan.tile_n * sum_size(plan); }
int64_t whole_bytes(const ProductPlan& plan) {
  const Product& s = plan.shape;
  return s.batch * s.m * s.n * sum_size(plan) + 64;
}
}  // namespace

ScratchSizes scratch_of_others(const ProductPlan& plan) {
  return {plan.epilogue ? plan.epilogue->frame_bytes : 0, gemm_scratch(),
          plan.store == ProductPlan::Store::tile ? tile_bytes(plan) : 0, 0};
}
ScratchSizes scratch_of(const ProductPlan& plan) {
  ScratchSizes sizes = scratch_of_others(plan);
  if (plan.store == ProductPlan::Store::whole) sizes[2] = whole_bytes(plan);
  return sizes;
}

void run_product(const ProductPlan& plan, const char* a, const char* b, std::vector<char*>& bases) {
  const Product& s = plan.shape;
  const int64_t size = size_of(s.dtype), sums = sum_size(plan), per_batch = plan.tiles_m * plan.tiles_n;
  const int64_t groups = std::max<int64_t>(1, s.batch / std::max<int64_t>(1, s.folded));
  const bool walks = s.a_walks() || s.b_walks();
  char* whole = plan.store == ProductPlan::Store::whole ? scratch(2, whole_bytes(plan)) : nullptr;
  const auto one_tile = [&](int64_t i) {
    const int64_t batch = i / per_batch, m0 = i % per_batch / plan.tiles_n * plan.tile_m,
                  n0 = i % plan.tiles_n * plan.tile_n;
    GemmTile t{};
    t.m = std::min(plan.tile_m, s.m - m0);
    t.n = std::min(plan.tile_n, s.n - n0);
    t.k = s.k;
    const int64_t group = batch % groups;
    t.a = a + (s.a_offset + group * s.a_batch + m0 * s.a_m) * size;
    t.b = b + (s.b_offset + batch / groups * s.b_folded + group * s.b_batch + m0 * s.b_m) * size;
    t.a_m = s.a_m, t.a_k = s.a_k, t.b_k = s.b_k, t.b_n = s.b_n, t.b_m = s.b_m;
    t.dots = plan.dots;
    int64_t columns[kTileN];
    if (walks) {
      for (int64_t j = 0; j < t.n; ++j) columns[j] = place(plan.columns.sizes, plan.columns.b, n0 + j);
      t.inner = &plan.inner;
      t.b_columns = columns;
      t.b_n = plan.columns.b[plan.columns.sizes.rank - 1];
      t.k_in_rows = plan.k_in_rows;
      if (s.window.pitch) t.window = &s.window;
    } else {
      t.b = static_cast<const char*>(t.b) + n0 * s.b_n * size;
    }
    if (plan.store == ProductPlan::Store::direct) {
      const Dims& out = plan.out_strides;
      t.c = bases[plan.out_view] + (plan.out_offset + batch * out[0] + m0 * out[1] + n0 * out[2]) * sums;
      t.c_m = out[1], t.c_n = out[2];
      if (plan.bias_view >= 0)
        t.bias = bases[plan.bias_view] + (plan.bias.offset + batch * plan.bias.strides[0] + n0) * sums;
      return multiply(s.dtype, t);
    }
    if (whole) {
      t.c = whole + ((batch * s.m + m0) * s.n + n0) * sums;
      t.c_m = s.n, t.c_n = 1;
      return multiply(s.dtype, t);
    }
    char* tile = scratch(2, tile_bytes(plan));
    t.c = tile;
    t.c_m = plan.tile_n, t.c_n = 1;
    multiply(s.dtype, t);
    char* views[kMostViews];
    std::copy(bases.begin(), bases.end(), views);
    views[0] = reinterpret_cast<char*>(reinterpret_cast<intptr_t>(tile) - (m0 * plan.tile_n + n0) * sums);
    const int64_t unit = batch * s.m + m0;
    run_range(*plan.epilogue, views, {unit, unit + t.m, n0, n0 + t.n});
  };
  const int64_t tiles = s.batch * per_batch;
  const int64_t work = std::max<int64_t>(1, plan.tile_m * plan.tile_n * s.k);
  parallel_for(tiles, std::max<int64_t>(1, kSmallProduct / 4 / work), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) one_tile(i);
  });
  if (whole) {
    bases[0] = whole;
    run_all(*plan.epilogue, bases.data());
  }
}

}  // namespace sg::cpu
