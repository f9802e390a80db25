// The type object of Value and its operators. Knows no tensors: value_tensor.cpp does.
#include "bind/value.hpp"

#include <cmath>
#include <cstring>
#include <unordered_map>

#include "bind/arguments.hpp"
#include "bind/device.hpp"
#include "bind/numpy.hpp"
#include "bind/signature.hpp"
#include "value/graph.hpp"

namespace sg::bind {

PyTypeObject* value_type = nullptr;

namespace {

using value::Node;
using value::Op;

// ---- objects: kept for reuse when they go

constexpr int kMostKept = 32768;
PyValue* kept = nullptr;  // linked through weak_references
int kept_count = 0;

PyValue* new_object(PyTypeObject* type) {
  if (type == value_type && kept) {
    PyValue* v = kept;
    kept = reinterpret_cast<PyValue*>(v->weak_references);
    --kept_count;
    Py_SET_REFCNT(reinterpret_cast<PyObject*>(v), 1);
    v->weak_references = nullptr;
    return v;
  }
  PyValue* v = type == value_type ? PyObject_GC_New(PyValue, type)  // not tracked: numbers form no cycles
                                  : reinterpret_cast<PyValue*>(type->tp_alloc(type, 0));
  if (!v) throw PythonError();
  v->weak_references = nullptr;
  return v;
}

void release(PyObject* self) {
  auto* v = reinterpret_cast<PyValue*>(self);
  PyTypeObject* type = Py_TYPE(self);
  if (PyObject_GC_IsTracked(self)) PyObject_GC_UnTrack(self);
  if (v->weak_references) PyObject_ClearWeakRefs(self);
  if (Node* n = v->node) {
    n->owner = nullptr;
    value::release(n);
  }
  if (type == value_type && kept_count < kMostKept) {
    v->weak_references = reinterpret_cast<PyObject*>(kept);
    kept = v;
    ++kept_count;
    return;
  }
  if (type == value_type)
    PyObject_GC_Del(self);
  else
    type->tp_free(self);
  Py_DECREF(type);
}

// ---- what Python keeps for a node

std::unordered_map<const Node*, Extra> extras;

void forget(Node* n) {
  forget_leaves(n);
  auto it = extras.find(n);
  if (it == extras.end()) return;
  Extra gone = std::move(it->second);  // its objects may run any code when they go: the table is in order by then
  extras.erase(it);
}

void own_backward(Node* n) { Object result(check(PyObject_CallNoArgs(find_extra(n)->backward.get()))); }

// A function that Python set on a node usually refers to the node's object: a cycle through C++. It can go once nobody
// but that object holds the node.
int traverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  const Node* n = node_of(self);
  if (!n || n->refs != 1) return 0;
  if (Extra* e = find_extra(n)) {
    Py_VISIT(e->backward.get());
    Py_VISIT(e->attributes.get());
  }
  return 0;
}
int clear(PyObject* self) {
  Node* n = node_of(self);
  if (n && n->refs == 1)
    if (Extra* e = find_extra(n)) {
      n->set(value::kOwnBackward, false);
      Object backward = std::move(e->backward), attributes = std::move(e->attributes);
    }
  return 0;
}

// ---- operators

std::string place(const Node* n) { return n->device < 0 ? "cpu" : "gpu:" + std::to_string(n->device); }

[[noreturn]] void fail_devices(const char* op, const Node* a, const Node* b) {
  fail<ValueError>(op, "operands on different devices, " + place(a) + " and " + place(b), "move one with .to()");
}

PyObject* of_values(Op op, const char* name, Node* a, Node* b) {
  if (a->device != b->device) fail_devices(name, a, b);
  return wrap(value::binary(op, a, b));
}

// An array beside a Value: an array of Values, as NumPy makes it with objects it does not know.
PyObject* with_array(const char* ufunc, PyObject* a, PyObject* b) {
  Object module(check(PyImport_ImportModule("numpy")));
  PyObject* array = is_value(a) ? b : a;
  Object objects(check(PyObject_CallMethod(array, "astype", "O", &PyBaseObject_Type)));
  Object value(check(PyObject_CallFunctionObjArgs(numpy().empty, Object(check(PyTuple_New(0))).get(),
                                                  reinterpret_cast<PyObject*>(&PyBaseObject_Type), nullptr)));
  check(PyObject_SetItem(value.get(), Object(check(PyTuple_New(0))).get(), is_value(a) ? a : b));
  PyObject* x = is_value(a) ? value.get() : objects.get();
  PyObject* y = is_value(a) ? objects.get() : value.get();
  return check(PyObject_CallMethod(module.get(), ufunc, "OO", x, y));
}

struct Number {
  double value;
  bool is_int;
};

// a OP b for add and mul: the same node whichever side the number is on, as in micrograd.
template <Op op>
PyObject* symmetric(PyObject* a, PyObject* b) {
  constexpr const char* name = op == Op::add ? "add" : "mul";
  return guarded([&]() -> PyObject* {
    const bool a_is = is_value(a);
    if (a_is && is_value(b)) return of_values(op, name, node_of(a), node_of(b));
    Number k;
    PyObject* other = a_is ? b : a;
    if (!scalar(other, k.value, k.is_int)) {
      if (PyObject_TypeCheck(other, reinterpret_cast<PyTypeObject*>(numpy().ndarray)))
        return with_array(op == Op::add ? "add" : "multiply", a, b);
      Py_RETURN_NOTIMPLEMENTED;
    }
    return wrap(value::with_number(op, node_of(a_is ? a : b), k.value, k.is_int));
  });
}

struct Held {  // a node in between
  Node* node;
  ~Held() { value::release(node); }
};

// a - b is a + b * -1; with numbers a + (-b) and b * -1 + a.
PyObject* subtract(PyObject* a, PyObject* b) {
  return guarded([&]() -> PyObject* {
    Number k;
    if (is_value(b)) {
      if (!is_value(a) && !scalar(a, k.value, k.is_int)) {
        if (PyObject_TypeCheck(a, reinterpret_cast<PyTypeObject*>(numpy().ndarray)))
          return with_array("subtract", a, b);
        Py_RETURN_NOTIMPLEMENTED;
      }
      if (is_value(a) && node_of(a)->device != node_of(b)->device) fail_devices("sub", node_of(a), node_of(b));
      Held negative{value::with_number(Op::mul, node_of(b), -1, true)};
      return wrap(is_value(a) ? value::binary(Op::add, node_of(a), negative.node)
                              : value::with_number(Op::add, negative.node, k.value, k.is_int));
    }
    if (!scalar(b, k.value, k.is_int)) {
      if (PyObject_TypeCheck(b, reinterpret_cast<PyTypeObject*>(numpy().ndarray))) return with_array("subtract", a, b);
      Py_RETURN_NOTIMPLEMENTED;
    }
    return wrap(value::with_number(Op::add, node_of(a), k.is_int && k.value == 0 ? 0.0 : -k.value, k.is_int));
  });
}

// a / b is a * b ** -1; with numbers a * (b ** -1) and b ** -1 * a.
PyObject* divide(PyObject* a, PyObject* b) {
  return guarded([&]() -> PyObject* {
    Number k;
    if (is_value(b)) {
      if (!is_value(a) && !scalar(a, k.value, k.is_int)) {
        if (PyObject_TypeCheck(a, reinterpret_cast<PyTypeObject*>(numpy().ndarray))) return with_array("divide", a, b);
        Py_RETURN_NOTIMPLEMENTED;
      }
      if (is_value(a) && node_of(a)->device != node_of(b)->device) fail_devices("div", node_of(a), node_of(b));
      Held inverse{value::with_number(Op::power, node_of(b), -1, true)};
      return wrap(is_value(a) ? value::binary(Op::mul, node_of(a), inverse.node)
                              : value::with_number(Op::mul, inverse.node, k.value, k.is_int));
    }
    if (!scalar(b, k.value, k.is_int)) {
      if (PyObject_TypeCheck(b, reinterpret_cast<PyTypeObject*>(numpy().ndarray))) return with_array("divide", a, b);
      Py_RETURN_NOTIMPLEMENTED;
    }
    return wrap(value::with_number(Op::mul, node_of(a), value::power(k.value, -1, k.is_int, true), false));
  });
}

PyObject* power(PyObject* a, PyObject* b, PyObject* modulus) {
  return guarded([&]() -> PyObject* {
    if (modulus != Py_None) Py_RETURN_NOTIMPLEMENTED;
    Number k;
    if (is_value(a)) {
      if (is_value(b)) return of_values(Op::pow, "pow", node_of(a), node_of(b));
      if (!scalar(b, k.value, k.is_int)) Py_RETURN_NOTIMPLEMENTED;
      return wrap(value::with_number(Op::power, node_of(a), k.value, k.is_int));
    }
    if (!scalar(a, k.value, k.is_int)) Py_RETURN_NOTIMPLEMENTED;
    Held base{value::leaf(k.value, k.is_int, node_of(b)->device)};
    return wrap(value::binary(Op::pow, base.node, node_of(b)));
  });
}

PyObject* negate(PyObject* a) {
  return guarded([&] { return wrap(value::with_number(Op::mul, node_of(a), -1, true)); });
}
PyObject* absolute(PyObject* a) {
  return guarded([&] { return wrap(value::unary(Op::abs, node_of(a))); });
}
PyObject* positive(PyObject* a) { return Py_NewRef(a); }
PyObject* as_float(PyObject* a) {
  return guarded([&] { return check(PyFloat_FromDouble(value::data_of(node_of(a)))); });
}

// Where C's pow and Python's differ, Python computes and raises its own errors.
double python_power(double a, double k, bool is_int, bool k_is_int) {
  auto object = [](double x, bool integer) {
    return Object(check(integer ? PyLong_FromDouble(x) : PyFloat_FromDouble(x)));
  };
  Object base = object(a, is_int), exponent = object(k, k_is_int);
  Object result(check(PyNumber_Power(base.get(), exponent.get(), Py_None)));
  if (PyComplex_Check(result.get())) {
    auto text = [](const Object& o) {
      Object r(check(PyObject_Repr(o.get())));
      return std::string(PyUnicode_AsUTF8(r.get()));
    };
    fail<ValueError>("pow", text(base) + " ** " + text(exponent) + " is a complex number",
                     "use a base above 0 or a whole exponent");
  }
  return to_real("pow", result.get());
}

// ---- making one by hand

struct ValueArguments {
  PyObject *data = nullptr, *children = nullptr, *op = nullptr, *label = nullptr, *device = nullptr;
};

bool text_is_empty(PyObject* o) { return !o || (PyUnicode_Check(o) && PyUnicode_GET_LENGTH(o) == 0); }

Node* make(const ValueArguments& given, Object& children) {
  double data;
  bool is_int;
  if (!given.data) fail<TypeError>("Value", "data is missing", "give a number");
  if (!scalar(given.data, data, is_int)) {
    Object number(PyNumber_Check(given.data) && !is_value(given.data) ? PyNumber_Float(given.data) : nullptr);
    if (!number) {
      PyErr_Clear();
      fail<TypeError>("Value", "data is a number, got " + type_name(given.data), "");
    }
    data = PyFloat_AS_DOUBLE(number.get());
    is_int = false;
  }
  DeviceId id = device_or_default(given.device);
  int device = id.kind == DeviceId::Kind::gpu ? id.index : -1;
  if (given.children && given.children != Py_None)
    children = Object(check(PySequence_Fast(given.children, "children")));
  const Py_ssize_t count = children ? PySequence_Fast_GET_SIZE(children.get()) : 0;
  if (!count) return value::leaf(data, is_int, device);
  for (Py_ssize_t i = 0; i < count; ++i) {
    PyObject* child = PySequence_Fast_GET_ITEM(children.get(), i);
    if (!is_value(child)) fail<TypeError>("Value", "a child is a Value, got " + type_name(child), "");
  }
  value::List* list = value::List::make(static_cast<size_t>(count));
  for (Py_ssize_t i = 0; i < count; ++i)
    list->items[i] = {value::retain(node_of(PySequence_Fast_GET_ITEM(children.get(), i))), 0, false};
  return value::custom(data, is_int, list, device);
}

void describe(PyObject* self, const ValueArguments& given) {
  if (text_is_empty(given.op) && text_is_empty(given.label)) return;
  Extra& extra = extra_of(self);
  if (!text_is_empty(given.op)) extra.op = Object(Py_NewRef(given.op));
  if (!text_is_empty(given.label)) extra.label = Object(Py_NewRef(given.label));
}

ValueArguments parse(PyObject* args, PyObject* keywords) {
  static const char* names[] = {"data", "_children", "_op", "label", "device", nullptr};
  ValueArguments given;
  if (!PyArg_ParseTupleAndKeywords(args, keywords, "O|OOOO:Value", const_cast<char**>(names), &given.data,
                                   &given.children, &given.op, &given.label, &given.device))
    throw PythonError();
  return given;
}

PyObject* attach(PyValue* v, Node* n) {
  v->node = n;
  n->owner = v;
  return reinterpret_cast<PyObject*>(v);
}

PyObject* construct(PyTypeObject* type, PyObject*, PyObject*) {
  return guarded([&] { return attach(new_object(type), value::leaf(0, true)); });
}
int initialize(PyObject* self, PyObject* args, PyObject* keywords) {
  return guarded([&]() -> int {
    const ValueArguments given = parse(args, keywords);
    Object children;
    Node* n = make(given, children);
    Node* before = node_of(self);
    before->owner = nullptr;
    value::release(before);
    attach(reinterpret_cast<PyValue*>(self), n);
    describe(self, given);
    return 0;
  });
}

// Value(number), the usual way, without tuples.
PyObject* call_type(PyObject* type, PyObject* const* args, size_t flags, PyObject* names) {
  return guarded([&]() -> PyObject* {
    const Py_ssize_t count = PyVectorcall_NARGS(flags);
    ValueArguments given;
    PyObject** fields[] = {&given.data, &given.children, &given.op, &given.label, &given.device};
    static const char* const field_names[] = {"data", "_children", "_op", "label", "device"};
    if (count > 5) fail<TypeError>("Value", "takes at most 5 arguments, got " + std::to_string(count), "");
    for (Py_ssize_t i = 0; i < count; ++i) *fields[i] = args[i];
    for (Py_ssize_t i = 0; names && i < PyTuple_GET_SIZE(names); ++i) {
      const char* name = PyUnicode_AsUTF8(PyTuple_GET_ITEM(names, i));
      int k = 0;
      while (k < 5 && std::strcmp(field_names[k], name) != 0) ++k;
      if (k == 5 || *fields[k])
        fail<TypeError>("Value", std::string(k == 5 ? "no" : "two values for") + " argument '" + name + "'",
                        "Value(data, _children=(), _op='', label='', device=None)");
      *fields[k] = args[count + i];
    }
    Object children;
    Node* n = make(given, children);
    PyObject* self = attach(new_object(reinterpret_cast<PyTypeObject*>(type)), n);
    describe(self, given);
    return self;
  });
}

// ---- attributes set by users stay with the node

PyObject* get_attribute(PyObject* self, PyObject* name) {
  PyObject* found = PyObject_GenericGetAttr(self, name);
  if (found || !node_of(self)->has(value::kExtra) || !PyErr_ExceptionMatches(PyExc_AttributeError)) return found;
  Extra* extra = find_extra(node_of(self));
  PyObject* attribute = extra && extra->attributes ? PyDict_GetItem(extra->attributes.get(), name) : nullptr;
  if (!attribute) return nullptr;
  PyErr_Clear();
  return Py_NewRef(attribute);
}

int set_attribute(PyObject* self, PyObject* name, PyObject* value) {
  if (PyObject_GenericSetAttr(self, name, value) == 0) return 0;
  if (!PyErr_ExceptionMatches(PyExc_AttributeError) || _PyType_Lookup(Py_TYPE(self), name)) return -1;
  PyErr_Clear();
  return guarded([&]() -> int {
    Extra& extra = extra_of(self);
    if (!extra.attributes) extra.attributes = Object(check(PyDict_New()));
    return value ? PyDict_SetItem(extra.attributes.get(), name, value) : PyDict_DelItem(extra.attributes.get(), name);
  });
}

PyMemberDef members[] = {{"__weaklistoffset__", T_PYSSIZET, offsetof(PyValue, weak_references), READONLY, nullptr}, {}};

PyObject* repr(PyObject* self) {
  return guarded([&] {
    Object data(check(PyObject_GetAttrString(self, "data"))), grad(check(PyObject_GetAttrString(self, "grad")));
    const Node* n = node_of(self);
    if (n->device < 0) return check(PyUnicode_FromFormat("Value(data=%R, grad=%R)", data.get(), grad.get()));
    return check(
        PyUnicode_FromFormat("Value(data=%R, grad=%R, device='%s')", data.get(), grad.get(), place(n).c_str()));
  });
}

// Sets of values, such as `_prev`, have the same order in every run, and so has what is drawn of them.
Py_hash_t hash(PyObject* self) {
  const int64_t place = value::place_of(node_of(self));
  return place == -1 ? -2 : place;
}

// By the numbers. Equal are only those that are the same node: values are kept in sets.
PyObject* compare(PyObject* a, PyObject* b, int op) {
  return guarded([&]() -> PyObject* {
    Number k;
    if (op == Py_EQ || op == Py_NE || (!is_value(b) && !scalar(b, k.value, k.is_int))) Py_RETURN_NOTIMPLEMENTED;
    const Object x(as_float(a)), y(is_value(b) ? as_float(b) : Py_NewRef(b));
    return check(PyObject_RichCompare(check(x.get()), check(y.get()), op));
  });
}

template <class F>
PyType_Slot slot(int id, F* f) {
  return {id, reinterpret_cast<void*>(f)};
}

}  // namespace

