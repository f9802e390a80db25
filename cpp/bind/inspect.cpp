// Functions and classes that show the inside: graphs, plans, counters, the environment. Changes nothing.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include "base/log.hpp"
#include "bind/caster.hpp"
#include "bind/device.hpp"
#include "bind/methods.hpp"
#include "engine/engine.hpp"
#include "ops/list.hpp"
#include "plan/cost.hpp"
#include "value/node.hpp"

#if SPIROGRAD_GPU
#include "device/gpu/driver/vulkan_calls.hpp"
#include "device/gpu/pipeline/compiler.hpp"
#endif

namespace py = pybind11;

namespace sg::bind {
namespace {

// One kernel launch of a plan.
struct PlanStep {
  PlanView view;
  size_t index;
  const Step& step() const { return view.plan->steps[index]; }
  Cost cost() const { return cost_of(*view.plan, step()); }
  std::vector<std::string> lines() const { return view.lines_of(index); }
  std::string source() const { return view.prepared ? view.prepared->source(index) : ""; }
  py::bytes spirv() const {
    const std::vector<uint32_t> words = view.prepared ? view.prepared->spirv(index) : std::vector<uint32_t>();
    return {reinterpret_cast<const char*>(words.data()), words.size() * sizeof(uint32_t)};
  }
  // A plan of this step alone, in words.
  std::string print() const {
    Plan alone = *view.plan;
    alone.steps = {step()};
    return alone.print();
  }
};

// What Python shows of it: a list or a text whose repr is a table.
Object shown(const char* name, PyObject* content, PyObject* about = nullptr) {
  Object module(check(PyImport_ImportModule("spirograd._stages"))), word(check(PyUnicode_FromString(name)));
  return Object(check(PyObject_CallMethodObjArgs(module.get(), word.get(), content, about, nullptr)));
}

py::list steps_of(const Tensor& x) {
  PlanView view;
  {
    WithoutGil unlocked;
    view = plan_of(x, true);
  }
  py::list steps;
  for (size_t i = 0; view.plan && i < view.plan->steps.size(); ++i) steps.append(PlanStep{view, i});
  return steps;
}

Object plan(const Tensor& x) { return shown("Plan", steps_of(x).ptr()); }

Object graph(const Tensor& x) { return shown("Graph", Object(to_python(describe_graph(x))).get()); }

void realize(const Tensor& x) {
  const WithoutGil unlocked;
  flush(x.device());
}

constexpr Callable inspect_callables[] = {
    {"realize", writes<realize>},
    {"graph", bound<graph>},
    {"plan", bound<plan>},
};

// Numbers by name, in this order.
py::dict counts(std::initializer_list<std::pair<const char*, int64_t>> list) {
  py::dict out;
  for (const auto& [name, count] : list) out[name] = count;
  return out;
}

py::dict stats_dict() {
  const Stats s = stats();
  const DeviceStats& d = s.device;
  return counts({{"submissions", d.submissions},
                 {"resubmissions", d.resubmissions},
                 {"hand_overs", d.hand_overs},
                 {"dispatches", d.dispatches},
                 {"barriers", d.barriers},
                 {"kernels_compiled", d.kernels_compiled},
                 {"kernels_specialized", d.kernels_specialized},
                 {"bytes_read", d.bytes_read},
                 {"bytes_written", d.bytes_written},
                 {"allocations", d.allocations},
                 {"bytes_live", d.bytes_live},
                 {"bytes_cached", d.bytes_cached},
                 {"bytes_peak", d.bytes_peak},
                 {"nodes", s.nodes},
                 {"plan_hits", s.plan_hits},
                 {"plans_bound", s.plans_bound},
                 {"plan_misses", s.plan_misses},
                 {"plans_kept", s.plans_kept},
                 {"plan_bytes", s.plan_bytes},
                 {"kernels_kept", d.kernels_kept},
                 {"kernel_bytes", d.kernel_bytes},
                 {"fallbacks", s.fallbacks},
                 {"host_scalar_ops", s.host_scalar_ops}});
}

py::dict device_stats(PyObject* name) {
  Device& device = device_of(to_device_id(name));
  const DeviceStats& d = device.stats();
  return counts({{"allocations", d.allocations},
                 {"bytes_live", d.bytes_live},
                 {"bytes_cached", d.bytes_cached},
                 {"bytes_peak", d.bytes_peak},
                 {"bytes_reserved", device.bytes_reserved()}});
}

void synchronize_python(PyObject* device) {
  const std::vector<DeviceId> devices =
      device == Py_None ? devices_in_use() : std::vector<DeviceId>{to_device_id(device)};
  WithoutGil unlocked;
  for (DeviceId d : devices) synchronize(d);
}

void keep_lines(bool interactive) {
  keeps_lines = env("SPIROGRAD_LINES").empty() ? interactive : env_flag("SPIROGRAD_LINES");
}

std::string cache_folder() {
#if SPIROGRAD_GPU
  return DiskCache::instance().folder();
#else
  return "";
#endif
}

py::list op_rows() {
  constexpr const char* kinds[] = {"pointwise", "reduce", "contraction", "indexed",
                                   "kernel",    "view",   "effect",      "memory"};
  constexpr const char* results[] = {"same", "floating", "boolean", "number"};
  py::list all;
  for (const OpInfo* op : all_ops()) {
    py::dict row;
    row["name"] = op->name;
    row["doc"] = op->doc ? op->doc : "";
    row["kind"] = kinds[static_cast<int>(op->kind)];
    row["arity"] = op->arity;
    row["result"] = results[static_cast<int>(op->result)];
    row["takes"] = py::make_tuple((op->takes & kTakesBool) != 0, (op->takes & kTakesIntegers) != 0,
                                  (op->takes & kTakesFloats) != 0);
    row["gradient"] = op->vjp != nullptr;
    all.append(row);
  }
  return all;
}

py::list environment() {
  py::list all;
  for (const EnvVariable& v : env_variables()) all.append(py::make_tuple(v.name, env(v.name), v.fallback, v.doc));
  return all;
}

std::string all_stages(const Tensor& x) {
  WithoutGil unlocked;
  return explain(x);
}

Object explained(PyObject* input) {
  const Tensor x = tensor_of("explain", input);
  const Object text(to_python(all_stages(x)));
  return shown("Explanation", text.get(), plan(x).get());
}

void give_back_memory() {
  value::trim_arena();
  WithoutGil unlocked;
  empty_cache();
}

void drained() {
  WithoutGil unlocked;
  drain();
}

void reset_peak(PyObject* device) {
  DeviceStats& d = device_of(to_device_id(device)).stats();
  d.bytes_peak = int64_t(d.bytes_live);
}

py::tuple gpu_reason() { return py::make_tuple(list_gpus().reason, list_gpus().remedy); }

#if SPIROGRAD_GPU
py::dict calls_of_vulkan() {
  const VulkanCalls c = vulkan_calls();
  return counts({{"submits", c.submits},
                 {"dispatches", c.dispatches},
                 {"barriers", c.barriers},
                 {"memory_allocations", c.memory_allocations},
                 {"memory_bytes", c.memory_bytes}});
}

py::dict report_of_faults() {
  const FaultReport r = fault_report();
  py::dict d = counts({{"host_requests", r.host_requests}, {"host_blocks", r.host_blocks}, {"fired", r.fired}});
  d["calls"] = r.calls;
  return d;
}
#endif

#ifdef __SANITIZE_ADDRESS__
// A canary: writes outside its memory on purpose, so that a test lane can see that its tool reports it.
int64_t overrun(int64_t size) {
  const std::vector<char> block(static_cast<size_t>(size));
  return static_cast<const volatile char*>(block.data())[size];
}
#endif

constexpr Callable inspect_functions[] = {
    {"explain", bound<explained>},
    {"stats", bound<stats_dict>},
    {"reset_stats", bound<reset_stats>},
    {"empty_cache", bound<give_back_memory>},
    {"synchronize", bound<synchronize_python>},
    {"_count_fallback", bound<count_fallback>},
    {"_ops", bound<op_rows>},
    {"_has_arrived", bound<sg::has_arrived>},
    {"_drain", bound<drained>},
    {"_device_stats", bound<device_stats>},
    {"_reset_peak", bound<reset_peak>},
    {"_environment", bound<environment>},
    {"_keep_lines", bound<keep_lines>},
    {"_cache_folder", bound<cache_folder>},
    {"_gpu_reason", bound<gpu_reason>},
#if SPIROGRAD_GPU
    {"_count_vulkan_calls", bound<count_vulkan_calls>},
    {"_vulkan_calls", bound<calls_of_vulkan>},
    {"_set_faults", bound<set_faults>},
    {"_fault_report", bound<report_of_faults>},
#endif
#ifdef __SANITIZE_ADDRESS__
    {"_overrun", bound<overrun>},
#endif
};

}  // namespace

void add_inspection(PyObject* m) {
  py::module_ module = py::reinterpret_borrow<py::module_>(m);
  py::class_<PlanStep>(module, "PlanStep", doc("PlanStep"), py::module_local())
      .def_property_readonly(
          "name", [](const PlanStep& s) { return s.step().name; }, doc("PlanStep.name"))
      .def_property_readonly(
          "nodes", [](const PlanStep& s) { return s.step().nodes; }, doc("PlanStep.nodes"))
      .def_property_readonly(
          "shapes", [](const PlanStep& s) { return s.cost().shapes; }, doc("PlanStep.shapes"))
      .def_property_readonly(
          "bytes", [](const PlanStep& s) { return s.cost().bytes; }, doc("PlanStep.bytes"))
      .def_property_readonly(
          "flops", [](const PlanStep& s) { return s.cost().flops; }, doc("PlanStep.flops"))
      .def_property_readonly("lines", &PlanStep::lines, doc("PlanStep.lines"))
      .def_property_readonly("source", &PlanStep::source, doc("PlanStep.source"))
      .def_property_readonly("spirv", &PlanStep::spirv, doc("PlanStep.spirv"))
      .def("print", &PlanStep::print, doc("PlanStep.print"))
      .def("__repr__", [](const PlanStep& s) { return "<PlanStep " + s.step().name + ">"; });
  add_callables(m, inspect_callables);
  add_callables(m, inspect_functions);
  module.attr("__version__") = SPIROGRAD_VERSION;
}

}  // namespace sg::bind
