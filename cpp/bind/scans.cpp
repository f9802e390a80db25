// Functions and methods of running sums, products and extremes. The arithmetic is in ops/scan.cpp.
#include "bind/bound.hpp"
#include "ops/list.hpp"

namespace sg::bind {
namespace {

#define SG_SCAN_ARGUMENTS "dim: int, *, dtype: DTypeLike | None = None"
#define SG_SCAN_DOC                                                                                                  \
  "\n\nArgs:\n    dim: the dimension to go along.\n    dtype: the type to compute in and of the result; None: that " \
  "of the input, int64 for integers."
#define SG_EXTREME_DOC                                                                                                \
  " NaN wins; of equal ones the last. The gradient goes to the chosen elements.\n\nArgs:\n    dim: the dimension to " \
  "go along.\n\nReturns:\n    values, and indices (int64)."
const Callable callables[] = {
    {"cumsum", bound<sg::cumsum>, SG_SCAN_ARGUMENTS, "Tensor",
     "Running sums along a dimension: out[i] = input[0] + ... + input[i]." SG_SCAN_DOC
     "\n\nExample:\n    >>> sg.tensor([1, 2, 3]).cumsum(0).tolist()\n    [1, 3, 6]",
     Scope::both, Autocast::wide},
    {"cumprod", bound<sg::cumprod>, SG_SCAN_ARGUMENTS, "Tensor",
     "Running products along a dimension; their gradient is right at zeros, too." SG_SCAN_DOC
     "\n\nExample:\n    >>> sg.tensor([1, 2, 3]).cumprod(0).tolist()\n    [1, 2, 6]",
     Scope::both, Autocast::wide},
    {"logcumsumexp", bound<sg::logcumsumexp>, "dim: int", "Tensor",
     "log(exp(input[0]) + ... + exp(input[i])) along a dimension, without overflow; integers become float32."
     "\n\nExample:\n    >>> sg.zeros(2).logcumsumexp(0)[0].item()\n    0.0",
     Scope::both, Autocast::wide},
    {"cummax", bound<sg::cummax>, "dim: int", "tuple[Tensor, Tensor]",
     "The largest elements so far along a dimension." SG_EXTREME_DOC
     "\n\nExample:\n    >>> sg.tensor([1, 3, 2]).cummax(0).values.tolist()\n    [1, 3, 3]"},
    {"cummin", bound<sg::cummin>, "dim: int", "tuple[Tensor, Tensor]",
     "The smallest elements so far along a dimension." SG_EXTREME_DOC
     "\n\nExample:\n    >>> sg.tensor([3, 1, 2]).cummin(0).values.tolist()\n    [3, 1, 1]"},
};

}  // namespace

void add_scans(PyObject* module) { add_callables(module, callables); }

}  // namespace sg::bind
