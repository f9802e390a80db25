// Owns the messages of the validation layer, and the settings it is asked for. Knows no plans.
#include "device/gpu/driver/validation.hpp"

#include <atomic>
#include <cstring>
#include <mutex>

#include "base/error.hpp"
#include "base/log.hpp"
#include "device/gpu/driver/check.hpp"

namespace sg {
namespace {

constexpr const char* kLayer = "VK_LAYER_KHRONOS_validation";

struct Messages {
  std::mutex mutex;
  std::string last, first_unread;
  std::atomic<int> count{0}, unread{0};
};
Messages& messages() {
  static auto* m = new Messages;  // the driver may call back during exit
  return *m;
}

// Drivers may refuse more than maxMemoryAllocationSize, and those of large GPUs do not: they are asked.
bool is_advice(const char* message) { return std::strstr(message, "is larger than maxMemoryAllocationSize"); }

VKAPI_ATTR VkBool32 VKAPI_CALL on_message(VkDebugUtilsMessageSeverityFlagBitsEXT, VkDebugUtilsMessageTypeFlagsEXT,
                                          const VkDebugUtilsMessengerCallbackDataEXT* data, void*) {
  const char* message = data && data->pMessage ? data->pMessage : "";
  if (is_advice(message)) return VK_FALSE;
  Messages& m = messages();
  const std::lock_guard lock(m.mutex);
  m.last = message;
  if (m.unread == 0) m.first_unread = m.last;
  ++m.count;
  ++m.unread;
  debug(1, "validation: " + m.last);
  return VK_FALSE;
}

VkDebugUtilsMessengerCreateInfoEXT messenger() {
  VkDebugUtilsMessengerCreateInfoEXT info{};
  info.sType = VK_STRUCTURE_TYPE_DEBUG_UTILS_MESSENGER_CREATE_INFO_EXT;
  info.messageSeverity = VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT;
  info.messageType = VK_DEBUG_UTILS_MESSAGE_TYPE_VALIDATION_BIT_EXT;
  info.pfnUserCallback = on_message;
  return info;
}

bool layer_offers(const char* extension) {
  uint32_t n = 0;
  if (vkEnumerateInstanceExtensionProperties(kLayer, &n, nullptr) < 0) return false;
  std::vector<VkExtensionProperties> all(n);
  if (vkEnumerateInstanceExtensionProperties(kLayer, &n, all.data()) < 0) return false;
  for (const auto& e : all)
    if (!std::strcmp(e.extensionName, extension)) return true;
  return false;
}

bool layer_present() {
  uint32_t n = 0;
  if (vkEnumerateInstanceLayerProperties(&n, nullptr) < 0) return false;
  std::vector<VkLayerProperties> all(n);
  if (vkEnumerateInstanceLayerProperties(&n, all.data()) < 0) return false;
  for (const auto& l : all)
    if (!std::strcmp(l.layerName, kLayer)) return true;
  return false;
}

}  // namespace

Validation validation_mode() {
  const std::string word = env("SPIROGRAD_VALIDATION");
  if (word.empty() || word == "0") return Validation::off;
  if (word == "core" || word == "1") return Validation::core;
  if (word == "sync") return Validation::sync;
  if (word == "gpu") return Validation::gpu;
  fail<ValueError>("SPIROGRAD_VALIDATION", "'" + word + "' is no mode", "use core, sync or gpu");
}

ValidationSetup::ValidationSetup(Validation mode) {
  if (mode == Validation::off) return;
  if (!layer_present()) {
    missing_ = std::string("SPIROGRAD_VALIDATION asks for ") + kLayer + ", which is not installed";
    return;
  }
  layers_ = {kLayer};
  extensions_ = {VK_EXT_DEBUG_UTILS_EXTENSION_NAME};
  messenger_info_ = messenger();
  next_ = &messenger_info_;
  if (layer_offers(VK_EXT_LAYER_SETTINGS_EXTENSION_NAME))
    use_settings(mode);
  else
    use_features(mode);
}

// One check at a time: together they are slow, and GPU-assisted checks trip over the others' findings.
void ValidationSetup::use_settings(Validation mode) {
  static const VkBool32 on = VK_TRUE, off = VK_FALSE;
  const auto set = [this](const char* key, bool value) {
    settings_.push_back({kLayer, key, VK_LAYER_SETTING_TYPE_BOOL32_EXT, 1, value ? &on : &off});
  };
  set("validate_core", mode == Validation::core);
  set("thread_safety", mode == Validation::core);
  set("validate_sync", mode == Validation::sync);
  set("syncval_shader_accesses_heuristic", mode == Validation::sync);
  set("gpuav_enable", mode == Validation::gpu);
  set("gpuav_safe_mode", mode == Validation::gpu);  // a bad access is reported instead of done
  settings_info_.sType = VK_STRUCTURE_TYPE_LAYER_SETTINGS_CREATE_INFO_EXT;
  settings_info_.pNext = next_;
  settings_info_.settingCount = static_cast<uint32_t>(settings_.size());
  settings_info_.pSettings = settings_.data();
  extensions_.push_back(VK_EXT_LAYER_SETTINGS_EXTENSION_NAME);
  next_ = &settings_info_;
}

// Layers before 1.3.272 know no settings extension.
void ValidationSetup::use_features(Validation mode) {
  if (mode == Validation::core) return;
  if (mode == Validation::sync) {
    enables_ = {VK_VALIDATION_FEATURE_ENABLE_SYNCHRONIZATION_VALIDATION_EXT};
  } else {
    enables_ = {VK_VALIDATION_FEATURE_ENABLE_GPU_ASSISTED_EXT,
                VK_VALIDATION_FEATURE_ENABLE_GPU_ASSISTED_RESERVE_BINDING_SLOT_EXT};
  }
  disables_ = {VK_VALIDATION_FEATURE_DISABLE_CORE_CHECKS_EXT};
  features_info_.sType = VK_STRUCTURE_TYPE_VALIDATION_FEATURES_EXT;
  features_info_.pNext = next_;
  features_info_.enabledValidationFeatureCount = static_cast<uint32_t>(enables_.size());
  features_info_.pEnabledValidationFeatures = enables_.data();
  features_info_.disabledValidationFeatureCount = static_cast<uint32_t>(disables_.size());
  features_info_.pDisabledValidationFeatures = disables_.data();
  extensions_.push_back(VK_EXT_VALIDATION_FEATURES_EXTENSION_NAME);
  next_ = &features_info_;
}

void listen(VkInstance instance) {
  const VkDebugUtilsMessengerCreateInfoEXT info = messenger();
  VkDebugUtilsMessengerEXT handle = VK_NULL_HANDLE;  // lives as long as the instance: as long as the process
  vk_check(vkCreateDebugUtilsMessengerEXT(instance, &info, nullptr, &handle), "vkCreateDebugUtilsMessengerEXT");
}

int validation_messages() { return messages().count; }

std::string last_validation_message() {
  const std::lock_guard lock(messages().mutex);
  return messages().last;
}

void throw_validation() {
  Messages& m = messages();
  if (m.unread.load(std::memory_order_relaxed) == 0) return;
  const std::lock_guard lock(m.mutex);
  const int unread = m.unread.exchange(0);
  if (unread == 0) return;
  const std::string more = unread > 1 ? " (and " + std::to_string(unread - 1) + " more)" : "";
  fail<Error>("validation", m.first_unread + more, "this is a bug in spirograd or its environment: please report it");
}

}  // namespace sg
