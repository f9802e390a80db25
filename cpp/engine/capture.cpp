#include "engine/capture.hpp"

#include <algorithm>
#include <cstring>
#include <set>
#include <string_view>

#include "base/error.hpp"
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

constexpr const char* kPass = "pass what changes as an argument, as a tensor, and return what is needed outside";

}  // namespace

// ---- watching --------------------------------------------------------------------------------------------------------
Capture::Capture(const std::vector<Tensor>& arguments) : originals_(arguments), made_(new Recording) {
  static std::atomic<uint32_t> last{0};
  if (recorder) fail<Error>("compile", "another function is being recorded", "call one at a time");
  const EngineLock lock;
  flush_all();
  id_ = ++last;
  std::map<const Storage*, Tensor> storages;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const Tensor& x = arguments[i];
    Tensor same = snapshot(x.detach());
    Tensor& first = storages[x->storage.get()];
    if (first)
      same->storage = first->storage;
    else
      first = same;
    places_.try_emplace(same->storage.get(), Origin{Origin::Kind::argument, static_cast<int32_t>(i)});
    made_->argument_offsets_.push_back(x->offset);
    before_.push_back(same->storage->node.ref());
    arguments_.push_back(std::move(same));
  }
  recorder = this;
  disturbances_ = disturbances;
  ++recorders;
}

Capture::~Capture() { abandon(); }

void Capture::abandon() {
  if (recorder != this) return;
  recorder = nullptr;
  --recorders;
  const EngineLock lock;
  for (size_t i = 0; i < arguments_.size(); ++i) {
    Storage &now = *arguments_[i]->storage, &outside = *originals_[i]->storage;
    if (now.node.ref() == before_[i] || now.node.get() == outside.node.get()) continue;
    outside.node = now.node;
    ++outside.version;
  }
  before_.clear();
}

void Capture::stop() {
  flush_all();
  abandon();
  if (!refused_.empty()) fail<Error>("compile", refused_, kPass);
}

Tensor Capture::outside(const Tensor& result) const {
  const auto at = places_.find(result->storage.get());
  const bool argument = at != places_.end() && at->second.kind == Origin::Kind::argument;
  if (result.is_leaf() && !argument) return result;
  Tensor t = result.detach();
  if (argument) t->storage = originals_[static_cast<size_t>(at->second.index)]->storage;
  return t;
}

void Capture::refuse(const char* what) {
  refused_ = std::string("the function ") + what + " while it is recorded, which a later call would not do";
  fail<Error>("compile", refused_, kPass);
}

void Capture::makes(Storage& fresh) {
  fresh.recording = id_;
  places_.erase(&fresh);  // another one lay there, a gradient that was given up
}

Recording::Leaf* Capture::leaf_of(const Tensor& x) {
  const Storage* storage = x->storage.get();
  if (!storage || storage->recording == id_) return nullptr;
  if (const auto at = places_.find(storage); at != places_.end() && at->second.kind == Origin::Kind::argument)
    return nullptr;
  const auto [at, fresh] = leaf_index_.try_emplace(x.impl(), made_->leaves_.size());
  if (!fresh) return &made_->leaves_[at->second];
  Recording::Leaf leaf;
  leaf.tensor = x.ref();
  leaf.storage = x->storage.get();
  leaf.requires_grad = x->requires_grad;
  leaf.hooks = static_cast<bool>(x->hooks);
  if (const Ref<TensorImpl>& g = x->grad) {
    leaf.had = true;
    leaf.before = {g->shape, g->strides, g->offset, g->dtype, g->device, {}};
    places_.try_emplace(g->storage.get(), Origin{Origin::Kind::gradient, static_cast<int32_t>(made_->leaves_.size())});
  }
  made_->leaves_.push_back(std::move(leaf));
  return &made_->leaves_.back();
}

void Capture::note(const Tensor& x) {
  if (!leaf_of(x)) return;
  const auto [at, fresh] =
      places_.try_emplace(x->storage.get(), Origin{Origin::Kind::kept, static_cast<int32_t>(made_->kept_.size())});
  if (fresh) made_->kept_.push_back({x->storage, x->storage->version, 0});
}

