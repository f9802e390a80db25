// Owns the texts that say why no GPU was found and what to do. Looks at files and permissions only; calls no Vulkan.
#include "device/gpu/driver/diagnose.hpp"

#include <filesystem>

#include "device/gpu/driver/check.hpp"
#include "os/files.hpp"
#include "os/process.hpp"

namespace sg {
namespace {

namespace fs = std::filesystem;

#if defined(_WIN32)
constexpr char kLoader[] = "vulkan-1.dll";
constexpr char kInstallLoader[] = "install the GPU maker's driver, which brings it";
constexpr char kInstallDriver[] = "install the GPU maker's driver";
#elif defined(__APPLE__)
constexpr char kLoader[] = "libvulkan.dylib and libMoltenVK.dylib";
constexpr char kInstallLoader[] = "install MoltenVK (brew install molten-vk)";
constexpr char kInstallDriver[] = "install MoltenVK (brew install molten-vk)";
#else
constexpr char kLoader[] = "libvulkan.so.1";
constexpr char kInstallLoader[] = "install libvulkan1 (Debian, Ubuntu) or vulkan-loader (Fedora, Arch)";
constexpr char kInstallDriver[] =
    "install the GPU's Vulkan driver (mesa-vulkan-drivers, or NVIDIA's with libGLX_nvidia)";
#endif

std::string join(const std::vector<std::string>& words) {
  std::string s;
  for (const std::string& w : words) s += (s.empty() ? "" : ", ") + w;
  return s;
}

// Where the loader looks for driver files: named ones instead of folders, when there are any.
std::vector<std::string> driver_places() {
  for (const char* name : {"VK_DRIVER_FILES", "VK_ICD_FILENAMES"})
    if (const std::string all = os::variable(name); !all.empty()) {
      std::vector<std::string> files;
      for (size_t at = 0; at <= all.size();) {
        const size_t end = std::min(all.find(os::kListSeparator, at), all.size());
        if (end > at) files.push_back(all.substr(at, end - at));
        at = end + 1;
      }
      return files;
    }
  std::vector<std::string> places;
#if defined(_WIN32)
  places.emplace_back("the registry");
#else
  const std::string home = os::home_folder(), config = os::variable("XDG_CONFIG_HOME");
  if (!config.empty())
    places.push_back(config + "/vulkan/icd.d");
  else if (!home.empty())
    places.push_back(home + "/.config/vulkan/icd.d");
  if (!home.empty()) places.push_back(home + "/.local/share/vulkan/icd.d");
  for (const char* p :
       {"/etc/vulkan/icd.d", "/usr/local/etc/vulkan/icd.d", "/usr/local/share/vulkan/icd.d", "/usr/share/vulkan/icd.d"})
    places.emplace_back(p);
#endif
  return places;
}

std::vector<std::string> driver_files(const std::vector<std::string>& places) {
  std::vector<std::string> found;
  std::error_code ignored;
  for (const std::string& place : places) {
    if (fs::is_regular_file(place, ignored)) found.push_back(place);
    if (!fs::is_directory(place, ignored)) continue;
    for (const auto& entry : fs::directory_iterator(place, ignored))
      if (entry.path().extension() == ".json") found.push_back(entry.path().string());
  }
  return found;
}

struct DeviceFiles {
  std::vector<std::string> usable, forbidden;
};

DeviceFiles device_files() {
  DeviceFiles files;
  std::error_code ignored;
  const auto find = [&](const char* folder, const std::string& prefix) {
    for (const auto& entry : fs::directory_iterator(folder, ignored)) {
      const std::string path = entry.path().string();
      if (entry.path().filename().string().rfind(prefix, 0) != 0 || fs::is_directory(entry.path(), ignored)) continue;
      (os::may_read_and_write(path) ? files.usable : files.forbidden).push_back(path);
    }
  };
  find("/dev/dri", "render");
  find("/dev", "nvidia");
  return files;
}

bool permission_denied(GpuList& list) {
  const DeviceFiles files = device_files();
  if (files.forbidden.empty() || !files.usable.empty()) return false;
  list.reason = "no permission on the device files " + join(files.forbidden);
  list.remedy = "add the user to the groups render and video, and log in again";
  return true;
}

void drivers_silent(GpuList& list, const std::string& what) {
  const std::vector<std::string> places = driver_places();
  const std::vector<std::string> files = driver_files(places);
  if (files.empty()) {
    list.reason = what + ": no Vulkan driver file; searched " + join(places);
    list.remedy = std::string(kInstallDriver) + ", or name its .json file in VK_DRIVER_FILES";
  } else if (!permission_denied(list)) {
    list.reason = what + ": the drivers failed to start, from " + join(files);
    list.remedy =
        "see VK_LOADER_DEBUG=error,driver; NVIDIA's needs the GLVND libraries (libglvnd0, libgl1, libegl1) "
        "and, in a container, the capability 'graphics'";
  }
}

}  // namespace

void no_loader(GpuList& list) {
  list.reason = std::string("no Vulkan loader: ") + kLoader + " was not found";
  list.remedy = std::string(kInstallLoader) + ", or name the library in SPIROGRAD_VULKAN_LIB";
}

void no_instance(GpuList& list, VkResult result) {
  if (result == VK_ERROR_INCOMPATIBLE_DRIVER || result == VK_ERROR_INITIALIZATION_FAILED) {
    drivers_silent(list, "Vulkan found no driver");
    return;
  }
  list.reason = std::string("vkCreateInstance answered ") + name_of(result);
  list.remedy = "update the GPU driver and the Vulkan loader";
}

void no_gpu(GpuList& list, const Rejected& rejected) {
  if (rejected.hidden > 0) {
    list.reason = "SPIROGRAD_VISIBLE_DEVICES hides all " + std::to_string(rejected.hidden) + " GPUs";
    list.remedy = "unset it, or name numbers from 0";
  } else if (!rejected.unfit.empty()) {
    list.reason = join(rejected.unfit);
    list.remedy = "use the CPU device, or another GPU; a newer driver helps only where the hardware has it";
  } else if (permission_denied(list)) {
    return;
  } else if (!rejected.software.empty()) {
    list.reason = "only a software Vulkan device: " + join(rejected.software);
    list.remedy = "install the GPU's Vulkan driver, or set SPIROGRAD_ALLOW_CPU_VULKAN=1 to use the software device";
  } else {
    drivers_silent(list, "Vulkan found no device");
  }
}

}  // namespace sg
