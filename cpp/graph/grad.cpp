// Owns the gradient graph: who made a result, and the values that the gradient reads. Walking it is backward.cpp's;
// knows no formula.
#include "graph/grad.hpp"

#include <algorithm>
#include <atomic>
#include <new>
#include <unordered_set>

#include "base/error.hpp"
#include "graph/free_list.hpp"
#include "graph/log.hpp"
#include "graph/record.hpp"
#include "graph/watcher.hpp"

namespace sg {
namespace {

thread_local bool grad_mode = true;

uint64_t next_sequence() {
  static std::atomic<uint64_t> counter{0};
  return ++counter;
}

// A tensor on a saved value.
Tensor revive(const NodeRef& value, const Dims& shape, const Dims& strides, int64_t offset) {
  Tensor t = wrap(value, shape);
  t->strides = strides;
  t->offset = offset;
  return t;
}

bool wants(std::span<const Tensor* const> inputs) {
  return std::any_of(inputs.begin(), inputs.end(), [](const Tensor* t) { return t->requires_grad(); });
}

Ref<GradNode> node_of(const OpInfo& op, const Tensor& out, int inputs) {
  Ref<GradNode> fn = GradNode::make(op, inputs);
  fn->shape = out.shape();
  fn->dtype = out.dtype();
  fn->device = out.device();
  return fn;
}

void connect(GradNode& node, int i, const Tensor& t) {
  GradInput& in = node.in[i];
  in.dtype = t.dtype();
  in.shape = t.shape();
  if (t.is_number()) {
    in.is_number = true;
    in.number = t->number;
    return;
  }
  in.strides = t.strides();
  in.offset = t->offset;
  in.fn = t.grad_fn();  // made now when the view's base was written since
  if (in.fn && in.fn->sequence > node.sequence) node.sequence = next_sequence();
  if (!in.fn && t->requires_grad) in.leaf = t.ref();
  if (watcher) watcher->uses(t);
}

void refuse_nan(const OpInfo& op, const Tensor& out, std::span<const Tensor* const> inputs) {
  if (!is_float(out.dtype()) || !has_nan(out)) return;
  for (const Tensor* t : inputs)
    if (!t->is_number() && is_float(t->dtype()) && has_nan(*t)) return;  // another made it
  fail<Error>(op.name, "the result" + at(current_location()) + " has a NaN, and no input has",
              "look at the inputs of this line");
}

// Stands for a leaf whose value was saved: the gradient goes to the leaf, whatever its value is by then.
void vjp_leaf(Vjp& v) { v.result[0] = v.g; }
const OpInfo kLeaf{.name = "leaf", .doc = "The value of a leaf.", .kind = Kind::view, .arity = 1, .vjp = vjp_leaf};

Ref<GradNode> value_of_leaf(const GradInput& input) {
  Ref<GradNode> fn = GradNode::make(kLeaf, 1);
  fn->shape = fn->in[0].shape = input.shape;
  fn->dtype = fn->in[0].dtype = input.dtype;
  fn->device = input.leaf->device;
  fn->in[0].leaf = input.leaf;
  return fn;
}

const OpInfo kFlat{.name = "flat",
                   .doc = "A value that jumps with another.",
                   .kind = Kind::view,
                   .arity = 2,
                   .vjp = vjp_leaf,
                   .reads = {kReadsOnly | kSavesB}};

void vjp_custom(Vjp&) {}  // backward calls GradNode::custom itself
const OpInfo kCustom{.name = "custom", .doc = "The user's own.", .kind = Kind::effect, .arity = 0, .vjp = vjp_custom};

// Whether it is a leaf, or no more than another view or type of one.
bool is_parameter(const GradInput& input) {
  const GradInput* in = &input;
  while (in->fn && in->fn->op->hands_on && in->fn->inputs > 0) in = &in->fn->in[0];
  return static_cast<bool>(in->leaf);
}

void note_model_end(const Node& node) {
  if (node.pending()) node.log->hints.model_end = static_cast<size_t>(node.log_index) + 1;
}

}  // namespace

constinit thread_local bool detect_nan = false;

// ---- checkpoints -----------------------------------------------------------------------------------------------------
namespace {
thread_local Checkpoint* checkpoint = nullptr;
thread_local bool running_again = false;
}  // namespace

Checkpoint::Scope::Scope(Checkpoint& c, bool again) : before_(checkpoint), before_again_(running_again) {
  checkpoint = &c;
  running_again = again;
}
Checkpoint::Scope::~Scope() {
  checkpoint = before_;
  running_again = before_again_;
}

const NodeRef& Checkpoint::value(int index) {
  if (values_.empty()) {
    run();
    const auto found = static_cast<int>(values_.size());
    if (found != count_) {
      values_.clear();
      fail<Error>("checkpoint",
                  "the function saved " + std::to_string(count_) + " values at first and " + std::to_string(found) +
                      " when it was run again",
                  "it must do the same both times");
    }
  }
  return values_[static_cast<size_t>(index)].ref();
}

// ---- attributes ------------------------------------------------------------------------------------------------------
void Attributes::refuse_type() {
  fail<Error>("backward", "a gradient reads attributes of another type than its op recorded", "report this as a bug");
}

// ---- saved values ----------------------------------------------------------------------------------------------------
void Saved::keep(const Tensor& t, bool always) {
  if (checkpoint && !always) {
    if (running_again) {
      checkpoint->values_.push_back(t->storage->node);
    } else {
      checkpoint_ = Ref<Checkpoint>(checkpoint);
      index_ = checkpoint->count_++;
    }
    return;
  }
  let_go();
  value_ = t->storage->node;
  value_->saved.fetch_add(1, std::memory_order_relaxed);
  follow(t);
}

void Saved::follow(const Tensor& t) {
  if (storage_) storage_->saved.fetch_sub(1, std::memory_order_relaxed);
  storage_ = t->storage;
  storage_->saved.fetch_add(1, std::memory_order_relaxed);
  version_ = storage_->version;
  if (value_ && storage_->node.get() == value_.get()) value_->home = storage_.get();
}

Saved& Saved::operator=(Saved&& o) noexcept {
  let_go();
  value_ = std::exchange(o.value_, {});
  storage_ = std::exchange(o.storage_, {});
  checkpoint_ = std::exchange(o.checkpoint_, {});
  version_ = o.version_;
  index_ = o.index_;
  return *this;
}

void Saved::let_go() noexcept {
  if (value_) {
    if (value_->home == storage_.get()) value_->home = nullptr;
    value_->saved.fetch_sub(1, std::memory_order_relaxed);
    value_ = {};
  }
  if (storage_) storage_->saved.fetch_sub(1, std::memory_order_relaxed);
  storage_ = {};
}

bool is_only_saved(const Node& node) {
  const int32_t saved = node.saved.load(std::memory_order_relaxed), held = node.held.load(std::memory_order_relaxed);
  if (saved == 0) return false;
  if (held == saved) return true;
  const Storage* home = node.home;
  return held == saved + 1 && home && home->node.get() == &node &&
         home->ref_count() == home->saved.load(std::memory_order_relaxed);
}

NodeRef Saved::value(const char* op, const SourceLocation& location) const {
  Ref<Checkpoint> again;
  int32_t index = 0;
  {
    const EngineLock lock;  // another pass may free it
    if (!checkpoint_) return unchanged(op, location);
    again = checkpoint_;
    index = index_;
  }
  return again->value(index);  // runs the user's function
}

NodeRef Saved::unchanged(const char* op, const SourceLocation& location) const {
  if (!value_)
    fail<Error>("backward",
                std::string("the values saved by ") + op + at(location) + " were freed by an earlier backward",
                "pass retain_graph=True to the first one");
  if (storage_ && storage_->version != version_)
    fail<Error>("backward",
                std::string("a value that ") + op + at(location) + " needs was overwritten in place" +
                    at(storage_->written) + " (version " + std::to_string(version_) + " was saved, now it is " +
                    std::to_string(storage_->version) + ")",
                "write to a clone()");
  return value_.ref();
}

// ---- nodes -----------------------------------------------------------------------------------------------------------
namespace {
// Nodes of few inputs all have room for kFewInputs, so that one can take the place of another.
using FewInputs = FreeList<GradNode, 4096>;
void* take_memory(int inputs) {
  const bool few = inputs <= kFewInputs;
  const size_t size = sizeof(GradNode) + static_cast<size_t>(few ? kFewInputs : inputs) * sizeof(GradInput);
  return few ? FewInputs::take(size) : ::operator new(size);
}
void give_memory(void* node, int inputs) {
  if (inputs <= kFewInputs)
    FewInputs::give(node);
  else
    ::operator delete(node);
}
}  // namespace

Ref<GradNode> GradNode::make(const OpInfo& op, int inputs) {
  static_assert(sizeof(GradNode) % alignof(GradInput) == 0);
  SourceLocation line = sg::current_location();
  auto* node = new (take_memory(inputs)) GradNode;
  node->in = reinterpret_cast<GradInput*>(node + 1);
  for (; node->inputs < inputs; ++node->inputs) new (node->in + node->inputs) GradInput;
  node->op = &op;
  node->sequence = next_sequence();
  node->location = std::move(line);
  return Ref<GradNode>(node);
}

GradNode::~GradNode() { std::destroy_n(in, inputs); }

std::string GradNode::name() const {
  if (is_one_output()) return in[0].fn->name();
  if (custom) return custom->name();
  std::string text = op->name;
  text[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(text[0])));
  return text + "Backward0";
}

