// Memory that all members copy to and from without a kernel: Vulkan's, CUDA's and NCCL's at once. Between two kernels of
// Vulkan, a kernel of CUDA costs two switches of the GPU's context; copies between GPUs cost none.
#pragma once
#include "device/device.hpp"
#include "exchange/nccl/cuda.hpp"

namespace sg {

class CopyWindow {
 public:
  CopyWindow(Cuda& cuda, Device& device, size_t bytes);
  ~CopyWindow() { cuda_.release(memory_); }
  CopyWindow(const CopyWindow&) = delete;
  CopyWindow& operator=(const CopyWindow&) = delete;

  const BufferRef& buffer() const { return buffer_; }
  Cuda::Address begin() const { return memory_.begin; }
  size_t bytes() const { return memory_.bytes; }

 private:
  Cuda& cuda_;
  Cuda::Shared memory_;
  BufferRef buffer_;
};

}  // namespace sg
