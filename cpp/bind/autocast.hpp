// Mixed precision: under autocast, products get their tensors in a half type, those that add up or grow get them in
// float32: the column `autocast` of a callable says which. All other callables take what comes. Called by methods.cpp
// for each callable, and by the operators @ and **. Gradients go through the conversions, and backward functions call
// C++ directly, so that they run in the types of the forward pass. Threads: the state is of the thread that calls; the
// GIL is held.
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
// The same tensor, or its values in the type that is wanted on its device.
Tensor autocast(const Tensor& x, Autocast wanted);
// Calls the callable's body with its tensors, and those in its lists, converted.
PyObject* call_autocast(const Call& call);

}  // namespace sg::bind
