// Plan + arguments -> commands. One submission a run (more only where a watchdog could bite), barriers only where
// the reads and writes of this run demand one. Holds the arena, the status words and small uploads that wait for the
// next submission. A plan that runs again is submitted with cached commands unless it copies or is
// timed. Called under the device's lock; knows nothing of how kernels are made.
#pragma once
#include <cstddef>
#include <deque>
#include <memory>
#include <vector>

#include "device/gpu/memory/memory.hpp"
#include "device/gpu/memory/transfer.hpp"
#include "device/gpu/queue/queue.hpp"
#include "device/gpu/queue/timing.hpp"
#include "device/gpu/record/cached_commands.hpp"
#include "device/gpu/record/hazard.hpp"
#include "device/gpu/record/prepared.hpp"
#include "device/gpu/record/proxy.hpp"
#include "device/gpu/record/readback.hpp"

namespace sg {

class Recorder {
 public:
  Recorder(const Context& context, Queue& queue, Pool& pool, Pipelines& pipelines, Proxy* proxy, Timing& timing,
           DeviceStats& stats, Transfer& transfer);

  // The arena grows here, never in run(). OutOfMemoryError.
  void reserve(int64_t arena_bytes);
  void run(GpuPrepared& plan, const RunArguments& arguments);
  std::shared_ptr<Readback> run(const Job& job);
  // Kept until the next submission, whose commands copy it first.
  void upload_small(const Ref<GpuBuffer>& to, const void* from, size_t bytes);
  void poison(const Ref<GpuBuffer>& buffer);  // with SPIROGRAD_POISON: full of NaN before what comes next
  void flush_uploads();
  Status take_status();
  void empty_cache();  // commands of plans that are gone. Waits for the work in flight

 private:
  struct Upload {
    Ref<GpuBuffer> to;
    size_t at, bytes;  // place in upload_bytes_; no bytes: the whole of it is filled with NaN
  };
  struct Report {
    size_t block;
    uint64_t value;                    // of the run's last submission
    std::shared_ptr<const Plan> plan;  // has the names of its ops
    std::shared_ptr<const Lines> lines;
  };
  struct Place {  // a plan's memory in this run
    VkBuffer handle = VK_NULL_HANDLE;
    uint64_t offset = 0;
    AddressRange range;
  };
  struct Part {  // the steps [first, last) of one submission
    size_t first, last;
  };

  std::shared_ptr<GpuReadback> record_wanted(const Job& job);
  void place_memories(const GpuPrepared& plan, const RunArguments& arguments);
  void place_buffer(Place& place, const Memory& memory, const BufferRef* buffers, const char* what);
  Part next_part(const GpuPrepared& plan, size_t first) const;
  uint64_t word(const ArgWord& w, const RunArguments& arguments) const;
  void write_blocks(Slot& slot, const GpuPrepared& plan, const RunArguments& arguments);
  void record_parts(Slot& slot, const GpuPrepared& plan, size_t uploads);
  uint64_t submit(Slot& slot, VkCommandBuffer cached, const GpuPrepared& plan, const RunArguments& arguments);
  bool may_cache(const GpuPrepared& plan) const;
  VkCommandBuffer cached_commands(GpuPrepared& plan, Slot& slot);
  std::shared_ptr<CachedCommands> new_cached();
  Slot& next_slot(size_t argument_bytes);
  void open(Slot& slot);  // its commands are those that the functions below add to
  void start(VkCommandBuffer commands);
  bool record_uploads(Slot& slot, size_t at);  // `at`: where in the arguments. false: there were none
  void record_steps(Slot& slot, const GpuPrepared& plan, const Part& part, const Timing::BatchRef& times);
  void record_step(Slot& slot, const GpuPrepared& plan, const GpuStep& step, uint64_t arguments,
                   const Timing::BatchRef& times);
  void record_copy(const GpuStep& step);
  void record_proxy(Slot& slot, const GpuStep& step);
  void synchronize(const GpuPrepared& plan, const GpuStep& step);
  void put_barrier();
  bool status_conflicts(const GpuStep& step) const;
  void new_status();
  void harvest();

  const Context& context_;
  Queue& queue_;
  Pool& pool_;
  Pipelines& pipelines_;
  Proxy* proxy_;
  Timing& timing_;
  DeviceStats& stats_;
  Transfer& transfer_;
  double most_cost_;  // of one submission
  bool poisons_;
  Ref<GpuBuffer> arena_;

  std::vector<Upload> uploads_;
  std::vector<std::byte> upload_bytes_;

  HostBuffer status_;
  size_t status_block_ = 0;
  uint64_t status_address_ = 0;
  bool status_written_ = false, status_read_ = false;  // by a step since the last barrier
  std::deque<Report> reports_;
  Status first_report_;

  std::vector<std::shared_ptr<GpuReadback>> readbacks_;  // kept for reuse
  VkCommandPool cached_pool_ = VK_NULL_HANDLE;           // made when first needed
  std::vector<std::shared_ptr<CachedCommands>> cached_;
  uint64_t runs_ = 0;

  // Scratch of one run, kept for its capacity.
  VkCommandBuffer commands_ = VK_NULL_HANDLE;
  HazardTracker hazards_;
  bool fresh_ = false;         // nothing recorded since the last barrier
  Work work_ = Work::kernels;  // what the next barrier must cover
  std::vector<Place> places_;
  std::vector<AddressRange> reads_, writes_;
  std::vector<uint64_t> words_;
  std::vector<Timing::BatchRef> times_;
  std::vector<uint64_t> same_;  // what commands depend on: where the blocks are, which memories are the same
  const Pipeline* bound_ = nullptr;
};

}  // namespace sg
