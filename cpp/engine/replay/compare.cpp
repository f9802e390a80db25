// Whether two recordings are of the same step: only then may it be replayed.
#include <algorithm>

#include "engine/replay/recording.hpp"

namespace sg {

// A difference is a sentence that ends "compile: f() cannot be replayed: ...", so it speaks of the function as "it".
// The order of the checks is that of causes: a step with other operations also has other leaves and numbers, and the
// first difference is what the user can act on.
std::string Recording::difference(const Recording& a, const Recording& b) {
  auto same_origin = [&](const Origin& x, const Origin& y) {
    if (x.kind != y.kind) return false;
    if (x.kind == Origin::Kind::kept) return a.kept_[x.index].storage == b.kept_[y.index].storage;
    if (x.kind == Origin::Kind::gradient) return a.leaves_[x.index].tensor == b.leaves_[y.index].tensor;
    if (x.kind == Origin::Kind::constant) return a.host_data_[x.index] == b.host_data_[y.index];
    return x.index == y.index && x.run == y.run;
  };
  auto same_place = [&](const TensorView& x, const TensorView& y) {
    return x.shape == y.shape && x.strides == y.strides && same_origin(x.from, y.from) &&
           (x.from.kind == Origin::Kind::argument || x.offset == y.offset);
  };
  const char* const ops = "which operations it makes, or of which sizes, changes from call to call";
  const char* const values =
      "a number in it changes from call to call, and comes neither from an argument nor from an "
      "optimiser (whose lr is a tensor: set its `capturable` to True)";
  if (a.runs_.size() != b.runs_.size() || a.results_.size() != b.results_.size() || a.slots_.size() != b.slots_.size())
    return ops;
  if (a.generators() != b.generators()) return "it draws from other generators from call to call";
  for (size_t i = 0; i < a.slots_.size(); ++i)
    if (a.slots_[i].kind != b.slots_[i].kind || a.slots_[i].block != b.slots_[i].block)
      return "it draws other random numbers from call to call";
  for (size_t c = 0; c < a.runs_.size(); ++c) {
    const Run &x = a.runs_[c], &y = b.runs_[c];
    if (!(x.device == y.device) || !x.has_plan_of(y) || x.number_slots != y.number_slots) return ops;
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
    for (const auto& [at, slot] : x.number_slots) varies[static_cast<size_t>(at)] = true;
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

bool Recording::Run::has_plan_of(const Run& other) const {
  if (guarded == other.guarded) return key == other.key && plan == other.plan;
  return std::equal(key.begin(), key.end() - 1, other.key.begin(), other.key.end() - 1);
}

void Recording::allow_open_reports_of(const Recording& other) {
  for (size_t c = 0; c < runs_.size(); ++c) {
    const Run& from = other.runs_[c];
    if (runs_[c].guarded || !from.guarded) continue;
    runs_[c].key = from.key;
    runs_[c].plan = from.plan;
    runs_[c].prepared = from.prepared;
    runs_[c].guarded = true;
    runs_[c].flow = from.flow;
  }
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

}  // namespace sg