void Capture::uses(const Tensor& x) {
  if (x.is_number() || x->storage->recording == id_) return;
  note(x);
  if (x->base) note(Tensor(x->base));
  const auto place = places_.find(x->storage.get());
  if (place == places_.end()) return;
  std::vector<Origin>& seen = seen_[x->storage->node.get()];
  if (std::none_of(seen.begin(), seen.end(),
                   [&](const Origin& o) { return o.kind == place->second.kind && o.index == place->second.index; }))
    seen.push_back(place->second);
}

void Capture::reads_gradient(const Tensor& x) {
  if (x.is_number() || !x.is_leaf()) return;
  if (Recording::Leaf* leaf = leaf_of(x)) leaf->reads |= !leaf->sets;
}

void Capture::sets_gradient(const Tensor& x) {
  if (x.is_number() || !x.is_leaf()) return;
  if (Recording::Leaf* leaf = leaf_of(x)) leaf->sets = true;
}

void Capture::ends(const GradNode& node) { ended_[&node] = true; }

uint32_t Capture::draws(Generator& from, int64_t blocks) {
  auto& slots = made_->slots_;
  auto& streams = made_->streams_;
  auto stream = std::find_if(streams.begin(), streams.end(), [&](const auto& s) { return s.from == &from; });
  if (stream == streams.end()) stream = streams.insert(stream, {&from, from.blocks});
  const auto number = static_cast<size_t>(stream - streams.begin());
  slots.push_back({Recording::Slot::Kind::seed, 0, number, 0});
  slots.push_back({Recording::Slot::Kind::block, 0, number, stream->at});
  stream->at += blocks;
  return static_cast<uint32_t>(slots.size() - 1) * kNextSource;
}

// Back to numbers that the step has drawn, as a checkpoint does, or on again.
void Capture::turns(Generator& stream, int64_t seed, int64_t blocks) {
  if (seed == stream.seed && blocks == stream.blocks) return;
  for (auto& s : made_->streams_)
    if (s.from == &stream && seed == stream.seed && blocks >= s.first) {
      s.at = blocks - s.first;
      return;
    }
  if (problem_.empty()) problem_ = "it seeds a generator";
}

uint32_t Capture::number(double now) {
  made_->slots_.push_back({Recording::Slot::Kind::number, now});
  return static_cast<uint32_t>(made_->slots_.size()) * kNextSource;
}

void Capture::has_host_data(const NodeRef& node, const void* data, size_t bytes) {
  seen_[node.get()] = {{Origin::Kind::constant, static_cast<int32_t>(made_->constants_.size())}};
  made_->constants_.emplace_back(node);
  made_->host_data_.push_back(std::hash<std::string_view>()({static_cast<const char*>(data), bytes}));
}

Origin Capture::origin_of(const NodeRef& node) {
  for (size_t c = outputs_.size(); c-- > 0;)
    for (size_t o = 0; o < outputs_[c].size(); ++o)
      if (outputs_[c][o] == node) return {Origin::Kind::output, static_cast<int32_t>(o), static_cast<int32_t>(c)};
  const auto at = seen_.find(node.get());
  if (at == seen_.end()) return {};
  for (size_t i = 1; i < at->second.size(); ++i) made_->equal_.emplace_back(at->second[0], at->second[i]);
  return at->second[0];
}

// Whose memory it is: an argument's, or what an earlier run wrote into one. -1: neither.
int32_t Capture::argument_behind(const Origin& from) const {
  if (from.kind == Origin::Kind::argument) return from.index;
  if (from.kind != Origin::Kind::output) return -1;
  for (const Recording::Write& w : made_->cuts_[static_cast<size_t>(from.cut)].writes)
    if (w.output == from.index && w.to.kind == Origin::Kind::argument) return w.to.index;
  return -1;
}

// The run is done: what is noted of it must not fail.
void Capture::ran(const Log& log, const CachedPlan& plan, bool unchecked, std::vector<Reporter> reporters) noexcept {
  try {
    note_run(log, plan, unchecked, std::move(reporters));
  } catch (const std::bad_alloc&) {
    incomplete_ = true;
  }
}

