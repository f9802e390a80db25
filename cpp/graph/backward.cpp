// One pass over the gradient graph, from roots to leaves, in a loop: deep graphs must not overflow the stack. Knows no
// op by name.
#include <algorithm>
#include <map>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "base/error.hpp"
#include "base/profile.hpp"
#include "graph/build.hpp"
#include "graph/grad.hpp"
#include "graph/log.hpp"
#include "graph/parts.hpp"
#include "graph/watcher.hpp"

namespace sg {
namespace {

void collect(Tensor& into, const Tensor& g) { into = into ? add(into, g) : g; }

// A gradient that can be written in place without changing another: it may share the value, but not the storage or
// memory that is seen from outside, and no two of its elements may share a place, as in expanded tensors.
Tensor own(const Tensor& g) {
  const EngineLock lock;
  for (int d = 0; d < g.rank(); ++d)
    if (g.strides()[d] == 0 && g.shape()[d] > 1) return clone(g);
  const Node& value = *g->storage->node.get();
  const bool is_graph_leaf = grad_enabled() && g->requires_grad;
  return is_graph_leaf || (value.buffer && value.buffer->shared) ? clone(g) : snapshot(g);
}

// A gradient that is there is written in place, as other names and flat buffers expect. One that is part of a graph is
// not: what was made of it needs its value.
void accumulate(Ref<TensorImpl>& into, const Tensor& g) {
  const EngineLock lock;  // several threads may reach one leaf
  if (!into)
    into = own(g).ref();
  else if (grad_enabled())
    into = own(add(into, g)).ref();
  else
    assign(assign_row(), into, add(into, g));
}

// Hook number i, or none. Looked up one by one, because hooks and other threads may add hooks meanwhile.
Ref<Hook> hook_of(const std::unique_ptr<Hooks>& hooks, std::vector<Ref<Hook>> Hooks::* kind, size_t i) {
  const EngineLock lock;
  return hooks && i < ((*hooks).*kind).size() ? ((*hooks).*kind)[i] : Ref<Hook>();
}

// No lock is held while a hook runs: it may be Python's, and may add or remove hooks.
Tensor through(const std::unique_ptr<Hooks>& hooks, Tensor g) {
  for (size_t i = 0; const Ref<Hook> hook = hook_of(hooks, &Hooks::gradient, i); ++i) {
    if (Tensor other = (*hook)(g)) {
      if (!(other.shape() == g.shape()))
        fail<ValueError>("backward",
                         "a hook gave a gradient of shape " + other.shape().str() + " for one of " + g.shape().str(),
                         "keep the shape");
      g = other;
    }
  }
  return g;
}

Tensor start_gradient(const Tensor& root, const Tensor& gradient) {
  if (!root.requires_grad())
    fail<Error>("backward", "the tensor does not want a gradient and was not made from one that does",
                "set requires_grad=True on an input");
  if (gradient) {
    if (!(gradient.shape() == root.shape()))
      fail<ValueError>("backward",
                       "gradient has shape " + gradient.shape().str() + ", the tensor " + root.shape().str(),
                       "give a gradient of the tensor's shape");
    return gradient.dtype() == root.dtype() ? gradient : cast(gradient, root.dtype());
  }
  if (root.numel() != 1)
    fail<ValueError>("backward", "a gradient is needed for a tensor of shape " + root.shape().str(),
                     "reduce it to one element (sum, mean) or pass gradient=");
  return ones_like(root, {}, {});
}

// Leaves and their gradients, while hooks on leaves run.
using LeafGradients = std::vector<std::pair<Ref<TensorImpl>, Tensor>>;
thread_local LeafGradients* arrived = nullptr;

// Nodes with gradients wait in open_, by their sequence numbers; the latest is taken first. Everything that reads a
// node's result has a larger number, so all its gradients have arrived by then. No recursion, and no second walk to
// count edges. A node that waits without a gradient has one that is 0 (see flat_in_input), which is not computed with.
class Pass {
 public:
  // `inputs`: compute only what leads to them; nullptr: to every leaf.
  Pass(const std::vector<Tensor>& roots, const std::vector<Tensor>& gradients, BackwardOptions options,
       const std::vector<Tensor>* inputs)
      : options_(options), inputs_(inputs) {
    std::vector<Tensor> start;
    for (size_t i = 0; i < roots.size(); ++i)
      start.push_back(start_gradient(roots[i], i < gradients.size() ? gradients[i] : Tensor()));
    if (inputs_) find_wanted(roots);
    for (size_t i = 0; i < roots.size(); ++i) {
      if (const Ref<GradNode>& fn = roots[i].grad_fn()) {
        if (!inputs_ || wanted_.count(fn.get())) send(fn, 0, start[i]);
      } else if (is_wanted(roots[i].ref())) {
        reach(roots[i].ref(), start[i]);
      }
    }
    found.resize(inputs_ ? inputs_->size() : 0);
    GradMode mode(options_.create_graph);
    while (!open_.empty()) {
      spare_ = open_.extract(open_.begin());
      Arrivals arrivals = std::exchange(spare_.mapped(), {});
      step(*arrivals.node, arrivals);
    }
    for (size_t i = 0; i < leaves.size(); ++i) collect_parts(leaves[i].second, parts_of_leaves_[i]);
    const struct Arrived {
      LeafGradients* before;
      ~Arrived() { arrived = before; }
    } running{std::exchange(arrived, &leaves)};
    for (size_t at = 0; at < leaves.size(); ++at) {  // hooks may set gradients of others
      const Ref<TensorImpl> leaf = leaves[at].first;
      Tensor g = leaves[at].second;
      if (!g) {
        g = full(leaf->shape, 0, leaf->dtype, leaf->device);
        if (options_.create_graph) g = flat_in_leaf(g, leaf);
      }
      if (leaf->hooks) g = through(leaf->hooks, g);
      leaves[at].second = g;
      for (size_t i = 0; i < found.size(); ++i)
        if ((*inputs_)[i].ref() == leaf) found[i] = g;
    }
  }

