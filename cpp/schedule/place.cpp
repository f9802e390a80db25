// Groups -> steps on memory: which writes go in place, in which order kernels run, which of them become one launch,
// which memory is whose. arena.cpp says where temporaries lie.
#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "schedule/order.hpp"
#include "schedule/passes.hpp"

namespace sg::schedule_detail {
namespace {

constexpr size_t kMaxInstances = 512;
constexpr size_t kMaxLeaders = 32;  // of one structure that a kernel may still join: those of the latest launches
constexpr int64_t kMaxInstanceElements = int64_t{1} << 22;  // larger kernels fill a device by themselves

class Placer {
 public:
  Placer(Context& context, const std::vector<FusionGroup>& groups)
      : context_(context),
        groups_(groups),
        leaf_memory_(context.log.leaves.size(), -1),
        leaf_readers_(&context.memory),
        node_readers_(&context.memory) {}

  Scheduled run() {
    plan().device = context_.log.device;
    plan().leaves = static_cast<int32_t>(context_.log.leaves.size());
    plan().starts = static_cast<int32_t>(context_.log.offsets.size());
    plan().numbers = static_cast<int32_t>(context_.log.numbers.size());
    export_nodes();
    emitted_.reserve(groups());
    for (size_t d = 0; d < groups(); ++d) emitted_.push_back(emit_collapsed(static_cast<int32_t>(d)));
    build_edges();
    checks_ = has_checks();
    place_nodes();
    group_instances();
    const std::vector<int32_t> launches = order_.sorted();
    plan().steps.reserve(launches.size());
    for (int32_t leader : launches) append_steps(leader);
    pack_arena(plan(), context_.work);
    plan().reporters = std::move(context_.reporters);
    out_.work = context_.work;
    return std::move(out_);
  }

 private:
  Plan& plan() { return out_.plan; }
  size_t groups() const { return groups_.size(); }

  // Some kernel may find an index out of range: updates in place then look at the status word first.
  bool has_checks() const {
    if (context_.input.unchecked) return true;
    for (const Emitted& e : emitted_) {
      if (e.kernel.kind == Kernel::Kind::own && context_.node(e.nodes[0]).op->reports) return true;
      const Program& p = e.kernel.kind == Kernel::Kind::product ? e.kernel.product->epilogue : e.kernel.program;
      for (const Instr& i : p.code)
        if (i.code == Code::check_index) return true;
    }
    return false;
  }

  void export_nodes() {
    made_by_.assign(context_.count(), -1);
    std::vector<bool> read(context_.count(), false);
    for (size_t d = 0; d < groups(); ++d) {
      for (int32_t root : groups_[d].roots) made_by_[root] = static_cast<int32_t>(d);
      for (int32_t node : groups_[d].reads) read[node] = true;
      for (int32_t root : groups_[d].roots)  // of several writes to one memory, each is needed
        if (const int32_t before = written_over(root); before >= 0) read[before] = true;
    }
    for (int32_t i = 0; i < context_.count(); ++i) context_.exported[i] = context_.input.held[i] || read[i];
  }

  // The pending value that an effect changes part of, or -1.
  int32_t written_over(int32_t root) const {
    const Node& node = context_.node(root);
    return node.op->kind == Kind::effect ? context_.pending(node.in[1]) : -1;
  }

  void find_readers() {
    readers_are_known_ = true;
    leaf_readers_.resize(context_.log.leaves.size());
    node_readers_.resize(context_.log.nodes.size());
    for (size_t d = 0; d < groups(); ++d) {
      auto note = [&](const Source& s) {
        if (s.leaf >= 0) leaf_readers_[s.leaf].push_back(static_cast<int32_t>(d));
        if (s.node >= 0) node_readers_[s.node].push_back(static_cast<int32_t>(d));
      };
      for (const Use& u : groups_[d].uses)
        if (!u.inlined) note(u.source);
      for (int32_t root : groups_[d].roots) {
        const Node& node = context_.node(root);
        if (node.op->kind != Kind::contraction && node.op->kind != Kind::kernel) continue;
        for (int k = 0; k < node.inputs; ++k) note(context_.source(root, k));
      }
    }
  }

  void build_edges() {
    order_ = Order(groups(), &context_.memory);
    for (size_t d = 0; d < groups(); ++d)
      for (int32_t node : groups_[d].reads)
        if (made_by_[node] >= 0) order_.add(made_by_[node], static_cast<int32_t>(d));
  }

