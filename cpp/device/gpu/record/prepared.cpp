// Asks `lower` for the text of each step and the pipelines for its kernel, and lists which memories a step touches.
// Records no commands.
#include "device/gpu/record/prepared.hpp"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "base/error.hpp"
#include "base/log.hpp"
#include "device/gpu/record/proxy.hpp"

namespace sg {
namespace {

BarrierMode barrier_mode() {
  const std::string word = env("SPIROGRAD_BARRIER");
  return word == "all"       ? BarrierMode::all
         : word == "drop"    ? BarrierMode::drop
         : word == "reverse" ? BarrierMode::reverse
                             : BarrierMode::hazards;
}

// Each memory once: the tracker of hazards compares every pair.
void merge(std::vector<int32_t>& into, const std::vector<int32_t>& more) {
  for (int32_t m : more)
    if (std::find(into.begin(), into.end(), m) == into.end()) into.push_back(m);
}

bool is_copy(const Step& step) { return step.only().kernel.kind == Kernel::Kind::copy; }

// Offsets between pairs have 32 bits.
void check_sizes(const Plan& plan, glsl::AddressForm addresses) {
  if (addresses == glsl::AddressForm::pointer) return;
  for (const Memory& m : plan.memories)
    if (m.bytes > glsl::kMostPairBytes)
      fail<LimitError>("run",
                       "a tensor of " + std::to_string(m.bytes) + " bytes, kernels with addresses of pairs reach " +
                           std::to_string(glsl::kMostPairBytes),
                       "unset SPIROGRAD_ADDRESSES");
}

// Adds the step's argument block after the others.
void add_words(GpuPrepared& p, GpuStep& s, const ArgWord* words, size_t count) {
  s.first_word = p.words.size();
  s.words = count;
  p.words.insert(p.words.end(), words, words + count);
  p.words.resize((p.words.size() + kBlockWords - 1) / kBlockWords * kBlockWords);
}

// `pipelines`: nullptr if the kernel is not compiled yet.
void use_kernel(GpuPrepared& p, GpuStep& s, const Lowered& low, Pipelines* pipelines) {
  if (!low.name.empty()) s.name = low.name;
  if (pipelines) s.pipeline = &pipelines->get(low);
  s.general = low.general;
  std::copy(std::begin(low.groups), std::end(low.groups), std::begin(s.groups));
  for (const ArgWord& w : low.arguments) p.uses_status |= w.kind == ArgWord::Kind::status;
  add_words(p, s, low.arguments.data(), low.arguments.size());
}

// One special kernel for each general step.
// See docs/decisions/024-rows-have-two-kernels.md: the general kernel is there at once, the special one is compiled in
// the background after some runs.
std::vector<Lowered> special_kernels(const GpuPrepared& p, const Features& features, Shaders& shaders) {
  std::vector<Lowered> kernels;
  for (size_t i = 0; i < p.steps.size(); ++i)
    if (p.steps[i].general) kernels.push_back(lower(p.plan->steps[i], features, Fit::special, shaders));
  return kernels;
}

// Special kernels have other arguments, so all blocks are laid out again.
void use_special(GpuPrepared& p, const std::vector<Lowered>& kernels, Pipelines& pipelines) {
  const std::vector<ArgWord> before = std::exchange(p.words, {});
  auto kernel = kernels.cbegin();
  for (GpuStep& s : p.steps) {
    if (s.general)
      use_kernel(p, s, *kernel++, &pipelines);
    else
      add_words(p, s, before.data() + s.first_word, s.words);
  }
}

int64_t runs_until_special() {
  static const int64_t runs = env_whole("SPIROGRAD_SPECIALIZE", -1, int64_t{1} << 40);
  return runs;
}

// Drops commands recorded with the earlier kernels.
void forget_commands(GpuPrepared& p) {
  if (!p.cached) return;
  for (CachedCommands::OfSlot& slot : p.cached->slots) slot.recorded_for.clear();
}

}  // namespace

std::vector<Lowered> lower_all(const Plan& plan, const Features& features, Fit fit, Shaders& shaders) {
  std::vector<Lowered> kernels;
  kernels.reserve(plan.steps.size());
  for (const Step& step : plan.steps)
    if (!is_copy(step)) kernels.push_back(lower(step, features, fit, shaders));
  return kernels;
}

int64_t GpuPrepared::bytes() const {
  size_t sum = steps.capacity() * sizeof(GpuStep) + words.capacity() * sizeof(ArgWord);
  for (const GpuStep& s : steps) sum += (s.reads.capacity() + s.writes.capacity()) * sizeof(int32_t);
  return static_cast<int64_t>(sum);
}

std::unique_ptr<GpuPrepared> prepare_plan(std::shared_ptr<const Plan> plan, const std::vector<Lowered>& kernels,
                                          Pipelines& pipelines, Proxy* proxy, bool later) {
  auto p = std::make_unique<GpuPrepared>();
  p->made_by = &pipelines;
  p->plan = std::move(plan);
  p->barriers = barrier_mode();
  check_sizes(*p->plan, pipelines.addresses());
  auto kernel = kernels.cbegin();
  p->steps.reserve(p->plan->steps.size());
  for (const Step& step : p->plan->steps) {
    GpuStep s;
    s.name = step.name;
    s.cost = cost_of(*p->plan, step);
    for (const Instance& i : step.instances) {
      merge(s.reads, i.reads);
      merge(s.writes, i.writes);
      s.guarded |= i.kernel.elementwise().guards() > 0;
      s.reports |= i.kernel.elementwise().checks() > 0 || i.kernel.custom->reports;
    }
    if (is_copy(step)) {
      p->copies = true;
      s.copy_from = step.only().bindings.at(0).memory;
      s.copy_to = step.only().bindings.at(1).memory;
    } else {
      use_kernel(*p, s, *kernel++, later ? nullptr : &pipelines);
      if (proxy) s.proxy = &proxy->kernel(s.reads.size(), s.writes.size());
    }
    p->general = p->general || s.general;
    p->steps.push_back(std::move(s));
  }
  std::vector<std::string> names;
  for (const GpuStep& s : p->steps) names.push_back(s.name);
  p->names = std::make_shared<const std::vector<std::string>>(std::move(names));
  p->arena_bytes = p->plan->arena_bytes;
  if (later) p->compiling = {kernels, pipelines.make_later(kernels)};
  return p;
}

bool finish(GpuPrepared& p, Pipelines& pipelines) {
  if (!p.compiling) return true;
  if (!pipelines.arrived(p.compiling->later, &DeviceStats::kernels_compiled)) return false;
  auto kernel = p.compiling->kernels.cbegin();
  for (GpuStep& s : p.steps)
    if (s.copy_from < 0) s.pipeline = &pipelines.get(*kernel++);
  p.compiling.reset();
  return true;
}

Fit first_fit() { return runs_until_special() == 0 ? Fit::special : Fit::general; }

// A compilation that failed in the background is not an error: the plan stays with its general kernels.
void specialize(GpuPrepared& p, const Features& features, Pipelines& pipelines) {
  if (!p.general || p.made_by != &pipelines) return;
  if (p.runs == runs_until_special()) {
    p.coming.emplace(special_kernels(p, features, pipelines.shaders), Pipelines::Later());
    p.coming->later = pipelines.make_later(p.coming->kernels);
  }
  if (!p.coming || !pipelines.arrived(p.coming->later, &DeviceStats::kernels_specialized)) return;
  const GpuPrepared::Coming special = *std::exchange(p.coming, std::nullopt);
  if (!std::ranges::all_of(special.kernels, [&](const Lowered& k) { return pipelines.has(k); })) return;
  use_special(p, special.kernels, pipelines);
  p.general = false;
  forget_commands(p);
}

}  // namespace sg