void Capture::note_run(const Log& log, const CachedPlan& plan, bool unchecked, std::vector<Reporter> reporters) {
  Recording::Cut cut;
  cut.device = log.device;
  cut.key = log.key;
  cut.plan = plan.plan;
  cut.prepared = plan.prepared;
  for (const NodeRef& leaf : log.leaves) {
    cut.leaves.push_back(origin_of(leaf));
    if (cut.leaves.back().kind == Origin::Kind::unknown && problem_.empty())
      problem_ = "it reads a value that was computed before it and is kept by a gradient graph or another thread";
  }
  cut.offsets = log.offsets;
  for (int32_t leaf : log.leaf_of) cut.argument_of.push_back(leaf < 0 ? -1 : argument_behind(cut.leaves[leaf]));
  cut.numbers = log.numbers;
  cut.sources = log.sources;
  cut.reporters = std::move(reporters);
  cut.unchecked = unchecked;
  std::vector<NodeRef> outputs;
  for (int32_t n : plan.output_nodes) {
    const Node& node = *log.nodes[static_cast<size_t>(n)];
    cut.outputs.push_back({node.dtype, node.numel, node.op->kind == Kind::effect});
    outputs.push_back(log.nodes[static_cast<size_t>(n)]);
  }
  std::set<const Storage*> written;
  for (const Assignment& a : log.assignments) {
    const auto place = places_.find(a.storage.get());
    if (place == places_.end() || !written.insert(a.storage.get()).second) continue;
    for (size_t o = 0; o < outputs.size(); ++o)
      if (outputs[o].get() == a.storage->node.get()) cut.writes.push_back({place->second, static_cast<int32_t>(o)});
  }
  outputs_.push_back(std::move(outputs));
  made_->cuts_.push_back(std::move(cut));
}

// ---- the end ---------------------------------------------------------------------------------------------------------
// A value made inside that somebody holds whom a later call could not give a new one.
std::string Capture::kept_outside(const std::vector<Tensor>& results) {
  std::set<const Storage*> known;
  for (const auto& kept : made_->kept_) known.insert(kept.storage.get());
  for (const Tensor& x : arguments_) known.insert(x->storage.get());
  for (const Tensor& x : originals_) known.insert(x->storage.get());
  for (const Tensor& x : results) known.insert(x->storage.get());
  for (const auto& leaf : made_->leaves_) {
    if (leaf.tensor->grad) known.insert(leaf.tensor->grad->storage.get());
    if (leaf.ended) known.insert(leaf.tensor->storage.get());  // a gradient that another one has replaced
  }
  std::unordered_map<const Node*, int32_t> holders;
  for (const Storage* s : known) ++holders[s->node.get()];
  for (const auto& outputs : outputs_)
    for (const NodeRef& node : outputs)
      if (node->held.load(std::memory_order_relaxed) > holders[node.get()])
        return "a tensor of " + std::to_string(node->numel) +
               " elements that it makes is kept outside (in an attribute, a list, a graph)";
  return "";
}

std::shared_ptr<Recording> Capture::recording(const std::vector<Tensor>& results, std::string& problem) {
  Recording& r = *made_;
  problem = problem_;
  if (disturbances != disturbances_ || incomplete_) {
    problem = "";
    return nullptr;
  }
  for (const Tensor& x : results) {
    const GradNode* fn = x.grad_fn().get();
    if (fn && !ended_.count(fn) && problem.empty())
      problem = "a result wants a gradient, which cannot flow back through it; return x.detach(), or use no_grad()";
  }
  for (auto& leaf : r.leaves_) leaf.ended = leaf.tensor->ref_count() == 1;
  if (problem.empty())
    for (const Tensor& x : results)
      if (x->grad_fn) x->grad_fn = {}, x->base = {};  // what is left of the graph holds values
  if (problem.empty()) problem = kept_outside(results);
  if (!problem.empty()) return nullptr;
  for (auto& leaf : r.leaves_)
    if (!leaf.ended && leaf.tensor->storage.get() != leaf.storage) problem = "it replaces the data of a tensor";
  for (auto& kept : r.kept_) kept.versions = kept.storage->version - kept.version;
  const auto reads = [&](const Origin& o) {
    if (o.kind == Origin::Kind::gradient) r.leaves_[static_cast<size_t>(o.index)].reads = true;
  };
  for (const Recording::Cut& cut : r.cuts_) {
    for (const Origin& from : cut.leaves) reads(from);
    for (const Recording::Write& w : cut.writes) reads(w.to);
  }
  auto place = [&](const Tensor& x) {
    return Recording::Place{x.shape(), x.strides(), x->offset,
                            x.dtype(), x.device(),  origin_of(x->storage->node.ref())};
  };
  auto need = [&](const Recording::Place& p, const char* what) {
    if (p.from.kind == Origin::Kind::unknown) problem = what;
  };
  for (auto& leaf : r.leaves_)
    if (!leaf.ended && leaf.sets && leaf.tensor->grad) {
      leaf.after = place(Tensor(leaf.tensor->grad));
      need(leaf.after, "a gradient is set that it did not compute");
    }
  std::map<const Storage*, int32_t> numbers;
  for (const Tensor& x : results) {
    Recording::Result result;
    const Storage* storage = x->storage.get();
    const auto known = places_.find(storage);
    if (known != places_.end() && known->second.kind != Origin::Kind::argument) {
      result.same = x.ref();
    } else if (storage->recording != id_ && known == places_.end()) {
      result.same = x.ref();  // of the outside, and not even used
    } else {
      result.place = place(x);
      result.storage = numbers.try_emplace(storage, static_cast<int32_t>(numbers.size())).first->second;
      if (known != places_.end()) result.place.from = known->second;
      need(result.place, "a result was computed before it");
    }
    r.results_.push_back(std::move(result));
  }
  if (!problem.empty()) return nullptr;
  outputs_.clear();
  return made_;
}

