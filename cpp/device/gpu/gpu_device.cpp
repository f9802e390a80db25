// The GPU behind device.hpp: one lock, the fork and loss checks, and who does what.
#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <mutex>
#include <optional>

#include "base/error.hpp"
#include "base/log.hpp"
#include "device/gpu/context.hpp"
#include "device/gpu/instance.hpp"
#include "device/gpu/memory.hpp"
#include "device/gpu/pipeline.hpp"
#include "device/gpu/proxy.hpp"
#include "device/gpu/queue.hpp"
#include "device/gpu/record.hpp"
#include "device/gpu/transfer.hpp"
#include "device/gpu/validation.hpp"

namespace sg {
namespace {

constexpr size_t kSmallUpload = size_t{64} << 10;
constexpr std::chrono::milliseconds kExitPatience{1500};

class GpuDevice final : public Device {
 public:
  explicit GpuDevice(int index);

  DeviceInfo info() const override { return describe(context_.physical.handle, context_.id); }
  const Features& features() const override { return context_.physical.features; }
  DeviceStats& stats() override;
  BufferRef allocate(size_t bytes, bool to_fill) override;
  void upload(const BufferRef& to, const void* from, size_t bytes) override;
  void download(void* to, const BufferRef& from, size_t offset, size_t bytes) override;
  std::unique_ptr<Prepared> prepare(std::shared_ptr<const Plan> plan) override;
  void run(Prepared& plan, const RunArguments& arguments) override;
  std::shared_ptr<Arrival> run(const Job& job) override;
  void wait() override;
  Status take_status() override;
  void empty_cache() override;
  void leave() noexcept;

 private:
  static DeviceInfo describe(VkPhysicalDevice handle, DeviceId id) {
    DeviceInfo info = sg::describe(handle).info;  // asked again: free memory changes
    info.id = id;
    return info;
  }
  // A queue that cannot reset its queries by itself has times only where the host can.
  Timing& time_copies() {
    const Physical& p = context_.physical;
    return copy_timing_.emplace(context_, *copies_, p.host_query_reset ? p.copy_timestamp_bits : 0);
  }
  GpuBuffer& ours(const char* op, const BufferRef& buffer, size_t offset, size_t bytes) const;

