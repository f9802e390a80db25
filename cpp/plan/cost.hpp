// The least that a step moves and computes: every element of its views once, every arithmetic instruction once per
// element. Devices compute it when they prepare a plan; a profile divides it by time.
#pragma once
#include <string>

#include "plan/plan.hpp"

namespace sg {

struct Cost {
  int64_t bytes = 0;   // read and written
  int64_t flops = 0;   // arithmetic instructions; 2 m n k for a product
  std::string shapes;  // of the domain, or of the operands of a product
};
Cost cost_of(const Plan& plan, const Step& step);

}  // namespace sg
