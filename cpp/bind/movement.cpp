// Functions and methods of views, and of ops that move, join and repeat elements: names, signatures, docs. The
// arithmetic is in ops/movement.cpp, ops/join.cpp and ops/triangle.cpp.
#include <algorithm>
#include <vector>

#include "bind/bound.hpp"
#include "bind/device.hpp"
#include "ops/list.hpp"

namespace sg::bind {
namespace {

constexpr Tensor (*view_of_shape)(const Tensor&, const Dims&) = sg::view;

// view(dtype) is Python's: spirograd._bits.
PyObject* view(const Call& c) {
  const bool one = c.count + (c.names ? PyTuple_GET_SIZE(c.names) : 0) == 1;
  if (!one || !is_dtype_object(c.values[0])) return Body{bound<view_of_shape>}.run(c);
  Object module(check(PyImport_ImportModule("spirograd._bits")));
  return check(PyObject_CallMethod(module.get(), "view", "OO", c.self, c.values[0]));
}
constexpr Tensor (*squeeze)(const Tensor&, const std::optional<Dims>&) = sg::squeeze;
constexpr Tensor (*repeat_interleave)(const Tensor&, const Tensor&, std::optional<int64_t>,
                                      std::optional<int64_t>) = sg::repeat_interleave;

Dims broadcast_shapes(const std::vector<Dims>& shapes) {
  Dims all;
  for (const Dims& shape : shapes) all = sg::broadcast_shapes("broadcast_shapes", all, shape);
  return all;
}

#define SG_SAME_AS(name) "The same as " name "."
#define SG_EXAMPLE(code, printed) "\n\nExample:\n    >>> " code "\n    " printed
#define SG_RESHAPE_DOC                                                                                             \
  "\n\nArgs:\n    shape: sizes, as several ints or one tuple; one of them may be -1.\n\nRaises:\n    ValueError: " \
  "the numbers of elements differ.\n\nExample:\n    >>> sg.arange(6).reshape(2, -1).shape\n    (2, 3)"
#define SG_SEVERAL "*dims: int | Sequence[int]"
#define SG_LIST "tuple[Tensor, ...]"

const Callable views[] = {
    {"reshape", bound<sg::reshape>, "*shape: int | Sequence[int]", "Tensor",
     "The same elements in another shape; a view when the strides allow, else a copy." SG_RESHAPE_DOC},
    {"view",
     {view, 2},
     "*shape: int | Sequence[int] | DTypeLike",
     "Tensor",
     "reshape, but never a copy; or with a dtype, view(sg.int32), the bytes as elements of that type, without a "
     "gradient: on a CPU in the same memory, on a GPU copied." SG_RESHAPE_DOC,
     Scope::method},
    {"view_as", bound<sg::view_as>, "other: Tensor", "Tensor", "view, in the shape of other.", Scope::method},
    {"reshape_as", bound<sg::reshape_as>, "other: Tensor", "Tensor", "reshape, to the shape of other.", Scope::method},
    {"expand_as", bound<sg::expand_as>, "other: Tensor", "Tensor", "expand, to the shape of other.", Scope::method},
    {"ravel", bound<sg::ravel>, "", "Tensor",
     "All elements in one dimension, in C order; a view where that is possible."},
    {"flatten", bound<sg::flatten>, "start_dim: int = 0, end_dim: int = -1", "Tensor",
     "Joins a range of dimensions into one." SG_EXAMPLE("sg.zeros(2, 3, 4).flatten(1).shape", "(2, 12)")},
    {"unflatten", bound<sg::unflatten>, "dim: int, sizes: int | Sequence[int]", "Tensor",
     "Splits one dimension into several; one of the sizes may be -1." SG_EXAMPLE(
         "sg.zeros(6, 2).unflatten(0, (2, -1)).shape", "(2, 3, 2)")},
    {"permute", bound<sg::permute>, SG_SEVERAL, "Tensor",
     "Dimensions in another order." SG_EXAMPLE("sg.zeros(2, 3, 4).permute(2, 0, 1).shape", "(4, 2, 3)")},
    {"permute_dims", bound<sg::permute>, SG_SEVERAL, "Tensor", SG_SAME_AS("permute")},
    {"transpose", bound<sg::transpose>, "dim0: int, dim1: int", "Tensor",
     "Two dimensions swapped." SG_EXAMPLE("sg.zeros(2, 3).transpose(0, 1).shape", "(3, 2)")},
    {"swapaxes", bound<sg::transpose>, "axis0: int, axis1: int", "Tensor", SG_SAME_AS("transpose")},
    {"swapdims", bound<sg::transpose>, "dim0: int, dim1: int", "Tensor", SG_SAME_AS("transpose")},
    {"t", bound<sg::t>, "", "Tensor", "A matrix transposed; vectors and 0-d tensors as they are."},
    {"moveaxis", bound<sg::moveaxis>, "source: int | Sequence[int], destination: int | Sequence[int]", "Tensor",
     "Moves dimensions to other places; the others keep their order." SG_EXAMPLE(
         "sg.zeros(2, 3, 4).moveaxis(0, -1).shape", "(3, 4, 2)")},
    {"movedim", bound<sg::moveaxis>, "source: int | Sequence[int], destination: int | Sequence[int]", "Tensor",
     SG_SAME_AS("moveaxis")},
    {"expand", bound<sg::expand>, "*size: int | Sequence[int]", "Tensor",
     "Repeats dimensions of size 1 without a copy; -1 keeps a size." SG_EXAMPLE("sg.zeros(1, 3).expand(4, -1).shape",
                                                                                "(4, 3)")},
    {"broadcast_to", bound<sg::expand>, "*size: int | Sequence[int]", "Tensor", SG_SAME_AS("expand")},
    {"unsqueeze", bound<sg::unsqueeze>, "dim: int", "Tensor",
     "Inserts a dimension of size 1." SG_EXAMPLE("sg.zeros(3).unsqueeze(0).shape", "(1, 3)")},
    {"expand_dims", bound<sg::unsqueeze>, "dim: int", "Tensor", SG_SAME_AS("unsqueeze")},
    {"squeeze", bound<squeeze>, "dim: int | Sequence[int] | None = None", "Tensor",
     "Removes dimensions of size 1: those named, or all." SG_EXAMPLE("sg.zeros(1, 3).squeeze().shape", "(3,)")},
    {"select", bound<sg::select>, "dim: int, index: int", "Tensor",
     "One slice along a dimension, without it." SG_EXAMPLE("sg.arange(6).reshape(2, 3).select(1, 0).tolist()",
                                                           "[0, 3]")},
    {"narrow", bound<sg::narrow>, "dim: int, start: int, length: int", "Tensor",
     "A range along a dimension." SG_EXAMPLE("sg.arange(5).narrow(0, 1, 3).tolist()", "[1, 2, 3]")},
    {"diagonal", bound<sg::diagonal>, "offset: int = 0, dim1: int = 0, dim2: int = 1", "Tensor",
     "The diagonal of two dimensions, as a view whose last dimension it is." SG_EXAMPLE(
         "sg.arange(4).reshape(2, 2).diagonal().tolist()", "[0, 3]")},
    {"unfold", bound<sg::unfold>, "dimension: int, size: int, step: int", "Tensor",
     "Windows along a dimension, as a view: [..., n, ...] -> [..., windows, ..., size]." SG_EXAMPLE(
         "sg.arange(4).unfold(0, 2, 1).tolist()", "[[0, 1], [1, 2], [2, 3]]"),
     Scope::method},
    {"as_strided", bound<sg::as_strided>,
     "size: int | Sequence[int], stride: int | Sequence[int], storage_offset: int | None = None", "Tensor",
     "A view of the tensor's memory with given sizes, strides and offset, in elements.\n\nRaises:\n    ValueError: it "
     "leaves the memory, or a gradient is wanted of elements that are not the tensor's." SG_EXAMPLE(
         "sg.arange(4).as_strided((2, 2), (1, 1)).tolist()", "[[0, 1], [1, 2]]")},
    {"unbind", bound<sg::unbind>, "dim: int = 0", SG_LIST,
     "The slices along a dimension, without it." SG_EXAMPLE("[x.tolist() for x in sg.arange(4).reshape(2, 2).unbind()]",
                                                            "[[0, 1], [2, 3]]")},
    {"split", bound<sg::split>, "split_size_or_sections: int | Sequence[int], dim: int = 0", SG_LIST,
     "Parts of one size (the last may be smaller) or of given sizes, as views." SG_EXAMPLE(
         "[x.tolist() for x in sg.arange(5).split(2)]", "[[0, 1], [2, 3], [4]]")},
    {"split_with_sizes", bound<sg::split_with_sizes>, "split_sizes: Sequence[int], dim: int = 0", SG_LIST,
     "Parts of given sizes, as views."},
    {"chunk", bound<sg::chunk>, "chunks: int, dim: int = 0", SG_LIST,
     "Splits into at most this many parts of equal size; the last may be smaller." SG_EXAMPLE(
         "[x.tolist() for x in sg.arange(5).chunk(2)]", "[[0, 1, 2], [3, 4]]")},
    {"tensor_split", bound<sg::tensor_split>, "indices_or_sections: int | Sequence[int], dim: int = 0", SG_LIST,
     "Splits into parts of nearly equal size, or at given indices." SG_EXAMPLE(
         "[x.tolist() for x in sg.arange(5).tensor_split((1, 3))]", "[[0], [1, 2], [3, 4]]")},
    {"hsplit", bound<sg::hsplit>, "indices_or_sections: int | Sequence[int]", SG_LIST,
     "tensor_split along columns; of a vector, along its one dimension."},
    {"vsplit", bound<sg::vsplit>, "indices_or_sections: int | Sequence[int]", SG_LIST, "tensor_split along rows."},
    {"atleast_1d", bound<sg::atleast_1d>, "", "Tensor", "The tensor with at least one dimension."},
    {"atleast_2d", bound<sg::atleast_2d>, "", "Tensor", "The tensor with at least two dimensions."},
    {"atleast_3d", bound<sg::atleast_3d>, "", "Tensor", "The tensor with at least three dimensions."},
    {"broadcast_tensors", bound<sg::broadcast_tensors>, "*tensors: Tensor", SG_LIST,
     "All tensors expanded to one shape.", Scope::function},
    {"broadcast_shapes", bound<broadcast_shapes>, "*shapes: Sequence[int]", "tuple[int, ...]",
     "The shape that these shapes broadcast to." SG_EXAMPLE("sg.broadcast_shapes((2, 1), (3,))", "(2, 3)"),
     Scope::function},
    {"contiguous", bound<sg::contiguous>, "", "Tensor",
     "The tensor itself when it lies in C order, else a copy that does.", Scope::method},
    {"clone", bound<sg::clone>, "", "Tensor", "A copy with memory of its own; gradients flow through it."},
    {"detach", bound<&Tensor::detach>, "", "Tensor", "The same memory without a place in the gradient graph.",
     Scope::method},
};

const Callable callables[] = {
    {"cat", bound<sg::cat>, "tensors: Sequence[Tensor], dim: int = 0", "Tensor",
     "Joins tensors along a dimension; their types are promoted.\n\nRaises:\n    ValueError: the shapes "
     "differ elsewhere." SG_EXAMPLE("sg.cat([sg.ones(2), sg.zeros(1)]).tolist()", "[1.0, 1.0, 0.0]"),
     Scope::function},
    {"concat", bound<sg::cat>, "tensors: Sequence[Tensor], dim: int = 0", "Tensor", SG_SAME_AS("cat"), Scope::function},
    {"concatenate", bound<sg::cat>, "tensors: Sequence[Tensor], dim: int = 0", "Tensor", SG_SAME_AS("cat"),
     Scope::function},
    {"_stored", bound<sg::stored>, "input: Tensor", "Tensor",
     "The input, written to memory by the kernel that makes it. A formula is computed again by each kernel that needs "
     "it; "
     "in a loop, where each step reads the one before, that becomes all steps before.",
     Scope::function},
    {"stack", bound<sg::stack>, "tensors: Sequence[Tensor], dim: int = 0", "Tensor",
     "Tensors of one shape along a new dimension." SG_EXAMPLE("sg.stack([sg.ones(2), sg.zeros(2)]).tolist()",
                                                              "[[1.0, 1.0], [0.0, 0.0]]"),
     Scope::function},
    {"hstack", bound<sg::hstack>, "tensors: Sequence[Tensor]", "Tensor", "cat along columns; of vectors, end to end.",
     Scope::function},
    {"vstack", bound<sg::vstack>, "tensors: Sequence[Tensor]", "Tensor", "cat along rows; vectors are rows.",
     Scope::function},
    {"dstack", bound<sg::dstack>, "tensors: Sequence[Tensor]", "Tensor", "cat along the third dimension.",
     Scope::function},
    {"block_diag", bound<sg::block_diag>, "*tensors: Tensor", "Tensor", "Matrices along the diagonal of zeros.",
     Scope::function},
    {"meshgrid", bound<sg::meshgrid>, "*tensors: Tensor, indexing: str = 'ij'", SG_LIST,
     "Vectors as coordinates of a grid: one tensor each, of the grid's shape.\n\nArgs:\n    indexing: 'ij', or 'xy' "
     "with the first two dimensions swapped." SG_EXAMPLE("[x.shape for x in sg.meshgrid(sg.arange(2), sg.arange(3))]",
                                                         "[(2, 3), (2, 3)]"),
     Scope::function},
    {"cartesian_prod", bound<sg::cartesian_prod>, "*tensors: Tensor", "Tensor",
     "All combinations of elements of vectors, as rows.", Scope::function},
    {"tril_indices", bound<sg::tril_indices>,
     "row: int, col: int, offset: int = 0, *, dtype: DTypeLike | None = None, device: DeviceLike | None = None",
     "Tensor",
     "Rows and columns of the lower triangle: [2, n]." SG_EXAMPLE("sg.tril_indices(2, 2).tolist()",
                                                                  "[[0, 1, 1], [0, 0, 1]]"),
     Scope::function},
    {"triu_indices", bound<sg::triu_indices>,
     "row: int, col: int, offset: int = 0, *, dtype: DTypeLike | None = None, device: DeviceLike | None = None",
     "Tensor",
     "Rows and columns of the upper triangle: [2, n]." SG_EXAMPLE("sg.triu_indices(2, 2).tolist()",
                                                                  "[[0, 0, 1], [0, 1, 1]]"),
     Scope::function},
    {"repeat", bound<sg::repeat>, "*repeats: int | Sequence[int]", "Tensor",
     "Repeats the tensor along each dimension; new dimensions come first." SG_EXAMPLE(
         "sg.arange(2).repeat(2, 2).tolist()", "[[0, 1, 0, 1], [0, 1, 0, 1]]"),
     Scope::method},
    {"tile", bound<sg::tile>, "*dims: int | Sequence[int]", "Tensor",
     "repeat, where fewer numbers than dimensions count from the last." SG_EXAMPLE("sg.arange(2).tile(2).tolist()",
                                                                                   "[0, 1, 0, 1]")},
    {"repeat_interleave", bound<repeat_interleave>,
     "repeats: int | Tensor, dim: int | None = None, *, output_size: int | None = None", "Tensor",
     "Repeats each element; without dim, those of the flat tensor." SG_EXAMPLE(
         "sg.arange(2).repeat_interleave(2).tolist()", "[0, 0, 1, 1]")},
    {"flip", bound<sg::flip>, SG_SEVERAL, "Tensor",
     "A copy with the elements in reverse order along dimensions." SG_EXAMPLE("sg.arange(3).flip(0).tolist()",
                                                                              "[2, 1, 0]")},
    {"fliplr", bound<sg::fliplr>, "", "Tensor", "A copy with the columns in reverse order."},
    {"flipud", bound<sg::flipud>, "", "Tensor", "A copy with the rows in reverse order."},
    {"roll", bound<sg::roll>, "shifts: int | Sequence[int], dims: int | Sequence[int] | None = None", "Tensor",
     "Elements shifted along dimensions; what leaves at one end comes in at the other. Without dims, of the flat "
     "tensor." SG_EXAMPLE("sg.arange(4).roll(1).tolist()", "[3, 0, 1, 2]")},
    {"rot90", bound<sg::rot90>, "k: int = 1, dims: Sequence[int] = (0, 1)", "Tensor",
     "A plane turned by k quarter turns, from the first dimension towards the second." SG_EXAMPLE(
         "sg.arange(4).reshape(2, 2).rot90().tolist()", "[[1, 3], [0, 2]]")},
    {"pad", bound<sg::pad>, "input: Tensor, pad: Sequence[int], mode: str = 'constant', value: float | None = None",
     "Tensor",
     "Adds borders, or with negative widths removes them.\n\nArgs:\n    pad: (before, after) of the last dimension, "
     "then "
     "of the one before it, and so on.\n    mode: 'constant', 'reflect', 'replicate' or 'circular'.\n    value: of a "
     "constant border; 0 unless given." SG_EXAMPLE("sg.pad(sg.ones(2), (1, 2)).tolist()", "[0.0, 1.0, 1.0, 0.0, 0.0]"),
     Scope::function},
    {"diag", bound<sg::diag>, "diagonal: int = 0", "Tensor",
     "For a vector, the matrix with that diagonal; for a matrix, a copy of its diagonal." SG_EXAMPLE(
         "sg.arange(2).diag().tolist()", "[[0, 0], [0, 1]]")},
    {"diag_embed", bound<sg::diag_embed>, "offset: int = 0, dim1: int = -2, dim2: int = -1", "Tensor",
     "Matrices whose diagonals are the last dimension."},
    {"tril", bound<sg::tril>, "diagonal: int = 0", "Tensor",
     "The lower triangle of matrices, with zeros above the diagonal." SG_EXAMPLE("sg.ones(2, 2).tril().tolist()",
                                                                                 "[[1.0, 0.0], [1.0, 1.0]]")},
    {"tril_", in_place<bound<sg::tril>>, "diagonal: int = 0", "Tensor", "tril." SG_PLACE_DOC, Scope::method},
    {"triu_", in_place<bound<sg::triu>>, "diagonal: int = 0", "Tensor", "triu." SG_PLACE_DOC, Scope::method},
    {"triu", bound<sg::triu>, "diagonal: int = 0", "Tensor",
     "The upper triangle of matrices, with zeros below the diagonal." SG_EXAMPLE("sg.ones(2, 2).triu().tolist()",
                                                                                 "[[1.0, 1.0], [0.0, 1.0]]")},
};

}  // namespace

void add_movement(PyObject* module) {
  add_callables(module, views);
  add_callables(module, callables);
}

}  // namespace sg::bind