  std::mutex mutex_;  // everything but waiting
  DeviceStats stats_;
  const Context context_;
  Queue queue_;
  std::optional<Queue> copies_;
  Pool pool_;
  Pipelines pipelines_;
  std::optional<Proxy> proxy_;
  Timing timing_;
  std::optional<Timing> copy_timing_;
  Transfer transfer_;
  Recorder recorder_;
};

GpuDevice::GpuDevice(int index)
    : context_(open_context(index)),
      queue_(context_),
      pool_(context_, queue_, context_.copies ? &copies_.emplace(context_, Queue::Use::copies) : nullptr),
      pipelines_(context_, stats_),
      proxy_(env_flag("SPIROGRAD_PROXY") ? std::optional<Proxy>(std::in_place, context_, pipelines_) : std::nullopt),
      timing_(context_, queue_, context_.physical.timestamp_bits),
      transfer_(context_, queue_, timing_, copies_ ? &*copies_ : nullptr, copies_ ? &time_copies() : nullptr),
      recorder_(context_, queue_, pool_, pipelines_, proxy_ ? &*proxy_ : nullptr, timing_, stats_, transfer_) {
  debug(1, context_.name() + ": " + context_.physical.info.name + ", memory budget " + std::to_string(pool_.budget()) +
               " bytes");
}

DeviceStats& GpuDevice::stats() {
  const std::lock_guard lock(mutex_);
  const PoolCounters c = pool_.read_counters();
  stats_.submissions += queue_.take_count() + (copies_ ? copies_->take_count() : 0);
  stats_.allocations += c.allocations;
  stats_.bytes_live = c.live;
  stats_.bytes_cached = c.cached;
  stats_.bytes_peak = std::max(stats_.bytes_peak, c.peak);
  return stats_;
}

GpuBuffer& GpuDevice::ours(const char* op, const BufferRef& buffer, size_t offset, size_t bytes) const {
  if (!buffer || buffer->device != context_.id)
    fail<Error>(op, buffer ? "the buffer is on " + buffer->device.str() + ", not on " + context_.name() : "no buffer");
  if (offset > buffer->bytes || bytes > buffer->bytes - offset)
    fail<Error>(op, "bytes [" + std::to_string(offset) + ", " + std::to_string(offset + bytes) + ") of a buffer of " +
                        std::to_string(buffer->bytes));
  return static_cast<GpuBuffer&>(*buffer);
}

BufferRef GpuDevice::allocate(size_t bytes, bool to_fill) {
  queue_.check("allocate");
  const std::lock_guard lock(mutex_);
  return BufferRef(pool_.take(bytes, to_fill && bytes > kSmallUpload ? Pool::Use::upload : Pool::Use::values));
}

void GpuDevice::upload(const BufferRef& to, const void* from, size_t bytes) {
  queue_.check("upload");
  GpuBuffer& buffer = ours("upload", to, 0, bytes);
  if (bytes == 0) return;
  Stage stage("upload", "stage", context_.id);
  stage.bytes = static_cast<int64_t>(bytes);
  const std::lock_guard lock(mutex_);
  if (bytes <= kSmallUpload) {
    recorder_.upload_small(Ref<GpuBuffer>(&buffer), from, bytes);
  } else {
    recorder_.flush_uploads();  // an earlier small one may be for the same buffer
    transfer_.upload(buffer, from, bytes);
  }
  stats_.bytes_written += static_cast<int64_t>(bytes);
}

void GpuDevice::download(void* to, const BufferRef& from, size_t offset, size_t bytes) {
  queue_.check("download");
  GpuBuffer& buffer = ours("download", from, offset, bytes);
  if (bytes == 0) return;
  Stage stage("download", "stage", context_.id);
  stage.bytes = static_cast<int64_t>(bytes);
  {
    const std::lock_guard lock(mutex_);
    recorder_.flush_uploads();
    stats_.bytes_read += static_cast<int64_t>(bytes);
  }
  transfer_.download(to, buffer, offset, bytes);
  throw_validation();
}

std::unique_ptr<Prepared> GpuDevice::prepare(std::shared_ptr<const Plan> plan) {
  queue_.check("prepare");
  const Stage stage("prepare", "stage", context_.id);
  const std::lock_guard lock(mutex_);
  auto prepared = prepare_plan(std::move(plan), features(), pipelines_, proxy_ ? &*proxy_ : nullptr);
  recorder_.reserve(prepared->arena_bytes);
  return prepared;
}

void GpuDevice::run(Prepared& plan, const RunArguments& arguments) {
  queue_.check("run");
  const std::lock_guard lock(mutex_);
  recorder_.run(static_cast<GpuPrepared&>(plan), arguments);
}

std::shared_ptr<Arrival> GpuDevice::run(const Job& job) {
  queue_.check("run");
  size_t bytes = 0;
  for (const Job::Piece& p : job.pieces) bytes += p.bytes;
  if (bytes) ours("run", job.to, 0, bytes);
  for (const Job::Wanted& w : job.wanted) ours("run", w.from, w.at, w.bytes);
  const std::lock_guard lock(mutex_);
  stats_.bytes_written += static_cast<int64_t>(bytes);
  for (const Job::Wanted& w : job.wanted) stats_.bytes_read += static_cast<int64_t>(w.bytes);
  return recorder_.run(job);
}

void GpuDevice::wait() {
  queue_.check("wait");
  queue_.wait(queue_.submitted(), true);
  if (copies_) copies_->wait(copies_->submitted(), true);
  timing_.collect();
  if (copy_timing_) copy_timing_->collect();
  throw_validation();
}

Status GpuDevice::take_status() {
  queue_.check("take_status");
  const std::lock_guard lock(mutex_);
  return recorder_.take_status();
}

void GpuDevice::empty_cache() {
  queue_.check("empty_cache");
  const std::lock_guard lock(mutex_);
  recorder_.empty_cache();
  pool_.trim();
}

// The process ends: nothing is destroyed, but the driver should be idle and its compiled code is worth keeping.
void GpuDevice::leave() noexcept {
  if (copies_ && !copies_->wait_quietly(copies_->submitted(), kExitPatience)) return;
  if (!queue_.wait_quietly(queue_.submitted(), kExitPatience)) return;
  try {
    pipelines_.save();
  } catch (...) {
    // A cache that cannot be written costs time at the next start, nothing else.
  }
}

using Devices = std::array<std::atomic<GpuDevice*>, 256>;
Devices& devices() {
  static auto* all = new Devices{};
  return *all;
}

void leave_all() {
  if (forked()) return;
  for (auto& d : devices())
    if (GpuDevice* device = d.load()) device->leave();
}

}  // namespace

Device& gpu_device(int index) {
  const std::string name = "gpu:" + std::to_string(index);
  check_fork(name.c_str());
  if (index >= 0 && index < static_cast<int>(devices().size()))
    if (GpuDevice* device = devices()[static_cast<size_t>(index)].load(std::memory_order_acquire)) return *device;
  const GpuList& list = list_gpus();
  if (list.devices.empty()) fail<DeviceUnavailableError>(name, list.reason, list.remedy);
  if (index < 0 || index >= static_cast<int>(list.devices.size()))
    fail<DeviceUnavailableError>(name, "this machine has " + std::to_string(list.devices.size()) + " GPU(s)",
                                 "use gpu:0 to gpu:" + std::to_string(list.devices.size() - 1));
  static auto* opening = new std::mutex;
  const std::lock_guard lock(*opening);
  auto& place = devices()[static_cast<size_t>(index)];
  if (GpuDevice* device = place.load()) return *device;
  static const bool registered = std::atexit(leave_all) == 0;
  static_cast<void>(registered);
  place.store(new GpuDevice(index), std::memory_order_release);
  return *place.load();
}

}  // namespace sg
