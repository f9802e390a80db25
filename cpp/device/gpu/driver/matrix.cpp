// Asks a driver for its matrix units, by the two extensions that reach them. What is done with the answer is the
// lowering's business.
#include "device/gpu/driver/matrix.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/error.hpp"
#include "base/log.hpp"
#include "device/gpu/driver/check.hpp"

namespace sg {
namespace {

using Path = MatrixUnits::Path;

constexpr uint32_t kThreads = 256;  // of the workgroups that multiply by cm2

Path allowed_path() {
  const std::string wanted = env("SPIROGRAD_MATRIX");
  for (Path p : {Path::none, Path::cm1, Path::cm2})
    if (wanted == name_of(p)) return p;
  fail<ValueError>("SPIROGRAD_MATRIX", "'" + wanted + "' is not a path", "use cm2, cm1 or none");
}

bool has(const std::vector<std::string>& offered, const char* extension) {
  return std::find(offered.begin(), offered.end(), extension) != offered.end();
}

VkComponentTypeKHR component(DType t) {
  return t == DType::bfloat16 ? VK_COMPONENT_TYPE_BFLOAT16_KHR : VK_COMPONENT_TYPE_FLOAT16_KHR;
}

// Halves in, float32 sums out.
template <class P>
bool multiplies(const P& p, DType t) {
  return p.AType == component(t) && p.BType == component(t) && p.CType == VK_COMPONENT_TYPE_FLOAT32_KHR &&
         p.ResultType == VK_COMPONENT_TYPE_FLOAT32_KHR && !p.saturatingAccumulation;
}

// All that one of the two functions lists, each a P.
template <class P, class List>
std::vector<P> listed(VkPhysicalDevice handle, List list, const char* function, VkStructureType type) {
  uint32_t n = 0;
  vk_check(list(handle, &n, nullptr), function);
  P blank{};
  blank.sType = type;
  std::vector<P> all(n, blank);
  vk_check(list(handle, &n, all.data()), function);
  return all;
}

// The finest granularity for workgroups of kThreads.
MatrixUnits flexible_units(VkPhysicalDevice handle, DType t) {
  const auto list = [](VkPhysicalDevice device, uint32_t* n, VkCooperativeMatrixFlexibleDimensionsPropertiesNV* all) {
    return vkGetPhysicalDeviceCooperativeMatrixFlexibleDimensionsPropertiesNV(device, n, all);
  };
  for (const auto& p : listed<VkCooperativeMatrixFlexibleDimensionsPropertiesNV>(
           handle, list, "vkGetPhysicalDeviceCooperativeMatrixFlexibleDimensionsPropertiesNV",
           VK_STRUCTURE_TYPE_COOPERATIVE_MATRIX_FLEXIBLE_DIMENSIONS_PROPERTIES_NV))
    if (p.scope == VK_SCOPE_WORKGROUP_KHR && p.workgroupInvocations == kThreads && multiplies(p, t))
      return {Path::cm2, p.MGranularity, p.NGranularity, p.KGranularity};
  return {};
}

// The largest fragment with sides of up to 16; none where kernels cannot count on the threads of a subgroup.
MatrixUnits fragment_units(VkPhysicalDevice handle, DType t, uint32_t subgroup) {
  if (!subgroup) return {};
  const auto list = [](VkPhysicalDevice device, uint32_t* n, VkCooperativeMatrixPropertiesKHR* all) {
    return vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR(device, n, all);
  };
  MatrixUnits best;
  for (const auto& p :
       listed<VkCooperativeMatrixPropertiesKHR>(handle, list, "vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR",
                                                VK_STRUCTURE_TYPE_COOPERATIVE_MATRIX_PROPERTIES_KHR)) {
    if (p.scope != VK_SCOPE_SUBGROUP_KHR || !multiplies(p, t) || std::max({p.MSize, p.NSize, p.KSize}) > 16) continue;
    if (p.MSize * p.NSize * p.KSize > best.m * best.n * best.k) best = {Path::cm1, p.MSize, p.NSize, p.KSize};
  }
  return best;
}

void ask(VkPhysicalDevice handle, void* chain) {
  VkPhysicalDeviceFeatures2 features{};
  features.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2;
  features.pNext = chain;
  vkGetPhysicalDeviceFeatures2(handle, &features);
}

bool is_complete(const VkPhysicalDeviceCooperativeMatrix2FeaturesNV& f) {
  return f.cooperativeMatrixWorkgroupScope && f.cooperativeMatrixFlexibleDimensions && f.cooperativeMatrixConversions &&
         f.cooperativeMatrixReductions && f.cooperativeMatrixPerElementOperations &&
         f.cooperativeMatrixTensorAddressing;
}

}  // namespace

const char* name_of(Path path) {
  constexpr const char* names[] = {"none", "cm1", "cm2"};
  return names[static_cast<int>(path)];
}

MatrixFeatures::MatrixFeatures() {
  cm1.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_FEATURES_KHR;
  cm2.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_2_FEATURES_NV;
  bfloat16.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_BFLOAT16_FEATURES_KHR;
  cm1.cooperativeMatrix = VK_TRUE;
  cm2.cooperativeMatrixWorkgroupScope = cm2.cooperativeMatrixFlexibleDimensions = cm2.cooperativeMatrixConversions =
      cm2.cooperativeMatrixReductions = cm2.cooperativeMatrixPerElementOperations =
          cm2.cooperativeMatrixTensorAddressing = VK_TRUE;
  bfloat16.shaderBFloat16Type = bfloat16.shaderBFloat16CooperativeMatrix = VK_TRUE;
}

void* MatrixFeatures::chain(const std::vector<const char*>& extensions, void* next) {
  const auto add = [&](auto& features, const char* extension) {
    for (const char* e : extensions)
      if (!std::strcmp(e, extension)) features.pNext = std::exchange(next, &features);
  };
  add(cm1, VK_KHR_COOPERATIVE_MATRIX_EXTENSION_NAME);
  add(cm2, VK_NV_COOPERATIVE_MATRIX_2_EXTENSION_NAME);
  add(bfloat16, VK_KHR_SHADER_BFLOAT16_EXTENSION_NAME);
  return next;
}

void read_matrix_units(VkPhysicalDevice handle, const std::vector<std::string>& offered, Features& features,
                       std::vector<const char*>& extensions) {
  const Path most = allowed_path();
  if (most == Path::none || !features.storage16 || !has(offered, VK_KHR_COOPERATIVE_MATRIX_EXTENSION_NAME)) return;
  std::vector<const char*> wanted = {VK_KHR_COOPERATIVE_MATRIX_EXTENSION_NAME};
  if (most == Path::cm2 && has(offered, VK_NV_COOPERATIVE_MATRIX_2_EXTENSION_NAME))
    wanted.push_back(VK_NV_COOPERATIVE_MATRIX_2_EXTENSION_NAME);
  if (has(offered, VK_KHR_SHADER_BFLOAT16_EXTENSION_NAME)) wanted.push_back(VK_KHR_SHADER_BFLOAT16_EXTENSION_NAME);
  MatrixFeatures there;
  ask(handle, there.chain(wanted, nullptr));
  if (!there.cm1.cooperativeMatrix) return;
  const bool workgroups = wanted.size() > 1 && wanted[1] == std::string(VK_NV_COOPERATIVE_MATRIX_2_EXTENSION_NAME) &&
                          is_complete(there.cm2);
  const bool bfloat16 = there.bfloat16.shaderBFloat16Type && there.bfloat16.shaderBFloat16CooperativeMatrix &&
                        has(offered, VK_KHR_SHADER_BFLOAT16_EXTENSION_NAME);
  const auto read = [&](DType t, MatrixUnits& units, MatrixUnits& fragments) {
    fragments = fragment_units(handle, t, features.subgroup);
    units = workgroups ? flexible_units(handle, t) : MatrixUnits{};
    if (units.path == Path::none) units = fragments;
  };
  read(DType::float16, features.float16_units, features.float16_fragments);
  if (bfloat16) read(DType::bfloat16, features.bfloat16_units, features.bfloat16_fragments);
  extensions.push_back(VK_KHR_COOPERATIVE_MATRIX_EXTENSION_NAME);
  if (bfloat16) extensions.push_back(VK_KHR_SHADER_BFLOAT16_EXTENSION_NAME);
  if (workgroups) extensions.push_back(VK_NV_COOPERATIVE_MATRIX_2_EXTENSION_NAME);
}

}  // namespace sg
