// What a driver offers of its matrix units: which extensions to enable, and which shapes products may have.
// SPIROGRAD_MATRIX (cm2, cm1 or none) takes paths away, so that each can be tested on a device that has several.
#pragma once
#include <string>
#include <vector>

#include "base/dtype.hpp"
#include "device/gpu/driver/vulkan.hpp"
#include "kernel/features.hpp"

namespace sg {

// The feature structures to chain behind those of a device that is opened with `extensions`.
struct MatrixFeatures {
  VkPhysicalDeviceCooperativeMatrixFeaturesKHR cm1{};
  VkPhysicalDeviceCooperativeMatrix2FeaturesNV cm2{};
  VkPhysicalDeviceShaderBfloat16FeaturesKHR bfloat16{};
  MatrixFeatures();
  MatrixFeatures(const MatrixFeatures&) = delete;
  MatrixFeatures& operator=(const MatrixFeatures&) = delete;
  // Puts the structures whose extensions are among these in front of `next`; the head of the chain.
  void* chain(const std::vector<const char*>& extensions, void* next);
};

// Sets the matrix units of `features`, and adds what they need of `offered` to `extensions`.
void read_matrix_units(VkPhysicalDevice handle, const std::vector<std::string>& offered, Features& features,
                       std::vector<const char*>& extensions);

const char* name_of(MatrixUnits::Path path);

}  // namespace sg
