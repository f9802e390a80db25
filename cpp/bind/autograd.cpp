// backward, gradients of chosen inputs, the grad mode, and the optimisers' updates.
#include <pybind11/pybind11.h>

#include "bind/caster.hpp"
#include "bind/methods.hpp"
#include "engine/engine.hpp"
#include "ops/list.hpp"

namespace py = pybind11;

namespace sg::bind {
namespace {

struct GradFn {
  std::string name;
};

BackwardOptions options_of(PyObject* retain, PyObject* create) {
  BackwardOptions o;
  o.create_graph = given(create) && to_bool(create);
  o.retain_graph = given(retain) ? to_bool(retain) : o.create_graph;
  return o;
}

PyObject* backward(const Call& c) {
  Arguments a("backward", c);
  const Tensor root = tensor_of("backward", c.self);
  PyObject* given_gradient = a.take("gradient");
  PyObject *retain = a.take("retain_graph"), *create = a.take("create_graph");
  a.done();
  const Tensor gradient = given(given_gradient) ? tensor_of("backward", given_gradient) : Tensor();
  const BackwardOptions options = options_of(retain, create);
  {
    WithoutGil unlocked;
    sg::backward(root, gradient, options);
  }
  Py_RETURN_NONE;
}

// grad(root, inputs, gradient, retain_graph, create_graph): None where there is no path.
py::list gradients(const Tensor& root, const std::vector<Tensor>& inputs, const std::optional<Tensor>& gradient,
                   bool retain_graph, bool create_graph) {
  std::vector<Tensor> out;
  {
    WithoutGil unlocked;
    out = sg::grad(root, inputs, gradient.value_or(Tensor()), {retain_graph, create_graph});
  }
  py::list list;
  for (const Tensor& g : out) list.append(g ? py::cast(g) : py::object(py::none()));
  return list;
}

const Row rows[] = {
    {"backward", backward,
     "gradient: Tensor | None = None, retain_graph: bool | None = None, create_graph: bool = False", "None",
     "Adds the gradient of this tensor to the .grad of every leaf it was made from.\n\nArgs:\n    gradient: the "
     "gradient of this tensor; 1 for a tensor of one element.\n    retain_graph: keep what a second backward() needs.\n"
     "    create_graph: record the gradients themselves, so that they have gradients.\n\nRaises:\n    ValueError: more "
     "than one element and no gradient given.\n    Error: the graph was freed, or nothing wants a gradient.\n\n"
     "Example:\n    >>> x = sg.tensor(3.0, requires_grad=True)\n    >>> (x * x).backward()\n    >>> x.grad.item()\n"
     "    6.0",
     Where::method},
};

// ---- optimisers ------------------------------------------------------------------------------------------------------
void cut_all(const std::vector<Tensor>& tensors) {
  std::vector<DeviceId> devices;
  for (const Tensor& t : tensors)
    if (std::find(devices.begin(), devices.end(), t.device()) == devices.end()) devices.push_back(t.device());
  WithoutGil unlocked;
  for (DeviceId d : devices) cut(d);
}

void drop_gradients(const std::vector<Tensor>& tensors, bool set_to_none) {
  for (const Tensor& t : tensors) {
    if (set_to_none)
      t->grad = {};
    else if (t.grad())
      copy_(t.grad().detach(), Tensor(0));
  }
}

struct Sgd {
  std::vector<Tensor> parameters, momentum;
  void step(double lr, double factor, double weight_decay) {
    sgd_step(parameters, momentum, {lr, factor, weight_decay});
    cut_all(parameters);
  }
};

struct Adam {
  std::vector<Tensor> parameters, m, v;
  int64_t steps = 0;
  void step(double lr, double beta1, double beta2, double eps, double weight_decay) {
    adam_step(parameters, m, v, steps + 1, {lr, beta1, beta2, eps, weight_decay});
    ++steps;
    cut_all(parameters);
  }
};

}  // namespace

PyObject* grad_fn_object(const std::string& name) { return py::cast(GradFn{name}).release().ptr(); }

void add_autograd(PyObject* m) {
  add_rows(m, rows);
  py::module_ module = py::reinterpret_borrow<py::module_>(m);
  py::class_<GradFn>(module, "GradFn", "The operation that made a tensor.", py::module_local())
      .def(
          "name", [](const GradFn& f) { return f.name; }, "For example \"MulBackward\".")
      .def("__repr__", [](const GradFn& f) { return "<" + f.name + ">"; });
  module.def("_grad", gradients);
  module.def("is_grad_enabled", grad_enabled, "Whether operations are recorded for gradients, in this thread.");
  module.def("_set_grad_enabled", set_grad_enabled);
}

void add_optimizers(PyObject* m) {
  py::module_ module = py::reinterpret_borrow<py::module_>(m);
  py::class_<Sgd>(module, "_Sgd", py::module_local())
      .def(py::init([](std::vector<Tensor> parameters) { return Sgd{std::move(parameters), {}}; }))
      .def("step", &Sgd::step)
      .def("zero_grad", [](Sgd& s, bool to_none) { drop_gradients(s.parameters, to_none); })
      .def_readwrite("momentum", &Sgd::momentum);
  py::class_<Adam>(module, "_Adam", py::module_local())
      .def(py::init([](std::vector<Tensor> parameters) { return Adam{std::move(parameters), {}, {}, 0}; }))
      .def("step", &Adam::step)
      .def("zero_grad", [](Adam& s, bool to_none) { drop_gradients(s.parameters, to_none); })
      .def_readwrite("m", &Adam::m)
      .def_readwrite("v", &Adam::v)
      .def_readwrite("steps", &Adam::steps);
}

}  // namespace sg::bind