bool GradNode::is_one_output() const { return op == &kCustom && !custom; }

void GradNode::free_values() {
  if (watcher) watcher->ends(*this);
  {
    const EngineLock lock;  // another pass may be here as well
    output = {};
    for (int i = 0; i < inputs; ++i) in[i].value = {};
  }
  if (custom) custom->free_values();
}

// Nodes that wait to be freed are linked through their sequences, which are no longer read.
void GradNode::destroy(GradNode* node) {
  Waiting<GradNode>& waiting = Waiting<GradNode>::own();
  node->sequence = reinterpret_cast<uint64_t>(waiting.first);
  waiting.first = node;
  if (waiting.freeing) return;
  waiting.freeing = true;
  while (GradNode* n = waiting.first) {
    waiting.first = reinterpret_cast<GradNode*>(n->sequence);
    const int inputs = n->inputs;
    n->~GradNode();  // releases its inputs, which come to wait
    give_memory(n, inputs);
  }
  waiting.freeing = false;
}

Tensor Vjp::in(int i) const {
  const GradInput& input = node.in[i];
  if (input.is_number) return is_float(input.dtype) ? Tensor(input.number.f) : Tensor(input.number.i);
  const NodeRef value = input.value.value(node.op->name, node.location);
  Tensor t = revive(value, input.shape, input.strides, input.offset);
  if (grad_enabled()) t->grad_fn = input.leaf ? value_of_leaf(input) : input.fn;
  return t;
}

