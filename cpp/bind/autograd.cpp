// backward, gradients of chosen inputs, hooks, functions with gradients written in Python, and the grad mode. Keeps the
// Python objects that a gradient graph holds; knows no op.
#include <pybind11/pybind11.h>

#include "bind/caster.hpp"
#include "bind/cycles.hpp"
#include "bind/methods.hpp"
#include "bind/source.hpp"
#include "engine/engine.hpp"
#include "graph/lock.hpp"
#include "ops/list.hpp"

namespace py = pybind11;

namespace sg::bind {
namespace {

// ---- what Python gives: hooks, functions, checkpoints ----------------------------------------------------------------
// Python objects that a graph holds.
template <size_t n>
class Objects {
 public:
  template <class... O>
  explicit Objects(O*... objects) : objects_{shared(Py_NewRef(objects))...} {
    ++in_graphs;
  }
  ~Objects() { --in_graphs; }
  Objects(const Objects&) = delete;
  Objects& operator=(const Objects&) = delete;

  // Error when the collector has taken them.
  PyObject* get(size_t i) const {
    if (!objects_[i])
      fail<Error>("backward", "a function of the graph is gone, it was part of a cycle that had ended",
                  "call it before the object ends");
    return objects_[i].get();
  }
  int show(Given::Visit visit, void* argument) const {
    for (const auto& o : objects_)
      if (o)
        if (const int stop = visit(o.get(), argument)) return stop;
    return 0;
  }
  void let_go(std::vector<std::shared_ptr<void>>& into) {
    for (auto& o : objects_) into.push_back(std::move(o));
  }

 private:
  std::shared_ptr<PyObject> objects_[n];
};

// The Python object of a hook. The graph holds an ordinary reference to it, so that the collector can follow it.
struct HookHandle {
  py::object callable;  // none: removed
};

// Called from backward(), which may run in any thread and holds neither the GIL nor the engine lock.
class PythonHook : public Hook {
 public:
  explicit PythonHook(const py::object& handle) : handle_(handle.ptr()) {}
  Tensor operator()(const Tensor& g) override {
    const WithGil locked;
    const py::object callable = py::handle(handle_.get(0)).cast<HookHandle&>().callable;  // it may remove itself
    if (callable.is_none()) return {};
    Object argument(wrap(g));
    Object result(check(PyObject_CallOneArg(callable.ptr(), argument.get())));
    return given(result.get()) ? tensor_of("hook", result.get()) : Tensor();
  }
  int show(Visit visit, void* argument) const override { return handle_.show(visit, argument); }
  void let_go(std::vector<std::shared_ptr<void>>& objects) override { handle_.let_go(objects); }

 private:
  Objects<1> handle_;
};

Object list_of(const std::vector<Tensor>& tensors) {
  Object list(check(PyList_New(static_cast<Py_ssize_t>(tensors.size()))));
  for (size_t i = 0; i < tensors.size(); ++i)
    PyList_SET_ITEM(list.get(), static_cast<Py_ssize_t>(i), tensors[i] ? wrap(tensors[i]) : Py_NewRef(Py_None));
  return list;
}

// None stands for an undefined tensor.
std::vector<Tensor> tensors_of(const char* op, PyObject* o) {
  if (is_tensor(o)) return {unwrap(o)};
  Object list(PySequence_Fast(o, ""));
  if (!list) {
    PyErr_Clear();
    fail<TypeError>(op, "tensors are needed, got " + type_name(o), "give a tensor or a sequence of them");
  }
  std::vector<Tensor> out;
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(list.get()); ++i) {
    PyObject* item = PySequence_Fast_GET_ITEM(list.get(), i);
    out.push_back(item == Py_None ? Tensor() : tensor_of(op, item));
  }
  return out;
}

class PythonGrad : public CustomGrad {
 public:
  PythonGrad(std::string name, PyObject* backward, PyObject* free)
      : name_(std::move(name)), functions_(backward, free) {}
  std::string name() const override { return name_; }
  std::vector<Tensor> operator()(GradNode& node, const std::vector<Tensor>& gradients,
                                 const std::vector<bool>& wanted) override {
    const WithGil locked;
    Object list = list_of(gradients), self(grad_fn_object(Ref<GradNode>(&node))),
           flags(check(PyTuple_New(static_cast<Py_ssize_t>(wanted.size()))));
    for (size_t i = 0; i < wanted.size(); ++i)
      PyTuple_SET_ITEM(flags.get(), static_cast<Py_ssize_t>(i), PyBool_FromLong(wanted[i]));
    Object function(Py_NewRef(functions_.get(0)));
    Object results(check(PyObject_CallFunctionObjArgs(function.get(), list.get(), flags.get(), self.get(), nullptr)));
    return tensors_of("backward", results.get());
  }
  void free_values() override {
    const WithGil locked;
    Object function(Py_NewRef(functions_.get(1))), done(check(PyObject_CallNoArgs(function.get())));
  }
  int show(Visit visit, void* argument) const override { return functions_.show(visit, argument); }
  void let_go(std::vector<std::shared_ptr<void>>& objects) override { functions_.let_go(objects); }

