// The parts of fusion: alone.cpp makes a kernel of each stored node, merge.cpp says whether two can be one, and fuse.cpp
// which are tried with which.
#pragma once
#include <algorithm>
#include <vector>

#include "schedule/passes.hpp"

namespace sg::schedule_detail {

inline bool is_root(const FusionGroup& group, int32_t node) {
  return std::find(group.roots.begin(), group.roots.end(), node) != group.roots.end();
}

// A kernel for each root, in the order of the log. What one of them finds must be stored gets a kernel too, and those
// that computed it, which come later in the log, are made anew.
std::vector<FusionGroup> each_alone(Context& context, const std::vector<int32_t>& roots);

// What is quickly known of two kernels, of which the early one comes first: false, they stay apart.
bool may_merge(Context& context, const FusionGroup& early, const FusionGroup& late);
// What the two are as one, when no third kernel runs between them; false: they stay apart.
bool put_together(Context& context, const FusionGroup& early, const FusionGroup& late, FusionGroup& merged);

}  // namespace sg::schedule_detail