  int32_t add_memory(Memory m) {
    plan().memories.push_back(m);
    return static_cast<int32_t>(plan().memories.size()) - 1;
  }

  int32_t leaf_memory(int32_t leaf) {
    if (leaf_memory_[leaf] < 0) {
      Memory m{.kind = Memory::Kind::leaf, .index = leaf};
      m.bytes = static_cast<int64_t>(context_.log.leaves[leaf]->bytes());
      leaf_memory_[leaf] = add_memory(m);
    }
    return leaf_memory_[leaf];
  }

  bool writes_safely(int32_t d) {
    if (safe_.empty()) safe_.resize(groups());
    if (!safe_[d]) safe_[d] = schedule_detail::writes_safely(context_, groups_[d]);
    return *safe_[d];
  }

  // The write may go over its old value: nobody wants that afterwards, and everybody who reads it can go first.
  bool in_place(int32_t effect) {
    const Source base = context_.source(effect, 1);
    const bool wanted = base.leaf >= 0 ? !context_.input.dying[base.leaf] : context_.input.held[base.node];
    const int32_t writer = made_by_[effect];
    if (wanted || !writes_safely(writer)) return false;
    if (!readers_are_known_) find_readers();
    const auto& readers = base.leaf >= 0 ? leaf_readers_[base.leaf] : node_readers_[base.node];
    for (int32_t reader : readers)
      if (reader != writer && order_.before(writer, reader)) return false;
    if (base.leaf >= 0 && !taken_.insert({base.leaf, effect}).second) return false;
    for (int32_t reader : readers)
      if (reader != writer) order_.add(reader, writer);
    return true;
  }

  void place_nodes() {
    memory_.assign(context_.count(), -1);
    for (int32_t i = 0; i < context_.count(); ++i) {
      const bool made = made_by_[i] >= 0 || (context_.needed[i] && context_.node(i).op->kind == Kind::memory);
      if (!made || !context_.exported[i]) continue;
      const Node& node = context_.node(i);
      Memory m{.bytes = static_cast<int64_t>(node.bytes())};
      if (context_.input.held[i]) {
        m.kind = Memory::Kind::output;
        m.index = plan().outputs++;
        out_.output_nodes.push_back(i);
      }
      if (node.op->kind == Kind::effect)
        place_effect(i, m);
      else
        memory_[i] = add_memory(m);
    }
  }

  // Over its old value when nobody wants that any more; else on fresh memory that starts as a copy of it.
  void place_effect(int32_t i, Memory m) {
    const Source base = context_.source(i, 1);
    const int32_t old = base.leaf >= 0 ? leaf_memory(base.leaf) : memory_[base.node];
    const bool output = m.kind == Memory::Kind::output;
    if (!in_place(i)) {
      const bool whole = context_.node(i).overwrites_all();
      memory_[i] = add_memory(m);
      if (!whole || checks_) copies_[made_by_[i]].push_back({old, memory_[i]});
      return;
    }
    Memory& before = plan().memories[old];
    if (before.kind == Memory::Kind::leaf && output) {
      m.donor = before.index;
      memory_[i] = add_memory(m);
      return;
    }
    if (before.kind == Memory::Kind::temp && output) before = m;
    memory_[i] = old;
  }

  // One element looks like a short row, so that it can share a launch with longer ones.
  static void as_row_of_one(Program& p) {
    p.domain.push(1);
    for (View& v : p.views) v.strides.push(1);
  }

  Emitted emit_collapsed(int32_t d) {
    Emitted e = emit(context_, groups_[d]);
    if (e.kernel.kind == Kernel::Kind::program) {
      collapse(e.kernel.program);
      if (e.kernel.program.domain.rank == 0) as_row_of_one(e.kernel.program);
    }
    return e;
  }

  // Pointwise kernels of one structure become one launch: the update of all parameters.
  void group_instances() {
    riders_.resize(groups());
    if (!context_.input.fuse) return;
    std::map<uint64_t, std::vector<int32_t>> leaders;
    for (size_t d = 0; d < groups(); ++d) {
      if (emitted_[d].kernel.kind != Kernel::Kind::program || groups_[d].reduced || empty(static_cast<int32_t>(d)))
        continue;
      auto& same = leaders[emitted_[d].kernel.program.structure_hash()];
      bool joined = false;
      for (size_t at = same.size() > kMaxLeaders ? same.size() - kMaxLeaders : 0; at < same.size() && !joined; ++at)
        if ((joined = can_group(same[at], static_cast<int32_t>(d)))) join(same[at], static_cast<int32_t>(d));
      if (!joined) same.push_back(static_cast<int32_t>(d));
    }
  }

