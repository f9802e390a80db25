// The seam between the engine and what moves values between processes. nccl/ takes the buffers of NVIDIA's GPUs (RCCL and
// oneCCL would be its neighbours); host_transport.cpp takes any and goes through the host.
#pragma once
#include <functional>
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

// Elements of the input and the output of this member.
int64_t inputs_of(const Part& part, const Group& group);
int64_t outputs_of(const Part& part, const Group& group);

// A batch that this process has made ready.
class Batch {
 public:
  virtual ~Batch() = default;
  // Whether the batch has already submitted all its work to the device, so that later work can be prepared while the
  // batch waits; otherwise run() must come first. The device may still be computing the inputs.
  virtual bool give_way() { return false; }
  // All members come with the same batch, and the device has computed all inputs. On return the outputs are there, or
  // will be before anything that the device is asked for later. `meanwhile` may be called, once, before a wait.
  virtual void run(const std::string& what, const std::function<void()>& meanwhile) = 0;
};

class Transport {
 public:
  virtual ~Transport() = default;
  virtual const char* name() const = 0;  // for messages
  // Whether it has a way for these. All members answer the same for the same collectives.
  virtual bool takes(DeviceId device, const std::vector<Part>& parts) const = 0;
  // Whether all members better get so many bytes of each and add them up themselves than have them added.
  virtual bool rather_gathers(const Group&, size_t) const { return false; }
  // What may fail for this process alone, so that the others hear of it when they meet. All parts are of one group; they
  // outlive the batch. The device may still be computing the inputs.
  virtual std::unique_ptr<Batch> prepare(Device& device, Group& group, const std::vector<Part>& parts) = 0;
  // Members met, and one has failed or calls something else: nothing that was prepared takes place, in any of them.
  virtual void cancel() noexcept {}
};

// Through host memory and the group's channel.
Transport& host_transport();

}  // namespace sg
