// What functions that make tensors share: dtype=, device=, requires_grad= and generator=.
// Threads: the GIL is held.
#pragma once
#include <optional>

#include "bind/device.hpp"
#include "bind/methods.hpp"
#include "bind/tensor.hpp"

namespace sg::bind {

struct Options {
  std::optional<DType> dtype;
  DeviceId device;
  bool requires_grad = false;
};
// The last arguments of a call. Without device=, that of `like`, or the default one.
Options options(Arguments& a, const Tensor* like = nullptr);
PyObject* made(Tensor t, const Options& o);

#define SG_OPTIONS "dtype: DTypeLike | None = None, device: DeviceLike | None = None, requires_grad: bool = False"
#define SG_OPTIONS_DOC                                                                                                \
  "    dtype: type of the elements.\n    device: a Device or \"cpu\", \"gpu\", \"gpu:1\"; None is the default one.\n" \
  "    requires_grad: whether backward() reaches the tensor.\n"

}  // namespace sg::bind
