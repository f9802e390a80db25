// Functions and methods of running sums, products and extremes. The arithmetic is in ops/scan.cpp.
#include "bind/bound.hpp"
#include "ops/list.hpp"

namespace sg::bind {
namespace {

constexpr Callable callables[] = {
    {"cumsum", bound<sg::cumsum>, Autocast::wide},
    {"cumprod", bound<sg::cumprod>, Autocast::wide},
    {"logcumsumexp", bound<sg::logcumsumexp>, Autocast::wide},
    {"cummax", bound<sg::cummax>},
    {"cummin", bound<sg::cummin>},
};

}  // namespace

void add_scans(PyObject* module) { add_callables(module, callables); }

}  // namespace sg::bind
