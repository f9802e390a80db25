// The seam between the engine and what moves values between processes. NCCL (RCCL, oneCCL) take the buffers of GPUs;
// host_transport.cpp takes any and goes through the host.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "device/device.hpp"
#include "exchange/group.hpp"
#include "kernel/collective.hpp"

namespace sg {

// One collective of a batch, and the memory of this process that it reads and writes. `count`: what Collective::Kind
// calls n.
struct Part {
  Collective what;
  DType dtype = DType::float32;
  int64_t count = 0;
  BufferRef in, out;
  size_t in_at = 0, out_at = 0;  // bytes
};

class Transport {
 public:
  virtual ~Transport() = default;
  // All parts are of one group, and all members come with the same ones. The device has computed all inputs. On return
  // the outputs are there, or will be before anything that the device is asked for later.
  virtual void run(Device& device, Group& group, const std::vector<Part>& parts, const std::string& what) = 0;
};

// Through host memory and the group's channel.
Transport& host_transport();

}  // namespace sg
