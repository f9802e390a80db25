// Kernels on memory -> the steps of a plan: copies first, long rows and products in parts, ops with launches of their
// own expanded.
#include <algorithm>
#include <optional>
#include <utility>

#include "schedule/place.hpp"

namespace sg::schedule_detail {
namespace {

// Takes the kernels out of `kernels_` as it goes, so each is used once. Partial results get memories of their own,
// which no group knows.
class StepMaker {
 public:
  StepMaker(Context& context, Kernels& kernels, const Launches& launches, Memories& memories, Plan& plan)
      : context_(context), kernels_(kernels), launches_(launches), memories_(memories), plan_(plan) {}

  void run() {
    plan_.steps.reserve(launches_.leaders.size());
    for (int32_t leader : launches_.leaders) append_steps(leader);
  }

 private:
  Binding bind(const ValueRef& s) {
    Binding b;
    b.memory = memories_.of(s);
    b.start = s.start;
    return b;
  }

  // Takes the kernel away.
  Instance instance_of(Emitted& e) {
    Instance instance;
    instance.kernel = std::move(e.kernel);
    instance.checks = e.checks;
    instance.guards = e.guards;
    instance.numbers = std::move(e.numbers);
    instance.bindings.reserve(e.sources.size());
    for (const ValueRef& s : e.sources) instance.bindings.push_back(bind(s));
    return instance;
  }

  static void list_accesses(Instance& instance, const Program& p) {
    for (const Instr& i : p.code) {
      if (!is_load(i.code) && !is_store(i.code)) continue;
      const int32_t b = p.views[i.slot].binding;
      if (b >= 0) (is_store(i.code) ? instance.writes : instance.reads).push_back(instance.bindings[b].memory);
    }
  }

  // `reads` and `writes` are what barriers and the order of launches are made from; of a custom kernel the tensors say
  // it.
  static void finish(Instance& instance) {
    instance.reads.reserve(instance.bindings.size());
    if (instance.kernel.kind == Kernel::Kind::program) {
      list_accesses(instance, instance.kernel.program);
    } else if (instance.kernel.kind == Kernel::Kind::product) {
      const Product& p = *instance.kernel.product;
      instance.reads = {instance.bindings[p.a_binding].memory, instance.bindings[p.b_binding].memory};
      if (p.planes())
        for (const Product::Halves* h : {&p.a_halves, &p.b_halves})
          for (int32_t b : {h->binding, h->exponents}) instance.reads.push_back(instance.bindings[b].memory);
      list_accesses(instance, p.epilogue);
    }
    for (auto* list : {&instance.reads, &instance.writes}) {
      std::sort(list->begin(), list->end());
      list->erase(std::unique(list->begin(), list->end()), list->end());
    }
  }

  void append_steps(int32_t leader) {
    append_copies(leader);
    if (kernels_.groups[leader].kind == FusionGroup::Kind::custom) return append_custom(leader);
    if (kernels_.is_empty(leader)) return;
    Emitted& first = kernels_.emitted[leader];
    if (append_split_rows(first) || append_split_product(first)) return;
    if (first.kernel.kind == Kernel::Kind::product) return add_product(first.name, instance_of(first), first.nodes);
    for (int32_t d : launches_.riders[leader]) append_copies(d);
    Step step{std::move(first.name), {}, std::move(first.nodes)};
    step.instances.reserve(1 + launches_.riders[leader].size());
    append(step, first);
    for (int32_t d : launches_.riders[leader]) {
      step.nodes.insert(step.nodes.end(), kernels_.emitted[d].nodes.begin(), kernels_.emitted[d].nodes.end());
      append(step, kernels_.emitted[d]);
    }
    plan_.steps.push_back(std::move(step));
  }

  void add_step(std::string name, Instance instance, std::vector<int32_t> nodes = {}) {
    Step& step = plan_.steps.emplace_back();
    step.name = std::move(name);
    step.instances.push_back(std::move(instance));
    step.nodes = std::move(nodes);
  }

  void append(Step& step, Emitted& e) {
    step.instances.push_back(instance_of(e));
    finish(step.instances.back());
  }

  // The launches of an op that has its own kernels, with their temporaries.
  void append_custom(int32_t d) {
    const Node& node = context_.node(kernels_.groups[d].roots[0]);
    Expansion expansion;
    expansion.inputs = node.inputs;
    expansion.gpu = context_.input.gpu;
    node.op->expand(node, context_.log.device.is_gpu(), expansion);
    std::vector<Binding> memories;
    for (const ValueRef& s : kernels_.emitted[d].sources) memories.push_back(bind(s));
    for (int64_t bytes : expansion.temporaries) memories.push_back({memories_.add({.bytes = bytes}), -1});
    for (Expansion::Launch& launch : expansion.launches) {
      Instance instance;
      instance.kernel.kind = Kernel::Kind::custom;
      for (CustomKernel::Tensor& t : launch.custom.tensors) {
        if (t.binding < node.inputs && kernels_.emitted[d].sources[t.binding].start < 0)
          t.offset += node.in[t.binding].offset;
        const Binding& memory = memories[t.binding];
        t.binding = static_cast<int32_t>(instance.bindings.size());
        instance.bindings.push_back(memory);
        (t.write ? instance.writes : instance.reads).push_back(memory.memory);
      }
      instance.kernel.custom = std::move(launch.custom);
      if (instance.kernel.custom->reports) instance.checks = {kernels_.groups[d].roots[0]};
      finish(instance);
      add_step(std::move(launch.name), std::move(instance), kernels_.emitted[d].nodes);
    }
  }

