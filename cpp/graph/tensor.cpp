// Handles: how they are made, detached and destroyed. Computes nothing; ops do.
#include "graph/tensor.hpp"

#include "base/error.hpp"
#include "graph/free_list.hpp"
#include "graph/grad.hpp"
#include "graph/log.hpp"
#include "graph/watcher.hpp"

namespace sg {

constinit thread_local bool inferring = false;
constinit thread_local Watcher* watcher = nullptr;
std::atomic<int32_t> watchers{0};
std::atomic<uint32_t> disturbances{0};

namespace {

Tensor make_number(DType dtype, Number number) {
  Ref<TensorImpl> impl(new TensorImpl);
  impl->dtype = dtype;
  impl->number = number;
  return Tensor(std::move(impl));
}

}  // namespace

void* Storage::operator new(size_t size) { return FreeList<Storage, 4096>::take(size); }
void Storage::operator delete(void* p) { FreeList<Storage, 4096>::give(p); }
void* TensorImpl::operator new(size_t size) { return FreeList<TensorImpl, 4096>::take(size); }
void TensorImpl::operator delete(void* p) { FreeList<TensorImpl, 4096>::give(p); }

TensorImpl::TensorImpl() = default;
TensorImpl::~TensorImpl() = default;
void TensorImpl::destroy(TensorImpl* t) { delete t; }

Tensor::Tensor(double number) : Tensor(make_number(DType::float64, Number{.f = number})) {}
Tensor::Tensor(int number) : Tensor(static_cast<int64_t>(number)) {}
Tensor::Tensor(int64_t number) : Tensor(make_number(DType::int64, Number{.i = number})) {}

Tensor& Tensor::requires_grad_(bool on) {
  if (on && !is_float(dtype()))
    fail<TypeError>("requires_grad", std::string("a tensor of ") + name_of(dtype()) + " has no gradient",
                    "use float32 or float64");
  if (!is_leaf() && !on) fail<Error>("requires_grad", "only a leaf can stop wanting a gradient", "use detach()");
  if (is_leaf()) impl_->requires_grad = on;
  return *this;
}

Tensor Tensor::detach() const {
  Ref<TensorImpl> t(new TensorImpl);
  t->storage = impl_->storage;
  t->shape = impl_->shape;
  t->strides = impl_->strides;
  t->offset = impl_->offset;
  t->dtype = impl_->dtype;
  t->device = impl_->device;
  t->number = impl_->number;
  t->slot = impl_->slot;
  t->untracked = impl_->untracked;
  return Tensor(std::move(t));
}

Tensor Tensor::data() const {
  Tensor t = detach();
  t->untracked = true;
  return t;
}

void Tensor::detach_() {
  if (impl_->base) fail<Error>("detach_", "the tensor is a view, whose history is that of its base", "use detach()");
  impl_->grad_fn = {};
  impl_->retained = {};
  impl_->requires_grad = false;
}

Tensor Tensor::grad() const {
  if (watcher) watcher->reads_gradient(*this);
  const EngineLock lock;
  return Tensor(impl_->retained ? impl_->retained->grad : impl_->grad);
}
void Tensor::set_grad(const Tensor& g) {
  if (watcher) watcher->sets_gradient(*this);
  const EngineLock lock;
  (impl_->retained ? impl_->retained->grad : impl_->grad) = g.ref();
}

int64_t room_of(const Tensor& x) {
  const EngineLock lock;
  return x->storage->node->numel;
}

Tensor wrap(NodeRef node, const Dims& shape) {
  Ref<TensorImpl> t(new TensorImpl);
  t->dtype = node->dtype;
  t->device = node->device;
  t->shape = shape;
  t->strides = contiguous_strides(shape);
  t->storage = Ref<Storage>(new Storage);
  t->storage->node = Held(std::move(node));
  if (watcher) watcher->makes(*t->storage);
  return Tensor(std::move(t));
}

NodeRef leaf_node(BufferRef buffer, DType dtype, DeviceId device, int64_t numel) {
  NodeRef n(new Node);
  n->dtype = n->compute = dtype;
  n->device = device;
  n->numel = numel;
  n->state = Node::State::ready;
  n->buffer = std::move(buffer);
  return n;
}

}  // namespace sg
