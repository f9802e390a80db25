// What functions that make tensors share: dtype=, device=, requires_grad= and generator=.
// Threads: the GIL is held.
#pragma once
#include <optional>

#include "bind/methods.hpp"
#include "bind/tensor.hpp"

namespace sg::bind {

#define SG_OPTIONS "dtype: DTypeLike | None = None, device: DeviceLike | None = None, requires_grad: bool = False"
#define SG_OPTIONS_DOC                                                                                                \
  "    dtype: type of the elements.\n    device: a Device or \"cpu\", \"gpu\", \"gpu:1\"; None is the default one.\n" \
  "    requires_grad: whether backward() reaches the tensor.\n"

}  // namespace sg::bind
