// Counts bytes and operations, pure; a lower bound, so that a rate made of it is never too good.
#include "plan/cost.hpp"

#include <algorithm>

namespace sg {
namespace {

int64_t memory_bytes(const Plan& plan, const Instance& instance, int32_t binding) {
  return plan.memories.at(static_cast<size_t>(instance.bindings.at(static_cast<size_t>(binding)).memory)).bytes;
}

// Elements of the domain that differ in address: a dimension with stride 0 reads the same again.
int64_t elements(const Dims& domain, const Dims& strides) {
  int64_t n = 1;
  for (int d = 0; d < domain.rank; ++d) n *= strides[d] == 0 && domain[d] > 0 ? 1 : domain[d];
  return n;
}

int64_t arithmetic(const Program& p) {
  int64_t n = 0;
  for (const Instr& i : p.code) {
    const bool free = is_load(i.code) || is_store(i.code) || i.code == Code::number || i.code == Code::constant ||
                      i.code == Code::index;
    if (free) continue;
    const bool each = !i.per_row || i.code == Code::reduce;
    n += p.rows() * (each ? p.columns() : 1);
  }
  return n;
}

int64_t moved(const Plan& plan, const Instance& instance, const Program& p) {
  std::vector<bool> used(p.views.size()), anywhere(p.views.size());
  for (const Instr& i : p.code) {
    if (is_load(i.code) || is_store(i.code)) used[static_cast<size_t>(i.slot)] = true;
    if (i.code == Code::load_at || i.code == Code::store_at) anywhere[static_cast<size_t>(i.slot)] = true;
  }
  int64_t bytes = 0;
  for (size_t v = 0; v < used.size(); ++v) {
    const View& view = p.views[v];
    if (!used[v] || view.binding < 0) continue;
    const int64_t n = anywhere[v] ? p.domain.numel() : elements(p.domain, view.strides);
    bytes += std::min(n * static_cast<int64_t>(size_of(view.dtype)), memory_bytes(plan, instance, view.binding));
  }
  return bytes;
}

std::string shape_text(int64_t batch, int64_t rows, int64_t columns) {
  return batch == 1 ? Dims{rows, columns}.str() : Dims{batch, rows, columns}.str();
}

void add(Cost& cost, const Plan& plan, const Instance& instance) {
  const Kernel& kernel = instance.kernel;
  const auto text = [&](const std::string& s) { cost.shapes += (cost.shapes.empty() ? "" : ", ") + s; };
  if (kernel.kind == Kernel::Kind::program) {
    cost.bytes += moved(plan, instance, kernel.program);
    cost.flops += arithmetic(kernel.program);
    text(kernel.program.domain.str());
  } else if (kernel.kind == Kernel::Kind::product) {
    const Product& p = *kernel.product;
    const auto size = static_cast<int64_t>(size_of(p.dtype));
    const auto read = [&](int32_t binding, int64_t elements) {
      return std::min(size * elements, memory_bytes(plan, instance, binding));
    };
    if (p.planes())
      for (const Product::Halves* h : {&p.a_halves, &p.b_halves})
        cost.bytes += memory_bytes(plan, instance, h->binding) + memory_bytes(plan, instance, h->exponents);
    else
      cost.bytes += read(p.a_binding, (p.a_batch ? p.batch / p.folded : 1) * p.m * p.k) +
                    read(p.b_binding, (p.b_batch || p.b_folded ? p.batch : 1) * (p.b_m ? p.m : 1) * p.k * p.n);
    cost.bytes += moved(plan, instance, p.epilogue);
    cost.flops += 2 * p.m * p.n * (p.sliced ? p.sliced : p.batch * p.k) + arithmetic(p.epilogue);
    text(shape_text(p.batch, p.m, p.k) + " @ " + shape_text(p.batch, p.k, p.n));
  } else {  // touches its memories as a whole
    for (int32_t m : instance.reads) cost.bytes += plan.memories.at(static_cast<size_t>(m)).bytes;
    cost.flops += static_cast<int64_t>(kernel.custom->cost);
    for (int32_t m : instance.writes) cost.bytes += plan.memories.at(static_cast<size_t>(m)).bytes;
  }
}

}  // namespace

Cost cost_of(const Plan& plan, const Step& step) {
  Cost cost;
  for (const Instance& i : step.instances) add(cost, plan, i);
  return cost;
}

}  // namespace sg
