// The type object of Tensor and its operators. Methods are callables (methods.hpp).
#include "bind/tensor.hpp"

#include <new>
#include <string_view>

#include "bind/arguments.hpp"
#include "bind/bound.hpp"
#include "bind/cycles.hpp"
#include "bind/device.hpp"
#include "bind/dispatch.hpp"
#include "bind/methods.hpp"
#include "bind/numpy.hpp"
#include "ops/list.hpp"

namespace sg::bind {

PyTypeObject* tensor_type = nullptr;

namespace {

using Binary = Tensor (*)(const Tensor&, const Tensor&);

DeviceId device_of_either(PyObject* a, PyObject* b) { return is_tensor(a) ? unwrap(a).device() : unwrap(b).device(); }

// A list is no tensor, and repeats itself as often as an integer says.
void refuse_list(const std::string_view op, PyObject* other, const Tensor& x) {
  if (op == "eq" || op == "ne" || !(PyList_Check(other) || PyTuple_Check(other))) return;
  if (op == "mul" && !is_float(x.dtype()) && x.numel() == 1) return;
  fail<TypeError>(std::string(op), "one operand is a tensor, the other a " + type_name(other),
                  "make a tensor of it with sg.tensor()");
}

// `name`: of the function that takes complex numbers, too.
template <Binary op, Name name = "">
PyObject* binary(const Call& call) {
  PyObject *const a = call.self, *const b = call.values[0];
  if constexpr (name.text[0] != 0)
    if (is_complex(a) || is_complex(b)) return of_complex(name.text, a, b);
  Tensor room_a, room_b;
  const DeviceId device = device_of_either(a, b);
  const Tensor *x = operand(a, room_a, device), *y = operand(b, room_b, device);
  if (x && y) return wrap(op(*x, *y));
  if constexpr (name.text[0] != 0) refuse_list(name.text, x ? b : a, x ? *x : *y);
  Py_RETURN_NOTIMPLEMENTED;
}

template <Binary op>
PyObject* in_place(const Call& call) {
  Tensor room;
  const Tensor& x = unwrap(call.self);
  PyObject* const b = call.values[0];
  const Tensor* y = operand(b, room, x.device());
  if (PyComplex_Check(b))
    fail<TypeError>("in-place operator",
                    std::string("a complex number does not fit into a tensor of ") + name_of(x.dtype()),
                    "write x = x * z");
  if (!y) Py_RETURN_NOTIMPLEMENTED;
  rewrite_(x, [&](const Tensor& before) { return fitting("in-place operator", x, op(before, *y)); });
  run_small(x);
  return Py_NewRef(call.self);
}

template <Tensor (*op)(const Tensor&)>
PyObject* unary(const Call& call) {
  return wrap(op(unwrap(call.self)));
}

template <Name name, Binary op, Name function = "", Autocast autocast = Autocast::none>
using Operator = Slot<name, binary<op, function>, autocast>;
template <Name name, Binary op>
using InPlace = Slot<name, in_place<op>>;
template <Name name, Tensor (*op)(const Tensor&)>
using Unary = Slot<name, unary<op>>;

using FloorDivide = Operator<"__floordiv__", sg::floor_divide>;
using Remainder = Operator<"__mod__", sg::remainder>;
using GetItem = Slot<"__getitem__", get_item>;
using SetItem = Slot<"__setitem__", set_item>;

PyObject* divided(PyObject* a, PyObject* b) {
  Object quotient(FloorDivide::two(a, b));
  if (!quotient || quotient.get() == Py_NotImplemented) return quotient.release();
  Object rest(Remainder::two(a, b));
  return rest ? PyTuple_Pack(2, quotient.get(), rest.get()) : nullptr;
}

PyObject* same(const Call& call) { return Py_NewRef(call.self); }
PyObject* positive(PyObject* a) { return is_asked_about(a) ? Slot<"__pos__", same>::one(a) : Py_NewRef(a); }

PyObject* compare(PyObject* a, PyObject* b, int op) {
  switch (op) {
    case Py_LT:
      return Operator<"__lt__", (sg::operator<)>::two(a, b);
    case Py_LE:
      return Operator<"__le__", (sg::operator<=)>::two(a, b);
    case Py_GT:
      return Operator<"__gt__", (sg::operator>)>::two(a, b);
    case Py_GE:
      return Operator<"__ge__", (sg::operator>=)>::two(a, b);
    case Py_EQ:
      return Operator<"__eq__", static_cast<Binary>(sg::operator==), "eq">::two(a, b);
    default:
      return Operator<"__ne__", static_cast<Binary>(sg::operator!=), "ne">::two(a, b);
  }
}

PyObject* as_bool(PyObject* self) {
  return guarded([&] {
    const Tensor& x = unwrap(self);
    if (x.numel() != 1)
      fail<ValueError>("bool", "the truth of " + std::to_string(x.numel()) + " elements is ambiguous",
                       "reduce to one element, or compare in NumPy");
    return PyBool_FromLong(PyObject_IsTrue(Object(to_number("bool", x)).get()));
  });
}
PyObject* as_float(PyObject* self) {
  return guarded([&] { return check(PyNumber_Float(Object(to_number("float", unwrap(self))).get())); });
}
PyObject* as_int(PyObject* self) {
  return guarded([&] { return check(PyNumber_Long(Object(to_number("int", unwrap(self))).get())); });
}
PyObject* as_index(PyObject* self) {
  return guarded([&] {
    if (is_float(unwrap(self).dtype()))
      fail<TypeError>("index", std::string("a tensor of ") + name_of(unwrap(self).dtype()) + " is no index",
                      "convert it with .long()");
    return check(PyNumber_Long(Object(to_number("index", unwrap(self))).get()));
  });
}
PyObject* as_size(PyObject* self) {
  const Py_ssize_t n = length(self);
  return n < 0 ? nullptr : PyLong_FromSsize_t(n);
}

// What Python makes of a tensor: nothing is recorded, as with attributes.
template <Name name, PyObject* (*make)(PyObject*)>
struct Made {
  static PyObject* body(const Call& call) { return make(call.self); }
  static PyObject* one(PyObject* self) { return is_asked_about(self) ? Slot<name, body>::one(self) : make(self); }
};

int truth(PyObject* self) {
  const Object v(Made<"__bool__", as_bool>::one(self));
  return v ? PyObject_IsTrue(v.get()) : -1;
}
Py_ssize_t size(PyObject* self) {
  if (!is_asked_about(self)) return length(self);
  const Object n(Made<"__len__", as_size>::one(self));
  return n ? PyLong_AsSsize_t(n.get()) : -1;
}

int show(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  Py_VISIT(reinterpret_cast<PyTensor*>(self)->attributes);
  return show_given(unwrap(self).ref(), {}, visit, arg);
}
int clear(PyObject* self) {
  Py_CLEAR(reinterpret_cast<PyTensor*>(self)->attributes);
  take_given(unwrap(self).ref(), {});
  return 0;
}

// The last reference may free a graph of any depth; that takes no recursion, and runs no Python before the object is
// untracked.
void release(PyObject* self) {
  PyObject_GC_UnTrack(self);
  PyTypeObject* type = Py_TYPE(self);
  auto* t = reinterpret_cast<PyTensor*>(self);
  if (t->value->shown == self) t->value->shown = nullptr;  // before callbacks of weak references could ask for it
  if (t->weak_references) PyObject_ClearWeakRefs(self);
  Py_CLEAR(t->attributes);
  t->value.~Tensor();
  type->tp_free(self);
  Py_DECREF(type);
}

PyObject* constructor = nullptr;  // what makes tensors of the arguments that Tensor() takes in programs for PyTorch
void set_constructor(PyObject* function) { constructor = Py_NewRef(function); }

// Another tensor with the same memory and place in the gradient graph.
Object alias(const Tensor& x, PyObject* type) {
  return Object(wrap(reshape(x, x.shape()), reinterpret_cast<PyTypeObject*>(type)));
}

// Also what subclasses call, such as Parameter: the object has their type. Those of the package say requires_grad.
PyObject* made_from(PyTypeObject* type, PyObject* args, PyObject* keywords) {
  return guarded([&]() -> PyObject* {
    if (constructor && !(keywords && PyDict_GetItemString(keywords, "requires_grad"))) {
      const Object made(check(PyObject_Call(constructor, args, keywords)));
      return type == tensor_type ? Py_NewRef(made.get())
                                 : alias(unwrap(made.get()), reinterpret_cast<PyObject*>(type)).release();
    }
    static const char* names[] = {"data", "dtype", "device", "requires_grad", nullptr};
    PyObject *data = nullptr, *dtype = nullptr, *device = nullptr;
    int wants = 0;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "O|OOp:Tensor", const_cast<char**>(names), &data, &dtype, &device,
                                     &wants))
      throw PythonError();
    if (is_tensor(data) && !given(dtype) && !given(device)) {
      Tensor t = unwrap(data).detach();
      return wrap(t.requires_grad_(wants), type);
    }
    std::optional<DType> to;
    if (given(dtype)) to = to_dtype("Tensor", dtype);
    if (is_tensor(data)) {
      Tensor t = moved(unwrap(data).detach(), to, given(device) ? to_device_id(device) : unwrap(data).device());
      return wrap(t.requires_grad_(wants), type);
    }
    Tensor t = from_python("Tensor", data, to, device_or_default(device));
    return wrap(t.requires_grad_(wants), type);
  });
}
PyObject* construct(PyTypeObject* type, PyObject* args, PyObject* keywords) {
  return public_call([&] { return made_from(type, args, keywords); });
}