Tensor Vjp::out() const {
  Tensor t = wrap(node.output.value(node.op->name, node.location), node.shape);
  if (grad_enabled()) t->grad_fn = Ref<GradNode>(&node);
  return t;
}

bool grad_enabled() { return grad_mode; }
void set_grad_enabled(bool on) { grad_mode = on; }
GradMode::GradMode(bool on) : before_(grad_mode) { grad_mode = on; }
GradMode::~GradMode() { grad_mode = before_; }

// ---- recording -------------------------------------------------------------------------------------------------------
void record_gradient(const OpInfo& op, Tensor& out, std::span<const Tensor* const> inputs,
                     const Attributes& attributes) {
  if (detect_nan) refuse_nan(op, out, inputs);
  out->base = {};
  out->unrecorded = false;
  if (!grad_mode || !op.vjp || !is_float(out.dtype()) || !wants(inputs)) return;
  const EngineLock lock;
  Ref<GradNode> fn = node_of(op, out, static_cast<int>(inputs.size()));
  fn->attributes = attributes;
  uint8_t saves = 0;
  bool on_parameter = false;
  int i = 0;
  for (const Tensor* t : inputs) {
    connect(*fn, i, *t);
    if (fn->in[i].needs()) saves |= op.read_by(i);
    on_parameter |= is_parameter(fn->in[i]);
    ++i;
  }
  if (on_parameter && !op.hands_on) note_model_end(*out->storage->node.get());
  i = 0;
  for (const Tensor* t : inputs) {
    GradInput& in = fn->in[i];
    if ((i < kFewInputs ? saves >> i & 1 : saves & kSavesRest) && !in.is_number)
      in.value.keep(*t, static_cast<bool>(in.leaf));
    ++i;
  }
  if (saves & kSavesOutput) fn->output.keep(out);
  out->grad_fn = std::move(fn);
}