  std::vector<Tensor> found;  // for each of `inputs`
  LeafGradients leaves;       // in the order of their first gradient

 private:
  // The gradients that arrived so far for the outputs of a node, or for slices of its one output.
  struct Arrivals {
    Ref<GradNode> node;
    Tensor g;
    std::vector<Tensor> others;  // of outputs after the first
    std::vector<GradPart> parts;
  };

  bool is_target(const GradNode* node) const { return targets_.count(node) != 0; }
  bool is_wanted(const Ref<TensorImpl>& leaf) const { return !inputs_ || targets_.count(leaf.get()) != 0; }
  bool is_wanted(const GradInput& in) const {
    if (in.fn) return !inputs_ || wanted_.count(in.fn.get()) != 0;
    return in.leaf && is_wanted(in.leaf);
  }

  // The nodes from which an input can be reached. A node is made after those it leads to.
  void find_wanted(const std::vector<Tensor>& roots) {
    for (const Tensor& t : *inputs_)
      targets_.insert(t.grad_fn() ? static_cast<const void*>(t.grad_fn().get()) : t.impl());
    std::unordered_set<GradNode*> seen;
    std::vector<GradNode*> all;
    auto add = [&](const Ref<GradNode>& fn) {
      if (fn && seen.insert(fn.get()).second) all.push_back(fn.get());
    };
    for (const Tensor& root : roots) add(root.grad_fn());
    for (size_t at = 0; at < all.size(); ++at)
      for (int i = 0; i < all[at]->inputs; ++i) add(all[at]->in[i].fn);
    std::sort(all.begin(), all.end(), [](GradNode* a, GradNode* b) { return a->sequence < b->sequence; });
    for (GradNode* node : all)
      if (is_target(node) || std::any_of(node->in, node->in + node->inputs, [&](auto& in) { return is_wanted(in); }))
        wanted_.insert(node);
  }

