// How many workgroups a custom kernel is launched with; for ops/ only.
#pragma once
#include <algorithm>

#include "kernel/custom.hpp"

namespace sg {

// In two dimensions: more than a device has along one.
inline void set_groups(CustomKernel& custom, int64_t groups) {
  constexpr int64_t kMostGroups = 65535;
  custom.groups[0] = std::min(groups, kMostGroups);
  custom.groups[1] = (groups + kMostGroups - 1) / kMostGroups;
}
// A thread for each element, in groups of 256.
inline void set_threads(CustomKernel& custom, int64_t elements) { set_groups(custom, (elements + 255) / 256); }

}  // namespace sg
