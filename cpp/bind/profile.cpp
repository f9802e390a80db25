// What profiles are made of, for python/spirograd/profiler.py: events as tuples.
#include <pybind11/pybind11.h>

#include "bind/device.hpp"
#include "bind/methods.hpp"
#include "engine/engine.hpp"

namespace py = pybind11;

namespace sg::bind {
namespace {

// "file.py(12): function" of the innermost frame outside the package. Called by ops, with the GIL or without.
std::string line_of_user() {
  if (!PyGILState_Check() || PyErr_Occurred()) return "";
  std::string text;
  Object frame(Py_XNewRef(reinterpret_cast<PyObject*>(PyEval_GetFrame())));
  while (frame) {
    auto* f = reinterpret_cast<PyFrameObject*>(frame.get());
    Object code(reinterpret_cast<PyObject*>(PyFrame_GetCode(f)));
    Object file(PyObject_GetAttrString(code.get(), "co_filename"));
    Object function(PyObject_GetAttrString(code.get(), "co_name"));
    const char *path = file ? PyUnicode_AsUTF8(file.get()) : nullptr,
               *name = function ? PyUnicode_AsUTF8(function.get()) : nullptr;
    if (path && name) {
      text = std::string(path) + "(" + std::to_string(PyFrame_GetLineNumber(f)) + "): " + name;
      if (text.find("spirograd/") == std::string::npos) break;
    }
    frame = Object(reinterpret_cast<PyObject*>(PyFrame_GetBack(f)));
  }
  PyErr_Clear();
  return text;
}

py::object device_name(DeviceId id) { return py::str(id.str()); }

py::list list_of(const std::vector<ProfileEvent>& events) {
  py::list all;
  for (const ProfileEvent& e : events)
    all.append(py::make_tuple(e.name, e.category, device_name(e.device), e.thread, e.start, e.end, e.bytes, e.flops,
                              e.shapes, e.stack));
  return all;
}

void start(bool with_stack) {
  WithoutGil unlocked;
  start_profile();
  profile::stack_hook = with_stack ? line_of_user : nullptr;
}

// The events, when it ended, and the number of this thread.
py::tuple stop() {
  std::vector<ProfileEvent> events;
  int64_t end = 0;
  {
    WithoutGil unlocked;
    events = stop_profile();
    end = profile::now();
    profile::stack_hook = nullptr;
  }
  return py::make_tuple(list_of(events), end, profile::thread_number());
}

void annotate(const std::string& name, int64_t begin, int64_t end) {
  ProfileEvent e;
  e.name = name;
  e.category = "user_annotation";
  e.thread = profile::thread_number();
  e.start = begin;
  e.end = end;
  profile::add(std::move(e));
}

}  // namespace

void add_profile(PyObject* m) {
  py::module_ module = py::reinterpret_borrow<py::module_>(m);
  module.def("_profile_start", start, py::arg("with_stack"));
  module.def("_profile_stop", stop);
  module.def("_profile_now", profile::now);
  module.def("_profile_annotate", annotate);
}

}  // namespace sg::bind
