// Words in which runs report indices that are out of range, and what was reported first. The host reads a word when its
// run has finished.
#pragma once
#include <deque>
#include <memory>
#include <utility>

#include "device/device.hpp"
#include "device/gpu/queue/queue.hpp"

namespace sg {

// A kernel that finds an index out of range writes tag, index and bound into its run's word, the first one only.
// Updates in place look at the word and do nothing if it is set, so a step that failed leaves parameters as they were.
class StatusWords {
 public:
  StatusWords(const Context& context, Queue& queue);

  // The word of the next run. It shares that of an earlier run that may still report: a report then counts for both.
  void renew();
  uint64_t address() const { return address_; }
  // Submits a run that may report: `submit` returns the number of the submission. If it throws, nothing was expected.
  template <class Submit>
  uint64_t expect(const std::shared_ptr<const Plan>& plan, const std::shared_ptr<const SourceLocations>& lines,
                  Submit submit);
  Status take();

 private:
  struct Report {
    size_t block;
    uint64_t value;                    // of the run's last submission
    std::shared_ptr<const Plan> plan;  // has the names of its ops
    std::shared_ptr<const SourceLocations> lines;
  };
  void harvest();

  Queue& queue_;
  HostBuffer words_;
  size_t block_ = 0;
  uint64_t address_ = 0;
  std::deque<Report> reports_;
  Status first_;
};

template <class Submit>
uint64_t StatusWords::expect(const std::shared_ptr<const Plan>& plan,
                             const std::shared_ptr<const SourceLocations>& lines, Submit submit) {
  constexpr uint64_t kNotYet = UINT64_MAX;
  const size_t sharing = first_.runs.size();
  reports_.push_back({block_, kNotYet, plan, lines});
  try {
    if (first_.tag && lines) first_.runs.push_back(lines);
    reports_.back().value = submit();
  } catch (...) {
    first_.runs.resize(sharing);
    reports_.pop_back();
    throw;
  }
  return reports_.back().value;
}

}  // namespace sg
