// What the schedule tests share: an empty log to begin with, looking at plans, and laws that every plan obeys.
#pragma once
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <climits>
#include <cstdlib>
#include <memory>
#include <vector>

#include "include/spirograd.hpp"

namespace sg::testing {

// Nothing is pending when a test begins, nor when it ends.
struct EmptyLog {
  EmptyLog() { flush(cpu()); }
  ~EmptyLog() { flush(cpu()); }
};

// Sets an environment variable for a scope.
class Environment {
 public:
  Environment(const char* name, const char* value) : name_(name) { setenv(name, value, 1); }
  ~Environment() { unsetenv(name_); }

 private:
  const char* name_;
};

// A ready tensor of small, different numbers.
inline Tensor numbers(const Dims& shape, float scale = 0.01f) {
  std::vector<float> v(static_cast<size_t>(shape.numel()));
  for (size_t i = 0; i < v.size(); ++i) v[i] = scale * static_cast<float>((i * 37 + 11) % 101) - scale * 50;
  return tensor(v, shape);
}

// Steps and memories obey each other: every read finds what was written, and no two lives share bytes.
inline void check_plan(const Plan& plan) {
  const size_t count = plan.memories.size();
  std::vector<int> first(count, INT_MAX), last(count, -1);
  std::vector<bool> written(count, false);
  for (size_t m = 0; m < count; ++m) {
    const Memory& memory = plan.memories[m];
    if (memory.kind == Memory::Kind::leaf || memory.donor >= 0 || memory.bytes == 0) written[m] = true;
  }
  for (size_t s = 0; s < plan.steps.size(); ++s) {
    for (const Instance& instance : plan.steps[s].instances) {
      for (int32_t m : instance.reads) {
        INFO(plan.print() << "step " << s << " reads memory " << m);
        REQUIRE(written[static_cast<size_t>(m)]);
      }
      for (const auto* list : {&instance.reads, &instance.writes})
        for (int32_t m : *list) {
          first[static_cast<size_t>(m)] = std::min(first[static_cast<size_t>(m)], static_cast<int>(s));
          last[static_cast<size_t>(m)] = std::max(last[static_cast<size_t>(m)], static_cast<int>(s));
        }
    }
    for (const Instance& instance : plan.steps[s].instances)
      for (int32_t m : instance.writes) written[static_cast<size_t>(m)] = true;
  }
  for (size_t a = 0; a < count; ++a) {
    const Memory& x = plan.memories[a];
    if (x.kind != Memory::Kind::temp || last[a] < 0) continue;
    INFO(plan.print() << "memory " << a);
    CHECK(x.offset % 16 == 0);
    CHECK(x.offset + x.bytes <= plan.arena_bytes);
    for (size_t b = a + 1; b < count; ++b) {
      const Memory& y = plan.memories[b];
      if (y.kind != Memory::Kind::temp || last[b] < 0 || last[a] < first[b] || last[b] < first[a]) continue;
      const bool apart = x.offset + x.bytes <= y.offset || y.offset + y.bytes <= x.offset;
      INFO("and memory " << b);
      CHECK(apart);
    }
  }
}

// The plan that a flush would run now.
inline std::shared_ptr<const Plan> pending_plan(const Tensor& x) {
  std::shared_ptr<const Plan> plan = plan_of(x, false).plan;
  check_plan(*plan);
  return plan;
}

inline size_t instances(const Plan& plan) {
  size_t n = 0;
  for (const Step& s : plan.steps) n += s.instances.size();
  return n;
}

inline int count_steps(const Plan& plan, Kernel::Kind kind) {
  return static_cast<int>(
      std::count_if(plan.steps.begin(), plan.steps.end(), [&](const Step& s) { return s.only().kernel.kind == kind; }));
}

}  // namespace sg::testing
