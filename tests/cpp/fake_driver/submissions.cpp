// FAKE_DRIVER_SUBMISSIONS=skip: a submission is done at once and nothing runs. For drivers without their hardware, whose
// submissions never end. Memory keeps what was in it, so results mean nothing.
#include <cstring>
#include <map>
#include <mutex>

#include "fake.hpp"

namespace fake {
namespace {

std::mutex mutex;
std::map<VkSemaphore, uint64_t> timelines;

void reach(VkSemaphore timeline, uint64_t value) {
  const std::lock_guard lock(mutex);
  timelines[timeline] = value;
}

PFN_vkCreateSemaphore real_create;
VkResult VKAPI_CALL create(VkDevice device, const VkSemaphoreCreateInfo* info, const VkAllocationCallbacks* memory,
                           VkSemaphore* out) {
  const VkResult result = real_create(device, info, memory, out);
  if (result == VK_SUCCESS) reach(*out, 0);
  return result;
}

PFN_vkQueueSubmit2 real_submit;
VkResult VKAPI_CALL submit(VkQueue, uint32_t count, const VkSubmitInfo2* infos, VkFence) {
  for (uint32_t i = 0; i < count; ++i)
    for (uint32_t s = 0; s < infos[i].signalSemaphoreInfoCount; ++s)
      reach(infos[i].pSignalSemaphoreInfos[s].semaphore, infos[i].pSignalSemaphoreInfos[s].value);
  return VK_SUCCESS;
}

PFN_vkGetSemaphoreCounterValue real_value;
VkResult VKAPI_CALL value(VkDevice, VkSemaphore timeline, uint64_t* out) {
  const std::lock_guard lock(mutex);
  *out = timelines[timeline];
  return VK_SUCCESS;
}

PFN_vkWaitSemaphores real_wait;
VkResult VKAPI_CALL wait(VkDevice, const VkSemaphoreWaitInfo*, uint64_t) { return VK_SUCCESS; }

PFN_vkDeviceWaitIdle real_idle;
VkResult VKAPI_CALL idle(VkDevice) { return VK_SUCCESS; }

PFN_vkGetQueryPoolResults real_results;
VkResult VKAPI_CALL results(VkDevice, VkQueryPool, uint32_t, uint32_t, size_t size, void* data, VkDeviceSize,
                            VkQueryResultFlags) {
  std::memset(data, 0, size);
  return VK_SUCCESS;
}

}  // namespace

PFN_vkVoidFunction submissions_hook(const char* name, PFN_vkVoidFunction real) {
  if (variable("FAKE_DRIVER_SUBMISSIONS") != "skip") return nullptr;
  static const Hook hooks[] = {hook("vkCreateSemaphore", &create, real_create),
                               hook("vkQueueSubmit2", &submit, real_submit),
                               hook("vkGetSemaphoreCounterValue", &value, real_value),
                               hook("vkWaitSemaphores", &wait, real_wait),
                               hook("vkDeviceWaitIdle", &idle, real_idle),
                               hook("vkGetQueryPoolResults", &results, real_results)};
  return find(hooks, name, real);
}

}  // namespace fake
