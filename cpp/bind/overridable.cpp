// The Python type of functions written in Python that go down the road of calls as those of the core do (dispatch.hpp).
// An object has the attributes of its function, is one of a module and a method of a class, and pickles by its name.
#include <cstddef>

#include "bind/dispatch.hpp"
#include "bind/methods.hpp"
#include "bind/signature.hpp"

namespace sg::bind {
namespace {

struct PyOverridable {
  PyObject_HEAD vectorcallfunc call;
  PyObject *function, *attributes, *weak_references;
};
PyOverridable& content_of(PyObject* self) { return *reinterpret_cast<PyOverridable*>(self); }

PyObject* call(PyObject* self, PyObject* const* args, size_t flags, PyObject* names) {
  return guarded([&]() -> PyObject* {
    const Py_ssize_t count = PyVectorcall_NARGS(flags);
    PyObject* answer = answer_of_others({nullptr, args, count, names, nullptr}, self);
    return answer ? answer : PyObject_Vectorcall(content_of(self).function, args, static_cast<size_t>(count), names);
  });
}

PyObject* make(PyTypeObject* type, PyObject* args, PyObject*) {
  return guarded([&] {
    PyObject* function = nullptr;
    if (!PyArg_ParseTuple(args, "O:_Overridable", &function)) throw PythonError();
    Object self(check(type->tp_alloc(type, 0)));
    content_of(self.get()).call = call;
    content_of(self.get()).function = Py_NewRef(function);
    const Object functools(check(PyImport_ImportModule("functools")));
    const Object updated(check(PyObject_CallMethod(functools.get(), "update_wrapper", "OO", self.get(), function)));
    return self.release();
  });
}

// What only functions have, such as __code__.
PyObject* attribute(PyObject* self, PyObject* name) {
  PyObject* found = PyObject_GenericGetAttr(self, name);
  if (found || !PyErr_ExceptionMatches(PyExc_AttributeError)) return found;
  PyErr_Clear();
  return PyObject_GetAttr(content_of(self).function, name);
}

PyObject* bind(PyObject* self, PyObject* object, PyObject*) {
  return object && object != Py_None ? PyMethod_New(self, object) : Py_NewRef(self);
}

PyObject* repr(PyObject* self) { return PyObject_Repr(content_of(self).function); }
PyObject* reduce(PyObject* self, PyObject*) { return PyObject_GetAttrString(self, "__qualname__"); }

int show(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  Py_VISIT(content_of(self).function);
  Py_VISIT(content_of(self).attributes);
  return 0;
}
int clear(PyObject* self) {
  Py_CLEAR(content_of(self).function);
  Py_CLEAR(content_of(self).attributes);
  return 0;
}
void release(PyObject* self) {
  PyObject_GC_UnTrack(self);
  PyTypeObject* type = Py_TYPE(self);
  if (content_of(self).weak_references) PyObject_ClearWeakRefs(self);
  clear(self);
  type->tp_free(self);
  Py_DECREF(type);
}

PyMethodDef methods[] = {{"__reduce__", reduce, METH_NOARGS, nullptr}, {}};
PyMemberDef members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(PyOverridable, call), READONLY, nullptr},
    {"__dictoffset__", T_PYSSIZET, offsetof(PyOverridable, attributes), READONLY, nullptr},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(PyOverridable, weak_references), READONLY, nullptr},
    {}};
PyGetSetDef attributes[] = {{"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, nullptr, nullptr}, {}};

}  // namespace

void add_overridable(PyObject* module) {
  static const auto slot = [](int id, auto* f) { return PyType_Slot{id, reinterpret_cast<void*>(f)}; };
  PyType_Slot slots[] = {slot(Py_tp_new, make),
                         slot(Py_tp_call, PyVectorcall_Call),
                         slot(Py_tp_getattro, attribute),
                         slot(Py_tp_descr_get, bind),
                         slot(Py_tp_repr, repr),
                         slot(Py_tp_traverse, show),
                         slot(Py_tp_clear, clear),
                         slot(Py_tp_dealloc, release),
                         {Py_tp_methods, methods},
                         {Py_tp_members, members},
                         {Py_tp_getset, attributes},
                         {Py_tp_doc, const_cast<char*>(doc("_Overridable"))},
                         {0, nullptr}};
  PyType_Spec spec{"spirograd._core._Overridable", sizeof(PyOverridable), 0,
                   Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_METHOD_DESCRIPTOR,
                   slots};
  const Object type(check(PyType_FromSpec(&spec)));
  check(PyModule_AddObjectRef(module, "_Overridable", type.get()));
}

}  // namespace sg::bind
