// Functions and methods that read and write at computed places. The arithmetic is in ops/index.cpp.
#include "bind/answers.hpp"
#include "bind/bound.hpp"
#include "bind/tensor.hpp"
#include "ops/list.hpp"

namespace sg::bind {

// An index for each dimension, None where it is not indexed; a mask counts as the coordinates of the chosen elements.
struct Indices {
  std::vector<Tensor> list;
};
template <>
struct From<Indices> {
  static Indices get(Fetched& f, PyObject* o) {
    Indices indices;
    Object list(is_tensor(o) ? nullptr : PySequence_Fast(o, ""));
    if (!list) {
      PyErr_Clear();
      fail<TypeError>(f.op, "a sequence of indices is needed, got " + type_name(o), "write (i, j)");
    }
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(list.get()); ++i) {
      PyObject* key = PySequence_Fast_GET_ITEM(list.get(), i);
      if (list.get() == o) leave_to_elements(f.op, key);
      const Tensor t = key == Py_None ? Tensor() : legacy_mask(tensor_of(f.op, key));
      if (!t || t.dtype() != DType::boolean)
        indices.list.push_back(t);
      else
        for (const Tensor& c : coordinates_of(t)) indices.list.push_back(c);
    }
    return indices;
  }
};

namespace {

Tensor index_put(const Tensor& x, Indices indices, const Tensor& values, bool accumulate) {
  if (indices.list.size() > static_cast<size_t>(x.rank()))
    fail<IndexError>("index_put", std::to_string(indices.list.size()) + " indices for shape " + x.shape().str(),
                     "use at most one a dimension");
  return sg::index_put(x, indices.list, values, accumulate);
}

#define SG_INDEX_RAISES \
  "\n\nRaises:\n    IndexError: an index is out of range; raised where the result, or a later one, is read."
#define SG_PUT_ARGUMENTS "indices: Sequence[Tensor | None], values: Tensor | float, accumulate: bool = False"
#define SG_REDUCE_ARGUMENTS "dim: int, index: Tensor, src: Tensor, reduce: str, *, include_self: bool = True"
const Callable callables[] = {
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
    {"scatter_reduce", bound<sg::scatter_reduce>, SG_REDUCE_ARGUMENTS, "Tensor",
     "A copy with src folded into the elements where gather would read; the same result in every run.\n\nArgs:\n    "
     "reduce: 'sum', 'prod', 'mean', 'amax' or 'amin'; a mean of integers is rounded down.\n    include_self: the "
     "element itself counts too; else it is replaced where values arrive." SG_INDEX_RAISES
     "\n    ValueError: reduce is another word, or the shapes do not fit.\n\nExample:\n"
     "    >>> x, index = sg.tensor([1.0, 2.0, 3.0]), sg.tensor([0, 0, 2])\n"
     "    >>> x.scatter_reduce(0, index, sg.tensor([5.0, 6.0, 2.0]), 'amax').tolist()\n    [6.0, 2.0, 3.0]"},
    {"index_add", bound<sg::index_add>, "dim: int, index: Tensor, source: Tensor, *, alpha: float = 1", "Tensor",
     "A copy with alpha * source added to the slices that a one-dimensional index names." SG_INDEX_RAISES},
    {"index_copy", bound<sg::index_copy>, "dim: int, index: Tensor, source: Tensor", "Tensor",
     "A copy with the slices that a one-dimensional index names replaced." SG_INDEX_RAISES},
    {"index_fill", bound<sg::index_fill>, "dim: int, index: Tensor, value: float", "Tensor",
     "A copy with the slices that a one-dimensional index names filled." SG_INDEX_RAISES},
    {"embedding", bound<sg::embedding>, "input: Tensor, weight: Tensor", "Tensor",
     "weight[input]: rows of a table by number." SG_INDEX_RAISES, Scope::function},
    {"index_put", bound<index_put>, SG_PUT_ARGUMENTS, "Tensor",
     "A copy with values written, or added, where indices, one tensor a dimension, point.\n\nArgs:\n    indices: "
     "integers, whose shapes broadcast, or masks.\n    accumulate: add; else, where an index occurs twice, either "
     "value stays." SG_INDEX_RAISES},
    {"masked_scatter", bound<sg::masked_scatter>, "mask: Tensor, source: Tensor", "Tensor",
     "A copy with the elements for which the mask holds replaced by those of source, in order." SG_INDEX_RAISES
     "\n\nExample:\n    >>> sg.zeros(3).masked_scatter(sg.tensor([True, False, True]), sg.ones(2)).tolist()\n"
     "    [1.0, 0.0, 1.0]"},
#define SG_IN_PLACE(name, function, parameters) \
  {#name "_", in_place<bound<function>>, parameters, "Tensor", #name " in place." SG_INDEX_RAISES, Scope::method}
#define SG_WRITES(name, function, parameters) \
  {#name "_", writes<function>, parameters, "Tensor", #name " in place." SG_INDEX_RAISES, Scope::method}
    SG_WRITES(scatter, sg::scatter_, "dim: int, index: Tensor, src: Tensor | float"),
    SG_WRITES(index_copy, sg::index_copy_, "dim: int, index: Tensor, source: Tensor"),
    SG_WRITES(index_fill, sg::index_fill_, "dim: int, index: Tensor, value: float"),
    SG_IN_PLACE(scatter_add, sg::scatter_add, "dim: int, index: Tensor, src: Tensor"),
    SG_IN_PLACE(scatter_reduce, sg::scatter_reduce, SG_REDUCE_ARGUMENTS),
    SG_IN_PLACE(index_add, sg::index_add, "dim: int, index: Tensor, source: Tensor, *, alpha: float = 1"),
    SG_IN_PLACE(index_put, index_put, SG_PUT_ARGUMENTS),
    SG_IN_PLACE(masked_fill, sg::masked_fill, "mask: Tensor, value: Tensor | float"),
    SG_IN_PLACE(masked_scatter, sg::masked_scatter, "mask: Tensor, source: Tensor"),
    {"_set_legacy_keys", bound<set_legacy_keys>, "on: bool", "None",
     "Whether keys are read as PyTorch reads those that it deprecates: uint8 as a mask, a list of sequences as a "
     "tuple.",
     Scope::function},
};

}  // namespace

void add_indexing(PyObject* module) { add_callables(module, callables); }

}  // namespace sg::bind