// Printing is done in Python: it is long code that need not be fast.
PyObject* repr(PyObject* self) {
  Object module(PyImport_ImportModule("spirograd._print"));
  return module ? PyObject_CallMethod(module.get(), "tensor_text", "O", self) : nullptr;
}

// value in x: whether an element equals it.
PyObject* has(const Call& call) {
  Tensor room;
  const Tensor& x = unwrap(call.self);
  const Tensor* v = operand(call.values[0], room, x.device());
  if (!v) Py_RETURN_FALSE;
  const Tensor equal = x == *v;
  return equal.numel() ? to_number("in", sg::amax(equal)) : Py_NewRef(Py_False);
}
int contains(PyObject* self, PyObject* value) {
  const Object found(Slot<"__contains__", has>::two(self, value));
  return found ? PyObject_IsTrue(found.get()) : -1;
}

PyObject* iterate(PyObject* self) {
  return guarded([&] {
    if (unwrap(self).rank() == 0) fail<TypeError>("iter", "a 0-d tensor cannot be iterated over", "use item()");
    return check(PySeqIter_New(self));
  });
}

int assign(PyObject* self, PyObject* key, PyObject* value) {
  return guarded([&] {
    if (!value) fail<TypeError>("delitem", "elements of a tensor cannot be deleted", "slice what you want to keep");
    PyObject* const values[] = {key, value};
    const Object done(dispatch_slot({self, values, 2, nullptr, &SetItem::callable}));
    return done ? 0 : -1;
  });
}

