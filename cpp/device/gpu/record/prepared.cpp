// Asks `lower` for the text of each step and the pipelines for its kernel, and lists which memories a step touches.
// Records no commands.
#include "device/gpu/record/prepared.hpp"

#include <algorithm>

#include "base/log.hpp"
#include "device/gpu/record/proxy.hpp"

namespace sg {
namespace {

BarrierMode barrier_mode() {
  const std::string word = env("SPIROGRAD_BARRIER");
  return word == "all" ? BarrierMode::all : word == "drop" ? BarrierMode::drop : BarrierMode::hazards;
}

void merge(std::vector<int32_t>& into, const std::vector<int32_t>& more) {
  for (int32_t m : more)
    if (std::find(into.begin(), into.end(), m) == into.end()) into.push_back(m);
}

const Program& program_of(const Instance& i) {
  return i.kernel.kind == Kernel::Kind::product ? i.kernel.product->epilogue : i.kernel.program;
}

bool checks_index(const Program& p) {
  return std::any_of(p.code.begin(), p.code.end(), [](const Instr& i) { return i.code == Code::check_index; });
}

bool is_copy(const Step& step) { return step.only().kernel.kind == Kernel::Kind::copy; }

void use_kernel(GpuPrepared& p, GpuStep& s, const Lowered& low, Pipelines& pipelines) {
  if (!low.name.empty()) s.name = low.name;
  s.pipeline = &pipelines.get(low);
  std::copy(std::begin(low.groups), std::end(low.groups), std::begin(s.groups));
  s.words = low.arguments.size();
  for (const ArgWord& w : low.arguments) p.uses_status |= w.kind == ArgWord::Kind::status;
  p.words.insert(p.words.end(), low.arguments.begin(), low.arguments.end());
  p.words.resize((p.words.size() + kBlockWords - 1) / kBlockWords * kBlockWords);
}

}  // namespace

int64_t GpuPrepared::bytes() const {
  size_t sum = steps.capacity() * sizeof(GpuStep) + words.capacity() * sizeof(ArgWord);
  for (const GpuStep& s : steps) sum += (s.reads.capacity() + s.writes.capacity()) * sizeof(int32_t);
  return static_cast<int64_t>(sum);
}

std::unique_ptr<GpuPrepared> prepare_plan(std::shared_ptr<const Plan> plan, const Features& features,
                                          Pipelines& pipelines, Proxy* proxy) {
  auto p = std::make_unique<GpuPrepared>();
  p->made_by = &pipelines;
  p->plan = std::move(plan);
  p->barriers = barrier_mode();
  std::vector<Lowered> kernels;
  for (const Step& step : p->plan->steps)
    if (!is_copy(step)) kernels.push_back(lower(step, features, pipelines.shaders));
  pipelines.make(kernels);
  auto kernel = kernels.cbegin();
  for (const Step& step : p->plan->steps) {
    GpuStep s;
    s.name = step.name;
    s.first_word = p->words.size();
    s.cost = cost_of(*p->plan, step);
    for (const Instance& i : step.instances) {
      merge(s.reads, i.reads);
      merge(s.writes, i.writes);
      s.predicated |= program_of(i).predicated;
      s.reports |= checks_index(program_of(i)) || i.kernel.own->tag;
    }
    if (is_copy(step)) {
      p->copies = true;
      s.copy_from = step.only().bindings.at(0).memory;
      s.copy_to = step.only().bindings.at(1).memory;
    } else {
      use_kernel(*p, s, *kernel++, pipelines);
      if (proxy) s.proxy = &proxy->kernel(s.reads.size(), s.writes.size());
    }
    p->steps.push_back(std::move(s));
  }
  std::vector<std::string> names;
  for (const GpuStep& s : p->steps) names.push_back(s.name);
  p->names = std::make_shared<const std::vector<std::string>>(std::move(names));
  p->arena_bytes = p->plan->arena_bytes;
  return p;
}

}  // namespace sg
