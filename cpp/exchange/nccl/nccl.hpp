// NCCL between NVIDIA's GPUs, on the memory that Vulkan has: a group's direct Transport.
#pragma once
#include <string>

#include "device/device.hpp"
#include "exchange/group.hpp"

namespace sg {

// Makes the device's memory ready for NCCL: its tensors are made in memory that CUDA can open, from now on.
// DistributedError says what is missing. `library`: libnccl.so.2 or its path.
void prepare_nccl(DeviceId device, const std::string& library);

// A communicator for the group, whose members all call this, after prepare_nccl() of the same device. DistributedError.
void open_nccl(Group& group, DeviceId device, const std::string& library);

}  // namespace sg
