// Functions and methods of sorting, searching and counting: names, signatures, docs. The arithmetic is in ops/sort.cpp
// and ops/search.cpp.
#include "bind/bound.hpp"
#include "ops/list.hpp"

namespace sg::bind {
namespace {

#define SG_QUANTILE_DOC                                                                                              \
  "\n\nArgs:\n    q: in [0, 1]: a number, or a tensor [m], whose dimension comes first in the result.\n    dim: "    \
  "None: of "                                                                                                        \
  "all elements.\n    keepdim: keep folded dimensions as size 1.\n    interpolation: between two elements: linear, " \
  "lower, higher, nearest or midpoint; with linear, q has a gradient, too."
#define SG_UNIQUE_DOC                                                                                                  \
  "\n    return_inverse: also, for each element, which of them it is.\n    return_counts: also how often each "        \
  "occurs.\n    dim: compare slices along it; None: elements.\n\nReturns:\n    The elements [n], or the slices, with " \
  "n along dim; or a tuple that begins with them."
const Callable callables[] = {
    {"sort", bound<sg::sort>, "dim: int = -1, descending: bool = False, stable: bool = False", "Any",
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
    {"topk", bound<sg::topk>, "k: int, dim: int = -1, largest: bool = True, sorted: bool = True", "Any",
     "The k largest elements along a dimension, and where they are; of equal ones the first.\n\nArgs:\n    k: how "
     "many.\n"
     "    dim: the dimension to choose along.\n    largest: False: the k smallest.\n    sorted: False: in any order."
     "\n\nReturns:\n    (values, indices), with k elements along dim.\n\nRaises:\n    ValueError: k is larger than the "
     "dimension.\n\nExample:\n    >>> sg.tensor([3.0, 1.0, 2.0]).topk(2).values.tolist()\n    [3.0, 2.0]"},
    {"kthvalue", bound<sg::kthvalue>, "k: int, dim: int = -1, keepdim: bool = False", "Any",
     "The k-th smallest element along a dimension, counted from 1, and where it is.\n\nArgs:\n    k: from 1 to the "
     "size "
     "of the dimension.\n    dim: the dimension.\n    keepdim: keep it as size 1.\n\nRaises:\n    ValueError: k is out "
     "of "
     "range.\n\nExample:\n    >>> sg.tensor([3.0, 1.0, 2.0]).kthvalue(2).values.item()\n    2.0"},
    {"quantile", bound<sg::quantile>,
     "q: Tensor | float, dim: int | None = None, keepdim: bool = False, *, interpolation: str = 'linear'", "Tensor",
     "The q-quantiles along a dimension, or of all elements; NaN wins." SG_QUANTILE_DOC
     "\n\nExample:\n    >>> sg.tensor([0.0, 1.0, 2.0, 4.0]).quantile(0.5).item()\n    1.5",
     Scope::both, Autocast::wide},
    {"nanquantile", bound<sg::nanquantile>,
     "q: Tensor | float, dim: int | None = None, keepdim: bool = False, *, interpolation: str = 'linear'", "Tensor",
     "The q-quantiles of what is not NaN." SG_QUANTILE_DOC, Scope::both, Autocast::wide},
    {"searchsorted", bound<sg::searchsorted>,
     "sorted_sequence: Tensor, input: Tensor | float, *, out_int32: bool = False, right: bool = False, side: str | "
     "None = None, sorter: Tensor | None = None",
     "Tensor",
     "Where values belong in a sorted sequence, so that it stays sorted.\n\nThe sequence comes first: [n], or [..., n] "
     "for values [..., m]. NaN counts as the largest.\n\nArgs:\n    input: the values.\n    out_int32: int32 instead "
     "of "
     "int64.\n    right: behind equal elements instead of before them; the same as side='right'.\n"
     "    sorter: the places of the elements in order, as argsort() gives them, when the sequence is not "
     "sorted.\n\nRaises:\n"
     "    ValueError: the shapes do not fit.\n\nExample:\n"
     "    >>> sg.searchsorted(sg.tensor([1, 3, 5]), sg.tensor([3, 6])).tolist()\n    [1, 3]",
     Scope::function},
    {"bucketize", bound<sg::bucketize>,
     "input: Tensor, boundaries: Tensor, *, out_int32: bool = False, right: bool = False", "Tensor",
     "The number of the bucket between sorted boundaries in which each element lies.\n\nArgs:\n    boundaries: sorted, "
     "of one dimension.\n    right: an element equal to a boundary lies behind it.\n\nExample:\n"
     "    >>> sg.bucketize(sg.tensor([0.5, 2.0]), sg.tensor([1.0, 2.0])).tolist()\n    [0, 1]",
     Scope::function},
    {"isin", bound<sg::isin>,
     "elements: Tensor, test_elements: Tensor | float, *, assume_unique: bool = False, invert: bool = False", "Tensor",
     "Whether each element is among others.\n\nArgs:\n    test_elements: the others.\n    invert: whether it is not."
     "\n\nExample:\n    >>> sg.isin(sg.tensor([1, 2]), sg.tensor([2, 3])).tolist()\n    [False, True]",
     Scope::function},
    {"unique", bound<sg::unique>,
     "sorted: bool = True, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None", "Any",
     "The distinct elements, in order. Reads how many there are, so it waits for the input.\n\nArgs:\n    sorted: "
     "accepted; they always are." SG_UNIQUE_DOC
     "\n\nExample:\n    >>> sg.tensor([3, 1, 3]).unique().tolist()\n    [1, 3]"},
    {"unique_consecutive", bound<sg::unique_consecutive>,
     "return_inverse: bool = False, return_counts: bool = False, dim: int | None = None", "Any",
     "The first element of each run of equal ones. Reads how many there are.\n\nArgs:" SG_UNIQUE_DOC
     "\n\nExample:\n    >>> sg.tensor([1, 1, 2, 1]).unique_consecutive().tolist()\n    [1, 2, 1]"},
    {"bincount", bound<sg::bincount>, "weights: Tensor | None = None, minlength: int = 0", "Tensor",
     "How often each of 0, 1, ... occurs; with weights, their sums. Reads the largest number.\n\nArgs:\n    weights: "
     "one "
     "an element.\n    minlength: the least length of the result.\n\nRaises:\n    ValueError: a negative number.\n"
     "    TypeError: not integers of one dimension.\n\nExample:\n"
     "    >>> sg.tensor([0, 2, 2]).bincount().tolist()\n    [1, 0, 2]"},
};

}  // namespace

void add_sorting(PyObject* module) { add_callables(module, callables); }

}  // namespace sg::bind
