// How many workgroups a custom kernel is launched with; for ops/ only.
#pragma once
#include <algorithm>

#include "kernel/custom.hpp"
#include "kernel/features.hpp"

namespace sg {

// In two dimensions: more than a device has along one.
inline void set_groups(CustomKernel& custom, int64_t groups) {
  constexpr int64_t kMostGroups = 65535;
  custom.groups[0] = std::min(groups, kMostGroups);
  custom.groups[1] = (groups + kMostGroups - 1) / kMostGroups;
}
// A thread for each element.
inline void set_threads(CustomKernel& custom, int64_t elements, const Features& gpu) {
  custom.threads = std::min<int64_t>(256, gpu.max_group_threads);
  set_groups(custom, (elements + custom.threads - 1) / custom.threads);
}

}  // namespace sg
