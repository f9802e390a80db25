// The module spirograd._core: adds what the other files of this folder offer, in order. Knows no op.
#include <pybind11/pybind11.h>

#include "bind/device.hpp"
#include "bind/host.hpp"
#include "bind/methods.hpp"
#include "bind/numpy.hpp"
#include "bind/tensor.hpp"
#include "bind/value.hpp"
#include "engine/stream.hpp"

namespace py = pybind11;

// pybind11's own PyInit__core waits for ever in a sub-interpreter: it gets another name, and is called from ours.
#define PyInit__core init_core
PYBIND11_MODULE(_core, module) {
  module.doc() = "The engine of spirograd. Use it through the package.";
  PyObject* m = module.ptr();
  py::register_local_exception_translator([](std::exception_ptr error) {
    // pybind11's own exceptions go on to its own translators.
    try {
      std::rethrow_exception(error);
    } catch (const py::builtin_exception&) {
      throw;
    } catch (const py::error_already_set&) {
      throw;
    } catch (...) {
      sg::bind::set_python_error();
    }
  });
  try {
    sg::bind::load_numpy();
    sg::bind::add_errors(m);
    sg::bind::add_dtypes(m);
    sg::bind::add_tensor_type(m);
    sg::bind::add_devices(m);
    sg::bind::add_device_functions(m);
    sg::bind::add_op_table(m);
    sg::bind::add_composites(m);
    sg::bind::add_reductions(m);
    sg::bind::add_products(m);
    sg::bind::add_convolutions(m);
    sg::bind::add_movement(m);
    sg::bind::add_indexing(m);
    sg::bind::add_sorting(m);
    sg::bind::add_selection(m);
    sg::bind::add_scans(m);
    sg::bind::add_conversions(m);
    sg::bind::add_creation(m);
    sg::bind::add_dtype_functions(m);
    sg::bind::add_random(m);
    sg::bind::add_dlpack(m);
    sg::bind::add_autograd(m);
    sg::bind::add_optimizers(m);
    sg::bind::add_autocast(m);
    sg::begin_streaming(sg::DeviceId());
    sg::bind::add_modes(m);
    sg::bind::add_overridable(m);
    sg::bind::add_inspection(m);
    sg::bind::add_compile(m);
    sg::bind::add_profile(m);
    sg::bind::add_distributed(m);
    sg::bind::add_glsl(m);
    sg::bind::add_complex(m);
    sg::bind::add_calls(m);
    sg::bind::add_clocks(m);
    sg::bind::add_value_type(m);
    sg::bind::add_neurons(m);
    sg::bind::install_host();
  } catch (const sg::bind::PythonError& e) {
    e.restore();
    throw py::error_already_set();
  }
}
#undef PyInit__core

extern "C" PYBIND11_EXPORT PyObject* PyInit__core() {
  if (PyInterpreterState_Get() == PyInterpreterState_Main()) return init_core();
  PyErr_SetString(PyExc_ImportError,
                  "spirograd: a sub-interpreter cannot import it; use the main interpreter, or a process of its own");
  return nullptr;
}
