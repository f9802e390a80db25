// Records updates, and gives the functions that write them out what they read. Does not know what an update computes.
#include "graph/update.hpp"

#include <utility>

#include "base/error.hpp"
#include "graph/build.hpp"
#include "graph/record.hpp"

namespace sg {

using namespace recording;

const OpInfo kUpdateNumbers{.name = "numbers", .doc = "What updates share.", .kind = Kind::memory, .arity = 0};
const OpInfo kUpdatedState{
    .name = "state", .doc = "A state that an update writes.", .kind = Kind::effect, .arity = 2, .follows = true};

namespace {

constexpr int kFirstState = 3;  // of an update's operands: numbers, tensor, gradient, states

// Of each number its value and 1 - its value, both computed on the host.
NodeRef numbers_node(DeviceId device, std::span<const Tensor> numbers) {
  NodeRef node = new_node(kUpdateNumbers, DType::float64, DType::float64, device, 2 * numbers.size());
  for (const Tensor& n : numbers) {
    Operand &value = node->in[node->inputs++], &rest = node->in[node->inputs++];
    if (!n) continue;
    if (n.is_number()) {
      const double x = is_float(n.dtype()) ? n->number.f : static_cast<double>(n->number.i);
      set_number(value, DType::float64, Number{.f = x}, n->slot);
      set_number(rest, DType::float64, Number{.f = 1 - x}, n->slot.complement());
    } else {
      set_tensor(*node->op, value, n, {});
      raise_if_failed(value);
    }
  }
  return node;
}

void set_input(const OpInfo& op, Node& node, const Tensor& x, const Tensor& like, const Squeezed& s) {
  common_device(op.name, {&like, &x});
  if (!(x.shape() == like.shape()))
    fail<ValueError>(op.name,
                     "a state or a gradient has the shape " + x.shape().str() + ", its parameter " + like.shape().str(),
                     "load the state of the same model");
  Operand& operand = node.in[node.inputs++];
  set_tensor(op, operand, x, pick(x.strides(), s));
  raise_if_failed(operand);
}

// Nodes of one update, each of which writes a tensor.
class Writer {
 public:
  explicit Writer(Log& log) : log_(log), line_(current_location()) { log.to_the_end = true; }
  // Also when the run reports an error: the values have been written nevertheless.
  ~Writer() {
    log_.to_the_end = false;
    for (auto& [now, before] : shared_) keep_shared(*now, *before);
  }

  void write(const Tensor& target, NodeRef node) {
    Storage& storage = *target->storage;
    node->together = transaction;
    NodeRef before = storage.node.ref();
    node->numel = before->numel;
    if (before->buffer && before->buffer->shared) shared_.emplace_back(node, before);
    at_once_ = at_once_ || touches_shared(*node);
    log_.make_room(*node);
    if (!target->untracked) {
      ++storage.version;
      storage.written = line_;
    }
    before->drop_half();
    log_.assignments.push_back(
        {static_cast<int32_t>(log_.nodes.size()), target->storage, std::move(before), {}, {}, {}});
    storage.node = Held(node);
    log_.append_in_room(node);
  }

  void finish() { run_if_due(log_, at_once_, false); }

 private:
  Log& log_;
  const SourceLocation line_;
  bool at_once_ = false;
  std::vector<std::pair<NodeRef, NodeRef>> shared_;
};

}  // namespace

namespace {
NodeRef update_node(const OpInfo& op, const NodeRef& numbers, const Updated& u) {
  const Tensor& x = u.tensor;
  check_write(op.name, x, x);
  NodeRef node = new_node(op, x.dtype(), wide_of(x.dtype()), x.device(), kFirstState + u.states.size());
  const Squeezed s = squeeze(x.shape());
  node->domain = s.shape;
  node->inputs = 1;
  node->in[0].kind = Operand::Kind::node;
  node->in[0].node = numbers;
  set_input(op, *node, x, x, s);
  set_input(op, *node, u.gradient, x, s);
  for (const Tensor& state : u.states) {
    if (state) {
      check_write(op.name, state, x);
      set_input(op, *node, state, x, s);
    } else {
      ++node->inputs;
    }
  }
  return node;
}

NodeRef state_node(const NodeRef& update, int k) {
  const Operand& state = update->in[kFirstState + k];
  NodeRef node = new_node(kUpdatedState, state.dtype, wide_of(state.dtype), update->device, 2);
  node->domain = update->domain;
  node->inputs = 2;
  node->in[0].kind = Operand::Kind::node;
  node->in[0].node = update;
  node->in[0].offset = 1 + k;
  node->in[1] = state;
  return node;
}
}  // namespace

namespace {
// The calling thread's transaction, or one for as long as this lives.
class Together {
 public:
  Together() : own_(transaction ? nullptr : new Transaction) {
    if (own_) transaction = own_.get();
  }
  ~Together() {
    if (own_) transaction = nullptr;
  }
  Together(const Together&) = delete;
  Together& operator=(const Together&) = delete;