  bool can_group(int32_t leader, int32_t d) {
    ++context_.work;
    if (emitted_[d].kernel.program.domain.numel() > kMaxInstanceElements) return false;
    if (!(emitted_[leader].kernel.program.code == emitted_[d].kernel.program.code)) return false;
    if (riders_[leader].size() + 1 >= kMaxInstances) return false;
    return !order_.before(leader, d) && !order_.before(d, leader);
  }

  void join(int32_t leader, int32_t d) {
    riders_[leader].push_back(d);
    order_.merge(leader, d);
  }

  bool empty(int32_t d) const {
    const Kernel& k = emitted_[d].kernel;
    if (k.kind == Kernel::Kind::own) return false;
    if (k.kind == Kernel::Kind::product) return k.product->batch * k.product->m * k.product->n == 0;
    return k.program.rows() == 0 || (k.program.inner == 0 && k.program.domain.numel() == 0);
  }

  Binding bind(const Source& s) {
    Binding b;
    b.memory = s.node >= 0 ? memory_[s.node] : leaf_memory(s.leaf);
    b.start = s.start;
    return b;
  }

  // Takes the kernel away.
  Instance instance_of(Emitted& e) {
    Instance instance;
    instance.kernel = std::move(e.kernel);
    if (!checks_) instance.kernel.program.predicated = false;
    instance.numbers = std::move(e.numbers);
    instance.bindings.reserve(e.sources.size());
    for (const Source& s : e.sources) instance.bindings.push_back(bind(s));
    return instance;
  }

  static void list_accesses(Instance& instance, const Program& p) {
    for (const Instr& i : p.code) {
      if (!is_load(i.code) && !is_store(i.code)) continue;
      const int32_t b = p.views[i.slot].binding;
      if (b >= 0) (is_store(i.code) ? instance.writes : instance.reads).push_back(instance.bindings[b].memory);
    }
  }

  static void finish(Instance& instance) {
    instance.reads.reserve(instance.bindings.size());
    if (instance.kernel.kind == Kernel::Kind::program) {
      list_accesses(instance, instance.kernel.program);
    } else if (instance.kernel.kind == Kernel::Kind::product) {
      const Product& p = *instance.kernel.product;
      instance.reads = {instance.bindings[p.a_binding].memory, instance.bindings[p.b_binding].memory};
      list_accesses(instance, p.epilogue);
    }
    for (auto* list : {&instance.reads, &instance.writes}) {
      std::sort(list->begin(), list->end());
      list->erase(std::unique(list->begin(), list->end()), list->end());
    }
  }

  void append_steps(int32_t leader) {
    append_copies(leader);
    if (groups_[leader].kind == FusionGroup::Kind::own) return append_own(leader);
    if (empty(leader)) return;
    Emitted& first = emitted_[leader];
    if (append_in_pieces(first) || append_in_slices(first)) return;
    for (int32_t d : riders_[leader]) append_copies(d);
    Step step{std::move(first.name), {}, std::move(first.nodes)};
    step.instances.reserve(1 + riders_[leader].size());
    append(step, first);
    for (int32_t d : riders_[leader]) {
      step.nodes.insert(step.nodes.end(), emitted_[d].nodes.begin(), emitted_[d].nodes.end());
      append(step, emitted_[d]);
    }
    plan().steps.push_back(std::move(step));
  }

  void add_step(std::string name, Instance instance, std::vector<int32_t> nodes = {}) {
    Step& step = plan().steps.emplace_back();
    step.name = std::move(name);
    step.instances.push_back(std::move(instance));
    step.nodes = std::move(nodes);
  }

  void append(Step& step, Emitted& e) {
    step.instances.push_back(instance_of(e));
    finish(step.instances.back());
  }

