// The GPU behind device.hpp: one lock, the checks for forks and losses, and calls into the rooms. Knows no ops.
#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <mutex>
#include <optional>
#include <thread>

#include "base/error.hpp"
#include "base/log.hpp"
#include "device/gpu/driver/check.hpp"
#include "device/gpu/driver/context.hpp"
#include "device/gpu/driver/instance.hpp"
#include "device/gpu/driver/validation.hpp"
#include "device/gpu/memory/memory.hpp"
#include "device/gpu/memory/transfer.hpp"
#include "device/gpu/pipeline/pipeline.hpp"
#include "device/gpu/queue/queue.hpp"
#include "device/gpu/record/line.hpp"
#include "device/gpu/record/proxy.hpp"
#include "device/gpu/record/record.hpp"
#include "os/process.hpp"

namespace sg {
namespace {

constexpr size_t kSmallUpload = size_t{64} << 10;
constexpr std::chrono::milliseconds kExitPatience{1500};
constexpr size_t kLongLine = 64;  // runs

struct ProcessEnds {};  // thrown in a thread that has to stay where it is

// Everything that is abandoned when the device is lost. Never destroyed: threads may still wait in it, and Python holds
// its buffers.
struct Opened {
  explicit Opened(int index);
  GpuBuffer& ours(const char* op, const BufferRef& buffer, size_t offset, size_t bytes) const;
  void abandon();
  // Submits the runs at the head of the line for which there are kernels and room; all of them, and what they wait for,
  // if it may wait (then without the lock, until the process ends).
  void go_on(bool process_ended = process_ends);
  bool must_wait(GpuPrepared& plan);  // whether a run would have to
  void catch_up(bool interruptible = true);
  // What `take` returns, which takes memory under the lock. If there is too little, what waits in line, which holds
  // some, goes first.
  template <class F>
  auto take_memory(F&& take);
  void make_external(const std::function<void(uint64_t)>& freed) {
    context.external->on_freed(freed);
    pool.make_external();
  }

  std::mutex mutex;  // everything but waiting
  DeviceStats stats;
  const Context context;
  Queue queue;
  std::optional<Queue> copies;
  BufferPool pool;
  Pipelines pipelines;
  std::optional<Proxy> proxy;
  Timing timing;
  std::optional<Timing> copy_timing;
  Transfer transfer;
  CommandRecorder recorder;
  Line line;

