// Values in and out: Python numbers, nested lists, anything NumPy takes. No C API of NumPy: its Python functions and
// the buffer protocol.
// Threads: the GIL is held; long copies and waits give it up.
#pragma once
#include <optional>

#include "bind/errors.hpp"
#include "graph/tensor.hpp"

namespace sg::bind {

// What is used of NumPy, looked up once.
struct NumPy {
  PyObject *ndarray, *generic, *bool_, *integer, *floating, *complexfloating;
  PyObject *array, *asarray, *ascontiguousarray, *empty, *dtype;
  PyObject* dtypes[kDTypeCount];  // nullptr: NumPy has none, or it was not asked for yet
};
void load_numpy();
const NumPy& numpy();
// NumPy's type of the same name. bfloat16 is that of ml_dtypes: TypeError when it is not installed.
PyObject* numpy_dtype(const char* op, DType t);

// A tensor with a copy of the data. Python floats give float32, ints int64, bools bool, arrays their own type.
Tensor from_python(const char* op, PyObject* data, std::optional<DType> dtype, DeviceId device);
// The array itself, without what a subclass of NumPy's says of its shape and dtype.
Object plain_array(PyObject* array);
// An array on the memory of a CPU tensor, with its strides; of a GPU tensor, or with `copy`, a new one in C order.
PyObject* to_numpy(const Tensor& x, bool copy = false);
// A CPU tensor on the array's own memory; nothing when that cannot be: read-only, steps back, another byte order.
std::optional<Tensor> share_array(PyObject* array, DType dtype);
PyObject* to_number(const char* op, const Tensor& x);  // float, int or bool of a tensor of one element

// sg.float32 and friends: objects made by `add_dtypes`.
void add_dtypes(PyObject* module);
PyObject* dtype_object(DType t);  // a new reference
bool is_dtype_object(PyObject* o);
// The dtype of an array, if it is one of ours in any byte order.
std::optional<DType> known_dtype(PyObject* dtype);
// sg.float32, "float32", np.float32, np.dtype, float, int, bool. TypeError naming the supported ones.
DType to_dtype(const char* op, PyObject* o);
const char* supported_dtypes();

}  // namespace sg::bind
