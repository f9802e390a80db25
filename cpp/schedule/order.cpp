#include "schedule/order.hpp"

#include <algorithm>
#include <set>

namespace sg::schedule_detail {

bool Bits::meets(const Bits& other) const {
  const size_t common = std::min(words_.size(), other.words_.size());
  for (size_t w = 0; w < common; ++w)
    if (words_[w] & other.words_[w]) return true;
  return false;
}

bool Bits::add(const Bits& other) {
  if (words_.size() < other.words_.size()) words_.resize(other.words_.size());
  uint64_t fresh = 0;
  for (size_t w = 0; w < other.words_.size(); ++w) {
    fresh |= other.words_[w] & ~words_[w];
    words_[w] |= other.words_[w];
  }
  return fresh;
}

// Who knows of all of them already has told those behind it.
void Order::follow(int32_t then, const Bits& all) {
  std::vector<int32_t> open = {then};
  while (!open.empty()) {
    const int32_t x = open.back();
    open.pop_back();
    if (before_[x].add(all)) next_[x].each([&](int32_t later) { open.push_back(later); });
  }
}

void Order::add(int32_t first, int32_t then) {
  if (first == then || before(first, then)) return;
  next_[first].set(then);
  previous_[then].set(first);
  Bits all = before_[first];
  all.set(first);
  follow(then, all);
}

void Order::merge(int32_t keep, int32_t drop) {
  merged_[drop] = true;
  previous_[drop].each([&](int32_t x) {
    next_[x].clear(drop);
    if (x == keep) return;
    next_[x].set(keep);
    previous_[keep].set(x);
  });
  next_[drop].each([&](int32_t x) {
    previous_[x].clear(drop);
    if (x == keep) return;
    previous_[x].set(keep);
    next_[keep].set(x);
  });
  before_[keep].add(before_[drop]);
  before_[keep].clear(keep);
  before_[keep].clear(drop);
  before_[drop] = previous_[drop] = next_[drop] = Bits();
  Bits all = before_[keep];
  all.set(keep);
  next_[keep].each([&](int32_t later) { follow(later, all); });
}

std::vector<int32_t> Order::sorted() const {
  const auto count = static_cast<int32_t>(before_.size());
  std::vector<int32_t> waits_for(before_.size(), 0), out;
  std::set<int32_t> ready;
  for (int32_t x = 0; x < count; ++x) {
    previous_[x].each([&](int32_t) { ++waits_for[x]; });
    if (!merged_[x] && !waits_for[x]) ready.insert(x);
  }
  for (int32_t x = -1; !ready.empty();) {
    const auto after = ready.upper_bound(x);
    x = *(after == ready.end() ? ready.begin() : after);
    ready.erase(x);
    out.push_back(x);
    next_[x].each([&](int32_t later) {
      if (--waits_for[later] == 0) ready.insert(later);
    });
  }
  return out;
}

}  // namespace sg::schedule_detail
