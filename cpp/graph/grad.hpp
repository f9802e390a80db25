// The gradient graph: for each result that wants a gradient, which op made it from what, and the values its formula
// needs. Gradients are made of ordinary ops, so they fuse and can be differentiated again.
// Threads: like tensors; gradients of several threads that reach one leaf add up. Grad mode is per thread. Histories,
// gradients and saved values change under the engine lock; hooks run outside it.
#pragma once
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/source_location.hpp"
#include "graph/attributes.hpp"
#include "graph/tensor.hpp"

namespace sg {

// A user's object that a graph keeps alive. A collector of cycles must see the objects behind it, and takes them when
// only a cycle keeps it alive.
class Given {
 public:
  using Visit = int (*)(void* object, void* argument);
  virtual ~Given() = default;
  virtual int show(Visit, void* argument) const { return static_cast<void>(argument), 0; }
  virtual void let_go(std::vector<std::shared_ptr<void>>& objects) { static_cast<void>(objects); }
};

// Values that are not kept, but computed again when a gradient needs the first of them.
class Checkpoint : public RefCounted<Checkpoint>, public Given {
 public:
  static void destroy(Checkpoint* c) { delete c; }
  const NodeRef& value(int index);

  // While one is alive, what ops of this thread save goes to the checkpoint.
  class Scope {
   public:
    Scope(Checkpoint& checkpoint, bool again);
    ~Scope();

   private:
    Checkpoint* before_;
    bool before_again_;
  };

 protected:
  virtual void run() = 0;  // does the same again inside Scope(*this, true)

 private:
  friend class Saved;
  int count_ = 0;  // values left out the first time
  std::vector<Held> values_;
};

// A value that a gradient needs, as it was when the op was recorded.
// Keeps a value, not a tensor: writes in place move the storage to a new node, and the version tells that they did. The
// value itself stays, held, until the graph is freed.
class Saved {
 public:
  Saved() = default;
  Saved(const Saved&) = delete;
  Saved& operator=(Saved&& o) noexcept;
  ~Saved() { let_go(); }
  void keep(const Tensor& t, bool always = false);  // always: also inside a checkpoint
  // Error when it was overwritten or freed since; `op` at `location` saved it.
  NodeRef value(const char* op, const SourceLocation& location) const;
  // Takes over the value of `t`: a write in place put it there.
  void follow(const Tensor& t);
  bool is_of(const Tensor& t) const { return storage_ == t->storage; }
  Node* kept() const { return value_.get(); }
  const Ref<Checkpoint>& left_to() const { return checkpoint_; }

 private:
  NodeRef unchanged(const char* op, const SourceLocation& location) const;  // under the engine lock
  void let_go() noexcept;

