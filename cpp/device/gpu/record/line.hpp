// Runs that wait for their kernels to be compiled, and those behind them, in order. Called under the device's lock.
#pragma once
#include <deque>
#include <memory>
#include <vector>

#include "device/gpu/record/prepared.hpp"

namespace sg {

class Line {
 public:
  struct Run {
    Run(std::shared_ptr<GpuPrepared> plan, const RunArguments& arguments);
    RunArguments arguments() const;  // as long as this lives

    std::shared_ptr<GpuPrepared> plan;

   private:
    RunArguments words_;
    std::vector<BufferRef> leaves_, outputs_;
    std::vector<int64_t> offsets_;
    std::vector<Number> numbers_;
    std::vector<uint64_t> nodes_;
  };

  bool empty() const { return runs_.empty(); }
  size_t size() const { return runs_.size(); }
  void add(std::shared_ptr<GpuPrepared> plan, const RunArguments& arguments) {
    runs_.emplace_back(std::move(plan), arguments);
  }
  Run& first() { return runs_.front(); }
  void remove_first() { runs_.pop_front(); }
  void clear() { runs_.clear(); }
  Pipelines::Later compiling() const;  // what all of them wait for

 private:
  std::deque<Run> runs_;
};

}  // namespace sg
