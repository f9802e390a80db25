// __dlpack__, __dlpack_device__ and from_dlpack: memory shared with other array libraries. Owns capsules and loans;
// dlpack.hpp has the structs.
#include "bind/dlpack.hpp"

#include <memory>

#include "bind/bound.hpp"
#include "bind/device.hpp"
#include "bind/methods.hpp"
#include "bind/tensor.hpp"
#include "engine/engine.hpp"
#include "ops/list.hpp"

namespace sg::bind {
namespace {

[[noreturn]] void refuse(const std::string& what, const std::string& hint) {
  raise(PyExc_BufferError, "dlpack: " + what + "; " + hint);
}

// ---- out -------------------------------------------------------------------------------------------------------------
dlpack::DataType to_dlpack(DType t) {
  const auto bits = static_cast<uint8_t>(8 * size_of(t));
  if (t == DType::boolean) return {dlpack::kBool, bits, 1};
  if (t == DType::bfloat16) return {dlpack::kBfloat, bits, 1};
  if (t == DType::uint8) return {dlpack::kUInt, bits, 1};
  if (is_float(t)) return {dlpack::kFloat, bits, 1};
  return {dlpack::kInt, bits, 1};
}

// What a capsule keeps alive. The other library releases it from any thread, with or without the GIL.
// `memory` keeps the tensor's bytes where they are and marks them as shared, so that the tensor is never moved to other
// bytes under the consumer.
template <class Managed>
struct Loan {
  Managed managed{};
  Escaped memory;
  Dims shape, strides;
};

template <class Managed>
void drop_capsule(PyObject* capsule) {
  // Still under its first name: no consumer has taken the array.
  if (!PyCapsule_IsValid(capsule, Managed::kName)) return;
  auto* managed = static_cast<Managed*>(PyCapsule_GetPointer(capsule, Managed::kName));
  if (managed->deleter) managed->deleter(managed);
}

template <class Managed>
PyObject* capsule_of(const Tensor& x, bool copied) {
  auto loan = std::make_unique<Loan<Managed>>();
  {
    WithoutGil unlocked;
    loan->memory = Escaped(x);
  }
  loan->shape = x.shape();
  loan->strides = x.strides();
  Managed& m = loan->managed;
  m.array = {.data = loan->memory.data,
             .device = {dlpack::kCpu, 0},
             .ndim = x.rank(),
             .dtype = to_dlpack(x.dtype()),
             .shape = loan->shape.v,
             .strides = loan->strides.v,
             .byte_offset = 0};
  m.context = loan.get();
  m.deleter = [](Managed* self) { delete static_cast<Loan<Managed>*>(self->context); };
  if constexpr (requires { m.flags; }) {
    m.major = 1;
    m.minor = 0;
    m.flags = copied ? uint64_t{dlpack::kIsCopied} : 0;
  }
  PyObject* capsule = check(PyCapsule_New(&m, Managed::kName, drop_capsule<Managed>));
  loan.release();
  return capsule;
}

dlpack::Device to_pair(const char* name, PyObject* o) {
  Object list(PySequence_Fast(o, ""));
  if (!list || PySequence_Fast_GET_SIZE(list.get()) != 2) {
    PyErr_Clear();
    fail<TypeError>("__dlpack__", std::string(name) + " is no pair of integers", "give two");
  }
  return {static_cast<int32_t>(to_int("__dlpack__", PySequence_Fast_GET_ITEM(list.get(), 0))),
          static_cast<int32_t>(to_int("__dlpack__", PySequence_Fast_GET_ITEM(list.get(), 1)))};
}

Object dlpack_capsule(const Tensor& x, PyObject* stream, PyObject* max_version, PyObject* device,
                      const std::optional<bool>& copy) {
  if (x.shows_gradient())
    refuse("the tensor is part of a gradient graph that others do not see", "call detach() first");
  if (given(stream)) refuse("a stream was given, and tensors have none", "use stream=None");
  const bool on_gpu = x.device().is_gpu();
  const bool to_host = given(device) ? to_pair("dl_device", device).type == dlpack::kCpu : !on_gpu;
  if (!to_host)
    refuse("memory of " + x.device().str() + " cannot be used by another library",
           "ask for a copy on the CPU with dl_device=(1, 0)");
  bool copied = copy.value_or(false);
  if (on_gpu && copy && !copied)
    refuse("a tensor on " + x.device().str() + " cannot reach the CPU without a copy", "use copy=None");
  Tensor t = x;
  if (on_gpu) {
    t = moved(x, {}, {});
    copied = true;
  } else if (copied) {
    t = sg::clone(x);
  }
  if (given(max_version) && to_pair("max_version", max_version).type >= 1)
    return Object(capsule_of<dlpack::Versioned>(t, copied));
  return Object(capsule_of<dlpack::Unversioned>(t, copied));
}

Object dlpack_device(const Tensor& x) {
  const DeviceId id = x.device();
  return Object(check(Py_BuildValue("(ii)", id.is_gpu() ? dlpack::kVulkan : dlpack::kCpu, id.is_gpu() ? id.index : 0)));
}

// ---- in --------------------------------------------------------------------------------------------------------------
DType from_dlpack_type(dlpack::DataType t) {
  for (int i = 0; i < kDTypeCount; ++i) {
    const auto dtype = static_cast<DType>(i);
    const dlpack::DataType own = to_dlpack(dtype);
    if (own.code == t.code && own.bits == t.bits && t.lanes == 1) return dtype;
  }
  fail<TypeError>("from_dlpack",
                  "elements of type code " + std::to_string(t.code) + " with " + std::to_string(t.bits) + " bits and " +
                      std::to_string(t.lanes) + " lanes are not supported",
                  "convert the array first");
}

struct Described {
  DType dtype;
  Dims shape, strides;
  void* data;
};

// What a capsule says about its array. It is checked: the producer may be wrong.
Described described(const dlpack::Array& array) {
  if (array.device.type != dlpack::kCpu && array.device.type != dlpack::kCudaHost)
    refuse("the array is on a device of type " + std::to_string(array.device.type), "copy it to the CPU first");
  Described out{from_dlpack_type(array.dtype), {}, {}, nullptr};
  if (array.ndim < 0 || array.ndim > kMaxRank)
    refuse("the array has " + std::to_string(array.ndim) + " dimensions", "use 0 to 8");
  if (array.ndim > 0 && !array.shape) refuse("the array has no shape", "make another one");
  for (int d = 0; d < array.ndim; ++d) out.shape.push(array.shape[d]);
  check_size("from_dlpack", out.shape);
  out.strides = contiguous_strides(out.shape);
  int64_t reach = 1;
  for (int d = 0; d < out.shape.rank && array.strides; ++d) {
    if (out.shape[d] > 1) out.strides[d] = array.strides[d];
    if (out.strides[d] < 0) refuse("the array has negative strides", "make a copy of it first");
    if (out.shape[d] > 1) reach = plus("from_dlpack", reach, times("from_dlpack", out.shape[d] - 1, out.strides[d]));
  }
  const auto address = reinterpret_cast<uintptr_t>(array.data);
  if (out.shape.numel() == 0) return out;
  if (!array.data) refuse("the array has elements and no memory", "make another one");
  if (reach > kMaxElements || array.byte_offset > UINTPTR_MAX - address - uint64_t(kMaxElements) * 8)
    refuse("the array reaches beyond any memory", "make another one");
  out.data = static_cast<char*>(array.data) + array.byte_offset;
  if ((address + array.byte_offset) % size_of(out.dtype) != 0)
    refuse("the array is not aligned to its elements", "make a copy of it first");
  return out;
}

// Takes the array out of its capsule.
template <class Managed>
Tensor take(PyObject* capsule, bool may_copy, bool must_copy) {
  auto* m = static_cast<Managed*>(PyCapsule_GetPointer(capsule, Managed::kName));
  if (!m) throw PythonError();
  bool read_only = false;
  if constexpr (requires { m->flags; }) {
    if (m->major > 1) refuse("DLPack " + std::to_string(m->major) + " is not known", "ask for max_version=(1, 0)");
    read_only = (m->flags & dlpack::kReadOnly) != 0;
  }
  const Described array = described(m->array);
  if (read_only && !may_copy) refuse("the array is read-only and a tensor is not", "allow a copy");
  Tensor shared = share_host(array.data, array.shape, array.strides, array.dtype, [m] {
    if (m->deleter && Py_IsInitialized()) m->deleter(m);
  });
  check(PyCapsule_SetName(capsule, Managed::kUsed));
  // The producer may still write to an array that it calls read-only, so it is copied now.
  if (!read_only && !must_copy) return shared;
  return sg::clone(shared);
}

Tensor take_capsule(PyObject* capsule, bool may_copy, bool must_copy) {
  if (PyCapsule_IsValid(capsule, dlpack::Versioned::kName))
    return take<dlpack::Versioned>(capsule, may_copy, must_copy);
  if (PyCapsule_IsValid(capsule, dlpack::Unversioned::kName))
    return take<dlpack::Unversioned>(capsule, may_copy, must_copy);
  fail<ValueError>("from_dlpack", "the capsule holds no array, or it was taken already", "make a new one");
}

// Asks for a versioned capsule; older libraries know no such argument.
Object ask(PyObject* o, bool from_device, const std::optional<bool>& copy) {
  Object method(PyObject_GetAttrString(o, "__dlpack__"));
  if (!method) {
    PyErr_Clear();
    fail<TypeError>("from_dlpack", "a " + type_name(o) + " has no __dlpack__", "give an array or a capsule");
  }
  Object none(PyTuple_New(0)), keywords(check(Py_BuildValue("{s:(ii)}", "max_version", 1, 0)));
  if (from_device) {
    Object host(check(Py_BuildValue("(ii)", dlpack::kCpu, 0)));
    check(PyDict_SetItemString(keywords.get(), "dl_device", host.get()));
  }
  if (copy) check(PyDict_SetItemString(keywords.get(), "copy", *copy ? Py_True : Py_False));
  PyObject* capsule = PyObject_Call(method.get(), none.get(), keywords.get());
  if (!capsule && PyErr_ExceptionMatches(PyExc_TypeError) && !from_device) {
    PyErr_Clear();
    capsule = PyObject_CallNoArgs(method.get());
  }
  return Object(check(capsule));
}

Tensor from_dlpack(PyObject* o, const std::optional<DeviceId>& device, const std::optional<bool>& copy) {
  const bool may_copy = copy.value_or(true), must_copy = copy.value_or(false);
  Tensor t;
  if (is_tensor(o)) {
    t = must_copy ? sg::clone(unwrap(o).detach()) : unwrap(o).detach();
  } else if (PyCapsule_CheckExact(o)) {
    t = take_capsule(o, may_copy, must_copy);
  } else {
    Object place(PyObject_CallMethod(o, "__dlpack_device__", nullptr));
    if (!place) PyErr_Clear();
    const int32_t type = place ? to_pair("__dlpack_device__()", place.get()).type : dlpack::kCpu;
    const bool from_device = type != dlpack::kCpu && type != dlpack::kCudaHost;
    t = take_capsule(ask(o, from_device, copy).get(), may_copy, must_copy);
  }
  const DeviceId to = device.value_or(t.device());
  if (!(to == t.device()) && !may_copy)
    refuse("a tensor on " + t.device().str() + " cannot reach " + to.str() + " without a copy", "use copy=None");
  return moved(t, {}, to);
}

constexpr Callable callables[] = {
    {"__dlpack__", bound<dlpack_capsule>},
    {"__dlpack_device__", bound<dlpack_device>},
    {"from_dlpack", bound<from_dlpack>},
};

}  // namespace

void add_dlpack(PyObject* module) { add_callables(module, callables); }

}  // namespace sg::bind
