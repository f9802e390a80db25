// A GPU as CUDA's driver sees it: its context, a stream, and the blocks of Vulkan's memory that were opened there. The
// driver (libcuda.so.1) is loaded when it is first asked for; nothing of CUDA is needed to build. Threads: under the
// engine lock.
#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "device/device.hpp"

namespace sg {

class Cuda {
 public:
  using Address = unsigned long long;
  using Stream = void*;

  // The GPU with this UUID, which Vulkan names, too; the same object for ever. DistributedError: CUDA does not see it.
  static Cuda& of(const std::string& uuid);

  // CUDA's calls of this thread are for this GPU, until its end.
  class Current {
   public:
    explicit Current(Cuda& gpu);
    ~Current();
    Current(const Current&) = delete;
    Current& operator=(const Current&) = delete;
  };

  // Where CUDA sees the buffer, which has external memory.
  Address address(Device& device, const BufferRef& buffer, const ExternalMemory& place);
  // Before the block goes back to Vulkan's driver. CUDA closes it now, or when the stream is idle.
  void forget(uint64_t block) noexcept;
  Stream stream() const { return stream_; }
  void copy(Address to, Address from, size_t bytes);  // on the stream
  // Memory that other processes and drivers can open.
  struct Shared {
    unsigned long long handle = 0;
    Address begin = 0;
    size_t bytes = 0;
  };
  // At least so much. `file`: of the memory, for Vulkan; the caller's.
  Shared share(size_t bytes, int& file);
  void release(const Shared& memory) noexcept;
  // What the stream is asked for from here on begins when let_go() is called with the number that this returns.
  uint32_t hold();
  void let_go(uint32_t number) noexcept;
  bool idle();  // all work of the stream is done. DistributedError: it failed
  // What it does may never end: another takes its place, and nothing is closed any more, which would wait for it.
  void give_up_stream();
  bool is_stuck() const { return !closes_; }  // it did
  // Whether copies between GPUs can wait for each other without a kernel (CUDA 12.5).
  bool has_copy_batches() const;

 private:
  struct Block {
    void* memory;
    Address begin;
  };
  explicit Cuda(int device);
  static void close(const Block& block) noexcept;
  const int device_;
  void* context_ = nullptr;
  Stream stream_ = nullptr;
  uint32_t* gate_ = nullptr;  // host memory that the stream looks at: it goes on at the number that it waits for
  uint32_t held_ = 0, let_go_ = 0;
  std::map<uint64_t, Block> blocks_;
  std::vector<Block> forgotten_;  // while the stream was held: CUDA would wait for it
  bool closes_ = true;
};

}  // namespace sg
