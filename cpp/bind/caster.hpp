// Lets pybind11 pass sg::Tensor to and from its classes, and callables pass what pybind11 converts: lists, dicts,
// pairs. Threads: the GIL is held.
#pragma once
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <array>

#include "bind/answers.hpp"
#include "bind/bound.hpp"
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

namespace sg::bind {

template <class T>
struct ByPybind {
  static T get(Fetched& f, PyObject* o) {
    leave_to_elements(f.op, o);
    return pybind11::handle(o).cast<T>();
  }
};
template <class T>
  requires std::is_base_of_v<pybind11::handle, T>
struct From<T> : ByPybind<T> {};
template <>
struct From<std::vector<pybind11::list>> : ByPybind<std::vector<pybind11::list>> {};
template <class A, class B>
struct From<std::vector<std::pair<A, B>>> : ByPybind<std::vector<std::pair<A, B>>> {};
template <class T, size_t n>
struct From<std::array<T, n>> : ByPybind<std::array<T, n>> {};

}  // namespace sg::bind
