// What all devices share, and what stands in for GPUs in a build without them.
#include "device/device.hpp"

#include "base/error.hpp"

namespace sg {

std::shared_ptr<Readback> Device::run_job(const Job& job) { fail<Error>(job.kernel, "the CPU runs no shaders"); }

std::string Device::make_external(std::function<void(uint64_t)>) { return "only GPUs have memory for other drivers"; }
int Device::open_external(const BufferRef& buffer) { fail<Error>("exchange", "the memory of " + buffer->device.str()); }
BufferRef Device::import_external(int, size_t) { fail<Error>("exchange", "only GPUs take another driver's memory"); }

void raise_if_gone(const char* op, const Buffer& buffer) {
  if (buffer.gone)
    fail<DeviceLostError>(op, "the values were on " + buffer.device.str() + " when it was lost, and are gone",
                          "load or compute them again");
}

#if !SPIROGRAD_GPU
const GpuList& list_gpus() {
  static const GpuList none{{}, "this build has no Vulkan device", "build with -DSPIROGRAD_GPU=ON"};
  return none;
}
Device& gpu_device(int index) {
  fail<DeviceUnavailableError>("gpu:" + std::to_string(index), list_gpus().reason, list_gpus().remedy);
}
#endif

}  // namespace sg
