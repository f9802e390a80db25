// The table of what Tensor and the module offer: each callable is a method, a function, or both. Stubs and signatures
// are made from it. A callable names one C++ function, `bound<sg::lerp>`, whose type says how arguments are read
// (bound.hpp); only `to` reads its own. pybind11 makes nothing but classes that keep something.
// Threads: the GIL is held.
#pragma once
#include <optional>
#include <vector>

#include "base/device_id.hpp"
#include "bind/arguments.hpp"

namespace sg {
struct OpInfo;
}

namespace sg::bind {

struct Parameter;  // signature.hpp

enum class Scope : uint8_t { method, function, both };

// What a callable gets under autocast for tensors of a floating type (autocast.hpp): what comes, the half type of the
// device, or float32.
enum class Autocast : uint8_t { none, narrow, wide };

// What a callable runs, and how many arguments the C++ function behind it takes; -1: it reads those of the call itself.
struct Body {
  PyObject* (*run)(const Call&);
  int takes;
  constexpr Body(PyObject* (*run)(const Call&) = nullptr, int takes = -1) : run(run), takes(takes) {}
};

struct Callable {
  const char* name;
  Body body;
  const char* parameters;  // with types, without self: "dim: int, keepdim: bool = False"
  const char* result;
  const char* doc;
  Scope scope = Scope::both;
  Autocast autocast = Autocast::none;
  const OpInfo* op = nullptr;                            // of a callable made from the op table
  mutable const std::vector<Parameter>* read = nullptr;  // `parameters`, once a call has needed them
};

// Puts callables into the type and the module. Error when one does not fit its function or its name is taken:
// signature.hpp.
void add_callables(PyObject* module, const Callable* callables, size_t count);
template <size_t n>
void add_callables(PyObject* module, const Callable (&callables)[n]) {
  add_callables(module, callables, n);
}

void add_op_table(PyObject* module);         // pointwise.cpp: a callable for each pointwise op
void add_composites(PyObject* module);       // ops.cpp
void add_reductions(PyObject* module);       // reductions.cpp
void add_products(PyObject* module);         // products.cpp
void add_convolutions(PyObject* module);     // convolution.cpp
void add_movement(PyObject* module);         // movement.cpp
void add_indexing(PyObject* module);         // indexing.cpp
void add_sorting(PyObject* module);          // sorting.cpp
void add_selection(PyObject* module);        // selection.cpp
void add_scans(PyObject* module);            // scans.cpp
void add_conversions(PyObject* module);      // convert.cpp
void add_creation(PyObject* module);         // create.cpp
void add_random(PyObject* module);           // random.cpp
void add_dtype_functions(PyObject* module);  // dtype.cpp
void add_dlpack(PyObject* module);           // dlpack.cpp
void add_autograd(PyObject* module);         // autograd.cpp
void add_autocast(PyObject* module);         // autocast.cpp
void add_modes(PyObject* module);            // modes.cpp
void add_optimizers(PyObject* module);       // optim.cpp
void add_inspection(PyObject* module);       // inspect.cpp
void add_compile(PyObject* module);          // compile.cpp
void add_profile(PyObject* module);          // profile.cpp
void add_distributed(PyObject* module);      // distributed.cpp
void add_glsl(PyObject* module);             // glsl.cpp
void add_observer(PyObject* module);         // observer.cpp
void add_complex(PyObject* module);          // answers.cpp
void add_calls(PyObject* module);            // calls.cpp
void add_clocks(PyObject* module);           // clocks.cpp
void add_callable_check(PyObject* module);   // signature.cpp

bool is_complex(PyObject* o);  // a complex number, or an array of them
// What the class of complex tensors makes of an operator with a complex number.
PyObject* of_complex(const char* name, PyObject* a, PyObject* b);

// The same values in another type and place.
Tensor moved(const Tensor& x, std::optional<DType> dtype, DeviceId device, bool later = false);
// A result that is to be written into x, in the type of x. TypeError, ValueError when it does not fit.
Tensor fitting(const char* op, const Tensor& x, const Tensor& result);

}  // namespace sg::bind