 private:
  std::string name_;
  Objects<2> functions_;
};

class PythonCheckpoint : public Checkpoint {
 public:
  explicit PythonCheckpoint(PyObject* again) : again_(again) {}
  void enter() { scope_ = std::make_unique<Scope>(*this, false); }
  void exit() { scope_ = {}; }
  int show(Visit visit, void* argument) const override { return again_.show(visit, argument); }
  void let_go(std::vector<std::shared_ptr<void>>& objects) override { again_.let_go(objects); }

 private:
  void run() override {
    const Scope scope(*this, true);
    const GradMode on(true);
    const WithGil locked;
    Object function(Py_NewRef(again_.get(0))), done(check(PyObject_CallNoArgs(function.get())));
  }
  Objects<1> again_;
  std::unique_ptr<Scope> scope_;
};

// ---- the graph, to look at -------------------------------------------------------------------------------------------
struct GradFn {
  Ref<GradNode> node;    // an op, or
  Ref<TensorImpl> leaf;  // where a gradient ends
  const void* key() const { return node ? static_cast<const void*>(node.get()) : leaf.get(); }
  std::string name() const { return node ? node->name() : "AccumulateGrad"; }
  py::tuple next_functions() const {
    py::list all;
    if (!node) return all;
    const GradNode& op = node->is_one_output() ? *node->in[0].fn : *node;
    for (int i = 0; i < op.inputs; ++i) {
      const GradInput& in = op.in[i];
      if (in.is_number) continue;
      const int64_t output = in.fn && in.fn->is_one_output() ? in.fn->attributes.as<OutputAttributes>().number : 0;
      all.append(py::make_tuple(in.needs() ? py::cast(GradFn{in.fn, in.leaf}) : py::object(py::none()), output));
    }
    return all;
  }
};

// ---- passes ----------------------------------------------------------------------------------------------------------
void backward(const Tensor& root, const std::optional<Tensor>& gradient, const std::optional<bool>& retain_graph,
              const std::optional<bool>& create_graph, PyObject* wanted) {
  std::vector<Tensor> inputs;
  if (given(wanted)) inputs = tensors_of("backward", wanted);
  if (given(wanted) && inputs.empty()) fail<Error>("backward", "inputs is empty", "leave it out to reach every leaf");
  const bool create = create_graph.value_or(false);
  const WithoutGil unlocked;
  sg::backward(std::vector<Tensor>{root}, {gradient.value_or(Tensor())}, {retain_graph.value_or(create), create},
               inputs.empty() ? nullptr : &inputs);
}

void backward_of(const py::object& roots, const py::object& gradients, bool retain_graph, bool create_graph,
                 const py::object& inputs) {
  const std::vector<Tensor> from = tensors_of("backward", roots.ptr()), start = tensors_of("backward", gradients.ptr());
  std::vector<Tensor> to;
  if (!inputs.is_none()) to = tensors_of("backward", inputs.ptr());
  WithoutGil unlocked;
  sg::backward(from, start, {retain_graph, create_graph}, to.empty() ? nullptr : &to);
}

// None where there is no path.
py::object gradients(const py::object& roots, const py::object& inputs, const py::object& gradients, bool retain_graph,
                     bool create_graph) {
  const std::vector<Tensor> from = tensors_of("grad", roots.ptr()), to = tensors_of("grad", inputs.ptr()),
                            start = tensors_of("grad", gradients.ptr());
  std::vector<Tensor> out;
  {
    WithoutGil unlocked;
    out = sg::grad(from, to, start, {retain_graph, create_graph});
  }
  return py::reinterpret_steal<py::object>(list_of(out).release());
}

void record_function(const std::string& name, const py::object& inputs, const py::object& outputs,
                     const py::object& backward, const py::object& free) {
  std::vector<Tensor> made = tensors_of("Function", outputs.ptr());
  record_custom(std::make_unique<PythonGrad>(name, backward.ptr(), free.ptr()), tensors_of("Function", inputs.ptr()),
                made);
}

// ---- methods ---------------------------------------------------------------------------------------------------------
// The handle, not the callable, is what the graph holds: removing a hook empties the handle.
py::object hook_with(void (*add)(const Tensor&, Ref<Hook>), const char* op, const Tensor& x, PyObject* callable) {
  if (!PyCallable_Check(callable))
    fail<TypeError>(op, "a " + type_name(callable) + " cannot be called", "give a function");
  py::object handle = py::cast(HookHandle{py::reinterpret_borrow<py::object>(callable)});
  add(x, Ref<Hook>(new PythonHook(handle)));
  return handle;
}
py::object register_hook(const Tensor& x, PyObject* hook) { return hook_with(add_hook, "register_hook", x, hook); }
py::object register_accumulated(const Tensor& x, PyObject* hook) {
  return hook_with(add_accumulated_hook, "register_post_accumulate_grad_hook", x, hook);
}

py::object arrived_of(const Tensor& leaf) {
  const Tensor g = arrived_gradient(leaf);
  return g ? py::reinterpret_steal<py::object>(wrap(g)) : py::none();
}

void detach_(Tensor x) { x.detach_(); }

// Its elements stay where they are, so views of it remain views of it, in whatever order it walks them.
void take_view(Tensor x, const Tensor& view) {
  const EngineLock lock;
  const Ref<GradNode> fn = view.grad_fn();
  x->shape = view.shape();
  x->strides = view.strides();
  x->offset = view->offset;
  if (!fn) return;
  const uint32_t of_base = x->base ? x->base->history : 0;
  x.set_history(fn);
  if (x->base) x->history = of_base;
}

Tensor as_output(const Tensor& x, const py::object& function, int64_t number) {
  Tensor t = x.detach();
  set_output(t, function.cast<const GradFn&>().node, number);
  return t;
}

std::string written_at(const Tensor& x) { return at(x->storage->written); }
std::string running_line() { return at(current_location()); }

py::tuple random_words() {
  const auto [seed, blocks] = random_state();
  return py::make_tuple(seed, blocks);
}
void set_random_words(const std::vector<int64_t>& state) {
  if (state.size() != 2)
    fail<ValueError>("_set_random_state", std::to_string(state.size()) + " numbers",
                     "give what _random_state() returned");
  set_random_state({state[0], state[1]});
}

bool is_anomaly_enabled() { return detect_nan; }
void set_anomaly_enabled(bool on) { detect_nan = on; }

constexpr Callable autograd_functions[] = {
    {"_backward", bound<backward_of>},
    {"_grad", bound<gradients>},
    {"_record_function", bound<record_function>},
    {"_as_output", bound<as_output>},
    {"_arrived", bound<arrived_of>},
    {"_set_arrived", bound<set_arrived_gradient>},
    {"_written_at", bound<written_at>},
    {"_running_line", bound<running_line>},
    {"_warn_at_line", bound<warn_at_line>},
    {"_saved_bytes", bound<saved_bytes>},
    {"_depends_on_others", bound<depends_on_others>},
    {"_random_state", bound<random_words>},
    {"_set_random_state", bound<set_random_words>},
    {"is_grad_enabled", bound<grad_enabled>},
    {"_set_grad_enabled", bound<set_grad_enabled>},
    {"_is_anomaly_enabled", bound<is_anomaly_enabled>},
    {"_set_anomaly_enabled", bound<set_anomaly_enabled>},
};

constexpr Callable autograd_callables[] = {
    {"backward", bound<backward>},
    {"retain_grad", bound<retain_grad>},
    {"register_hook", bound<register_hook>},
    {"register_post_accumulate_grad_hook", bound<register_accumulated>},
    {"detach_", writes<detach_>},
    {"_take_view", writes<take_view>},
};

}  // namespace

