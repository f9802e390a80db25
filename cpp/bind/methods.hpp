// The table of what Tensor and the module offer: each callable is a method, a function, or both. Its signature and text
// are those of its name in python/spirograd/_core.pyi (signature.hpp). A callable names one C++ function,
// `bound<sg::lerp>`, whose type says how arguments are read (bound.hpp), and which the compiler compares with the
// signature; only `to` reads its own. pybind11 makes nothing but classes that keep something.
// Threads: the GIL is held.
#pragma once
#include <optional>
#include <string_view>
#include <vector>

#include "base/device_id.hpp"
#include "bind/arguments.hpp"
#include "bind/signature.hpp"

namespace sg {
struct OpInfo;
}

namespace sg::bind {

// What a callable gets under autocast for tensors of a floating type (autocast.hpp): what comes, the half type of the
// device, or float32.
enum class Autocast : uint8_t { none, narrow, wide };

// What a callable runs, and the types of the C++ function behind it.
struct Body {
  PyObject* (*run)(const Call&);
  Types types;
  constexpr Body(PyObject* (*run)(const Call&) = nullptr, Types types = {}) : run(run), types(types) {}
};

struct Callable {
  const char* name = nullptr;
  Body body;
  const Text* text = nullptr;
  Scope scope = Scope::both;
  Autocast autocast = Autocast::none;
  const OpInfo* op = nullptr;  // of a callable made from the op table
  // The objects by which Python knows it, which classes and interceptors of calls are given.
  mutable PyObject *as_method = nullptr, *as_function = nullptr;

  Callable() = default;
  // What differs from the signature of that name does not compile, where the callable is a constant.
  constexpr Callable(std::string_view name, Body body, Autocast autocast = Autocast::none)
      : Callable(checked(name, body.types), body, autocast) {}
  // An operator or an attribute of the type, which has no entry in the stub: dispatch.hpp makes it.
  constexpr Callable(const char* slot, Body body, Autocast autocast, Scope scope)
      : name(slot), body(body), scope(scope), autocast(autocast) {}

 private:
  constexpr Callable(size_t number, Body body, Autocast autocast)
      : name(kSignatures[number].name.data()),
        body(body),
        text(&kTexts[number]),
        scope(kSignatures[number].scope),
        autocast(autocast) {}
};

// Puts callables into the type and the module, and their other names. Error when a name is taken.
void add_callables(PyObject* module, const Callable* callables, size_t count);
template <size_t n>
void add_callables(PyObject* module, const Callable (&callables)[n]) {
  add_callables(module, callables, n);
}

bool names_function(std::string_view word);  // whether a method, a function of tensors or an op has this name

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
void add_overridable(PyObject* module);      // overridable.cpp
void add_optimizers(PyObject* module);       // optim.cpp
void add_inspection(PyObject* module);       // inspect.cpp
void add_compile(PyObject* module);          // compile.cpp
void add_profile(PyObject* module);          // profile.cpp
void add_distributed(PyObject* module);      // distributed.cpp
void add_glsl(PyObject* module);             // glsl.cpp
void add_complex(PyObject* module);          // answers.cpp
void add_calls(PyObject* module);            // calls.cpp
void add_clocks(PyObject* module);           // clocks.cpp

bool is_complex(PyObject* o);  // a complex number, or an array of them
// What the class of complex tensors makes of an operator with a complex number.
PyObject* of_complex(const char* name, PyObject* a, PyObject* b);

// The same values in another type and place.
Tensor moved(const Tensor& x, std::optional<DType> dtype, DeviceId device, bool later = false);
// A result that is to be written into x, in the type of x. TypeError, ValueError when it does not fit.
Tensor fitting(const char* op, const Tensor& x, const Tensor& result);

}  // namespace sg::bind
