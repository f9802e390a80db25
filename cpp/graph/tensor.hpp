// Tensor: a handle on a view of a Storage, and its place in the gradient graph. The C++ user's type as well as the
// binding's. Copying a Tensor copies the handle. A number is a Tensor too (`is_number()`): it has no device and adopts
// the type of what it meets.
#pragma once
#include <string>
#include <vector>

#include "graph/node.hpp"

namespace sg {

class GradNode;
class Tensor;

// What views share: the current value of a piece of memory.
struct Storage : RefCounted<Storage> {
  Held node;  // its current value
  static void destroy(Storage* s) { delete s; }
};

struct TensorImpl : RefCounted<TensorImpl> {
  Ref<Storage> storage;  // empty: a number
  Dims shape, strides;
  int64_t offset = 0;
  DType dtype = DType::float32;
  DeviceId device;
  Number number{};
  bool requires_grad = false;
  Ref<GradNode> grad_fn;
  Ref<TensorImpl> grad;
  static void* operator new(size_t);
  static void operator delete(void*);
  static void destroy(TensorImpl* t);
};

class Tensor {
 public:
  Tensor() = default;
  Tensor(Ref<TensorImpl> impl) : impl_(std::move(impl)) {}
  Tensor(double number);  // a number, not a 0-d tensor
  Tensor(int number);
  Tensor(int64_t number);

  explicit operator bool() const { return static_cast<bool>(impl_); }
  TensorImpl* impl() const { return impl_.get(); }
  TensorImpl* operator->() const { return impl_.get(); }
  const Ref<TensorImpl>& ref() const { return impl_; }

  bool is_number() const { return !impl_->storage; }
  const Dims& shape() const { return impl_->shape; }
  const Dims& strides() const { return impl_->strides; }
  DType dtype() const { return impl_->dtype; }
  DeviceId device() const { return impl_->device; }
  int rank() const { return impl_->shape.rank; }
  int64_t numel() const { return impl_->shape.numel(); }
  bool contiguous() const { return is_contiguous(impl_->shape, impl_->strides); }

  bool requires_grad() const { return impl_->requires_grad || impl_->grad_fn; }
  Tensor& requires_grad_(bool on = true);  // TypeError for integers
  bool is_leaf() const { return !impl_->grad_fn; }
  Tensor grad() const { return Tensor(impl_->grad); }
  Tensor detach() const;  // same storage, no gradient

 private:
  Ref<TensorImpl> impl_;
};

// A tensor over a node's whole (contiguous) value.
Tensor wrap(NodeRef node, const Dims& shape);
// A ready node on memory that holds `numel` elements.
NodeRef leaf_node(BufferRef buffer, DType dtype, DeviceId device, int64_t numel);

}  // namespace sg
