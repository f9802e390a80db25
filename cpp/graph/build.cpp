// Makes nodes and gives each its place in the log and in the gradient graph, in one step under the engine lock. Does
// not run them, and knows no device.
#include "graph/build.hpp"

#include <algorithm>
#include <atomic>
#include <optional>

#include "base/error.hpp"
#include "base/profile.hpp"
#include "graph/grad.hpp"
#include "graph/grain.hpp"
#include "graph/lineage.hpp"
#include "graph/log.hpp"
#include "graph/record.hpp"
#include "graph/update.hpp"
#include "graph/watcher.hpp"
#include "kernel/kernel.hpp"

namespace sg {
namespace recording {

Squeezed squeeze(const Dims& shape) {
  Squeezed s;
  for (int d = 0; d < shape.rank; ++d)
    if (shape[d] != 1) {
      s.keep[s.shape.rank] = d;
      s.shape.push(shape[d]);
    }
  return s;
}
Dims pick(const Dims& strides, const Squeezed& s) {
  Dims out;
  out.rank = s.shape.rank;
  for (int d = 0; d < s.shape.rank; ++d) out[d] = strides[s.keep[d]];
  return out;
}

NodeRef new_node(const OpInfo& op, DType dtype, DType compute, DeviceId device, size_t inputs) {
  NodeRef n(new Node);
  n->make_room(static_cast<int>(inputs));
  n->op = &op;
  n->dtype = dtype;
  n->compute = compute;
  n->device = device;
  n->location = kept_location();
  return n;
}

// Most ops take tensors only; a number has no memory.
void refuse_number(const OpInfo& op, const Tensor& x) {
  if (x.is_number()) fail<TypeError>(op.name, "a number where a tensor is needed", "make it one with sg.tensor()");
}

// What is recorded aside reads the log that it is a part of.
void settle(const Storage& storage) {
  while (storage.node->pending() && storage.node->log && storage.node->log->thread != thread_number() && !Aside::now)
    run_for_other(*storage.node->log);
}

void set_tensor(const OpInfo& op, Operand& operand, const Tensor& x, const Dims& strides) {
  refuse_number(op, x);
  settle(*x->storage);
  operand.kind = Operand::Kind::node;
  operand.dtype = x.dtype();
  operand.node = x->storage->node.ref();
  operand.strides = strides;
  operand.offset = x->offset;
  if (watcher) watcher->uses(x);
}

void set_number(Operand& operand, DType dtype, Number number, ReplaySlot slot) {
  operand.kind = Operand::Kind::number;
  operand.dtype = dtype;
  operand.number = number;
  operand.slot = slot;
}

bool touches_shared(const Node& node) {
  for (int i = 0; i < node.inputs; ++i) {
    const Node* from = node.in[i].node.get();
    if (from && from->buffer && from->buffer->shared) return true;
  }
  return false;
}

void keep_shared(Node& now, Node& before) {
  if (!before.buffer || !before.buffer->shared) return;
  if (now.state != Node::State::ready || now.buffer == before.buffer) return;
  auto* fresh = static_cast<unsigned char*>(now.buffer->host);
  std::swap_ranges(fresh, fresh + now.bytes(), static_cast<unsigned char*>(before.buffer->host));
  std::swap(now.buffer, before.buffer);
}

// What is run as a whole stays in one log.
void run_if_due(Log& log, bool at_once, bool may_wait) {
  const bool full = log.nodes.size() >= log.most, heavy = log.leaf_bytes >= kMaxLogLeafBytes;
  if (at_once || ((full || heavy) && !may_wait && log.whole_from == SIZE_MAX)) flush(log, !at_once && !heavy);
  if (at_once) raise_reports(log.device);
}

namespace {
// The log has room for the node, and a storage or a gradient holds it already: the log may run as soon as it has it.
void append_in_room(Log& log, const NodeRef& node, const SourceLocation& line) {
  note_disturbance();
  find_lineage(*node);
  log.append_in_room(node);
  if (node->op->reports) log.reporters.push_back({node.get(), node->op, line, thread_number(), operations_recorded});
  // The reader of a checked index comes next and belongs to its kernel.
  run_if_due(log, touches_shared(*node), node->op->reports);
}
}  // namespace

void append(const NodeRef& node) {
  if (Aside::now) return Aside::now->nodes.push_back(node);
  const SourceLocation line = node->op->reports ? current_location() : SourceLocation();
  for (int i = 0; i < node->inputs; ++i) raise_if_failed(node->in[i]);
  Log& log = log_of(node->device);
  log.make_room(*node);
  append_in_room(log, node, line);
}

}  // namespace recording

using namespace recording;

namespace {

// The type of an input of lower rank (number, 0-d, tensor) counts only where its kind (bool, integer, float) is higher.
using Maybe = std::optional<DType>;
Maybe combined(Maybe high, Maybe low) {
  if (!high || !low) return high ? high : low;
  return kind_of(*low) > kind_of(*high) ? low : high;
}

std::atomic<DType> float_of_numbers{DType::float32};
std::atomic<Precision> float32_products{Precision::highest};

DType promoted(std::initializer_list<Tensor> inputs, const OpInfo& op) {
  bool any = false;
  for (const Tensor& x : inputs) any = any || !x.is_number();
  if (!any) fail<TypeError>(op.name, "needs a tensor, got numbers only", "make one of them a tensor");
  return result_type(inputs);
}

Number as_type(const Tensor& x, DType t) {
  const Number n = x->number;
  if (is_float(t)) return Number{.f = is_float(x.dtype()) ? n.f : static_cast<double>(n.i)};
  if (t == DType::boolean) return Number{.i = is_float(x.dtype()) ? n.f != 0 : n.i != 0};
  return Number{.i = is_float(x.dtype()) ? static_cast<int64_t>(n.f) : n.i};
}

// A tensor without dimensions on the CPU goes where the others are, as in PyTorch.
bool may_move(const Tensor& x) { return !x.is_number() && x.rank() == 0 && !x.device().is_gpu(); }

[[noreturn]] void fail_devices(const std::string& op, const Tensor& a, const Tensor& b) {
  const bool of_both = a.device().is_gpu() && b.device().is_gpu();
  const DeviceId gpu = a.device().is_gpu() ? a.device() : b.device();
  fail<ValueError>(
      op, "inputs are on different devices, " + a.device().str() + " and " + b.device().str(),
      std::string("move ") + (of_both ? "one" : "the one on the CPU") + " with .to(\"" + gpu.str() + "\")");
}

struct CommonDevice {
  DeviceId device;
  bool all_there = true;
};

CommonDevice device_of(const OpInfo& op, std::initializer_list<Tensor> inputs) {
  const Tensor* first = nullptr;
  bool all_there = true;
  for (const Tensor& x : inputs) {
    if (x.is_number()) continue;
    if (first && !(x.device() == first->device())) all_there = false;
    if (!first || (may_move(*first) && !may_move(x))) first = &x;
    if (!all_there && !(x.device() == first->device()) && !may_move(x)) fail_devices(op.name, *first, x);
  }
  return {first->device(), all_there};
}

}  // namespace

DType default_float() { return float_of_numbers.load(std::memory_order_relaxed); }
void set_default_float(DType t) { float_of_numbers = t; }
Precision float32_precision() { return float32_products.load(std::memory_order_relaxed); }
void set_float32_precision(Precision p) { float32_products = p; }

namespace {
template <class List>
DType common_type(const List& inputs) {
  Maybe arrays, scalars, numbers;
  for (const Tensor& x : inputs) {
    Maybe& t = x.is_number() ? numbers : x.rank() == 0 ? scalars : arrays;
    const DType own = x.is_number() && is_float(x.dtype()) ? default_float() : x.dtype();
    t = t ? promote(*t, own) : own;
  }
  return *combined(arrays, combined(scalars, numbers));
}
}  // namespace

DType result_type(std::initializer_list<Tensor> inputs) { return common_type(inputs); }
DType result_type(const std::vector<Tensor>& inputs) { return common_type(inputs); }

DeviceId common_device(const char* op, std::initializer_list<const Tensor*> inputs) {
  const Tensor* first = *inputs.begin();
  for (const Tensor* t : inputs)
    if (!(t->device() == first->device())) fail_devices(op, *first, *t);
  return first->device();
}

namespace {
// The same of what `change` makes of each tensor.
template <class F>
Tensor pointwise_of(const OpInfo& op, std::initializer_list<Tensor> inputs, F change) {
  const auto changed = [&](int k) {
    const Tensor& x = inputs.begin()[k];
    return x.is_number() ? x : change(x);
  };
  return inputs.size() == 2 ? pointwise(op, {changed(0), changed(1)})
                            : pointwise(op, {changed(0), changed(1), changed(2)});
}

// Whether a tensor without dimensions may have a value that the narrow integers of the others cannot hold.
bool wraps(const Tensor& x, DType type) {
  return !x.is_number() && !is_float(type) && is_narrow(type) && promote(x.dtype(), type) != type;
}
}  // namespace

// In order: result type, broadcast shape, the node without dimensions of size 1, its operands as strides over that
// domain, the gradient. Invalid arguments throw before the node is appended; afterwards nothing may.
Tensor pointwise(const OpInfo& op, std::initializer_list<Tensor> inputs) {
  const Entry entry(op);
  DType type = promoted(inputs, op);
  if (!(op.takes >> kind_of(type) & 1))
    fail<TypeError>(op.name, std::string("is not for tensors of ") + name_of(type), "convert them with .to()");
  if (op.result == Result::floating) type = with_fractions(type);
  if (op.result == Result::number && type == DType::boolean) type = DType::int64;
  const DType compute = wide_of(type);
  const auto [device, all_there] = device_of(op, inputs);
  if (!all_there)  // the gradients of what is copied go back
    return pointwise_of(op, inputs, [to = device](const Tensor& x) { return to_device(x, to); });
  if (std::ranges::any_of(inputs, [&](const Tensor& x) { return wraps(x, type); }))
    return pointwise_of(op, inputs, [&](const Tensor& x) { return wraps(x, type) ? cast(x, type) : x; });
  Dims shape;
  for (const Tensor& x : inputs)
    if (!x.is_number() && !(shape == x.shape()))
      shape = shape.rank == 0 ? x.shape() : broadcast_shapes(op.name, shape, x.shape());
  check_size(op.name, shape);
  NodeRef node = new_node(op, op.result == Result::boolean ? DType::boolean : type, compute, device, inputs.size());
  const Squeezed s = squeeze(shape);
  node->domain = s.shape;
  node->numel = s.shape.numel();
  for (const Tensor& x : inputs) {
    Operand& operand = node->in[node->inputs++];
    if (x.is_number()) {
      set_number(operand, compute, as_type(x, compute), x->slot);
    } else {
      const bool whole = x.shape() == shape;
      set_tensor(op, operand, x, pick(whole ? x.strides() : broadcast_strides(x.shape(), x.strides(), shape), s));
    }
  }
  find_grain(*node);
  Tensor out = wrap(node, shape);
  append(node);
  const Tensor* list[kFewInputs] = {};
  int n = 0;
  for (const Tensor& x : inputs) list[n++] = &x;
  if (n == 1) record_gradient(op, out, {list[0]});
  if (n == 2) record_gradient(op, out, {list[0], list[1]});
  if (n == 3) record_gradient(op, out, {list[0], list[1], list[2]});
  return out;
}

Tensor cast_node(const OpInfo& op, const Tensor& x, DType dtype) {
  const Entry entry(op);
  NodeRef node = new_node(op, dtype, wide_of(x.dtype()), x.device(), 1);
  const Squeezed s = squeeze(x.shape());
  node->domain = s.shape;
  node->numel = s.shape.numel();
  node->inputs = 1;
  set_tensor(op, node->in[0], x, pick(x.strides(), s));
  find_grain(*node);
  Tensor out = wrap(node, x.shape());
  append(node);
  record_gradient(op, out, {&x});
  return out;
}

namespace {
// Whether x is the whole value, each element once, its dimensions in whatever order.
bool is_whole(const Tensor& x, const Node& value) {
  if (x->offset != 0 || x.numel() != value.numel) return false;
  Dims sizes, strides;
  for (int d = 0; d < x.rank(); ++d) {
    int at = sizes.rank;
    sizes.push(x.shape()[d]);
    strides.push(x.strides()[d]);
    for (; at > 0 && strides[at - 1] < strides[at]; --at) {
      std::swap(sizes[at - 1], sizes[at]);
      std::swap(strides[at - 1], strides[at]);
    }
  }
  return is_contiguous(sizes, strides);
}
}  // namespace

Tensor cast_once(const OpInfo& op, const Tensor& x, DType dtype) {
  const Entry entry(op);
  settle(*x->storage);
  Node& value = *x->storage->node.get();
  const bool changes_unseen = value.buffer && value.buffer->shared;
  if (watcher || changes_unseen || !is_whole(x, value)) return cast_node(op, x, dtype);
  if (!value.half || value.half->dtype != dtype || value.half->state == Node::State::failed) {
    NodeRef node = new_node(op, dtype, wide_of(x.dtype()), x.device(), 1);
    const Squeezed s = squeeze({value.numel});
    node->domain = s.shape;
    node->numel = value.numel;
    node->inputs = 1;
    set_tensor(op, node->in[0], x, pick({1}, s));
    const Tensor held = wrap(node, {value.numel});
    append(node);
    value.keep_half(std::move(node));
  }
  Tensor out = wrap(value.half, x.shape());
  out->strides = x.strides();
  record_gradient(op, out, {&x});
  return out;
}

Tensor generate(const OpInfo& op, const Dims& shape, DType dtype, DeviceId device, bool index,
                std::initializer_list<Number> numbers, DType number_type, ReplaySlot slot) {
  const Entry entry(op);
  check_size(op.name, shape);
  NodeRef node = new_node(op, dtype, wide_of(dtype), device, index + numbers.size());
  const Squeezed s = squeeze(shape);
  node->domain = s.shape;
  node->numel = s.shape.numel();
  if (index) {
    Operand& operand = node->in[node->inputs++];
    operand.kind = Operand::Kind::index;
    operand.dtype = DType::int64;
    operand.strides = contiguous_strides(s.shape);
  }
  for (Number n : numbers) {
    set_number(node->in[node->inputs++], wide_of(number_type), n, slot);
    slot = slot.next();
  }
  Tensor out = wrap(node, shape);
  append(node);
  return out;
}

// The domain is that of the input; the result's elements are counted over the dimensions that stay.
Tensor reduce(const OpInfo& op, const Tensor& x, uint32_t axes, bool keepdim) {
  const Entry entry(op);
  NodeRef node = new_node(op, x.dtype(), wide_of(x.dtype()), x.device(), 1);
  const Squeezed s = squeeze(x.shape());
  node->domain = s.shape;
  node->inputs = 1;
  set_tensor(op, node->in[0], x, pick(x.strides(), s));
  node->numel = 1;
  for (int d = 0; d < s.shape.rank; ++d) {
    if (axes >> s.keep[d] & 1)
      node->reduced |= static_cast<uint16_t>(1u << d);
    else
      node->numel *= s.shape[d];
  }
  find_grain(*node);
  Dims shape;
  for (int d = 0; d < x.rank(); ++d) {
    if (!(axes >> d & 1))
      shape.push(x.shape()[d]);
    else if (keepdim)
      shape.push(1);
  }
  Tensor out = wrap(node, shape);
  append(node);
  record_gradient(op, out, {&x}, ReduceAttributes{axes});
  return out;
}

Tensor contract(const OpInfo& op, const Tensor& a, const Tensor& b, bool wide) {
  const Entry entry(op);
  const DeviceId device = common_device(op.name, {&a, &b});
  const DType dtype = promote(a.dtype(), b.dtype());
  const int64_t batch = std::max(a.shape()[0], b.shape()[0]);
  NodeRef node = new_node(op, wide ? wide_of(dtype) : dtype, wide_of(dtype), device, 2);
  check_size(op.name, {batch, a.shape()[1], b.shape()[2]});
  if (dtype == DType::float32 && device.is_gpu())
    node->parameters = ContractionParameters{.precision = float32_precision(), .window = {}};
  node->domain = {a.shape()[0] == 0 || b.shape()[0] == 0 ? 0 : batch, a.shape()[1], b.shape()[2], a.shape()[2]};
  node->reduced = 1u << 3;
  node->inputs = 2;
  set_tensor(op, node->in[0], a, {a.shape()[0] == 1 ? 0 : a.strides()[0], a.strides()[1], 0, a.strides()[2]});
  set_tensor(op, node->in[1], b, {b.shape()[0] == 1 ? 0 : b.strides()[0], 0, b.strides()[2], b.strides()[1]});
  node->numel = node->domain[0] * node->domain[1] * node->domain[2];
  const Dims shape = {node->domain[0], node->domain[1], node->domain[2]};
  Tensor out = wrap(node, shape);
  append(node);
  record_gradient(op, out, {&a, &b});
  return out;
}

Tensor contract(const OpInfo& op, const Tensor& a, const Dims& a_strides, const Tensor& b, const Dims& b_strides,
                const Contraction& sizes, const Dims& result) {
  const Entry entry(op);
  check_size(op.name, result);
  const DType dtype = promote(a.dtype(), b.dtype());
  NodeRef node = new_node(op, sizes.wide ? wide_of(dtype) : dtype, wide_of(dtype), common_device(op.name, {&a, &b}), 2);
  for (const Dims* dims : {&sizes.leading, &sizes.n, &sizes.k})
    for (int64_t size : *dims) node->domain.push(size);
  node->parameters = ContractionParameters{sizes.leading.rank - 2, Precision::highest, PackedWindow(sizes.window)};
  for (int d = node->domain.rank - sizes.k.rank; d < node->domain.rank; ++d) node->reduced |= uint16_t(1u << d);
  node->inputs = 2;
  set_tensor(op, node->in[0], a, a_strides);
  set_tensor(op, node->in[1], b, b_strides);
  node->numel = result.numel();
  Tensor out = wrap(node, result);
  append(node);
  return out;
}

// No node: a view is other strides on the same storage. Its history follows that of its base (Tensor::grad_fn).
Tensor view(const OpInfo& op, const Tensor& x, const Dims& shape, const Dims& strides, int64_t offset,
            const Attributes& attributes) {
  const Stage stage(op.name, "cpu_op");
  refuse_number(op, x);
  check_size(op.name, shape);
  leave_base(x);
  Ref<TensorImpl> t(new TensorImpl);
  t->storage = x->storage;
  t->shape = shape;
  t->strides = strides;
  t->offset = offset;
  t->dtype = x.dtype();
  t->device = x.device();
  t->untracked = x->untracked;
  Tensor out{std::move(t)};
  record_gradient(op, out, {&x}, attributes);
  out->base = x->base ? x->base : x.ref();
  out->history = out->base->history;
  out->unrecorded = x->unrecorded || !grad_enabled();
  return out;
}

Tensor indexed(const OpInfo& op, const Tensor& x, const Dims& shape, const Dims& strides, const Tensor& offset) {
  const Entry entry(op);
  common_device(op.name, {&x, &offset});
  check_size(op.name, shape);
  NodeRef node = new_node(op, x.dtype(), wide_of(x.dtype()), x.device(), 2);
  const Squeezed s = squeeze(shape);
  node->domain = s.shape;
  node->numel = s.shape.numel();
  node->inputs = 2;
  set_tensor(op, node->in[0], x, pick(strides, s));
  set_tensor(op, node->in[1], offset, pick(broadcast_strides(offset.shape(), offset.strides(), shape), s));
  find_grain(*node);
  Tensor out = wrap(node, shape);
  append(node);
  return out;
}

namespace {
NodeRef kernel_node(const OpInfo& op, std::span<const Tensor> inputs, const Dims& shape, DType dtype,
                    const Parameters& parameters) {
  check_size(op.name, shape);
  const Tensor& first = inputs.front();
  NodeRef node = new_node(op, dtype, wide_of(dtype), first.device(), inputs.size());
  node->domain = first.shape();
  node->numel = shape.numel();
  node->parameters = parameters;
  for (const Tensor& x : inputs) {
    common_device(op.name, {&first, &x});
    set_tensor(op, node->in[node->inputs++], x, x.contiguous() ? contiguous_strides(x.shape()) : x.strides());
  }
  return node;
}
}  // namespace

Tensor custom_kernel(const OpInfo& op, std::span<const Tensor> inputs, const Dims& shape, DType dtype,
                     const Parameters& parameters, const Attributes& attributes) {
  const Entry entry(op);
  const NodeRef node = kernel_node(op, inputs, shape, dtype, parameters);
  Tensor out = wrap(node, shape);
  append(node);
  const Tensor* list[kMaxInputs];
  for (size_t k = 0; k < inputs.size(); ++k) list[k] = &inputs[k];
  record_gradient(op, out, {list, inputs.size()}, attributes);
  return out;
}

Tensor custom_kernel_once(const OpInfo& op, const Tensor& x, const Dims& shape, DType dtype,
                          const Parameters& parameters) {
  const Entry entry(op);
  const NodeRef node = kernel_node(op, {&x, 1}, shape, dtype, parameters);
  find_lineage(*node);
  if (NodeRef known = kept_node(*node)) return wrap(std::move(known), shape);
  Tensor out = wrap(node, shape);
  append(node);
  keep_node(node);
  return out;
}

Tensor part_of(const Tensor& whole, DType dtype, const Dims& shape, const Dims& strides, int64_t offset) {
  Ref<TensorImpl> t(new TensorImpl);
  t->storage = whole->storage;
  t->shape = shape;
  t->strides = strides;
  t->offset = offset;
  t->dtype = dtype;
  t->device = whole.device();
  return Tensor(std::move(t));
}

Tensor memory(const OpInfo& op, const Dims& shape, DType dtype, DeviceId device) {
  const Entry entry(op);
  check_size(op.name, shape);
  NodeRef node = new_node(op, dtype, wide_of(dtype), device, 0);
  node->domain = squeeze(shape).shape;
  node->numel = shape.numel();
  Tensor out = wrap(node, shape);
  append(node);
  return out;
}

namespace {
bool went_with_device(const Node& node) { return node.buffer && node.buffer->gone; }

// Whether a value is made of `before` and numbers alone, by a few pointwise operations: it fails only where that does.
bool follows_from(const Node& value, const Node& before) {
  constexpr size_t kMostNodes = 16;
  std::vector<const Node*> open{&value};
  for (size_t seen = 0; !open.empty(); ++seen) {
    const Node& node = *open.back();
    open.pop_back();
    if (&node == &before) continue;
    if (seen == kMostNodes || !node.pending() || node.op->kind != Kind::pointwise) return false;
    for (int k = 0; k < node.inputs; ++k)
      if (node.in[k].node) open.push_back(node.in[k].node.get());
  }
  return true;
}

// Whether a storage has taken the node before: a node of a log has one assignment.
bool is_taken(const Node& made) {
  const auto& writes = made.log->assignments;
  for (size_t i = writes.size(); i-- > 0 && writes[i].node >= made.log_index;)
    if (writes[i].node == made.log_index) return true;
  return false;
}

// Whether a storage may take the node of a result for that of its value, which is pending: an activation in place is then
// computed together with what comes before it, and nothing is copied.
bool may_take(const Tensor& target, const Node& before, const Tensor& result) {
  const Node& made = *result->storage->node.get();
  const auto is_whole = [](const Tensor& x, const Node& node) {
    return x.contiguous() && x->offset == 0 && x.numel() == node.numel && x.dtype() == node.dtype;
  };
  return before.pending() && made.pending() && &made != &before && made.log == before.log && !Aside::now &&
         !transaction && before.op->kind != Kind::effect && before.op->kind != Kind::memory &&
         result.shape() == target.shape() && result.dtype() == target.dtype() && result.device() == target.device() &&
         is_whole(target, before) && is_whole(result, made) && !is_taken(made) && follows_from(made, before);
}

// The storage of the target has the value of a node from now on, until the log's run fails. There is room in the log.
void set_value(Log& log, const Tensor& target, const NodeRef& node, int32_t index, const Ref<GradNode>& history,
               const SourceLocation& line) noexcept {
  Storage& storage = *target->storage;
  if (!target->untracked) {
    ++storage.version;
    storage.written = line;
  }
  const NodeRef before = storage.node.ref();
  const Ref<TensorImpl> base = history ? (target->base ? target->base : target.ref()) : Ref<TensorImpl>();
  log.assignments.push_back({index, target->storage, before, base, base ? base->grad_fn : history, history});
  before->drop_half();
  storage.node = Held(node);
}

// What a write adds to the gradient graph.
using HistoryOf = Ref<GradNode>(const OpInfo&, const Tensor& target, const Tensor& value);

void take_value(const OpInfo& op, const Tensor& target, const Tensor& result, HistoryOf* history_of) {
  check_write(op.name, target, result);
  const NodeRef node = result->storage->node.ref();
  Ref<GradNode> history = history_of(op, target, result);
  const SourceLocation line = current_location();
  Log& log = *node->log;
  log.make_room(*node);
  set_value(log, target, node, node->log_index, history, line);
  was_written(target, std::move(history));
}

// The engine lock is held from before the old value is read until the new one has its history, so no write is lost.
void write_values(const OpInfo& op, const Tensor& target, const Tensor& value, const Tensor& at,
                  HistoryOf* history_of) {
  check_write(op.name, target, value);
  if (may_move(value) && target.device().is_gpu())
    return write_values(op, target, to_device(value, target.device()), at, history_of);
  const Dims& shape = at ? at.shape() : target.shape();
  if (at) common_device(op.name, {&target, &at});
  if (!value.is_number()) {
    common_device(op.name, {&target, &value});
    if (!(broadcast_shapes(op.name, value.shape(), shape) == shape))
      fail<ValueError>(op.name, "a value of shape " + value.shape().str() + " does not fit into " + shape.str(),
                       "reshape it");
  }
  Storage& storage = *target->storage;
  settle(storage);
  if (!value.is_number()) settle(*value->storage);
  NodeRef before = storage.node.ref();
  const DType compute = wide_of(target.dtype());
  NodeRef node = new_node(op, target.dtype(), compute, target.device(), at ? 3 : 2);
  const Squeezed s = squeeze(shape);
  node->domain = s.shape;
  node->numel = before->numel;
  node->inputs = at ? 3 : 2;
  if (value.is_number())
    set_number(node->in[0], compute, as_type(value, compute), value->slot);
  else
    set_tensor(op, node->in[0], value, pick(broadcast_strides(value.shape(), value.strides(), shape), s));
  set_tensor(op, node->in[1], target, at ? Dims::filled(s.shape.rank, 0) : pick(target.strides(), s));
  if (!at && went_with_device(*before) && target.contiguous() && target.numel() == before->numel)
    node->in[1].node =
        ones_like(target.detach(), {}, {})->storage->node.ref();  // fresh memory, every element of which is written
  if (at) set_tensor(op, node->in[2], at, pick(at.strides(), s));
  // All that can fail comes before the storage changes.
  for (int i = 0; i < node->inputs; ++i) raise_if_failed(node->in[i]);
  Ref<GradNode> history = history_of ? history_of(op, target, value) : Ref<GradNode>();
  const SourceLocation line = current_location();
  node->together = transaction;
  Log& log = log_of(node->device);
  log.make_room(*node);
  set_value(log, target, node, static_cast<int32_t>(log.nodes.size()), history, line);
  log.to_the_end = true;  // the write has begun, and its history and shared memory are still to follow
  struct AtTheEnd {       // also when the run reports an error: the value has been written nevertheless
    Log& log;
    const Tensor& target;
    Node &now, &before;
    Ref<GradNode> history;
    ~AtTheEnd() {
      log.to_the_end = false;
      keep_shared(now, before);
      if (target->storage->node.get() == &now) was_written(target, std::move(history));
    }
  } keep{log, target, *node, *before, std::move(history)};
  append_in_room(log, node, line);
}
}  // namespace

namespace {
void write_all(const OpInfo& op, const Tensor& target, const Tensor& value, HistoryOf* history_of) {
  settle(*target->storage);
  if (!value.is_number()) settle(*value->storage);
  if (!value.is_number() && may_take(target, *target->storage->node.get(), value))
    take_value(op, target, value, history_of);
  else
    write_values(op, target, value, {}, history_of);
}
}  // namespace

void assign(const OpInfo& op, const Tensor& target, const Tensor& value) {
  const Entry entry(op);
  write_all(op, target, value, history_of_write);
}

void assign_at(const OpInfo& op, const Tensor& target, const Tensor& value, const Tensor& at) {
  const Entry entry(op);
  write_values(op, target, value, at, nullptr);
}

// Otherwise the number of such writes between two reads would decide the structure of the log, and each number of them
// would need a plan.
void run_small(const Tensor& written) {
  constexpr size_t kLittle = 3;        // nodes
  constexpr int64_t kSmall = 1 << 14;  // elements
  if (written.numel() != 1 || written.device().is_gpu() || watcher) return;
  const EngineLock lock;
  Log& log = log_of(written.device());
  const auto is_small = [](const NodeRef& node) {
    const Kind kind = node->op->kind;
    return node->domain.numel() <= kSmall && (kind == Kind::pointwise || kind == Kind::effect);
  };
  if (log.nodes.empty() || log.nodes.size() > kLittle || log.whole_from <= log.nodes.size()) return;
  if (std::all_of(log.nodes.begin(), log.nodes.end(), is_small)) flush(log, false);
}

// Under one lock from the comparison to the write: that is what makes x.add_(1) from several threads lose nothing.
bool replace(const OpInfo& op, const Tensor& target, const Tensor& before, const Tensor& result) {
  const Entry entry(op);
  settle(*result->storage);
  settle(*target->storage);
  if (!(target->storage->node.ref() == before->storage->node.ref())) return false;
  write_all(op, target, result, history_of_result);
  const Ref<GradNode>& fn = result.grad_fn();
  if (grad_enabled() && fn && fn->output.is_of(result)) fn->output.follow(target);
  return true;
}

}  // namespace sg
