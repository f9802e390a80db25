// Which device: a value, cheap to copy, compare and hash.
#pragma once
#include <cstdint>
#include <string>

namespace sg {

struct DeviceId {
  enum class Kind : uint8_t { cpu, gpu };
  Kind kind = Kind::cpu;
  uint8_t index = 0;
  bool operator==(const DeviceId&) const = default;
  bool is_gpu() const { return kind == Kind::gpu; }
  std::string str() const { return is_gpu() ? "gpu:" + std::to_string(index) : "cpu"; }
};

}  // namespace sg
