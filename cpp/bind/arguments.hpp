// Arguments of a call, taken by hand: positional first, then by keyword or its NumPy name. No format strings, no
// temporary tuples. Also the small conversions: sizes, dimensions, types.
// Threads: the GIL is held.
#pragma once
#include "bind/errors.hpp"
#include "graph/tensor.hpp"

namespace sg::bind {

struct Callable;

struct Call {
  PyObject* self;  // the tensor, or the first argument of a function
  PyObject* const* values;
  Py_ssize_t count;
  PyObject* names;           // of the values behind `count`, or nullptr
  const Callable* callable;  // what is called
};

class Arguments {
 public:
  Arguments(const char* op, const Call& call) : op_(op), call_(call) {}
  // The next argument; nullptr when it was not given.
  PyObject* take(const char* name, const char* alias = nullptr);
  // Given by keyword only.
  PyObject* keyword(const char* name, const char* alias = nullptr);
  PyObject* need(const char* name, const char* alias = nullptr);  // TypeError when missing
  // All remaining positional arguments as one sequence: f(a, b), f([a, b]) or f(name=[a, b]). Empty: none was given.
  Object rest(const char* name, const char* alias = nullptr);
  void done();  // TypeError for whatever is left

  bool flag(const char* name, bool fallback, const char* alias = nullptr);
  const char* op() const { return op_; }

 private:
  const char* op_;
  const Call& call_;
  Py_ssize_t next_ = 0;
  Py_ssize_t named_ = 0;
};

int64_t to_int(const char* op, PyObject* o);
double to_real(const char* op, PyObject* o);
bool to_bool(PyObject* o);
Dims to_dims(const char* op, PyObject* o);  // an int or a sequence of ints
std::string type_name(PyObject* o);
inline bool given(PyObject* o) { return o && o != Py_None; }
PyObject* dims_tuple(const Dims& dims);

}  // namespace sg::bind
