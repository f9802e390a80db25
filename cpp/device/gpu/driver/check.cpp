// Owns the words for each VkResult. Knows neither devices nor plans.
#include "device/gpu/driver/check.hpp"

namespace sg {

const char* name_of(VkResult result) {
  switch (result) {
#define SG_RESULT(name) \
  case name:            \
    return #name
    SG_RESULT(VK_SUCCESS);
    SG_RESULT(VK_NOT_READY);
    SG_RESULT(VK_TIMEOUT);
    SG_RESULT(VK_INCOMPLETE);
    SG_RESULT(VK_ERROR_OUT_OF_HOST_MEMORY);
    SG_RESULT(VK_ERROR_OUT_OF_DEVICE_MEMORY);
    SG_RESULT(VK_ERROR_INITIALIZATION_FAILED);
    SG_RESULT(VK_ERROR_DEVICE_LOST);
    SG_RESULT(VK_ERROR_MEMORY_MAP_FAILED);
    SG_RESULT(VK_ERROR_LAYER_NOT_PRESENT);
    SG_RESULT(VK_ERROR_EXTENSION_NOT_PRESENT);
    SG_RESULT(VK_ERROR_FEATURE_NOT_PRESENT);
    SG_RESULT(VK_ERROR_INCOMPATIBLE_DRIVER);
    SG_RESULT(VK_ERROR_TOO_MANY_OBJECTS);
    SG_RESULT(VK_ERROR_FORMAT_NOT_SUPPORTED);
    SG_RESULT(VK_ERROR_FRAGMENTED_POOL);
    SG_RESULT(VK_ERROR_UNKNOWN);
    SG_RESULT(VK_ERROR_OUT_OF_POOL_MEMORY);
    SG_RESULT(VK_ERROR_FRAGMENTATION);
    SG_RESULT(VK_ERROR_INVALID_OPAQUE_CAPTURE_ADDRESS);
    SG_RESULT(VK_ERROR_INVALID_SHADER_NV);
    SG_RESULT(VK_ERROR_VALIDATION_FAILED_EXT);
#undef SG_RESULT
    default:
      return "an unknown VkResult";
  }
}

void throw_vk(VkResult result, const std::string& what) {
  const std::string text = std::string(name_of(result)) + " (" + std::to_string(static_cast<int>(result)) + ")";
  switch (result) {
    case VK_ERROR_DEVICE_LOST:
      throw DriverLostError(what + " answered " + name_of(result));
    case VK_ERROR_OUT_OF_HOST_MEMORY:
    case VK_ERROR_OUT_OF_DEVICE_MEMORY:
    case VK_ERROR_OUT_OF_POOL_MEMORY:
    case VK_ERROR_FRAGMENTATION:
    case VK_ERROR_MEMORY_MAP_FAILED:
      fail<OutOfMemoryError>(what, "the driver is out of memory, " + text, "free tensors or use smaller batches");
    case VK_ERROR_INVALID_SHADER_NV:
      fail<KernelCompileError>(what, "the driver refused the shader, " + text,
                               "update the driver, or report the kernel");
    default:
      fail<Error>(what, "the driver answered " + text, "update the driver; SPIROGRAD_VALIDATION=core may tell more");
  }
}

}  // namespace sg
