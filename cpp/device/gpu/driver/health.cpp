// Owns the state of one device, which only gets worse. Knows neither queues nor plans.
#include "device/gpu/driver/health.hpp"

#include <algorithm>

#include "base/error.hpp"

namespace sg {

void Health::note_flight(const std::atomic<uint64_t>& completed, uint64_t value, Names kernels) {
  const std::lock_guard lock(mutex_);
  flights_[next_] = {&completed, value, std::move(kernels)};
  next_ = (next_ + 1) % flights_.size();
}

// The oldest first; of many the first ones.
std::string Health::kernels_in_flight() const {
  constexpr size_t kMost = 6;
  std::vector<std::string> names;
  for (size_t i = 0; i < flights_.size(); ++i) {
    const Flight& flight = flights_[(next_ + i) % flights_.size()];
    if (!flight.kernels || flight.completed->load(std::memory_order_relaxed) >= flight.value) continue;
    for (const std::string& name : *flight.kernels)
      if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  }
  std::string text;
  for (size_t i = 0; i < std::min(names.size(), kMost); ++i) text += (i ? ", " : " while it ran ") + names[i];
  if (names.size() > kMost) text += " and " + std::to_string(names.size() - kMost) + " more kernels";
  return text;
}

void Health::note(State state, const std::string& why) {
  const std::lock_guard lock(mutex_);
  if (!good()) return;
  const std::string says = state == State::lost && ask_driver ? ask_driver() : "";
  reason_ = why + kernels_in_flight() + (says.empty() ? "" : "; the driver says: " + says);
  state_.store(state, std::memory_order_release);
}

void Health::raise(const char* op) const {
  const std::lock_guard lock(mutex_);
  if (hung())
    fail<DeviceTimeoutError>(op, device_ + " was given up, " + reason_,
                             "SPIROGRAD_TIMEOUT sets the seconds, device.recover() opens it anew");
  fail<DeviceLostError>(op, device_ + " was lost, " + reason_, "its tensors are gone, device.recover() opens it anew");
}

}  // namespace sg
