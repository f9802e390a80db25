// float32 products of less than the highest precision, for GPUs with matrix units: each operand is written once more, as
// halves that are scaled row by row (docs/decisions/032-products-of-scaled-halves.md).
#include <algorithm>

#include "base/round.hpp"
#include "kernel/matrix_tiles.hpp"
#include "schedule/passes.hpp"

namespace sg::schedule_detail {
namespace {

constexpr DType kF = DType::float32, kHalf = DType::float16;
constexpr int64_t kLeastSide = 16;  // shorter sides leave matrix units idle
constexpr int64_t kEven = 8;        // rows begin at multiples of 16 bytes
// The largest element of a row becomes 2^kTop to 2^(kTop + 1): sums do not overflow, and what float16 cannot hold is
// 2^-39 of the largest. Powers of two that float32 holds scale there and back.
constexpr double kTop = 14, kLeastPower = -126;

struct Operand {
  int32_t binding;
  int64_t offset;
  bool aligned;
  int64_t batches, batch, side, step_side, k, step_k;
};

// Whether its halves lie along k.
bool along_k(const Operand& o) { return o.step_k == 1 || o.step_side != 1; }

OperandHalves written_as_halves(const Operand& o, int planes) {
  OperandHalves out;
  Product::Halves& h = out.halves;
  const bool along = along_k(o);
  h.step_k = along ? 1 : round_up(o.side, kEven);
  h.step_side = along ? round_up(o.k, kEven) : 1;
  const int64_t each = along ? o.side * h.step_side : o.k * h.step_k;
  h.batch = o.batches > 1 ? each : 0;
  h.plane = o.batches * each;
  h.exponents_batch = o.batches > 1 ? o.side : 0;
  out.elements = planes * h.plane;
  out.exponents = o.batches * o.side;

  ProgramBuilder b;
  b.program.domain = {o.batches, o.side, o.k};
  b.program.inner = 1;
  const auto add_view = [&](int32_t binding, DType dtype, const Dims& strides, int64_t offset, bool aligned) {
    return b.add_view({.binding = binding, .dtype = dtype, .strides = strides, .offset = offset, .aligned = aligned});
  };
  const auto f = [&](Code code, Expr x, Expr y = {}) { return b.alu(code, kF, x, y); };
  const Expr x = b.load(add_view(0, kF, {o.batch, o.step_side, o.step_k}, o.offset, o.aligned));
  const Expr largest = b.reduce(Fold::maximum, f(Code::abs, x));
  const Expr power = f(Code::maximum, f(Code::sub, f(Code::floor, f(Code::log2, largest)), b.constant(kF, kTop)),
                       b.constant(kF, kLeastPower));
  b.store(add_view(2, kF, {h.exponents_batch, 1, 0}, 0, true), power);
  const Expr scaled = f(Code::mul, x, f(Code::exp2, f(Code::neg, power)));
  const Expr high = b.cast(scaled, kHalf);
  const Dims strides = {h.batch, h.step_side, h.step_k};
  b.store(add_view(1, kHalf, strides, 0, true), high);
  if (planes > 1)
    b.store(add_view(1, kHalf, strides, h.plane, true), b.cast(f(Code::sub, scaled, b.cast(high, kF)), kHalf));
  out.program = std::move(b.program);
  if (!along) set_order(out.program, {.neighbours = FoldOrder::Neighbours::in_many_rows});
  collapse(out.program);
  annotate(out.program);
  return out;
}

}  // namespace

std::optional<ProductOfHalves> product_of_halves(const Product& p, const Features* gpu) {
  if (p.precision == Precision::highest || p.dtype != kF || !gpu) return std::nullopt;
  if (p.a_walks() || p.b_walks() || p.folded != 1) return std::nullopt;
  if (std::min({p.m, p.n, p.k}) < kLeastSide) return std::nullopt;
  const int planes = p.precision == Precision::high ? 2 : 1;
  const auto batches = [&](int64_t stride) { return stride ? p.batch : 1; };
  const Operand a{p.a_binding, p.a_offset, p.a_aligned, batches(p.a_batch), p.a_batch, p.m, p.a_m, p.k, p.a_k};
  const Operand b{p.b_binding, p.b_offset, p.b_aligned, batches(p.b_batch), p.b_batch, p.n, p.b_n, p.k, p.b_k};
  // Without a tile that fits, the kernel of float32 would take the product, and nobody read the halves.
  if (!choose_matrix_tile({.units = gpu->float16_units,
                           .m = p.m,
                           .n = p.n,
                           .k = p.k,
                           .batch = p.batch,
                           .planes = planes,
                           .a_along_k = along_k(a),
                           .b_along_k = along_k(b),
                           .walks = false},
                          *gpu))
    return std::nullopt;
  return ProductOfHalves{written_as_halves(a, planes), written_as_halves(b, planes)};
}

}  // namespace sg::schedule_detail
