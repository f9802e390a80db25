// Lets pybind11 pass sg::Tensor, for the functions that are not hot.
// Threads: the GIL is held.
#pragma once
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include "bind/tensor.hpp"

namespace pybind11::detail {

template <>
struct type_caster<sg::Tensor> {
  PYBIND11_TYPE_CASTER(sg::Tensor, const_name("Tensor"));
  bool load(handle source, bool) {
    if (!sg::bind::is_tensor(source.ptr())) return false;
    value = sg::bind::unwrap(source.ptr());
    return true;
  }
  static handle cast(const sg::Tensor& t, return_value_policy, handle) { return sg::bind::wrap(t); }
};

}  // namespace pybind11::detail
