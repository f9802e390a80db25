// The whole back-end interface. A device owns memory and runs Plans; it must not know ops or gradients.
// Threads: callers hold the engine lock for every call but `wait`, `wait_for_room`, `download`'s waiting part and a CPU's
// `run`, of which there may be several at once.
#pragma once
#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/buffer.hpp"
#include "kernel/features.hpp"
#include "plan/plan.hpp"

namespace sg {

// Facts for display. Empty or 0 where the device has none.
struct DeviceInfo {
  DeviceId id;
  std::string type;  // "cpu", "discrete", "integrated", "virtual", "software"
  std::string name, vendor, driver, api_version, uuid;
  int64_t memory_total = 0, memory_free = 0;
  std::vector<std::pair<std::string, std::string>> limits, features;  // what kernels use
};

// A number that any thread may add to and read at any time.
class Count {
 public:
  Count(int64_t n = 0) : n_(n) {}
  Count(const Count& o) : Count(static_cast<int64_t>(o)) {}
  Count& operator=(const Count& o) {
    n_.store(o, std::memory_order_relaxed);
    return *this;
  }
  operator int64_t() const { return n_.load(std::memory_order_relaxed); }
  void operator+=(int64_t n) { n_.fetch_add(n, std::memory_order_relaxed); }
  void operator-=(int64_t n) { *this += -n; }
  void operator++() { *this += 1; }

 private:
  std::atomic<int64_t> n_;
};

// Counters since the start or the last reset. One line each says what counts.
struct DeviceStats {
  Count submissions;          // command buffers given to a queue (CPU: plans run)
  Count resubmissions;        // those of them that reused recorded commands; none on the CPU
  Count dispatches;           // kernels launched (CPU: steps run)
  Count barriers;             // pipeline barriers recorded
  Count kernels_compiled;     // pipelines made for a plan that waited for them
  Count kernels_specialized;  // pipelines made in the background, for a plan that runs often
  Count bytes_read;           // device -> host
  Count bytes_written;        // host -> device
  Count hand_overs;           // batches of buffers given to another driver of the same GPU
  Count allocations;          // memory asked from the driver or the system for tensor data
  Count bytes_live;           // in buffers that are referred to
  Count bytes_cached;         // kept in the pool for reuse
  Count bytes_peak;           // largest bytes_live, with what the runs of that moment use inside
  Count kernels_kept;         // pipelines (CPU: compiled programs of prepared plans) that are there
  Count kernel_bytes;         // approximate memory of these on the host, without the driver's
};

// A plan made ready by a device: pipelines, argument layouts. Kept with the plan in the cache.
class Prepared : public std::enable_shared_from_this<Prepared> {
 public:
  virtual ~Prepared() = default;
  // For people: source and binary of step i ("" where there is none).
  virtual std::string source(size_t) const { return ""; }
  virtual std::vector<uint32_t> spirv(size_t) const { return {}; }
  // Whether an output that would take over a leaf's memory must get a copy of the leaf instead, so that an interrupted
  // run leaves all leaves unchanged.
  virtual bool wants_copy(int32_t output) const { return static_cast<void>(output), false; }
  virtual int64_t bytes() const = 0;  // on the host, approximate
};

// A failure is one of 64 bits of a device. A kernel whose check fails sets the check's bit; a write does nothing if a bit
// of its mask is set. Who hands out bits (engine/run_status.hpp) gives none twice while it may matter.
constexpr uint64_t kKnownFailure = uint64_t{1} << 62;  // set from the beginning
struct Report {
  int bit;
  uint32_t reporter;     // see report_word()
  int64_t index, bound;  // of the first index out of range
};
struct Status {
  uint32_t done = 0;  // the last run that has finished, by RunArguments::run
  std::vector<Report> reports;
};
constexpr int kReportShift = 8;
inline uint64_t report_word(int bit, uint32_t reporter) {
  return static_cast<uint64_t>(bit) | uint64_t{reporter} << kReportShift;
}

struct RunArguments {
  const BufferRef* leaves = nullptr;   // Plan::leaves
  const BufferRef* outputs = nullptr;  // Plan::outputs
  const int64_t* offsets = nullptr;    // Plan::starts, in elements
  const Number* numbers = nullptr;     // Plan::numbers
  // Of a run that checks, or whose writes look at failures: its number, the bits of its checks, and for each node of the
  // log that is one of Instance::checks its report_word(), for each that is one of Instance::guards its mask.
  uint32_t run = 0;
  uint64_t own = 0;
  const uint64_t* nodes = nullptr;
  bool fresh = false;        // no failure of an earlier run counts any more
  bool to_the_end = false;   // must not be interrupted: the work that it belongs to has begun
  bool ready = false;        // get_ready() was called with the others
  Status* status = nullptr;  // of a CPU: gets what the run's checks report. A GPU's is taken later, by take_status()
};

// Bytes on their way to the host.
class Readback {
 public:
  virtual ~Readback() = default;
  virtual const std::byte* wait() = 0;  // returns when they are there. Call without the GIL
  virtual bool ready() = 0;             // whether wait() would return at once
};

// Work outside plans, in one submission: bytes copied in, launches of a custom kernel, each after the previous one
// has finished, and bytes copied out.
struct Job {
  struct Piece {
    const void* from;
    size_t bytes;
  };
  struct Launch {
    std::vector<uint64_t> words;  // the argument block
    uint32_t groups;
    uint32_t variant = 0;
  };
  struct Wanted {
    BufferRef from;
    size_t at, bytes;
  };
  std::string kernel;                           // shaders/KERNEL.comp
  std::vector<std::vector<uint32_t>> variants;  // specialization constants
  BufferRef to;
  std::vector<Piece> pieces;  // copied to `to`, one after the other from its beginning
  std::vector<Launch> launches;
  std::vector<Wanted> wanted;  // copied out one after the other
};

// Where a buffer lies in a block of memory that another driver of the same GPU can open.
struct ExternalMemory {
  uint64_t block = 0;  // a number that no other block ever has; 0: the other driver cannot open it
  size_t at = 0;       // bytes before the buffer
  size_t block_bytes = 0;
  bool dedicated = false;  // the block is one allocation for this buffer
};

// Bytes that are copied from one buffer of a device to another.
struct BufferCopy {
  BufferRef from, to;
  size_t from_at, to_at, bytes;
};

class Device {
 public:
  virtual ~Device() = default;
  virtual DeviceInfo info() const = 0;
  virtual const Features& features() const = 0;
  virtual DeviceStats& stats() = 0;
  // Of the device's memory, what the driver (CPU: the system) has given and not got back.
  virtual int64_t bytes_reserved() { return stats().bytes_live + stats().bytes_cached; }

