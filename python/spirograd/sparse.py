"""Sparse tensors, under the names of torch.sparse: the places of some elements, and their values; all others are 0.

They are made for graph networks: products with dense matrices and vectors gather rows of these and add them up, on the
device, with gradients for both. A tensor in compressed rows (CSR) has the same functions.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from . import _core
from ._core import Tensor, arange, int64
from .base.stand_in import StandIn
from .base.types import DeviceLike, DTypeLike

__all__ = ["SparseTensor", "addmm", "mm", "softmax", "spmm", "sum"]


class SparseTensor(StandIn):
    """A sparse tensor, made by sparse_coo_tensor(), sparse_csr_tensor() or to_sparse(). Its methods have the names of
    PyTorch's; those that it lacks say so.

    Example:
        >>> a = sg.sparse_coo_tensor([[0, 1], [2, 0]], [3.0, 4.0], (2, 3))
        >>> a @ sg.tensor([1.0, 1.0, 2.0])
        tensor([6., 4.])
    """

    __slots__ = ("_begins", "_elements", "_places", "coalesced", "shape")

    kind, instead = "sparse tensors", "use to_dense(), or indices() and values()"
    is_sparse = True

    _places: Tensor
    _elements: Tensor
    shape: tuple[int, ...]
    coalesced: bool
    _begins: Tensor | None

    def __init__(
        self,
        places: Tensor,
        elements: Tensor,
        shape: Sequence[int],
        coalesced: bool = False,
        begins: Tensor | None = None,
    ) -> None:
        self._places, self._elements, self.shape = places, elements, tuple(shape)
        self.coalesced, self._begins = coalesced, begins

    @property
    def dtype(self) -> _core.dtype:
        """The type of the values."""
        return self._elements.dtype

    @property
    def device(self) -> _core.Device:
        """Where indices and values are."""
        return self._elements.device

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return len(self.shape)

    @property
    def is_sparse_csr(self) -> bool:
        """Whether rows are compressed."""
        return self._begins is not None

    @property
    def requires_grad(self) -> bool:
        """Whether the values do."""
        return self._elements.requires_grad

    @property
    def grad(self) -> SparseTensor | None:
        """The gradient of the values, at their places."""
        g = self._elements.grad
        return None if g is None else self._with(g)

    @property
    def mT(self) -> SparseTensor:
        """The last two dimensions swapped."""
        return _transpose(self, -2, -1)

    @property
    def T(self) -> SparseTensor:
        """A matrix with its dimensions exchanged."""
        return _transpose(self, 0, 1)

    def _with(self, values: Tensor) -> SparseTensor:
        return SparseTensor(self._places, values, self.shape, self.coalesced, self._begins)

    def _flat(self) -> tuple[Tensor, int]:
        """The places as numbers of the flattened sparse dimensions, and how many there are."""
        sizes = self.shape[: len(self._places)]
        number = self._places[0] * 0
        for index, size in zip(self._places.unbind(0), sizes, strict=True):
            number = number * size + index
        return number, math.prod(sizes)

    def to_dense(self) -> Tensor:
        """All elements; values of one place are added."""
        number, count = self._flat()
        dense = self.shape[len(self._places) :]
        zeros = self._elements.new_zeros((count, *dense))
        out: Tensor = zeros.index_add(0, number, self._elements).reshape(self.shape)
        return out

    def coalesce(self) -> SparseTensor:
        """The same with each place once, in order. Reads how many there are."""
        if self.coalesced:
            return self
        number, _ = self._flat()
        places, which = _core.unique(number, return_inverse=True)
        zeros = self._elements.new_zeros((len(places), *self._elements.shape[1:]))
        indices = []
        for size in reversed(self.shape[: len(self._places)]):
            indices.append(places % size)
            places = places // size
        return SparseTensor(
            _core.stack(indices[::-1]), zeros.index_add(0, which, self._elements), self.shape, coalesced=True
        )

    def indices(self) -> Tensor:
        """The places: [sparse dimensions, n].

        Raises:
            RuntimeError: places may occur more than once.
        """
        self._need_coalesced("indices")
        return self._places

    def values(self) -> Tensor:
        """The values: [n, ...].

        Raises:
            RuntimeError: places may occur more than once.
        """
        if not self.is_sparse_csr:
            self._need_coalesced("values")
        return self._elements

    def _need_coalesced(self, op: str) -> None:
        if not self.coalesced:
            raise RuntimeError(f"{op}: places may occur more than once; call coalesce() first, or use _{op}()")

    def crow_indices(self) -> Tensor:
        """Where each row begins among the values, and where the last one ends: [rows + 1], of compressed rows.

        Raises:
            RuntimeError: rows are not compressed.
        """
        if self._begins is None:
            raise RuntimeError("crow_indices: the rows are not compressed; call to_sparse_csr() first")
        return self._begins

    def col_indices(self) -> Tensor:
        """The column of each value, of compressed rows.

        Raises:
            RuntimeError: rows are not compressed.
        """
        self.crow_indices()
        return self._places[1]

    def to_sparse_csr(self) -> SparseTensor:
        """A matrix in compressed rows.

        Raises:
            ValueError: it is no matrix.
        """
        if self.is_sparse_csr:
            return self
        _matrix("to_sparse_csr", self)
        done = self.coalesce()
        rows = _core.searchsorted(done._places[0].contiguous(), arange(self.shape[0] + 1, device=self.device))
        return SparseTensor(done._places, done._elements, self.shape, coalesced=True, begins=rows)

    def to_sparse_coo(self) -> SparseTensor:
        """With a row and a column for each value."""
        return SparseTensor(self._places, self._elements, self.shape, self.coalesced)

    to_sparse = to_sparse_coo

    def _nnz(self) -> int:
        return len(self._elements)

    def is_coalesced(self) -> bool:
        """Whether each place occurs once, in order."""
        return self.coalesced

    def sparse_dim(self) -> int:
        """How many dimensions have places."""
        return len(self._places)

    def dense_dim(self) -> int:
        """How many dimensions the values have."""
        return self._elements.ndim - 1

    def __len__(self) -> int:
        return self.shape[0]

    def __repr__(self) -> str:
        name = "crow_indices" if self._begins is not None else "indices"
        first = self._begins if self._begins is not None else self._places
        return (
            f"tensor({name}={first.tolist()}, values={self._elements.tolist()}, size={self.shape}, nnz={self._nnz()}, "
            f"layout={'sparse_csr' if self.is_sparse_csr else 'sparse_coo'})"
        )

    def __matmul__(self, other: Any) -> Any:
        return _matmul(self, other)

    def __rmatmul__(self, other: Any) -> Any:
        return _matmul(other, self)

    def __mul__(self, other: Any) -> SparseTensor:
        return _mul(self, other)

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> SparseTensor:
        return self._with(self._elements / _at(self, other, "div"))

    def __neg__(self) -> SparseTensor:
        return self._with(-self._elements)

    def __add__(self, other: Any) -> Any:
        return _add(self, other)

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        return _add(self, -other)

    def __rsub__(self, other: Any) -> Any:
        return _add(-self, other)


# ---- making ----------------------------------------------------------------------------------------------------------


def _values_of(values: Any, dtype: Any, device: Any, requires_grad: bool) -> Tensor:
    made = values if isinstance(values, Tensor) else _core.tensor(values, device=device)
    if dtype is not None or device is not None:
        made = made.to(device or made.device, dtype or made.dtype)
    return made.detach().requires_grad_() if requires_grad else made


def _indices_of(indices: Any, like: Tensor) -> Tensor:
    made: Tensor = (indices if isinstance(indices, Tensor) else _core.tensor(indices)).to(like.device, int64)
    return made


def sparse_coo_tensor(
    indices: Any,
    values: Any,
    size: Sequence[int] | None = None,
    *,
    dtype: DTypeLike | None = None,
    device: DeviceLike | None = None,
    requires_grad: bool = False,
    is_coalesced: bool = False,
) -> SparseTensor:
    """A sparse tensor from the places of its elements and their values.

    Args:
        indices: [dimensions, n]. Values of a place that is there twice are added.
        values: [n], or [n, ...] for dimensions behind that are dense.
        size: the shape; None: the largest indices are read.
        dtype: of the values; None: as they are.
        device: where it is; None: where the values are.
        requires_grad: whether the gradient of the values is wanted.
        is_coalesced: each place is there once and in order, which is not checked.

    Raises:
        ValueError: the shapes do not fit.
        IndexError: at the next read, for an index beyond the size.

    Example:
        >>> sg.sparse_coo_tensor([[0, 1], [1, 0]], [3.0, 4.0], (2, 2)).to_dense().tolist()
        [[0.0, 3.0], [4.0, 0.0]]
    """
    made = _values_of(values, dtype, device, requires_grad)
    places = _indices_of(indices, made)
    if places.ndim != 2 or made.ndim < 1 or places.shape[1] != made.shape[0] or not len(places):
        raise ValueError(
            f"sparse_coo_tensor: indices {list(places.shape)}, values {list(made.shape)}; give [dimensions, n] and "
            "[n, ...]"
        )
    if size is None:
        largest = (places.amax(1) + 1).tolist() if places.shape[1] else [0] * len(places)
        size = (*largest, *made.shape[1:])
    if len(size) != len(places) + made.ndim - 1 or tuple(size[len(places) :]) != tuple(made.shape[1:]):
        raise ValueError(
            f"sparse_coo_tensor: size {list(size)} for indices {list(places.shape)} and values {list(made.shape)}; "
            "give a size for each row of the indices, then those of the values"
        )
    return SparseTensor(places, made, size, is_coalesced)


def sparse_csr_tensor(
    crow_indices: Any,
    col_indices: Any,
    values: Any,
    size: Sequence[int] | None = None,
    *,
    dtype: DTypeLike | None = None,
    device: DeviceLike | None = None,
    requires_grad: bool = False,
) -> SparseTensor:
    """A sparse matrix in compressed rows.

    Args:
        crow_indices: [rows + 1]: where each row begins among the values, then their number.
        col_indices: [n]: the column of each value, in order within a row.
        values: [n].
        size: rows and columns; None: the largest column is read.
        dtype, device, requires_grad: see sparse_coo_tensor.

    Raises:
        ValueError: the shapes do not fit.
        IndexError: at the next read, for a column beyond the size.

    Example:
        >>> sg.sparse_csr_tensor([0, 1, 2], [1, 0], [3.0, 4.0], (2, 2)).to_dense().tolist()
        [[0.0, 3.0], [4.0, 0.0]]
    """
    made = _values_of(values, dtype, device, requires_grad)
    begins, columns = _indices_of(crow_indices, made), _indices_of(col_indices, made)
    if begins.ndim != 1 or not len(begins) or columns.shape != made.shape or made.ndim != 1:
        raise ValueError(
            f"sparse_csr_tensor: crow_indices {list(begins.shape)}, col_indices {list(columns.shape)}, values "
            f"{list(made.shape)}; give [rows + 1], [n] and [n]"
        )
    if size is None:
        size = (len(begins) - 1, int(columns.amax().item()) + 1 if len(made) else 0)
    if len(size) != 2 or size[0] != len(begins) - 1:
        raise ValueError(
            f"sparse_csr_tensor: size {list(size)} for crow_indices {list(begins.shape)}; give rows and columns"
        )
    rows = _core.searchsorted(begins, arange(len(made), device=made.device), right=True) - 1
    return SparseTensor(_core.stack([rows, columns]), made, size, coalesced=True, begins=begins)


def from_dense(input: Tensor) -> SparseTensor:
    """What input.to_sparse() gives: the elements that are not 0. Reads how many there are."""
    if input.ndim == 0:
        raise ValueError("to_sparse: a tensor without dimensions has no places; use reshape(1)")
    places = input.detach().nonzero(as_tuple=True)
    return SparseTensor(_core.stack(list(places)), input[places], input.shape, coalesced=True)


# ---- arithmetic ------------------------------------------------------------------------------------------------------


def _matrix(op: str, x: SparseTensor) -> tuple[Tensor, Tensor]:
    """The rows and columns of a matrix."""
    if len(x.shape) != 2 or len(x._places) != 2:
        raise ValueError(f"{op}: the sparse tensor has shape {list(x.shape)}; give a matrix of numbers")
    return x._places[0], x._places[1]


def _matmul(input: Any, other: Any) -> Any:
    """Sparse times dense, or dense times sparse."""
    if isinstance(input, SparseTensor) and isinstance(other, SparseTensor):
        raise TypeError("matmul: both matrices are sparse; make one of them dense with to_dense()")
    if isinstance(other, SparseTensor):
        return _matmul(other.T, input) if input.ndim < 2 else _matmul(other.T, input.mT).mT
    rows, columns = _matrix("matmul", input)
    if not isinstance(other, Tensor) or other.ndim not in (1, 2) or other.shape[0] != input.shape[1]:
        shape = list(other.shape) if isinstance(other, Tensor) else type(other).__name__
        raise ValueError(
            f"matmul: {list(input.shape)} times {shape}; give a dense matrix or vector of {input.shape[1]} rows"
        )
    values = input._elements if other.ndim == 1 else input._elements.unsqueeze(1)
    products = values * other.index_select(0, columns)
    zeros = products.new_zeros((input.shape[0], *other.shape[1:]))
    return zeros.index_add(0, rows, products)


def mm(input: SparseTensor, mat2: Tensor) -> Tensor:
    """The product of a sparse and a dense matrix: [n, k] times [k, m].

    Args:
        input: sparse, [n, k].
        mat2: dense, [k, m].

    Returns:
        Dense, [n, m]; its gradients are those of the values and of mat2.

    Raises:
        ValueError: the shapes do not fit.
        TypeError: both are sparse.

    Example:
        >>> a = sg.sparse_coo_tensor([[0, 1], [1, 0]], [3.0, 4.0], (2, 2))
        >>> sg.sparse.mm(a, sg.eye(2)).tolist()
        [[0.0, 3.0], [4.0, 0.0]]
    """
    out: Tensor = _matmul(input, mat2)
    return out


def spmm(input: SparseTensor, mat2: Tensor) -> Tensor:
    """mm by its old name.

    Example:
        >>> sg.spmm(sg.eye(2).to_sparse(), sg.ones(2, 3)).shape
        (2, 3)
    """
    return mm(input, mat2)


def addmm(mat: Tensor, mat1: SparseTensor, mat2: Tensor, *, beta: float = 1.0, alpha: float = 1.0) -> Tensor:
    """beta * mat + alpha * (mat1 @ mat2), with mat1 sparse.

    Args:
        mat: dense; it broadcasts to the product.
        mat1: sparse, [n, k].
        mat2: dense, [k, m].
        beta: a factor.
        alpha: another one.

    Example:
        >>> sg.sparse.addmm(sg.ones(2, 2), sg.eye(2).to_sparse(), sg.eye(2)).tolist()
        [[2.0, 1.0], [1.0, 2.0]]
    """
    return beta * mat + alpha * mm(mat1, mat2)


def sum(input: SparseTensor, dim: int | None = None) -> Any:
    """The sum of all values, or along one dimension.

    Args:
        input: sparse.
        dim: the dimension; None: all.

    Returns:
        A number, or sparse without that dimension.

    Raises:
        IndexError: there is no such dimension.

    Example:
        >>> sg.sparse.sum(sg.eye(3).to_sparse(), 1).to_dense().tolist()
        [1.0, 1.0, 1.0]
    """
    if dim is None:
        return input._elements.sum()
    if not -input.ndim <= dim < input.ndim:
        raise IndexError(f"sum: dim is {dim} for {input.ndim} dimension(s); use {-input.ndim} to {input.ndim - 1}")
    dim %= input.ndim
    shape = input.shape[:dim] + input.shape[dim + 1 :]
    count = len(input._places)
    if dim >= count:
        return SparseTensor(input._places, input._elements.sum(dim - count + 1), shape, input.coalesced)
    if count == 1:
        return input._elements.sum(0)
    kept = [i for i in range(count) if i != dim]
    return SparseTensor(_core.stack([input._places[i] for i in kept]), input._elements, shape)


def softmax(input: SparseTensor, dim: int) -> SparseTensor:
    """The softmax of the elements that are there, along one dimension of a matrix.

    Args:
        input: sparse, [n, m], each place once.
        dim: 0 or 1.

    Example:
        >>> a = sg.sparse_coo_tensor([[0, 0, 1], [0, 2, 1]], [1.0, 1.0, 5.0], (2, 3))
        >>> sg.sparse.softmax(a, 1).to_dense().tolist()
        [[0.5, 0.0, 0.5], [0.0, 1.0, 0.0]]
    """
    input = input.coalesce()
    group = _matrix("softmax", input)[1 - dim % 2]
    values = input._elements
    zeros = values.new_zeros(input.shape[1 - dim % 2])
    largest = zeros.scatter_reduce(0, group, values.detach(), "amax", include_self=False)
    powers = (values - largest.take(group)).exp()
    return input._with(powers / zeros.index_add(0, group, powers).take(group))


def _at(x: SparseTensor, other: Any, op: str) -> Any:
    """A number, or the elements of a dense tensor at the places."""
    if not isinstance(other, Tensor) or other.ndim == 0:
        return other
    if len(x._places) != len(x.shape):
        raise TypeError(f"{op}: the values have dimensions; use values(), or to_dense()")
    return other.expand(x.shape)[tuple(x._places.unbind(0))]


def _mul(input: Any, other: Any) -> SparseTensor:
    x, y = (input, other) if isinstance(input, SparseTensor) else (other, input)
    if isinstance(y, SparseTensor):
        raise TypeError("mul: both are sparse; make one of them dense with to_dense()")
    return x._with(x._elements * _at(x, y, "mul"))


def _add(input: Any, other: Any) -> Any:
    """The sum of two sparse tensors, or a dense one of a sparse and a dense one."""
    x, y = (input, other) if isinstance(input, SparseTensor) else (other, input)
    if not isinstance(y, SparseTensor):
        if not isinstance(y, Tensor):
            raise TypeError("add: a number would fill all places; use to_dense()")
        return x.to_dense() + y
    if x.shape != y.shape or len(x._places) != len(y._places):
        raise ValueError(f"add: shapes {list(x.shape)} and {list(y.shape)}; make them equal")
    return SparseTensor(_core.cat([x._places, y._places], 1), _core.cat([x._elements, y._elements]), x.shape)


def _transpose(input: SparseTensor, dim0: int, dim1: int) -> SparseTensor:
    order, count = list(range(input.ndim)), len(input._places)
    dim0, dim1 = dim0 % input.ndim, dim1 % input.ndim
    if max(dim0, dim1) >= count:
        raise ValueError(f"transpose: dimensions {dim0} and {dim1}, of which {count} have places; use to_dense()")
    order[dim0], order[dim1] = order[dim1], order[dim0]
    indices = _core.stack([input._places[i] for i in order[:count]])
    return SparseTensor(indices, input._elements, [input.shape[i] for i in order])


# ---- places and types ------------------------------------------------------------------------------------------------


def _of_values(name: str) -> Callable[..., SparseTensor]:
    """A function of the values alone, which keeps 0."""

    def call(input: SparseTensor, *args: Any, **kwargs: Any) -> SparseTensor:
        return input._with(getattr(input._elements, name)(*args, **kwargs))

    return call


def _to(input: SparseTensor, *args: Any, **kwargs: Any) -> SparseTensor:
    values = input._elements.to(*args, **kwargs)
    rows = None if input._begins is None else input._begins.to(values.device)
    return SparseTensor(input._places.to(values.device), values, input.shape, input.coalesced, rows)


_ZERO_STAYS = "abs asin asinh atan atanh ceil deg2rad expm1 floor log1p neg rad2deg relu round sgn sign sin sinh sqrt"
_TYPES = "bfloat16 clone detach double float half square tan tanh trunc requires_grad_"

SparseTensor.functions = {
    **{name: _of_values(name) for name in f"{_ZERO_STAYS} {_TYPES}".split()},
    "_indices": lambda input: input._places,
    "_values": lambda input: input._elements,
    "add": _add,
    "addmm": addmm,
    "cpu": lambda input: _to(input, "cpu"),
    "cuda": lambda input, *args: _to(input, input._elements.cuda(*args).device),
    "dim": lambda input: input.ndim,
    "is_complex": lambda input: False,
    "is_floating_point": lambda input: input.dtype.is_floating_point,
    "matmul": _matmul,
    "mm": _matmul,
    "mul": _mul,
    "multiply": _mul,
    "mv": _matmul,
    "ndimension": lambda input: input.ndim,
    "numel": lambda input: math.prod(input.shape),
    "size": lambda input, dim=None: input.shape if dim is None else input.shape[dim],
    "sum": sum,
    "t": lambda input: input.T,
    "to": _to,
    "transpose": _transpose,
}
