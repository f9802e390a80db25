// Functions and methods that draw random numbers, in place or not, and the Python class Generator. The arithmetic is in
// ops/create.cpp and ops/random.cpp.
#include <pybind11/pybind11.h>

#include <random>

#include "bind/bound.hpp"
#include "bind/create.hpp"
#include "engine/engine.hpp"
#include "ops/list.hpp"

namespace py = pybind11;

namespace sg::bind {
namespace {

PyObject* generator_type = nullptr;

using Distribution = Tensor (*)(const Dims&, DeviceId, Generator&);

template <Distribution draw>
PyObject* made_of(const char* op, const Call& c) {
  Arguments a(op, c);
  const Dims shape = c.count == 0 && !c.names ? Dims() : a.sizes("size", "shape");
  Generator& from = generator_of(a.op(), a.keyword("generator"));
  const Options o = options(a);
  const DType dtype = o.dtype.value_or(default_float());
  check_real(op, dtype);
  return made(cast(draw(shape, o.device, from), dtype), o);
}
PyObject* rand(const Call& c) { return made_of<sg::rand>("rand", c); }
PyObject* randn(const Call& c) { return made_of<sg::randn>("randn", c); }

template <Distribution draw>
PyObject* made_like(const char* op, const Call& c) {
  Arguments a(op, c);
  const Tensor& x = tensor_of(op, c.self ? c.self : a.need("input"));
  Generator& from = generator_of(a.op(), a.keyword("generator"));
  const Options o = options(a, &x);
  const DType dtype = o.dtype.value_or(x.dtype());
  check_real(op, dtype);
  return made(cast(draw(x.shape(), o.device, from), dtype), o);
}
PyObject* rand_like(const Call& c) { return made_like<sg::rand>("rand_like", c); }
PyObject* randn_like(const Call& c) { return made_like<sg::randn>("randn_like", c); }

// randint(high, size), randint(low, high, size)
PyObject* randint(const Call& c) {
  Arguments a("randint", c);
  PyObject *first = a.take("low"), *second = a.take("high"), *third = a.take("size");
  if (first && second && !third && !PyIndex_Check(second)) std::swap(second, third);  // randint(high, size)
  Generator& from = generator_of(a.op(), a.keyword("generator"));
  const Options o = options(a);
  if (!second) std::swap(first, second);
  if (!third || !second) fail<TypeError>("randint", "an argument is missing", "write randint(low, high, size)");
  const int64_t low = given(first) ? to_int("randint", first) : 0, high = to_int("randint", second);
  return made(sg::randint(low, high, to_dims("randint", third), o.dtype.value_or(DType::int64), o.device, from), o);
}

PyObject* randint_like(const Call& c) {
  Arguments a("randint_like", c);
  const Tensor& x = tensor_of("randint_like", c.self ? c.self : a.need("input"));
  PyObject *first = a.take("low"), *second = a.take("high");
  Generator& from = generator_of(a.op(), a.keyword("generator"));
  const Options o = options(a, &x);
  if (!second) std::swap(first, second);
  if (!second) fail<TypeError>("randint_like", "argument high is missing", "write randint_like(x, low, high)");
  const int64_t low = given(first) ? to_int("randint_like", first) : 0, high = to_int("randint_like", second);
  return made(sg::randint(low, high, x.shape(), o.dtype.value_or(x.dtype()), o.device, from), o);
}

PyObject* bernoulli(const Call& c) {
  Arguments a("bernoulli", c);
  const Tensor& x = tensor_of("bernoulli", c.self ? c.self : a.need("input"));
  PyObject* p = a.take("p");
  Generator& from = generator_of(a.op(), a.keyword("generator"));
  a.done();
  return wrap(given(p) ? sg::bernoulli_like(x, to_real("bernoulli", p), from) : sg::bernoulli(x, from));
}

PyObject* normal(const Call& c) {
  Arguments a("normal", c);
  PyObject *first = c.self ? c.self : a.take("mean"), *second = a.take("std");
  PyObject* size = a.take("size");
  Generator& from = generator_of(a.op(), a.keyword("generator"));
  const Tensor* like = first && is_tensor(first)     ? &unwrap(first)
                       : second && is_tensor(second) ? &unwrap(second)
                                                     : nullptr;
  const Options o = options(a, like);
  Tensor room_mean, room_std;
  const Tensor zero(0.0), one(1.0);
  const Tensor& mean = given(first) ? operand_of("normal", first, room_mean, o.device) : zero;
  const Tensor& std = given(second) ? operand_of("normal", second, room_std, o.device) : one;
  if (like && given(size)) fail<TypeError>("normal", "both tensors and size are given", "give one of them");
  if (!like && !given(size)) fail<TypeError>("normal", "argument size is missing", "write normal(0.0, 1.0, (2, 3))");
  const Dims shape = given(size) ? to_dims("normal", size) : Dims();
  const DType dtype = o.dtype.value_or(like ? like->dtype() : default_float());
  return made(sg::normal(mean, std, shape, dtype, o.device, from), o);
}

// ---- in place --------------------------------------------------------------------------------------------------------
PyObject* random_(const Call& c) {
  Arguments a("random_", c);
  PyObject *first = a.take("from", "from_"), *second = a.take("to");
  Generator& from = generator_of(a.op(), a.keyword("generator"));
  a.done();
  if (!given(second)) std::swap(first, second);  // random_(to)
  const int64_t low = given(first) ? to_int("random_", first) : 0;
  sg::random_(unwrap(c.self), low, given(second) ? std::optional(to_int("random_", second)) : std::nullopt, from);
  return Py_NewRef(c.self);
}

// ---- generators ------------------------------------------------------------------------------------------------------
int64_t fresh_seed() {
  std::random_device words;
  return static_cast<int64_t>(uint64_t{words()} << 32 | words());
}

int64_t to_seed(py::handle o) {
  const long long v = PyLong_AsLongLong(o.ptr());
  if (v != -1 || !PyErr_Occurred()) return v;
  PyErr_Clear();
  const unsigned long long u = PyLong_AsUnsignedLongLong(o.ptr());
  if (!PyErr_Occurred()) return static_cast<int64_t>(u);
  PyErr_Clear();
  fail<ValueError>("manual_seed", "the seed is no integer of 64 bits", "use 0 to 2**64 - 1");
}

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
  g.seed = words[0];
  g.blocks = words[1];
}

py::object to_object(const Tensor& t) { return py::reinterpret_steal<py::object>(wrap(t)); }

void add_generator(py::module_& module) {
  py::class_<Generator> type(module, "Generator",
                             "A stream of random numbers of its own: the same seed gives the same words on every "
                             "device.\n\nExample:\n    >>> g = sg.Generator().manual_seed(7)\n"
                             "    >>> a = sg.rand(2, generator=g)\n    >>> g = g.manual_seed(7)\n"
                             "    >>> a.tolist() == sg.rand(2, generator=g).tolist()\n    True",
                             py::module_local());
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
          "What was asked for; the numbers do not depend on it.")
      .def(
          "manual_seed",
          [](py::object self, py::object seed) {
            self.cast<Generator&>().restart(to_seed(seed));
            return self;
          },
          py::arg("seed"), "Starts anew; returns the generator.")
      .def(
          "seed",
          [](Generator& g) {
            const int64_t seed = fresh_seed();
            g.restart(seed);
            return static_cast<uint64_t>(seed);
          },
          "Starts anew from a seed that nobody can guess; returns it.")
      .def(
          "initial_seed", [](const Generator& g) { return static_cast<uint64_t>(g.seed.load()); }, "The seed.")
      .def(
          "get_state", [](const Generator& g) { return to_object(state_of(g)); }, "Where the stream is.")
      .def(
          "set_state", [](Generator& g, py::object state) { set_state(g, state); }, py::arg("new_state"),
          "Goes on from a state of get_state().");
}

