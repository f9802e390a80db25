// FAKE_DRIVER_LOG=file: a line for each pipeline, with the driver's answer (0: it compiled) and the milliseconds it took.
#include <chrono>
#include <cstdio>

#include "fake.hpp"

namespace fake {
namespace {

PFN_vkCreateComputePipelines real_create;
VkResult VKAPI_CALL create(VkDevice device, VkPipelineCache cache, uint32_t count,
                           const VkComputePipelineCreateInfo* infos, const VkAllocationCallbacks* memory,
                           VkPipeline* out) {
  const auto begin = std::chrono::steady_clock::now();
  const VkResult result = real_create(device, cache, count, infos, memory, out);
  const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - begin;
  if (std::FILE* log = std::fopen(variable("FAKE_DRIVER_LOG").c_str(), "a")) {
    std::fprintf(log, "pipeline %d %.1f\n", result, took.count());
    std::fclose(log);
  }
  return result;
}

}  // namespace

PFN_vkVoidFunction pipelines_hook(const char* name, PFN_vkVoidFunction real) {
  if (variable("FAKE_DRIVER_LOG").empty()) return nullptr;
  static const Hook hooks[] = {hook("vkCreateComputePipelines", &create, real_create)};
  return find(hooks, name, real);
}

}  // namespace fake
