// A plan made ready for one GPU: pipelines, the layout of every argument block, what each step reads and writes.
// Made by prepare(), read by the recorder, which keeps its commands here; specialize() exchanges kernels.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "device/device.hpp"
#include "device/gpu/lower/lower.hpp"
#include "device/gpu/pipeline/pipeline.hpp"
#include "device/gpu/record/cached_commands.hpp"
#include "device/gpu/record/hazard.hpp"
#include "plan/cost.hpp"

namespace sg {

constexpr size_t kBlockWords = 8;  // argument blocks begin at multiples of this

struct ProxyKernel {  // the proxy lane's stand-in: one descriptor a range
  VkPipeline pipeline = VK_NULL_HANDLE;
  VkPipelineLayout layout = VK_NULL_HANDLE;
  VkDescriptorSetLayout set = VK_NULL_HANDLE;
};

struct GpuStep {
  std::string name;
  const Pipeline* pipeline = nullptr;  // none: copies memories[copy_from] to memories[copy_to]
  const ProxyKernel* proxy = nullptr;  // SPIROGRAD_PROXY=1 only
  uint32_t groups[3] = {1, 1, 1};
  size_t first_word = 0, words = 0;    // its block in GpuPrepared::words
  bool general = false;                // its kernel serves any sizes; there is a special one
  std::vector<int32_t> reads, writes;  // memories, each once
  int32_t copy_from = -1, copy_to = -1;
  bool reports = false, guarded = false;  // may write, reads the status block
  Cost cost;
};

class GpuPrepared final : public Prepared {
 public:
  std::string source(size_t i) const override {
    return i < steps.size() && steps[i].pipeline ? steps[i].pipeline->source() : "";
  }
  std::vector<uint32_t> spirv(size_t i) const override {
    return i < steps.size() && steps[i].pipeline ? steps[i].pipeline->spirv : std::vector<uint32_t>{};
  }

  int64_t bytes() const override;  // without the pipelines, which others use too

  const Pipelines* made_by = nullptr;
  std::shared_ptr<const Plan> plan;
  std::vector<GpuStep> steps;
  std::vector<ArgWord> words;
  Names names;  // of the steps
  int64_t arena_bytes = 0;
  bool uses_status = false, copies = false;  // has steps that report or are guarded; that copy
  BarrierMode barriers = BarrierMode::hazards;

  // Under the device's lock. The recorder's:
  int64_t runs = 0;
  std::shared_ptr<CachedCommands> cached;
  // Of specialize():
  struct Coming {
    std::vector<Lowered> kernels;
    Pipelines::Later later;
  };
  bool general = false;  // some steps are
  std::optional<Coming> coming;
  // Of finish(): kernels that are compiled while the caller goes on.
  std::optional<Coming> compiling;
};

class Proxy;
// The kernels of a plan's steps, but for copies. LimitError.
std::vector<Lowered> lower_all(const Plan& plan, const Features& features, Fit fit, Shaders& shaders);
// `kernels`: of lower_all(), compiled, but with `later`. `proxy` is null outside the proxy lane.
std::unique_ptr<GpuPrepared> prepare_plan(std::shared_ptr<const Plan> plan, const std::vector<Lowered>& kernels,
                                          Pipelines& pipelines, Proxy* proxy, bool later = false);
// Whether a plan's kernels are there, as far as they were to be compiled later. KernelCompileError.
bool finish(GpuPrepared& plan, Pipelines& pipelines);
// The kind of kernels for a plan that has not run: general, unless SPIROGRAD_SPECIALIZE is 0.
Fit first_fit();
// Called before each run. A plan that has run often gets special kernels in place of its general ones. They are
// compiled in the background and used once all of them are ready.
void specialize(GpuPrepared& plan, const Features& features, Pipelines& pipelines);

}  // namespace sg
