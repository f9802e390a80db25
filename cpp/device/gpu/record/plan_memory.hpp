// Where the memories of a plan are in one run: buffers that were given, and the arena, which all plans share.
#pragma once
#include <cstdint>
#include <vector>

#include "device/gpu/memory/memory.hpp"
#include "device/gpu/memory/transfer.hpp"
#include "device/gpu/record/hazard.hpp"
#include "device/gpu/record/prepared.hpp"

namespace sg {

// A plan's memory is a leaf's buffer, an output's, or a place in the arena. Plans run one after the other on the queue,
// so all share one arena, and a run begins with a barrier against the run before.
class PlanMemory {
 public:
  struct Placement {
    VkBuffer handle = VK_NULL_HANDLE;
    uint64_t offset = 0;
    AddressRange range;
  };

  PlanMemory(const Context& context, BufferPool& pool, Transfer& transfer)
      : context_(context), pool_(pool), transfer_(transfer) {}

  // The arena grows here. OutOfMemoryError.
  void reserve(int64_t arena_bytes);
  // The plan is submitted now.
  void count(const GpuPrepared& plan) { pool_.count_run(plan.arena_bytes); }
  void give_back() { arena_ = Ref<GpuBuffer>(); }  // to the pool
  const Ref<GpuBuffer>& arena() const { return arena_; }
  // Of the run that is being recorded. Error when a buffer is too small, or of another device.
  void place(const GpuPrepared& plan, const RunArguments& arguments);
  const Placement& operator[](int32_t memory) const { return placements_[static_cast<size_t>(memory)]; }
  // Which memories are the same: commands that are submitted again depend on it.
  // Two memories in one buffer need barriers that two in different ones do not.
  const std::vector<uint64_t>& same() const { return same_; }

 private:
  void place_buffer(Placement& place, const Memory& memory, const BufferRef* buffers, const char* what);

  const Context& context_;
  BufferPool& pool_;
  Transfer& transfer_;
  Ref<GpuBuffer> arena_;
  uint64_t runs_ = 0;
  std::vector<Placement> placements_;
  std::vector<uint64_t> same_;
};

}  // namespace sg
