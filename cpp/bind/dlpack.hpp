// The structs of the DLPack ABI, versions 0.8 (without a version) and 1.x: arrays handed from one library to another
// inside a capsule. Layout and numbers from the specification (dmlc/dlpack, dlpack.h; data-apis.org/array-api).
// For dlpack.cpp only. Knows nothing of tensors.
#pragma once
#include <cstdint>

namespace sg::bind::dlpack {

enum DeviceType : int32_t { kCpu = 1, kCudaHost = 3, kVulkan = 7 };
struct Device {
  int32_t type, index;
};

enum TypeCode : uint8_t { kInt = 0, kUInt = 1, kFloat = 2, kBfloat = 4, kBool = 6 };
struct DataType {
  uint8_t code, bits;
  uint16_t lanes;
};

struct Array {
  void* data;
  Device device;
  int32_t ndim;
  DataType dtype;
  int64_t* shape;
  int64_t* strides;  // in elements; nullptr: C order
  uint64_t byte_offset;
};

struct Unversioned {
  static constexpr const char *kName = "dltensor", *kUsed = "used_dltensor";
  Array array;
  void* context;
  void (*deleter)(Unversioned*);
};

enum Flags : uint64_t { kReadOnly = 1, kIsCopied = 2 };
struct Versioned {
  static constexpr const char *kName = "dltensor_versioned", *kUsed = "used_dltensor_versioned";
  uint32_t major, minor;
  void* context;
  void (*deleter)(Versioned*);
  uint64_t flags;
  Array array;
};

}  // namespace sg::bind::dlpack
