// The block in which runs report what failed. The host reads what is of a run when that has finished.
#pragma once
#include <deque>

#include "device/device.hpp"
#include "device/gpu/queue/queue.hpp"

namespace sg {

// A kernel whose check fails sets the check's bit, and whoever sets it first reports the index. Writes whose mask has
// the bit then do nothing, so a step that failed leaves parameters as they were.
class StatusBlock {
 public:
  StatusBlock(const Context& context, Queue& queue);

  void clear();  // no run that may report is in flight
  uint64_t address() const { return block_.address; }
  // Submits a run: `submit` returns the number of the submission. If it throws, nothing was expected.
  template <class Submit>
  uint64_t expect(uint32_t run, uint64_t own, Submit submit) {
    constexpr uint64_t kNotYet = UINT64_MAX;
    expected_.push_back({kNotYet, run, own});
    try {
      return expected_.back().value = submit();
    } catch (...) {
      expected_.pop_back();
      throw;
    }
  }
  Status take();

 private:
  struct Expected {
    uint64_t value;  // of the run's last submission
    uint32_t run;
    uint64_t own;  // the failures that it may report
  };

  Queue& queue_;
  HostBuffer block_;
  std::deque<Expected> expected_;
};

}  // namespace sg
