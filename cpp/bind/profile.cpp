// Hands the events of a profile to python/spirograd/profiler.py as tuples. Knows no ops.
#include "base/busy.hpp"
#include "bind/caster.hpp"
#include "engine/engine.hpp"

namespace py = pybind11;

namespace sg::bind {
namespace {

py::object device_name(DeviceId id) { return py::str(id.str()); }

py::list list_of(const std::vector<ProfileEvent>& events) {
  py::list all;
  for (const ProfileEvent& e : events)
    all.append(py::make_tuple(e.name, e.category, device_name(e.device), e.thread, e.start, e.end, e.bytes, e.flops,
                              e.shapes, e.stack));
  return all;
}

void profile_start(bool with_stack, bool with_memory) {
  WithoutGil unlocked;
  start_profile();
  profile::with_lines = with_stack;
  profile::with_memory = with_memory;
}

// The events, when it ended, and the number of this thread.
py::tuple profile_stop() {
  std::vector<ProfileEvent> events;
  int64_t end = 0;
  {
    WithoutGil unlocked;
    events = stop_profile();
    end = profile::now();
    profile::with_lines = profile::with_memory = false;
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

void watch_busy(bool on) { busy::watchers += on ? 1 : -1; }

int64_t busy_nanoseconds(PyObject* device) {
  const DeviceId id = to_device_id(device);
  return id.is_gpu() ? busy::nanoseconds[id.index].load() : 0;
}

constexpr Callable profile_callables[] = {
    {"_watch_busy", bound<watch_busy>},       {"_busy_nanoseconds", bound<busy_nanoseconds>},
    {"_profile_start", bound<profile_start>}, {"_profile_stop", bound<profile_stop>},
    {"_profile_now", bound<profile::now>},    {"_profile_annotate", bound<annotate>},
};

}  // namespace

void add_profile(PyObject* module) { add_callables(module, profile_callables); }

}  // namespace sg::bind
