// The type object of Tensor and its operators. Methods are callables (methods.hpp).
#include "bind/tensor.hpp"

#include <new>
#include <string_view>

#include "bind/arguments.hpp"
#include "bind/autocast.hpp"
#include "bind/cycles.hpp"
#include "bind/device.hpp"
#include "bind/methods.hpp"
#include "bind/numpy.hpp"
#include "bind/observer.hpp"
#include "ops/list.hpp"

namespace sg::bind {

PyTypeObject* tensor_type = nullptr;

namespace {

using Binary = Tensor (*)(const Tensor&, const Tensor&);

DeviceId device_of_either(PyObject* a, PyObject* b) { return is_tensor(a) ? unwrap(a).device() : unwrap(b).device(); }

// Operators do not pass through the table of callables, so the few that autocast changes say so here.
template <Binary op, Autocast wanted>
Tensor cast_first(const Tensor& a, const Tensor& b) {
  return autocast_is_on() ? op(autocast(a, wanted), autocast(b, wanted)) : op(a, b);
}

// A list is no tensor, and repeats itself as often as an integer says.
void refuse_list(const std::string_view op, PyObject* other, const Tensor& x) {
  if (op == "eq" || op == "ne" || !(PyList_Check(other) || PyTuple_Check(other))) return;
  if (op == "mul" && !is_float(x.dtype()) && x.numel() == 1) return;
  fail<TypeError>(std::string(op), "one operand is a tensor, the other a " + type_name(other),
                  "make a tensor of it with sg.tensor()");
}

// `name`: of the function that takes complex numbers, too.
template <Binary op, OperatorName name = "">
PyObject* binary(PyObject* a, PyObject* b) {
  return guarded([&]() -> PyObject* {
    if constexpr (name.text[0] != 0)
      if (is_complex(a) || is_complex(b)) return of_complex(name.text, a, b);
    Tensor room_a, room_b;
    const DeviceId device = device_of_either(a, b);
    const Tensor *x = operand(a, room_a, device), *y = operand(b, room_b, device);
    if (x && y) return wrap(op(*x, *y));
    if constexpr (name.text[0] != 0) refuse_list(name.text, x ? b : a, x ? *x : *y);
    Py_RETURN_NOTIMPLEMENTED;
  });
}

PyObject* power(PyObject* a, PyObject* b, PyObject* modulus) {
  if (modulus != Py_None) Py_RETURN_NOTIMPLEMENTED;
  return binary<cast_first<sg::pow, Autocast::wide>, "pow">(a, b);
}

template <Binary op>
PyObject* in_place(PyObject* a, PyObject* b) {
  return guarded([&]() -> PyObject* {
    Tensor room;
    const Tensor& x = unwrap(a);
    const Tensor* y = operand(b, room, x.device());
    if (PyComplex_Check(b))
      fail<TypeError>("in-place operator",
                      std::string("a complex number does not fit into a tensor of ") + name_of(x.dtype()),
                      "write x = x * z");
    if (!y) Py_RETURN_NOTIMPLEMENTED;
    rewrite_(x, [&](const Tensor& before) { return fitting("in-place operator", x, op(before, *y)); });
    run_small(x);
    return Py_NewRef(a);
  });
}

PyObject* in_place_power(PyObject* a, PyObject* b, PyObject* modulus) {
  if (modulus != Py_None) Py_RETURN_NOTIMPLEMENTED;
  return in_place<sg::pow>(a, b);
}

template <Tensor (*op)(const Tensor&)>
PyObject* unary(PyObject* a) {
  return guarded([&] { return wrap(op(unwrap(a))); });
}

PyObject* divided(PyObject* a, PyObject* b) {
  return public_call([&]() -> PyObject* {
    Object quotient(binary<sg::floor_divide>(a, b));
    if (!quotient || quotient.get() == Py_NotImplemented) return quotient.release();
    Object rest(binary<sg::remainder>(a, b));
    return rest ? PyTuple_Pack(2, quotient.get(), rest.get()) : nullptr;
  });
}

PyObject* positive(PyObject* a) { return Py_NewRef(a); }

PyObject* compare(PyObject* a, PyObject* b, int op) {
  switch (op) {
    case Py_LT:
      return seen<"__lt__", binary<(sg::operator<)>>(a, b);
    case Py_LE:
      return seen<"__le__", binary<(sg::operator<=)>>(a, b);
    case Py_GT:
      return seen<"__gt__", binary<(sg::operator>)>>(a, b);
    case Py_GE:
      return seen<"__ge__", binary<(sg::operator>=)>>(a, b);
    case Py_EQ:
      return seen<"__eq__", binary<static_cast<Binary>(sg::operator==), "eq">>(a, b);
    default:
      return seen<"__ne__", binary<static_cast<Binary>(sg::operator!=), "ne">>(a, b);
  }
}

int truth(PyObject* self) {
  return guarded([&]() -> int {
    const Tensor& x = unwrap(self);
    if (x.numel() != 1)
      fail<ValueError>("bool", "the truth of " + std::to_string(x.numel()) + " elements is ambiguous",
                       "reduce to one element, or compare in NumPy");
    Object v(to_number("bool", x));
    return PyObject_IsTrue(v.get());
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

int show(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  return show_given(unwrap(self).ref(), {}, visit, arg);
}
int clear(PyObject* self) {
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
  t->value.~Tensor();
  type->tp_free(self);
  Py_DECREF(type);
}

// Also what subclasses call, such as Parameter: the object has their type.
PyObject* made_from(PyTypeObject* type, PyObject* args, PyObject* keywords) {
  return guarded([&]() -> PyObject* {
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
int contains(PyObject* self, PyObject* value) {
  return guarded([&]() -> int {
    Tensor room;
    const Tensor& x = unwrap(self);
    const Tensor* v = operand(value, room, x.device());
    if (!v) return 0;
    const Tensor equal = x == *v;
    if (equal.numel() == 0) return 0;
    Object found(to_number("in", sg::amax(equal)));
    return PyObject_IsTrue(found.get());
  });
}

PyObject* iterate(PyObject* self) {
  return guarded([&] {
    if (unwrap(self).rank() == 0) fail<TypeError>("iter", "a 0-d tensor cannot be iterated over", "use item()");
    return check(PySeqIter_New(self));
  });
}

int seen_set_item(PyObject* self, PyObject* key, PyObject* value) {
  const int failed = public_call([&] { return set_item(self, key, value); });
  if (failed || !observer) return failed;
  Object told(observed("__setitem__", {self, key, value}, Py_NewRef(Py_None)));
  return told ? 0 : -1;
}

PyObject* seen_get_row(PyObject* self, Py_ssize_t row) {
  PyObject* result = public_call([&] { return get_row(self, row); });
  if (!result || !observer) return result;
  Object key(PyLong_FromSsize_t(row));
  return observed("__getitem__", {self, key.get()}, result);
}

PyMemberDef members[] = {{"__weaklistoffset__", T_PYSSIZET, offsetof(PyTensor, weak_references), READONLY, nullptr},
                         {}};

template <class F>
PyType_Slot slot(int id, F* f) {
  return {id, reinterpret_cast<void*>(f)};
}

constexpr const char* kDoc =
    "Tensor(data, dtype=None, device=None, requires_grad=False)\n--\n\n"
    "A multi-dimensional array on a device, and its place in the gradient graph.\n\n"
    "Operations are recorded and run when a value is looked at. Names and meanings are PyTorch's.\n";

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
      slot(Py_nb_add, seen<"__add__", binary<sg::add, "add">>),
      slot(Py_nb_subtract, seen<"__sub__", binary<sg::sub, "sub">>),
      slot(Py_nb_multiply, seen<"__mul__", binary<sg::mul, "mul">>),
      slot(Py_nb_true_divide, seen<"__truediv__", binary<sg::div, "div">>),
      slot(Py_nb_power, seen<"__pow__", power>),
      slot(Py_nb_matrix_multiply, seen<"__matmul__", binary<cast_first<sg::matmul, Autocast::narrow>, "matmul">>),
      slot(Py_nb_negative, seen<"__neg__", unary<sg::neg>>),
      slot(Py_nb_positive, positive),

      slot(Py_nb_absolute, seen<"__abs__", unary<sg::abs>>),
      slot(Py_nb_inplace_add, seen<"__iadd__", in_place<sg::add>>),
      slot(Py_nb_inplace_subtract, seen<"__isub__", in_place<sg::sub>>),
      slot(Py_nb_inplace_multiply, seen<"__imul__", in_place<sg::mul>>),
      slot(Py_nb_inplace_true_divide, seen<"__itruediv__", in_place<sg::div>>),
      slot(Py_nb_inplace_power, seen<"__ipow__", in_place_power>),
      slot(Py_nb_floor_divide, seen<"__floordiv__", binary<sg::floor_divide>>),
      slot(Py_nb_remainder, seen<"__mod__", binary<sg::remainder>>),
      slot(Py_nb_divmod, divided),

      slot(Py_nb_and, seen<"__and__", binary<sg::bitwise_and>>),
      slot(Py_nb_or, seen<"__or__", binary<sg::bitwise_or>>),
      slot(Py_nb_xor, seen<"__xor__", binary<sg::bitwise_xor>>),
      slot(Py_nb_lshift, seen<"__lshift__", binary<sg::bitwise_left_shift>>),
      slot(Py_nb_rshift, seen<"__rshift__", binary<sg::bitwise_right_shift>>),
      slot(Py_nb_invert, seen<"__invert__", unary<sg::bitwise_not>>),
      slot(Py_nb_inplace_floor_divide, seen<"__ifloordiv__", in_place<sg::floor_divide>>),
      slot(Py_nb_inplace_remainder, seen<"__imod__", in_place<sg::remainder>>),
      slot(Py_nb_inplace_and, seen<"__iand__", in_place<sg::bitwise_and>>),
      slot(Py_nb_inplace_or, seen<"__ior__", in_place<sg::bitwise_or>>),
      slot(Py_nb_inplace_xor, seen<"__ixor__", in_place<sg::bitwise_xor>>),
      slot(Py_nb_inplace_lshift, seen<"__ilshift__", in_place<sg::bitwise_left_shift>>),
      slot(Py_nb_inplace_rshift, seen<"__irshift__", in_place<sg::bitwise_right_shift>>),
      slot(Py_nb_bool, truth),

      slot(Py_nb_float, as_float),

      slot(Py_nb_int, as_int),

      slot(Py_nb_index, as_index),

      slot(Py_tp_richcompare, compare),

      slot(Py_mp_subscript, seen<"__getitem__", get_item>),
      slot(Py_mp_ass_subscript, seen_set_item),

      slot(Py_mp_length, length),

      slot(Py_sq_length, length),

      slot(Py_sq_item, seen_get_row),

      slot(Py_sq_contains, contains),

      slot(Py_tp_iter, iterate),

      slot(Py_tp_repr, repr),

      slot(Py_tp_hash, PyBaseObject_Type.tp_hash),

      slot(Py_tp_dealloc, release),

      slot(Py_tp_traverse, show),

      slot(Py_tp_clear, clear),

      slot(Py_tp_new, construct),

      {Py_tp_getset, tensor_attributes},
      {Py_tp_members, members},
      {Py_tp_doc, const_cast<char*>(kDoc)},
      {0, nullptr}};
  PyType_Spec spec{"spirograd.Tensor", sizeof(PyTensor), 0,
                   Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC, slots};
  tensor_type = reinterpret_cast<PyTypeObject*>(check(PyType_FromSpec(&spec)));
  // NumPy leaves mixed expressions to us.
  check(PyObject_SetAttrString(reinterpret_cast<PyObject*>(tensor_type), "__array_ufunc__", Py_None));
  check(PyModule_AddObjectRef(module, "Tensor", reinterpret_cast<PyObject*>(tensor_type)));
}

}  // namespace sg::bind
