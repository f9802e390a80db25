// Calls the neurons of a layer at once: each becomes one node instead of two for each weight. Gives up, and leaves the
// layer to Python, at anything unusual.
#include "bind/arguments.hpp"
#include "bind/errors.hpp"
#include "bind/value.hpp"
#include "value/graph.hpp"

namespace sg::bind {
namespace {

using value::Input;
using value::List;
using value::Node;

struct HeldList {
  List* list = nullptr;
  ~HeldList() {
    if (list) value::release(list);
  }
  List* give() {
    List* l = list;
    list = nullptr;
    return l;
  }
};

// The inputs of a layer, shared by its neurons. nullptr if one is neither a Value nor a number.
List* inputs_of(PyObject* fast) {
  const Py_ssize_t count = PySequence_Fast_GET_SIZE(fast);
  HeldList held{List::make(static_cast<size_t>(count))};
  held.list->count = 0;
  for (Py_ssize_t i = 0; i < count; ++i) {
    PyObject* o = PySequence_Fast_GET_ITEM(fast, i);
    Input in{nullptr, 0, false};
    if (is_value(o))
      in.node = value::retain(node_of(o));
    else if (!scalar(o, in.number, in.is_int))
      return nullptr;
    held.list->items[held.list->count++] = in;
  }
  return held.give();
}

// One neuron. nullptr for anything unusual: Python then computes it.
Node* neuron(PyObject* w, PyObject* b, List* inputs, bool nonlinear) {
  if (!PyList_CheckExact(w) || !is_value(b)) return nullptr;
  const Py_ssize_t count = PyList_GET_SIZE(w);
  if (count == 0 || count != static_cast<Py_ssize_t>(inputs->count)) return nullptr;
  const int device = node_of(b)->device;
  HeldList weights{List::make(static_cast<size_t>(count) + 1)};
  weights.list->count = 0;
  auto add = [&](PyObject* o) {
    weights.list->items[weights.list->count++] = {value::retain(node_of(o)), 0, false};
    return node_of(o)->device == device;
  };
  for (Py_ssize_t i = 0; i < count; ++i) {
    PyObject* o = PyList_GET_ITEM(w, i);
    if (!is_value(o) || !add(o)) return nullptr;
    const Node* x = inputs->items[i].node;
    if (x && x->device != device) return nullptr;
  }
  add(b);
  ++inputs->refs;
  return value::neuron(weights.give(), inputs, nonlinear);
}

// The class Neuron keeps w, b and nonlin in __slots__: their offsets are found once and then read directly.
class Places {
 public:
  explicit Places(PyObject* type) : w_(of(type, "w")), b_(of(type, "b")), nonlin_(of(type, "nonlin")) {}
  PyObject* w(PyObject* o) const { return at(o, w_); }
  PyObject* b(PyObject* o) const { return at(o, b_); }
  PyObject* nonlin(PyObject* o) const { return at(o, nonlin_); }

 private:
  static Py_ssize_t of(PyObject* type, const char* name) {
    Object member(check(PyObject_GetAttrString(type, name)));
    if (!Py_IS_TYPE(member.get(), &PyMemberDescr_Type)) fail<TypeError>("_neurons", std::string(name) + " is no slot");
    return reinterpret_cast<PyMemberDescrObject*>(member.get())->d_member->offset;
  }
  static PyObject* at(PyObject* o, Py_ssize_t place) {  // nullptr: deleted
    return *reinterpret_cast<PyObject**>(reinterpret_cast<char*>(o) + place);
  }
  Py_ssize_t w_, b_, nonlin_;
};

// _neurons(Neuron, list of them, x) -> list of Values, or None where Python has to compute.
PyObject* neurons(PyObject*, PyObject* const* args, Py_ssize_t count) {
  return guarded([&]() -> PyObject* {
    if (count != 3 || !PyList_Check(args[1])) fail<TypeError>("_neurons", "a class, a list and inputs are needed");
    static PyObject* const type = Py_NewRef(args[0]);
    static const Places places(type);
    Object x(check(PySequence_Fast(args[2], "a layer takes a sequence of Values or numbers")));
    HeldList inputs{inputs_of(x.get())};
    if (!inputs.list) Py_RETURN_NONE;
    const Py_ssize_t n = PyList_GET_SIZE(args[1]);
    Object out(check(PyList_New(n)));
    for (Py_ssize_t i = 0; i < n; ++i) {
      PyObject* one = PyList_GET_ITEM(args[1], i);
      if (reinterpret_cast<PyObject*>(Py_TYPE(one)) != type) Py_RETURN_NONE;  // may compute something else
      PyObject *w = places.w(one), *b = places.b(one), *nonlin = places.nonlin(one);
      Node* node = w && b && nonlin ? neuron(w, b, inputs.list, to_bool(nonlin)) : nullptr;
      if (!node) Py_RETURN_NONE;
      PyList_SET_ITEM(out.get(), i, wrap(node));
    }
    return out.release();
  });
}

PyMethodDef functions[] = {{"_neurons", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(neurons)),
                            METH_FASTCALL, "The outputs of a layer's neurons, or None where they are no plain ones."}};

}  // namespace

void add_neurons(PyObject* module) {
  for (PyMethodDef& f : functions)
    check(PyModule_AddObjectRef(module, f.ml_name, Object(check(PyCFunction_New(&f, nullptr))).get()));
  add_value_tensors(module);
}

}  // namespace sg::bind
