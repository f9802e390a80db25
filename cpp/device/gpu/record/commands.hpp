// Commands as they are recorded: a barrier comes only where one must wait for what was recorded since the last one.
// Counts barriers and dispatches. Knows neither plans nor what kernels compute.
#pragma once
#include <vector>

#include "device/device.hpp"
#include "device/gpu/driver/context.hpp"
#include "device/gpu/memory/memory.hpp"
#include "device/gpu/pipeline/pipeline.hpp"
#include "device/gpu/record/hazard.hpp"

namespace sg {

// What a command touches.
struct Access {
  std::vector<AddressRange> reads, writes;
  bool reads_status = false, writes_status = false;  // the status block
};

// Invariant: hazards_ holds the ranges touched since the last barrier. A barrier covers everything before it, so the
// tracker starts empty behind it.
class Commands {
 public:
  Commands(const Context& context, const Pipelines& pipelines, DeviceStats& stats)
      : context_(context), pipelines_(pipelines), stats_(stats) {}

  // Into these from here on. They begin with a barrier: everything submitted before, whatever it was.
  void start(VkCommandBuffer commands);
  VkCommandBuffer handle() const { return commands_; }
  // What barriers must cover once what was recorded up to now is behind one.
  void expect(Work work);
  bool is_fresh() const { return fresh_; }  // nothing was recorded since the last barrier
  void barrier();
  void barrier_to_host();
  // Before each command that touches what others may touch.
  void wait_for(const Access& access, BarrierMode mode = BarrierMode::hazards);
  // Its two halves: whether there must be a barrier, and that from here on others may have to wait.
  bool must_wait(const Access& access, BarrierMode mode) const;
  void note(const Access& access);

  void dispatch(const Pipeline& pipeline, uint64_t arguments, const uint32_t (&groups)[3]);
  void copy(VkBuffer from, VkBuffer to, const VkBufferCopy& region);
  void fill(VkBuffer buffer);  // with NaN
  void change_owner(const std::vector<Ref<GpuBuffer>>& buffers, Owner next);

 private:
  const Context& context_;
  const Pipelines& pipelines_;
  DeviceStats& stats_;
  VkCommandBuffer commands_ = VK_NULL_HANDLE;
  HazardTracker hazards_;
  bool fresh_ = false;
  bool status_written_ = false, status_read_ = false;  // since the last barrier
  Work work_ = Work::kernels;                          // what the next barrier must cover
  Work next_ = Work::kernels;                          // and those behind it
  const Pipeline* bound_ = nullptr;
};

}  // namespace sg
