// Which kernels run before which: a strict order, closed under transitivity, that grows. Kept as sets of bits, so that
// a question or a new edge costs a few words for each 64 kernels. Callers: the passes of schedule/.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <vector>

namespace sg::schedule_detail {

// A set of numbers. It takes as many words as lie between its smallest and its largest number.
class Bits {
 public:
  explicit Bits(std::pmr::memory_resource* memory = std::pmr::get_default_resource()) : words_(memory) {}
  bool has(int32_t i) const {
    const size_t at = word(i) - begin_;  // wraps around to a huge number if i is before the first word
    return at < words_.size() && words_[at] >> (i % 64) & 1;
  }
  void set(int32_t i) {
    cover(word(i), word(i) + 1);
    words_[word(i) - begin_] |= uint64_t{1} << (i % 64);
  }
  void clear(int32_t i) {
    if (has(i)) words_[word(i) - begin_] &= ~(uint64_t{1} << (i % 64));
  }
  bool empty() const { return first() < 0; }
  int32_t first() const { return after(-1); }  // -1: there is none
  int32_t after(int32_t i) const;              // the first one after i
  bool meets(const Bits& other) const;
  bool add(const Bits& other);  // true: some were new
  template <class F>
  void each(F f) const {
    for (size_t w = 0; w < words_.size(); ++w)
      for (uint64_t word = words_[w]; word; word &= word - 1)
        f(static_cast<int32_t>((begin_ + w) * 64) + __builtin_ctzll(word));
  }

 private:
  static size_t word(int32_t i) { return static_cast<size_t>(i) / 64; }
  size_t end() const { return begin_ + words_.size(); }
  void cover(size_t begin, size_t end);  // words

  size_t begin_ = 0;  // the first word that is kept
  std::pmr::vector<uint64_t> words_;
};

// Invariant: before_ is closed under transitivity at all times, so before() is one bit. between() asks for a path
// through a third kernel: next_ holds direct successors only.
class Order {
 public:
  explicit Order(size_t count = 0, std::pmr::memory_resource* memory = std::pmr::get_default_resource());
  bool before(int32_t first, int32_t then) const { return before_[then].has(first); }
  // Whether some third kernel runs between the two.
  bool between(int32_t first, int32_t last) const { return next_[first].meets(before_[last]); }
  void add(int32_t first, int32_t then);
  // Merges the two into `keep`. No third kernel may run between them.
  void merge(int32_t keep, int32_t drop);
  // All kernels that were not merged into another, in an order that respects before().
  std::vector<int32_t> sorted() const;

 private:
  void tell(Bits changed);

  std::vector<Bits> before_;           // all, also those that were merged into one of them
  std::vector<Bits> previous_, next_;  // without those that others imply; of the living alone
  std::vector<bool> merged_;
};

}  // namespace sg::schedule_detail
