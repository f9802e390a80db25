// Functions and methods of convolutions and pooling. The arithmetic is in ops/convolution.cpp
// and ops/pooling.cpp.
#include "ops/convolution.hpp"

#include "bind/bound.hpp"
#include "engine/engine.hpp"
#include "ops/list.hpp"

namespace sg::bind {

template <>
struct From<TextOrDims> {
  static TextOrDims get(Fetched& f, PyObject* o) {
    if (PyUnicode_Check(o)) return From<std::string>::get(f, o);
    return From<Dims>::get(f, o);
  }
};

namespace {

constexpr Callable callables[] = {
    {"_convolutions_ignore_sizes", bound<sg::convolution::ignore_sizes>},
    {"max_pool1d", bound<sg::max_pool1d>},
    {"max_pool2d", bound<sg::max_pool2d>},
    {"max_pool1d_with_indices", bound<sg::max_pool1d_with_indices>},
    {"max_pool2d_with_indices", bound<sg::max_pool2d_with_indices>},
    {"avg_pool1d", bound<sg::avg_pool1d>},
    {"avg_pool2d", bound<sg::avg_pool2d>},
    {"conv1d", bound<sg::conv1d>, Autocast::narrow},
    {"conv2d", bound<sg::conv2d>, Autocast::narrow},
    {"conv3d", bound<sg::conv3d>, Autocast::narrow},
    {"conv_transpose1d", bound<sg::conv_transpose1d>, Autocast::narrow},
    {"conv_transpose2d", bound<sg::conv_transpose2d>, Autocast::narrow},
};

const Features& features_of(DeviceId device) { return device_of(device).features(); }

}  // namespace

void add_convolutions(PyObject* module) {
  sg::convolution::ask_for_features(features_of);
  add_callables(module, callables);
}

}  // namespace sg::bind
