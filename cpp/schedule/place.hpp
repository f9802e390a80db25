// What the passes that put kernels on memory hand to each other, in order: place.cpp runs memories.cpp, launches.cpp and
// steps.cpp.
#pragma once
#include <map>
#include <utility>
#include <vector>

#include "schedule/order.hpp"
#include "schedule/passes.hpp"

namespace sg::schedule_detail {

// Kernels as the passes below see them.
struct Kernels {
  const std::vector<FusionGroup>& groups;
  std::vector<Emitted> emitted;  // one a group
  std::vector<int32_t> made_by;  // of each node: the group that stores it; -1: none
  size_t count() const { return groups.size(); }
  bool is_empty(int32_t group) const;  // has no elements, so nothing is launched
};

// The memories of a plan, which grow while steps are made.
// A memory is a number in the plan; its bytes are placed later, by arena.cpp, or by the device.
class Memories {
 public:
  Memories(const Context& context, Plan& plan)
      : of_node(static_cast<size_t>(context.count()), -1),
        context_(context),
        plan_(plan),
        of_leaf_(context.log.leaves.size(), -1) {}

  int32_t add(Memory m) {
    plan_.memories.push_back(m);
    return static_cast<int32_t>(plan_.memories.size()) - 1;
  }
  int32_t of_leaf(int32_t leaf);  // added when it is first asked for
  int32_t of(const ValueRef& s) { return s.node >= 0 ? of_node[s.node] : of_leaf(s.leaf); }
  Memory& operator[](int32_t i) { return plan_.memories[i]; }

  std::vector<int32_t> of_node;                                        // -1: none
  std::map<int32_t, std::vector<std::pair<int32_t, int32_t>>> copies;  // before a group's kernel: (from, to)

 private:
  const Context& context_;
  Plan& plan_;
  std::vector<int32_t> of_leaf_;
};

// Gives each value that needs memory its own, or, where an effect may write in place, that of the old value; its readers
// then come before the write.
Memories place_values(const Context& context, const Kernels& kernels, Order& order, Scheduled& out);

// Kernels of one structure become one launch, such as the update of all parameters.
struct Launches {
  std::vector<int32_t> leaders;              // groups, in the order in which they run
  std::vector<std::vector<int32_t>> riders;  // of each group: those that share its launch
};
Launches group_launches(const Context& context, const Kernels& kernels, Order order);

// Appends the steps of each launch to the plan. Takes the kernels away.
void append_steps(Context& context, Kernels& kernels, const Launches& launches, Memories& memories, Plan& plan);

}  // namespace sg::schedule_detail
