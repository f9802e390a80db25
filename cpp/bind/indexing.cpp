// Functions that read and write at computed places.
#include "bind/bound.hpp"
#include "ops/list.hpp"

namespace sg::bind {
namespace {

#define SG_INDEX_RAISES \
  "\n\nRaises:\n    IndexError: an index is out of range; raised where the result, or a later one, is read."
const Row rows[] = {
    {"gather", bound<sg::gather>, "dim: int, index: Tensor", "Tensor",
     "Elements picked along a dimension: out[i, j] = input[index[i, j], j] for dim 0.\n\nArgs:\n    dim: the dimension "
     "that index counts along.\n    index: integers, of the rank of input." SG_INDEX_RAISES
     "\n\nExample:\n    >>> sg.tensor([[1, 2], [3, 4]]).gather(1, sg.tensor([[0], [1]])).tolist()\n    [[1], [4]]"},
    {"take_along_dim", bound<sg::take_along_dim>, "indices: Tensor, dim: int | None = None", "Tensor",
     "gather, with broadcasting and negative indices; without dim, on the flat tensor." SG_INDEX_RAISES},
    {"take", bound<sg::take>, "index: Tensor", "Tensor",
     "Elements of the tensor as if it were one-dimensional; negative indices count from the end." SG_INDEX_RAISES
     "\n\nExample:\n    >>> sg.tensor([[1, 2], [3, 4]]).take(sg.tensor([0, -1])).tolist()\n    [1, 4]"},
    {"index_select", bound<sg::index_select>, "dim: int, index: Tensor", "Tensor",
     "Slices along a dimension, by a one-dimensional index." SG_INDEX_RAISES
     "\n\nExample:\n    >>> sg.arange(6).reshape(3, 2).index_select(0, sg.tensor([2, 0])).tolist()\n"
     "    [[4, 5], [0, 1]]"},
    {"scatter", bound<sg::scatter>, "dim: int, index: Tensor, src: Tensor | float", "Tensor",
     "A copy with src written where gather would read; where an index occurs twice, either value "
     "stays." SG_INDEX_RAISES},
    {"scatter_add", bound<sg::scatter_add>, "dim: int, index: Tensor, src: Tensor", "Tensor",
     "A copy with src added where gather would read; the same sums in every run." SG_INDEX_RAISES},
    {"index_add", bound<sg::index_add>, "dim: int, index: Tensor, source: Tensor, *, alpha: float = 1", "Tensor",
     "A copy with alpha * source added to the slices that a one-dimensional index names." SG_INDEX_RAISES},
    {"index_copy", bound<sg::index_copy>, "dim: int, index: Tensor, source: Tensor", "Tensor",
     "A copy with the slices that a one-dimensional index names replaced." SG_INDEX_RAISES},
    {"index_fill", bound<sg::index_fill>, "dim: int, index: Tensor, value: float", "Tensor",
     "A copy with the slices that a one-dimensional index names filled." SG_INDEX_RAISES},
    {"embedding", bound<sg::embedding>, "input: Tensor, weight: Tensor", "Tensor",
     "weight[input]: rows of a table by number." SG_INDEX_RAISES, Where::function},
};

}  // namespace

void add_indexing(PyObject* module) { add_rows(module, rows); }

}  // namespace sg::bind