// ---- two recordings --------------------------------------------------------------------------------------------------
std::string Recording::difference(const Recording& a, const Recording& b) {
  auto same_origin = [&](const Origin& x, const Origin& y) {
    if (x.kind != y.kind) return false;
    if (x.kind == Origin::Kind::kept) return a.kept_[x.index].storage == b.kept_[y.index].storage;
    if (x.kind == Origin::Kind::gradient) return a.leaves_[x.index].tensor == b.leaves_[y.index].tensor;
    if (x.kind == Origin::Kind::constant) return a.host_data_[x.index] == b.host_data_[y.index];
    return x.index == y.index && x.cut == y.cut;
  };
  auto same_place = [&](const Place& x, const Place& y) {
    return x.shape == y.shape && x.strides == y.strides && same_origin(x.from, y.from) &&
           (x.from.kind == Origin::Kind::argument || x.offset == y.offset);
  };
  const char* const ops = "which operations it makes, or of which sizes, changes from call to call";
  const char* const values =
      "a number in it changes from call to call, and comes neither from an argument nor from an "
      "optimiser (whose lr is a tensor: set its `capturable` to True)";
  if (a.cuts_.size() != b.cuts_.size() || a.results_.size() != b.results_.size() || a.slots_.size() != b.slots_.size())
    return ops;
  if (a.generators() != b.generators()) return "it draws from other generators from call to call";
  for (size_t i = 0; i < a.slots_.size(); ++i)
    if (a.slots_[i].kind != b.slots_[i].kind || a.slots_[i].block != b.slots_[i].block)
      return "it draws other random numbers from call to call";
  for (size_t c = 0; c < a.cuts_.size(); ++c) {
    const Cut &x = a.cuts_[c], &y = b.cuts_[c];
    if (!(x.device == y.device) || x.key != y.key || x.plan != y.plan || x.sources != y.sources) return ops;
    for (size_t i = 0; i < x.leaves.size(); ++i)
      if (!same_origin(x.leaves[i], y.leaves[i])) {
        return x.leaves[i].kind == Origin::Kind::constant && y.leaves[i].kind == Origin::Kind::constant
                   ? "it makes a tensor of other values from call to call"
                   : "it reads other tensors from call to call";
      }
    for (size_t i = 0; i < x.offsets.size(); ++i)
      if (x.argument_of[i] < 0 && x.offsets[i] != y.offsets[i])
        return "it reads another part of a tensor from call to call";
    std::vector<bool> varies(x.numbers.size());
    for (const auto& [at, source] : x.sources) varies[static_cast<size_t>(at)] = true;
    for (size_t i = 0; i < x.numbers.size(); ++i)
      if (!varies[i] && x.numbers[i].i != y.numbers[i].i) return values;
    if (!std::equal(x.writes.begin(), x.writes.end(), y.writes.begin(), y.writes.end(),
                    [&](const Write& p, const Write& q) { return p.output == q.output && same_origin(p.to, q.to); }))
      return "it writes to other tensors from call to call";
  }
  for (size_t i = 0; i < a.results_.size(); ++i) {
    const Result &x = a.results_[i], &y = b.results_[i];
    if (!(x.same == y.same) || x.storage != y.storage || !same_place(x.place, y.place))
      return "it returns something else from call to call";
  }
  size_t at = 0;
  for (const Leaf& leaf : a.leaves_) {
    if (leaf.ended) continue;
    while (at < b.leaves_.size() && !(b.leaves_[at].tensor == leaf.tensor)) ++at;
    if (at == b.leaves_.size()) return "it uses other tensors from call to call";
    const Leaf& other = b.leaves_[at];
    if (leaf.sets != other.sets || leaf.reads != other.reads || !same_place(leaf.after, other.after))
      return "it changes other gradients from call to call";
  }
  return "";
}