 private:
  void run_first();
  // A queue that cannot reset queries has times only where the host can reset them.
  Timing& time_copies() {
    const Physical& p = context.physical;
    return copy_timing.emplace(context, *copies, p.host_query_reset ? p.copy_timestamp_bits : 0);
  }
};

Opened::Opened(int index)
    : context(open_context(index)),
      queue(context),
      pool(context, queue, context.copies ? &copies.emplace(context, Queue::Use::copies) : nullptr),
      pipelines(context, stats),
      proxy(env_flag("SPIROGRAD_PROXY") ? std::optional<Proxy>(std::in_place, context, pipelines) : std::nullopt),
      timing(context, queue, context.physical.timestamp_bits),
      transfer(context, queue, timing, copies ? &*copies : nullptr, copies ? &time_copies() : nullptr),
      recorder(context, queue, pool, pipelines, proxy ? &*proxy : nullptr, timing, stats, transfer) {
  debug(1, context.name() + ": " + context.physical.info.name + ", memory budget " + std::to_string(pool.budget()) +
               " bytes");
}

GpuBuffer& Opened::ours(const char* op, const BufferRef& buffer, size_t offset, size_t bytes) const {
  if (!buffer || buffer->device != context.id)
    fail<Error>(op, buffer ? "the buffer is on " + buffer->device.str() + ", not on " + context.name() : "no buffer");
  raise_if_gone(op, *buffer);
  if (offset > buffer->bytes || bytes > buffer->bytes - offset)
    fail<Error>(op, "bytes [" + std::to_string(offset) + ", " + std::to_string(offset + bytes) + ") of a buffer of " +
                        std::to_string(buffer->bytes));
  return static_cast<GpuBuffer&>(*buffer);
}

// Gives the memory of tensors back to the driver, unless work may still run on it.
void Opened::abandon() {
  const std::lock_guard lock(mutex);
  line.clear();
  pipelines.stop(false);
  const auto nobody_reads = transfer.stop_downloads();
  const auto patience = context.health->hung() ? std::chrono::milliseconds(0) : kExitPatience;
  pool.abandon(queue.ended(patience) && (!copies || copies->ended(patience)));
}

// What cannot run then, when memory has been given back, has left values without bytes and writes undone.
void Opened::run_first() {
  const Line::Run& run = line.first();
  for (int attempt = 0;; ++attempt) try {
      if (!finish(*run.plan, pipelines)) return;
      recorder.run(*run.plan, run.arguments());
      return line.remove_first();
    } catch (const DriverLostError&) {
      throw;
    } catch (const std::exception& e) {
      if (attempt) context.health->note_lost(std::string("work that was under way cannot run: ") + e.what());
      context.health->check("run");
      queue.wait(queue.submitted(), false);
      recorder.empty_cache();
      pool.trim();
    }
}

void Opened::go_on(bool process_ended) {
  while (!line.empty() && process_ends == process_ended && queue.completed() >= queue.room_after()) {
    const std::shared_ptr<const GpuPrepared> plan = line.first().plan;  // which may go with its run
    run_first();
    if (plan->compiling) return;
  }
}

bool Opened::must_wait(GpuPrepared& plan) {
  if (!line.empty()) go_on();
  return !line.empty() || !finish(plan, pipelines);
}

void Opened::catch_up(bool interruptible) {
  const bool process_ended = process_ends;  // as it is now: the process's last thread may still work
  for (;;) {
    uint64_t room = 0;
    Pipelines::Later compiling;
    {
      const std::lock_guard lock(mutex);
      go_on(process_ended);
      if (line.empty()) return;
      if (process_ends != process_ended) throw ProcessEnds();  // nothing may reach the driver now
      compiling = line.compiling();
      room = queue.room_after();
    }
    pipelines.compile(compiling);
    queue.wait(room, interruptible);
  }
}

template <class F>
auto Opened::take_memory(F&& take) {
  try {
    const std::lock_guard lock(mutex);
    return take();
  } catch (const OutOfMemoryError&) {
    const std::lock_guard lock(mutex);
    if (line.empty()) throw;
  }
  catch_up(false);
  const std::lock_guard lock(mutex);
  return take();
}

// One for each GPU, for the life of the process; `now_` is replaced when the device is opened again, and what was
// opened before stays for threads that are still in it. `mutex` is held while commands are recorded and submitted,
// never while anything waits.
class GpuDevice final : public Device {
 public:
  explicit GpuDevice(int index) : index_(index), now_(new Opened(index)) {}

  DeviceInfo info() const override {
    DeviceInfo info = describe(now().context.physical.handle).info;  // asked again: free memory changes
    info.id = now().context.id;
    return info;
  }
  const Features& features() const override { return now().context.physical.features; }
  DeviceStats& stats() override;
  int64_t bytes_reserved() override { return now().pool.reserved(); }
  BufferRef allocate(size_t bytes, bool to_fill) override;
  void upload(const BufferRef& to, const void* from, size_t bytes) override;
  void download(void* to, const BufferRef& from, size_t offset, size_t bytes) override;
  std::shared_ptr<Prepared> prepare(std::shared_ptr<const Plan> plan, bool later) override;
  void run(Prepared& plan, const RunArguments& arguments) override;
  void get_ready(Prepared& plan, const RunArguments& arguments) override;
  std::shared_ptr<Readback> run_job(const Job& job) override;
  void wait_for_room() override;
  void wait() override;
  bool is_idle() override;
  void wait_at_exit(std::chrono::milliseconds limit) noexcept override;
  Status take_status() override;
  void empty_cache() override;
  std::string make_external(std::function<void(uint64_t)> freed) override;
  ExternalMemory external_memory(const BufferRef& buffer) override;
  int open_external(const BufferRef& buffer) override;
  BufferRef import_external(int file, size_t bytes) override;
  void hand_over(const std::vector<BufferRef>& buffers, const std::vector<BufferCopy>& copies) override;
  void take_back(const std::vector<BufferRef>& buffers, const std::vector<BufferCopy>& copies) override;
  bool lost() const override { return !now().queue.usable(); }
  void recover() override;
  bool leave() noexcept;

