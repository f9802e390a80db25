// The Vulkan validation layer under SPIROGRAD_VALIDATION=core|sync|gpu: how it is switched on, and what it said.
// The instance asks for the settings; the queue turns unread messages into an Error.
// Threads: any.
#pragma once
#include <string>
#include <vector>

#include "device/gpu/driver/vulkan.hpp"

namespace sg {

enum class Validation { off, core, sync, gpu };
Validation validation_mode();  // ValueError for another word

// What vkCreateInstance gets: keeps the structures that `next()` points to. Must outlive the call.
class ValidationSetup {
 public:
  explicit ValidationSetup(Validation mode);
  const std::string& missing() const { return missing_; }  // why validation is not available; "" otherwise
  const std::vector<const char*>& layers() const { return layers_; }
  const std::vector<const char*>& extensions() const { return extensions_; }
  const void* next() const { return next_; }

 private:
  void use_settings(Validation mode);
  void use_features(Validation mode);

  std::string missing_;
  std::vector<const char*> layers_, extensions_;
  std::vector<VkLayerSettingEXT> settings_;
  VkLayerSettingsCreateInfoEXT settings_info_{};
  std::vector<VkValidationFeatureEnableEXT> enables_;
  std::vector<VkValidationFeatureDisableEXT> disables_;
  VkValidationFeaturesEXT features_info_{};
  VkDebugUtilsMessengerCreateInfoEXT messenger_info_{};
  const void* next_ = nullptr;
};
// Listens on `instance`; once an instance.
void listen(VkInstance instance);

int validation_messages();  // errors since the start
std::string last_validation_message();
// Error with the text of the messages that were not reported yet; nothing when there are none.
void throw_validation();

}  // namespace sg