std::vector<bool> Recording::outside() const {
  std::vector<bool> all;
  for (const Result& r : results_) all.push_back(static_cast<bool>(r.same));
  return all;
}

std::vector<Generator*> Recording::generators() const {
  std::vector<Generator*> all;
  for (const Stream& stream : streams_) all.push_back(stream.from);
  return all;
}

// ---- running again ---------------------------------------------------------------------------------------------------
Storage* Recording::storage_of(const Origin& at, const std::vector<Tensor>& arguments, const Made& made) const {
  if (at.kind == Origin::Kind::kept) return kept_[at.index].storage.get();
  if (at.kind == Origin::Kind::argument) return arguments[at.index]->storage.get();
  if (made.gradients.empty()) return leaves_[at.index].tensor->grad->storage.get();
  return made.gradients[at.index].get();
}

NodeRef Recording::node_of(const Origin& from, const std::vector<Tensor>& arguments, const Made& made) const {
  if (from.kind == Origin::Kind::output) return made.outputs[from.cut][from.index];
  if (from.kind == Origin::Kind::constant) return constants_[from.index].ref();
  return storage_of(from, arguments, made)->node.ref();
}

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
  for (const auto& [a, b] : equal_)
    if (!(node_of(a, arguments, none) == node_of(b, arguments, none))) return false;
  for (const Cut& cut : cuts_) {
    for (const Origin& from : cut.leaves) {
      if (from.kind == Origin::Kind::output || from.kind == Origin::Kind::constant) continue;
      const NodeRef node = node_of(from, arguments, none);
      raise_if_failed(*node);
      if (node->pending()) return false;
      if (!cut.unchecked && unchecked(*node)) return false;
    }
    for (const Write& w : cut.writes)  // bytes that others see must stay where they are
      if (const Buffer* b = storage_of(w.to, arguments, none)->node->buffer.get(); b && b->shared) return false;
    for (const Memory& m : cut.plan->memories) {
      if (m.kind != Memory::Kind::output || m.donor < 0) continue;
      const Origin& from = cut.leaves[m.donor];
      if (from.kind == Origin::Kind::output) continue;
      if (node_of(from, arguments, none)->held.load(std::memory_order_relaxed) != 1) return false;
    }
  }
  size_t n = 0;
  for (const Slot& slot : slots_) {
    if (slot.kind != Slot::Kind::number) continue;
    if (n == numbers.size()) return false;
    const double now = numbers[n++], then = slot.number;  // at 0 and 1 a rule may leave something out
    if (now != then && (now == 0 || now == 1 || then == 0 || then == 1)) return false;
  }
  return n == numbers.size();
}

// What is recorded outside and reads memory that the step writes over.
void Recording::run_readers(const std::vector<Tensor>& arguments) const {
  const Made none;
  for (const Cut& cut : cuts_) {
    Log& log = log_of(cut.device);
    for (const Memory& m : cut.plan->memories) {
      if (log.nodes.empty()) break;
      if (m.kind != Memory::Kind::output || m.donor < 0) continue;
      const Origin& from = cut.leaves[m.donor];
      if (from.kind == Origin::Kind::output) continue;
      const NodeRef node = node_of(from, arguments, none);
      if (std::find(log.leaves.begin(), log.leaves.end(), node) != log.leaves.end()) flush_log(log);
    }
  }
}

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