  // OutOfMemoryError after the caches were freed and one retry. Contents are undefined. `to_fill`: upload() comes next.
  virtual BufferRef allocate(size_t bytes, bool to_fill = false) = 0;
  virtual void upload(const BufferRef& to, const void* from, size_t bytes) = 0;
  // Waits for the work that writes `from`, then copies bytes [offset, offset + bytes). Call without the GIL.
  virtual void download(void* to, const BufferRef& from, size_t offset, size_t bytes) = 0;

  // Everything that may fail for lack of memory or in a compiler happens here, not in run(). Called once for each plan.
  // `later`: its kernels may be compiled while the caller goes on; a run waits for them, and those behind it for their
  // turn. A device that cannot compile one of them then is lost.
  virtual std::shared_ptr<Prepared> prepare(std::shared_ptr<const Plan> plan, bool later = false) = 0;
  // Submits without waiting (CPU: runs). The arguments are copied; buffers are kept until the work is done.
  virtual void run(Prepared& plan, const RunArguments& arguments) = 0;
  // Does of a later run() what can be done while something else is waited for.
  virtual void get_ready(Prepared&, const RunArguments&) {}
  // Submits without waiting. Everything is copied. nullptr: nothing is wanted. Only GPUs run jobs.
  virtual std::shared_ptr<Readback> run_job(const Job& job);
  // Waits until there is room for another submission. Call without the engine lock, so that a device that hangs blocks
  // only its own users. DeviceTimeoutError, DeviceLostError.
  virtual void wait_for_room() {}
  // Waits for all submitted work. DeviceTimeoutError, DeviceLostError.
  virtual void wait() = 0;
  virtual bool is_idle() { return true; }  // it computes nothing; copies to it may still be under way
  // The same when the process ends: waits no longer than this, whatever becomes of the work.
  virtual void wait_at_exit(std::chrono::milliseconds) noexcept {}
  // What a GPU's finished runs have reported since the last call.
  virtual Status take_status() = 0;
  virtual void empty_cache() = 0;
  // New memory can be opened by another driver of the same GPU, from now on. `freed` hears of each such block before it
  // goes. Returns why the device cannot; "": it can.
  virtual std::string make_external(std::function<void(uint64_t block)> freed);
  virtual ExternalMemory external_memory(const BufferRef&) { return {}; }
  // A file descriptor of the buffer's block, which belongs to the caller.
  virtual int open_external(const BufferRef& buffer);
  // A buffer of memory that the other driver has made, which stays when that closes it. On return the file descriptor
  // belongs to the device.
  virtual BufferRef import_external(int file, size_t bytes);
  // Submits, without waiting, the copies and then the end of this driver's use of the buffers. Once that is done, the
  // other driver may use them.
  virtual void hand_over(const std::vector<BufferRef>&, const std::vector<BufferCopy>&) {}
  // The other driver has done with them: whatever is submitted next begins with the buffers' return and the copies.
  virtual void take_back(const std::vector<BufferRef>&, const std::vector<BufferCopy>&) {}
  // Whether the device has stopped answering: every call but recover() then raises.
  virtual bool lost() const { return false; }
  // Opens a lost device anew. Everything made before is gone: buffers (`gone`), prepared plans, reports.
  virtual void recover() {}
};

// The CPU. Never fails.
Device& cpu_device();

// GPUs, in order: discrete, integrated, virtual, software (only with SPIROGRAD_ALLOW_CPU_VULKAN=1). The first call
// loads Vulkan; nothing before does. Never throws because there is no GPU: `reason` then says why.
struct GpuList {
  std::vector<DeviceInfo> devices;
  std::string reason, remedy;
};
const GpuList& list_gpus();
// DeviceLostError for a buffer whose device was opened anew since.
void raise_if_gone(const char* op, const Buffer& buffer);
// One GPU, opened on first use, the same object for ever. DeviceUnavailableError, ForkError.
Device& gpu_device(int index);

// Set when the process is about to end and waits for working threads: long preparations then give up.
inline std::atomic<bool> process_ends{false};
// Set then, if another thread did not leave the engine in time.
inline std::atomic<bool> thread_remains{false};

}  // namespace sg
