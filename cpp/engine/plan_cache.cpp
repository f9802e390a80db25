// Which plans and sketches stay and which are dropped. Does not look inside a plan.
#include "engine/plan_cache.hpp"

#include <algorithm>

#include "base/hash.hpp"

namespace sg {

std::shared_ptr<const CachedPlan> PlanCache::find(uint64_t hash, const std::vector<uint64_t>& key) {
  auto [first, last] = entries_.equal_range(hash);
  for (auto it = first; it != last; ++it)
    if (it->second->key == key) {
      it->second->last_use = ++clock_;
      it->second->found = true;
      return it->second;
    }
  return nullptr;
}

// Makes room by dropping the plan that was used longest ago.
std::shared_ptr<const CachedPlan> PlanCache::insert(uint64_t hash, CachedPlan entry) {
  if (entries_.size() >= kCapacity)
    entries_.erase(std::min_element(entries_.begin(), entries_.end(), [](const auto& a, const auto& b) {
      return a.second->last_use < b.second->last_use;
    }));
  drop_useless();
  entry.last_use = ++clock_;
  entry.bytes = static_cast<int64_t>(entry.key.capacity() * sizeof(uint64_t)) + entry.plan->bytes();
  return entries_.emplace(hash, std::make_shared<CachedPlan>(std::move(entry)))->second;
}

// Counted by hash alone: two keys of one hash only get a plan of their own sooner.
int PlanCache::times_missed(uint64_t hash) {
  if (missed_.size() >= kMissed) missed_.clear();
  return missed_[hash]++;
}

int64_t PlanCache::bytes() const {
  int64_t sum = 0;
  for (const auto& [hash, entry] : entries_) sum += entry->bytes;
  return sum;
}

// Shapes that never repeat leave plans that are never found again. Those to drop are chosen at random, so that of a
// step with more plans than there is room for, some are found the next time and then stay.
void PlanCache::drop_useless() {
  const auto held = [](const CachedPlan& entry) { return entry.bytes + entry.prepared->bytes(); };
  std::vector<decltype(entries_)::iterator> useless;
  int64_t bytes = 0;
  for (auto it = entries_.begin(); it != entries_.end(); ++it)
    if (!it->second->found) {
      useless.push_back(it);
      bytes += held(*it->second);
    }
  while (bytes > kBytes) {
    const size_t at = hash_mix(clock_ + useless.size()) % useless.size();
    bytes -= held(*useless[at]->second);
    entries_.erase(useless[at]);
    useless.erase(useless.begin() + static_cast<int64_t>(at));
  }
}

size_t PlanCache::common_with_nearest(const std::vector<uint64_t>& key) const {
  size_t most = 0;
  for (const auto& [hash, entry] : entries_) {
    const size_t length = std::min(key.size(), entry->key.size());
    const auto differ = std::mismatch(key.begin(), key.begin() + static_cast<int64_t>(length), entry->key.begin());
    most = std::max(most, static_cast<size_t>(differ.first - key.begin()));
  }
  return most;
}

PlanCache::Sketches& PlanCache::of(const Structure& structure) {
  auto at = std::find_if(sketches_.begin(), sketches_.end(), [&](const auto& s) { return s.structure == structure; });
  if (at == sketches_.end() && sketches_.size() < kStructures) at = sketches_.insert(at, {structure, {}});
  if (at == sketches_.end()) {
    at = std::min_element(sketches_.begin(), sketches_.end(),
                          [](const auto& a, const auto& b) { return a.last_use < b.last_use; });
    *at = {structure, {}};
  }
  at->last_use = ++clock_;
  return *at;
}

const std::vector<std::shared_ptr<const Sketch>>& PlanCache::sketches(const Structure& structure) {
  return of(structure).list;
}

void PlanCache::insert(const Structure& structure, std::shared_ptr<const Sketch> sketch) {
  auto& list = of(structure).list;
  list.insert(list.begin(), std::move(sketch));
  list.resize(std::min(list.size(), kSketches));
}

}  // namespace sg