PyObject* manual_seed(const Call& c) {
  Arguments a("manual_seed", c);
  const int64_t seed = to_seed(a.need("seed"));
  a.done();
  default_generator().restart(seed);
  return py::cast(&default_generator(), py::return_value_policy::reference).release().ptr();
}
PyObject* seed(const Call& c) {
  Arguments a("seed", c);
  a.done();
  const int64_t fresh = fresh_seed();
  default_generator().restart(fresh);
  return check(PyLong_FromUnsignedLongLong(static_cast<uint64_t>(fresh)));
}
PyObject* initial_seed(const Call& c) {
  Arguments a("initial_seed", c);
  a.done();
  return check(PyLong_FromUnsignedLongLong(static_cast<uint64_t>(default_generator().seed.load())));
}
PyObject* get_rng_state(const Call& c) {
  Arguments a("get_rng_state", c);
  a.done();
  return wrap(state_of(default_generator()));
}
PyObject* set_rng_state(const Call& c) {
  Arguments a("set_rng_state", c);
  PyObject* state = a.need("new_state");
  a.done();
  set_state(default_generator(), state);
  Py_RETURN_NONE;
}

#define SG_GENERATOR "generator: Generator | None = None"
#define SG_GENERATOR_DOC "    generator: the stream to take from; None is the common one.\n"
#define SG_FILL_DOC "\n\nReturns:\n    The tensor itself.\n\nRaises:\n    TypeError: not a floating type."
constexpr auto kFunction = Scope::function, kMethod = Scope::method;
const Callable random_callables[] = {
    {"rand", rand, "*size: int | Sequence[int], " SG_GENERATOR ", " SG_OPTIONS, "Tensor",
     "Uniform numbers in [0, 1), the same bits on every device.\n\nArgs:\n    size: several ints or one "
     "tuple.\n" SG_GENERATOR_DOC SG_OPTIONS_DOC "\nExample:\n    >>> x = sg.rand(2, 3)",
     kFunction},
    {"randn", randn, "*size: int | Sequence[int], " SG_GENERATOR ", " SG_OPTIONS, "Tensor",
     "Standard normal numbers.\n\nArgs:\n    size: several ints or one tuple.\n" SG_GENERATOR_DOC SG_OPTIONS_DOC
     "\nExample:\n    >>> x = sg.randn(2, 3)",
     kFunction},
    {"rand_like", rand_like, "input: Tensor, *, " SG_GENERATOR ", " SG_OPTIONS, "Tensor",
     "Uniform numbers in [0, 1) in the shape, type and device of another tensor.\n\nArgs:\n    input: the "
     "model.\n" SG_GENERATOR_DOC SG_OPTIONS_DOC,
     kFunction},
    {"randn_like", randn_like, "input: Tensor, *, " SG_GENERATOR ", " SG_OPTIONS, "Tensor",
     "Standard normal numbers in the shape, type and device of another tensor.\n\nArgs:\n    input: the "
     "model.\n" SG_GENERATOR_DOC SG_OPTIONS_DOC,
     kFunction},
    {"randint", randint, "low: int, high: int, size: int | Sequence[int], *, " SG_GENERATOR ", " SG_OPTIONS, "Tensor",
     "Integers from low up to but without high, the same on every device; randint(high, size) starts at 0.\n\nArgs:\n"
     "    low: the smallest.\n    high: the bound, at most 2**62 above.\n    size: the "
     "shape.\n" SG_GENERATOR_DOC SG_OPTIONS_DOC
     "\nRaises:\n    ValueError: an empty range.\n\nExample:\n    >>> x = sg.randint(1, 7, (2, 3))\n"
     "    >>> sg.randint(1, (2,)).tolist()\n    [0, 0]",
     kFunction},
    {"randint_like", randint_like, "input: Tensor, low: int, high: int, *, " SG_GENERATOR ", " SG_OPTIONS, "Tensor",
     "Integers from low up to but without high in the shape, type and device of another tensor; randint_like(input, "
     "high) starts at 0.\n\nArgs:\n    input: the model.\n    low: the smallest.\n    high: the "
     "bound.\n" SG_GENERATOR_DOC SG_OPTIONS_DOC,
     kFunction},
    {"randperm", makes<sg::randperm>, "n: int, *, " SG_GENERATOR ", " SG_OPTIONS, "Tensor",
     "The integers from 0 to n - 1 in a random order.\n\nArgs:\n    n: how many.\n" SG_GENERATOR_DOC SG_OPTIONS_DOC
     "\nExample:\n    >>> sorted(sg.randperm(4).tolist())\n    [0, 1, 2, 3]",
     kFunction},
    {"bernoulli", bernoulli, "p: float | None = None, *, " SG_GENERATOR, "Tensor",
     "1 with the probability that the tensor holds, or with p, else 0.\n\nArgs:\n    p: one probability for "
     "all.\n" SG_GENERATOR_DOC "\nExample:\n    >>> sg.bernoulli(sg.tensor([0.0, 1.0])).tolist()\n    [0.0, 1.0]"},
    {"multinomial", bound<sg::multinomial>, "num_samples: int, replacement: bool = False, *, " SG_GENERATOR, "Tensor",
     "Categories drawn by their weights: [categories] -> [num_samples], or row by row; weights need not sum to "
     "1.\n\nArgs:\n    num_samples: how many.\n    replacement: whether one may come again.\n" SG_GENERATOR_DOC
     "\nReturns:\n    int64 numbers of categories.\n\nRaises:\n    ValueError: more samples than categories, without "
     "replacement.\n\nExample:\n    >>> sg.multinomial(sg.tensor([0.0, 1.0]), 3, replacement=True).tolist()\n"
     "    [1, 1, 1]"},
    {"normal", normal,
     "mean: Tensor | float = 0.0, std: Tensor | float = 1.0, size: int | Sequence[int] | None = None, *, " SG_GENERATOR
     ", " SG_OPTIONS,
     "Tensor",
     "Normal numbers of a mean and a standard deviation: two tensors, one, or two numbers and a size.\n\nArgs:\n"
     "    mean: where they lie.\n    std: how far apart, 0 or more.\n    size: the shape, when both are "
     "numbers.\n" SG_GENERATOR_DOC SG_OPTIONS_DOC "\nExample:\n    >>> sg.normal(2.0, 0.0, (2,)).tolist()\n"
     "    [2.0, 2.0]",
     kFunction},
    {"uniform_", writes<sg::uniform_>, "from_: float = 0, to: float = 1, *, " SG_GENERATOR, "Tensor",
     "Writes uniform numbers in [from, to)." SG_FILL_DOC "\n\nExample:\n    >>> x = sg.empty(3).uniform_(-1, 1)",
     kMethod},
    {"random_", random_, "from_: int | None = None, to: int | None = None, *, " SG_GENERATOR, "Tensor",
     "Writes integers from `from` up to but without `to`; without bounds, of all that the type holds exactly, from "
     "0.\n\nReturns:\n    The tensor itself.\n\nExample:\n    >>> x = sg.empty(3).random_(10)",
     kMethod},
    {"normal_", writes<sg::normal_>, "mean: float = 0, std: float = 1, *, " SG_GENERATOR, "Tensor",
     "Writes normal numbers." SG_FILL_DOC "\n\nExample:\n    >>> x = sg.empty(3).normal_(0, 0.02)", kMethod},
    {"bernoulli_", writes<sg::bernoulli_>, "p: Tensor | float = 0.5, *, " SG_GENERATOR, "Tensor",
     "Writes 1 with probability p, else 0.\n\nReturns:\n    The tensor itself.\n\nExample:\n"
     "    >>> sg.empty(2).bernoulli_(1.0).tolist()\n    [1.0, 1.0]",
     kMethod},
    {"exponential_", writes<sg::exponential_>, "lambd: float = 1, *, " SG_GENERATOR, "Tensor",
     "Writes exponentially distributed numbers of rate lambd." SG_FILL_DOC
     "\n\nExample:\n    >>> x = sg.empty(3).exponential_()",
     kMethod},
    {"manual_seed", manual_seed, "seed: int", "Generator",
     "Restarts the random numbers of all devices from a seed.\n\nReturns:\n    The common generator.\n\nExample:\n"
     "    >>> g = sg.manual_seed(0)",
     kFunction},
    {"seed", seed, "", "int", "Restarts the random numbers from an unpredictable seed, and returns it.", kFunction},
    {"initial_seed", initial_seed, "", "int", "The seed that the random numbers started from.", kFunction},
    {"get_rng_state", get_rng_state, "", "Tensor",
     "The position of the stream of random numbers, for set_rng_state().\n\nExample:\n    >>> state = "
     "sg.get_rng_state()\n"
     "    >>> a = sg.rand(2)\n    >>> sg.set_rng_state(state)\n    >>> a.tolist() == sg.rand(2).tolist()\n    True",
     kFunction},
    {"set_rng_state", set_rng_state, "new_state: Tensor", "None",
     "Continues from a state of get_rng_state().\n\nRaises:\n    ValueError: the tensor is no state.", kFunction},
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
