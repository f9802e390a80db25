// Owns the rules of SPIROGRAD_FAULTS and the functions of volk's table that follow them. Does nothing unless the
// variable is set; knows no plans.
#include "device/gpu/driver/faults.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <optional>
#include <type_traits>

#include "base/error.hpp"
#include "base/log.hpp"
#include "device/gpu/driver/check.hpp"
#include "device/gpu/driver/validation.hpp"

namespace sg {
namespace {

// Every function that we or VMA call and that answers a VkResult. A test compares the list with the source.
#define SG_FALLIBLE(X)                                                  \
  X(vkEnumerateInstanceExtensionProperties)                             \
  X(vkEnumerateInstanceLayerProperties)                                 \
  X(vkCreateInstance)                                                   \
  X(vkCreateDebugUtilsMessengerEXT)                                     \
  X(vkEnumeratePhysicalDevices)                                         \
  X(vkEnumerateDeviceExtensionProperties)                               \
  X(vkGetPhysicalDeviceCalibrateableTimeDomainsKHR)                     \
  X(vkGetPhysicalDeviceCalibrateableTimeDomainsEXT)                     \
  X(vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR)                  \
  X(vkGetPhysicalDeviceCooperativeMatrixFlexibleDimensionsPropertiesNV) \
  X(vkCreateDevice)                                                     \
  X(vkSetDebugUtilsObjectNameEXT)                                       \
  X(vkCreateSemaphore)                                                  \
  X(vkCreateCommandPool)                                                \
  X(vkAllocateCommandBuffers)                                           \
  X(vkResetCommandPool)                                                 \
  X(vkResetCommandBuffer)                                               \
  X(vkBeginCommandBuffer)                                               \
  X(vkEndCommandBuffer)                                                 \
  X(vkQueueSubmit2)                                                     \
  X(vkGetSemaphoreCounterValue)                                         \
  X(vkWaitSemaphores)                                                   \
  X(vkCreateShaderModule)                                               \
  X(vkCreatePipelineLayout)                                             \
  X(vkCreatePipelineCache)                                              \
  X(vkGetPipelineCacheData)                                             \
  X(vkCreateComputePipelines)                                           \
  X(vkGetPipelineExecutableStatisticsKHR)                               \
  X(vkCreateQueryPool)                                                  \
  X(vkGetQueryPoolResults)                                              \
  X(vkCreateDescriptorSetLayout)                                        \
  X(vkCreateDescriptorPool)                                             \
  X(vkResetDescriptorPool)                                              \
  X(vkAllocateDescriptorSets)                                           \
  X(vkAllocateMemory)                                                   \
  X(vkGetMemoryFdKHR)                                                   \
  X(vkMapMemory)                                                        \
  X(vkFlushMappedMemoryRanges)                                          \
  X(vkInvalidateMappedMemoryRanges)                                     \
  X(vkBindBufferMemory)                                                 \
  X(vkBindBufferMemory2)                                                \
  X(vkCreateBuffer)
// The functions that free what those above allocate.
#define SG_INFALLIBLE(X)   \
  X(vkDestroyShaderModule) \
  X(vkDestroyBuffer)       \
  X(vkFreeMemory)          \
  X(vkDestroyDevice)

enum Function : size_t {
#define SG_NUMBER(name) k_##name,
  SG_FALLIBLE(SG_NUMBER) kFallible,
  SG_INFALLIBLE(SG_NUMBER)
#undef SG_NUMBER
};
constexpr const char* kNames[] = {
#define SG_NAME(name) #name,
    SG_FALLIBLE(SG_NAME)
#undef SG_NAME
};
constexpr size_t kHost = kFallible;

struct Rule {
  enum class Repeat { once, same, any };
  size_t function = 0;
  int64_t from = 0;
  Repeat repeat = Repeat::once;
  VkResult result = VK_SUCCESS;
};

struct State {
  std::mutex mutex;  // all below
  std::vector<Rule> rules;
  std::array<int64_t, kFallible + 1> counts{};
  std::vector<size_t> calls;
  std::optional<VkResult> spell;  // what every call answers since a rule with "!"
  VkDevice device = VK_NULL_HANDLE;
  int64_t fired = 0, host_blocks = 0;
};
State& state() {
  static auto* all = new State;
  return *all;
}

// ---- rules -----------------------------------------------------------------------------------------------------------
[[noreturn]] void unreadable(const std::string& rule) {
  fail<ValueError>("SPIROGRAD_FAULTS", "'" + rule + "' is no rule", "write vkQueueSubmit2@3=DEVICE_LOST or host@7");
}

VkResult result_of(const std::string& rule, const std::string& word) {
  for (int r = -20; r <= 5; ++r) {
    const auto result = static_cast<VkResult>(r);
    const std::string name = name_of(result);
    if (name == "VK_" + word || name == "VK_ERROR_" + word) return result;
  }
  for (VkResult r : {VK_ERROR_OUT_OF_POOL_MEMORY, VK_ERROR_FRAGMENTATION, VK_ERROR_INVALID_SHADER_NV,
                     VK_ERROR_INVALID_OPAQUE_CAPTURE_ADDRESS})
    if (name_of(r) == "VK_ERROR_" + word) return r;
  unreadable(rule);
}

Rule parse(const std::string& text) {
  const size_t at = text.find('@'), equals = std::min(text.find('='), text.size());
  if (at == std::string::npos || at > equals) unreadable(text);
  Rule rule;
  const std::string function = text.substr(0, at);
  std::string number = text.substr(at + 1, equals - at - 1);
  rule.function = static_cast<size_t>(std::find(std::begin(kNames), std::end(kNames), function) - std::begin(kNames));
  if (rule.function == kFallible && function != "host") unreadable(text);
  if (!number.empty() && (number.back() == '+' || number.back() == '!')) {
    rule.repeat = number.back() == '+' ? Rule::Repeat::same : Rule::Repeat::any;
    number.pop_back();
  }
  if (number.empty() || number.size() > 9 || number.find_first_not_of("0123456789") != std::string::npos)
    unreadable(text);
  rule.from = std::stoll(number);
  if ((rule.function == kHost) != (equals == text.size())) unreadable(text);
  if (rule.function != kHost) rule.result = result_of(text, text.substr(equals + 1));
  return rule;
}

std::vector<Rule> parse_all(const std::string& text) {
  std::vector<Rule> rules;
  if (text.empty() || text == "on") return rules;
  for (size_t at = 0; at <= text.size();) {
    const size_t end = std::min(text.find(';', at), text.size());
    rules.push_back(parse(text.substr(at, end - at)));
    at = end + 1;
  }
  return rules;
}

// What this call answers in place of the driver. Under the mutex.
std::optional<VkResult> answer_of(State& s, size_t function) {
  const int64_t count = ++s.counts[function];
  if (function != kHost && s.spell) return s.spell;
  for (const Rule& rule : s.rules) {
    if (rule.function != function || count < rule.from) continue;
    if (count > rule.from && rule.repeat != Rule::Repeat::same) continue;
    if (rule.repeat == Rule::Repeat::any) s.spell = rule.result;
    return rule.result;
  }
  return std::nullopt;
}

// A lost device does no more work, so its memory may be reused once the loss was reported.
void let_it_end(VkDevice device) {
  static std::mutex one_at_a_time;  // as Vulkan wants it; threads that compile may meet the loss, too
  const std::lock_guard lock(one_at_a_time);
  if (device && vkDeviceWaitIdle) vkDeviceWaitIdle(device);
}

std::optional<VkResult> answer(size_t function) {
  State& s = state();
  std::optional<VkResult> result;
  VkDevice device;
  {
    const std::lock_guard lock(s.mutex);
    if (function == k_vkCreateDevice) s.spell.reset();
    s.calls.push_back(function);
    result = answer_of(s, function);
    s.fired += result.has_value();
    device = s.device;
  }
  if (result == VK_ERROR_DEVICE_LOST) let_it_end(device);
  return result;
}

// ---- the driver's host memory ----------------------------------------------------------------------------------------
// Only requests inside a function that can answer that there is no memory.
thread_local bool may_refuse = false;

// Mesa 25 crashes in a layout that got no memory, and the validation layer (1.4.363) after an instance; it takes a
// refused submission for one that runs.
bool bears_refusal(size_t function) {
  static const bool layered = validation_mode() != Validation::off;
  if (layered && (function == k_vkCreateInstance || function == k_vkQueueSubmit2)) return false;
  return function != k_vkCreatePipelineLayout;
}

struct Header {  // before each block
  void* begin;
  size_t bytes;
};

void* VKAPI_CALL take(void*, size_t bytes, size_t alignment, VkSystemAllocationScope) {
  State& s = state();
  {
    const std::lock_guard lock(s.mutex);
    if (may_refuse && answer_of(s, kHost)) {
      ++s.fired;
      return nullptr;
    }
    ++s.host_blocks;
  }
  alignment = std::max(alignment, alignof(Header));
  auto* begin = static_cast<std::byte*>(std::malloc(bytes + alignment + sizeof(Header)));
  if (!begin) return nullptr;
  const auto at = reinterpret_cast<uintptr_t>(begin) + sizeof(Header);
  auto* block = reinterpret_cast<std::byte*>((at + alignment - 1) / alignment * alignment);
  const Header header{begin, bytes};
  std::memcpy(block - sizeof header, &header, sizeof header);
  return block;
}

Header header_of(void* block) {
  Header header;
  std::memcpy(&header, static_cast<std::byte*>(block) - sizeof header, sizeof header);
  return header;
}

void VKAPI_CALL give(void*, void* block) {
  if (!block) return;
  {
    const std::lock_guard lock(state().mutex);
    --state().host_blocks;
  }
  std::free(header_of(block).begin);
}

void* VKAPI_CALL grow(void* user, void* block, size_t bytes, size_t alignment, VkSystemAllocationScope scope) {
  void* larger = bytes ? take(user, bytes, alignment, scope) : nullptr;
  if (bytes && !larger) return nullptr;
  if (larger && block) std::memcpy(larger, block, std::min(bytes, header_of(block).bytes));
  give(user, block);
  return larger;
}

const VkAllocationCallbacks kHostMemory{nullptr, take, grow, give, nullptr, nullptr};

// ---- the table -------------------------------------------------------------------------------------------------------
template <class T>
T passed_on(T argument) {
  if constexpr (std::is_same_v<T, const VkAllocationCallbacks*>) return argument ? argument : &kHostMemory;
  return argument;
}

void note_device(VkDevice device) {
  const std::lock_guard lock(state().mutex);
  state().device = device;
}
template <class T>
void note_device(T) {}

// A function of the table: F is its type, `driver` what stood there before.
template <size_t kFunction, class F>
struct Intercepted;
template <size_t kFunction, class R, class First, class... More>
struct Intercepted<kFunction, R(VKAPI_PTR*)(First, More...)> {
  static inline R(VKAPI_PTR* driver)(First, More...) = nullptr;
  static VKAPI_ATTR R VKAPI_CALL call(First first, More... more) {
    if constexpr (std::is_same_v<R, VkResult>) {
      note_device(first);
      if (const std::optional<VkResult> result = answer(kFunction)) return *result;
      may_refuse = bears_refusal(kFunction);
      const VkResult result = driver(passed_on(first), passed_on(more)...);
      may_refuse = false;
      return result;
    }
    return driver(passed_on(first), passed_on(more)...);
  }
  static void install(R(VKAPI_PTR*& slot)(First, More...)) {
    if (!slot || slot == call) return;
    driver = slot;
    slot = call;
  }
};

bool wanted() { return !env("SPIROGRAD_FAULTS").empty(); }

}  // namespace

void install_faults() {
  if (!wanted()) return;
  static const bool first = [] {
    set_faults(env("SPIROGRAD_FAULTS"));
    return true;
  }();
  static_cast<void>(first);
#define SG_INSTALL(name) Intercepted<k_##name, PFN_##name>::install(name);
  SG_FALLIBLE(SG_INSTALL)
  SG_INFALLIBLE(SG_INSTALL)
#undef SG_INSTALL
}

void set_faults(const std::string& rules) {
  if (!wanted())
    fail<ValueError>("_set_faults", "there are no faults without SPIROGRAD_FAULTS", "set it to 'on' before the start");
  std::vector<Rule> parsed = parse_all(rules);
  State& s = state();
  const std::lock_guard lock(s.mutex);
  s.rules = std::move(parsed);
  s.counts = {};
  s.calls.clear();
  s.spell.reset();
  s.fired = 0;
}

FaultReport fault_report() {
  State& s = state();
  const std::lock_guard lock(s.mutex);
  FaultReport report;
  for (size_t function : s.calls) report.calls.emplace_back(kNames[function]);
  report.host_requests = s.counts[kHost];
  report.host_blocks = s.host_blocks;
  report.fired = s.fired;
  return report;
}

}  // namespace sg
