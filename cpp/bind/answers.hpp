// Who answers for the calls whose arguments include an object:
//   - a class that stands for tensors, with __spirograd_function__(function, args, kwargs): for its objects
//   - that of complex tensors: for complex numbers and arrays, for which the core has no type
//   - in programs for PyTorch, who speaks its protocol: for objects whose class has __torch_function__, which may be
//     tensors of a subclass
// A call asks about its arguments (dispatch.cpp); whoever reads a list asks about its elements, so that no list is read
// twice.
// Threads: the GIL is held.
#pragma once
#include "bind/arguments.hpp"
#include "bind/tensor.hpp"

namespace sg::bind {

// Thrown by a reader of a list: an element answers for the call. A TypeError where there is no call to answer.
struct Answered : TypeError {
  Answered(const char* op, PyObject* o, PyObject* who);
  PyObject* who;  // lives as long as the list
};

// Tensors, numbers and lists themselves, told apart by one look at the type.
inline bool is_plain(PyObject* o) {
  return Py_IS_TYPE(o, tensor_type) || PyFloat_CheckExact(o) || PyLong_CheckExact(o) || PyList_CheckExact(o) ||
         PyTuple_CheckExact(o) || o == Py_None;
}
// Who answers for an object; nullptr: nobody.
PyObject* who_answers_for_other(PyObject* o);
inline PyObject* who_answers(PyObject* o) { return is_plain(o) ? nullptr : who_answers_for_other(o); }
extern PyObject* class_asker;  // who speaks PyTorch's protocol; none in programs for spirograd
// That one, if the class of an object has __torch_function__ and is asked.
PyObject* who_asks_class_of_other(PyObject* o);
inline PyObject* who_asks_class(PyObject* o) {
  return !class_asker || is_plain(o) ? nullptr : who_asks_class_of_other(o);
}
inline bool asks_classes(PyObject* who) { return who && who == class_asker; }
// Throws Answered when an element of a list answers: the object itself, or one inside of it, as deep as tensors have
// dimensions.
void leave_to_elements(const char* op, PyObject* o);

// What `who` makes of a function of the core, or a method of a tensor, with these arguments.
PyObject* ask(PyObject* who, PyObject* function, PyObject* arguments, PyObject* keywords);
PyObject* complex_type();  // who answers for complex numbers

}  // namespace sg::bind
