// The C++ API. #include <spirograd.hpp>, link spirograd::spirograd.
//   sg::Tensor x = sg::tensor({0, 1, 2, 3}, {2, 2});
//   sg::Tensor loss = sg::mean(sg::square(sg::matmul(x, x)));
//   sg::backward(loss);
// Scalars are sg::Value.
#pragma once
#include <vector>

#include "base/error.hpp"
#include "engine/engine.hpp"
#include "graph/grad.hpp"
#include "ops/list.hpp"
#include "value/value.hpp"

namespace sg {

// A float32 tensor from values in row-major order.
inline Tensor tensor(const std::vector<float>& values, const Dims& shape, DeviceId device = {}) {
  if (static_cast<int64_t>(values.size()) != shape.numel())
    fail<ValueError>("tensor", std::to_string(values.size()) + " values for shape " + shape.str(),
                     "give one an element");
  return from_host(values.data(), shape, DType::float32, device);
}
inline std::vector<float> values(const Tensor& x) {
  std::vector<float> out(static_cast<size_t>(x.numel()));
  read(cast(x, DType::float32), out.data());
  return out;
}
inline float item(const Tensor& x) { return static_cast<float>(read_item(x)); }

inline DeviceId cpu() { return {}; }
inline bool is_gpu_available() { return !list_gpus().devices.empty(); }
inline DeviceId gpu(int index = 0) {
  gpu_device(index);  // DeviceUnavailableError here, not later
  return {DeviceId::Kind::gpu, static_cast<uint8_t>(index)};
}
inline DeviceId best_device() { return is_gpu_available() ? gpu() : cpu(); }

}  // namespace sg
