// Attributes and methods of Value: micrograd's names, and those that spirograd adds. Knows no tensors.
#include "bind/arguments.hpp"
#include "bind/device.hpp"
#include "bind/signature.hpp"
#include "bind/value.hpp"
#include "value/graph.hpp"

namespace sg::bind {
namespace {

using value::Node;
using value::Op;

PyObject* number_object(double v, bool is_int) { return check(is_int ? PyLong_FromDouble(v) : PyFloat_FromDouble(v)); }

void need_number(const char* what, PyObject* o, double& v, bool& is_int) {
  if (!o) raise(PyExc_AttributeError, std::string(what) + ": cannot be deleted; set it to 0");
  if (scalar(o, v, is_int)) return;
  Object number(is_value(o) || !PyNumber_Check(o) ? nullptr : PyNumber_Float(o));
  if (!number) {
    PyErr_Clear();
    fail<TypeError>(what, "a number is needed, got " + type_name(o), is_value(o) ? "use its .data" : "");
  }
  v = PyFloat_AS_DOUBLE(number.get());
  is_int = false;
}

PyObject* get_data(PyObject* self, void*) {
  return guarded([&] {
    Node* n = node_of(self);
    const double v = value::data_of(n);
    return number_object(v, n->has(value::kInt));
  });
}
int set_data(PyObject* self, PyObject* o, void*) {
  return guarded([&] {
    double v;
    bool is_int;
    need_number("data", o, v, is_int);
    value::set_data(node_of(self), v, is_int);
    return 0;
  });
}
PyObject* get_grad(PyObject* self, void*) {
  return guarded([&] {
    Node* n = node_of(self);
    const double v = value::grad_of(n);
    return number_object(v, n->has(value::kGradInt));
  });
}
int set_grad(PyObject* self, PyObject* o, void*) {
  return guarded([&] {
    double v;
    bool is_int;
    need_number("grad", o, v, is_int);
    value::set_grad(node_of(self), v, is_int);
    return 0;
  });
}

PyObject* get_prev(PyObject* self, void*) {
  return guarded([&] {
    Object set(check(PySet_New(nullptr)));
    value::make_operands_nodes(node_of(self));
    value::for_operands(node_of(self), [&set](Node* c) {
      Object child(wrap(value::retain(c)));
      check(PySet_Add(set.get(), child.get()));
    });
    return set.release();
  });
}

const char* name_of(const Node* n) {
  switch (n->op) {
    case Op::leaf:
    case Op::custom:
      return "";
    case Op::add:
      return "+";
    case Op::mul:
      return "*";
    case Op::pow:
      return "**";
    case Op::relu:
      return "ReLU";
    case Op::neuron:
      return n->has(value::kNonlinear) ? "ReLU" : "+";
    case Op::move:
      return "to";
    case Op::exp:
      return "exp";
    case Op::log:
      return "log";
    case Op::tanh:
      return "tanh";
    case Op::sigmoid:
      return "sigmoid";
    case Op::sqrt:
      return "sqrt";
    case Op::abs:
      return "abs";
    case Op::sin:
      return "sin";
    case Op::cos:
      return "cos";
    case Op::power:
      break;
  }
  return nullptr;
}

PyObject* get_op(PyObject* self, void*) {
  return guarded([&]() -> PyObject* {
    const Node* n = node_of(self);
    if (const Extra* e = find_extra(n); e && e->op) return Py_NewRef(e->op.get());
    if (const char* name = name_of(n)) return check(PyUnicode_FromString(name));
    Object k(number_object(n->k, n->has(value::kNumberInt)));
    return check(PyUnicode_FromFormat("**%S", k.get()));
  });
}
int set_op(PyObject* self, PyObject* o, void*) {
  return guarded([&] {
    extra_of(self).op = Object(Py_XNewRef(o));
    return 0;
  });
}

PyObject* get_label(PyObject* self, void*) {
  const Extra* e = find_extra(node_of(self));
  return e && e->label ? Py_NewRef(e->label.get()) : PyUnicode_FromString("");
}
int set_label(PyObject* self, PyObject* o, void*) {
  return guarded([&] {
    extra_of(self).label = Object(Py_XNewRef(o));
    return 0;
  });
}

PyObject* call_backward_of_node(PyObject* self, PyObject*) {
  return guarded([&] {
    value::local_backward(node_of(self));
    return Py_NewRef(Py_None);
  });
}
PyMethodDef node_backward = {"_backward", call_backward_of_node, METH_NOARGS,
                             "Adds this node's part to the gradients of its operands."};

PyObject* get_backward(PyObject* self, void*) {
  const Extra* e = find_extra(node_of(self));
  if (e && e->backward) return Py_NewRef(e->backward.get());
  return PyCFunction_New(&node_backward, self);
}
int set_backward(PyObject* self, PyObject* o, void*) {
  return guarded([&] {
    if (o && !PyCallable_Check(o)) fail<TypeError>("_backward", "a function is needed, got " + type_name(o), "");
    Node* n = node_of(self);
    if (n->device >= 0 && n->op != Op::custom)
      fail<ValueError>("_backward", "the gradient of an operation on a GPU cannot be replaced",
                       "make a node by hand, Value(data, children, op), or use .cpu()");
    extra_of(self).backward = Object(Py_XNewRef(o));
    n->set(value::kOwnBackward, o != nullptr);
    return 0;
  });
}

DeviceId id_of(const Node* n) {
  if (n->device < 0) return {};
  return {DeviceId::Kind::gpu, static_cast<uint8_t>(n->device)};
}

PyObject* get_device(PyObject* self, void*) {
  return guarded([&] { return device_object(id_of(node_of(self))); });
}

PyObject* backward(PyObject* self, PyObject*) {
  return guarded([&] {
    value::backward(node_of(self));
    return Py_NewRef(Py_None);
  });
}

template <Op op>
PyObject* unary(PyObject* self, PyObject*) {
  return guarded([&] { return wrap(value::unary(op, node_of(self))); });
}

PyObject* moved(PyObject* self, DeviceId id) {
  Node* n = node_of(self);
  if (id_of(n) == id) return Py_NewRef(self);
  return wrap(value::move(n, id.kind == DeviceId::Kind::gpu ? id.index : -1));
}
PyObject* to(PyObject* self, PyObject* device) {
  return guarded([&] { return moved(self, to_device_id(device)); });
}
PyObject* cpu(PyObject* self, PyObject*) {
  return guarded([&] { return moved(self, {}); });
}
PyObject* item(PyObject* self, PyObject*) { return get_data(self, nullptr); }

PyObject* format(PyObject* self, PyObject* spec) {
  return guarded([&] {
    if (PyUnicode_Check(spec) && PyUnicode_GET_LENGTH(spec) == 0) return check(PyObject_Str(self));
    return check(PyObject_Format(Object(check(get_data(self, nullptr))).get(), spec));
  });
}
PyObject* rounded(PyObject* self, PyObject* const* args, Py_ssize_t count) {
  return guarded([&] {
    const Object data(check(get_data(self, nullptr)));
    if (count > 1) fail<TypeError>("round", std::to_string(count) + " arguments", "give the digits alone");
    return check(PyObject_CallMethod(data.get(), "__round__", count ? "(O)" : nullptr, count ? args[0] : nullptr));
  });
}

}  // namespace

PyGetSetDef value_attributes[] = {{"data", get_data, set_data, doc("Value.data"), nullptr},
                                  {"grad", get_grad, set_grad, doc("Value.grad"), nullptr},
                                  {"label", get_label, set_label, doc("Value.label"), nullptr},
                                  {"device", get_device, nullptr, doc("Value.device"), nullptr},
                                  {"_prev", get_prev, nullptr, doc("Value._prev"), nullptr},
                                  {"_op", get_op, set_op, doc("Value._op"), nullptr},
                                  {"_backward", get_backward, set_backward, doc("Value._backward"), nullptr},
                                  {}};

#define SG_METHOD(name) {#name, unary<Op::name>, METH_NOARGS, signed_doc("Value." #name)}
PyMethodDef value_methods[] = {{"backward", backward, METH_NOARGS, signed_doc("Value.backward")},
                               SG_METHOD(relu),
                               SG_METHOD(exp),
                               SG_METHOD(log),
                               SG_METHOD(tanh),
                               SG_METHOD(sigmoid),
                               SG_METHOD(sqrt),
                               SG_METHOD(abs),
                               SG_METHOD(sin),
                               SG_METHOD(cos),
                               {"to", to, METH_O, signed_doc("Value.to")},
                               {"cpu", cpu, METH_NOARGS, signed_doc("Value.cpu")},
                               {"item", item, METH_NOARGS, signed_doc("Value.item")},
                               {"__format__", format, METH_O, signed_doc("Value.__format__")},
                               {"__round__", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(rounded)),
                                METH_FASTCALL, signed_doc("Value.__round__")},
                               {}};
#undef SG_METHOD

}  // namespace sg::bind