  Arrivals& arrivals_of(const Ref<GradNode>& node) {
    auto at = open_.lower_bound(node->sequence);
    if (at == open_.end() || at->first != node->sequence) {
      if (spare_.empty()) {
        at = open_.emplace_hint(at, node->sequence, Arrivals());
      } else {
        spare_.key() = node->sequence;
        at = open_.insert(at, std::move(spare_));
      }
    }
    at->second.node = node;
    return at->second;
  }

  // Gradients are added in the order of arrival, which follows from the sequence numbers: the same bits each time.
  void send(const Ref<GradNode>& to, size_t output, const Tensor& g) {
    Arrivals& arrived = arrivals_of(to);
    if (arrived.others.size() < output) arrived.others.resize(output);
    collect(output ? arrived.others[output - 1] : arrived.g, g);
  }

  void send_zero(const GradInput& in) {
    if (in.fn)
      arrivals_of(in.fn);
    else
      number_of(in.leaf);
  }

  size_t number_of(const Ref<TensorImpl>& leaf) {
    const auto [at, fresh] = leaf_index_.try_emplace(leaf.get(), leaves.size());
    if (fresh) {
      leaves.emplace_back(leaf, Tensor());
      parts_of_leaves_.emplace_back();
    }
    return at->second;
  }

  void reach(const Ref<TensorImpl>& leaf, const Tensor& g) { collect(leaves[number_of(leaf)].second, g); }

  // The gradient of a slice waits for those of the other slices.
  void send_part(GradNode& slice, const Tensor& g) {
    const GradInput& in = slice.in[0];
    (in.fn ? arrivals_of(in.fn).parts : parts_of_leaves_[number_of(in.leaf)]).push_back({Ref<GradNode>(&slice), g});
  }

  void collect_parts(Tensor& into, std::vector<GradPart>& parts) {
    if (parts.empty()) return;
    const SourceScope scope(parts[0].slice->location);
    collect(into, put_together(parts));
    parts.clear();
  }

  void step(GradNode& node, Arrivals& arrivals) {
    const SourceScope scope(node.location);
    Tensor& g = arrivals.g;
    collect_parts(g, arrivals.parts);
    const auto arrived = [](const Tensor& other) { return static_cast<bool>(other); };
    const bool zero = !g && std::ranges::none_of(arrivals.others, arrived);
    if (zero && (node.hooks || node.retained || (inputs_ && is_target(&node)))) {
      g = full(node.shape, 0, node.dtype, node.device);
      if (options_.create_graph) g = flat_in_output(g, node);
    }
    if (g && !node.custom) {
      if (node.hooks) g = through(node.hooks, g);
      if (node.retained) accumulate(node.retained->grad, g);
      if (inputs_ && is_target(&node))
        for (size_t i = 0; i < found.size(); ++i)
          if ((*inputs_)[i].grad_fn().get() == &node) found[i] = g;
    }
    std::vector<Wanted>& wanted = wanted_inputs_;
    wanted.resize(static_cast<size_t>(node.inputs));
    bool any = false;
    for (int i = 0; i < node.inputs; ++i) {
      const GradInput& in = node.in[i];
      Wanted& w = wanted[static_cast<size_t>(i)];
      w = !is_wanted(in) ? Wanted::no : is_narrow(in.dtype) && becomes_float32(in) ? Wanted::wide : Wanted::yes;
      any |= w != Wanted::no;
    }
    if (!any) return;
    if (zero && !node.hooks) {
      for (int i = 0; i < node.inputs; ++i)
        if (wanted[static_cast<size_t>(i)] != Wanted::no) send_zero(node.in[i]);
    } else if (node.custom) {
      std::vector<Tensor> arrived{g};
      arrived.insert(arrived.end(), arrivals.others.begin(), arrivals.others.end());
      std::vector<bool> some;
      for (Wanted w : wanted) some.push_back(w != Wanted::no);
      hand_on(node, (*node.custom)(node, arrived, some));
    } else if (node.is_one_output()) {
      send(node.in[0].fn, static_cast<size_t>(node.attributes.as<OutputAttributes>().number), g);
    } else if (node.op == &slice_row()) {
      send_part(node, g);
    } else {
      results_.resize(wanted.size());
      Vjp vjp{node, g, results_.data(), wanted.data()};
      {
        const NanPause pause;
        node.op->vjp(vjp);
      }
      hand_on(node, results_);
      results_.clear();
    }
    if (!options_.retain_graph) node.free_values();
  }

