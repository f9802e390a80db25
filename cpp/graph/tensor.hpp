// Tensor: a handle on a view of a Storage, and its place in the gradient graph. The type of C++ programs and of the
// binding. Copying a Tensor copies the handle. A number is a Tensor too (`is_number()`): it has no device and adopts
// the type of what it meets.
#pragma once
#include <memory>

#include "base/source_location.hpp"
#include "graph/node.hpp"

namespace sg {

class GradNode;
class Tensor;
struct Hooks;
struct RetainedGrad;

extern constinit thread_local bool inferring;  // the calling thread: inference mode is on

// What views share: the current value of a piece of memory.
// A write in place gives it another node and a higher version; readers recorded before keep the node they read.
struct Storage : RefCounted<Storage> {
  Held node;                         // its current value
  uint32_t recording = 0;            // the one it was made in; 0: none
  std::atomic<uint32_t> version{0};  // writes in place so far
  SourceLocation written;            // the last of them
  uint32_t pending_writes = 0;       // scratch of the engine
  std::atomic<uint32_t> saved{0};    // how many references are those of saved gradients
  const bool inferred = inferring;   // made in inference mode
  static void* operator new(size_t);
  static void operator delete(void*);
  static void destroy(Storage* s) { delete s; }
};

struct TensorImpl : RefCounted<TensorImpl> {
  Ref<Storage> storage;  // empty: a number
  Dims shape, strides;
  int64_t offset = 0;
  DType dtype = DType::float32;
  DeviceId device;
  Number number{};
  ReplaySlot slot;  // of a number
  bool requires_grad = false;
  bool untracked = false;        // of .data: what is written through it does not count as a change
  Ref<GradNode> grad_fn;         // see Tensor::grad_fn()
  Ref<TensorImpl> grad;          // of a leaf
  Ref<RetainedGrad> retained;    // .grad of another tensor
  std::unique_ptr<Hooks> hooks;  // of a leaf
  // A view's history is that of its base, seen through the view: a write through either changes both.
  Ref<TensorImpl> base;
  uint32_t history = 0;     // of a base: how often it changed; of a view: that of the base when grad_fn was made
  bool unrecorded = false;  // a view made under no_grad, or a view of one: it has no history
  void* shown = nullptr;    // the binding's: the object by which Python knows it, while that lives

  TensorImpl();
  ~TensorImpl();
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

  bool requires_grad() const { return impl_->requires_grad || grad_fn(); }
  // The same for display: false instead of an error for a view without a history whose base got one.
  bool shows_gradient() const;
  Tensor& requires_grad_(bool on = true);  // TypeError for integers
  bool is_leaf() const { return !grad_fn(); }
  // The op that made the tensor, made anew for a view whose base was written since. Error, while gradients are
  // recorded, for a view that was made under no_grad: whether the write belongs to its history is ambiguous.
  const Ref<GradNode>& grad_fn() const {
    if (impl_->base && impl_->base->history != impl_->history) renew_history();
    return impl_->grad_fn;
  }
  void set_history(Ref<GradNode> fn);  // after a write in place, or back to what was before
  Tensor grad() const;
  void set_grad(const Tensor& g);
  Tensor detach() const;  // same storage, no gradient
  Tensor data() const;    // the same, and what is written through it does not count as a change
  void detach_();         // forgets how the tensor was made

 private:
  void renew_history() const;
  Ref<TensorImpl> impl_;
};

// How many elements the memory behind a tensor has.
int64_t room_of(const Tensor& x);
// A tensor over a node's whole (contiguous) value.
Tensor wrap(NodeRef node, const Dims& shape);
// A ready node on memory that holds `numel` elements.
NodeRef leaf_node(BufferRef buffer, DType dtype, DeviceId device, int64_t numel);

}  // namespace sg
