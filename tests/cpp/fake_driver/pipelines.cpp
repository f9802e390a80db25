// FAKE_DRIVER_LOG=file: a line for each pipeline, with the driver's answer (0: it compiled), the milliseconds it took, and
// how many threads a subgroup must have (0: any number).
#include <chrono>
#include <cstdio>

#include "fake.hpp"

namespace fake {
namespace {

uint32_t required_threads(const VkComputePipelineCreateInfo& info) {
  for (auto* s = static_cast<const VkBaseInStructure*>(info.stage.pNext); s; s = s->pNext)
    if (s->sType == VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_REQUIRED_SUBGROUP_SIZE_CREATE_INFO)
      return reinterpret_cast<const VkPipelineShaderStageRequiredSubgroupSizeCreateInfo*>(s)->requiredSubgroupSize;
  return 0;
}

PFN_vkCreateComputePipelines real_create;
VkResult VKAPI_CALL create(VkDevice device, VkPipelineCache cache, uint32_t count,
                           const VkComputePipelineCreateInfo* infos, const VkAllocationCallbacks* memory,
                           VkPipeline* out) {
  const auto begin = std::chrono::steady_clock::now();
  const VkResult result = real_create(device, cache, count, infos, memory, out);
  const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - begin;
  if (std::FILE* log = std::fopen(variable("FAKE_DRIVER_LOG").c_str(), "a")) {
    for (uint32_t i = 0; i < count; ++i)
      std::fprintf(log, "pipeline %d %.1f %u\n", result, took.count(), required_threads(infos[i]));
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
