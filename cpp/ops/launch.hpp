// How many workgroups a handwritten kernel is launched with; for ops/ only.
#pragma once
#include <algorithm>

#include "kernel/own.hpp"

namespace sg {

// In two dimensions: more than a device has along one.
inline void set_groups(Own& own, int64_t groups) {
  constexpr int64_t kMostGroups = 65535;
  own.groups[0] = std::min(groups, kMostGroups);
  own.groups[1] = (groups + kMostGroups - 1) / kMostGroups;
}
// A thread for each element, in groups of 256.
inline void set_threads(Own& own, int64_t elements) { set_groups(own, (elements + 255) / 256); }

}  // namespace sg
