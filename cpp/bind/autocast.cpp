#include "bind/autocast.hpp"

#include <pybind11/pybind11.h>

#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "bind/numpy.hpp"
#include "bind/tensor.hpp"
#include "ops/list.hpp"

namespace py = pybind11;

namespace sg::bind {
namespace {

// Products: where a half type is faster.
constexpr std::string_view kNarrow[] = {
    "matmul",
    "mm",
    "bmm",
    "mv",
    "addmm",
    "addmv",
    "addbmm",
    "baddbmm",
    "chain_matmul",
    "einsum",
    "linear",
    "conv1d",
    "conv2d",
    "conv3d",
    "conv_transpose1d",
    "conv_transpose2d",
    "conv_transpose3d",
    "rnn",
    "lstm",
    "gru",
    "scaled_dot_product_attention",
};

// Sums of many numbers, and functions whose values leave the range of float16.
constexpr std::string_view kWide[] = {
    "sum",         "mean",          "prod",      "var",        "std",      "var_mean",     "std_mean", "nansum",
    "nanmean",     "norm",          "logsumexp", "cumsum",     "cumprod",  "logcumsumexp", "softmax",  "softmin",
    "log_softmax", "cross_entropy", "nll_loss",  "layer_norm", "rms_norm", "group_norm",   "exp",      "exp2",
    "expm1",       "log",           "log10",     "log1p",      "log2",     "pow",          "power",    "reciprocal",
    "rsqrt",       "cosh",          "sinh",      "tan",        "acos",     "arccos",       "asin",     "arcsin",
    "softplus",    "logsigmoid",    "logaddexp", "erfinv",     "cov",      "corrcoef",     "kl_div",
};

// Of each kind of device: the half type, or none.
thread_local std::optional<DType> types[2];

const std::unordered_map<std::string_view, Cast>& table() {
  static const auto* names = [] {
    auto* all = new std::unordered_map<std::string_view, Cast>;
    for (std::string_view name : kNarrow) all->emplace(name, Cast::narrow);
    for (std::string_view name : kWide) all->emplace(name, Cast::wide);
    return all;
  }();
  return *names;
}

std::optional<DType>& type_on(DeviceId device) { return types[device.is_gpu()]; }

// A new reference.
PyObject* converted(PyObject* o, Cast cast) {
  if (is_tensor(o)) {
    const Tensor& x = unwrap(o);
    const Tensor y = autocast(x, cast);
    return y.impl() == x.impl() ? Py_NewRef(o) : wrap(y);
  }
  if (!PyList_CheckExact(o) && !PyTuple_CheckExact(o)) return Py_NewRef(o);
  Object list(check(PySequence_List(o)));
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(list.get()); ++i)
    check(PyList_SetItem(list.get(), i, converted(PyList_GET_ITEM(list.get(), i), cast)));
  return PyTuple_CheckExact(o) ? check(PyList_AsTuple(list.get())) : list.release();
}

PyObject* none_or(const std::optional<DType>& t) { return t ? dtype_object(*t) : Py_NewRef(Py_None); }

}  // namespace

Cast cast_of(const char* row) {
  const auto found = table().find(row);
  return found == table().end() ? Cast::none : found->second;
}

bool autocast_is_on() { return types[0] || types[1]; }

Tensor autocast(const Tensor& x, Cast cast) {
  if (x.is_number() || !is_float(x.dtype()) || x.dtype() == DType::float64) return x;
  const std::optional<DType>& half = type_on(x.device());
  if (!half) return x;
  const DType to = cast == Cast::narrow ? *half : DType::float32;
  return x.dtype() == to ? x : sg::cast(x, to);
}

PyObject* call_autocast(const Call& call) {
  const Py_ssize_t count = call.count + (call.names ? PyTuple_GET_SIZE(call.names) : 0);
  std::vector<Object> owned;
  std::vector<PyObject*> values;
  auto convert = [&](PyObject* o) { return owned.emplace_back(converted(o, call.row->cast)).get(); };
  Call inside = call;
  if (call.self) inside.self = convert(call.self);
  for (Py_ssize_t i = 0; i < count; ++i) values.push_back(convert(call.values[i]));
  inside.values = values.data();
  return call.row->body(inside);
}

void add_autocast(PyObject* m) {
  py::module_ module = py::reinterpret_borrow<py::module_>(m);
  module.def("_autocast", [] {
    return py::make_tuple(py::reinterpret_steal<py::object>(none_or(types[0])),
                          py::reinterpret_steal<py::object>(none_or(types[1])));
  });
  module.def("_set_autocast", [](py::object cpu, py::object gpu) {
    auto type = [](const py::object& o) {
      return o.is_none() ? std::optional<DType>() : std::optional<DType>(to_dtype("autocast", o.ptr()));
    };
    const auto both = std::make_pair(type(cpu), type(gpu));
    types[0] = both.first;
    types[1] = both.second;
  });
  py::list narrow, wide;
  for (std::string_view name : kNarrow) narrow.append(py::str(name.data(), name.size()));
  for (std::string_view name : kWide) wide.append(py::str(name.data(), name.size()));
  module.attr("_autocast_narrow") = narrow;
  module.attr("_autocast_wide") = wide;
}

}  // namespace sg::bind
