// Which values are computed again where they are read late, so that they take no memory between their readers
// (docs/decisions/049-cheap-values-are-computed-again.md). Pure; looks at the log alone.
#pragma once
#include <cstdint>
#include <vector>

#include "graph/log.hpp"

namespace sg {

inline constexpr int kMostWeight = 64;  // of a formula, in simple operations
inline constexpr size_t kSmall = 16;    // times smaller than the value: what it is made of may be kept for it

struct Again {
  int32_t node;    // of the log
  int32_t reader;  // the first of those that read the value computed again
};

// In the order of their readers. `held`: whether a node's value is needed after the run.
std::vector<Again> computed_again(const Log& log, const std::vector<bool>& held);

}  // namespace sg
