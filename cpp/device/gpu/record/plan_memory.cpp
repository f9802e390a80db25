// Owns the arena, and finds each memory of a plan for a run.
#include "device/gpu/record/plan_memory.hpp"

#include <utility>

#include "base/error.hpp"

namespace sg {

void PlanMemory::reserve(int64_t arena_bytes) {
  if (arena_bytes <= 0 || (arena_ && arena_->bytes >= static_cast<size_t>(arena_bytes))) return;
  const size_t before = arena_ ? arena_->bytes : 0;
  arena_ = Ref<GpuBuffer>();  // goes to the pool: submissions in flight run before whoever gets it next
  try {
    arena_ = Ref<GpuBuffer>(pool_.take(static_cast<size_t>(arena_bytes), BufferPool::Use::scratch));
    transfer_.expect(*arena_);
  } catch (...) {
    if (before) arena_ = Ref<GpuBuffer>(pool_.take(before, BufferPool::Use::scratch));  // older plans still run
    throw;
  }
}

void PlanMemory::place(const GpuPrepared& plan, const RunArguments& arguments) {
  const std::vector<Memory>& memories = plan.plan->memories;
  placements_.resize(memories.size());
  same_.clear();
  ++runs_;
  for (size_t i = 0; i < memories.size(); ++i) {
    const Memory& m = memories[i];
    Placement& place = placements_[i];
    if (m.kind == Memory::Kind::leaf) {
      place_buffer(place, m, arguments.leaves, "leaf");
    } else if (m.kind == Memory::Kind::output) {
      place_buffer(place, m, arguments.outputs, "output");
    } else {
      place.handle = arena_ ? arena_->handle : VK_NULL_HANDLE;
      place.offset = static_cast<uint64_t>(m.offset);
      place.range.begin = (arena_ ? arena_->address : 0) + place.offset;
      place.range.end = place.range.begin + static_cast<uint64_t>(m.bytes);
    }
  }
}

void PlanMemory::place_buffer(Placement& place, const Memory& memory, const BufferRef* buffers, const char* what) {
  Buffer* buffer = buffers ? buffers[memory.index].get() : nullptr;
  if (!buffer || buffer->device != context_.id || buffer->bytes < static_cast<size_t>(memory.bytes))
    fail<Error>("run", std::string(what) + " " + std::to_string(memory.index) + " of the plan needs " +
                           std::to_string(memory.bytes) + " bytes on " + context_.name() + ", given " +
                           (buffer ? std::to_string(buffer->bytes) + " on " + buffer->device.str() : "nothing"));
  raise_if_gone("run", *buffer);
  auto* gpu = static_cast<GpuBuffer*>(buffer);
  transfer_.expect(*gpu);
  if (std::exchange(gpu->placed_by, runs_) != runs_) gpu->place = same_.size();
  same_.push_back(gpu->place);
  place.handle = gpu->handle;
  place.offset = 0;
  place.range = {gpu->address, gpu->address + static_cast<uint64_t>(memory.bytes)};
}

}  // namespace sg
