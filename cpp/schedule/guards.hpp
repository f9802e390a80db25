// The comparisons of sizes that a plan was made by. With other sizes that compare the same way, the scheduler would do
// the same: which kernels there are, what each computes, what is stored. See sketch.hpp.
#pragma once
#include <algorithm>
#include <compare>
#include <cstdint>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "graph/log.hpp"

namespace sg::schedule_detail {

// How many elements a node's domain has along the dimensions of `mask`.
constexpr uint16_t kAll = 0xffff;
struct Size {
  int32_t node = -1;
  uint16_t mask = kAll;
  auto operator<=>(const Size&) const = default;
};

struct Guard {
  enum class Asked : uint8_t {
    exceeds,      // a > limit
    repeats,      // b is `limit` times a, or more
    same_size,    // a == b
    same_domain,  // of both nodes
    apart,        // two writes with the same strides to one memory reach no place in common
  };
  Asked asked;
  bool soft = false;  // both answers give the same bits: near the limit either will do, and two sizes that are equal
                      // by chance may count as different
  bool answer = false;
  Size a{}, b{};
  int64_t limit = 0;
  auto operator<=>(const Guard&) const = default;
};

// Nodes that are known to be equal in some way.
class Classes {
 public:
  explicit Classes(size_t nodes) : next_(nodes) { std::iota(next_.begin(), next_.end(), 0); }
  bool are_one(int32_t a, int32_t b) { return first(a) == first(b); }
  void join(int32_t a, int32_t b) { next_[static_cast<size_t>(first(b))] = first(a); }

 private:
  int32_t first(int32_t node) {
    for (int32_t* next = &next_[static_cast<size_t>(node)]; *next != node; next = &next_[static_cast<size_t>(node)])
      node = *next = next_[static_cast<size_t>(*next)];
    return node;
  }
  std::vector<int32_t> next_;  // towards the first of a node's class
};

// Questions that follow from earlier answers are not noted again (Classes), which keeps the list linear in the log.
class Guards {
 public:
  explicit Guards(const Log& log) : log_(log), one_size_(log.nodes.size()), one_domain_(log.nodes.size()) {}
  bool exceeds(Size a, int64_t limit, bool soft = false) {
    return ask({.asked = Guard::Asked::exceeds, .soft = soft, .a = a, .limit = limit});
  }
  bool repeats(Size a, int64_t times, Size b, bool soft) {
    return ask({.asked = Guard::Asked::repeats, .soft = soft, .a = a, .b = b, .limit = times});
  }
  bool same_size(Size a, Size b) {
    return ask_equal({.asked = Guard::Asked::same_size, .a = std::min(a, b), .b = std::max(a, b)});
  }
  bool same_domain(int32_t a, int32_t b) {
    return ask_equal({.asked = Guard::Asked::same_domain, .a = {std::min(a, b)}, .b = {std::max(a, b)}});
  }
  // Evaluates the conditions under which two kernels may be merged. Equalities that `f` finds become guards only when
  // decide(true) follows: what else keeps the kernels apart does so for unequal sizes as well.
  template <class F>
  bool conditions(F f) {
    struct Trying {
      bool& trying;
      ~Trying() { trying = false; }
    } now{trying_ = true};
    return f();
  }
  void decide(bool merged);
  bool apart(int32_t a, int32_t b) { return ask({.asked = Guard::Asked::apart, .a = {a}, .b = {b}}); }
  void stop() { noting_ = false; }  // later comparisons are not noted
  std::vector<Guard> take();        // without duplicates; stops

 private:
  bool ask(Guard guard);
  bool ask_equal(const Guard& guard);
  void note(const Guard& guard);
  // The classes from which the answer may already follow; nullptr: none, so the guard is always noted.
  Classes* known(const Guard& guard);
  const Log& log_;
  Classes one_size_, one_domain_;
  std::vector<Guard> asked_, maybe_;
  bool trying_ = false, noting_ = true;
};

// The first guard that this log answers differently, or nullptr. `nearly`: soft guards also hold near their limit.
const Guard* first_broken(const std::vector<Guard>& guards, const Log& log, bool nearly);
// "add [3, 64] and mul [2, 64] are no longer of one size"
std::string describe(const Guard& broken, const Log& log);

}  // namespace sg::schedule_detail