  Held value_;
  Ref<Storage> storage_;
  uint32_t version_ = 0;
  int32_t index_ = 0;
  Ref<Checkpoint> checkpoint_;
};

// Whether gradients alone hold a value: no tensor of the program does.
bool is_only_saved(const Node& node);

// One input of an op: where its gradient goes, and its value if the formula reads it.
struct GradInput {
  Ref<GradNode> fn;      // the op that made it, or
  Ref<TensorImpl> leaf;  // the leaf that collects .grad
  Dims shape, strides;
  int64_t offset = 0;
  DType dtype = DType::float32;
  bool is_number = false;
  Number number{};
  Saved value;
  bool needs() const { return fn || leaf; }
};

// Called with a gradient as it passes; may return another one in its place.
class Hook : public RefCounted<Hook>, public Given {
 public:
  virtual Tensor operator()(const Tensor& g) = 0;
  static void destroy(Hook* h) { delete h; }
};
struct Hooks {
  std::vector<Ref<Hook>> gradient;     // before the gradient is used
  std::vector<Ref<Hook>> accumulated;  // of a leaf: after .grad was written; called with the leaf
};
// The .grad of a tensor that is no leaf, shared with the op that made it.
struct RetainedGrad : RefCounted<RetainedGrad> {
  Ref<TensorImpl> grad;
  static void destroy(RetainedGrad* r) { delete r; }
};

// A gradient that is not that of a row: the user's own function.
class CustomGrad : public Given {
 public:
  virtual std::string name() const = 0;
  // From the gradients of the outputs (undefined: none arrived) to those of the inputs that are wanted.
  virtual std::vector<Tensor> operator()(GradNode& node, const std::vector<Tensor>& gradients,
                                         const std::vector<bool>& wanted) = 0;
  virtual void free_values() = 0;
};

// Inputs lie behind the node in the same allocation, because nearly every op makes one.
class GradNode : public RefCounted<GradNode> {
 public:
  const OpInfo* op = nullptr;
  uint64_t sequence = 0;  // grows with time: a valid topological order
  SourceLocation location;
  int inputs = 0;
  GradInput* in = nullptr;  // behind the node, in one piece of memory
  Dims shape;               // of the output
  DType dtype = DType::float32;
  DeviceId device;
  Saved output;
  Attributes attributes;
  std::unique_ptr<Hooks> hooks;
  Ref<RetainedGrad> retained;
  std::unique_ptr<CustomGrad> custom;

  static Ref<GradNode> make(const OpInfo& op, int inputs);
  std::string name() const;    // "MulBackward0"
  bool is_one_output() const;  // stands for one of several outputs of in[0].fn; OutputAttributes
  void free_values();
  static void destroy(GradNode*);  // iterative

 private:
  GradNode() = default;
  ~GradNode();
};

// Of the gradient by an input: whether it is wanted, and whether without a rounding to the input's half type.
enum class Wanted : uint8_t { no, yes, wide };

// What a row's vjp sees: `g`, the values it declared in `saves`, and where to put the results.
struct Vjp {
  GradNode& node;
  Tensor g;
  Tensor* result;        // one an input
  const Wanted* wanted;  // one an input
  bool needs(int i) const { return wanted[i] != Wanted::no; }
  // Whether the result for input i, which is of a half type, had better be float32: it is on its way to a tensor that was
  // converted from that (docs/decisions/038-gradients-of-weights-are-not-rounded.md). Others are converted by who asked.
  bool wide(int i) const { return wanted[i] == Wanted::wide; }
  Tensor in(int i) const;                                      // input i, broadcast shape not applied
  const Dims& shape(int i) const { return node.in[i].shape; }  // of input i, saved or not
  Tensor out() const;
  template <class T>
  const T& attributes() const {
    return node.attributes.as<T>();
  }
};

bool grad_enabled();
class GradMode {  // sets the mode for a scope
 public:
  explicit GradMode(bool on);
  ~GradMode();

