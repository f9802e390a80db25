// NCCL between NVIDIA's GPUs, on the memory that Vulkan has: a group's direct Transport.
#pragma once
#include <string>

#include "device/device.hpp"
#include "exchange/group.hpp"

namespace sg {

// Has the GPU's tensors go by NCCL in this group, whose members all call this, each with a GPU of its own. New tensors are
// then made in memory that CUDA can open. `library`: libnccl.so.2 or its path. `lacks`: why this process cannot, if the
// caller knows already. Returns why not, if a member lacks something: the group is as before. DistributedError if NCCL
// itself cannot: the group is broken.
std::string open_nccl(Group& group, DeviceId device, const std::string& library, const std::string& lacks);

}  // namespace sg