void record_custom(std::unique_ptr<CustomGrad> custom, const std::vector<Tensor>& inputs,
                   std::vector<Tensor>& outputs) {
  const EngineLock lock;
  Ref<GradNode> fn = GradNode::make(kCustom, static_cast<int>(inputs.size()));
  for (size_t i = 0; i < inputs.size(); ++i) connect(*fn, static_cast<int>(i), inputs[i]);
  fn->custom = std::move(custom);
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (!outputs[i] || !is_float(outputs[i].dtype())) continue;
    set_output(outputs[i], fn, static_cast<int64_t>(i));
  }
}

void set_output(Tensor& x, const Ref<GradNode>& custom, int64_t number) {
  Ref<GradNode> out = node_of(kCustom, x, 1);
  out->in[0].fn = custom;
  out->in[0].shape = x.shape();
  out->in[0].dtype = x.dtype();
  out->attributes = OutputAttributes{number};
  if (!x->base) return x.set_history(std::move(out));
  Tensor value = x.detach();  // written through a view: its base is to know
  value.set_history(std::move(out));
  was_written(x, history_of_write(assign_row(), x, value));
}

namespace {
Tensor flat_in(const Tensor& g, const Ref<GradNode>& fn, const Ref<TensorImpl>& leaf) {
  Tensor out = g.detach();
  Ref<GradNode> node = node_of(kFlat, out, 2);
  connect(*node, 0, g);
  GradInput& in = node->in[1];
  in.fn = fn;
  in.leaf = leaf;
  in.dtype = fn ? fn->dtype : leaf->dtype;
  in.shape = fn ? fn->shape : leaf->shape;
  out->grad_fn = std::move(node);
  return out;
}
}  // namespace

Tensor flat_in_input(const Tensor& g, const GradNode& node, int i) {
  return flat_in(g, node.in[i].fn, node.in[i].leaf);
}
Tensor flat_in_output(const Tensor& g, GradNode& node) { return flat_in(g, Ref<GradNode>(&node), {}); }
Tensor flat_in_leaf(const Tensor& g, const Ref<TensorImpl>& leaf) { return flat_in(g, {}, leaf); }
bool is_zero(const GradNode& node, int i) {
  if (node.op == &kFlat) return i > 0;
  return node.op == &assign_row() && i == 0 && node.attributes.as<AssignAttributes>().all;
}

namespace {

Tensor base_of(const Tensor& t) { return t->base ? Tensor(t->base) : t; }

bool may_overlap(const Tensor& t) { return !t.contiguous() && goes_of(t.shape(), t.strides()).count > 1; }

// Whether writing the value is part of the gradient graph.
bool is_recorded(const Tensor& base, const Tensor& value) {
  return grad_mode && is_float(base.dtype()) && (base.requires_grad() || value.requires_grad());
}

// Whether the view reads only elements of the base: the history of elements outside is not known.
bool is_inside(const Tensor& base, const Tensor& view) {
  const int64_t begin = view->offset - base->offset;
  return view.numel() == 0 ||
         (begin >= 0 && begin + span(view.shape(), view.strides()) <= span(base.shape(), base.strides()));
}

}  // namespace