  // The gradient by input i with a history that leads to whatever its formula reads.
  static Tensor with_jumps(Tensor g, GradNode& node, int i) {
    const uint8_t read = node.op->read_by(i);
    if (read & kSavesOutput) return flat_in_output(g, node);
    for (int k = 0; k < node.inputs; ++k)
      if (node.in[k].needs() && read & (k < kFewInputs ? 1 << k : kSavesRest)) g = flat_in_input(g, node, k);
    return g;
  }

  // For NaN, the formula of a gradient is checked as a whole, under the name of its op.
  struct NanPause {
    const bool before = std::exchange(detect_nan, false);
    ~NanPause() { detect_nan = before; }
  };

  // Whether a gradient goes through nothing but views and conversions, which nobody looks at, to a float32 tensor.
  bool becomes_float32(const GradInput& in) const {
    for (const GradNode* fn = in.fn.get(); fn; fn = fn->in[0].fn.get()) {
      if (fn->custom || !fn->op->hands_on || fn->hooks || fn->retained || is_target(fn)) return false;
      if (fn->in[0].dtype == DType::float32 && is_narrow(fn->dtype)) return true;
    }
    return false;
  }

  void hand_on(GradNode& node, const std::vector<Tensor>& results) {
    for (int i = 0; i < node.inputs; ++i) {
      const GradInput& in = node.in[i];
      const Tensor& result = results[static_cast<size_t>(i)];
      if (wanted_inputs_[static_cast<size_t>(i)] == Wanted::no) continue;
      if (is_zero(node, i)) send_zero(in);
      if (!result) continue;
      const DType dtype = wanted_inputs_[static_cast<size_t>(i)] == Wanted::wide ? DType::float32 : in.dtype;
      Tensor g = result;
      if (is_narrow(g.dtype()) && dtype == DType::float32) g = cast(g, dtype);
      if (!(g.shape() == in.shape)) g = sum_to(g, in.shape);
      if (g.dtype() != dtype) g = cast(g, dtype);
      if (options_.create_graph && !node.custom) g = with_jumps(g, node, i);
      if (detect_nan && has_nan(g))
        fail<Error>(
            "backward",
            "the gradient of " + node.name() + at(node.location) + " by input " + std::to_string(i) + " has a NaN",
            "look at the inputs of this line");
      if (in.fn)
        send(in.fn, 0, g);
      else
        reach(in.leaf, g);
    }
  }

  const BackwardOptions options_;
  const std::vector<Tensor>* inputs_;
  std::unordered_set<const void*> targets_;  // inputs: nodes, or leaves
  std::unordered_set<const GradNode*> wanted_;
  std::map<uint64_t, Arrivals, std::greater<>> open_;  // by sequence: the latest first
  decltype(open_)::node_type spare_;                   // memory of the entry that left last, for the next one
  std::vector<Wanted> wanted_inputs_;                  // of a node, during its step
  std::vector<Tensor> results_;
  std::unordered_map<const TensorImpl*, size_t> leaf_index_;
  std::vector<std::vector<GradPart>> parts_of_leaves_;  // beside `leaves`
};

// A pending gradient's node in its log; -1: there is none.
int32_t pending_node(const Tensor& g) {
  const EngineLock lock;
  const Node* node = g ? g->storage->node.get() : nullptr;
  return node && node->pending() ? node->log_index : -1;
}
// `before`: that of the gradient to which this one has been added.
void note_gradient(const Tensor& g, int32_t before) {
  const EngineLock lock;
  const int32_t now = pending_node(g);
  if (now < 0) return;
  std::vector<int32_t>& gradients = g->storage->node->log->hints.gradients;
  if (before >= 0) std::erase(gradients, before);
  gradients.push_back(now);
}

// While it lives, no log of these leaves runs because it has grown, so that no interrupt finds some of them with their
// gradient and some without.
class Unflushed {
 public:
  explicit Unflushed(const std::vector<std::pair<Ref<TensorImpl>, Tensor>>& leaves) {
    const EngineLock lock;
    for (const auto& [leaf, g] : leaves) {
      Log& log = log_of(leaf->device);
      if (log.whole_from != SIZE_MAX) continue;
      log.whole_from = log.nodes.size();
      logs_.push_back(&log);
    }
  }
  ~Unflushed() {
    const EngineLock lock;
    for (Log* log : logs_) log->whole_from = SIZE_MAX;
  }

