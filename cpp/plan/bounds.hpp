// Checks that the programs and products of a plan touch only elements inside their memory. Kernels do not check: an
// element outside is a bug in the scheduler, found here before it reads or writes other memory.
#pragma once
#include <cstdint>

#include "plan/plan.hpp"

namespace sg {

// `offsets`: of Plan::starts, in elements. Error for the first view that reaches beyond its memory. Of computed
// positions (load_at, store_at: the kernel checks the index) and custom kernels, only where they begin.
void check_bounds(const Plan& plan, const int64_t* offsets);

}  // namespace sg
