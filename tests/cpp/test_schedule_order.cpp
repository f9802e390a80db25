// The order of kernels, beside a list of edges that is searched anew for each question.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <numeric>
#include <random>
#include <set>
#include <utility>

#include "schedule/order.hpp"

using sg::schedule_detail::Order;

namespace {

class Searched {
 public:
  explicit Searched(int32_t count) : name_(static_cast<size_t>(count)) { std::iota(name_.begin(), name_.end(), 0); }
  bool lives(int32_t x) const { return name_[static_cast<size_t>(x)] == x; }
  void add(int32_t first, int32_t then) { edges_.insert({first, then}); }
  void merge(int32_t keep, int32_t drop) {
    std::replace(name_.begin(), name_.end(), drop, keep);
    std::set<std::pair<int32_t, int32_t>> renamed;
    for (auto [a, b] : edges_)
      if ((a == drop ? keep : a) != (b == drop ? keep : b))
        renamed.insert({a == drop ? keep : a, b == drop ? keep : b});
    edges_ = renamed;
  }
  std::set<int32_t> behind(int32_t x) const {
    std::set<int32_t> seen;
    std::vector<int32_t> open = {x};
    while (!open.empty()) {
      const int32_t from = open.back();
      open.pop_back();
      for (auto [a, b] : edges_)
        if (a == from && seen.insert(b).second) open.push_back(b);
    }
    return seen;
  }
  bool before(int32_t a, int32_t b) const { return behind(a).count(b) > 0; }
  bool between(int32_t a, int32_t b) const {
    const std::set<int32_t> after = behind(a);
    return std::any_of(after.begin(), after.end(), [&](int32_t c) { return c != b && before(c, b); });
  }

 private:
  std::set<std::pair<int32_t, int32_t>> edges_;
  std::vector<int32_t> name_;
};

}  // namespace

TEST_CASE("the order of kernels is that of its edges, however they are added and merged", "[schedule]") {
  constexpr int32_t kCount = 70;  // more than a word of bits
  for (uint32_t seed = 0; seed < 20; ++seed) {
    std::mt19937 random(seed);
    const auto die = [&] { return static_cast<int32_t>(random() % kCount); };
    Order order(kCount);
    Searched searched(kCount);
    for (int turn = 0; turn < 250; ++turn) {
      const int32_t a = die(), b = die();
      if (a == b || !searched.lives(a) || !searched.lives(b)) continue;
      REQUIRE(order.before(a, b) == searched.before(a, b));
      REQUIRE(order.between(a, b) == searched.between(a, b));
      if (turn % 3) {
        if (searched.before(b, a)) continue;
        order.add(a, b);
        searched.add(a, b);
      } else if (!searched.between(a, b) && !searched.between(b, a)) {
        order.merge(a, b);
        searched.merge(a, b);
      }
    }
    const std::vector<int32_t> sorted = order.sorted();
    int32_t living = 0;
    for (int32_t x = 0; x < kCount; ++x) living += searched.lives(x);
    CHECK(sorted.size() == static_cast<size_t>(living));
    for (size_t i = 0; i < sorted.size(); ++i)
      for (size_t j = i + 1; j < sorted.size(); ++j) CHECK_FALSE(searched.before(sorted[j], sorted[i]));
  }
}
