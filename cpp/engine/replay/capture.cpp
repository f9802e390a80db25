// Notes what one call of a function uses, runs, draws and writes, and refuses what a replay could not repeat. Whether a
// recording may be replayed is for compare.cpp and replay.cpp to say.
#include "engine/replay/capture.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>

#include "base/error.hpp"
#include "engine/run_status.hpp"
#include "graph/build.hpp"
#include "ops/list.hpp"

namespace sg {
namespace {

constexpr const char* kPass = "pass what changes as an argument, as a tensor, and return what is needed outside";

}  // namespace

// ---- watching --------------------------------------------------------------------------------------------------------
// The function gets other handles on other storages with the same values: a tensor that it reaches as an argument and
// also as, say, a parameter can then be told apart by where it came from. What it wrote to the copies is passed on at
// the end.
Capture::Capture(const std::vector<Tensor>& arguments) : originals_(arguments), made_(new Recording) {
  static std::atomic<uint32_t> last{0};
  if (watcher) fail<Error>("compile", "another function is being recorded", "call one at a time");
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
  watcher = this;
  disturbances_ = disturbances;
  ++watchers;
}

Capture::~Capture() { abandon(); }

void Capture::abandon() {
  if (watcher != this) return;
  watcher = nullptr;
  --watchers;
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

// A storage made inside is known by the capture's number, which costs nothing to check in uses().
void Capture::makes(Storage& fresh) {
  fresh.recording = id_;
  places_.erase(&fresh);  // an earlier storage, of a gradient that is gone, had the same address
}

// Leaves are noted at their first use, before anything in the step can change them.
Recording::Leaf* Capture::leaf_of(const Tensor& x) {
  const Storage* storage = x->storage.get();
  if (!storage || storage->recording == id_) return nullptr;
  if (const auto at = places_.find(storage); at != places_.end()) {
    const auto& [kind, index, run] = at->second;
    if (kind == Origin::Kind::argument) return nullptr;
    if (kind == Origin::Kind::gradient && made_->leaves_[static_cast<size_t>(index)].tensor->grad == x.ref())
      return nullptr;  // it may be another tensor next time
  }
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

// Whether the step has written the tensor of an argument, of which the argument is a copy, or the other way round.
bool Capture::is_overtaken(const Storage& used, const Origin& place) const {
  if (disturbances != disturbances_) return false;  // that may have been another thread
  const bool is_argument = place.kind == Origin::Kind::argument;
  for (size_t i = 0; i < arguments_.size(); ++i) {
    const Storage &copy = *arguments_[i]->storage, &original = *originals_[i]->storage;
    if (&used == (is_argument ? &copy : &original) && !((is_argument ? original : copy).node.ref() == before_[i]))
      return true;
  }
  return false;
}

void Capture::note(const Tensor& x) {
  if (!leaf_of(x)) return;
  const auto [at, fresh] =
      places_.try_emplace(x->storage.get(), Origin{Origin::Kind::kept, static_cast<int32_t>(made_->kept_.size())});
  if (fresh) made_->kept_.push_back({x->storage, x->storage->version, 0});
}

// Called for each input of each op while a function is recorded, so it only notes where the value stands. Several
// places may hold one node at that moment: the replay checks that they still do (equal_).
void Capture::uses(const Tensor& x) {
  if (x.is_number() || x->storage->recording == id_) return;
  note(x);
  if (x->base) note(Tensor(x->base));
  const auto place = places_.find(x->storage.get());
  if (place == places_.end()) return;
  if (is_overtaken(*x->storage, place->second))
    fail<Error>("compile", "the function writes a tensor that is also an argument, and then uses the other of the two",
                "pass a clone() of it, or reach it in one way only");
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

// Two slots: the seed, and the block counted from where the stream stood when the step began, so that a replay
// continues the stream.
ReplaySlot Capture::draws(Generator& from, int64_t blocks) {
  auto& slots = made_->slots_;
  auto& streams = made_->streams_;
  auto stream = std::find_if(streams.begin(), streams.end(), [&](const auto& s) { return s.from == &from; });
  if (stream == streams.end()) stream = streams.insert(stream, {&from, from.blocks});
  const auto number = static_cast<size_t>(stream - streams.begin());
  slots.push_back({Recording::Slot::Kind::seed, 0, number, 0});
  slots.push_back({Recording::Slot::Kind::block, 0, number, stream->at});
  stream->at += blocks;
  return {.number = static_cast<uint32_t>(slots.size() - 1)};
}

// A checkpoint sets a stream back to numbers that the step has drawn, and forward again.
void Capture::turns(Generator& stream, int64_t seed, int64_t blocks) {
  if (seed == stream.seed && blocks == stream.blocks) return;
  for (auto& s : made_->streams_)
    if (s.from == &stream && seed == stream.seed && blocks >= s.first) {
      s.at = blocks - s.first;
      return;
    }
  if (problem_.empty()) problem_ = "it seeds a generator";
}

ReplaySlot Capture::number(double now) {
  made_->slots_.push_back({Recording::Slot::Kind::number, now});
  return {.number = static_cast<uint32_t>(made_->slots_.size())};
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

// The argument whose memory this is, or into which an earlier run wrote it; -1: none.
int32_t Capture::argument_behind(const Origin& from) const {
  if (from.kind == Origin::Kind::argument) return from.index;
  if (from.kind != Origin::Kind::output) return -1;
  for (const Recording::Write& w : made_->runs_[static_cast<size_t>(from.run)].writes)
    if (w.output == from.index && w.to.kind == Origin::Kind::argument) return w.to.index;
  return -1;
}

// The run has happened, so taking notes of it must not fail.
void Capture::ran(const Log& log, const CachedPlan& plan, Flow flow) noexcept {
  try {
    note_run(log, plan, std::move(flow));
  } catch (const std::bad_alloc&) {
    incomplete_ = true;
  }
}

void Capture::note_run(const Log& log, const CachedPlan& plan, Flow flow) {
  Recording::Run run;
  run.device = log.device;
  run.key = log.key;
  run.plan = plan.plan;
  run.prepared = plan.prepared;
  for (const NodeRef& leaf : log.leaves) {
    run.leaves.push_back(origin_of(leaf));
    if (run.leaves.back().kind == Origin::Kind::unknown && problem_.empty())
      problem_ = "it reads a value that was computed before it and is kept by a gradient graph or another thread";
  }
  run.offsets = log.offsets;
  for (int32_t leaf : log.leaf_of) run.argument_of.push_back(leaf < 0 ? -1 : argument_behind(run.leaves[leaf]));
  run.numbers = log.numbers;
  run.number_slots = log.slots;
  run.reporters = log.reporters;
  run.guarded = !flow.nodes.empty();
  run.flow = std::move(flow);
  std::vector<NodeRef> outputs;
  for (int32_t n : plan.output_nodes) {
    const Node& node = *log.nodes[static_cast<size_t>(n)];
    run.outputs.push_back({node.dtype, node.numel, n});
    outputs.push_back(log.nodes[static_cast<size_t>(n)]);
  }
  std::set<const Storage*> written;
  for (const Assignment& a : log.assignments) {
    const auto place = places_.find(a.storage.get());
    if (place == places_.end() || !written.insert(a.storage.get()).second) continue;
    for (size_t o = 0; o < outputs.size(); ++o)
      if (outputs[o].get() == a.storage->node.get()) run.writes.push_back({place->second, static_cast<int32_t>(o)});
  }
  outputs_.push_back(std::move(outputs));
  made_->runs_.push_back(std::move(run));
}

// ---- the end ---------------------------------------------------------------------------------------------------------
// Finds a value made inside that is held by something to which a replay could not give a new value.
// A value has as many holders as storages refer to it, plus saved gradients and others. More holders than known
// storages: somebody outside keeps it, and would see an old value after a replay.
std::string Capture::kept_outside(const std::vector<Tensor>& results) {
  std::set<const Storage*> known;
  for (const auto& kept : made_->kept_) known.insert(kept.storage.get());
  for (const Tensor& x : arguments_) known.insert(x->storage.get());
  for (const Tensor& x : originals_) known.insert(x->storage.get());
  for (const Tensor& x : results) known.insert(x->storage.get());
  for (const auto& leaf : made_->leaves_) {
    if (leaf.tensor->grad) known.insert(leaf.tensor->grad->storage.get());
    if (leaf.ended) known.insert(leaf.tensor->storage.get());  // a gradient that was replaced
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

// In this order: what another thread or a lack of memory prevented, what could never be replayed (problem_), the places of
// gradients and results. made_ is given away only when nothing was found.
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
  std::unordered_map<const TensorImpl*, uint32_t> views;  // that nothing else refers to, of each base
  for (const bool base : {false, true})
    for (auto& leaf : r.leaves_) {
      if (base == static_cast<bool>(leaf.tensor->base)) continue;
      leaf.ended = leaf.tensor->ref_count() == 1 + (base ? views[leaf.tensor.get()] : 0);
      if (leaf.ended && !base) ++views[leaf.tensor->base.get()];
    }
  if (problem.empty())
    for (const Tensor& x : results)
      if (x->grad_fn) x->grad_fn = {}, x->base = {};  // the rest of the graph would keep values alive
  if (problem.empty()) problem = kept_outside(results);
  if (!problem.empty()) return nullptr;
  for (auto& leaf : r.leaves_)
    if (!leaf.ended && leaf.tensor->storage.get() != leaf.storage) problem = "it replaces the data of a tensor";
  for (auto& kept : r.kept_) kept.versions = kept.storage->version - kept.version;
  const auto reads = [&](const Origin& o) {
    if (o.kind == Origin::Kind::gradient) r.leaves_[static_cast<size_t>(o.index)].reads = true;
  };
  for (const Recording::Run& run : r.runs_) {
    for (const Origin& from : run.leaves) reads(from);
    for (const Recording::Write& w : run.writes) reads(w.to);
  }
  auto place = [&](const Tensor& x) {
    return Recording::TensorView{x.shape(), x.strides(), x->offset,
                                 x.dtype(), x.device(),  origin_of(x->storage->node.ref())};
  };
  auto need = [&](const Recording::TensorView& p, const char* what) {
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
      result.same = x.ref();  // from outside, and not used
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

}  // namespace sg
