// The Python type of context managers that change what a thread does: whether it records gradients, infers, casts, who sees its calls. Entering
// and leaving run no line of Python's, so an interrupt cannot come between and leave a mode on.
#include <new>
#include <optional>
#include <vector>

#include "bind/autocast.hpp"
#include "bind/bound.hpp"
#include "bind/dispatch.hpp"
#include "graph/grad.hpp"

namespace sg::bind {
namespace {

struct Modes {
  bool grad, inference, classes_off;
  HalfTypes halves;
  Interceptors interceptors;
};
Modes present() { return {grad_enabled(), inferring, calls.classes_off, half_types(), interceptors()}; }
void restore(const Modes& m) {
  set_grad_enabled(m.grad);
  inferring = m.inference;
  calls.classes_off = m.classes_off;
  half_types() = m.halves;
  set_interceptors(m.interceptors);
}

// What a mode changes; none: it stays.
struct Change {
  std::optional<bool> grad, inference;
  std::optional<size_t> kind;  // of the device whose half type it sets: 0 is the CPU, 1 a GPU
  std::optional<DType> half;   // none: off
  Interceptors interceptor;    // one more that sees calls
  bool alone = false;          // whether none of those that are open sees calls
  bool classes = true;         // false: no class with __torch_function__ is asked
  void make() const {
    if (grad) set_grad_enabled(*grad);
    if (inference) inferring = *inference;
    if (kind) half_types()[*kind] = half;
    if (alone) set_interceptors(nullptr);
    if (!classes) calls.classes_off = true;
    if (interceptor) set_interceptors(with_interceptor(interceptor.get()));
  }
};

struct Content {
  Change change;
  std::optional<Modes> outside;  // of a mode that is on from the start
  std::vector<Modes> before;     // of the blocks that are open
};
struct PyMode {
  PyObject_HEAD Content content;
};
Content& content_of(PyObject* self) { return reinterpret_cast<PyMode*>(self)->content; }

PyObject* make(PyTypeObject* type, PyObject*, PyObject*) {
  PyObject* self = type->tp_alloc(type, 0);
  if (self) new (&content_of(self)) Content;
  return self;
}

void release(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  content_of(self).~Content();
  type->tp_free(self);
  Py_DECREF(type);
}

int begin(PyObject* self, PyObject* args, PyObject* keywords) {
  return guarded([&]() -> int {
    static const char* names[] = {"grad",  "inference", "kind",      "half", "interceptor",
                                  "alone", "classes",   "from_here", nullptr};
    PyObject *grad = Py_None, *inference = Py_None, *kind = Py_None, *half = Py_None, *interceptor = Py_None;
    int alone = 0, classes = 1, from_here = 0;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "|OOOOOppp:_Mode", const_cast<char**>(names), &grad, &inference,
                                     &kind, &half, &interceptor, &alone, &classes, &from_here))
      throw PythonError();
    Content& c = content_of(self);
    if (given(grad)) c.change.grad = to_bool(grad);
    if (given(inference)) c.change.inference = to_bool(inference);
    if (given(kind)) c.change.kind = static_cast<size_t>(to_int("_Mode", kind));
    if (given(half)) c.change.half = to_dtype("_Mode", half);
    if (given(interceptor)) c.change.interceptor = shared(Py_NewRef(interceptor));
    c.change.alone = alone != 0;
    c.change.classes = classes != 0;
    if (!from_here) return 0;
    c.outside = present();
    c.change.make();
    return 0;
  });
}

PyObject* enter(PyObject* self, PyObject*) {
  return guarded([&] {
    Content& c = content_of(self);
    c.before.push_back(c.outside ? *c.outside : present());
    c.change.make();
    return Py_NewRef(self);
  });
}

PyObject* leave(PyObject* self, PyObject*) {
  Content& c = content_of(self);
  if (!c.before.empty()) {
    restore(c.before.back());
    c.before.pop_back();
  }
  Py_RETURN_NONE;
}

PyObject* open_interceptors(PyObject*, PyObject*) {
  return interceptors() ? Py_NewRef(interceptors().get()) : PyTuple_New(0);
}
PyObject* intercept(PyObject*, PyObject* arguments) {
  return guarded([&] {
    PyObject *function, *positional, *keywords;
    if (!PyArg_ParseTuple(arguments, "OOO:intercept", &function, &positional, &keywords)) throw PythonError();
    return call_innermost(function, positional, keywords);
  });
}
PyObject* asks_classes(PyObject*, PyObject*) { return PyBool_FromLong(!calls.classes_off); }

bool is_inferring() { return inferring; }
bool is_inference(const Tensor& x) { return x->storage->inferred; }

constexpr Callable mode_functions[] = {
    {"_is_inferring", bound<is_inferring>},
};
constexpr Callable mode_methods[] = {
    {"is_inference", bound<is_inference>},
};

// The static ones are not seen by interceptors, as functions of the module are.
PyMethodDef methods[] = {{"__enter__", enter, METH_NOARGS, nullptr},
                         {"__exit__", leave, METH_VARARGS, nullptr},
                         {"interceptors", open_interceptors, METH_NOARGS | METH_STATIC, nullptr},
                         {"intercept", intercept, METH_VARARGS | METH_STATIC, nullptr},
                         {"asks_classes", asks_classes, METH_NOARGS | METH_STATIC, nullptr},
                         {}};

}  // namespace

void add_modes(PyObject* module) {
  static const auto slot = [](int id, auto* f) { return PyType_Slot{id, reinterpret_cast<void*>(f)}; };
  PyType_Slot slots[] = {slot(Py_tp_new, make),
                         slot(Py_tp_init, begin),
                         slot(Py_tp_dealloc, release),
                         {Py_tp_methods, methods},
                         {Py_tp_doc, const_cast<char*>(doc("_Mode"))},
                         {0, nullptr}};
  PyType_Spec spec{"spirograd._core._Mode", sizeof(PyMode), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, slots};
  Object type(check(PyType_FromSpec(&spec)));
  check(PyModule_AddObjectRef(module, "_Mode", type.get()));
  add_callables(module, mode_functions);
  add_callables(module, mode_methods);
}

}  // namespace sg::bind
