// A callable's body made from the type of a C++ function: `bound<sg::lerp>` reads the arguments that the callable's
// signature names, converts each to what the function takes, and wraps the result. Names and defaults are written in
// _core.pyi alone.
//   const Tensor&            a tensor, a number or an array (the first one: a tensor)
//   std::optional<Tensor>    the same, or None
//   std::vector<Tensor>      a sequence of tensors, or with "*tensors" all remaining arguments
//   int64_t double bool DType DeviceId Generator& std::string Dims, and optionals and variants of them; Dims with
//   "*shape" takes the remaining ones
//   PyObject*                whatever was given, for what only Python has: callables, arrays, memos
//   Tensor, a pair of tensors (named values and indices), a vector of tensors (tuple), Dims (tuple), DType, bool, int,
//   int64_t, uint64_t, std::string, variants of them, any object, or nothing come back
// Threads: the GIL is held.
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <tuple>
#include <variant>
#include <vector>

#include "bind/arguments.hpp"
#include "bind/device.hpp"
#include "bind/methods.hpp"
#include "bind/numpy.hpp"
#include "bind/tensor.hpp"
#include "graph/build.hpp"
#include "graph/grad.hpp"
#include "ops/list.hpp"

namespace sg::bind {

// The arguments of one call, fetched before any is converted: tensors decide the device of arrays beside them.
struct Fetched {
  const char* op = nullptr;
  DeviceId device;
  bool may_be_none = false;  // whether "*names" may take nothing
  Tensor rooms[8];
  int used = 0;
};

// generator=, or the stream that manual_seed() restarts. random.cpp
Generator& generator_of(const char* op, PyObject* o);

// A type without a From cannot be a parameter of a bound function: the compiler says so at the row.
template <class T>
struct From {};
// What it can be made of; anything, where a From does not say.
template <class T>
constexpr uint16_t kinds_taken() {
  if constexpr (requires { From<T>::takes; }) return From<T>::takes;
  return kAnything;
}
template <>
struct From<const Tensor&> {
  static constexpr uint16_t takes = kTensor | kFloat | kInt | kBool;
  static const Tensor& get(Fetched& f, PyObject* o) { return operand_of(f.op, o, f.rooms[f.used++], f.device); }
};
template <>
struct From<Tensor> {
  static constexpr uint16_t takes = kTensor | kFloat | kInt | kBool;
  static Tensor get(Fetched& f, PyObject* o) { return operand_of(f.op, o, f.rooms[f.used++], f.device); }
};
template <>
struct From<int64_t> {
  static constexpr uint16_t takes = kInt;
  static int64_t get(Fetched& f, PyObject* o) { return to_int(f.op, o); }
};
template <>
struct From<double> {
  static constexpr uint16_t takes = kFloat | kInt | kBool;
  static double get(Fetched& f, PyObject* o) { return to_real(f.op, o); }
};
template <>
struct From<bool> {
  static constexpr uint16_t takes = kBool;
  static bool get(Fetched&, PyObject* o) { return to_bool(o); }
};
template <>
struct From<DType> {
  static constexpr uint16_t takes = kDType;
  static DType get(Fetched& f, PyObject* o) { return to_dtype(f.op, o); }
};
template <>
struct From<Dims> {
  static constexpr uint16_t takes = kInt | kSequence;
  static Dims get(Fetched& f, PyObject* o);
};
// Sizes of which there may be none: rand() is a tensor of one number.
struct Sizes {
  Dims dims;
};
template <>
struct From<Sizes> {
  static constexpr uint16_t takes = kInt | kSequence;
  static Sizes get(Fetched& f, PyObject* o) { return {From<Dims>::get(f, o)}; }
};
template <>
struct From<std::vector<Dims>> {  // "*shapes"
  static constexpr uint16_t takes = kSequence;
  static std::vector<Dims> get(Fetched& f, PyObject* o);
};
template <class T>
inline constexpr bool may_be_none =
    std::is_same_v<std::remove_cvref_t<T>, Sizes> || std::is_same_v<std::remove_cvref_t<T>, std::vector<Dims>>;
template <>
struct From<DeviceId> {  // None: the default one
  static constexpr uint16_t takes = kDevice | kStr | kNone;
  static DeviceId get(Fetched&, PyObject* o) { return device_or_default(o); }
};
template <>
struct From<Generator&> {  // None: the one that manual_seed() restarts
  static constexpr uint16_t takes = kGenerator | kNone;
  static Generator& get(Fetched& f, PyObject* o) { return generator_of(f.op, o); }
};
template <>
struct From<PyObject*> {  // whatever it is
  static PyObject* get(Fetched&, PyObject* o) { return o; }
};
template <>
struct From<Axes> {
  static constexpr uint16_t takes = kInt | kSequence | kNone;
  static Axes get(Fetched& f, PyObject* o) { return given(o) ? Axes(to_dims(f.op, o)) : Axes(); }
};
template <>
struct From<std::string> {
  static constexpr uint16_t takes = kStr;
  static std::string get(Fetched& f, PyObject* o);
};
template <>
struct From<std::vector<Tensor>> {
  static constexpr uint16_t takes = kTensor | kSequence;
  static std::vector<Tensor> get(Fetched& f, PyObject* o);
};
template <>
struct From<std::vector<int64_t>> {
  static constexpr uint16_t takes = kInt | kSequence;
  static std::vector<int64_t> get(Fetched& f, PyObject* o);
};
// Arguments of one of two types: the first one if the object is of its kind.
using FlagOrDims = std::variant<bool, Dims>;
using NumberOrText = std::variant<double, std::string>;
template <>
struct From<IntOrInts> {
  static constexpr uint16_t takes = kInt | kSequence;
  static IntOrInts get(Fetched& f, PyObject* o) {
    if (PyIndex_Check(o) && !PySequence_Check(o)) return From<int64_t>::get(f, o);
    return From<std::vector<int64_t>>::get(f, o);
  }
};
template <>
struct From<FlagOrDims> {
  static constexpr uint16_t takes = kBool | kInt | kSequence;
  static FlagOrDims get(Fetched& f, PyObject* o) {
    if (PyBool_Check(o)) return o == Py_True;
    return From<Dims>::get(f, o);
  }
};
template <>
struct From<NumberOrText> {
  static constexpr uint16_t takes = kFloat | kInt | kBool | kStr;
  static NumberOrText get(Fetched& f, PyObject* o) {
    if (PyUnicode_Check(o)) return From<std::string>::get(f, o);
    return From<double>::get(f, o);
  }
};
template <class T>
struct From<std::optional<T>> {
  static constexpr uint16_t takes = kinds_taken<T>() | kNone;
  static std::optional<T> get(Fetched& f, PyObject* o) {
    if (!given(o)) return std::nullopt;
    return From<T>::get(f, o);
  }
};
template <class T>
struct From<const T&> {
  static constexpr uint16_t takes = kinds_taken<T>();
  static T get(Fetched& f, PyObject* o) { return From<T>::get(f, o); }
};

inline PyObject* to_python(Tensor t) { return wrap(std::move(t)); }
inline PyObject* to_python(bool v) { return PyBool_FromLong(v); }
inline PyObject* to_python(int v) { return check(PyLong_FromLong(v)); }
inline PyObject* to_python(uint64_t v) { return check(PyLong_FromUnsignedLongLong(v)); }
inline PyObject* to_python(DType t) { return dtype_object(t); }
inline PyObject* to_python(const Dims& dims) { return dims_tuple(dims); }
inline PyObject* to_python(Object o) { return o.release(); }
inline PyObject* to_python(int64_t v) { return check(PyLong_FromLongLong(v)); }
PyObject* to_python(std::pair<Tensor, Tensor> both);  // a tuple with the names `values` and `indices`
PyObject* to_python(const std::vector<Tensor>& list);
PyObject* to_python(const std::string& text);
// An object of pybind11.
template <class T>
  requires requires(T t) { t.release().ptr(); }
PyObject* to_python(T object) {
  return object.release().ptr();
}
template <class... T>
PyObject* to_python(const std::variant<T...>& either) {
  return std::visit([](const auto& one) { return to_python(one); }, either);
}

// Reads the arguments that the callable names into `objects`. `rest` owns the list made for "*names".
void fetch(const Callable& callable, const Call& call, PyObject** objects, size_t count, Fetched& fetched,
           Object& rest);

template <class... T, size_t... i, class F>
PyObject* call_with(F function, Fetched& f, PyObject** objects, std::index_sequence<i...>) {
  // Braces: from left to right, so that the first invalid argument is the one that is reported.
  std::tuple<decltype(From<T>::get(f, nullptr))...> arguments{From<T>::get(f, objects[i])...};
  if constexpr (std::is_void_v<decltype(std::apply(function, std::move(arguments)))>) {
    std::apply(function, std::move(arguments));
    Py_RETURN_NONE;
  } else {
    return to_python(std::apply(function, std::move(arguments)));
  }
}

template <class Result, class... T>
PyObject* call_bound(Result (*function)(T...), const Call& call) {
  Fetched f;
  f.may_be_none = (may_be_none<T> || ...);
  PyObject* objects[sizeof...(T) + 1];  // one at least: there are no arrays of none
  Object rest;
  fetch(*call.callable, call, objects, sizeof...(T), f, rest);
  return call_with<T...>(function, f, objects, std::index_sequence_for<T...>());
}

// A method of Tensor, as a function of it.
template <class Result, class... T>
PyObject* call_bound(Result (Tensor::*method)(T...) const, const Call& call) {
  Fetched f;
  PyObject* objects[1 + sizeof...(T)];
  Object rest;
  fetch(*call.callable, call, objects, 1 + sizeof...(T), f, rest);
  return call_with<const Tensor&, T...>(std::mem_fn(method), f, objects, std::make_index_sequence<1 + sizeof...(T)>());
}

template <auto function>
PyObject* run_bound(const Call& call) {
  return call_bound(function, call);
}

// What a result is in Python; no kind, where only the call can tell.
template <class T>
inline constexpr uint16_t kinds_given = 0;
template <>
inline constexpr uint16_t kinds_given<void> = kNone;
template <>
inline constexpr uint16_t kinds_given<Tensor> = kTensor;
template <>
inline constexpr uint16_t kinds_given<bool> = kBool;
template <>
inline constexpr uint16_t kinds_given<int> = kInt;
template <>
inline constexpr uint16_t kinds_given<int64_t> = kInt;
template <>
inline constexpr uint16_t kinds_given<uint64_t> = kInt;
template <>
inline constexpr uint16_t kinds_given<DType> = kDType;
template <>
inline constexpr uint16_t kinds_given<std::string> = kStr;
template <>
inline constexpr uint16_t kinds_given<Dims> = kSequence;
template <>
inline constexpr uint16_t kinds_given<std::vector<Tensor>> = kSequence;
template <>
inline constexpr uint16_t kinds_given<std::pair<Tensor, Tensor>> = kSequence;
template <class... T>
inline constexpr uint16_t kinds_given<std::variant<T...>> = (kinds_given<T> | ...);

template <class... T>
inline constexpr uint16_t kinds_of[] = {kinds_taken<T>()..., 0};  // one at least: there are no arrays of none
template <class Result, class... T>
constexpr Types types_of(Result (*)(T...)) {
  return {kinds_of<T...>, sizeof...(T), kinds_given<Result>};
}
template <class Result, class... T>
constexpr Types types_of(Result (Tensor::*)(T...) const) {
  return {kinds_of<const Tensor&, T...>, 1 + sizeof...(T), kinds_given<Result>};
}

template <auto function>
inline constexpr Body bound{run_bound<function>, types_of(function)};

// A function that makes a tensor, with one argument more: requires_grad.
template <auto function>
struct Maker;
template <class... T, Tensor (*function)(T...)>
struct Maker<function> {
  static Tensor make(T... arguments, bool requires_grad) {
    Tensor t = function(std::forward<T>(arguments)...);
    return requires_grad ? t.requires_grad_() : t;
  }
};
template <auto function>
inline constexpr Body makes = bound<Maker<function>::make>;

// A function that writes to its first argument, which comes back.
template <auto function>
PyObject* run_writes(const Call& call) {
  Object none(run_bound<function>(call));
  return Py_NewRef(call.self);
}
template <auto function>
inline constexpr Body writes{run_writes<function>, types_of(function).giving(kTensor)};

// A function whose result may be its first argument as it is: then the same Python object comes back.
template <auto function>
PyObject* run_same_or_new(const Call& call) {
  Object result(run_bound<function>(call));
  return unwrap(result.get()).impl() == unwrap(call.self).impl() ? Py_NewRef(call.self) : result.release();
}
template <auto function>
inline constexpr Body same_or_new{run_same_or_new<function>, types_of(function)};

// The op in place: computes from the tensor's value and writes the result into it.
template <const auto& body>  // a Body, or a function that may be one
PyObject* run_in_place(const Call& call) {
  const Tensor& x = unwrap(call.self);
  rewrite_(x, [&](const Tensor& before) {
    const Object self(wrap(before));
    Call inside = call;
    inside.self = self.get();
    const Object result(Body{body}.run(inside));
    return fitting(call.callable->name, x, unwrap(result.get()));
  });
  run_small(x);
  return Py_NewRef(call.self);
}
template <const auto& body>
inline constexpr Body in_place{run_in_place<body>, Body{body}.types};

}  // namespace sg::bind
