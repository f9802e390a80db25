// Functions and methods that draw random numbers, in place or not, and the Python class Generator. The arithmetic is in
// ops/create.cpp and ops/random.cpp.
#include <pybind11/pybind11.h>

#include <random>

#include "bind/bound.hpp"
#include "engine/engine.hpp"
#include "ops/list.hpp"

namespace py = pybind11;

namespace sg::bind {
namespace {

PyObject* generator_type = nullptr;

// The bounds of random integers: f(high), f(low, high)
struct Range {
  int64_t low, high;
};
Range range_of(const char* op, std::optional<int64_t> low, std::optional<int64_t> high) {
  if (!high) std::swap(low, high);
  if (!high) fail<TypeError>(op, "argument high is missing", std::string("see help(spirograd.") + op + ")");
  return {low.value_or(0), *high};
}

using IntOrDims = std::variant<int64_t, Dims>;

}  // namespace
template <>
struct From<IntOrDims> {
  static IntOrDims get(Fetched& f, PyObject* o) {
    if (PyIndex_Check(o)) return to_int(f.op, o);
    return From<Dims>::get(f, o);
  }
};
namespace {

template <Tensor (*draw)(const Dims&, Generator&, std::optional<DType>, DeviceId)>
Tensor sized(const Sizes& size, Generator& from, std::optional<DType> dtype, DeviceId device) {
  return draw(size.dims, from, dtype, device);
}

// randint(high, size), randint(low, high, size)
Tensor randint(std::optional<int64_t> low, const std::optional<IntOrDims>& high_or_size,
               const std::optional<Dims>& size_last, Generator& from, std::optional<DType> dtype, DeviceId device) {
  const Dims* second = high_or_size ? std::get_if<Dims>(&*high_or_size) : nullptr;
  const Dims* size = size_last ? &*size_last : second;
  if (!size || (size_last && second))
    fail<TypeError>("randint", "an argument is missing", "write randint(low, high, size)");
  std::optional<int64_t> high;
  if (high_or_size && !second) high = std::get<int64_t>(*high_or_size);
  const Range range = range_of("randint", low, high);
  return sg::randint(range.low, range.high, *size, dtype.value_or(DType::int64), device, from);
}
Tensor randint_like(const Tensor& x, std::optional<int64_t> low, std::optional<int64_t> high, Generator& from,
                    std::optional<DType> dtype, std::optional<DeviceId> device) {
  const Range range = range_of("randint_like", low, high);
  return sg::randint(range.low, range.high, x.shape(), dtype.value_or(x.dtype()), device.value_or(x.device()), from);
}
// random_(to), random_(from, to)
void random_(const Tensor& x, std::optional<int64_t> low, std::optional<int64_t> high, Generator& from) {
  if (!high) std::swap(low, high);
  sg::random_(x, low.value_or(0), high, from);
}

Tensor bernoulli(const Tensor& x, std::optional<double> p, Generator& from) {
  return p ? sg::bernoulli_like(x, *p, from) : sg::bernoulli(x, from);
}

// Of tensors, whose type and device it takes, or of two numbers and a size.
Tensor normal(const Tensor& mean, const Tensor& std, const std::optional<Dims>& size, Generator& from,
              std::optional<DType> dtype, std::optional<DeviceId> device) {
  const Tensor* like = !mean.is_number() ? &mean : !std.is_number() ? &std : nullptr;
  if (like && size) fail<TypeError>("normal", "both tensors and size are given", "give one of them");
  if (!like && !size) fail<TypeError>("normal", "argument size is missing", "write normal(0.0, 1.0, (2, 3))");
  return sg::normal(mean, std, size.value_or(Dims()), dtype.value_or(like ? like->dtype() : default_float()),
                    device.value_or(like ? like->device() : device_or_default(nullptr)), from);
}

// ---- generators ------------------------------------------------------------------------------------------------------
int64_t fresh_seed() {
  std::random_device words;
  return static_cast<int64_t>(uint64_t{words()} << 32 | words());
}

uint64_t restart_anywhere(Generator& g) {
  const int64_t seed = fresh_seed();
  g.restart(seed);
  return static_cast<uint64_t>(seed);
}
uint64_t seed_of(const Generator& g) { return static_cast<uint64_t>(g.first_seed.load()); }

int64_t to_seed(py::handle o) {
  const long long v = PyLong_AsLongLong(o.ptr());
  if (v != -1 || !PyErr_Occurred()) return v;
  PyErr_Clear();
  const unsigned long long u = PyLong_AsUnsignedLongLong(o.ptr());
  if (!PyErr_Occurred()) return static_cast<int64_t>(u);
  PyErr_Clear();
  fail<ValueError>("manual_seed", "the seed is no integer of 64 bits", "use 0 to 2**64 - 1");
}

// Seed and position are the whole state: words are computed from both (Philox), not from the words before.
Tensor state_of(const Generator& g) {
  const int64_t words[] = {g.seed, g.blocks};
  return from_host(words, {2}, DType::int64, {});
}
void set_state(Generator& g, py::handle state) {
  const Tensor& x = tensor_of("set_state", state.ptr());
  if (!(x.shape() == Dims{2}) || x.dtype() != DType::int64)
    fail<ValueError>("set_state", "a tensor " + x.shape().str() + " " + name_of(x.dtype()) + " is no state",
                     "give what get_state() returned");
  int64_t words[2];
  {
    WithoutGil unlocked;
    read(x, words);
  }
  g.first_seed = g.seed = words[0];
  g.blocks = words[1];
}

py::object to_object(const Tensor& t) { return py::reinterpret_steal<py::object>(wrap(t)); }

void add_generator(py::module_& module) {
  py::class_<Generator> type(module, "Generator", doc("Generator"), py::module_local());
  type.attr("__module__") = "spirograd";
  generator_type = type.ptr();
  type.def(py::init([](py::object device) {
             auto g = std::make_unique<Generator>();
             if (!device.is_none()) g->device = to_device_id(device.ptr());
             return g;
           }),
           py::arg("device") = py::none())
      .def_property_readonly(
          "device", [](const Generator& g) { return py::reinterpret_steal<py::object>(device_object(g.device)); },
          doc("Generator.device"))
      .def(
          "manual_seed",
          [](py::object self, py::object seed) {
            self.cast<Generator&>().restart(to_seed(seed));
            return self;
          },
          py::arg("seed"), doc("Generator.manual_seed"))
      .def("seed", restart_anywhere, doc("Generator.seed"))
      .def("initial_seed", seed_of, doc("Generator.initial_seed"))
      .def(
          "get_state", [](const Generator& g) { return to_object(state_of(g)); }, doc("Generator.get_state"))
      .def(
          "set_state", [](Generator& g, py::object state) { set_state(g, state); }, py::arg("new_state"),
          doc("Generator.set_state"))
      .def(
          "_go_to",
          [](Generator& g, int64_t seed, int64_t blocks) {
            g.seed = seed;
            g.blocks = blocks;
          },
          py::arg("seed"), py::arg("blocks"), doc("Generator._go_to"));
}

py::object manual_seed(PyObject* seed) {
  default_generator().restart(to_seed(seed));
  return py::cast(&default_generator(), py::return_value_policy::reference);
}
uint64_t seed() { return restart_anywhere(default_generator()); }
uint64_t initial_seed() { return seed_of(default_generator()); }
py::object of_thread(PyObject* own) {
  Generator* const before = set_generator_of_thread(given(own) ? &generator_of("_generator_of_thread", own) : nullptr);
  return before ? py::cast(before, py::return_value_policy::reference) : py::none();
}
Tensor get_rng_state() { return state_of(default_generator()); }
void set_rng_state(PyObject* state) { set_state(default_generator(), state); }

constexpr Callable random_callables[] = {
    {"rand", makes<sized<sg::rand>>},
    {"randn", makes<sized<sg::randn>>},
    {"rand_like", makes<sg::rand_like>},
    {"randn_like", makes<sg::randn_like>},
    {"randint", makes<randint>},
    {"randint_like", makes<randint_like>},
    {"randperm", makes<sg::randperm>},
    {"bernoulli", bound<bernoulli>},
    {"multinomial", bound<sg::multinomial>},
    {"normal", makes<normal>},
    {"uniform_", writes<sg::uniform_>},
    {"random_", writes<random_>},
    {"normal_", writes<sg::normal_>},
    {"bernoulli_", writes<sg::bernoulli_>},
    {"exponential_", writes<sg::exponential_>},
    {"manual_seed", bound<manual_seed>},
    {"seed", bound<seed>},
    {"initial_seed", bound<initial_seed>},
    {"_generator_of_thread", bound<of_thread>},
    {"_check_parameter", bound<check_parameter>},
    {"get_rng_state", bound<get_rng_state>},
    {"set_rng_state", bound<set_rng_state>},
};

}  // namespace

Generator& generator_of(const char* op, PyObject* o) {
  if (!given(o)) return default_generator();
  if (reinterpret_cast<PyObject*>(Py_TYPE(o)) != generator_type)
    fail<TypeError>(op, "generator is a " + type_name(o), "give a spirograd.Generator");
  return py::handle(o).cast<Generator&>();
}

void add_random(PyObject* m) {
  py::module_ module = py::reinterpret_borrow<py::module_>(m);
  add_generator(module);
  add_callables(m, random_callables);
}

}  // namespace sg::bind