namespace {
// Makes instances of a pybind11 class visible to the collector: `show` visits what one holds, `clear` releases it.
template <class T, int (*show)(T&, visitproc, void*), int (*clear)(T&)>
py::custom_type_setup collected() {
  return py::custom_type_setup([](PyHeapTypeObject* heap) {
    PyTypeObject& type = heap->ht_type;
    type.tp_flags |= Py_TPFLAGS_HAVE_GC;
    type.tp_traverse = [](PyObject* self, visitproc visit, void* arg) {
      Py_VISIT(Py_TYPE(self));
      if (!py::detail::is_holder_constructed(self)) return 0;
      return show(py::handle(self).cast<T&>(), visit, arg);
    };
    type.tp_clear = [](PyObject* self) {
      return py::detail::is_holder_constructed(self) ? clear(py::handle(self).cast<T&>()) : 0;
    };
  });
}

int show_handle(HookHandle& h, visitproc visit, void* arg) {
  Py_VISIT(h.callable.ptr());
  return 0;
}
int clear_handle(HookHandle& h) {
  h.callable = py::none();
  return 0;
}
int show_grad_fn(GradFn& f, visitproc visit, void* arg) { return show_given({}, f.node, visit, arg); }
int clear_grad_fn(GradFn& f) {
  take_given({}, f.node);
  return 0;
}
}  // namespace

