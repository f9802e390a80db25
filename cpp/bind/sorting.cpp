// Functions that sort, and what is made of them.
#include "bind/bound.hpp"
#include "ops/list.hpp"

namespace sg::bind {
namespace {

const Row rows[] = {
    {"sort", bound<sg::sort>, "dim: int = -1, descending: bool = False, stable: bool = False", "values_and_indices",
     "The elements in order along a dimension, and where they were.\n\nNaN counts as the largest; "
     "equal elements always keep their order. The gradient of a value goes to the element it was.\n\nArgs:\n"
     "    dim: the dimension to sort along.\n    descending: the largest first.\n    stable: accepted; every sort is "
     "stable.\n\nReturns:\n    (values, indices), of the shape of input; indices are int64.\n\nExample:\n"
     "    >>> sg.tensor([3.0, 1.0, 2.0]).sort().indices.tolist()\n    [1, 2, 0]"},
    {"argsort", bound<sg::argsort>, "dim: int = -1, descending: bool = False, stable: bool = False", "Tensor",
     "The indices that sort along a dimension; equal elements keep their order.\n\nExample:\n"
     "    >>> sg.tensor([3.0, 1.0, 2.0]).argsort().tolist()\n    [1, 2, 0]"},
    {"msort", bound<sg::msort>, "", "Tensor",
     "The elements in order along the first dimension.\n\nExample:\n    >>> sg.tensor([3, 1, 2]).msort().tolist()\n"
     "    [1, 2, 3]"},
    {"topk", bound<sg::topk>, "k: int, dim: int = -1, largest: bool = True, sorted: bool = True", "values_and_indices",
     "The k largest elements along a dimension, and where they are; of equal ones the first.\n\nArgs:\n    k: how "
     "many.\n"
     "    dim: the dimension to choose along.\n    largest: False: the k smallest.\n    sorted: False: in any order."
     "\n\nReturns:\n    (values, indices), with k elements along dim.\n\nRaises:\n    ValueError: k is larger than the "
     "dimension.\n\nExample:\n    >>> sg.tensor([3.0, 1.0, 2.0]).topk(2).values.tolist()\n    [3.0, 2.0]"},
};

}  // namespace

void add_sorting(PyObject* module) { add_rows(module, rows); }

}  // namespace sg::bind
