// The proxy lane, SPIROGRAD_PROXY=1: each kernel of a plan is replaced by one that binds the ranges it reads and
// writes as descriptors and touches one word of each. Synchronization validation, which sees nothing behind an
// address, can then judge the recorder's barriers. Results are garbage on purpose. Tests only.
#pragma once
#include <map>
#include <utility>
#include <vector>

#include "device/gpu/pipeline/pipeline.hpp"
#include "device/gpu/queue/queue.hpp"
#include "device/gpu/record/prepared.hpp"

namespace sg {

struct BufferRange {
  VkBuffer handle = VK_NULL_HANDLE;
  uint64_t offset = 0, bytes = 0;
};

class Proxy {
 public:
  Proxy(const Context& context, Pipelines& pipelines) : context_(context), pipelines_(pipelines) {}
  const ProxyKernel& kernel(size_t reads, size_t writes);
  void record(Slot& slot, const ProxyKernel& kernel, const std::vector<BufferRange>& reads,
              const std::vector<BufferRange>& writes) const;

 private:
  VkDescriptorSet allocate_set(Slot& slot, const ProxyKernel& kernel) const;

  const Context& context_;
  Pipelines& pipelines_;
  std::map<std::pair<size_t, size_t>, ProxyKernel> kernels_;
};

}  // namespace sg
