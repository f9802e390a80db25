// What optimisers in Python call: a rule of ops/optim.cpp over parameters that step together, and a check of which
// parameters have gradients. Knows no optimiser by name.
#include <pybind11/pybind11.h>

#include <algorithm>

#include "base/host.hpp"
#include "bind/caster.hpp"
#include "bind/changes.hpp"
#include "bind/methods.hpp"
#include "bind/transaction.hpp"
#include "engine/engine.hpp"
#include "graph/watcher.hpp"
#include "ops/list.hpp"

namespace py = pybind11;

namespace sg::bind {
namespace {

// A number or a 0-d tensor.
Tensor scalar(py::handle o) { return is_tensor(o.ptr()) ? unwrap(o.ptr()) : Tensor(to_real("optim", o.ptr())); }

struct Update {
  const UpdateRule& rule;
  std::vector<Tensor> parameters;
  States states;

  Update(const std::string& name, std::vector<Tensor> tensors, const py::sequence& of_each)
      : rule(update_rule(name)), parameters(std::move(tensors)) {
    for (py::handle one : of_each) {
      std::vector<Tensor>& s = states.emplace_back();
      for (py::handle state : one) s.push_back(state.is_none() ? Tensor() : state.cast<Tensor>());
      if (static_cast<int>(s.size()) != rule.states)
        fail<ValueError>("optim",
                         name + " keeps " + std::to_string(rule.states) + " states, not " + std::to_string(s.size()),
                         "see cpp/ops/optim.cpp");
    }
  }

