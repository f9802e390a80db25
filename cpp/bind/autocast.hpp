// Mixed precision: under autocast, products get their tensors in a half type, those that add up or grow get them in
// float32: the column `autocast` of a callable says which. All other callables take what comes. Called by dispatch.cpp
// for callables, and by functions written in Python (base/casts.py). Gradients go through the conversions, and backward
// functions call C++ directly, so that they run in the types of the forward pass. Threads: the state is of the thread
// that calls; the GIL is held.
#pragma once
#include <array>
#include <optional>

#include "bind/arguments.hpp"
#include "bind/methods.hpp"

namespace sg::bind {

// The half type of each kind of device, the CPU first, or none; of this thread.
using HalfTypes = std::array<std::optional<DType>, 2>;
HalfTypes& half_types();
bool autocast_is_on();
// Calls the callable's body with its tensors, and those in its lists, converted.
PyObject* call_autocast(const Call& call);

}  // namespace sg::bind
