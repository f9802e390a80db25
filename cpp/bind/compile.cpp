// sg.compile: captures one call, and replays recordings in place of later ones. python/spirograd/compiler.py decides
// which recording fits a call.
#include <pybind11/pybind11.h>

#include "bind/caster.hpp"
#include "bind/changes.hpp"
#include "bind/device.hpp"
#include "bind/methods.hpp"
#include "bind/transaction.hpp"
#include "engine/replay/capture.hpp"
#include "ops/list.hpp"

namespace py = pybind11;

namespace sg::bind {
namespace {

using Tensors = std::vector<Tensor>;

py::bytes signature_of(const Tensors& arguments) {
  std::vector<uint64_t> words = [&] {
    WithoutGil unlocked;
    return signature(arguments);
  }();
  const DeviceId device = device_or_default(nullptr);
  words.push_back(uint64_t(device.is_gpu()) | uint64_t(device.index) << 1);
  return py::bytes(reinterpret_cast<const char*>(words.data()), words.size() * sizeof words[0]);
}

std::pair<std::shared_ptr<Recording>, std::string> recorded(Capture& c, const Tensors& results) {
  std::string problem;
  std::shared_ptr<Recording> made = c.recording(results, problem);
  return {std::move(made), std::move(problem)};
}

std::optional<std::pair<Tensors, std::vector<BoundTransaction>>> run(Recording& r, const Tensors& arguments,
                                                                     const std::vector<double>& numbers,
                                                                     const py::list& changes) {
  std::optional<Recording::Replayed> done;
  {
    WithoutGil unlocked;
    done = r.run(arguments, numbers);
  }
  if (!done) return std::nullopt;
  Changes(changes.ptr()).make();
  return std::pair(std::move(done->results),
                   std::vector<BoundTransaction>(done->transactions.begin(), done->transactions.end()));
}

py::object outside(const Capture& c, py::object result) {
  const Tensor& x = tensor_of("compile", result.ptr());
  const Tensor same = c.outside(x);
  return same.ref() == x.ref() ? result : py::cast(same);
}

void stop(Capture& c) {
  WithoutGil unlocked;
  c.stop();
}

constexpr Callable compile_callables[] = {
    {"_signature", bound<signature_of>},
};

}  // namespace

void add_compile(PyObject* m) {
  py::module_ module = py::reinterpret_borrow<py::module_>(m);
  py::class_<Recording, std::shared_ptr<Recording>>(module, "_Recording", py::module_local())
      .def("run", run)
      .def("outside", &Recording::outside)
      .def("generators",
           [](const Recording& r) {
             py::list all;
             for (Generator* g : r.generators()) all.append(py::cast(g, py::return_value_policy::reference));
             return all;
           })
      .def("difference", [](const Recording& a, const Recording& b) { return Recording::difference(a, b); })
      .def("allow_open_reports_of", &Recording::allow_open_reports_of);
  py::class_<Capture>(module, "_Capture", py::module_local())
      .def(py::init<const Tensors&>())
      .def("arguments", &Capture::arguments)
      .def("stop", stop)
      .def("outside", outside)
      .def("abandon", &Capture::abandon)
      .def("recording", recorded);
  add_callables(m, compile_callables);
}

}  // namespace sg::bind
