// Walks every program and product of a plan. Pure; knows no device.
#include "plan/bounds.hpp"

#include <algorithm>
#include <string>

#include "base/error.hpp"

namespace sg {

// Positions are sums of strides times coordinates, so both ends are at corners of the domain.
void Reach::include(int64_t at) {
  first = std::min(first, at);
  last = std::max(last, at);
}

void Reach::along(int64_t size, int64_t stride) {
  first += std::min<int64_t>(0, stride * (size - 1));
  last += std::max<int64_t>(0, stride * (size - 1));
}

void Reach::along(const Dims& sizes, const Dims& strides) {
  for (int d = 0; d < strides.rank; ++d) along(sizes[d], strides[d]);
}

FactorReach reach_of(const Product& p) {
  Reach a{p.a_offset, p.a_offset}, b{p.b_offset, p.b_offset};
  if (p.sliced) {
    a.along(p.m, p.a_m), a.along(p.sliced, p.a_k);
    b.along(p.n, p.b_n), b.along(p.sliced, p.b_k);
    return {a, b};
  }
  a.along(p.batch / p.folded, p.a_batch), a.along(p.m, p.a_m);
  b.along(p.batch / p.folded, p.b_batch), b.along(p.folded, p.b_folded), b.along(p.m, p.b_m);
  if (p.a_walks())
    a.along(p.inner.sizes, p.inner.a);
  else
    a.along(p.k, p.a_k);
  if (p.window.pitch) {
    b.along(p.window.height, p.window.row), b.along(p.window.width, 1);
    if (p.inner.sizes.rank > 2) b.along(p.inner.sizes[0], p.inner.b[0]);  // images
  } else if (p.b_walks()) {
    b.along(p.inner.sizes, p.inner.b), b.along(p.columns.sizes, p.columns.b);
  } else {
    b.along(p.k, p.b_k), b.along(p.n, p.b_n);
  }
  return {a, b};
}

namespace {

constexpr Reach kBeginning{0, -1};  // alone: the rest follows from values

// Two dimensions that count pieces and places in a piece: the last piece may be shorter than the others.
Reach along_pieces(const Program& p, const View& v) {
  const int pieces = p.outer() - 1, inside = p.outer();
  const int64_t size = p.domain[inside], last = (p.piece_limit - 1) / size;
  Reach r;
  for (int64_t piece : {int64_t{0}, std::max<int64_t>(last - 1, 0), last})
    for (int64_t place : {int64_t{0}, std::min(size, p.piece_limit - piece * size) - 1})
      r.include(piece * v.strides[pieces] + place * v.strides[inside]);
  return r;
}

bool once_a_row(const Program& p, const View& v) {
  return std::all_of(v.strides.begin() + p.outer(), v.strides.end(), [](int64_t s) { return s == 0; });
}

bool empty(const Program& p, const View& v) { return p.rows() == 0 || (p.columns() == 0 && !once_a_row(p, v)); }

Reach reach_of(const Program& p, const Instr& i) {
  const View& v = p.views[static_cast<size_t>(i.slot)];
  Reach r;
  if (i.code == Code::load_at || i.code == Code::store_at) return kBeginning;
  if (p.piece_limit) r = along_pieces(p, v);
  if (i.code == Code::sum_rows) r.along(p.parts(), p.columns());
  for (int d = 0; d < p.domain.rank; ++d) {
    const bool counted = p.piece_limit && (d == p.outer() - 1 || d == p.outer());
    if (!counted && p.domain[d]) r.along(p.domain[d], v.strides[d]);
  }
  return r;
}

class Checker {
 public:
  Checker(const Plan& plan, const Step& step, const Instance& instance, const int64_t* offsets)
      : plan_(plan), step_(step), instance_(instance), offsets_(offsets) {}

  void check() const {
    const Kernel& k = instance_.kernel;
    if (k.kind == Kernel::Kind::program) program(k.program);
    if (k.kind == Kernel::Kind::product) product(*k.product);
    if (k.kind == Kernel::Kind::custom)
      for (const CustomKernel::Tensor& t : k.custom->tensors) place(t.binding, t.dtype, kBeginning.from(t.offset));
  }

 private:
  void program(const Program& p) const {
    for (const Instr& i : p.code) {
      if (!is_load(i.code) && !is_store(i.code)) continue;
      const View& v = p.views[static_cast<size_t>(i.slot)];
      if (v.binding < 0 || empty(p, v)) continue;
      place(v.binding, v.dtype, reach_of(p, i).from(v.offset));
    }
  }

  void product(const Product& p) const {
    program(p.epilogue);
    if (p.batch == 0 || p.m == 0 || p.n == 0 || p.k == 0) return;
    const auto [a, b] = reach_of(p);
    place(p.a_binding, p.dtype, a);
    place(p.b_binding, p.dtype, b);
    if (!p.planes()) return;
    halves(p, p.a_halves, p.m);
    halves(p, p.b_halves, p.n);
  }

  void halves(const Product& p, const Product::Halves& h, int64_t side) const {
    Reach all, exponents;
    all.along(p.planes(), h.plane), all.along(p.batch, h.batch), all.along(side, h.step_side), all.along(p.k, h.step_k);
    exponents.along(p.batch, h.exponents_batch), exponents.along(side, 1);
    place(h.binding, DType::float16, all);
    place(h.exponents, DType::float32, exponents);
  }

  void place(int32_t binding, DType dtype, Reach r) const {
    const Binding& b = instance_.bindings[static_cast<size_t>(binding)];
    const int64_t offset = b.start < 0 ? 0 : offsets_[b.start];
    const int64_t elements = plan_.memories[static_cast<size_t>(b.memory)].bytes / static_cast<int64_t>(size_of(dtype));
    if (r.first + offset >= 0 && r.last + offset < elements) return;
    fail<CheckError>("run",
                     "kernel " + step_.name + " reaches elements " + std::to_string(r.first + offset) + " to " +
                         std::to_string(r.last + offset) + " of m" + std::to_string(b.memory) + ", which has " +
                         std::to_string(elements),
                     "please report this bug, with the lines that lead to it");
  }

  const Plan& plan_;
  const Step& step_;
  const Instance& instance_;
  const int64_t* offsets_;
};

}  // namespace

void check_bounds(const Plan& plan, const int64_t* offsets) {
  for (const Step& step : plan.steps)
    for (const Instance& instance : step.instances) Checker(plan, step, instance, offsets).check();
}

}  // namespace sg
