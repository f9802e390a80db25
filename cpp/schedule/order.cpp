// The transitive closure of "runs before", kept up to date edge by edge. Knows kernels by number only.
#include "schedule/order.hpp"

#include <algorithm>
#include <utility>

namespace sg::schedule_detail {

void Bits::cover(size_t begin, size_t end) {
  if (words_.empty()) begin_ = begin;
  if (begin < begin_) {
    words_.insert(words_.begin(), begin_ - begin, 0);
    begin_ = begin;
  }
  if (end > this->end()) words_.resize(end - begin_);
}

int32_t Bits::after(int32_t i) const {
  const size_t from = word(i + 1);
  uint64_t behind = ~uint64_t{0} << ((i + 1) % 64);  // in the first word
  for (size_t w = std::max(from, begin_); w < end(); ++w) {
    const uint64_t found = words_[w - begin_] & (w == from ? behind : ~uint64_t{0});
    if (found) return static_cast<int32_t>(w * 64) + __builtin_ctzll(found);
  }
  return -1;
}

bool Bits::meets(const Bits& other) const {
  for (size_t w = std::max(begin_, other.begin_); w < std::min(end(), other.end()); ++w)
    if (words_[w - begin_] & other.words_[w - other.begin_]) return true;
  return false;
}

bool Bits::add(const Bits& other) {
  if (other.words_.empty()) return false;
  cover(other.begin_, other.end());
  uint64_t* const mine = words_.data() + (other.begin_ - begin_);
  uint64_t fresh = 0;
  for (size_t w = 0; w < other.words_.size(); ++w) {
    fresh |= other.words_[w] & ~mine[w];
    mine[w] |= other.words_[w];
  }
  return fresh;
}

Order::Order(size_t count, std::pmr::memory_resource* memory) : merged_(count) {
  for (auto* list : {&before_, &previous_, &next_}) {
    list->reserve(count);
    for (size_t i = 0; i < count; ++i) list->emplace_back(memory);
  }
}

// Tells later kernels what runs before the changed ones. A kernel that knew it already has told those after it.
void Order::tell(Bits changed) {
  for (int32_t x = changed.first(); x >= 0; x = changed.first()) {  // numbers are near the order: each once
    changed.clear(x);
    next_[x].each([&](int32_t later) {
      const bool fresh = !before(x, later);
      before_[later].set(x);
      if (before_[later].add(before_[x]) || fresh) changed.set(later);
    });
  }
}

void Order::add(int32_t first, int32_t then) {
  if (first == then || before(first, then)) return;
  next_[first].set(then);
  previous_[then].set(first);
  before_[then].add(before_[first]);
  before_[then].set(first);
  if (next_[then].empty()) return;
  Bits changed;
  changed.set(then);
  tell(std::move(changed));
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
  Bits changed;
  next_[drop].each([&](int32_t x) {
    if (x == keep || before(keep, x)) return;
    before_[x].set(keep);
    before_[x].add(before_[keep]);
    changed.set(x);
  });
  before_[drop].clear(keep);
  if (before_[keep].add(before_[drop])) changed.set(keep);
  before_[keep].clear(drop);
  before_[drop] = previous_[drop] = next_[drop] = Bits();
  tell(std::move(changed));
}

// Kahn's algorithm. Among the kernels that are ready, the next one by number follows, so that the result stays close to
// the order of the log.
std::vector<int32_t> Order::sorted() const {
  const auto count = static_cast<int32_t>(before_.size());
  std::vector<int32_t> waits_for(before_.size(), 0), out;
  Bits ready;
  for (int32_t x = 0; x < count; ++x) {
    previous_[x].each([&](int32_t) { ++waits_for[x]; });
    if (!merged_[x] && !waits_for[x]) ready.set(x);
  }
  out.reserve(before_.size());
  for (int32_t x = ready.first(); x >= 0;) {
    ready.clear(x);
    out.push_back(x);
    next_[x].each([&](int32_t later) {
      if (--waits_for[later] == 0) ready.set(later);
    });
    const int32_t behind = ready.after(x);
    x = behind < 0 ? ready.first() : behind;
  }
  return out;
}

}  // namespace sg::schedule_detail
