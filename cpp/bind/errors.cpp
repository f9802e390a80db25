// Owns the Python classes of errors, and turns the C++ exception in flight into one of them. Knows no tensors.
#include "bind/errors.hpp"

#include <pybind11/pybind11.h>

#include <chrono>
#include <new>
#include <thread>

#include "bind/signature.hpp"

namespace sg::bind {
namespace {

struct Classes {
  PyObject *error, *out_of_memory, *device_lost, *device_timeout, *device_unavailable, *limit, *kernel_compile, *fork,
      *distributed, *file_format, *fallback_warning, *cache_warning;
  PyObject *value, *type;  // of wrong arguments
} classes;

PyObject* make(PyObject* module, const char* name, const char* doc, PyObject* base, PyObject* second = nullptr) {
  Object bases(second ? PyTuple_Pack(2, base, second) : PyTuple_Pack(1, base));
  PyObject* type =
      check(PyErr_NewExceptionWithDoc((std::string("spirograd.") + name).c_str(), doc, bases.get(), nullptr));
  check(PyModule_AddObjectRef(module, name, type));
  return type;
}

[[noreturn]] void park() noexcept {
  for (;;) std::this_thread::sleep_for(std::chrono::hours(1));
}

PyObject* set_argument_errors(PyObject*, PyObject* arguments) {
  PyObject *value, *type;
  if (!PyArg_ParseTuple(arguments, "O!O!", &PyType_Type, &value, &PyType_Type, &type)) return nullptr;
  classes.value = Py_NewRef(value);
  classes.type = Py_NewRef(type);
  Py_RETURN_NONE;
}
PyMethodDef methods[] = {{"_set_argument_errors", set_argument_errors, METH_VARARGS,
                          "Sets the classes of exceptions for values and types that do not fit."},
                         {}};

void drop(PyObject* value) {
  if (!Py_IsInitialized()) return;
  const PyGILState_STATE state = ensure_gil();
  Py_DECREF(value);
  PyGILState_Release(state);
}

}  // namespace

void restore_gil(PyThreadState* state) noexcept {
  try {
    PyEval_RestoreThread(state);
  } catch (...) {  // pthread_exit
    park();
  }
}

PyGILState_STATE ensure_gil() noexcept {
  try {
    return PyGILState_Ensure();
  } catch (...) {  // pthread_exit
    park();
  }
}

PythonError::PythonError() {
#if PY_VERSION_HEX >= 0x030C0000
  PyObject* value = PyErr_GetRaisedException();
#else
  PyObject *type = nullptr, *value = nullptr, *trace = nullptr;
  PyErr_Fetch(&type, &value, &trace);
  PyErr_NormalizeException(&type, &value, &trace);
  if (trace) PyException_SetTraceback(value, trace);
  Py_XDECREF(trace);
  Py_XDECREF(type);
#endif
  if (!value) value = PyObject_CallFunction(PyExc_SystemError, "s", "an error without an exception");
  value_ = shared(value);
}

std::shared_ptr<PyObject> shared(PyObject* owned) { return {owned, drop}; }

void PythonError::restore() const { PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(value_.get())), value_.get()); }

void raise(PyObject* type, const std::string& message) {
  PyErr_SetString(type, message.c_str());
  throw PythonError();
}

PyObject* cache_warning() { return classes.cache_warning; }

void add_errors(PyObject* m) {
  classes.value = PyExc_ValueError;
  classes.type = PyExc_TypeError;
  check(PyModule_AddFunctions(m, methods));
  PyObject* error = classes.error = make(m, "Error", doc("Error"), PyExc_RuntimeError);
  classes.out_of_memory = make(m, "OutOfMemoryError", doc("OutOfMemoryError"), error, PyExc_MemoryError);
  classes.device_lost = make(m, "DeviceLostError", doc("DeviceLostError"), error);
  classes.device_timeout = make(m, "DeviceTimeoutError", doc("DeviceTimeoutError"), error, PyExc_TimeoutError);
  classes.device_unavailable = make(m, "DeviceUnavailableError", doc("DeviceUnavailableError"), error);
  classes.limit = make(m, "LimitError", doc("LimitError"), error, PyExc_ValueError);
  classes.kernel_compile = make(m, "KernelCompileError", doc("KernelCompileError"), error);
  classes.fork = make(m, "ForkError", doc("ForkError"), error);
  classes.distributed = make(m, "DistributedError", doc("DistributedError"), error);
  classes.file_format = make(m, "FileFormatError", doc("FileFormatError"), error, PyExc_ValueError);
  classes.fallback_warning = make(m, "FallbackWarning", doc("FallbackWarning"), PyExc_UserWarning);
  classes.cache_warning = make(m, "CacheWarning", doc("CacheWarning"), PyExc_UserWarning);
}

void set_python_error() noexcept {
  auto set = [](PyObject* type, const std::exception& e) { PyErr_SetString(type, e.what()); };
  try {
    throw;
  } catch (const PythonError& e) {
    e.restore();
  } catch (const ValueError& e) {
    set(classes.value, e);
  } catch (const TypeError& e) {
    set(classes.type, e);
  } catch (const IndexError& e) {
    set(PyExc_IndexError, e);
  } catch (const OutOfMemoryError& e) {
    set(classes.out_of_memory, e);
  } catch (const DeviceLostError& e) {
    set(classes.device_lost, e);
  } catch (const DeviceTimeoutError& e) {
    set(classes.device_timeout, e);
  } catch (const DeviceUnavailableError& e) {
    set(classes.device_unavailable, e);
  } catch (const LimitError& e) {
    set(classes.limit, e);
  } catch (const KernelCompileError& e) {
    set(classes.kernel_compile, e);
  } catch (const ForkError& e) {
    set(classes.fork, e);
  } catch (const DistributedError& e) {
    set(classes.distributed, e);
  } catch (const Error& e) {
    set(classes.error, e);
  } catch (const std::bad_alloc&) {
    PyErr_NoMemory();
  } catch (pybind11::error_already_set& e) {
    e.restore();
  } catch (const pybind11::builtin_exception& e) {
    e.set_error();
  } catch (const std::exception& e) {
    set(PyExc_SystemError, e);
  }
}

}  // namespace sg::bind
