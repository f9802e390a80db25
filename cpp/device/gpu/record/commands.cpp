// Owns the barriers of a recording, and says which work each of them covers.
#include "device/gpu/record/commands.hpp"

namespace sg {
namespace {

constexpr size_t kMostRanges = 256;  // the tracker compares pairs: one barrier more is cheaper than longer lists

}  // namespace

void Commands::start(VkCommandBuffer commands) {
  commands_ = commands;
  bound_ = nullptr;
  work_ = next_ = Work::kernels_and_copies;
  barrier();
}

void Commands::expect(Work work) {
  next_ = work;
  if (fresh_ || work == Work::kernels_and_copies) work_ = work;
}

void Commands::barrier() {
  sg::barrier(commands_, work_);
  ++stats_.barriers;
  hazards_.clear();
  status_written_ = status_read_ = false;
  fresh_ = true;
  work_ = next_;
}

void Commands::barrier_to_host() {
  sg::barrier_to_host(commands_);
  ++stats_.barriers;
}

bool Commands::must_wait(const Access& access, BarrierMode mode) const {
  if (mode == BarrierMode::drop) return false;
  const bool status_conflicts = (access.reads_status && status_written_) || (access.writes_status && status_read_);
  return mode == BarrierMode::all || hazards_.size() > kMostRanges || hazards_.conflicts(access.reads, access.writes) ||
         status_conflicts;
}

void Commands::note(const Access& access) {
  hazards_.add(access.reads, access.writes);
  status_written_ |= access.writes_status;
  status_read_ |= access.reads_status;
}

void Commands::wait_for(const Access& access, BarrierMode mode) {
  if (!fresh_ && must_wait(access, mode)) barrier();
  note(access);
  fresh_ = false;
}

void Commands::dispatch(const Pipeline& pipeline, uint64_t arguments, const uint32_t (&groups)[3]) {
  if (bound_ != &pipeline) vkCmdBindPipeline(commands_, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline.handle);
  bound_ = &pipeline;
  vkCmdPushConstants(commands_, pipelines_.layout(), VK_SHADER_STAGE_COMPUTE_BIT, 0, sizeof arguments, &arguments);
  vkCmdDispatch(commands_, groups[0], groups[1], groups[2]);
  ++stats_.dispatches;
  fresh_ = false;
}

void Commands::copy(VkBuffer from, VkBuffer to, const VkBufferCopy& region) {
  vkCmdCopyBuffer(commands_, from, to, 1, &region);
  fresh_ = false;
}

// Stands for a barrier, too: between all that these commands do before it and after it.
void Commands::change_owner(const std::vector<Ref<GpuBuffer>>& buffers, Owner next) {
  if (buffers.empty()) return;
  std::vector<VkBuffer> handles;
  for (const Ref<GpuBuffer>& b : buffers) handles.push_back(b->handle);
  sg::change_owner(context_, commands_, handles, next);
  ++stats_.barriers;
}

void Commands::fill(VkBuffer buffer) {
  vkCmdFillBuffer(commands_, buffer, 0, VK_WHOLE_SIZE, ~0u);
  fresh_ = false;
}

}  // namespace sg
