// Work that is due when a call of Python's begins, and what is pending when it ends under SPIROGRAD_SYNC=1. Knows no op.
#include "bind/calls.hpp"

#include "base/log.hpp"
#include "bind/bound.hpp"
#include "bind/device.hpp"
#include "bind/methods.hpp"
#include "engine/engine.hpp"
#include "engine/stream.hpp"
#include "graph/log.hpp"

namespace sg::bind {

const bool at_once = env_flag("SPIROGRAD_SYNC");

namespace {
bool is_due(DeviceId device) {
  const EngineLock lock;
  const Log& log = log_of(device);
  return !log.nodes.empty() && log.whole_from == SIZE_MAX;
}

bool runs_at_once() { return at_once; }

constexpr Callable call_functions[] = {
    {"_runs_at_once", bound<runs_at_once>},
};
}  // namespace

bool start_due() noexcept {
  const int failed = guarded([]() -> int {
    stream();
    return 0;
  });
  return failed == 0;
}

bool run_recorded() noexcept {
  const int failed = guarded([]() -> int {
    for (DeviceId device : devices_in_use()) {
      if (!is_due(device)) continue;
      const WithoutGil unlocked;
      synchronize(device);
    }
    return 0;
  });
  return failed == 0;
}

void add_calls(PyObject* module) { add_callables(module, call_functions); }

}  // namespace sg::bind