PyObject* row(PyObject* self, Py_ssize_t i) {
  const Object key(PyLong_FromSsize_t(i));
  return key ? GetItem::two(self, key.get()) : nullptr;
}

constexpr Callable tensor_functions[] = {
    {"_alias", bound<alias>},
    {"_set_constructor", bound<set_constructor>},
};

PyMemberDef members[] = {{"__weaklistoffset__", T_PYSSIZET, offsetof(PyTensor, weak_references), READONLY, nullptr},
                         {"__dictoffset__", T_PYSSIZET, offsetof(PyTensor, attributes), READONLY, nullptr},
                         {}};

template <class F>
PyType_Slot slot(int id, F* f) {
  return {id, reinterpret_cast<void*>(f)};
}

}  // namespace

const Tensor& tensor_of(const char* op, PyObject* o) {
  if (!o || !is_tensor(o))
    fail<TypeError>(op, "a tensor is needed, got " + (o ? type_name(o) : std::string("nothing")),
                    "make one with tensor()");
  return unwrap(o);
}

PyObject* wrap(Tensor t, PyTypeObject* type) {
  if (auto* known = static_cast<PyObject*>(t->shown); known && (type == tensor_type || Py_IS_TYPE(known, type)))
    return Py_NewRef(known);
  PyObject* self = check(type->tp_alloc(type, 0));
  auto* p = reinterpret_cast<PyTensor*>(self);
  if (!t->shown) t->shown = self;
  new (&p->value) Tensor(std::move(t));
  return self;
}

