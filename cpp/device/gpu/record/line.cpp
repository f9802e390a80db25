// Keeps copies of what a run is given, which its caller takes back at once.
#include "device/gpu/record/line.hpp"

#include <algorithm>
#include <utility>

namespace sg {
namespace {

template <class T>
std::vector<T> copied(const T* from, size_t count) {
  return from ? std::vector<T>(from, from + count) : std::vector<T>();
}

// How many nodes of the log the plan's checks and guards speak of.
size_t nodes_of(const Plan& plan) {
  int32_t last = -1;
  for (const Step& step : plan.steps)
    for (const Instance& i : step.instances)
      for (const auto* nodes : {&i.checks, &i.guards})
        for (int32_t node : *nodes) last = std::max(last, node);
  return static_cast<size_t>(last + 1);
}

}  // namespace

Line::Run::Run(std::shared_ptr<GpuPrepared> of, const RunArguments& given) : plan(std::move(of)), words_(given) {
  const Plan& p = *plan->plan;
  leaves_ = copied(given.leaves, static_cast<size_t>(p.leaves));
  outputs_ = copied(given.outputs, static_cast<size_t>(p.outputs));
  offsets_ = copied(given.offsets, static_cast<size_t>(p.starts));
  numbers_ = copied(given.numbers, static_cast<size_t>(p.numbers));
  nodes_ = copied(given.nodes, given.nodes ? nodes_of(p) : 0);
}

RunArguments Line::Run::arguments() const {
  RunArguments out = words_;
  out.leaves = leaves_.data();
  out.outputs = outputs_.data();
  out.offsets = offsets_.data();
  out.numbers = numbers_.data();
  out.nodes = nodes_.data();
  out.ready = false;
  out.status = nullptr;
  return out;
}

Pipelines::Later Line::compiling() const {
  Pipelines::Later all;
  for (const Run& run : runs_)
    if (run.plan->compiling)
      all.insert(all.end(), run.plan->compiling->later.begin(), run.plan->compiling->later.end());
  return all;
}

}  // namespace sg
