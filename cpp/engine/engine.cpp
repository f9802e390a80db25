// The public functions of the engine: reads, transfers, memory shared with others, synchronization, counters, profiles.
// flush.cpp turns a log into a run; nothing here knows how.
#include "engine/engine.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <map>
#include <mutex>
#include <thread>

#include "base/error.hpp"
#include "base/host.hpp"
#include "base/log.hpp"
#include "engine/exchange.hpp"
#include "engine/flush.hpp"
#include "engine/replay/capture.hpp"
#include "engine/run_status.hpp"
#include "engine/stream.hpp"
#include "engine/tape.hpp"
#include "ops/list.hpp"
#include "schedule/loops.hpp"

namespace sg {
namespace {

std::map<int, Device*>& gpus_in_use() {
  static auto* gpus = new std::map<int, Device*>;
  return *gpus;
}

}  // namespace

void raise_reports(DeviceId id) {
  EngineLock lock;
  learn(id);
  raise_own(true);
}

namespace {

// Call when the device has finished all runs up to this one.
void look_at_status(DeviceId id, uint32_t runs) {
  EngineLock lock;
  learn(id);
  retire(id, runs);
}

// The tensor's values as one contiguous range: their node, and the offset of the first element in it. The node is held,
// so that a write in place from another thread goes to other memory while the values are read.
struct Bytes {
  Held node;
  size_t offset;
  uint32_t runs;  // how many have begun
};
// A tensor that is not contiguous is copied by one more node of the log, so that the copy is fused with what made it.
Bytes evaluated(const Tensor& x) {
  if (capture()) capture()->refuse("reads a value");
  EngineLock lock(EngineLock::kPausable);
  raise_if_failed(*x->storage->node.get());
  const bool flat = x.contiguous();
  const Tensor source = flat ? x.detach() : contiguous(x.detach());
  NodeRef node = source->storage->node.ref();
  if (node->pending()) run_for(node);
  finish_exchange(node->device);
  raise_if_failed(*node);
  raise_lost_write();
  return {Held(node), static_cast<size_t>(source->offset) * size_of(x.dtype()), last_run()};
}

}  // namespace

// A loop that is too long for one log is cut between two rounds.
void flush(Log& log, bool full) {
  const HostPaused paused;
  if (full && log.most == kMaxLogNodes) log.most = end_of_round(log);
  if (full && log.nodes.size() < log.most) return;
  flush_log(log);
  log.goes_on = full;
}

Device& device_of(DeviceId id) {
  if (!id.is_gpu()) return cpu_device();
  EngineLock lock;
  Device& d = gpu_device(id.index);
  if (std::exchange(gpus_in_use()[id.index], &d) != &d) begin_streaming(id);
  return d;
}

std::vector<DeviceId> opened_devices() {
  const EngineLock lock;
  std::vector<DeviceId> devices = {DeviceId()};
  for (const auto& [index, gpu] : gpus_in_use())
    devices.push_back(DeviceId{DeviceId::Kind::gpu, static_cast<uint8_t>(index)});
  return devices;
}

// Does not hold the engine lock while it waits, so that a device that hangs blocks only its own users.
void wait_for_room(DeviceId id) {
  Device* device = nullptr;
  {
    EngineLock lock;
    if (!id.is_gpu() || log_of(id).nodes.empty()) return;
    const auto it = gpus_in_use().find(id.index);
    if (it == gpus_in_use().end()) return;
    device = it->second;
  }
  device->wait_for_room();
}

namespace {
void run_left(DeviceId id) {
  while (Log* log = log_left(id)) run_for_other(*log);
}

// Raises an error once: that of the run or, if it has none, that of a write that did not happen before.
void flush_and_tell(Log& log, void (*run)(Log&)) {
  try {
    run(log);
  } catch (const Interruption&) {
    throw;
  } catch (...) {
    forget_lost_write(std::current_exception());
    throw;
  }
  raise_lost_write();
}
}  // namespace

void flush(DeviceId id) {
  wait_for_room(id);
  EngineLock lock(EngineLock::kPausable);
  run_left(id);
  flush_and_tell(log_of(id), flush_log);
}

void begin_whole(DeviceId id) {
  EngineLock lock;
  Log& log = log_of(id);
  if (log.whole_from == SIZE_MAX) log.whole_from = log.nodes.size();  // else an interrupted one is still to be done
  log.whole_writes = log.writes();
}

void end_whole(DeviceId id) {
  EngineLock lock;
  log_of(id).whole_from = SIZE_MAX;
}

bool postpone(DeviceId id) {
  EngineLock lock;
  if (!is_under_way(id)) return false;
  log_of(id).whole_from = SIZE_MAX;
  return true;
}

void take_back(DeviceId id) {
  EngineLock lock;
  Log& log = log_of(id);
  if (log.whole_from == SIZE_MAX) return;
  log.take_back(log.whole_writes);
  log.whole_from = SIZE_MAX;
}

void flush_all() {
  EngineLock lock(EngineLock::kPausable);
  for (DeviceId id : opened_devices()) {
    for (Log* log : logs_of(id))
      if (log->thread != thread_number() && (log->running || !log->nodes.empty())) run_for_other(*log);
    flush_log(log_of(id));
  }
}

void synchronize(DeviceId id) {
  wait_for_room(id);
  {
    const EngineLock lock(EngineLock::kPausable);
    run_left(id);
    flush_and_tell(log_of(id), run_all);
    finish_exchange(id);
  }
  const uint32_t runs = last_run();
  device_of(id).wait();
  const EngineLock lock;
  look_at_status(id, runs);
  raise_own(true);
}

namespace {
uint32_t times_recovered = 0;  // engine lock
}
uint32_t recoveries() { return times_recovered; }

void recover(DeviceId id) {
  if (capture()) capture()->refuse("recovers a device");
  EngineLock lock;
  Device& device = device_of(id);
  if (!device.lost()) return;
  note_disturbance();
  try {
    fail<DeviceLostError>("recover", id.str() + " was lost before this was computed", "compute it again");
  } catch (...) {
    if (is_under_way(id)) fail_exchange(std::current_exception());
    for (Log* log : logs_of(id)) {
      wait_while_running(*log);
      give_up(*log, std::current_exception());
    }
  }
  forget_plans(id);
  ++times_recovered;
  device.recover();
  retire(id, last_run());
}

namespace {
std::atomic<bool> ending{false};
std::thread::id ending_thread;

// A thread that outlives the main thread must not call a driver that is being shut down.
void park_when_ending() {
  while (ending && std::this_thread::get_id() != ending_thread) std::this_thread::sleep_for(std::chrono::seconds(1));
}
}  // namespace

void drain() noexcept {
  constexpr std::chrono::milliseconds kPatience{800};  // twice, and some time for the interpreter: two seconds
  process_ends = true;
  thread_remains = !lock_at_exit(kPatience);  // other threads are kept out from now on
  ending_thread = std::this_thread::get_id();
  ending = true;
  for (auto& [index, gpu] : gpus_in_use()) gpu->wait_at_exit(kPatience);
}

Tensor from_host(const void* data, const Dims& shape, DType dtype, DeviceId device) {
  EngineLock lock;
  const int64_t n = shape.numel();
  const size_t bytes = static_cast<size_t>(n) * size_of(dtype);
  BufferRef buffer = device_of(device).allocate(bytes, true);
  if (bytes) device_of(device).upload(buffer, data, bytes);
  NodeRef node = leaf_node(std::move(buffer), dtype, device, n);
  if (capture()) capture()->has_host_data(node, data, bytes);
  return wrap(std::move(node), shape);
}

namespace {
class SharedBuffer : public Buffer {
 public:
  SharedBuffer(void* data, size_t size, std::function<void()> release) : release_(std::move(release)) {
    host = data;
    bytes = size;
  }
  void recycle() override {
    release_();
    delete this;
  }

