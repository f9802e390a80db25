// Gathers without a kernel. Between two kernels of Vulkan, a kernel of CUDA costs two switches of the GPU's context,
// 0.35 ms on an H200; copies between GPUs cost none. NCCL makes them (2.28, CUDA 12.5, one machine) in memory that all
// members have opened, which is CUDA's and Vulkan's at once: a window, with a row for each member.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "device/device.hpp"
#include "exchange/group.hpp"
#include "exchange/nccl/cuda.hpp"
#include "exchange/nccl/library.hpp"

namespace sg {

class Copies {
 public:
  static constexpr size_t kUnit = 16;  // rows and their parts are multiples of so many bytes
  Copies(const Nccl& nccl, Cuda& cuda, const Group& group)
      : nccl_(nccl), cuda_(cuda), works_(nccl.make_window && cuda.has_copy_batches() && group.is_on_one_machine()) {}
  ~Copies();

  // Whether all members better get so many bytes of each than have them added by a kernel.
  bool takes(const Group& group, size_t bytes) const {
    return works_ && bytes * static_cast<size_t>(group.size()) <= kMost;
  }
  // The window's memory, if it has so many bytes, else null.
  BufferRef window(size_t bytes) const;
  // One of so many bytes, for later batches. All members come, and have it, or none of them asks again.
  void open_window(Device& device, Group& group, size_t bytes);
  // Of rows of so many bytes, the one with the member's number is there. On the stream; all members have met.
  void gather(int member, size_t row) const;
  // Returns when the stream has done it.
  void wait(Group& group, const std::string& what) const;
  // A gather has failed: nothing ends copies that wait for a process that is gone, and what waits for them would not end.
  void give_up() noexcept { communicator_ = nullptr; }

 private:
  static constexpr size_t kMost = size_t{128} << 20;  // copied in the time that the switches of a kernel cost
  static constexpr size_t kLeastWindow = size_t{2} << 20;
  struct Window {
    Cuda::Shared memory;
    BufferRef buffer;
  };
  Window make(Device& device, size_t bytes) const;
  void connect(Group& group, const std::string& what);  // with the last window
  void beside(Group& group, const std::string& what, std::function<void()> work) const;
  std::function<void()> gathering(int member, size_t row) const;
  template <class F>
  void agree(Group& group, uint64_t number, const std::string& what, F work);

  const Nccl& nccl_;
  Cuda& cuda_;
  bool works_;
  // Blocks in its calls, which take a fifth of the time that those of others do, and come when all members have met.
  Nccl::Communicator communicator_ = nullptr;
  std::vector<Window> windows_;  // the last is the largest; NCCL knows all of them until the end
};

}  // namespace sg
