// Numbers the runs that check indices and remembers which are retired and which are poisoned. Asks no device:
// engine.cpp reports what it read there.
#include "engine/run_status.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "base/error.hpp"
#include "engine/flush.hpp"

namespace sg {
namespace {
// Numbers are given in order over all devices and never reused, so "later" and "may have read" are comparisons.
struct Runs {
  uint32_t last = 0;
  std::map<int, uint32_t> retired;                  // by device: the CPU is -1
  std::map<uint32_t, std::vector<uint32_t>> after;  // for each run that read unchecked results, the runs that made them
  std::map<uint32_t, std::exception_ptr> poisoned;
};
Runs& runs() {
  static auto* all = new Runs;
  return *all;
}
int number_of(DeviceId device) { return device.is_gpu() ? device.index : -1; }

void raise_if_poisoned(const Node& node) {
  if (!node.run) return;
  const auto& poisoned = runs().poisoned;
  if (const auto it = poisoned.find(node.run); it != poisoned.end()) std::rethrow_exception(it->second);
}
}  // namespace

// A run can only have read results of earlier ones, so one pass in order of their numbers finds all that are affected.
void poison(uint32_t run, std::exception_ptr error) {
  Runs& r = runs();
  r.poisoned[run] = error;
  for (auto it = r.after.upper_bound(run); it != r.after.end(); ++it)
    for (uint32_t before : it->second)
      if (r.poisoned.count(before)) r.poisoned[it->first] = error;
}
void raise_if_failed(const Node& node) {
  if (node.state == Node::State::failed) {
    forget_lost_write();
    std::rethrow_exception(node.error);
  }
  if (node.buffer && node.buffer->gone)
    fail<DeviceLostError>("tensor", "its values were on " + node.device.str() + " when it was lost, and are gone",
                          "load or compute them again");
  raise_if_poisoned(node);
}
uint32_t begin_run(std::vector<uint32_t> after) {
  Runs& r = runs();
  ++r.last;
  for (uint32_t before : after)
    if (const auto it = r.poisoned.find(before); it != r.poisoned.end()) r.poisoned[r.last] = it->second;
  if (!after.empty()) r.after[r.last] = std::move(after);
  return r.last;
}
uint32_t last_run() { return runs().last; }
// A poisoned run stays unchecked for good: whoever reads it next is poisoned too.
bool unchecked(const Node& node) {
  if (!node.run) return false;
  const Runs& r = runs();
  const auto it = r.retired.find(number_of(node.device));
  return it == r.retired.end() || node.run > it->second || r.poisoned.count(node.run);
}
// What every device has retired can no longer be read unchecked by a new run; its edges are dropped.
void retire(DeviceId device, uint32_t last_run) {
  Runs& r = runs();
  uint32_t& retired = r.retired[number_of(device)];
  retired = std::max(retired, last_run);
  uint32_t least = retired;
  for (const auto& [id, run] : r.retired) least = std::min(least, run);
  r.after.erase(r.after.begin(), r.after.upper_bound(least));
}

}  // namespace sg
