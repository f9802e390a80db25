// Groups -> a plan on memory: kernels are emitted and ordered, values get memory (memories.cpp), kernels become launches
// (launches.cpp) and launches steps (steps.cpp).
#include "schedule/place.hpp"

namespace sg::schedule_detail {
namespace {

// The pending value that an effect changes part of, or -1.
int32_t written_over(const Context& context, int32_t root) {
  const Node& node = context.node(root);
  return node.op->kind == Kind::effect ? context.pending(node.in[1]) : -1;
}

// The group that stores each node. Decides which nodes need memory.
std::vector<int32_t> makers_of(Context& context, const std::vector<FusionGroup>& groups) {
  std::vector<int32_t> made_by(context.count(), -1);
  std::vector<bool> read(context.count(), false);
  for (size_t d = 0; d < groups.size(); ++d) {
    for (int32_t root : groups[d].roots) made_by[root] = static_cast<int32_t>(d);
    for (int32_t node : groups[d].reads) read[node] = true;
    for (int32_t root : groups[d].roots)  // of several writes to one memory, each is needed
      if (const int32_t before = written_over(context, root); before >= 0) read[before] = true;
  }
  for (int32_t i = 0; i < context.count(); ++i) context.exported[i] = context.input.held[i] || read[i];
  return made_by;
}

// One element looks like a short row, so that it can share a launch with longer ones.
void as_row_of_one(Program& p) {
  p.domain.push(1);
  for (View& v : p.views) v.strides.push(1);
}

// Rows keep their dimensions until it is known where they are cut (split_rows.cpp).
Emitted emit_collapsed(Context& context, const FusionGroup& group) {
  Emitted e = emit(context, group);
  if (e.kernel.kind == Kernel::Kind::program && e.kernel.program.inner == 0) {
    collapse(e.kernel.program);
    if (e.kernel.program.domain.rank == 0) as_row_of_one(e.kernel.program);
  }
  return e;
}

// A kernel comes after those whose stored nodes it reads. Writes in place add edges of their own (memories.cpp).
Order order_of(const Context& context, const Kernels& kernels) {
  Order order(kernels.count(), &context.memory);
  for (size_t d = 0; d < kernels.count(); ++d)
    for (int32_t node : kernels.groups[d].reads)
      if (kernels.made_by[node] >= 0) order.add(kernels.made_by[node], static_cast<int32_t>(d));
  return order;
}

// A value that a kernel of its own computes again waits for what its readers read beside it, so that it comes late.
void delay_seconds(const Context& context, const Kernels& kernels, Order& order) {
  if (context.input.second.empty()) return;
  for (size_t reader = 0; reader < kernels.count(); ++reader)
    for (int32_t read : kernels.groups[reader].reads) {
      const int32_t second = kernels.made_by[read];
      if (second < 0 || !computes_again(context, kernels.groups[second])) continue;
      for (int32_t other : kernels.groups[reader].reads)
        if (const int32_t maker = kernels.made_by[other]; maker >= 0 && !order.before(second, maker))
          order.add(maker, second);
    }
}

// Writes that are done together or not at all come after every check that may keep one of them from being done.
void check_first(const Context& context, const Kernels& kernels, Order& order) {
  std::vector<std::pair<int32_t, int32_t>> checks;  // node, kernel
  for (size_t d = 0; d < kernels.count(); ++d) {
    for (int32_t node : kernels.emitted[d].checks) checks.emplace_back(node, static_cast<int32_t>(d));
    if (kernels.groups[d].kind == FusionGroup::Kind::custom && context.node(kernels.groups[d].roots[0]).op->reports)
      checks.emplace_back(kernels.groups[d].roots[0], static_cast<int32_t>(d));
  }
  for (size_t d = 0; d < kernels.count() && !checks.empty(); ++d)
    for (int32_t write : kernels.emitted[d].guards) {
      if (!context.node(write).together) continue;
      for (const auto& [node, check] : checks) {
        const auto writer = static_cast<int32_t>(d);
        if (node < write && !order.before(check, writer) && !order.before(writer, check)) order.add(check, writer);
      }
    }
}

}  // namespace

bool Kernels::is_empty(int32_t group) const {
  const Kernel& k = emitted[group].kernel;
  if (k.kind == Kernel::Kind::custom) return false;
  if (k.kind == Kernel::Kind::product) return k.product->batch * k.product->m * k.product->n == 0;
  return k.program.rows() == 0 || (k.program.inner == 0 && k.program.domain.numel() == 0);
}

// The order of these lines matters: a value's memory adds edges to the order (readers before the write in place),
// launches are grouped only by the complete order, and the arena is packed when all steps are known.
Scheduled place(Context& context, const std::vector<FusionGroup>& groups) {
  Scheduled out;
  Plan& plan = out.plan;
  plan.device = context.log.device;
  plan.leaves = static_cast<int32_t>(context.log.leaves.size());
  plan.starts = static_cast<int32_t>(context.log.offsets.size());
  plan.numbers = static_cast<int32_t>(context.log.numbers.size());
  Kernels kernels{groups, {}, makers_of(context, groups)};
  kernels.emitted.reserve(groups.size());
  for (const FusionGroup& group : groups) kernels.emitted.push_back(emit_collapsed(context, group));
  Order order = order_of(context, kernels);
  check_first(context, kernels, order);
  delay_seconds(context, kernels, order);
  Memories memories = place_values(context, kernels, order, out);
  const Launches launches = group_launches(context, kernels, std::move(order));
  append_steps(context, kernels, launches, memories, plan);
  pack_arena(plan, context.work);
  out.work = context.work;
  return out;
}

}  // namespace sg::schedule_detail
