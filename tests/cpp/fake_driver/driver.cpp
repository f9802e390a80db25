// Owns the entry points that the Vulkan loader calls in a driver, and the real driver behind them. Knows no limits.
#include <dlfcn.h>

#include <cstdio>

#include "fake.hpp"

namespace {

void* real_symbol(const char* name) {
  static void* driver = [] {
    void* opened = dlopen(fake::variable("FAKE_DRIVER_REAL").c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!opened) std::fprintf(stderr, "fake driver: FAKE_DRIVER_REAL: %s\n", dlerror());
    return opened;
  }();
  return driver ? dlsym(driver, name) : nullptr;
}

template <class F>
F real(const char* name) {
  return reinterpret_cast<F>(real_symbol(name));
}

PFN_vkGetDeviceProcAddr real_device_function;
PFN_vkVoidFunction VKAPI_CALL device_function(VkDevice device, const char* name);

PFN_vkVoidFunction hooked(const char* name, PFN_vkVoidFunction function) {
  if (!function) return nullptr;
  static const fake::Hook own[] = {fake::hook("vkGetDeviceProcAddr", &device_function, real_device_function)};
  if (const auto mine = fake::find(own, name, function)) return mine;
  for (const auto& family : {fake::limits_hook, fake::submissions_hook, fake::pipelines_hook})
    if (const auto mine = family(name, function)) return mine;
  return function;
}

PFN_vkVoidFunction VKAPI_CALL device_function(VkDevice device, const char* name) {
  return hooked(name, real_device_function(device, name));
}

}  // namespace

extern "C" {
__attribute__((visibility("default"))) VkResult VKAPI_CALL vk_icdNegotiateLoaderICDInterfaceVersion(uint32_t* version) {
  const auto negotiate = real<VkResult(VKAPI_PTR*)(uint32_t*)>("vk_icdNegotiateLoaderICDInterfaceVersion");
  return negotiate ? negotiate(version) : VK_ERROR_INCOMPATIBLE_DRIVER;
}

__attribute__((visibility("default"))) PFN_vkVoidFunction VKAPI_CALL vk_icdGetInstanceProcAddr(VkInstance instance,
                                                                                               const char* name) {
  const auto get = real<PFN_vkGetInstanceProcAddr>("vk_icdGetInstanceProcAddr");
  return get ? hooked(name, get(instance, name)) : nullptr;
}

__attribute__((visibility("default"))) PFN_vkVoidFunction VKAPI_CALL
vk_icdGetPhysicalDeviceProcAddr(VkInstance instance, const char* name) {
  const auto get = real<PFN_vkGetInstanceProcAddr>("vk_icdGetPhysicalDeviceProcAddr");
  return get ? hooked(name, get(instance, name)) : nullptr;
}
}
