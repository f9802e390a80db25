// Functions and methods of sorting, searching and counting. The arithmetic is in ops/sort.cpp
// and ops/search.cpp.
#include "bind/bound.hpp"
#include "ops/list.hpp"

namespace sg::bind {
namespace {

constexpr Callable callables[] = {
    {"sort", bound<sg::sort>},
    {"argsort", bound<sg::argsort>},
    {"msort", bound<sg::msort>},
    {"topk", bound<sg::topk>},
    {"kthvalue", bound<sg::kthvalue>},
    {"quantile", bound<sg::quantile>, Autocast::wide},
    {"nanquantile", bound<sg::nanquantile>, Autocast::wide},
    {"searchsorted", bound<sg::searchsorted>},
    {"bucketize", bound<sg::bucketize>},
    {"isin", bound<sg::isin>},
    {"unique", bound<sg::unique>},
    {"unique_consecutive", bound<sg::unique_consecutive>},
    {"bincount", bound<sg::bincount>},
};

}  // namespace

void add_sorting(PyObject* module) { add_callables(module, callables); }

}  // namespace sg::bind
