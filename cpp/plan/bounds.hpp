// Checks that the programs and products of a plan touch only elements inside their memory. Kernels do not check: an
// element outside is a bug in the scheduler, found here before it reads or writes other memory.
#pragma once
#include <cstdint>

#include "plan/plan.hpp"

namespace sg {

// The first and the last element that are touched, from the beginning of a memory.
struct Reach {
  int64_t first = 0, last = 0;

  void include(int64_t at);
  void along(int64_t size, int64_t stride);
  void along(const Dims& sizes, const Dims& strides);
  Reach from(int64_t offset) const { return {first + offset, last + offset}; }
  bool operator==(const Reach&) const = default;
};

// What a product reads of its factors. Sizes are not 0.
struct FactorReach {
  Reach a, b;
  bool operator==(const FactorReach&) const = default;
};
FactorReach reach_of(const Product& product);

// `offsets`: of Plan::starts, in elements. Error for the first view that reaches beyond its memory. Of computed
// positions (load_at, store_at: the kernel checks the index) and custom kernels, only where they begin.
void check_bounds(const Plan& plan, const int64_t* offsets);

}  // namespace sg
