// Makes VkPipelines from shaders, on several threads at once or in the background, and keeps the driver's pipeline
// cache on disk. Knows shaders, not steps or plans.
#include "device/gpu/pipeline/pipeline.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <unordered_set>

#include "base/error.hpp"
#include "base/host.hpp"
#include "base/log.hpp"
#include "base/profile.hpp"
#include "device/gpu/driver/check.hpp"
#include "device/gpu/pipeline/compiler.hpp"

namespace sg {
namespace {

// Eight words a line, as hexadecimal numbers.
std::string hex_words(const std::vector<uint32_t>& words) {
  std::string text;
  char word[16];
  for (size_t i = 0; i < words.size(); ++i) {
    std::snprintf(word, sizeof word, "%08x%c", words[i], i % 8 == 7 ? '\n' : ' ');
    text += word;
  }
  return text;
}

constexpr size_t kMostThreads = 16;
constexpr std::chrono::milliseconds kWaitSlice{2};
constexpr std::chrono::seconds kQuietWait{2};  // before whoever waits is told

// Calls work(0) to work(count - 1) on several threads, and begins no more when the process ends. `work` must not throw.
// The caller waits, and calls waiting() now and then, unless there are no threads.
template <class Work, class Waiting>
void at_once(size_t count, Work work, Waiting waiting) {
  std::atomic<size_t> next{0}, left{0};
  std::mutex mutex;
  std::condition_variable ended;
  const bool process_ended = process_ends;  // as it is now: the process's last thread may still work
  const auto take = [&] {
    for (size_t i = next++; i < count && process_ends == process_ended; i = next++) work(i);
  };
  const auto help = [&] {
    take();
    const std::lock_guard lock(mutex);
    if (--left == 0) ended.notify_all();
  };
  std::vector<std::thread> helpers;
  helpers.reserve(kMostThreads);  // so that no thread starts that cannot be joined
  const size_t cores = std::max(1u, std::thread::hardware_concurrency());
  left = std::min({count, cores, kMostThreads});
  try {
    while (helpers.size() < std::min({count, cores, kMostThreads})) helpers.emplace_back(help);
  } catch (const std::system_error&) {  // the system gives no more threads
    left -= std::min({count, cores, kMostThreads}) - helpers.size();
    take();
  }
  for (std::unique_lock lock(mutex); !ended.wait_for(lock, kWaitSlice, [&] { return left == 0; });) waiting();
  for (std::thread& t : helpers) t.join();
}

// Tells the host how many kernels are compiled, when that takes long.
class Told {
 public:
  explicit Told(size_t all) : all_(all) {}
  ~Told() {
    if (told_) host().compiling(all_, all_);
  }
  Told(const Told&) = delete;
  Told& operator=(const Told&) = delete;
  template <class Count>
  void now(Count done) {
    if (const auto now = std::chrono::steady_clock::now(); now >= next_) {
      next_ = now + std::chrono::milliseconds(100);
      told_ = true;
      host().compiling(done(), all_);
    }
  }

