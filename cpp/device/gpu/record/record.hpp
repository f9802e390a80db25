// Plan + arguments -> commands. One submission a run (more only where a watchdog could bite), barriers only where
// the reads and writes of this run demand one. A plan that runs again is submitted with cached commands unless it copies
// or is timed. Called under the device's lock; knows nothing of how kernels are made.
#pragma once
#include <memory>
#include <vector>

#include "device/gpu/memory/memory.hpp"
#include "device/gpu/memory/transfer.hpp"
#include "device/gpu/queue/queue.hpp"
#include "device/gpu/queue/timing.hpp"
#include "device/gpu/record/cached_commands.hpp"
#include "device/gpu/record/commands.hpp"
#include "device/gpu/record/copier.hpp"
#include "device/gpu/record/plan_memory.hpp"
#include "device/gpu/record/prepared.hpp"
#include "device/gpu/record/proxy.hpp"
#include "device/gpu/record/readback.hpp"
#include "device/gpu/record/status_block.hpp"
#include "device/gpu/record/uploads.hpp"

namespace sg {

// Invariants: when run() throws, nothing was submitted and no upload was lost; commands_ records into the slot that was
// opened last.
class CommandRecorder {
 public:
  CommandRecorder(const Context& context, Queue& queue, BufferPool& pool, Pipelines& pipelines, Proxy* proxy,
                  Timing& timing, DeviceStats& stats, Transfer& transfer);

  void reserve(int64_t arena_bytes) { memory_.reserve(arena_bytes); }
  void run(GpuPrepared& plan, const RunArguments& arguments);
  // Finds memory, writes arguments and records. run() takes it if nothing was submitted or uploaded since.
  void get_ready(GpuPrepared& plan, const RunArguments& arguments);
  void forget_ready() { ready_ = {}; }
  std::shared_ptr<Readback> run_job(const Job& job);
  // Keeps a small upload until the next submission, which begins with it.
  void upload_small(const Ref<GpuBuffer>& to, const void* from, size_t bytes);
  void poison(const Ref<GpuBuffer>& buffer);  // with SPIROGRAD_POISON: fills it with NaN before the next kernel
  void flush_uploads();
  void hand_over(const std::vector<BufferRef>& buffers, const std::vector<BufferCopy>& copies);
  void take_back(const std::vector<BufferRef>& buffers, const std::vector<BufferCopy>& copies) {
    uploads_.take_back(buffers, copies);
  }
  Status take_status() { return status_.take(); }
  void empty_cache() {
    cache_.empty();
    memory_.give_back();
  }

 private:
  struct StepRange {  // the steps [first, last) of one submission
    size_t first, last;
  };
  using Cached = std::span<const VkCommandBuffer>;
  struct Ready {
    Slot* slot;
    size_t uploads;  // where they begin in the slot's argument memory, behind the plan's arguments
    size_t count;    // of them
    Cached cached;
    uint64_t after;  // the submission before it
  };

  StepRange next_steps(const GpuPrepared& plan, size_t first) const;
  uint64_t word(const ArgWord& w, const RunArguments& arguments) const;
  void write_blocks(Slot& slot, const GpuPrepared& plan, const RunArguments& arguments);
  void record_parts(Slot& slot, const GpuPrepared& plan, size_t uploads);
  uint64_t submit(Slot& slot, Cached cached, const GpuPrepared& plan, const RunArguments& arguments);
  bool may_cache(const GpuPrepared& plan) const;
  Cached cached_commands(GpuPrepared& plan, Slot& slot);
  Slot& next_slot(size_t argument_bytes);
  void open(Slot& slot);  // its commands are those that the functions below add to
  bool record_uploads(Slot& slot, size_t at) { return uploads_.record(slot, at, commands_, transfer_, copier_); }
  void record_steps(Slot& slot, const GpuPrepared& plan, const StepRange& range, const Timing::BatchRef& times);
  void record_reversed(Slot& slot, const Timing::BatchRef& times);
  void find_access(const GpuStep& step);
  void record_step(Slot& slot, const GpuStep& step, const Timing::BatchRef& times);
  void record_copy(const GpuStep& step);
  void record_proxy(Slot& slot, const GpuStep& step);
  void record_pieces(Slot& slot, const Job& job, size_t at, size_t bytes);
  std::shared_ptr<GpuReadback> record_wanted(const Job& job);

  const Context& context_;
  Queue& queue_;
  Pipelines& pipelines_;
  Proxy* proxy_;
  Timing& timing_;
  DeviceStats& stats_;
  Transfer& transfer_;
  double most_cost_;  // of one submission
  PlanMemory memory_;
  Uploads uploads_;
  Copier copier_;
  StatusBlock status_;
  Readbacks readbacks_;
  CommandCache cache_;
  Commands commands_;  // that are being recorded

  // Scratch of one run, kept for its capacity.
  Access access_;
  std::vector<const GpuStep*> reversed_;  // behind the last barrier, not recorded yet
  std::vector<uint64_t> words_;
  std::vector<uint64_t> depends_on_;  // of cached commands: where the blocks are, which memories are the same
  std::vector<Timing::BatchRef> times_;
  Ready ready_{};
};

}  // namespace sg
