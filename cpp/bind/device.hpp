// The Python type Device, the default device, and what `device=` may be.
// Threads: the GIL is held.
#pragma once
#include <vector>

#include "base/device_id.hpp"
#include "bind/errors.hpp"

namespace sg::bind {

void add_devices(PyObject* module);
void add_device_functions(PyObject* module);
PyObject* device_object(DeviceId id);  // a new reference
bool is_device_object(PyObject* o);
// A Device or "cpu", "gpu", "gpu:1". DeviceUnavailableError for a GPU that is not there.
DeviceId to_device_id(PyObject* o);
// The same, or the default device for nullptr and None.
DeviceId device_or_default(PyObject* o);
// The CPU and every GPU that was named so far.
std::vector<DeviceId> devices_in_use();

}  // namespace sg::bind