void recording::leave_base(const Tensor& x) {
  if (!x->unrecorded) return;
  const EngineLock lock;
  if (!x->base || x->base->ref_count() > 1) return;
  x->base = {};
  x->unrecorded = false;
}

void check_write(const char* op, const Tensor& target, const Tensor& value) {
  recording::leave_base(target);
  if (may_overlap(target))
    fail<ValueError>(op,
                     "elements of the target of shape " + target.shape().str() + " with strides " +
                         target.strides().str() + " share memory",
                     "write to a tensor that was not expanded, or to a copy");
  if (!grad_mode) return;
  auto is_wanted_leaf = [](const Tensor& t) { return t->requires_grad && t.is_leaf(); };
  const Tensor base = base_of(target);
  if (is_wanted_leaf(target) || is_wanted_leaf(base))
    fail<Error>(op,
                is_wanted_leaf(target) ? "a leaf that requires grad cannot be written in place"
                                       : "a view of a leaf that requires grad cannot be written in place",
                "write under no_grad(), or to a clone()");
  if (!is_recorded(base, value)) return;
  if (target->unrecorded)
    fail<Error>(op, "the target is a view made under no_grad(), and the write is part of gradients",
                "make the view outside, or write under no_grad()");
  if (may_overlap(base)) fail<Error>(op, "elements of the target's base share memory", "clone() it first");
  if (!is_inside(base, target))
    fail<Error>(op, "the target reaches elements that are not those of the tensor it is a view of",
                "write under no_grad(), or to a clone()");
}

Ref<GradNode> history_of_write(const OpInfo& op, const Tensor& target, const Tensor& value) {
  const Tensor base = base_of(target);
  if (!is_recorded(base, value)) return {};
  Ref<GradNode> fn = node_of(op, base, 2);
  const bool all = base.ref() == target.ref();  // nothing of the old value is left, its gradient is 0
  fn->attributes = AssignAttributes{target.shape(), target.strides(), target->offset - base->offset, all};
  connect(*fn, 0, base);
  connect(*fn, 1, value);
  return fn;
}

Ref<GradNode> history_of_result(const OpInfo& op, const Tensor& target, const Tensor& result) {
  if (!grad_mode || !(target.requires_grad() || result.requires_grad())) return {};
  const Ref<GradNode>& fn = result.grad_fn();
  return target->base || !fn ? history_of_write(op, target, result) : fn;
}

void was_written(const Tensor& target, Ref<GradNode> history) {
  if (history) base_of(target).set_history(std::move(history));
}

void Tensor::set_history(Ref<GradNode> fn) {
  if (impl_->retained) {
    if (impl_->grad_fn) impl_->grad_fn->retained = {};
    if (fn) fn->retained = impl_->retained;
  }
  impl_->grad_fn = std::move(fn);
  impl_->requires_grad = false;
  ++impl_->history;
}

bool Tensor::shows_gradient() const {
  const GradMode off(false);
  return requires_grad();
}

void Tensor::renew_history() const {
  const EngineLock lock;
  const Tensor base(impl_->base);
  if (impl_->unrecorded) {
    if (!grad_mode || !base->grad_fn) return;
    fail<Error>("view",
                "the tensor is a view made under no_grad(), and its base was written since as part of gradients",
                "make the view outside, or write under no_grad()");
  }
  if (base->grad_fn && !is_inside(base, *this))
    fail<Error>("as_strided",
                "the view reaches elements that are not those of its tensor, which is part of gradients now",
                "write to the tensor before, or to a clone()");
  impl_->history = base->history;
  if (!base->grad_fn || !is_float(dtype())) return;
  Ref<GradNode> fn = node_of(strided_row(), *this, 1);
  fn->attributes = StridedAttributes{strides(), impl_->offset - base->offset};
  connect(*fn, 0, base);
  fn->retained = impl_->retained;
  if (impl_->retained && impl_->grad_fn) impl_->grad_fn->retained = {};
  impl_->grad_fn = std::move(fn);
}

