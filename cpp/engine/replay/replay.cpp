// Runs a recording again if it fits the arguments and the present state outside.
#include <algorithm>

#include "base/error.hpp"
#include "engine/exchange.hpp"
#include "engine/replay/recording.hpp"
#include "engine/run_status.hpp"
#include "graph/build.hpp"
#include "ops/list.hpp"

namespace sg {
namespace {

void append(std::vector<uint64_t>& words, const Dims& shape, const Dims& strides) {
  words.push_back(static_cast<uint64_t>(shape.rank));
  for (int64_t n : shape) words.push_back(static_cast<uint64_t>(n));
  for (int64_t n : strides) words.push_back(static_cast<uint64_t>(n));
}

// A replay on the CPU computes without the lock, as the run of a log does. For other threads the thread's own log is what
// runs: it has what the step reads among its leaves, and what the step writes is pending in it.
class Reads {
 public:
  explicit Reads(const std::vector<std::vector<NodeRef>>& leaves) {
    for (const auto& of_run : leaves)
      for (const NodeRef& leaf : of_run)
        if (leaf) nodes_.push_back(leaf);
    std::ranges::sort(nodes_, {}, &NodeRef::get);
    const auto same = std::ranges::unique(nodes_);
    nodes_.erase(same.begin(), same.end());
    for (const NodeRef& node : nodes_) ++node->logs;
  }
  ~Reads() {
    for (const NodeRef& node : nodes_) --node->logs;
  }
  Reads(const Reads&) = delete;
  Reads& operator=(const Reads&) = delete;

 private:
  std::vector<NodeRef> nodes_;
};

const OpInfo kReplayed{.name = "replayed", .doc = "A value that a replay computes.", .kind = Kind::memory, .arity = 0};

class Promises {
 public:
  Promises(const std::vector<NodeRef>& results, Log* log) : results_(results) {
    for (const NodeRef& node : results) {
      node->op = &kReplayed;
      node->state = Node::State::pending;
      node->log = log;
    }
  }
  void add(Storage& storage, const NodeRef& result) {
    before_.emplace_back(Ref<Storage>(&storage), storage.node);
    storage.node = Held(result);
  }
  void keep() {
    for (const NodeRef& node : results_) {
      node->op = nullptr;
      node->state = Node::State::ready;
    }
    before_.clear();
    kept_ = true;
  }
  // Interrupted or failed: nothing was written.
  ~Promises() {
    if (kept_) return;
    for (auto& [storage, node] : before_)
      if (std::ranges::find(results_, storage->node.ref()) != results_.end()) storage->node = node;
    for (const NodeRef& node : results_) {
      node->state = Node::State::failed;
      node->error = unfinished();
    }
  }
  Promises(const Promises&) = delete;
  Promises& operator=(const Promises&) = delete;

