// What a gradient needs to know about its op besides values: a struct of the op's own, held inline, so that recording an
// op asks for no memory. Knows the few that graph/ itself reads.
#pragma once
#include <cstring>
#include <type_traits>

#include "base/shape.hpp"

namespace sg {

class Attributes {
 public:
  Attributes() = default;
  template <class T>
  Attributes(const T& value) : type_(&type_of<T>) {
    static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= kBytes && alignof(T) <= alignof(int64_t));
    std::memcpy(bytes_, &value, sizeof(T));
  }

  // Error when an op reads another struct than it recorded.
  template <class T>
  const T& as() const {
    if (type_ != &type_of<T>) refuse_type();
    return *reinterpret_cast<const T*>(bytes_);
  }

 private:
  static constexpr size_t kBytes = 160;
  template <class T>
  static constexpr char type_of = 0;  // its address is the type's mark
  [[noreturn]] static void refuse_type();

  const void* type_ = nullptr;
  alignas(int64_t) unsigned char bytes_[kBytes];  // only those of the struct are set
};

// Of a view: where its elements lie in the memory that its input begins.
struct StridedAttributes {
  Dims strides;
  int64_t offset = 0;
};

// Of a write: the view that it went through, in the memory of the base.
struct AssignAttributes {
  Dims shape, strides;
  int64_t offset = 0;
  bool all = false;  // it replaced the whole base
};

// Of a fold: bit d: dimension d was folded.
struct ReduceAttributes {
  uint32_t axes = 0;
};

// Of one of several results of a custom function.
struct OutputAttributes {
  int64_t number = 0;
};

}  // namespace sg
