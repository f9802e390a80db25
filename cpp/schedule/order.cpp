#include "schedule/order.hpp"

#include <utility>

namespace sg::schedule_detail {

Order::Order(size_t count) : before_(count, Bits((count + 63) / 64)), after_(before_) {}

bool Order::between(int32_t first, int32_t last) const {
  const Bits &a = after_[first], &b = before_[last];
  for (size_t w = 0; w < a.size(); ++w)
    if (a[w] & b[w]) return true;
  return false;
}

bool Order::ready(int32_t then, const Bits& done) const {
  for (size_t w = 0; w < done.size(); ++w)
    if (before_[then][w] & ~done[w]) return false;
  return true;
}

void Order::follow(int32_t then, const Bits& all) {
  Bits& known = before_[then];
  for (size_t w = 0; w < known.size(); ++w) {
    for (uint64_t fresh = all[w] & ~known[w]; fresh; fresh &= fresh - 1)
      set(after_[w * 64 + static_cast<size_t>(__builtin_ctzll(fresh))], then);
    known[w] |= all[w];
  }
}

void Order::add(int32_t first, int32_t then) {
  if (first == then || before(first, then)) return;
  Bits all = before_[first];
  set(all, first);
  follow(then, all);
  const Bits later = after_[then];
  each(later, [&](int32_t x) { follow(x, all); });
}

void Order::join(const std::vector<int32_t>& all) {
  Bits earlier = none(), later = none();
  for (int32_t x : all)
    for (size_t w = 0; w < earlier.size(); ++w) {
      earlier[w] |= before_[x][w];
      later[w] |= after_[x][w];
    }
  Bits through = earlier;
  for (int32_t x : all) {
    follow(x, earlier);
    set(through, x);
  }
  each(later, [&](int32_t y) { follow(y, through); });
}

void Order::merge(int32_t keep, int32_t drop) {
  each(before_[drop], [&](int32_t x) { clear(after_[x], drop); });
  each(after_[drop], [&](int32_t x) { clear(before_[x], drop); });
  const Bits earlier = std::exchange(before_[drop], Bits(before_[drop].size()));
  const Bits later = std::exchange(after_[drop], Bits(after_[drop].size()));
  each(earlier, [&](int32_t x) {
    if (x != keep) add(x, keep);
  });
  each(later, [&](int32_t x) {
    if (x != keep) add(keep, x);
  });
}

}  // namespace sg::schedule_detail
