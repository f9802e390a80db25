// Device facts that choose kernels: plain data, so that choosing is a pure function and tests can make facts up.
#pragma once
#include <cstdint>

#include "base/dtype.hpp"
#include "kernel/tiles.hpp"

namespace sg {

// How products of a half type reach the matrix units ("tensor cores") of a GPU.
struct MatrixUnits {
  enum class Path : uint8_t {
    none,  // they do not: float32 arithmetic
    cm1,   // VK_KHR_cooperative_matrix: a subgroup multiplies fragments of m x k and k x n
    cm2,   // VK_NV_cooperative_matrix2: a workgroup multiplies matrices whose sides are multiples of m, n and k
  };
  Path path = Path::none;
  uint32_t m = 0, n = 0, k = 0;
  bool operator==(const MatrixUnits&) const = default;
};

struct Features {
  bool float64 = true;
  bool int64 = true;
  bool storage8 = true;   // 1-byte elements in buffers: bool, uint8, int8
  bool storage16 = true;  // 2-byte elements in buffers: int16, float16, bfloat16
  bool software = false;  // a driver that runs on the CPU: no memory latency to hide
  bool shuffles = false;  // eight neighbouring threads or more exchange values without shared memory
  uint32_t subgroup = 0;  // its threads in kernels that count on their number; 0: none may
  bool ballots = false;   // those, 16 or 32, learn a bit of each other
  MatrixUnits float16_units, bfloat16_units;
  MatrixUnits float16_fragments, bfloat16_fragments;  // the path cm1, also where there is a better one
  int64_t shared_bytes = 32768;
  int64_t max_groups = 65535;  // workgroups along one axis
  int64_t resident = 0;        // workgroups of 256 threads that may wait for each other: all run at once; 0: none may
  int64_t max_group_threads = 256;
  int64_t max_buffer_bytes = INT64_MAX;
  int64_t memory_bytes = 0;  // total
  const Tiles* tiles = default_tiles();
  const MatrixUnits& units(DType half) const { return half == DType::float16 ? float16_units : bfloat16_units; }
  const MatrixUnits& fragments(DType half) const {
    return half == DType::float16 ? float16_fragments : bfloat16_fragments;
  }
  bool operator==(const Features&) const = default;
};

}  // namespace sg
