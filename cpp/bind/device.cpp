// Owns the Python type Device, one object for each device, and the default device. Looks for GPUs only when asked.
// Knows no tensors.
#include "bind/device.hpp"

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <algorithm>
#include <optional>

#include "base/log.hpp"
#include "bind/bound.hpp"
#include "engine/engine.hpp"

namespace py = pybind11;

namespace sg::bind {
namespace {

// One Python object for each device, made at first use.
PyObject* device_type = nullptr;
constexpr int kMaxGpus = 256;
PyObject* cpu_object = nullptr;
PyObject* gpu_objects[kMaxGpus];
bool named[kMaxGpus];
std::optional<DeviceId> default_device;
std::vector<DeviceId> outer_defaults;  // of the `with device:` blocks that are open

// The first call loads Vulkan, which takes long and may warn, so the GIL is not held.
const GpuList& gpus() {
  static bool loaded = false;
  if (!loaded) {
    WithoutGil unlocked;
    list_gpus();
  }
  loaded = true;
  return list_gpus();
}

DeviceId gpu_id(int64_t index) {
  const auto count = static_cast<int64_t>(gpus().devices.size());
  if (index < 0 || index >= std::min<int64_t>(count, kMaxGpus)) {
    gpu_device(static_cast<int>(index));  // knows why it is not there
    fail<DeviceUnavailableError>("device", "there is no gpu:" + std::to_string(index), "see Device.list()");
  }
  named[index] = true;
  return {DeviceId::Kind::gpu, static_cast<uint8_t>(index)};
}

// Another word for "gpu": "cuda" where programs written for PyTorch run.
std::string alias_of_gpu;

DeviceId parse(const std::string& text) {
  if (!alias_of_gpu.empty() && text.starts_with(alias_of_gpu)) return parse("gpu" + text.substr(alias_of_gpu.size()));
  if (text == "cpu") return {};
  if (text == "gpu") return gpu_id(0);
  if (text.starts_with("gpu:") && text.size() > 4 && text.size() < 8 &&
      std::all_of(text.begin() + 4, text.end(), [](unsigned char c) { return std::isdigit(c); }))
    return gpu_id(std::stoi(text.substr(4)));
  if (text.starts_with("cuda"))
    fail<ValueError>("device", "'" + text + "' names no device: GPUs are used through Vulkan",
                     "use \"gpu" + text.substr(4) + "\"");
  fail<ValueError>("device", "'" + text + "' names no device", "use \"cpu\", \"gpu\" or \"gpu:1\"");
}

std::string lower(std::string s) {
  std::transform(s.begin(), s.end(), s.begin(), [](unsigned char c) { return std::tolower(c); });
  return s;
}

std::string names_of_gpus() {
  std::string all;
  for (const DeviceInfo& d : gpus().devices) all += (all.empty() ? "" : ", ") + d.id.str() + " " + d.name;
  return all.empty() ? "no GPU: " + gpus().reason : all;
}

DeviceId find_gpu(int64_t index, const std::optional<std::string>& name, const std::optional<std::string>& uuid) {
  if (!name && !uuid) return gpu_id(index);
  for (const DeviceInfo& d : gpus().devices)
    if ((!name || lower(d.name).find(lower(*name)) != std::string::npos) && (!uuid || lower(d.uuid) == lower(*uuid)) &&
        index-- == 0)
      return gpu_id(d.id.index);
  fail<DeviceUnavailableError>("device",
                               "no GPU with " + (name ? "name '" + *name + "'" : "") + (name && uuid ? " and " : "") +
                                   (uuid ? "uuid " + *uuid : "") + " (" + names_of_gpus() + ")",
                               "see Device.list()");
}

DeviceInfo info_of(DeviceId id) {
  if (!id.is_gpu()) return cpu_device().info();
  return gpus().devices.at(id.index);
}

py::dict pairs(const std::vector<std::pair<std::string, std::string>>& list) {
  py::dict d;
  for (const auto& [key, value] : list) d[py::str(key)] = value;
  return d;
}

py::object object_of(DeviceId id) { return py::reinterpret_steal<py::object>(device_object(id)); }

// A GPU if there is one, else the CPU; says which through logging.
py::object best() {
  const DeviceId id = gpus().devices.empty() ? DeviceId{} : gpu_id(0);
  const DeviceInfo info = info_of(id);
  std::string line = "Device.best(): " + id.str() + (info.name.empty() ? "" : " (" + info.name + ")");
  if (!id.is_gpu()) line += ", no GPU: " + gpus().reason;
  py::module_::import("logging").attr("getLogger")("spirograd").attr("info")("%s", line);
  return object_of(id);
}

// Of a fact that stays as it is.
template <class T>
auto field(T DeviceInfo::* member) {
  return [member](DeviceId id) -> const T& {
    static const DeviceInfo cpu = cpu_device().info();
    return (id.is_gpu() ? gpus().devices.at(id.index) : cpu).*member;
  };
}

void add_fields(py::class_<DeviceId>& type) {
  type.def_property_readonly("type", field(&DeviceInfo::type), doc("Device.type"))
      .def_property_readonly(
          "kind", [](DeviceId id) { return id.is_gpu() ? "gpu" : "cpu"; }, doc("Device.kind"))
      .def_property_readonly(
          "index", [](DeviceId id) { return static_cast<int>(id.index); }, doc("Device.index"))
      .def_property_readonly("name", field(&DeviceInfo::name), doc("Device.name"))
      .def_property_readonly("vendor", field(&DeviceInfo::vendor), doc("Device.vendor"))
      .def_property_readonly("driver", field(&DeviceInfo::driver), doc("Device.driver"))
      .def_property_readonly("api_version", field(&DeviceInfo::api_version), doc("Device.api_version"))
      .def_property_readonly("uuid", field(&DeviceInfo::uuid), doc("Device.uuid"))
      .def_property_readonly("memory_total", field(&DeviceInfo::memory_total), doc("Device.memory_total"))
      .def_property_readonly(
          "memory_free", [](DeviceId id) { return sg::device_of(id).info().memory_free; }, doc("Device.memory_free"))
      .def_property_readonly(
          "limits", [](DeviceId id) { return pairs(info_of(id).limits); }, doc("Device.limits"))
      .def_property_readonly(
          "features", [](DeviceId id) { return pairs(info_of(id).features); }, doc("Device.features"));
}

Object named_device(PyObject* o, const std::optional<int64_t>& index) {
  if (!index) return Object(device_object(to_device_id(o)));
  if (!PyUnicode_Check(o))
    fail<TypeError>("device", std::string("with a number a string is needed, got ") + Py_TYPE(o)->tp_name,
                    "write device(\"gpu\", " + std::to_string(*index) + ")");
  return Object(device_object(parse(py::cast<std::string>(py::handle(o)) + ":" + std::to_string(*index))));
}
void set_default_device(PyObject* o) {
  default_device = o == Py_None ? parse(env("SPIROGRAD_DEVICE")) : to_device_id(o);
}
// PyTorch's programs say "cuda" (spirograd.torch).
void set_gpu_alias(const std::string& word) { alias_of_gpu = word; }
Object get_default_device() { return Object(device_object(device_or_default(nullptr))); }

constexpr Callable device_callables[] = {
    {"device", bound<named_device>},
    {"set_default_device", bound<set_default_device>},
    {"get_default_device", bound<get_default_device>},
    {"_set_gpu_alias", bound<set_gpu_alias>},
};

}  // namespace

PyObject* device_object(DeviceId id) {
  PyObject*& object = id.is_gpu() ? gpu_objects[id.index] : cpu_object;
  if (!object) object = py::cast(id).release().ptr();
  return Py_NewRef(object);
}

bool is_device_object(PyObject* o) { return reinterpret_cast<PyObject*>(Py_TYPE(o)) == device_type; }

DeviceId to_device_id(PyObject* o) {
  if (is_device_object(o)) return py::cast<DeviceId>(py::handle(o));
  if (!PyUnicode_Check(o))
    fail<TypeError>("device", std::string("a Device or a string is needed, got ") + Py_TYPE(o)->tp_name,
                    "use \"cpu\", \"gpu\" or \"gpu:1\"");
  return parse(py::cast<std::string>(py::handle(o)));
}

DeviceId device_or_default(PyObject* o) {
  if (o && o != Py_None) return to_device_id(o);
  if (!default_device) default_device = parse(env("SPIROGRAD_DEVICE"));
  return *default_device;
}

std::vector<DeviceId> devices_in_use() {
  std::vector<DeviceId> list{{}};
  for (int i = 0; i < kMaxGpus; ++i)
    if (named[i]) list.push_back({DeviceId::Kind::gpu, static_cast<uint8_t>(i)});
  return list;
}

void add_device_functions(PyObject* module) { add_callables(module, device_callables); }

void add_devices(PyObject* m) {
  py::module_ module = py::reinterpret_borrow<py::module_>(m);
  py::class_<DeviceId> type(module, "Device", doc("Device"), py::module_local());
  type.attr("__module__") = "spirograd";
  device_type = type.inc_ref().ptr();
  type.def(py::init([](py::object o) { return to_device_id(o.ptr()); }), py::arg("device"))
      .def_static(
          "cpu", [] { return object_of({}); }, doc("Device.cpu"))
      .def_static(
          "gpu",
          [](int64_t index, std::optional<std::string> name, std::optional<std::string> uuid) {
            return object_of(find_gpu(index, name, uuid));
          },
          py::arg("index") = 0, py::arg("name") = py::none(), py::arg("uuid") = py::none(), doc("Device.gpu"))
      .def_static(
          "is_gpu_available", [] { return !gpus().devices.empty(); }, doc("Device.is_gpu_available"))
      .def_static(
          "list",
          [] {
            py::list all;
            all.append(object_of({}));
            for (size_t i = 0; i < gpus().devices.size(); ++i) all.append(object_of(gpu_id(static_cast<int64_t>(i))));
            return all;
          },
          doc("Device.list"))
      .def(
          "recover",
          [](DeviceId id) {
            WithoutGil unlocked;
            recover(id);
          },
          doc("Device.recover"))
      .def_static("best", best, doc("Device.best"))
      .def("__eq__",
           [](DeviceId a, py::object b) -> py::object {
             if (is_device_object(b.ptr())) return py::bool_(a == py::cast<DeviceId>(b));
             if (PyUnicode_Check(b.ptr())) return py::bool_(a.str() == py::cast<std::string>(b));
             return py::reinterpret_borrow<py::object>(Py_NotImplemented);
           })
      .def("__hash__", [](DeviceId id) { return py::hash(py::str(id.str())); })
      .def("__str__", &DeviceId::str)
      .def("__repr__", [](DeviceId id) { return "Device(" + id.str() + ")"; })
      .def(
          "__enter__",
          [](py::object self) {
            outer_defaults.push_back(device_or_default(nullptr));
            default_device = to_device_id(self.ptr());
            return self;
          },
          doc("Device.__enter__"))
      .def("__exit__",
           [](py::object, py::args) {
             default_device = outer_defaults.back();
             outer_defaults.pop_back();
           })
      .def("__reduce__", [](DeviceId id) {
        return py::make_tuple(py::module_::import("spirograd").attr("device"), py::make_tuple(id.str()));
      });
  add_fields(type);
}

}  // namespace sg::bind