 private:
  const size_t all_;
  std::chrono::steady_clock::time_point next_ = std::chrono::steady_clock::now() + kQuietWait;
  bool told_ = false;
};

VkShaderModule make_module(const Context& context, const std::vector<uint32_t>& spirv) {
  VkShaderModuleCreateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO;
  info.codeSize = spirv.size() * sizeof(uint32_t);
  info.pCode = spirv.data();
  VkShaderModule module = VK_NULL_HANDLE;
  vk_check(vkCreateShaderModule(context.device, &info, nullptr, &module), "vkCreateShaderModule");
  return module;
}

// The driver's facts about a compiled kernel: "Register Count 40, Local Memory Size 0 ...".
std::string statistics(const Context& context, VkPipeline pipeline) {
  VkPipelineExecutableInfoKHR which{};
  which.sType = VK_STRUCTURE_TYPE_PIPELINE_EXECUTABLE_INFO_KHR;
  which.pipeline = pipeline;
  uint32_t count = 0;
  if (vkGetPipelineExecutableStatisticsKHR(context.device, &which, &count, nullptr) != VK_SUCCESS) return "";
  VkPipelineExecutableStatisticKHR blank{};
  blank.sType = VK_STRUCTURE_TYPE_PIPELINE_EXECUTABLE_STATISTIC_KHR;
  std::vector<VkPipelineExecutableStatisticKHR> all(count, blank);
  if (vkGetPipelineExecutableStatisticsKHR(context.device, &which, &count, all.data()) != VK_SUCCESS) return "";
  std::string text;
  for (const auto& s : all) {
    const bool real = s.format == VK_PIPELINE_EXECUTABLE_STATISTIC_FORMAT_FLOAT64_KHR;
    text += (text.empty() ? "" : ", ") + std::string(s.name) + " " +
            (real ? std::to_string(s.value.f64) : std::to_string(s.value.u64));
  }
  return text;
}

}  // namespace

std::string Pipeline::source() const {
  return shader->source.empty() ? std::string(embedded_source(shader->builtin + ".comp")) : shader->source;
}

Pipelines::Pipelines(const Context& context, DeviceStats& stats)
    : shaders(env_flag("SPIROGRAD_BOUNDS")),
      context_(context),
      stats_(stats),
      addresses_(glsl::address_form(env("SPIROGRAD_ADDRESSES"))) {
  VkPushConstantRange range{};
  range.stageFlags = VK_SHADER_STAGE_COMPUTE_BIT;
  range.size = sizeof(uint64_t);
  VkPipelineLayoutCreateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO;
  info.pushConstantRangeCount = 1;
  info.pPushConstantRanges = &range;
  vk_check(vkCreatePipelineLayout(context.device, &info, nullptr, &layout_), "vkCreatePipelineLayout");
  load_cache();
}

// DiskCache has checked the bytes; the driver checks that they are its own.
void Pipelines::load_cache() {
  const std::vector<uint8_t> bytes = DiskCache::instance().load("pipelines/" + context_.physical.cache_key);
  VkPipelineCacheCreateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_PIPELINE_CACHE_CREATE_INFO;
  info.initialDataSize = bytes.size();
  info.pInitialData = bytes.data();
  if (vkCreatePipelineCache(context_.device, &info, nullptr, &cache_) == VK_SUCCESS) return;
  info.initialDataSize = 0;
  vk_check(vkCreatePipelineCache(context_.device, &info, nullptr, &cache_), "vkCreatePipelineCache");
}

void Pipelines::save() {
  if (made_ == saved_) return;
  size_t size = 0;
  if (vkGetPipelineCacheData(context_.device, cache_, &size, nullptr) != VK_SUCCESS || size == 0) return;
  std::vector<uint8_t> bytes(size);
  if (vkGetPipelineCacheData(context_.device, cache_, &size, bytes.data()) != VK_SUCCESS) return;
  DiskCache::instance().save("pipelines/" + context_.physical.cache_key, bytes.data(), size);
  saved_ = made_;
}

VkPipeline Pipelines::create(const std::string& name, const std::vector<uint32_t>& spirv,
                             const std::vector<uint32_t>& constants, VkPipelineLayout layout, Subgroups subgroups) {
  const VkPipeline made = create_handle(name, spirv, constants, layout, subgroups);
  ++stats_.kernels_compiled;
  ++made_;
  return made;
}

VkPipeline Pipelines::create_handle(const std::string& name, const std::vector<uint32_t>& spirv,
                                    const std::vector<uint32_t>& constants, VkPipelineLayout layout,
                                    Subgroups subgroups) const {
  std::vector<VkSpecializationMapEntry> entries(constants.size());
  for (uint32_t i = 0; i < entries.size(); ++i) entries[i] = {i, i * uint32_t{sizeof(uint32_t)}, sizeof(uint32_t)};
  VkSpecializationInfo special{};
  special.mapEntryCount = static_cast<uint32_t>(entries.size());
  special.pMapEntries = entries.data();
  special.dataSize = constants.size() * sizeof(uint32_t);
  special.pData = constants.data();
  VkComputePipelineCreateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO;
  info.stage.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO;
  info.stage.stage = VK_SHADER_STAGE_COMPUTE_BIT;
  if (subgroups != Subgroups::any) info.stage.flags = VK_PIPELINE_SHADER_STAGE_CREATE_REQUIRE_FULL_SUBGROUPS_BIT;
  VkPipelineShaderStageRequiredSubgroupSizeCreateInfo threads{};
  threads.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_REQUIRED_SUBGROUP_SIZE_CREATE_INFO;
  threads.requiredSubgroupSize = context_.physical.features.subgroup;
  if (subgroups == Subgroups::counted && context_.physical.subgroups_vary) info.stage.pNext = &threads;
  info.stage.module = make_module(context_, spirv);
  info.stage.pName = "main";
  info.stage.pSpecializationInfo = constants.empty() ? nullptr : &special;
  info.layout = layout;
  if (context_.physical.statistics) info.flags |= VK_PIPELINE_CREATE_CAPTURE_STATISTICS_BIT_KHR;
  VkPipeline pipeline = VK_NULL_HANDLE;
  const VkResult r = vkCreateComputePipelines(context_.device, cache_, 1, &info, nullptr, &pipeline);
  vkDestroyShaderModule(context_.device, info.stage.module, nullptr);
  if (r == VK_ERROR_UNKNOWN || r == VK_ERROR_INITIALIZATION_FAILED)
    fail<KernelCompileError>(name, std::string("the driver's compiler answered ") + name_of(r),
                             "try another version of the driver, and report this");
  vk_check(r, ("vkCreateComputePipelines for " + name).c_str());
  if (context_.labels) {
    VkDebugUtilsObjectNameInfoEXT label{};
    label.sType = VK_STRUCTURE_TYPE_DEBUG_UTILS_OBJECT_NAME_INFO_EXT;
    label.objectType = VK_OBJECT_TYPE_PIPELINE;
    label.objectHandle = reinterpret_cast<uint64_t>(pipeline);
    label.pObjectName = name.c_str();
    vkSetDebugUtilsObjectNameEXT(context_.device, &label);
  }
  if (context_.physical.statistics) debug(2, name + ": " + statistics(context_, pipeline));
  return pipeline;
}

struct Pipelines::Missing {
  explicit Missing(const Lowered& kernel) : name(kernel.name), shader(kernel.shader) { made->shader = shader; }
  std::string name;
  std::shared_ptr<const Shader> shader;
  std::unique_ptr<Pipeline> made = std::make_unique<Pipeline>();  // nullptr: it is in the table
  bool translated = false;                                        // by glslang, not found on disk
  std::exception_ptr error = nullptr;
  std::atomic<bool> begun = false, done = false;
};

// What is compiled.
std::string Pipelines::text(const Pipeline& p) const { return glsl::in_form(addresses_, p.source()); }

// A kernel that is to be compiled, with its SPIR-V if that is known.
std::shared_ptr<Pipelines::Missing> Pipelines::start(const Lowered& kernel) const {
  if (const auto at = coming_.find(kernel.shader.get()); at != coming_.end() && !failed(*at->second)) return at->second;
  auto missing = std::make_shared<Missing>(kernel);
  const Shader& shader = *kernel.shader;
  const bool embedded = shader.source.empty() && addresses_ == glsl::AddressForm::pointer;
  missing->made->spirv = embedded ? embedded_spirv(shader.builtin) : cached_spirv(text(*missing->made));
  return missing;
}

bool Pipelines::failed(const Missing& missing) { return missing.done.load(std::memory_order_acquire) && missing.error; }

// Called on any thread. Does nothing if another one has begun.
void Pipelines::compile(Missing& missing) const {
  if (missing.begun.exchange(true)) return;
  Pipeline& p = *missing.made;
  const Shader& shader = *p.shader;
  const auto begun = std::chrono::steady_clock::now();
  try {
    if (p.spirv.empty() && p.source().empty())
      fail<KernelCompileError>(missing.name, "this build has no shader '" + shader.builtin + "'");
    missing.translated = p.spirv.empty();
    if (missing.translated) p.spirv = translate_glsl(missing.name, text(p));
    if (debug_level() >= 4) debug(4, missing.name + "\n" + p.source());
    if (debug_level() >= 5) debug(5, missing.name + " SPIR-V\n" + hex_words(p.spirv));
    p.handle = create_handle(missing.name, p.spirv, shader.constants, layout_, shader.subgroups);
    const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - begun;
    if (debug_level() >= 2) debug(2, missing.name + ": compiled in " + std::to_string(took.count()) + " ms");
  } catch (...) {
    missing.error = std::current_exception();
  }
  missing.done.store(true, std::memory_order_release);
}

// Puts a compiled kernel into the table. False: it failed, or is there already.
bool Pipelines::take(Missing& missing) {
  const Shader& shader = *missing.shader;
  coming_.erase(&shader);
  if (!missing.made) return false;
  if (missing.translated && !missing.made->spirv.empty()) cache_spirv(text(*missing.made), missing.made->spirv);
  if (missing.error || !missing.made->handle) return false;
  if (table_.contains(&shader)) {
    vkDestroyPipeline(context_.device, missing.made->handle, nullptr);
    missing.made.reset();
    return false;
  }
  ++made_;
  const Pipeline& p = *missing.made;
  ++stats_.kernels_kept;
  stats_.kernel_bytes +=
      static_cast<int64_t>(shader.source.capacity() + sizeof p + sizeof shader + p.spirv.capacity() * sizeof(uint32_t));
  table_.emplace(&shader, std::move(missing.made));
  return true;
}

Pipelines::Later Pipelines::missing(const std::vector<Lowered>& kernels) const {
  Later missing;
  std::unordered_set<const Shader*, Hash, Same> seen;
  for (const Lowered& kernel : kernels) {
    const Shader& shader = *kernel.shader;
    if (!table_.contains(&shader) && seen.insert(&shader).second) missing.push_back(start(kernel));
  }
  return missing;
}

void Pipelines::compile(const Later& kernels) const {
  if (kernels.empty()) return;
  const Stage stage("compile", "stage", context_.id);
  const bool ended = process_ends;
  Told told(kernels.size());
  const auto done = [&] {
    return static_cast<size_t>(
        std::ranges::count_if(kernels, [](const auto& m) { return m->done.load(std::memory_order_acquire); }));
  };
  at_once(kernels.size(), [&](size_t i) { compile(*kernels[i]); }, [&] { told.now(done); });
  for (; done() < kernels.size() && process_ends == ended; told.now(done)) std::this_thread::sleep_for(kWaitSlice);
}

void Pipelines::keep(const Later& kernels) {
  std::exception_ptr error;
  for (const auto& m : kernels) {
    if (!m->done) m->error = std::make_exception_ptr(Error("compile: the process ends"));
    if (m->error && !error) error = m->error;
    if (take(*m)) ++stats_.kernels_compiled;
  }
  if (kernels.empty()) return;
  if (made_ >= 2 * saved_ + 8) save();  // a crash loses at most half; the rest is saved at exit
  if (error) std::rethrow_exception(error);
}

Pipelines::Later Pipelines::make_later(const std::vector<Lowered>& kernels) {
  Later later;
  for (const Lowered& kernel : kernels) {
    if (has(kernel)) continue;
    std::shared_ptr<Missing> missing = start(kernel);
    later.push_back(missing);
    if (const auto at = coming_.find(kernel.shader.get()); at != coming_.end()) {
      if (at->second == missing) continue;
      coming_.erase(at);  // it failed
    }
    coming_.emplace(missing->shader.get(), missing);
    background_.add([this, missing = std::move(missing)] { compile(*missing); });
  }
  return later;
}

bool Pipelines::arrived(const Later& kernels, Count DeviceStats::* counter) {
  for (const auto& m : kernels)
    if (!m->done.load(std::memory_order_acquire)) return false;
  for (const auto& m : kernels)
    if (take(*m)) ++(stats_.*counter);
  if (made_ >= 2 * saved_ + 8) save();
  return true;
}

const Pipeline& Pipelines::get(const Lowered& kernel) {
  auto at = table_.find(kernel.shader.get());
  if (at == table_.end()) {
    const Later only = missing({kernel});
    compile(only);
    keep(only);
    at = table_.find(kernel.shader.get());
  }
  return *at->second;
}

}  // namespace sg
