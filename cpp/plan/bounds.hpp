// Whether each place that the programs and products of a plan touch lies in its memory. Kernels do not look: what is
// made here is right or a mistake of ours, and this finds the mistake before it reads or writes somebody else's bytes.
#pragma once
#include <cstdint>

#include "plan/plan.hpp"

namespace sg {

// `offsets`: of Plan::starts, in elements. Error for the first view that reaches beyond its memory. Of computed
// positions (load_at, store_at: the kernel checks the index) and kernels written by hand, only where they begin.
void check_bounds(const Plan& plan, const int64_t* offsets);

}  // namespace sg