 private:
  class Visit;
  Opened& now() const { return *now_.load(std::memory_order_acquire); }
  template <class F>
  auto ask(const char* op, F&& request);

  const int index_;
  std::atomic<Opened*> now_;
  std::atomic<bool> given_up_ = false;   // work that does not end
  std::atomic<int> visits_ = 0;          // calls that run
  std::atomic<bool> left_ = false;       // by the thread that ends the process
  std::function<void(uint64_t)> freed_;  // of make_external(); also of the device that is opened anew
};

// A call of any thread. Once the process ends, other threads come in no more.
class GpuDevice::Visit {
 public:
  explicit Visit(GpuDevice& device) : visits_(device.visits_) {
    ++visits_;
    if (device.left_) stay();
  }
  ~Visit() { --visits_; }
  Visit(const Visit&) = delete;
  Visit& operator=(const Visit&) = delete;
  [[noreturn]] void stay() const {
    --visits_;
    for (;;) std::this_thread::sleep_for(std::chrono::hours(1));
  }

 private:
  std::atomic<int>& visits_;
};

// Checks first whether the device still answers. If it is lost during the call, the loss is noted, whichever call it
// was.
template <class F>
auto GpuDevice::ask(const char* op, F&& request) {
  const Visit visit(*this);
  Opened& device = now();
  device.queue.check(op);
  try {
    return request(device);
  } catch (const DriverLostError& e) {
    device.context.health->note_lost(e.what());
    device.context.health->raise(op);
  } catch (const ProcessEnds&) {
    visit.stay();
  }
}

DeviceStats& GpuDevice::stats() {
  Opened& device = now();
  const std::lock_guard lock(device.mutex);
  DeviceStats& stats = device.stats;
  const PoolCounters c = device.pool.read_counters();
  stats.submissions += device.queue.take_count() + (device.copies ? device.copies->take_count() : 0);
  stats.allocations += c.allocations;
  stats.bytes_live = c.live;
  stats.bytes_cached = c.cached;
  stats.bytes_peak = std::max<int64_t>(stats.bytes_peak, c.peak);
  return stats;
}

BufferRef GpuDevice::allocate(size_t bytes, bool to_fill) {
  return ask("allocate", [&](Opened& device) {
    const bool large = to_fill && bytes > kSmallUpload;
    return device.take_memory([&] {
      Ref<GpuBuffer> buffer(device.pool.take(bytes, large ? BufferPool::Use::upload : BufferPool::Use::values));
      if (!large) device.recorder.poison(buffer);  // an upload may go past the recorder
      return BufferRef(buffer.get());
    });
  });
}

// Small ones wait for the next submission, large ones leave at once.
void GpuDevice::upload(const BufferRef& to, const void* from, size_t bytes) {
  ask("upload", [&](Opened& device) {
    GpuBuffer& buffer = device.ours("upload", to, 0, bytes);
    if (bytes == 0) return;
    Stage stage("upload", "stage", device.context.id);
    stage.bytes = static_cast<int64_t>(bytes);
    const std::lock_guard lock(device.mutex);
    if (bytes <= kSmallUpload) {
      device.recorder.upload_small(Ref<GpuBuffer>(&buffer), from, bytes);
    } else {
      device.recorder.flush_uploads();  // an earlier small one may be for the same buffer
      device.transfer.upload(buffer, from, bytes);
    }
    device.stats.bytes_written += static_cast<int64_t>(bytes);
  });
}

void GpuDevice::download(void* to, const BufferRef& from, size_t offset, size_t bytes) {
  ask("download", [&](Opened& device) {
    GpuBuffer& buffer = device.ours("download", from, offset, bytes);
    if (bytes == 0) return;
    Stage stage("download", "stage", device.context.id);
    stage.bytes = static_cast<int64_t>(bytes);
    device.catch_up();
    {
      const std::lock_guard lock(device.mutex);
      device.recorder.flush_uploads();
      device.stats.bytes_read += static_cast<int64_t>(bytes);
    }
    device.transfer.download(to, buffer, offset, bytes);
    throw_validation();
  });
}

std::shared_ptr<Prepared> GpuDevice::prepare(std::shared_ptr<const Plan> plan, bool later) {
  return ask("prepare", [&](Opened& device) {
    const Stage stage("prepare", "stage", device.context.id);
    std::unique_lock lock(device.mutex);
    const std::vector<Lowered> kernels =
        lower_all(*plan, device.context.physical.features, first_fit(), device.pipelines.shaders);
    if (!later) {
      const Pipelines::Later missing = device.pipelines.missing(kernels);
      lock.unlock();
      device.pipelines.compile(missing);
      lock.lock();
      device.pipelines.keep(missing);
    }
    Proxy* const proxy = device.proxy ? &*device.proxy : nullptr;
    auto prepared = prepare_plan(std::move(plan), kernels, device.pipelines, proxy, later);
    lock.unlock();
    device.take_memory([&] { device.recorder.reserve(prepared->arena_bytes); });
    return std::shared_ptr<Prepared>(std::move(prepared));
  });
}

void GpuDevice::run(Prepared& plan, const RunArguments& arguments) {
  ask("run", [&](Opened& device) {
    const std::lock_guard lock(device.mutex);
    auto& prepared = static_cast<GpuPrepared&>(plan);
    if (device.must_wait(prepared)) {
      device.recorder.reserve(prepared.arena_bytes);  // it has been, unless the cache was emptied
      device.line.add(std::static_pointer_cast<GpuPrepared>(plan.shared_from_this()), arguments);
      return;
    }
    if (!arguments.ready) specialize(prepared, device.context.physical.features, device.pipelines);
    device.recorder.run(prepared, arguments);
  });
}

void GpuDevice::get_ready(Prepared& plan, const RunArguments& arguments) {
  ask("run", [&](Opened& device) {
    const std::lock_guard lock(device.mutex);
    auto& prepared = static_cast<GpuPrepared&>(plan);
    if (device.must_wait(prepared)) return device.recorder.forget_ready();
    specialize(prepared, device.context.physical.features, device.pipelines);
    device.recorder.get_ready(prepared, arguments);
  });
}

std::shared_ptr<Readback> GpuDevice::run_job(const Job& job) {
  return ask("run", [&](Opened& device) {
    size_t bytes = 0;
    for (const Job::Piece& p : job.pieces) bytes += p.bytes;
    if (bytes) device.ours("run", job.to, 0, bytes);
    for (const Job::Wanted& w : job.wanted) device.ours("run", w.from, w.at, w.bytes);
    device.catch_up(false);
    const std::lock_guard lock(device.mutex);
    std::shared_ptr<Readback> readback = device.recorder.run_job(job);
    device.stats.bytes_written += static_cast<int64_t>(bytes);
    for (const Job::Wanted& w : job.wanted) device.stats.bytes_read += static_cast<int64_t>(w.bytes);
    return readback;
  });
}

void GpuDevice::wait_for_room() {
  ask("wait", [&](Opened& device) {
    uint64_t value = 0;
    bool is_long = false;
    {
      const std::lock_guard lock(device.mutex);
      is_long = device.line.size() >= kLongLine;
      value = device.queue.room_after();
    }
    if (is_long) device.catch_up();
    device.queue.wait(value, true);
  });
}

void GpuDevice::wait() {
  ask("wait", [&](Opened& device) {
    device.catch_up();
    device.queue.wait(device.queue.submitted(), true);
    if (device.copies) device.copies->wait(device.copies->submitted(), true);
    device.timing.collect();
    if (device.copy_timing) device.copy_timing->collect();
    throw_validation();
  });
}

bool GpuDevice::is_idle() {
  return ask("wait", [](Opened& device) {
    const std::lock_guard lock(device.mutex);
    return device.line.empty() && device.queue.completed() >= device.queue.submitted();
  });
}

void GpuDevice::wait_at_exit(std::chrono::milliseconds limit) noexcept {
  if (forked() || given_up_) return;
  Opened& device = now();
  using std::chrono::milliseconds, std::chrono::steady_clock;
  const auto end = steady_clock::now() + limit;
  const auto left = [&] {
    return std::max(std::chrono::ceil<milliseconds>(end - steady_clock::now()), milliseconds(0));
  };
  // Another thread may be handing work to the driver, which counts as submitted only afterwards.
  std::unique_lock lock(device.mutex, std::try_to_lock);
  for (; !lock.owns_lock() && left().count() > 0; lock.try_lock()) std::this_thread::sleep_for(milliseconds(1));
  given_up_ = !lock.owns_lock();
  if (given_up_) return;
  const uint64_t copied = device.copies ? device.copies->submitted() : 0, ran = device.queue.submitted();
  lock.unlock();
  given_up_ =
      (device.copies && !device.copies->wait_quietly(copied, left())) || !device.queue.wait_quietly(ran, left());
  // Before the process takes itself apart: what the driver and its layers made on first use goes before leave().
  if (!given_up_) device.pipelines.stop(true);
}

Status GpuDevice::take_status() {
  return ask("take_status", [&](Opened& device) {
    const std::lock_guard lock(device.mutex);
    return device.recorder.take_status();
  });
}

void GpuDevice::empty_cache() {
  ask("empty_cache", [&](Opened& device) {
    device.catch_up(false);  // what waits in line holds memory, and was promised some
    const std::lock_guard lock(device.mutex);
    device.recorder.empty_cache();
    device.pool.trim();
  });
}

std::string GpuDevice::make_external(std::function<void(uint64_t)> freed) {
  return ask("make_external", [&](Opened& device) -> std::string {
    if (!device.context.physical.exports) return device.context.physical.info.name + " exports no memory";
    const std::lock_guard lock(device.mutex);
    device.make_external(freed);
    freed_ = std::move(freed);
    return "";
  });
}

ExternalMemory GpuDevice::external_memory(const BufferRef& buffer) {
  return now().pool.external_memory(now().ours("exchange", buffer, 0, 0));
}

int GpuDevice::open_external(const BufferRef& buffer) {
  return ask("exchange",
             [&](Opened& device) { return device.pool.open_external(device.ours("exchange", buffer, 0, 0)); });
}

BufferRef GpuDevice::import_external(int file, size_t bytes) {
  return ask("exchange", [&](Opened& device) { return BufferRef(device.pool.import_external(file, bytes)); });
}

void GpuDevice::hand_over(const std::vector<BufferRef>& buffers, const std::vector<BufferCopy>& copies) {
  ask("exchange", [&](Opened& device) {
    for (const BufferRef& b : buffers) device.ours("exchange", b, 0, 0);
    device.catch_up(false);
    const std::lock_guard lock(device.mutex);
    device.recorder.hand_over(buffers, copies);
  });
}

// Buffers of a device that was lost meanwhile are gone.
void GpuDevice::take_back(const std::vector<BufferRef>& buffers, const std::vector<BufferCopy>& copies) {
  Opened& device = now();
  const std::lock_guard lock(device.mutex);
  if (!buffers.empty() && !buffers.front()->gone) device.recorder.take_back(buffers, copies);
}

void GpuDevice::recover() {
  Opened& old = now();
  if (old.queue.usable()) return;
  check_fork("recover");
  old.abandon();
  auto* fresh = new Opened(index_);
  fresh->stats = old.stats;  // counters go on
  fresh->stats.bytes_live = fresh->stats.bytes_cached = 0;
  fresh->stats.kernels_kept = fresh->stats.kernel_bytes = 0;
  if (freed_) fresh->make_external(freed_);
  now_.store(fresh, std::memory_order_release);
}

// When the process ends, nothing is destroyed, but the driver should be idle, and its compiled code is saved. False if
// work or a thread is still in the driver.
bool GpuDevice::leave() noexcept {
  wait_at_exit(kExitPatience);
  if (given_up_) return false;
  Opened& device = now();
  try {
    device.pipelines.save();
  } catch (...) {
    // A cache that cannot be written costs time at the next start, nothing else.
  }
  left_ = true;
  const auto end = std::chrono::steady_clock::now() + kExitPatience;
  while (visits_ && std::chrono::steady_clock::now() < end) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  return !visits_ && !thread_remains;
}

using Devices = std::array<std::atomic<GpuDevice*>, 256>;
Devices& devices() {
  static auto* all = new Devices{};
  return *all;
}

bool leave_all() noexcept {
  bool all = true;
  if (forked()) return all;
  for (auto& d : devices())
    if (GpuDevice* device = d.load()) all = device->leave() && all;
  return all;
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
  // Drivers take themselves apart when a process ends, and crash under whoever is still in them.
  static const bool registered = os::at_exit(leave_all);
  static_cast<void>(registered);
  place.store(new GpuDevice(index), std::memory_order_release);
  return *place.load();
}

}  // namespace sg
