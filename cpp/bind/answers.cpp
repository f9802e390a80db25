// Finds who answers for an object. Knows no op.
#include "bind/answers.hpp"

#include "bind/bound.hpp"
#include "bind/calls.hpp"
#include "bind/methods.hpp"
#include "bind/numpy.hpp"

namespace sg::bind {

PyObject* class_asker = nullptr;

namespace {

PyObject* complex_class = nullptr;
PyObject* silent = nullptr;  // the __torch_function__ of classes that are not asked

void set_complex(PyObject* type) { complex_class = Py_NewRef(type); }
void ask_classes(PyObject* who, PyObject* of_silent_classes) {
  class_asker = Py_NewRef(who);
  silent = Py_NewRef(of_silent_classes);
}

bool stands_for_tensor(PyObject* o) {
  static PyObject* const name = check(PyUnicode_InternFromString("__spirograd_function__"));
  PyTypeObject* type = Py_TYPE(o);
  return (type->tp_flags & Py_TPFLAGS_HEAPTYPE) && !is_tensor(o) && _PyType_Lookup(type, name);
}

void look(const char* op, PyObject* o, int depth) {
  if (!PyList_CheckExact(o) && !PyTuple_CheckExact(o)) {
    if (PyObject* who = who_answers(o)) throw Answered(op, o, who);
    return;
  }
  if (depth == kMaxRank) return;
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(o); ++i) look(op, PySequence_Fast_GET_ITEM(o, i), depth + 1);
}

constexpr Callable callables[] = {
    {"_set_complex", bound<set_complex>},
    {"_ask_classes", bound<ask_classes>},
};

}  // namespace

Answered::Answered(const char* op, PyObject* o, PyObject* who)
    : TypeError(std::string(op) + ": a list with an object of type " + type_name(o) +
                " is not read here; make a tensor with tensor()"),
      who(who) {}

bool is_complex(PyObject* o) {
  if (PyComplex_Check(o)) return true;
  if (is_plain(o) || is_tensor(o)) return false;
  const NumPy& np = numpy();
  if (PyObject_TypeCheck(o, reinterpret_cast<PyTypeObject*>(np.complexfloating))) return true;
  if (reinterpret_cast<PyObject*>(Py_TYPE(o)) != np.ndarray) return false;
  Object dtype(check(PyObject_GetAttrString(o, "dtype"))), kind(check(PyObject_GetAttrString(dtype.get(), "kind")));
  return PyUnicode_CompareWithASCIIString(kind.get(), "c") == 0;
}

PyObject* who_answers_for_other(PyObject* o) {
  if (stands_for_tensor(o)) return o;
  if (PyObject* who = who_asks_class_of_other(o)) return who;
  return is_complex(o) ? complex_type() : nullptr;
}

PyObject* who_asks_class_of_other(PyObject* o) {
  if (!class_asker || calls.classes_off || !(Py_TYPE(o)->tp_flags & Py_TPFLAGS_HEAPTYPE)) return nullptr;
  static PyObject* const name = check(PyUnicode_InternFromString("__torch_function__"));
  PyObject* function = _PyType_Lookup(Py_TYPE(o), name);
  return function && function != silent ? class_asker : nullptr;
}

void leave_to_elements(const char* op, PyObject* o) { look(op, o, 0); }

PyObject* ask(PyObject* who, PyObject* function, PyObject* arguments, PyObject* keywords) {
  return PyObject_CallMethod(who, "__spirograd_function__", "OOO", function, arguments, keywords);
}

// Its module is imported when it is asked for first, and makes it known.
PyObject* complex_type() {
  if (!complex_class) Object imported(check(PyImport_ImportModule("spirograd._complex")));
  return complex_class;
}

void add_complex(PyObject* module) { add_callables(module, callables); }

}  // namespace sg::bind
