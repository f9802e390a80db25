// Which kernels run before which: a strict order, closed under transitivity, that grows. Kept both ways as sets of
// bits, so that graphs of thousands of kernels cost milliseconds. Callers: the passes of schedule/.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

namespace sg::schedule_detail {

class Order {
 public:
  explicit Order(size_t count = 0);
  bool before(int32_t first, int32_t then) const { return has(before_[then], first); }
  bool between(int32_t first, int32_t last) const;  // some third one runs after the first and before the last
  void add(int32_t first, int32_t then);
  void merge(int32_t keep, int32_t drop);  // they become one; there is none between them
  // None of them runs before another; all run behind what runs before any of them, and before what runs behind any.
  void join(const std::vector<int32_t>& all);
  // Kernels that are done, and whether another may run then.
  using Bits = std::vector<uint64_t>;
  Bits none() const { return Bits((before_.size() + 63) / 64); }
  bool ready(int32_t then, const Bits& done) const;
  static void set(Bits& bits, int32_t i) { bits[static_cast<size_t>(i) / 64] |= uint64_t{1} << (i % 64); }

 private:
  static bool has(const Bits& bits, int32_t i) { return bits[static_cast<size_t>(i) / 64] >> (i % 64) & 1; }
  static void clear(Bits& bits, int32_t i) { bits[static_cast<size_t>(i) / 64] &= ~(uint64_t{1} << (i % 64)); }
  template <class F>
  static void each(const Bits& bits, F f) {
    for (size_t w = 0; w < bits.size(); ++w)
      for (uint64_t word = bits[w]; word; word &= word - 1) f(static_cast<int32_t>(w * 64) + __builtin_ctzll(word));
  }
  void follow(int32_t then, const Bits& all);  // `all`, closed, run before `then`

  std::vector<Bits> before_, after_;
};

}  // namespace sg::schedule_detail
