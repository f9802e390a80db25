// Where the halves meet: running what is pending, moving data in and out, counting.
// Threads: any; every function takes the engine lock where it needs it. Reads may wait: call them without the GIL.
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/profile.hpp"
#include "device/device.hpp"
#include "graph/tensor.hpp"

namespace sg {

Device& device_of(DeviceId id);

// Runs everything that is pending on a device. Nodes that cannot be computed, and their readers, hold the error;
// tensors that would have been written with them keep their old values; everything else is computed, and the error is
// thrown.
void flush(DeviceId id);
// What is recorded from here to the next flush, or to end_whole(), runs as a whole or, if it fails, not at all.
void begin_whole(DeviceId id);
void end_whole(DeviceId id);
// Whether the end of an update need not run it: a collective is under way on the device, which the host would wait for
// instead of recording the next step. The update then runs with that, and no longer as a whole.
bool postpone(DeviceId id);
// Undoes the writes recorded since then, because recording failed; not possible if they have run meanwhile.
void take_back(DeviceId id);
// Waits until the device has nothing to do. Reports an index out of range found by a kernel as IndexError.
void synchronize(DeviceId id);

// Opens a device again that was lost or hung; does nothing to one that works. What is pending fails, and tensors whose
// values were on it raise DeviceLostError when used, until they are overwritten as a whole. DeviceUnavailableError.
void recover(DeviceId id);
// How often that happened, on any device. Plans prepared before are no longer valid.
uint32_t recoveries();

// Waits until the GPUs are idle, whatever becomes of their work. Called before the process ends, so that no driver is
// shut down while work is running. Runs nothing that is pending. Afterwards only the calling thread can use the engine.
void drain() noexcept;

// Copies a host array (C order) to a device.
Tensor from_host(const void* data, const Dims& shape, DType dtype, DeviceId device);
// A CPU tensor on somebody else's memory, without a copy; strides count elements and are not negative. Whatever reads
// or writes it runs at once, so that both sides always see the same values. `release` is called, from any thread, when
// nobody needs the memory any more.
Tensor share_host(void* data, const Dims& shape, const Dims& strides, DType dtype, std::function<void()> release);
// The other way round: while this lives, someone outside sees the bytes of a CPU tensor. `data` is the view's first
// element; strides are the tensor's.
class Escaped {
 public:
  Escaped() = default;
  explicit Escaped(const Tensor& x);  // runs what is pending. Call without the GIL
  Escaped(Escaped&& o) noexcept = default;
  Escaped& operator=(Escaped&& o) noexcept {
    std::swap(buffer_, o.buffer_);
    data = o.data;
    return *this;
  }
  ~Escaped();
  void* data = nullptr;

 private:
  BufferRef buffer_;
};
// Copies the values in C order to `out`; runs what is pending, waits.
void read(const Tensor& x, void* out);
double read_item(const Tensor& x);  // one element as a number
int64_t read_item_int(const Tensor& x);
// The address of the first element, on the host or on the device. Runs what is pending.
uint64_t address_of(const Tensor& x);
// The same values on another device (the tensor itself when it is there already).
Tensor to_device(const Tensor& x, DeviceId device);
// Those of a GPU on the CPU: returns at once, and whoever looks at the values waits for them.
Tensor to_host_later(const Tensor& x);
// Whether a CPU tensor's values have arrived from where to_host_later() sent them.
bool has_arrived(const Tensor& x);

// What is pending behind a tensor, as text. Runs nothing.
std::string describe_graph(const Tensor& x);
struct PlanView {
  std::shared_ptr<const Plan> plan;
  std::shared_ptr<Prepared> prepared;                    // if compilation was asked for
  std::vector<SourceLocation> lines;                     // of the nodes of the log
  std::vector<std::string> lines_of(size_t step) const;  // that recorded its nodes, each once; none where none are kept
};
PlanView plan_of(const Tensor& x, bool compile);
std::string explain(const Tensor& x);

struct Stats {
  DeviceStats device;       // summed over devices in use
  int64_t nodes = 0;        // recorded in logs
  int64_t plan_hits = 0;    // logs that found their plan
  int64_t plans_bound = 0;  // logs whose structure had a plan, for other sizes
  int64_t plan_misses = 0;  // logs that had to be scheduled
  int64_t plans_kept = 0, plan_bytes = 0;
  int64_t fallbacks = 0;        // work done on a slower path than asked for
  int64_t host_scalar_ops = 0;  // operations of scalar Values that the CPU computed; 0 for Values on a GPU
};
Stats stats();
// Called before the CPU does work for which the tensor's device has no kernel. Error under SPIROGRAD_STRICT=1.
void count_fallback(const std::string& op);
void reset_stats();  // counters to 0; bytes_live, bytes_cached stay, bytes_peak = bytes_live
void empty_cache();

// Compiles a custom kernel before anything that uses it is recorded. KernelCompileError, LimitError.
void prepare_kernel(DeviceId id, const std::string& name, const CustomKernel& kernel);

// A profile notes every stage of the host and every kernel between start and stop. Both functions wait for submitted
// work and run nothing that is pending. ValueError if a profile is already running.
void start_profile();
std::vector<ProfileEvent> stop_profile();

}  // namespace sg