bool number(PyObject* o, Tensor& out) {
  auto make = [&out](DType dtype, Number n) {
    Ref<TensorImpl> impl(new TensorImpl);
    impl->dtype = dtype;
    impl->number = n;
    out = Tensor(std::move(impl));
    return true;
  };
  if (PyFloat_Check(o)) return make(DType::float64, Number{.f = PyFloat_AS_DOUBLE(o)});
  if (PyBool_Check(o)) return make(DType::boolean, Number{.i = o == Py_True});
  if (PyLong_Check(o)) {
    int overflow = 0;
    const long long v = PyLong_AsLongLongAndOverflow(o, &overflow);
    if (overflow) raise(PyExc_OverflowError, "tensor: an integer does not fit into int64; use a float");
    return make(DType::int64, Number{.i = v});
  }
  if (!PyObject_TypeCheck(o, reinterpret_cast<PyTypeObject*>(numpy().generic))) return false;
  auto is = [o](PyObject* type) { return PyObject_TypeCheck(o, reinterpret_cast<PyTypeObject*>(type)); };
  if (is(numpy().bool_)) return make(DType::boolean, Number{.i = to_bool(o)});
  if (is(numpy().integer)) return make(DType::int64, Number{.i = to_int("tensor", o)});
  if (is(numpy().floating)) return make(DType::float64, Number{.f = to_real("tensor", o)});
  return false;
}

const Tensor* operand(PyObject* o, Tensor& room, DeviceId device) {
  if (is_tensor(o)) return &unwrap(o);
  if (number(o, room)) return &room;
  if (!PyObject_TypeCheck(o, reinterpret_cast<PyTypeObject*>(numpy().ndarray))) return nullptr;
  room = from_python("tensor", o, {}, device);
  return &room;
}

const Tensor& operand_of(const char* op, PyObject* o, Tensor& room, DeviceId device) {
  const Tensor* t = operand(o, room, device);
  if (!t) fail<TypeError>(op, "a tensor or a number is needed, got " + type_name(o), "make a tensor with tensor()");
  return *t;
}

