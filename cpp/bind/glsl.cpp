// Users' GLSL kernels, for python/spirograd/ops.py, which checks names and finds shapes. Knows no Vulkan.
#include "ops/glsl.hpp"

#include <pybind11/pybind11.h>

#include <bit>
#include <cmath>
#include <iomanip>
#include <limits>
#include <locale>
#include <set>
#include <sstream>

#include "bind/arguments.hpp"
#include "bind/caster.hpp"
#include "bind/device.hpp"
#include "bind/methods.hpp"
#include "bind/numpy.hpp"
#include "engine/engine.hpp"

namespace py = pybind11;

namespace sg::bind {
namespace {

GlslKernel::Constant constant_of(const std::string& name, py::handle value) {
  if (py::isinstance<py::bool_>(value)) return {name, "bool", value.cast<bool>() ? "true" : "false"};
  if (py::isinstance<py::int_>(value)) return {name, "int", std::to_string(value.cast<int32_t>())};
  const auto x = value.cast<float>();
  std::ostringstream text;  // "C": the same in all languages
  text.imbue(std::locale::classic());
  if (std::isnormal(x))
    text << std::scientific << std::setprecision(std::numeric_limits<float>::max_digits10 - 1) << x;
  else  // zeros with their sign, infinite, NaN: some glslang take no constant from bits
    text << "uintBitsToFloat(" << std::bit_cast<uint32_t>(x) << "u)";
  return {name, "float", text.str()};
}

// (name, source, [(name, tensor)], [(name, shape, dtype)], {name: value}, groups, local, unchecked) -> the outputs.
py::list run_kernel(const std::string& name, const std::string& source,
                    const std::vector<std::pair<std::string, Tensor>>& inputs, const py::list& outputs,
                    const py::dict& constants, const std::array<int64_t, 3>& groups,
                    const std::array<int64_t, 3>& local, bool unchecked) {
  GlslKernel k;
  k.name = name;
  k.source = source;
  k.unchecked = unchecked;
  std::vector<Tensor> tensors;
  for (const auto& [label, x] : inputs) {
    k.inputs.push_back({label, x.dtype(), x.shape()});
    tensors.push_back(x);
  }
  for (const py::handle& o : outputs) {
    const auto item = o.cast<py::tuple>();
    k.outputs.push_back(
        {item[0].cast<std::string>(), to_dtype(name.c_str(), item[2].ptr()), to_dims(name.c_str(), item[1].ptr())});
  }
  for (const auto& [label, value] : constants) k.constants.push_back(constant_of(label.cast<std::string>(), value));
  std::copy(groups.begin(), groups.end(), k.groups);
  std::copy(local.begin(), local.end(), k.local);
  static auto* compiled = new std::set<std::pair<const OpInfo*, int>>;
  const OpInfo& row = glsl_row(k);
  const DeviceId device = tensors.at(0).device();
  if (!compiled->contains({&row, device.index})) {
    {
      WithoutGil unlocked;
      prepare_kernel(device, name, glsl_launch(row));
    }
    compiled->insert({&row, device.index});
  }
  std::vector<Tensor> made;
  const sg::SourceLocation line = sg::current_location();
  {
    WithoutGil unlocked;
    const SourceScope scope(line);
    made = glsl_apply(row, tensors);
  }
  py::list list;
  for (const Tensor& t : made) list.append(py::cast(t));
  return list;
}

py::tuple limits(PyObject* device) {
  const Features& f = device_of(to_device_id(device)).features();
  return py::make_tuple(f.max_groups, f.max_group_threads);
}

constexpr Callable glsl_callables[] = {
    {"_glsl_run", bound<run_kernel>},
    {"_glsl_limits", bound<limits>},
};

}  // namespace

void add_glsl(PyObject* module) { add_callables(module, glsl_callables); }

}  // namespace sg::bind