 private:
  std::vector<Log*> logs_;
};

}  // namespace

void backward(const std::vector<Tensor>& roots, const std::vector<Tensor>& gradients, BackwardOptions options,
              const std::vector<Tensor>* inputs) {
  const Stage stage("backward");
  for (const Tensor& root : roots) begin_backward(root.device());
  if (inputs)
    for (const Tensor& t : *inputs)
      if (!t.is_leaf()) retain_grad(t);
  options.retain_graph |= options.create_graph;
  Pass pass(roots, gradients, options, inputs);
  const GradMode mode(options.create_graph);
  const Unflushed unflushed(pass.leaves);
  for (auto& [leaf, g] : pass.leaves) {
    if (watcher) {
      watcher->reads_gradient(Tensor(leaf));
      if (!leaf->grad || options.create_graph) watcher->sets_gradient(Tensor(leaf));
    }
    const int32_t before = pending_node(Tensor(leaf->grad));
    accumulate(leaf->grad, std::exchange(g, {}));  // held no longer: a hook may write .grad in place
    note_gradient(Tensor(leaf->grad), before);
    if (leaf->hooks)
      for (size_t i = 0; const Ref<Hook> hook = hook_of(leaf->hooks, &Hooks::accumulated, i); ++i)
        (*hook)(Tensor(leaf));
  }
}

namespace {
Tensor* place_of(const Tensor& leaf) {
  if (arrived)
    for (auto& [other, g] : *arrived)
      if (other == leaf.ref()) return &g;
  return nullptr;
}
}  // namespace

Tensor arrived_gradient(const Tensor& leaf) {
  const Tensor* g = place_of(leaf);
  return g ? *g : Tensor();
}

void set_arrived_gradient(const Tensor& leaf, const Tensor& g) {
  if (Tensor* place = place_of(leaf))
    *place = g;
  else if (arrived)
    arrived->emplace_back(leaf.ref(), g);
}

void backward(const Tensor& root, const Tensor& gradient, BackwardOptions options) {
  backward(std::vector<Tensor>{root}, std::vector<Tensor>{gradient}, options);
}

std::vector<Tensor> grad(const std::vector<Tensor>& roots, const std::vector<Tensor>& inputs,
                         const std::vector<Tensor>& gradients, BackwardOptions options) {
  const Stage stage("grad");
  for (const Tensor& root : roots) begin_backward(root.device());
  for (const Tensor& t : inputs)
    if (!t.requires_grad())
      fail<Error>("grad", "an input does not require grad", "set requires_grad=True on it before it is used");
  options.retain_graph |= options.create_graph;
  std::vector<Tensor> found = Pass(roots, gradients, options, &inputs).found;
  const GradMode mode(options.create_graph);
  for (Tensor& g : found)
    if (g) g = own(g);
  return found;
}

std::vector<Tensor> grad(const Tensor& root, const std::vector<Tensor>& inputs, const Tensor& gradient,
                         BackwardOptions options) {
  return grad(std::vector<Tensor>{root}, inputs, std::vector<Tensor>{gradient}, options);
}

}  // namespace sg