 private:
  static std::exception_ptr unfinished() {
    try {
      fail<Error>("compile", "another thread's call of the function that computes this value has not ended",
                  "read it again");
    } catch (...) {
      return std::current_exception();
    }
  }
  const std::vector<NodeRef>& results_;
  std::vector<std::pair<Ref<Storage>, Held>> before_;
  bool kept_ = false;
};

}  // namespace

Storage* Recording::storage_of(const Origin& at, const std::vector<Tensor>& arguments, const Made& made) const {
  if (at.kind == Origin::Kind::kept) return kept_[at.index].storage.get();
  if (at.kind == Origin::Kind::argument) return arguments[at.index]->storage.get();
  if (made.gradients.empty()) return leaves_[at.index].tensor->grad->storage.get();
  return made.gradients[at.index].get();
}

NodeRef Recording::node_of(const Origin& from, const std::vector<Tensor>& arguments, const Made& made) const {
  if (from.kind == Origin::Kind::output) return made.outputs[from.run][from.index];
  if (from.kind == Origin::Kind::constant) return constants_[from.index].ref();
  return storage_of(from, arguments, made)->node.ref();
}

// Everything that the plans took for granted, in order of cost: leaves and their gradients, values that were one node,
// runs and their memory, numbers. A false answer means that the Python function is called; it must never be true for a
// step that would compute something else.
bool Recording::fits(const std::vector<Tensor>& arguments, const std::vector<double>& numbers) const {
  if (recoveries_ != recoveries()) return false;
  const Made none;
  for (const Leaf& leaf : leaves_) {
    if (leaf.ended) continue;
    const TensorImpl& t = *leaf.tensor;
    if (t.storage.get() != leaf.storage || t.requires_grad != leaf.requires_grad ||
        static_cast<bool>(t.hooks) != leaf.hooks)
      return false;
    if (!leaf.reads) continue;
    if (leaf.had != static_cast<bool>(t.grad)) return false;
    if (leaf.had && (!(t.grad->shape == leaf.before.shape) || !(t.grad->strides == leaf.before.strides) ||
                     t.grad->offset != leaf.before.offset || t.grad->dtype != leaf.before.dtype))
      return false;
  }
  // Reads of one value are not told apart by the place through which they came: where some stay, none may move.
  const auto moves_alone = [&](const Origin& at, const Origin& other) {
    return at.kind == Origin::Kind::argument && other.kind != Origin::Kind::argument &&
           arguments[at.index]->offset != argument_offsets_[at.index];
  };
  for (const auto& [a, b] : equal_)
    if (!(node_of(a, arguments, none) == node_of(b, arguments, none)) || moves_alone(a, b) || moves_alone(b, a))
      return false;
  for (const Run& run : runs_) {
    for (const Origin& from : run.leaves) {
      if (from.kind == Origin::Kind::output || from.kind == Origin::Kind::constant) continue;
      const NodeRef node = node_of(from, arguments, none);
      raise_if_failed(*node);
      if (node->pending()) return false;
      if (!run.guarded && unchecked(*node)) return false;
    }
    for (const Write& w : run.writes)  // memory that others see must not be replaced
      if (const Buffer* b = storage_of(w.to, arguments, none)->node->buffer.get(); b && b->shared) return false;
    for (const Memory& m : run.plan->memories) {
      if (m.kind != Memory::Kind::output || m.donor < 0) continue;
      const Origin& from = run.leaves[m.donor];
      if (from.kind == Origin::Kind::output) continue;
      // A plan writes an output over a leaf's memory only if nothing else holds the leaf's value, which was so when it
      // was made.
      if (node_of(from, arguments, none)->held.load(std::memory_order_relaxed) != 1) return false;
    }
  }
  size_t n = 0;
  for (const Slot& slot : slots_) {
    if (slot.kind != Slot::Kind::number) continue;
    if (n == numbers.size()) return false;
    const double now = numbers[n++], then = slot.number;  // at 0 and 1 a rule may leave out a term
    if (now != then && (now == 0 || now == 1 || then == 0 || then == 1)) return false;
  }
  return n == numbers.size();
}

// Runs pending readers of memory that the step overwrites.
void Recording::run_readers(const std::vector<Tensor>& arguments) const {
  const Made none;
  for (const Run& run : runs_) {
    for (const Memory& m : run.plan->memories) {
      if (m.kind != Memory::Kind::output || m.donor < 0) continue;
      const Origin& from = run.leaves[m.donor];
      if (from.kind == Origin::Kind::output) continue;
      const NodeRef node = node_of(from, arguments, none);
      for (Log* log : readers_of(node)) log->thread == thread_number() ? flush_log(*log) : run_for_other(*log);
    }
  }
}

// The log of another thread whose replay is writing what this one reads; nullptr: none.
const Log* Recording::writer(const std::vector<Tensor>& arguments) const {
  const Made none;
  for (const Run& run : runs_)
    for (const Origin& from : run.leaves) {
      if (from.kind == Origin::Kind::output || from.kind == Origin::Kind::constant) continue;
      if (from.kind == Origin::Kind::gradient && !leaves_[from.index].tensor->grad) continue;
      const NodeRef node = node_of(from, arguments, none);
      if (node->pending() && node->log->running && node->log->thread != thread_number()) return node->log;
    }
  return nullptr;
}

std::vector<std::vector<NodeRef>> Recording::leaves_from_outside(const std::vector<Tensor>& arguments,
                                                                 const Made& made) const {
  std::vector<std::vector<NodeRef>> all;
  for (const Run& run : runs_) {
    std::vector<NodeRef>& leaves = all.emplace_back();
    for (const Origin& from : run.leaves)
      leaves.push_back(from.kind == Origin::Kind::output ? NodeRef() : node_of(from, arguments, made));
  }
  return all;
}

// Since the step began, other threads may have come to read what this run would write over.
void Recording::keep_for_others(const Run& run, const std::vector<NodeRef>& leaves,
                                std::vector<BufferRef>& outputs) const {
  outputs.resize(static_cast<size_t>(run.plan->outputs));
  for (const Memory& m : run.plan->memories) {
    if (m.kind != Memory::Kind::output || m.donor < 0) continue;
    const Node& leaf = *leaves[static_cast<size_t>(m.donor)];
    const bool is_outside = run.leaves[static_cast<size_t>(m.donor)].kind != Origin::Kind::output;
    if (leaf.held > 1 || leaf.logs > is_outside) outputs[m.index] = copied(leaf.buffer);
  }
}

// Draws from the streams: call once, and only when the step is certain to run.
std::vector<Number> Recording::values(const std::vector<double>& numbers) const {
  std::vector<Number> values;
  std::vector<int64_t> first;
  for (const Stream& stream : streams_) first.push_back(stream.from->blocks.fetch_add(stream.at));
  size_t n = 0;
  for (const Slot& slot : slots_) {
    if (slot.kind == Slot::Kind::number) values.push_back({.f = numbers[n++]});
    if (slot.kind == Slot::Kind::seed) values.push_back({.i = streams_[slot.stream].from->seed});
    if (slot.kind == Slot::Kind::block) values.push_back({.i = first[slot.stream] + slot.block});
  }
  return values;
}

void Recording::run(const Run& run, const std::vector<Tensor>& arguments, const std::vector<Number>& slots,
                    std::vector<BufferRef>& outputs, Made& made) const {
  thread_local std::vector<NodeRef> leaves;
  thread_local std::vector<int64_t> offsets;
  thread_local std::vector<Number> numbers;
  const Emptied<NodeRef> no_leaves{leaves};
  const Emptied<BufferRef> no_outputs{outputs};
  for (size_t i = 0; i < run.leaves.size(); ++i) {
    const NodeRef before = made.log ? made.leaves[made.outputs.size()][i] : NodeRef();
    leaves.push_back(before ? before : node_of(run.leaves[i], arguments, made));
  }
  if (made.log) keep_for_others(run, leaves, outputs);
  offsets = run.offsets;
  for (size_t i = 0; i < offsets.size(); ++i)
    if (const int32_t a = run.argument_of[i]; a >= 0) offsets[i] += arguments[a]->offset - argument_offsets_[a];
  numbers = run.numbers;
  for (const auto& [at, slot] : run.number_slots) {
    Number value = slots[slot.number - 1];
    for (uint32_t k = 0; k < slot.complements; ++k) value.f = 1 - value.f;
    numbers[at] = value;
  }
  std::vector<NodeRef> nodes;  // everything that allocates comes before the run
  for (const Output& out : run.outputs) nodes.push_back(leaf_node({}, out.dtype, run.device, out.numel));
  std::vector<Reporter> reporters = run.reporters;
  for (Reporter& r : reporters) r.thread = thread_number(), r.operations = operations_recorded;
  std::optional<Marks> marks;
  if (run.guarded) marks = begin_run(run.device, run.flow, reporters, leaves);
  std::vector<Ref<Transaction>> transactions;
  for (int32_t t = 0; t < run.flow.transactions; ++t) transactions.emplace_back(new Transaction);
  Promises promises(nodes, made.log);
  for (const Write& w : run.writes) promises.add(*storage_of(w.to, arguments, made), nodes[w.output]);
  run_plan(run.device, *run.plan, *run.prepared,
           {leaves, offsets, numbers, marks ? &*marks : nullptr, !made.outputs.empty(), made.log}, outputs);
  finish_exchange();
  for (size_t o = 0; o < outputs.size(); ++o) {
    nodes[o]->buffer = std::move(outputs[o]);
    if (marks) set_marks(*nodes[o], *marks, run.outputs[o].node);
  }
  promises.keep();
  if (marks) set_marks(transactions, *marks);
  for (Ref<Transaction>& t : transactions) {
    t->waiting = false;
    made.transactions.push_back(std::move(t));
  }
  made.outputs.push_back(std::move(nodes));
}

// A tensor whose value is set later.
Tensor Recording::without_value(const TensorView& p) {
  Ref<TensorImpl> t(new TensorImpl);
  t->storage = Ref<Storage>(new Storage);
  t->shape = p.shape;
  t->strides = p.strides;
  t->offset = p.offset;
  t->dtype = p.dtype;
  t->device = p.device;
  return Tensor(std::move(t));
}

std::optional<Recording::Replayed> Recording::run(const std::vector<Tensor>& arguments,
                                                  const std::vector<double>& numbers) {
  EngineLock lock(EngineLock::kPausable);
  while (const Log* log = writer(arguments)) wait_while_running(*log);
  if (!fits(arguments, numbers)) return std::nullopt;
  note_disturbance();
  const Stage stage("replay", "stage");
  run_readers(arguments);
  // Everything that allocates comes before the runs, because their writes in place cannot be undone.
  Made made;
  made.outputs.reserve(runs_.size());
  std::vector<Tensor> gradients(leaves_.size()), results;
  for (size_t i = 0; i < leaves_.size(); ++i)
    if (leaves_[i].after.from.kind != Origin::Kind::unknown) gradients[i] = without_value(leaves_[i].after);
  std::vector<size_t> first(results_.size());  // the first result on the same memory
  for (size_t i = 0; i < results_.size(); ++i) {
    const Result& r = results_[i];
    results.push_back(r.same ? Tensor(r.same) : without_value(r.place));
    while (!r.same && (results_[first[i]].same || results_[first[i]].storage != r.storage)) ++first[i];
  }
  for (const Leaf& leaf : leaves_) {
    made.gradients.push_back(leaf.reads && leaf.had ? leaf.tensor->grad->storage : Ref<Storage>());
    if (leaf.sets && !leaf.reads && !leaf.ended) leaf.tensor->grad = {};  // its memory can be reused
  }
  std::vector<std::vector<BufferRef>> outputs(runs_.size());
  if (runs_.size() > 1)  // otherwise nothing was computed, and only gradients that the step sets again are gone
    for (size_t i = 0; i < runs_.size(); ++i) outputs[i] = fresh_outputs(runs_[i].device, *runs_[i].plan);
  const std::vector<Number> slots = values(numbers);
  Log& log = log_of({});
  std::optional<Reads> reads;
  std::optional<Running> running;
  if (std::ranges::none_of(runs_, [](const Run& run) { return run.device.is_gpu(); })) {
    made.leaves = leaves_from_outside(arguments, made);
    reads.emplace(made.leaves);
    running.emplace(log);
    made.log = &log;
  }
  for (size_t i = 0; i < runs_.size(); ++i) run(runs_[i], arguments, slots, outputs[i], made);
  counters().plan_hits += static_cast<int64_t>(runs_.size());
  for (const Kept& kept : kept_) kept.storage->version += kept.versions;
  for (size_t i = 0; i < leaves_.size(); ++i) {
    const Leaf& leaf = leaves_[i];
    if (leaf.ended || !leaf.sets) continue;
    if (gradients[i]) gradients[i]->storage->node = Held(node_of(leaf.after.from, arguments, made));
    leaf.tensor->grad = gradients[i].ref();
  }
  for (size_t i = 0; i < results.size(); ++i) {
    const Result& r = results_[i];
    if (r.same) continue;
    const Origin& from = r.place.from;
    if (from.kind == Origin::Kind::argument) {
      const Tensor& x = arguments[from.index];
      results[i]->storage = x->storage;
      results[i]->offset += x->offset - argument_offsets_[from.index];
    } else {
      results[i]->storage = results[first[i]]->storage;
      results[i]->storage->node = Held(node_of(from, arguments, made));
    }
  }
  return Replayed{std::move(results), std::move(made.transactions)};
}

// Two arguments that share memory stay apart by as much, an address is aligned as before (16 bytes, for vector loads),
// and shared memory stays shared: plans depend on each.
std::vector<uint64_t> signature(const std::vector<Tensor>& arguments) {
  const EngineLock lock;
  bool pending = false;
  for (const Tensor& x : arguments) pending |= x->storage->node->pending();
  if (pending) flush_all();
  std::vector<uint64_t> words;
  words.reserve(8 + 16 * arguments.size());
  words.assign({grad_enabled(), detect_nan, static_cast<uint64_t>(default_float())});
  std::vector<const Node*> nodes;
  for (const Tensor& x : arguments) {
    if (x.requires_grad())
      fail<ValueError>("compile", "an argument wants a gradient, which cannot flow out of the function",
                       "detach() it; parameters of a model need not be arguments");
    const Node& node = *x->storage->node.get();
    const auto first = std::find(nodes.begin(), nodes.end(), &node) - nodes.begin();
    nodes.push_back(&node);
    const uint64_t apart = static_cast<uint64_t>(x->offset - arguments[static_cast<size_t>(first)]->offset);
    const bool shared = node.buffer && node.buffer->shared;
    words.push_back(uint64_t(x.dtype()) | uint64_t(x.device().is_gpu()) << 8 | uint64_t(x.device().index) << 16 |
                    uint64_t(shared) << 24 | static_cast<uint64_t>(x->offset) * size_of(x.dtype()) % 16 << 32 |
                    static_cast<uint64_t>(first) << 40);
    words.push_back(apart);
    words.push_back(static_cast<uint64_t>(node.numel));
    append(words, x.shape(), x.strides());
  }
  return words;
}

}  // namespace sg
