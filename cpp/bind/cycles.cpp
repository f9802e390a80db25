// Tells Python's garbage collector what a gradient graph alone keeps alive. It may report too little (a cycle then
// lives on), never too much: the collector would free what C++ still uses.
#include "bind/cycles.hpp"

#include <unordered_map>
#include <vector>

namespace sg::bind {

std::atomic<int64_t> in_graphs{0};
std::atomic<int32_t> without_gil{0};

namespace {

// Walks what one handle alone keeps alive: an object belongs to it if all references to the object were met on the way.
// While a thread records without the GIL it holds references too, and nothing is walked. The GIL is held here, so no
// thread can begin to record before the collector is done: it may see more as it goes on, never less.
class Walk {
 public:
  Walk(const Ref<TensorImpl>& tensor, const Ref<GradNode>& op) {
    if (in_graphs == 0 || without_gil != 0) return;
    reach(tensor);
    reach(op);
    while (!tensors_.empty() || !ops_.empty()) {
      while (!tensors_.empty()) {
        TensorImpl& t = *tensors_.back();
        tensors_.pop_back();
        look(t);
      }
      if (ops_.empty()) break;
      GradNode& op = *ops_.back();
      ops_.pop_back();
      look(op);
    }
  }
  std::vector<Given*> given;

 private:
  template <class T>
  bool owned(const Ref<T>& r) {
    if (!r) return false;
    const uint32_t references = r->ref_count();
    return references == 1 || ++met_[r.get()] == references;
  }
  void reach(const Ref<TensorImpl>& t) {
    if (owned(t)) tensors_.push_back(t.get());
  }
  void reach(const Ref<GradNode>& op) {
    if (owned(op)) ops_.push_back(op.get());
  }
  void reach(const Ref<RetainedGrad>& r) {
    if (owned(r)) reach(r->grad);
  }
  void reach(const Saved& value) {
    if (owned(value.left_to())) given.push_back(value.left_to().get());
  }
  void reach(const std::unique_ptr<Hooks>& hooks) {
    if (!hooks) return;
    for (const auto* kind : {&hooks->gradient, &hooks->accumulated})
      for (const Ref<Hook>& hook : *kind)
        if (owned(hook)) given.push_back(hook.get());
  }
  void look(TensorImpl& t) {
    reach(t.hooks);
    reach(t.grad_fn);
    reach(t.grad);
    reach(t.retained);
    reach(t.base);
  }
  void look(GradNode& op) {
    reach(op.hooks);
    if (op.custom) given.push_back(op.custom.get());
    reach(op.retained);
    reach(op.output);
    for (int i = 0; i < op.inputs; ++i) {
      reach(op.in[i].fn);
      reach(op.in[i].leaf);
      reach(op.in[i].value);
    }
  }

  std::unordered_map<const void*, uint32_t> met_;  // references to things that have several
  std::vector<TensorImpl*> tensors_;
  std::vector<GradNode*> ops_;
};

}  // namespace

int show_given(const Ref<TensorImpl>& tensor, const Ref<GradNode>& op, visitproc visit, void* arg) {
  struct Collector {
    visitproc visit;
    void* argument;
  } collector{visit, arg};
  const auto show = [](void* object, void* to) {
    const auto& c = *static_cast<Collector*>(to);
    return c.visit(static_cast<PyObject*>(object), c.argument);
  };
  for (const Given* g : Walk(tensor, op).given)
    if (const int stop = g->show(show, &collector)) return stop;
  return 0;
}

void take_given(const Ref<TensorImpl>& tensor, const Ref<GradNode>& op) {
  std::vector<std::shared_ptr<void>> objects;  // end at the end: what Python does then may change the graph
  for (Given* g : Walk(tensor, op).given) g->let_go(objects);
}

}  // namespace sg::bind