 private:
  const Ref<Transaction> own_;
};
}  // namespace

namespace {
// Before anything is recorded.
void settle_all(std::span<const Tensor> numbers, std::span<const Updated> tensors) {
  const auto each = [](const Tensor& x) {
    if (x && !x.is_number()) settle(*x->storage);
  };
  for (const Tensor& n : numbers) each(n);
  for (const Updated& u : tensors) {
    each(u.tensor);
    each(u.gradient);
    for (const Tensor& state : u.states) each(state);
  }
}
}  // namespace

void update_all(const OpInfo& op, std::span<const Tensor> numbers, std::span<const Updated> tensors) {
  const Entry entry(op);
  settle_all(numbers, tensors);
  const Together together;
  note_disturbance();
  const DeviceId device = tensors.front().tensor.device();
  Log& log = log_of(device);
  const NodeRef shared = numbers_node(device, numbers);
  log.append(shared);
  Writer writer(log);
  for (const Updated& u : tensors) {
    common_device(op.name, {&tensors.front().tensor, &u.tensor});
    const NodeRef node = update_node(op, shared, u);
    writer.write(u.tensor, node);
    for (size_t k = 0; k < u.states.size(); ++k)
      if (u.states[k]) writer.write(u.states[k], state_node(node, static_cast<int>(k)));
  }
  writer.finish();
}

namespace {
// What an operand reads, over the domain of its reader.
Tensor value_of(const Node& reader, int k) {
  const Operand& operand = reader.in[k];
  if (operand.kind == Operand::Kind::none) return {};
  if (operand.kind == Operand::Kind::number) return operand.number.f;
  Ref<TensorImpl> x(new TensorImpl);
  x->storage = Ref<Storage>(new Storage);
  x->storage->node = Held(operand.node);
  x->shape = reader.domain;
  x->strides = operand.strides;
  x->offset = operand.offset;
  x->dtype = operand.dtype;
  x->device = reader.device;
  return Tensor(std::move(x));
}
}  // namespace

Tensor tensor_of(const Node& update) { return value_of(update, 1); }
Tensor gradient_of(const Node& update) { return value_of(update, 2); }
Tensor state_of(const Node& update, int k) { return value_of(update, kFirstState + k); }

std::vector<Tensor> numbers_of(const Node& update) {
  const Node& shared = *update.in[0].node;
  std::vector<Tensor> numbers;
  for (int k = 0; k < shared.inputs; k += 2) {
    numbers.push_back(value_of(shared, k));
    if (numbers.back() && numbers.back().is_number())
      numbers.back()->slot.number = static_cast<uint32_t>(numbers.size());
  }
  return numbers;
}

int number_operand(ReplaySlot slot) {
  if (!slot || slot.complements > 1) return -1;
  return 2 * static_cast<int>(slot.number - 1) + static_cast<int>(slot.complements);
}

void assign_as(const Node& written, const Tensor& value) {
  NodeRef node = new_node(assign_row(), written.dtype, written.compute, written.device, 2);
  node->domain = written.domain;
  node->numel = written.numel;
  node->together = written.together;
  node->inputs = 2;
  set_tensor(*node->op, node->in[0], value, broadcast_strides(value.shape(), value.strides(), written.domain));
  node->in[1] = written.in[1];
  append(node);
}

Aside::Aside() : watcher_(std::exchange(watcher, nullptr)), detect_nan_(std::exchange(detect_nan, false)) {
  now = this;
}
Aside::~Aside() {
  now = nullptr;
  watcher = watcher_;
  detect_nan = detect_nan_;
}

}  // namespace sg