  void append_copies(int32_t d) {
    const auto found = memories_.copies.find(d);
    if (found == memories_.copies.end()) return;
    for (auto [from, to] : found->second) {
      Instance copy;
      copy.kernel.kind = Kernel::Kind::copy;
      copy.bindings = {{from, -1}, {to, -1}};
      copy.reads = {from};
      copy.writes = {to};
      if (memories_[to].bytes == 0) continue;
      add_step("copy", std::move(copy));
    }
  }

  // Only sizes decide, not the device: a sum is cut in the same places on CPU and GPU, so that its bits can agree
  // (docs/decisions/013-sums-are-cut-by-size.md).
  bool append_split_rows(Emitted& e) {
    if (e.kernel.kind != Kernel::Kind::program) return false;
    const auto partials = static_cast<int32_t>(e.sources.size());
    auto split = e.kernel.program.part_rows ? std::optional(finish_row_sums(e.kernel.program, partials))
                                            : split_rows(e.kernel.program, partials);
    if (!split) {
      if (e.kernel.program.inner) collapse(e.kernel.program);
      return false;
    }
    const bool sums = e.kernel.program.part_rows;
    Instance first = instance_of(e), second;
    for (DType type : split->partials) {
      Memory m{.bytes = split->partial_numel * static_cast<int64_t>(size_of(type))};
      first.bindings.push_back({memories_.add(m), -1});
    }
    second = first;
    first.kernel.program = std::move(split->first);
    second.kernel.program = std::move(split->second);
    finish(first);
    finish(second);
    add_step(e.name + (sums ? "" : "_pieces"), std::move(first), e.nodes);
    add_step(e.name + (sums ? "_sums" : ""), std::move(second), e.nodes);
    return true;
  }

  // A product, behind its operands as halves where it is one of those.
  void add_product(const std::string& name, Instance instance, const std::vector<int32_t>& nodes) {
    Product& p = *instance.kernel.product;
    if (auto split = product_of_halves(p, context_.input.gpu)) {
      p.a_halves = add_halves(name, instance, p.a_binding, std::move(split->a), nodes);
      p.b_halves = add_halves(name, instance, p.b_binding, std::move(split->b), nodes);
    }
    finish(instance);
    add_step(name, std::move(instance), nodes);
  }

  Product::Halves add_halves(const std::string& name, Instance& product, int32_t operand, OperandHalves split,
                             const std::vector<int32_t>& nodes) {
    Product::Halves halves = split.halves;
    Instance pass;
    pass.bindings.push_back(product.bindings[operand]);
    const auto add_memory = [&](DType type, int64_t elements) {
      pass.bindings.push_back({memories_.add({.bytes = elements * static_cast<int64_t>(size_of(type))}), -1});
      product.bindings.push_back(pass.bindings.back());
      return static_cast<int32_t>(product.bindings.size()) - 1;
    };
    halves.binding = add_memory(DType::float16, split.elements);
    halves.exponents = add_memory(DType::float32, split.exponents);
    pass.kernel.program = std::move(split.program);
    finish(pass);
    add_step(name + "_halves", std::move(pass), nodes);
    return halves;
  }

  bool append_split_product(Emitted& e) {
    if (e.kernel.kind != Kernel::Kind::product || !context_.log.device.is_gpu()) return false;
    auto split = split_product(*e.kernel.product, static_cast<int32_t>(e.sources.size()));
    if (!split) return false;
    const int64_t bytes = split->partial_numel * static_cast<int64_t>(size_of(wide_of(e.kernel.product->dtype)));
    Instance first = instance_of(e);
    first.bindings.push_back({memories_.add({.bytes = bytes}), -1});
    Instance second = first;
    first.kernel.product = std::move(split->first);
    second.kernel.kind = Kernel::Kind::program;
    second.kernel.program = std::move(split->second);
    finish(second);
    add_product(e.name + "_slices", std::move(first), e.nodes);
    add_step(e.name, std::move(second), e.nodes);
    return true;
  }

  Context& context_;
  Kernels& kernels_;
  const Launches& launches_;
  Memories& memories_;
  Plan& plan_;
};

}  // namespace

void append_steps(Context& context, Kernels& kernels, const Launches& launches, Memories& memories, Plan& plan) {
  StepMaker(context, kernels, launches, memories, plan).run();
}

}  // namespace sg::schedule_detail
