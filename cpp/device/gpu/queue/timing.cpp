// Owns the query pools, and turns their ticks into times of the host's clock. Changes no results; knows no plans.
#include "device/gpu/queue/timing.hpp"

#include <algorithm>
#include <cstdio>

#include "base/log.hpp"
#include "device/gpu/driver/check.hpp"

namespace sg {
namespace {

constexpr int64_t kCalibrationLasts = 100'000'000;  // nanoseconds; clocks drift by some parts in a million

// ALL_COMMANDS: the time at which everything recorded before has finished.
void stamp(VkCommandBuffer commands, Timing::Batch& batch) {
  if (batch.pool) vkCmdWriteTimestamp2(commands, VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT, batch.pool, batch.used++);
}

}  // namespace

Timing::Timing(const Context& context, Queue& queue, uint32_t timestamp_bits)
    : context_(context),
      queue_(queue),
      timestamp_bits_(timestamp_bits),
      clock_(std::max(1u, timestamp_bits), context.physical.timestamp_ns) {}

// Query pools are kept for reuse: making one for each submission would cost more than the queries.
Timing::BatchRef Timing::take_batch(uint32_t queries) {
  {
    const std::lock_guard lock(mutex_);
    const auto fits =
        std::find_if(free_.begin(), free_.end(), [&](const BatchRef& b) { return b->capacity >= queries; });
    if (fits != free_.end()) {
      BatchRef batch = std::move(*fits);
      free_.erase(fits);
      return batch;
    }
  }
  auto batch = std::make_unique<Batch>();
  batch->capacity = std::max(queries, 64u);
  if (timestamp_bits_ == 0) return batch;
  VkQueryPoolCreateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO;
  info.queryType = VK_QUERY_TYPE_TIMESTAMP;
  info.queryCount = batch->capacity;
  vk_check(vkCreateQueryPool(context_.device, &info, nullptr, &batch->pool), "vkCreateQueryPool");
  return batch;
}

bool Timing::wanted() { return profiling() || debug_level() >= 2; }

Timing::BatchRef Timing::begin(VkCommandBuffer commands, size_t marks) {
  if (!wanted()) return nullptr;
  BatchRef batch = take_batch(static_cast<uint32_t>(marks) + 1);
  batch->marks.clear();
  batch->used = 0;
  if (batch->pool && context_.physical.host_query_reset)
    vkResetQueryPool(context_.device, batch->pool, 0, batch->capacity);
  else if (batch->pool)
    vkCmdResetQueryPool(commands, batch->pool, 0, batch->capacity);
  stamp(commands, *batch);
  batch->recorded = profile::now();
  return batch;
}

void Timing::after(const BatchRef& batch, VkCommandBuffer commands, const Mark& mark) {
  if (!batch) return;
  batch->marks.push_back(mark);
  stamp(commands, *batch);
  batch->recorded = profile::now();
}

void Timing::submitted(BatchRef batch, uint64_t value) {
  if (!batch) return;
  batch->value = value;
  {
    const std::lock_guard lock(mutex_);
    flying_.push_back(std::move(batch));
  }
  if (debug_level() >= 2) queue_.wait(value, false);
  collect();
}

// Submissions finish in order, so the first one that is still running ends the loop.
void Timing::collect() {
  const std::lock_guard lock(mutex_);
  if (flying_.empty()) return;
  const uint64_t done = queue_.completed();
  while (!flying_.empty() && flying_.front()->value <= done) {
    report(*flying_.front());
    free_.push_back(std::move(flying_.front()));
    flying_.pop_front();
  }
}

// Asks for both clocks now and then, since they drift apart.
void Timing::calibrate() {
  if (profile::now() - calibrated_ < kCalibrationLasts) return;
  uint64_t ticks = 0;
  int64_t host = 0;
  if (!read_clocks(context_, ticks, host)) return;
  clock_.calibrate(ticks, host);
  calibrated_ = profile::now();
}

void Timing::report(const Batch& batch) {
  std::vector<uint64_t> ticks(batch.used);
  const bool timed =
      batch.used > 0 && vkGetQueryPoolResults(context_.device, batch.pool, 0, batch.used, batch.used * sizeof(uint64_t),
                                              ticks.data(), sizeof(uint64_t), VK_QUERY_RESULT_64_BIT) == VK_SUCCESS;
  if (timed) {
    calibrate();
    if (!calibrated_) clock_.not_before(ticks[0], batch.recorded);
  }
  for (size_t i = 0; i < batch.marks.size(); ++i) {
    const Mark& mark = batch.marks[i];
    if (debug_level() >= 2) {
      char time[32] = "";
      if (timed) std::snprintf(time, sizeof time, " %.1f us", clock_.span(ticks[i], ticks[i + 1]) * 1e-3);
      debug(2, mark.name + mark.grid + time);
    }
    if (!profiling()) continue;
    ProfileEvent e;
    e.name = mark.name;
    e.category = mark.category;
    e.device = context_.id;
    e.bytes = mark.bytes;
    e.flops = mark.flops;
    e.shapes = mark.shapes;
    e.start = timed ? clock_.host(ticks[i]) : batch.recorded;
    e.end = timed ? clock_.host(ticks[i + 1]) : batch.recorded;
    profile::add(std::move(e));
  }
}

}  // namespace sg
