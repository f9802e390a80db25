// Kernels that are ready to launch: SPIR-V, VkPipeline, and the driver's compiled code, kept on disk.
// Called under the device's lock, but for compile(). A pipeline lives as long as the device.
#pragma once
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "device/device.hpp"
#include "device/gpu/driver/context.hpp"
#include "device/gpu/lower/address.hpp"
#include "device/gpu/lower/lower.hpp"
#include "device/gpu/lower/shaders.hpp"
#include "device/gpu/pipeline/background.hpp"

namespace sg {

struct Pipeline {
  VkPipeline handle = VK_NULL_HANDLE;
  std::shared_ptr<const Shader> shader;
  std::vector<uint32_t> spirv;
  std::string source() const;
};

// Kernels are known by their shader: text or name, constants, subgroup needs. Two steps of one text share a pipeline,
// whatever their names and sizes. Lookup compares the whole text behind the hash.
class Pipelines {
 public:
  Pipelines(const Context& context, DeviceStats& stats);
  struct Missing;
  using Later = std::vector<std::shared_ptr<Missing>>;
  // Kernels that are missing are found, compiled, several at once and without the device's lock, and kept.
  Later missing(const std::vector<Lowered>& kernels) const;
  void compile(const Later& kernels) const;
  void keep(const Later& kernels);  // KernelCompileError names the kernel
  const Pipeline& get(const Lowered& kernel);

  // Compiles the kernels that are missing in the background.
  Later make_later(const std::vector<Lowered>& kernels);
  bool arrived(const Later& kernels, Count DeviceStats::* counter);  // true: all of them are done; new ones count
  glsl::AddressForm addresses() const { return addresses_; }
  bool has(const Lowered& kernel) const { return table_.contains(kernel.shader.get()); }
  void stop(bool wait) { background_.stop(wait); }

  // A pipeline with a layout of its own (descriptors of the proxy lane), not kept in the table.
  VkPipeline create(const std::string& name, const std::vector<uint32_t>& spirv, const std::vector<uint32_t>& constants,
                    VkPipelineLayout layout, Subgroups subgroups = Subgroups::any);
  VkPipelineLayout layout() const { return layout_; }  // 8 bytes of push constants: the argument block's address
  void save();                                         // writes the driver's code to disk if there is new code

  Shaders shaders;  // texts of the kernels that were asked for

 private:
  struct Hash {
    size_t operator()(const Shader* s) const { return s->hash; }
  };
  struct Same {
    bool operator()(const Shader* a, const Shader* b) const { return a == b || *a == *b; }
  };
  std::shared_ptr<Missing> start(const Lowered& kernel) const;
  static bool failed(const Missing& kernel);
  std::string text(const Pipeline& pipeline) const;
  void load_cache();
  void compile(Missing& kernel) const;
  bool take(Missing& kernel);
  VkPipeline create_handle(const std::string& name, const std::vector<uint32_t>& spirv,
                           const std::vector<uint32_t>& constants, VkPipelineLayout layout, Subgroups subgroups) const;

  const Context& context_;
  DeviceStats& stats_;
  const glsl::AddressForm addresses_;
  VkPipelineLayout layout_ = VK_NULL_HANDLE;
  VkPipelineCache cache_ = VK_NULL_HANDLE;
  std::unordered_map<const Shader*, std::unique_ptr<Pipeline>, Hash, Same> table_;
  std::unordered_map<const Shader*, std::shared_ptr<Missing>, Hash, Same> coming_;  // being compiled in the background
  size_t saved_ = 0, made_ = 0;
  Background background_;
};

}  // namespace sg