  // The launches of an op that has its own kernels, with their temporaries.
  void append_own(int32_t d) {
    const Node& node = context_.node(groups_[d].roots[0]);
    Expansion expansion;
    expansion.inputs = node.inputs;
    expansion.gpu = context_.input.gpu;
    node.op->expand(node, context_.log.device.is_gpu(), expansion);
    std::vector<Binding> memories;
    for (const Source& s : emitted_[d].sources) memories.push_back(bind(s));
    for (int64_t bytes : expansion.temporaries) memories.push_back({add_memory({.bytes = bytes}), -1});
    for (Expansion::Launch& launch : expansion.launches) {
      Instance instance;
      instance.kernel.kind = Kernel::Kind::own;
      for (Own::Tensor& t : launch.own.tensors) {
        if (t.binding < node.inputs && emitted_[d].sources[t.binding].start < 0) t.offset += node.in[t.binding].offset;
        const Binding& memory = memories[t.binding];
        t.binding = static_cast<int32_t>(instance.bindings.size());
        instance.bindings.push_back(memory);
        (t.write ? instance.writes : instance.reads).push_back(memory.memory);
      }
      instance.kernel.own = std::move(launch.own);
      if (node.op->reports) instance.kernel.own->tag = context_.tag_of(*node.op);
      finish(instance);
      add_step(std::move(launch.name), std::move(instance), emitted_[d].nodes);
    }
  }

  void append_copies(int32_t d) {
    for (auto [from, to] : copies_[d]) {
      Instance copy;
      copy.kernel.kind = Kernel::Kind::copy;
      copy.bindings = {{from, -1}, {to, -1}};
      copy.reads = {from};
      copy.writes = {to};
      if (plan().memories[to].bytes == 0) continue;
      add_step("copy", std::move(copy));
    }
  }

  bool append_in_pieces(Emitted& e) {
    if (e.kernel.kind != Kernel::Kind::program) return false;
    const auto partials = static_cast<int32_t>(e.sources.size());
    auto pieces = e.kernel.program.part_rows ? std::optional(finish_row_sums(e.kernel.program, partials))
                                             : cut_in_pieces(e.kernel.program, partials);
    if (!pieces) return false;
    const bool sums = e.kernel.program.part_rows;
    Instance first = instance_of(e), second;
    for (DType type : pieces->partials) {
      Memory m{.bytes = pieces->partial_numel * static_cast<int64_t>(size_of(type))};
      first.bindings.push_back({add_memory(m), -1});
    }
    second = first;
    first.kernel.program = std::move(pieces->first);
    second.kernel.program = std::move(pieces->second);
    finish(first);
    finish(second);
    add_step(e.name + (sums ? "" : "_pieces"), std::move(first), e.nodes);
    add_step(e.name + (sums ? "_sums" : ""), std::move(second), e.nodes);
    return true;
  }

  bool append_in_slices(Emitted& e) {
    if (e.kernel.kind != Kernel::Kind::product || !context_.log.device.is_gpu()) return false;
    auto slices = slice_product(*e.kernel.product, static_cast<int32_t>(e.sources.size()));
    if (!slices) return false;
    const int64_t bytes = slices->partial_numel * static_cast<int64_t>(size_of(wide_of(e.kernel.product->dtype)));
    Instance first = instance_of(e);
    first.bindings.push_back({add_memory({.bytes = bytes}), -1});
    Instance second = first;
    first.kernel.product = std::move(slices->first);
    second.kernel.kind = Kernel::Kind::program;
    second.kernel.program = std::move(slices->second);
    if (!checks_) second.kernel.program.predicated = false;
    finish(first);
    finish(second);
    add_step(e.name + "_slices", std::move(first), e.nodes);
    add_step(e.name, std::move(second), e.nodes);
    return true;
  }

  Context& context_;
  const std::vector<FusionGroup>& groups_;
  Scheduled out_;
  std::vector<int32_t> made_by_, memory_;
  std::vector<std::optional<bool>> safe_;  // to write in place, of each group that was asked about
  std::vector<int32_t> leaf_memory_;       // -1: nobody has asked for it
  bool readers_are_known_ = false;         // they matter where something is written in place
  std::pmr::vector<std::pmr::vector<int32_t>> leaf_readers_, node_readers_;
  std::map<int32_t, int32_t> taken_;  // leaf -> the effect that writes over it
  bool checks_ = false;
  Order order_;
  std::vector<std::vector<int32_t>> riders_;                            // groups in the launch of another one
  std::map<int32_t, std::vector<std::pair<int32_t, int32_t>>> copies_;  // by group: (from, to) memories
  std::vector<Emitted> emitted_;
};

}  // namespace

Scheduled place(Context& context, const std::vector<FusionGroup>& groups) { return Placer(context, groups).run(); }

}  // namespace sg::schedule_detail