PyObject* grad_fn_object(const Ref<GradNode>& fn) { return py::cast(GradFn{fn, {}}).release().ptr(); }

void add_autograd(PyObject* m) {
  py::module_ module = py::reinterpret_borrow<py::module_>(m);
  py::class_<GradFn>(module, "GradFn", doc("GradFn"), py::module_local(),
                     collected<GradFn, show_grad_fn, clear_grad_fn>())
      .def("name", &GradFn::name, doc("GradFn.name"))
      .def_property_readonly("next_functions", &GradFn::next_functions, doc("GradFn.next_functions"))
      .def_property_readonly(
          "variable", [](const GradFn& f) { return f.leaf ? py::cast(Tensor(f.leaf)) : py::object(py::none()); },
          doc("GradFn.variable"))
      .def("__eq__", [](const GradFn& a, const GradFn& b) { return a.key() == b.key(); })
      .def("__hash__", [](const GradFn& f) { return std::hash<const void*>()(f.key()); })
      .def("__repr__", [](const GradFn& f) { return "<" + f.name() + ">"; });
  py::class_<HookHandle>(module, "HookHandle", doc("HookHandle"), py::module_local(),
                         collected<HookHandle, show_handle, clear_handle>())
      .def(
          "remove", [](HookHandle& h) { h.callable = py::none(); }, doc("HookHandle.remove"))
      .def("__enter__", [](py::object self) { return self; })
      .def("__exit__", [](HookHandle& h, const py::args&) { h.callable = py::none(); });
  py::class_<Ref<PythonCheckpoint>>(module, "_Checkpoint", py::module_local())
      .def(py::init([](py::object again) { return Ref<PythonCheckpoint>(new PythonCheckpoint(again.ptr())); }))
      .def("__enter__", [](const Ref<PythonCheckpoint>& c) { c->enter(); })
      .def("__exit__", [](const Ref<PythonCheckpoint>& c, const py::args&) { c->exit(); });
  add_callables(m, autograd_callables);
  add_callables(m, autograd_functions);
}

}  // namespace sg::bind