  void step(const py::sequence& numbers, double weight_decay, bool maximize, py::object found_inf) {
    std::vector<Tensor> values;
    for (py::handle n : numbers) values.push_back(scalar(n));
    Tensor penalty = weight_decay ? Tensor(weight_decay) : Tensor();
    if (watcher && std::all_of(values.begin(), values.end(), [](const Tensor& n) { return n.is_number(); })) {
      for (const Tensor& n : values) n->slot = watcher->number(n->number.f);
      if (penalty) penalty->slot = watcher->number(weight_decay);
    }
    if (static_cast<int>(values.size()) != rule.numbers)
      fail<ValueError>("optim",
                       std::string(rule.op.name) + " takes " + std::to_string(rule.numbers) + " numbers, not " +
                           std::to_string(values.size()),
                       "see cpp/ops/optim.cpp");
    update(rule, parameters, states, values,
           {.maximize = maximize,
            .weight_decay = penalty,
            .found_inf = found_inf.is_none() ? Tensor() : found_inf.cast<Tensor>()});
  }
};

// Which of the tensors have a gradient, as bytes to compare.
py::bytes with_gradient(const py::list& tensors) {
  std::string key;
  for (py::handle t : tensors) {
    const Tensor& x = tensor_of("optim", t.ptr());
    const TensorImpl* impl = x.impl();
    if (x.grad()) key.append(reinterpret_cast<const char*>(&impl), sizeof impl);
  }
  return key;
}

std::vector<DeviceId> devices_of(const std::vector<py::list>& groups) {
  std::vector<DeviceId> devices;
  for (const py::list& group : groups)
    for (py::handle t : group) {
      const DeviceId device = tensor_of("optim", t.ptr()).device();
      if (std::find(devices.begin(), devices.end(), device) == devices.end()) devices.push_back(device);
    }
  return devices;
}

// Runs what is pending on the devices of these tensors, now or after the collective that is under way there.
void submit(const std::vector<py::list>& groups) {
  const std::vector<DeviceId> devices = devices_of(groups);
  WithoutGil unlocked;
  for (DeviceId d : devices)
    if (!postpone(d)) flush(d);
}

const char* fate(const BoundTransaction& t) {
  WithoutGil unlocked;
  const EngineLock lock;
  const Fate fate = fate_of(*t.transaction);
  return fate == Fate::done ? "done" : fate == Fate::lost ? "lost" : "open";
}

void raise_if_lost(const BoundTransaction& t) {
  WithoutGil unlocked;
  const EngineLock lock;
  raise_lost(*t.transaction);
}

// What is recorded from here on is done as a whole or not at all.
void begin_whole_step(const std::vector<py::list>& groups) {
  begin_transaction();
  for (DeviceId d : devices_of(groups)) begin_whole(d);
}

void end_whole_step(const std::vector<py::list>& groups) {
  end_transaction();
  for (DeviceId d : devices_of(groups)) end_whole(d);
}

bool may_fail(const Ref<Transaction>& begun) {
  WithoutGil unlocked;
  const EngineLock lock;
  return begun && fate_of(*begun) != Fate::done;
}

// Submits what was begun. A step that is interrupted here is done nevertheless, when somebody looks at it. One that may
// not be done, because a check may still fail, is added to `open`, with `before`.
void submit_step(const std::vector<py::list>& groups, PyObject* list, PyObject* open, PyObject* before) {
  Changes changes(list);
  const Ref<Transaction> begun = end_transaction();
  const auto note = [&] {
    if (!may_fail(begun)) return;
    const py::tuple step = py::make_tuple(BoundTransaction(begun), py::reinterpret_borrow<py::object>(before));
    if (PyList_Append(open, step.ptr()) < 0) throw PythonError();
  };
  try {
    changes.make();
    submit(groups);
  } catch (const Interruption&) {
    note();
    throw;
  } catch (...) {
    changes.undo();
    throw;
  }
  note();
}

// Undoes a step that was not recorded to its end.
void take_back_step(const std::vector<py::list>& groups) {
  end_transaction();
  for (DeviceId d : devices_of(groups)) take_back(d);
}

// Options in a form that can be compared. Without `numbers`, a float counts only as 0 or not 0. Dicts become lists of
// pairs; objects without a value, such as tensors, count by identity.
py::object frozen(const py::object& x, bool numbers) {
  PyObject* o = x.ptr();
  if (PyFloat_Check(o) && !numbers) return py::bool_(PyFloat_AS_DOUBLE(o) == 0);
  if (x.is_none() || PyFloat_Check(o) || PyLong_Check(o) || PyUnicode_Check(o))
    return py::reinterpret_borrow<py::object>(x);
  py::list all;
  if (PyDict_Check(o)) {
    for (auto [key, value] : py::reinterpret_borrow<py::dict>(x))
      all.append(py::reinterpret_steal<py::object>(
          PyTuple_Pack(2, key.ptr(), frozen(py::reinterpret_borrow<py::object>(value), numbers).ptr())));
  } else if (PyList_Check(o) || PyTuple_Check(o)) {
    for (py::handle value : py::reinterpret_borrow<py::sequence>(x))
      all.append(frozen(py::reinterpret_borrow<py::object>(value), numbers));
  } else {
    return py::int_(reinterpret_cast<uintptr_t>(o));
  }
  return all;
}

void zero_gradients(const std::vector<py::list>& groups) {
  for (const py::list& group : groups)
    for (py::handle o : group)
      if (const Tensor& g = unwrap(o.ptr()).grad()) copy_(g.detach(), Tensor(0));
}

void drop_gradients(const std::vector<py::list>& groups, bool set_to_none) {
  begin_whole_step(groups);
  try {
    if (!set_to_none) zero_gradients(groups);
    end_whole_step(groups);
  } catch (...) {
    take_back_step(groups);
    throw;
  }
  if (!set_to_none) return;
  for (const py::list& group : groups)
    for (py::handle o : group) Tensor(unwrap(o.ptr())).set_grad({});
}

constexpr Callable optim_callables[] = {
    {"_with_gradient", bound<with_gradient>},   {"_submit", bound<submit>},
    {"_begin_whole", bound<begin_whole_step>},  {"_end_whole", bound<end_whole_step>},
    {"_submit_step", bound<submit_step>},       {"_take_back", bound<take_back_step>},
    {"_drop_gradients", bound<drop_gradients>}, {"_frozen", bound<frozen>},
};

}  // namespace

void add_optimizers(PyObject* m) {
  py::module_ module = py::reinterpret_borrow<py::module_>(m);
  py::class_<Update>(module, "_Update", py::module_local())
      .def(py::init<const std::string&, std::vector<Tensor>, const py::sequence&>())
      .def("step", &Update::step);
  py::class_<BoundTransaction>(module, "_Transaction", py::module_local())
      .def("fate", fate)
      .def("raise_if_lost", raise_if_lost);
  add_callables(m, optim_callables);
}

}  // namespace sg::bind