void Recording::run(const Cut& cut, const std::vector<Tensor>& arguments, const std::vector<Number>& slots,
                    std::vector<BufferRef>& outputs, Made& made) const {
  thread_local std::vector<NodeRef> leaves;
  thread_local std::vector<int64_t> offsets;
  thread_local std::vector<Number> numbers;
  const Emptied<NodeRef> no_leaves{leaves};
  const Emptied<BufferRef> no_outputs{outputs};
  std::vector<uint32_t> after;
  for (const Origin& from : cut.leaves) {
    leaves.push_back(node_of(from, arguments, made));
    if (cut.unchecked && unchecked(*leaves.back())) after.push_back(leaves.back()->run);
  }
  offsets = cut.offsets;
  for (size_t i = 0; i < offsets.size(); ++i)
    if (const int32_t a = cut.argument_of[i]; a >= 0) offsets[i] += arguments[a]->offset - argument_offsets_[a];
  numbers = cut.numbers;
  for (const auto& [at, source] : cut.sources) {
    Number value = slots[source / kNextSource - 1];
    for (uint32_t k = source % kNextSource; k > 0; --k) value.f = 1 - value.f;
    numbers[at] = value;
  }
  std::vector<NodeRef> nodes;  // all that asks for memory comes before the run
  for (const Output& out : cut.outputs) nodes.push_back(leaf_node({}, out.dtype, cut.device, out.numel));
  const std::shared_ptr<const Lines> lines = run_plan(
      cut.device, *cut.plan, *cut.prepared,
      {leaves, offsets, numbers, cut.reporters, std::move(after), cut.unchecked, !made.outputs.empty()}, outputs);
  for (size_t o = 0; o < outputs.size(); ++o) {
    nodes[o]->buffer = std::move(outputs[o]);
    nodes[o]->run = lines && !cut.outputs[o].in_place ? lines->run() : 0;
  }
  for (const Write& w : cut.writes) storage_of(w.to, arguments, made)->node = Held(nodes[w.output]);
  made.outputs.push_back(std::move(nodes));
}

// A tensor that gets its value later.
Tensor Recording::without_value(const Place& p) {
  Ref<TensorImpl> t(new TensorImpl);
  t->storage = Ref<Storage>(new Storage);
  t->shape = p.shape;
  t->strides = p.strides;
  t->offset = p.offset;
  t->dtype = p.dtype;
  t->device = p.device;
  return Tensor(std::move(t));
}

std::optional<std::vector<Tensor>> Recording::run(const std::vector<Tensor>& arguments,
                                                  const std::vector<double>& numbers) {
  EngineLock lock;
  if (!fits(arguments, numbers)) return std::nullopt;
  const Stage stage("replay", "stage");
  run_readers(arguments);
  // All that asks for memory comes before the runs: what they wrote in place is done.
  Made made;
  made.outputs.reserve(cuts_.size());
  std::vector<Tensor> gradients(leaves_.size()), results;
  for (size_t i = 0; i < leaves_.size(); ++i)
    if (leaves_[i].after.from.kind != Origin::Kind::unknown) gradients[i] = without_value(leaves_[i].after);
  std::vector<size_t> first(results_.size());  // of the results on the same memory
  for (size_t i = 0; i < results_.size(); ++i) {
    const Result& r = results_[i];
    results.push_back(r.same ? Tensor(r.same) : without_value(r.place));
    while (!r.same && (results_[first[i]].same || results_[first[i]].storage != r.storage)) ++first[i];
  }
  for (const Leaf& leaf : leaves_) {
    made.gradients.push_back(leaf.reads && leaf.had ? leaf.tensor->grad->storage : Ref<Storage>());
    if (leaf.sets && !leaf.reads && !leaf.ended) leaf.tensor->grad = {};  // its memory serves again
  }
  std::vector<std::vector<BufferRef>> outputs(cuts_.size());
  if (cuts_.size() > 1)  // or nothing is done: what Python counts is counted for all of it
    for (size_t i = 0; i < cuts_.size(); ++i) outputs[i] = fresh_outputs(cuts_[i].device, *cuts_[i].plan);
  const std::vector<Number> slots = values(numbers);
  for (size_t i = 0; i < cuts_.size(); ++i) run(cuts_[i], arguments, slots, outputs[i], made);
  counters().plan_hits += static_cast<int64_t>(cuts_.size());
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
  return results;
}

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