PyObject* wrap(Node* node) {
  if (node->owner) {
    value::release(node);
    return Py_NewRef(static_cast<PyObject*>(node->owner));
  }
  return attach(new_object(value_type), node);
}

bool scalar(PyObject* o, double& out, bool& is_int) {
  if (PyFloat_Check(o)) {
    out = PyFloat_AS_DOUBLE(o);
    is_int = false;
    return true;
  }
  if (PyLong_Check(o)) {
    out = PyLong_AsDouble(o);
    if (out == -1 && PyErr_Occurred()) throw PythonError();
    is_int = true;
    return true;
  }
  if (!PyObject_TypeCheck(o, reinterpret_cast<PyTypeObject*>(numpy().generic))) return false;
  auto is = [o](PyObject* type) { return PyObject_TypeCheck(o, reinterpret_cast<PyTypeObject*>(type)); };
  is_int = is(numpy().integer) || is(numpy().bool_);
  if (!is_int && !is(numpy().floating)) return false;
  Object number(check(PyNumber_Float(o)));
  out = PyFloat_AS_DOUBLE(number.get());
  return true;
}

Extra* find_extra(const Node* node) {
  if (!node->has(value::kExtra)) return nullptr;
  auto it = extras.find(node);
  return it == extras.end() ? nullptr : &it->second;
}

