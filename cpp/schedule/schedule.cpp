// The passes in order; of a structure that was seen before, only those that look at sizes.
#include "schedule/schedule.hpp"

#include "schedule/passes.hpp"
#include "schedule/sketch.hpp"

namespace sg {
namespace {

using namespace schedule_detail;

std::vector<FusionGroup> form_groups(Context& context) {
  store_long(context);
  std::vector<FusionGroup> groups = fuse(context);
  if (context.input.fuse && store_shared(context, groups)) groups = fuse_again(context, std::move(groups));
  return context.input.second.empty() ? groups : join_seconds(context, std::move(groups));
}

}  // namespace

// Each pass returns what the next one reads; the context holds the log and the guards. The sketch is made before
// place(), whose answers follow from the groups and the sizes.
Scheduled schedule(const ScheduleInput& input) {
  Context context(input);
  const std::vector<FusionGroup> groups = form_groups(context);
  std::shared_ptr<const Sketch> sketch = sketch_of(context, groups);
  Scheduled out = place(context, groups);
  out.sketch = std::move(sketch);
  return out;
}

std::optional<Scheduled> schedule_as(const ScheduleInput& input, const Sketch& sketch) {
  if (!fits(sketch, input)) return std::nullopt;
  Context context(input);
  context.guards.stop();  // the sketch has them
  const auto groups = groups_from(context, sketch);
  if (!groups) return std::nullopt;
  return place(context, *groups);
}

}  // namespace sg