 private:
  bool before_;
};
void set_grad_enabled(bool on);

// Records how `out` was made, if the mode is on and an input wants a gradient. From then on `out` is a base, even if it
// is a view of an intermediate value.
void record_gradient(const OpInfo& op, Tensor& out, std::span<const Tensor* const> inputs,
                     const Attributes& attributes = {});
inline void record_gradient(const OpInfo& op, Tensor& out, std::initializer_list<const Tensor*> inputs,
                            const Attributes& attributes = {}) {
  record_gradient(op, out, std::span(inputs.begin(), inputs.size()), attributes);
}
// The same for the outputs of a custom gradient; undefined outputs, and integers, have none.
void record_custom(std::unique_ptr<CustomGrad> custom, const std::vector<Tensor>& inputs, std::vector<Tensor>& outputs);
// Makes x output `number` of a custom node.
void set_output(Tensor& x, const Ref<GradNode>& custom, int64_t number);
// The history that the base of `target`, and so every view of it, gets when `value` is written through `target`;
// nothing if the write is not part of gradients.
Ref<GradNode> history_of_write(const OpInfo& op, const Tensor& target, const Tensor& value);
// The same for the result of an op on the target's own value, which then was made by that op.
Ref<GradNode> history_of_result(const OpInfo& op, const Tensor& target, const Tensor& result);
void was_written(const Tensor& target, Ref<GradNode> history);  // throws nothing
// Error if the value cannot be written: elements of the target share a place, or, with the mode on, the target is a
// leaf that wants a gradient or a view of one, or the write would have no gradient.
void check_write(const char* op, const Tensor& target, const Tensor& value);
// The value and history of x as they are now, unaffected by later writes. Ops in place compute from it.
Tensor snapshot(const Tensor& x);

// Gradients of relu, abs or max jump with a value, and between jumps do not change with it: their derivative is 0, and
// is found so. Returns g with a history that leads to input i of `node`, or to its output, by that derivative.
Tensor flat_in_input(const Tensor& g, const GradNode& node, int i);
Tensor flat_in_output(const Tensor& g, GradNode& node);
Tensor flat_in_leaf(const Tensor& g, const Ref<TensorImpl>& leaf);
bool is_zero(const GradNode& node, int i);  // whether the gradient that it hands on to input i is 0

void retain_grad(const Tensor& x);  // x.grad is kept although x is no leaf
void add_hook(const Tensor& x, Ref<Hook> hook);
void add_accumulated_hook(const Tensor& leaf, Ref<Hook> hook);
// In a hook on a leaf: the gradient of another one, empty where the pass did not reach it; and another in its place.
Tensor arrived_gradient(const Tensor& leaf);
void set_arrived_gradient(const Tensor& leaf, const Tensor& g);

struct BackwardOptions {
  bool retain_graph = false;
  bool create_graph = false;
};
// Adds d root / d leaf * gradient to the .grad of every leaf. ValueError when root is not one element and no gradient
// is given; Error when values it needs were freed by an earlier backward or overwritten since.
void backward(const Tensor& root, const Tensor& gradient = {}, BackwardOptions options = {});
// The same for several roots in one pass; undefined gradients count as 1. `inputs`: only these collect a .grad, and
// only paths to them are computed.
void backward(const std::vector<Tensor>& roots, const std::vector<Tensor>& gradients, BackwardOptions options,
              const std::vector<Tensor>* inputs = nullptr);
// The same, but returned for `inputs` instead of collected; undefined where there is no path.
std::vector<Tensor> grad(const std::vector<Tensor>& roots, const std::vector<Tensor>& inputs,
                         const std::vector<Tensor>& gradients, BackwardOptions options = {});
std::vector<Tensor> grad(const Tensor& root, const std::vector<Tensor>& inputs, const Tensor& gradient = {},
                         BackwardOptions options = {});

// Bytes of the values that the graph behind x keeps alive, leaves not counted.
int64_t saved_bytes(const Tensor& x);
// Whether x was made from a leaf that wants a gradient and is none of `known`.
bool depends_on_others(const Tensor& x, const std::vector<Tensor>& known);

// While on, each op and each gradient of this thread is computed at once, and the first to make a NaN is named in an Error.
extern constinit thread_local bool detect_nan;
bool has_nan(const Tensor& x);  // of a floating type. Given by engine/

// Rows that the graph itself needs, given by ops/.
const OpInfo& strided_row();  // a view by shape, strides and offset; StridedAttributes
const OpInfo& assign_row();   // a write through such a view; AssignAttributes
Tensor add(const Tensor& a, const Tensor& b);
Tensor ones_like(const Tensor& x, std::optional<DType> dtype, std::optional<DeviceId> device);
Tensor full(const Dims& shape, double value, DType dtype, DeviceId device);
Tensor sum_to(const Tensor& x, const Dims& shape);  // undoes broadcasting
Tensor cast(const Tensor& x, DType dtype);
Tensor clone(const Tensor& x);

}  // namespace sg
