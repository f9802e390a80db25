// The type objects sg.float32 ...: equal to each other by identity, to strings and NumPy's types by name. Knows no
// tensors but for the functions on types.
#include "bind/bound.hpp"
#include "bind/methods.hpp"
#include "bind/numpy.hpp"
#include "bind/tensor.hpp"
#include "graph/build.hpp"

namespace sg::bind {
namespace {

struct PyDType {
  PyObject_HEAD DType value;
};
PyTypeObject* type = nullptr;
PyObject* objects[kDTypeCount];

DType value_of(PyObject* o) { return reinterpret_cast<PyDType*>(o)->value; }

PyObject* repr(PyObject* self) { return PyUnicode_FromFormat("spirograd.%s", name_of(value_of(self))); }
PyObject* twin(PyObject* self) { return numpy().dtypes[static_cast<int>(value_of(self))]; }
// The hash of NumPy's type; bfloat16 may have none.
Py_hash_t hash(PyObject* self) {
  return value_of(self) != DType::bfloat16 ? PyObject_Hash(twin(self)) : static_cast<Py_hash_t>(DType::bfloat16);
}

PyObject* compare(PyObject* a, PyObject* b, int op) {
  if (op != Py_EQ && op != Py_NE) Py_RETURN_NOTIMPLEMENTED;
  if (is_dtype_object(b)) return PyBool_FromLong((a == b) == (op == Py_EQ));
  if (b == Py_None) return PyBool_FromLong(op == Py_NE);
  if (!twin(a)) {  // bfloat16, by its name
    Object name(PyUnicode_Check(b) ? Py_NewRef(b) : PyObject_GetAttrString(b, "name"));
    if (!name) PyErr_Clear();
    const bool same =
        name && PyUnicode_Check(name.get()) && !PyUnicode_CompareWithASCIIString(name.get(), name_of(value_of(a)));
    return PyBool_FromLong(same == (op == Py_EQ));
  }
  Object theirs(PyObject_CallOneArg(numpy().dtype, b));
  if (!theirs) {
    PyErr_Clear();
    Py_RETURN_NOTIMPLEMENTED;
  }
  return PyObject_RichCompare(twin(a), theirs.get(), op);
}

PyObject* get_name(PyObject* self, void*) { return PyUnicode_FromString(name_of(value_of(self))); }
PyObject* get_size(PyObject* self, void*) { return PyLong_FromSize_t(size_of(value_of(self))); }
PyObject* get_float(PyObject* self, void*) { return PyBool_FromLong(is_float(value_of(self))); }
PyObject* get_numpy(PyObject* self, void*) {
  return guarded([&] { return Py_NewRef(numpy_dtype("dtype", value_of(self))); });
}
PyObject* reduce(PyObject* self, PyObject*) { return PyUnicode_FromString(name_of(value_of(self))); }

PyGetSetDef attributes[] = {{"name", get_name, nullptr, doc("dtype.name"), nullptr},
                            {"itemsize", get_size, nullptr, doc("dtype.itemsize"), nullptr},
                            {"is_floating_point", get_float, nullptr, doc("dtype.is_floating_point"), nullptr},
                            {"dtype", get_numpy, nullptr, doc("dtype.dtype"), nullptr},
                            {}};
PyMethodDef methods[] = {{"__reduce__", reduce, METH_NOARGS, "Pickled and copied by name."}, {}};
PyType_Slot slots[] = {{Py_tp_repr, reinterpret_cast<void*>(repr)},
                       {Py_tp_hash, reinterpret_cast<void*>(hash)},
                       {Py_tp_richcompare, reinterpret_cast<void*>(compare)},
                       {Py_tp_getset, attributes},
                       {Py_tp_methods, methods},
                       {Py_tp_doc, const_cast<char*>(doc("dtype"))},
                       {0, nullptr}};
PyType_Spec spec{"spirograd.dtype", sizeof(PyDType), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots};

// ---- functions -------------------------------------------------------------------------------------------------------
DType result_type(const Tensor& x, const Tensor& y) { return sg::result_type({x, y}); }
bool can_cast(DType from, DType to) { return kind_of(from) <= kind_of(to); }
void set_default_dtype(DType t) {
  if (!is_float(t))
    fail<TypeError>("set_default_dtype", std::string(name_of(t)) + " holds no fractions", "use a floating type");
  set_default_float(t);
}

constexpr Callable callables[] = {
    {"promote_types", bound<promote>},
    {"result_type", bound<result_type>},
    {"can_cast", bound<can_cast>},
    {"is_tensor", bound<is_tensor>},
    {"set_default_dtype", bound<set_default_dtype>},
    {"get_default_dtype", bound<default_float>},
};

}  // namespace

void add_dtype_functions(PyObject* module) { add_callables(module, callables); }

void add_dtypes(PyObject* module) {
  type = reinterpret_cast<PyTypeObject*>(check(PyType_FromSpec(&spec)));
  check(PyModule_AddObjectRef(module, "dtype", reinterpret_cast<PyObject*>(type)));
  Object names(check(PyTuple_New(kDTypeCount)));
  for (int t = 0; t < kDTypeCount; ++t) {
    PyTuple_SET_ITEM(names.get(), t, check(PyUnicode_FromString(name_of(static_cast<DType>(t)))));
    PyDType* o = PyObject_New(PyDType, type);
    check(reinterpret_cast<PyObject*>(o));
    o->value = static_cast<DType>(t);
    objects[t] = reinterpret_cast<PyObject*>(o);
    check(PyModule_AddObjectRef(module, name_of(o->value), objects[t]));
  }
  check(PyModule_AddObjectRef(module, "_dtypes", names.get()));
  constexpr std::pair<const char*, DType> words[] = {{"half", DType::float16},   {"float", DType::float32},
                                                     {"double", DType::float64}, {"short", DType::int16},
                                                     {"int", DType::int32},      {"long", DType::int64}};
  for (const auto& [word, t] : words) check(PyModule_AddObjectRef(module, word, objects[static_cast<int>(t)]));
}

PyObject* dtype_object(DType t) { return Py_NewRef(objects[static_cast<int>(t)]); }
bool is_dtype_object(PyObject* o) { return Py_IS_TYPE(o, type); }
const char* supported_dtypes() {
  return "bool, uint8, int8, int16, int32, int64, float16, bfloat16, float32 or float64";
}

DType to_dtype(const char* op, PyObject* o) {
  if (is_dtype_object(o)) return value_of(o);
  if (o == reinterpret_cast<PyObject*>(&PyFloat_Type)) return DType::float64;
  if (o == reinterpret_cast<PyObject*>(&PyLong_Type)) return DType::int64;
  if (o == reinterpret_cast<PyObject*>(&PyBool_Type)) return DType::boolean;
  if (PyUnicode_Check(o))
    for (int t = 0; t < kDTypeCount; ++t)
      if (!PyUnicode_CompareWithASCIIString(o, name_of(static_cast<DType>(t)))) return static_cast<DType>(t);
  Object theirs(o == Py_None ? nullptr : PyObject_CallOneArg(numpy().dtype, o));
  std::string name = "None";
  if (theirs) {
    Object text(check(PyObject_GetAttrString(theirs.get(), "name")));
    name = PyUnicode_AsUTF8(text.get());
    for (int t = 0; t < kDTypeCount; ++t)
      if (name == name_of(static_cast<DType>(t))) return static_cast<DType>(t);
  } else if (o != Py_None) {
    PyErr_Clear();
    Object text(check(PyObject_Repr(o)));
    name = PyUnicode_AsUTF8(text.get());
  }
  fail<TypeError>(op, "dtype " + name + " is not supported", std::string("use ") + supported_dtypes());
}

}  // namespace sg::bind