 private:
  std::function<void()> release_;
};
}  // namespace

Tensor share_host(void* data, const Dims& shape, const Dims& strides, DType dtype, std::function<void()> release) {
  if (capture()) capture()->refuse("takes memory of others");
  const int64_t n = span(shape, strides);
  BufferRef buffer(new SharedBuffer(data, static_cast<size_t>(n) * size_of(dtype), std::move(release)));
  buffer->shared = 1;
  Tensor out = wrap(leaf_node(std::move(buffer), dtype, {}, n), shape);
  out->strides = strides;
  return out;
}

namespace {
// Bytes that a GPU copies to the host, in memory of the CPU. Waiting needs no lock of the engine, so that a GPU that
// hangs blocks only those who want its values.
class ArrivingBuffer final : public Buffer {
 public:
  ArrivingBuffer(BufferRef memory, size_t size, std::shared_ptr<Readback> readback, DeviceId from, uint32_t runs)
      : memory_(std::move(memory)), readback_(std::move(readback)), size_(size), from_(from), runs_(runs) {
    host = memory_->host;
    bytes = memory_->bytes;
    arriving = true;
    ++under_way;
  }
  ~ArrivingBuffer() override {
    if (readback_) --under_way;
  }
  void recycle() override { delete this; }
  bool ready() {
    const std::lock_guard lock(mutex_);
    return !readback_ || readback_->ready();
  }
  static inline std::atomic<int> under_way = 0;  // in the process

