// Whether a device still answers. Code that learns of a loss from the driver reports it here, and every call asks here
// first. A lost or hung device stays so; a device that is opened anew has its own Health.
// Threads: any.
#pragma once
#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace sg {

using Names = std::shared_ptr<const std::vector<std::string>>;

// States go one way, good to lost or hung; the first report keeps its reason, later ones are consequences.
class Health {
 public:
  explicit Health(std::string device) : device_(std::move(device)) {}

  bool good() const { return state_.load(std::memory_order_acquire) == State::good; }
  bool hung() const { return state_.load(std::memory_order_acquire) == State::hung; }
  // DeviceLostError or DeviceTimeoutError with the first report, unless the device is well.
  void check(const char* op) const {
    if (!good()) raise(op);
  }
  // Only the first report counts.
  void note_lost(const std::string& why) { note(State::lost, why); }
  void note_hung(const std::string& why) { note(State::hung, why); }
  [[noreturn]] void raise(const char* op) const;

  // Kernels that are under way until `completed`, which lives as long as this, has reached `value`.
  void note_flight(const std::atomic<uint64_t>& completed, uint64_t value, Names kernels);
  // Asks the driver about a loss; not called for a simulated loss (faults.hpp). Set before there is any work.
  std::function<std::string()> ask_driver;

 private:
  enum class State : uint8_t { good, lost, hung };
  struct Flight {
    const std::atomic<uint64_t>* completed = nullptr;
    uint64_t value = 0;
    Names kernels;
  };
  void note(State state, const std::string& why);
  std::string kernels_in_flight() const;

  const std::string device_;
  std::atomic<State> state_{State::good};
  mutable std::mutex mutex_;  // all below
  std::string reason_;
  std::array<Flight, 4> flights_;  // a queue has no more under way
  size_t next_ = 0;
};

}  // namespace sg
