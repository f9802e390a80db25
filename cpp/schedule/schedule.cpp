// The passes in order; of a structure that was seen before, only those that look at sizes.
#include "schedule/schedule.hpp"

#include "schedule/draft.hpp"
#include "schedule/sketch.hpp"

namespace sg {
namespace {

using namespace schedule_detail;

std::vector<Draft> draw(Context& context) {
  store_long(context);
  std::vector<Draft> drafts = fuse(context);
  if (context.input.fuse && store_shared(context, drafts)) drafts = fuse_again(context, std::move(drafts));
  return drafts;
}

}  // namespace

Scheduled schedule(const ScheduleInput& input) {
  Context context(input);
  const std::vector<Draft> drafts = draw(context);
  std::shared_ptr<const Sketch> sketch = sketch_of(context, drafts);
  Scheduled out = place(context, drafts);
  out.sketch = std::move(sketch);
  return out;
}

std::optional<Scheduled> schedule_as(const ScheduleInput& input, const Sketch& sketch) {
  if (!fits(sketch, input)) return std::nullopt;
  Context context(input);
  context.guards.stop();  // the sketch has them
  const auto drafts = redraw(context, sketch);
  if (!drafts) return std::nullopt;
  return place(context, *drafts);
}

}  // namespace sg
