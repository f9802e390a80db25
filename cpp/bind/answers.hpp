// Objects that answer for the calls whose arguments they are: those of a class that stands for tensors, with
// __spirograd_function__(function, args, kwargs), and complex numbers and arrays, for which the core has no type. A call
// asks about its arguments (methods.cpp); whoever reads a list asks about its elements, so that no list is read twice.
// Threads: the GIL is held.
#pragma once
#include "bind/arguments.hpp"

namespace sg::bind {

// Thrown by a reader of a list: an element answers for the call. A TypeError where there is no call to answer.
struct Answered : TypeError {
  Answered(const char* op, PyObject* o, PyObject* who);
  PyObject* who;  // lives as long as the list
};

// Who answers for an object; nullptr: it is a plain one.
PyObject* who_answers(PyObject* o);
// Throws Answered when an element of a list answers: the object itself, or one inside of it, as deep as tensors have
// dimensions.
void leave_to_elements(const char* op, PyObject* o);

// What `who` makes of a function of the core, or a method of a tensor, with these arguments.
PyObject* ask(PyObject* who, PyObject* function, PyObject* arguments, PyObject* keywords);
PyObject* complex_type();  // who answers for complex numbers

}  // namespace sg::bind
