// What the scheduler decided about a structure: which kernels there are, and what each computes. A log of the same
// structure that answers all guards in the same way gets the same kernels, with its own sizes.
#pragma once
#include <memory>
#include <optional>
#include <vector>

#include "schedule/passes.hpp"

namespace sg {

struct Sketch {
  struct Kernel {
    schedule_detail::FusionGroup::Kind kind;
    uint16_t reduced, across;
    int32_t shape;  // the root whose domain it runs over
    size_t roots;   // how many of the roots below, kernel by kernel
    size_t uses;    // about how many readings
  };
  std::vector<Kernel> kernels;
  std::vector<int32_t> roots;
  std::vector<bool> stored;
  std::vector<schedule_detail::Guard> guards;
};

}  // namespace sg

namespace sg::schedule_detail {

std::shared_ptr<const Sketch> sketch_of(Context& context, const std::vector<FusionGroup>& groups);
bool fits(const Sketch& sketch, const ScheduleInput& input);
std::optional<std::vector<FusionGroup>> groups_from(Context& context, const Sketch& sketch);

}  // namespace sg::schedule_detail