Tensor snapshot(const Tensor& x) {
  const EngineLock lock;
  Tensor t = x.detach();
  t->storage = Ref<Storage>(new Storage);
  t->storage->node = x->storage->node;
  if (watcher) watcher->makes(*t->storage);
  t->grad_fn = x.grad_fn();
  return t;
}

// ---- hooks -----------------------------------------------------------------------------------------------------------
namespace {
void need_grad(const char* op, const Tensor& x) {
  if (!x.requires_grad()) fail<Error>(op, "the tensor does not require grad", "set requires_grad=True on an input");
}
Hooks& hooks_of(std::unique_ptr<Hooks>& hooks) {
  if (!hooks) hooks = std::make_unique<Hooks>();
  return *hooks;
}
}  // namespace

void retain_grad(const Tensor& x) {
  need_grad("retain_grad", x);
  const EngineLock lock;
  if (x.is_leaf() || x->retained) return;
  x->retained = Ref<RetainedGrad>(new RetainedGrad);
  x.grad_fn()->retained = x->retained;
}

void add_hook(const Tensor& x, Ref<Hook> hook) {
  need_grad("register_hook", x);
  const EngineLock lock;
  hooks_of(x.is_leaf() ? x->hooks : x.grad_fn()->hooks).gradient.push_back(std::move(hook));
}

void add_accumulated_hook(const Tensor& leaf, Ref<Hook> hook) {
  need_grad("register_post_accumulate_grad_hook", leaf);
  if (!leaf.is_leaf())
    fail<Error>("register_post_accumulate_grad_hook", "the tensor is no leaf", "use register_hook()");
  const EngineLock lock;
  hooks_of(leaf->hooks).accumulated.push_back(std::move(hook));
}

// ---- looking ---------------------------------------------------------------------------------------------------------
namespace {
template <class Visit>
void visit_graph(const Tensor& x, Visit visit) {
  std::vector<GradNode*> open;
  std::unordered_set<GradNode*> seen;
  auto reach = [&](const Ref<GradNode>& fn) {
    if (fn && seen.insert(fn.get()).second) open.push_back(fn.get());
  };
  reach(x.grad_fn());
  while (!open.empty()) {
    GradNode& node = *open.back();
    open.pop_back();
    visit(node);
    for (int i = 0; i < node.inputs; ++i) reach(node.in[i].fn);
  }
}
}  // namespace

int64_t saved_bytes(const Tensor& x) {
  const EngineLock lock;
  std::unordered_set<Node*> values, of_leaves;
  visit_graph(x, [&](GradNode& node) {
    values.insert(node.output.kept());
    for (int i = 0; i < node.inputs; ++i) {
      values.insert(node.in[i].value.kept());
      if (node.in[i].leaf) of_leaves.insert(node.in[i].leaf->storage->node.get());
    }
  });
  int64_t bytes = 0;
  for (Node* value : values)
    if (value && !of_leaves.count(value)) bytes += static_cast<int64_t>(value->bytes());
  return bytes;
}

bool depends_on_others(const Tensor& x, const std::vector<Tensor>& known) {
  const EngineLock lock;
  bool others = false;
  auto is_other = [&](const Ref<TensorImpl>& leaf) {
    return leaf && std::none_of(known.begin(), known.end(), [&](const Tensor& t) { return t.ref() == leaf; });
  };
  if (x->requires_grad && x.is_leaf()) return is_other(x.ref());
  visit_graph(x, [&](GradNode& node) {
    for (int i = 0; i < node.inputs; ++i) others = others || is_other(node.in[i].leaf);
  });
  return others;
}

}  // namespace sg
