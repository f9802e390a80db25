// Owns the status block of a device, and what runs in flight may report there.
#include "device/gpu/record/status_block.hpp"

#include <cstring>

namespace sg {
namespace {

// As in shaders/common.glsl.
struct Block {
  uint64_t failed;
  struct {
    uint32_t reporter, pad;
    int64_t index, bound;
  } reports[64];
};

}  // namespace

StatusBlock::StatusBlock(const Context& context, Queue& queue)
    : queue_(queue), block_(make_host_buffer(context, sizeof(Block), HostUse::arguments)) {
  clear();
}

void StatusBlock::clear() {
  std::memset(block_.mapped, 0, sizeof(Block));
  std::memcpy(block_.mapped, &kKnownFailure, sizeof kKnownFailure);
}

Status StatusBlock::take() {
  Status status;
  if (expected_.empty()) return status;
  const uint64_t done = queue_.completed();
  const auto* block = static_cast<const Block*>(block_.mapped);
  for (; !expected_.empty() && expected_.front().value <= done; expected_.pop_front()) {
    const Expected& run = expected_.front();
    status.done = run.run;
    for (uint64_t bits = block->failed & run.own; bits; bits &= bits - 1) {
      const int bit = __builtin_ctzll(bits);
      const auto& report = block->reports[bit];
      status.reports.push_back({bit, report.reporter, report.index, report.bound});
    }
  }
  return status;
}

}  // namespace sg