Extra& extra_of(PyObject* self) {
  Node* n = node_of(self);
  n->set(value::kExtra, true);
  if (!PyObject_GC_IsTracked(self)) PyObject_GC_Track(self);
  return extras[n];
}

void add_value_type(PyObject* module) {
  PyType_Slot slots[] = {slot(Py_nb_add, symmetric<Op::add>),
                         slot(Py_nb_multiply, symmetric<Op::mul>),
                         slot(Py_nb_subtract, subtract),
                         slot(Py_nb_true_divide, divide),
                         slot(Py_nb_power, power),
                         slot(Py_nb_negative, negate),
                         slot(Py_nb_positive, positive),
                         slot(Py_nb_absolute, absolute),
                         slot(Py_nb_float, as_float),
                         slot(Py_tp_repr, repr),
                         slot(Py_tp_richcompare, compare),
                         slot(Py_tp_hash, hash),
                         slot(Py_tp_getattro, get_attribute),
                         slot(Py_tp_setattro, set_attribute),
                         slot(Py_tp_dealloc, release),
                         slot(Py_tp_traverse, traverse),
                         slot(Py_tp_clear, clear),
                         slot(Py_tp_new, construct),
                         slot(Py_tp_init, initialize),
                         {Py_tp_getset, value_attributes},
                         {Py_tp_methods, value_methods},
                         {Py_tp_members, members},
                         {Py_tp_doc, const_cast<char*>(signed_doc("Value"))},
                         {0, nullptr}};
  PyType_Spec spec{"spirograd.Value", sizeof(PyValue), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC,
                   slots};
  value_type = reinterpret_cast<PyTypeObject*>(check(PyType_FromSpec(&spec)));
  value_type->tp_vectorcall = call_type;
  // NumPy's numbers leave mixed expressions to us.
  check(PyObject_SetAttrString(reinterpret_cast<PyObject*>(value_type), "__array_priority__",
                               Object(check(PyFloat_FromDouble(1000))).get()));
  check(PyModule_AddObjectRef(module, "Value", reinterpret_cast<PyObject*>(value_type)));
  value::language = {forget, own_backward, python_power, fetch_grad};
}

}  // namespace sg::bind