 protected:
  void fetch() override {
    const HostPaused paused;
    {
      const std::lock_guard lock(mutex_);
      if (!readback_) return;
      std::memcpy(host, readback_->wait(), size_);
      readback_.reset();
      arriving.store(false, std::memory_order_release);
      --under_way;
    }
    look_at_status(from_, runs_);
  }

 private:
  BufferRef memory_;
  std::shared_ptr<Readback> readback_;  // until the bytes are there
  const size_t size_;
  const DeviceId from_;
  const uint32_t runs_;
  std::mutex mutex_;
};

// Before the engine's lock is taken.
void wait_for_arrival(const Tensor& x) {
  if (ArrivingBuffer::under_way == 0) return;
  BufferRef buffer;
  {
    EngineLock lock;
    const NodeRef node = x->storage->node.ref();
    if (node->state == Node::State::ready) buffer = node->buffer;
  }
  if (buffer) buffer->arrive();
}
}  // namespace

bool has_arrived(const Tensor& x) {
  BufferRef buffer;
  {
    EngineLock lock;
    const NodeRef node = x->storage->node.ref();
    if (node->state != Node::State::ready) return node->state == Node::State::failed;
    buffer = node->buffer;
  }
  return !buffer || !buffer->arriving || static_cast<ArrivingBuffer&>(*buffer).ready();
}

Escaped::Escaped(const Tensor& x) {
  if (capture()) capture()->refuse("shows memory to others");
  wait_for_arrival(x);
  EngineLock lock(EngineLock::kPausable);
  run_or_rescue(log_of({}));  // including pending readers of the present values
  Storage& storage = *x->storage;
  if (const NodeRef pending = storage.node.ref(); pending->pending()) run_for_other(*pending->log);
  for (Log* log : readers_of(storage.node.ref())) run_for_other(*log);
  raise_lost_write();
  NodeRef node = storage.node.ref();
  raise_if_failed(*node);
  // If another storage or a gradient holds the same value, it keeps the bytes, and a copy is shared.
  if (node->held.load(std::memory_order_relaxed) > 1 && node->buffer->shared == 0) {
    BufferRef copy = cpu_device().allocate(node->bytes());
    cpu_device().upload(copy, node->buffer->host, node->bytes());
    node = leaf_node(std::move(copy), node->dtype, {}, node->numel);
    storage.node = Held(node);
  }
  raise_own(false);
  node->drop_half();  // others may change the value from here on
  buffer_ = node->buffer;
  ++buffer_->shared;
  data = static_cast<unsigned char*>(buffer_->host) + static_cast<size_t>(x->offset) * size_of(x.dtype());
}

Escaped::~Escaped() {
  if (buffer_) --buffer_->shared;
}

void read(const Tensor& x, void* out) {
  wait_for_room(x.device());
  const Bytes from = evaluated(x);
  park_when_ending();
  const size_t bytes = static_cast<size_t>(x.numel()) * size_of(x.dtype());
  if (bytes) device_of(x.device()).download(out, from.node->buffer, from.offset, bytes);
  const EngineLock lock;
  look_at_status(x.device(), from.runs);
  raise_if_failed(*from.node.get());
  raise_own(false);
}

namespace {
Number number_of(DType dtype, const unsigned char* bytes) {
  const auto as = [&](auto v) {
    std::memcpy(&v, bytes, sizeof v);
    return v;
  };
  switch (dtype) {
    case DType::boolean:
      return {.i = bytes[0] != 0};
    case DType::int32:
      return {.i = as(int32_t())};
    case DType::float32:
      return {.f = as(float())};
    default:
      return as(Number());
  }
}

Lineage lineage_of_read(const Tensor& x) {
  if (is_float(x.dtype()) || !x.device().is_gpu() || capture()) return {};
  const EngineLock lock;
  return lineage_of_number(x);
}

Number read_number(const Tensor& x) {
  if (x.numel() != 1)
    fail<ValueError>("item", "the tensor has " + std::to_string(x.numel()) + " elements, shape " + x.shape().str(),
                     "use numpy() or tolist()");
  if (is_narrow(x.dtype())) return read_number(cast(x.detach(), wide_of(x.dtype())));
  const Lineage lineage = lineage_of_read(x);
  if (const auto known = kept_number(lineage)) return {.i = *known};
  alignas(8) unsigned char bytes[8] = {};
  read(x, bytes);
  const Number number = number_of(x.dtype(), bytes);
  if (lineage_of_read(x) == lineage) keep_number(lineage, number.i);  // nobody has written x meanwhile
  return number;
}
}  // namespace

double read_item(const Tensor& x) {
  const Number n = read_number(x);
  return is_float(x.dtype()) ? n.f : static_cast<double>(n.i);
}

int64_t read_item_int(const Tensor& x) {
  const Number n = read_number(x);
  return is_float(x.dtype()) ? static_cast<int64_t>(n.f) : n.i;
}

bool has_nan(const Tensor& x) {
  const HostPaused paused;
  const GradMode off(false);
  const Tensor wide = x.dtype() == DType::float64 ? x.detach() : cast(x.detach(), DType::float32);
  std::vector<double> values(static_cast<size_t>(wide.numel()));  // room for either type
  if (values.empty()) return false;
  read(wide, values.data());
  const auto is_nan = [](auto v) { return v != v; };
  if (wide.dtype() == DType::float64) return std::any_of(values.begin(), values.end(), is_nan);
  const auto* narrow = reinterpret_cast<const float*>(values.data());
  return std::any_of(narrow, narrow + values.size(), is_nan);
}

uint64_t address_of(const Tensor& x) {
  if (capture()) capture()->refuse("asks for an address");
  wait_for_arrival(x);
  EngineLock lock(EngineLock::kPausable);
  run_or_rescue(log_of(x.device()));
  if (const NodeRef pending = x->storage->node.ref(); pending->pending()) run_for_other(*pending->log);
  finish_exchange(x.device());
  raise_lost_write();
  const Node& node = *x->storage->node.get();
  raise_if_failed(node);
  const uint64_t base = x.device().is_gpu() ? node.buffer->address : reinterpret_cast<uintptr_t>(node.buffer->host);
  return base + static_cast<uint64_t>(x->offset) * size_of(x.dtype());
}

namespace {
struct ToAttributes {
  DeviceId from;
};
void vjp_to(Vjp& v) { v.result[0] = to_device(v.g, v.attributes<ToAttributes>().from); }
const OpInfo kTo{
    .name = "to", .doc = "The same values on another device.", .kind = Kind::view, .arity = 1, .vjp = vjp_to};
}  // namespace

Tensor to_host_later(const Tensor& x) {
  if (!x.device().is_gpu() || x.numel() == 0) return to_device(x, {});
  wait_for_room(x.device());
  const Bytes from = evaluated(x);
  const size_t bytes = static_cast<size_t>(x.numel()) * size_of(x.dtype());
  Job job;
  job.wanted.push_back({from.node->buffer, from.offset, bytes});
  BufferRef memory = cpu_device().allocate(bytes, true);
  EngineLock lock;
  std::shared_ptr<Readback> readback = device_of(x.device()).run_job(job);
  BufferRef buffer(new ArrivingBuffer(std::move(memory), bytes, std::move(readback), x.device(), from.runs));
  const NodeRef there = leaf_node(std::move(buffer), x.dtype(), {}, x.numel());
  there->run = from.node->run;  // its failures are those of what is copied
  there->failed_by = from.node->failed_by;
  Tensor out = wrap(there, x.shape());
  record_gradient(kTo, out, {&x}, ToAttributes{x.device()});
  return out;
}

// Through the host in either direction; between two GPUs that is two copies.
Tensor to_device(const Tensor& x, DeviceId device) {
  if (x.device() == device) return x;
  std::vector<unsigned char> bytes(static_cast<size_t>(x.numel()) * size_of(x.dtype()));
  Tensor out;
  if (!x.device().is_gpu()) {  // the host has the bytes already
    const Bytes from = evaluated(x);
    from.node->buffer->arrive();
    {
      const EngineLock lock;
      raise_if_failed(*from.node.get());
      raise_own(false);
    }
    out = from_host(static_cast<const char*>(from.node->buffer->host) + from.offset, x.shape(), x.dtype(), device);
  } else {
    read(x, bytes.data());
    out = from_host(bytes.data(), x.shape(), x.dtype(), device);
  }
  record_gradient(kTo, out, {&x}, ToAttributes{x.device()});
  return out;
}

Stats stats() {
  EngineLock lock;
  Stats s;
  const EngineCounters& c = counters();
  s.host_scalar_ops = static_cast<int64_t>(value::host_scalar_ops);
  s.nodes = c.nodes, s.plan_hits = c.plan_hits, s.fallbacks = c.fallbacks;
  s.plan_misses = c.plan_misses, s.plans_bound = c.plans_bound;
  count_plans(s.plans_kept, s.plan_bytes);
  std::vector<Device*> devices = {&cpu_device()};
  for (auto& [index, gpu] : gpus_in_use()) devices.push_back(gpu);
  for (Device* d : devices) {
    const DeviceStats& a = d->stats();
    DeviceStats& sum = s.device;
    sum.submissions += a.submissions, sum.resubmissions += a.resubmissions, sum.hand_overs += a.hand_overs;
    sum.dispatches += a.dispatches, sum.barriers += a.barriers;
    sum.kernels_compiled += a.kernels_compiled, sum.kernels_specialized += a.kernels_specialized;
    sum.bytes_read += a.bytes_read;
    sum.bytes_written += a.bytes_written, sum.allocations += a.allocations;
    sum.kernels_kept += a.kernels_kept, sum.kernel_bytes += a.kernel_bytes;
    sum.bytes_live += a.bytes_live, sum.bytes_cached += a.bytes_cached, sum.bytes_peak += a.bytes_peak;
  }
  return s;
}

void count_fallback(const std::string& op) {
  if (env_flag("SPIROGRAD_STRICT"))
    fail<Error>(op.c_str(), "it runs on the CPU, and SPIROGRAD_STRICT=1 refuses that for a tensor of the GPU",
                "move the tensor with .cpu()");
  EngineLock lock;
  ++counters().fallbacks;
}

// Memory in use does not go away, so its counters stay.
void reset_stats() {
  EngineLock lock;
  counters() = {};
  value::host_scalar_ops = 0;
  std::vector<Device*> devices = {&cpu_device()};
  for (auto& [index, gpu] : gpus_in_use()) devices.push_back(gpu);
  for (Device* d : devices) {
    DeviceStats& a = d->stats();
    DeviceStats fresh;
    fresh.bytes_live = fresh.bytes_peak = a.bytes_live;
    fresh.bytes_cached = a.bytes_cached;
    fresh.kernels_kept = a.kernels_kept;
    fresh.kernel_bytes = a.kernel_bytes;
    a = fresh;
  }
}

// Prepares a plan of this one launch; the device keeps the compiled kernel.
void prepare_kernel(DeviceId id, const std::string& name, const CustomKernel& kernel) {
  auto plan = std::make_shared<Plan>();
  plan->device = id;
  Instance launch;
  launch.kernel.kind = Kernel::Kind::custom;
  launch.kernel.custom = kernel;
  if (kernel.reports) launch.checks = {0};
  for (const CustomKernel::Tensor& t : kernel.tensors) {
    while (static_cast<int32_t>(launch.bindings.size()) <= t.binding) {
      launch.bindings.push_back({static_cast<int32_t>(plan->memories.size()), -1});
      plan->memories.push_back({Memory::Kind::leaf, plan->leaves++});
    }
    (t.write ? launch.writes : launch.reads).push_back(launch.bindings[static_cast<size_t>(t.binding)].memory);
  }
  plan->steps.push_back({name, {std::move(launch)}});
  EngineLock lock;
  device_of(id).prepare(plan);
}

namespace {
void wait_for_gpus() {
  std::vector<Device*> gpus;
  {
    EngineLock lock;
    for (auto& [index, gpu] : gpus_in_use()) gpus.push_back(gpu);
  }
  for (Device* gpu : gpus) gpu->wait();
}
}  // namespace

void start_profile() {
  if (profiling()) fail<ValueError>("profile", "a profile is running already", "end it before the next one");
  wait_for_gpus();
  profile::start();
}

std::vector<ProfileEvent> stop_profile() {
  try {
    wait_for_gpus();  // the times of kernels are known when they have finished
  } catch (...) {
    profile::stop();
    throw;
  }
  return profile::stop();
}

void empty_cache() {
  EngineLock lock;
  drop_kept();
  cpu_device().empty_cache();
  for (auto& [index, gpu] : gpus_in_use()) gpu->empty_cache();
}

}  // namespace sg