void add_tensor_type(PyObject* module) {
  PyType_Slot slots[] = {
      slot(Py_nb_add, Operator<"__add__", sg::add, "add">::two),
      slot(Py_nb_subtract, Operator<"__sub__", sg::sub, "sub">::two),
      slot(Py_nb_multiply, Operator<"__mul__", sg::mul, "mul">::two),
      slot(Py_nb_true_divide, Operator<"__truediv__", sg::div, "div">::two),
      slot(Py_nb_power, Operator<"__pow__", sg::pow, "pow", Autocast::wide>::power),
      slot(Py_nb_matrix_multiply, Operator<"__matmul__", sg::matmul, "matmul", Autocast::narrow>::two),
      slot(Py_nb_negative, Unary<"__neg__", sg::neg>::one),
      slot(Py_nb_positive, positive),

      slot(Py_nb_absolute, Unary<"__abs__", sg::abs>::one),
      slot(Py_nb_inplace_add, InPlace<"__iadd__", sg::add>::two),
      slot(Py_nb_inplace_subtract, InPlace<"__isub__", sg::sub>::two),
      slot(Py_nb_inplace_multiply, InPlace<"__imul__", sg::mul>::two),
      slot(Py_nb_inplace_true_divide, InPlace<"__itruediv__", sg::div>::two),
      slot(Py_nb_inplace_power, InPlace<"__ipow__", sg::pow>::power),
      slot(Py_nb_floor_divide, FloorDivide::two),
      slot(Py_nb_remainder, Remainder::two),
      slot(Py_nb_divmod, divided),

      slot(Py_nb_and, Operator<"__and__", sg::bitwise_and>::two),
      slot(Py_nb_or, Operator<"__or__", sg::bitwise_or>::two),
      slot(Py_nb_xor, Operator<"__xor__", sg::bitwise_xor>::two),
      slot(Py_nb_lshift, Operator<"__lshift__", sg::bitwise_left_shift>::two),
      slot(Py_nb_rshift, Operator<"__rshift__", sg::bitwise_right_shift>::two),
      slot(Py_nb_invert, Unary<"__invert__", sg::bitwise_not>::one),
      slot(Py_nb_inplace_floor_divide, InPlace<"__ifloordiv__", sg::floor_divide>::two),
      slot(Py_nb_inplace_remainder, InPlace<"__imod__", sg::remainder>::two),
      slot(Py_nb_inplace_and, InPlace<"__iand__", sg::bitwise_and>::two),
      slot(Py_nb_inplace_or, InPlace<"__ior__", sg::bitwise_or>::two),
      slot(Py_nb_inplace_xor, InPlace<"__ixor__", sg::bitwise_xor>::two),
      slot(Py_nb_inplace_lshift, InPlace<"__ilshift__", sg::bitwise_left_shift>::two),
      slot(Py_nb_inplace_rshift, InPlace<"__irshift__", sg::bitwise_right_shift>::two),
      slot(Py_nb_bool, truth),

      slot(Py_nb_float, Made<"__float__", as_float>::one),

      slot(Py_nb_int, Made<"__int__", as_int>::one),

      slot(Py_nb_index, Made<"__index__", as_index>::one),

      slot(Py_tp_richcompare, compare),

      slot(Py_mp_subscript, GetItem::two),
      slot(Py_mp_ass_subscript, assign),

      slot(Py_mp_length, size),

      slot(Py_sq_length, size),

      slot(Py_sq_item, row),

      slot(Py_sq_contains, contains),

      slot(Py_tp_iter, iterate),

      slot(Py_tp_repr, Made<"__repr__", repr>::one),

      slot(Py_tp_hash, PyBaseObject_Type.tp_hash),

      slot(Py_tp_dealloc, release),

      slot(Py_tp_traverse, show),

      slot(Py_tp_clear, clear),

      slot(Py_tp_new, construct),

      {Py_tp_getset, tensor_attributes},
      {Py_tp_members, members},
      {Py_tp_doc, const_cast<char*>(signed_doc("Tensor"))},
      {0, nullptr}};
  PyType_Spec spec{"spirograd.Tensor", sizeof(PyTensor), 0,
                   Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC, slots};
  tensor_type = reinterpret_cast<PyTypeObject*>(check(PyType_FromSpec(&spec)));
  // NumPy leaves mixed expressions to us.
  check(PyObject_SetAttrString(reinterpret_cast<PyObject*>(tensor_type), "__array_ufunc__", Py_None));
  check(PyModule_AddObjectRef(module, "Tensor", reinterpret_cast<PyObject*>(tensor_type)));
  add_callables(module, tensor_functions);
}

}  // namespace sg::bind
