// Owns the loader, the instance and the list of GPUs of this process. Opens no device: context.cpp does.
#include "device/gpu/driver/instance.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "base/error.hpp"
#include "base/log.hpp"
#include "device/gpu/driver/check.hpp"
#include "device/gpu/driver/diagnose.hpp"
#include "device/gpu/driver/faults.hpp"
#include "device/gpu/driver/validation.hpp"
#include "os/process.hpp"

namespace sg {
namespace {

std::atomic<bool> is_forked{false};

constexpr char kEntry[] = "vkGetInstanceProcAddr";

// Where Vulkan is without a loader: on macOS in MoltenVK, beside this library in a wheel, or where Homebrew puts it.
void* entry_without_loader() {
#if defined(__APPLE__)
  std::string ignored;
  for (const std::string& folder : {os::own_folder(), std::string("/opt/homebrew/lib"), std::string("/usr/local/lib")})
    if (void* entry = os::function_of(folder + "/libMoltenVK.dylib", kEntry, ignored)) return entry;
#endif
  return nullptr;
}

bool load_library(Vulkan& v) {
  const std::string path = env("SPIROGRAD_VULKAN_LIB");
  std::string why;
  if (path.empty() && volkInitialize() == VK_SUCCESS) return true;
  void* entry = path.empty() ? entry_without_loader() : os::function_of(path, kEntry, why);
  if (!entry && path.empty()) {
    no_loader(v.list);
    return false;
  }
  if (!entry) {
    v.list.reason = "SPIROGRAD_VULKAN_LIB=" + path + " is no Vulkan loader" + (why.empty() ? "" : ": " + why);
    v.list.remedy = "name a libvulkan.so.1, or unset it";
    return false;
  }
  volkInitializeCustom(reinterpret_cast<PFN_vkGetInstanceProcAddr>(entry));
  return true;
}

bool instance_offers(const char* extension) {
  uint32_t n = 0;
  if (vkEnumerateInstanceExtensionProperties(nullptr, &n, nullptr) < 0) return false;
  std::vector<VkExtensionProperties> all(n);
  if (vkEnumerateInstanceExtensionProperties(nullptr, &n, all.data()) < 0) return false;
  return std::any_of(all.begin(), all.end(), [&](const auto& e) { return !std::strcmp(e.extensionName, extension); });
}

bool make_instance(Vulkan& v) {
  install_faults();
  if (volkGetInstanceVersion() < VK_API_VERSION_1_3) {
    v.list.reason = "the Vulkan loader is older than 1.3";
    v.list.remedy = "update libvulkan1 / vulkan-loader";
    return false;
  }
  const ValidationSetup validation(validation_mode());
  if (!validation.missing().empty()) {
    v.list.reason = validation.missing();
    v.list.remedy = "install vulkan-validationlayers (VK_LAYER_PATH names its folder), or unset SPIROGRAD_VALIDATION";
    return false;
  }
  std::vector<const char*> extensions = validation.extensions();
  v.labels = !extensions.empty();
  v.portability = instance_offers(VK_KHR_PORTABILITY_ENUMERATION_EXTENSION_NAME);
  if (v.portability) extensions.push_back(VK_KHR_PORTABILITY_ENUMERATION_EXTENSION_NAME);

  VkApplicationInfo application{};
  application.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO;
  application.pApplicationName = application.pEngineName = "spirograd";
  application.apiVersion = VK_API_VERSION_1_3;
  VkInstanceCreateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO;
  info.pNext = validation.next();
  info.flags = v.portability ? VK_INSTANCE_CREATE_ENUMERATE_PORTABILITY_BIT_KHR : 0;
  info.pApplicationInfo = &application;
  info.enabledLayerCount = static_cast<uint32_t>(validation.layers().size());
  info.ppEnabledLayerNames = validation.layers().data();
  info.enabledExtensionCount = static_cast<uint32_t>(extensions.size());
  info.ppEnabledExtensionNames = extensions.data();
  const VkResult result = vkCreateInstance(&info, nullptr, &v.instance);
  if (result < 0) {
    no_instance(v.list, result);
    return false;
  }
  // Calls go through the loader's own dispatch: one table serves several devices, for a few nanoseconds a call.
  volkLoadInstance(v.instance);
  install_faults();
  if (v.labels) listen(v.instance);
  return true;
}

int rank_of(VkPhysicalDeviceType type) {
  switch (type) {
    case VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU:
      return 0;
    case VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU:
      return 1;
    case VK_PHYSICAL_DEVICE_TYPE_VIRTUAL_GPU:
      return 2;
    default:
      return 3;
  }
}

// Drops twins (one GPU through two drivers), software devices and unfit ones, and notes the reasons.
void sort_out(std::vector<Physical> all, Vulkan& v, Rejected& rejected) {
  std::stable_sort(all.begin(), all.end(),
                   [](const Physical& a, const Physical& b) { return rank_of(a.type) < rank_of(b.type); });
  const bool software_counts = env_flag("SPIROGRAD_ALLOW_CPU_VULKAN");
  for (Physical& p : all) {
    const bool twin = std::any_of(v.gpus.begin(), v.gpus.end(), [&](const Physical& o) { return o.uuid == p.uuid; });
    if (rank_of(p.type) == 3 && !software_counts)
      rejected.software.push_back(p.info.name);
    else if (!p.missing.empty())
      rejected.unfit.push_back(p.info.name + " lacks " + p.missing);
    else if (!twin)
      v.gpus.push_back(std::move(p));
  }
}

// "1,0": these, in this order. A number that no GPU has ends the list, as CUDA_VISIBLE_DEVICES does.
void hide(Vulkan& v, Rejected& rejected) {
  const std::string wanted = env("SPIROGRAD_VISIBLE_DEVICES");
  if (wanted.empty()) return;
  std::vector<Physical> kept;
  std::vector<bool> used(v.gpus.size(), false);
  for (size_t at = 0; at <= wanted.size();) {
    const size_t end = std::min(wanted.find(',', at), wanted.size());
    const std::string word = wanted.substr(at, end - at);
    at = end + 1;
    if (word.empty() || word.size() > 4 || word.find_first_not_of("0123456789") != std::string::npos) break;
    const size_t i = std::stoul(word);
    if (i >= v.gpus.size() || used[i]) break;
    used[i] = true;
    kept.push_back(v.gpus[i]);
  }
  rejected.hidden = v.gpus.size() - kept.size();
  v.gpus = std::move(kept);
}

void enumerate(Vulkan& v) {
  uint32_t n = 0;
  VkResult result = vkEnumeratePhysicalDevices(v.instance, &n, nullptr);
  std::vector<VkPhysicalDevice> handles(n);
  if (result >= 0) result = vkEnumeratePhysicalDevices(v.instance, &n, handles.data());
  if (result < 0) {
    no_instance(v.list, result);
    return;
  }
  handles.resize(n);
  std::vector<Physical> all;
  for (VkPhysicalDevice handle : handles) all.push_back(describe(handle));
  Rejected rejected;
  sort_out(std::move(all), v, rejected);
  hide(v, rejected);
  for (size_t i = 0; i < v.gpus.size(); ++i) {
    v.gpus[i].info.id = {DeviceId::Kind::gpu, static_cast<uint8_t>(i)};
    v.list.devices.push_back(v.gpus[i].info);
    debug(1, "gpu:" + std::to_string(i) + " " + v.gpus[i].info.name + ", " + v.gpus[i].info.driver);
  }
  if (v.gpus.empty()) no_gpu(v.list, rejected);
}

Vulkan* load() {
  auto* v = new Vulkan;  // kept for ever: destroying drivers at exit is what crashes
  const std::lock_guard lock(vulkan_lock());
  os::at_fork(nullptr, nullptr, [] { is_forked = true; });
  try {
    if (load_library(*v) && make_instance(*v)) enumerate(*v);
  } catch (const std::exception& e) {  // its text says what to do
    v->gpus.clear();
    v->list.devices.clear();
    v->list.reason = e.what();
  }
  return v;
}

}  // namespace

std::mutex& vulkan_lock() {
  static auto* mutex = new std::mutex;
  return *mutex;
}

bool forked() { return is_forked.load(std::memory_order_relaxed); }

void check_fork(const char* op) {
  if (forked())
    fail<ForkError>(op, "this process was forked after the GPU was first used, and drivers do not survive that",
                    "use the spawn start method");
}

const Vulkan& vulkan() {
  static const Vulkan* v = load();
  return *v;
}

const GpuList& list_gpus() { return vulkan().list; }

}  // namespace sg
