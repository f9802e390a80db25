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

__all__ = ["SparseTensor", "addmm", "log_softmax", "mm", "sampled_addmm", "softmax", "spdiags", "spmm", "sum"]


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

    def __getitem__(self, key: Any) -> Any:
        found: Any = self
        for index in key if isinstance(key, tuple) else (key,):
            if isinstance(index, bool) or not isinstance(index, int):
                raise TypeError(f"index: a {type(index).__name__} into sparse tensors; use numbers, or index_select()")
            found = _select(found, 0, index) if isinstance(found, SparseTensor) else found[index]
        return found

    def __matmul__(self, other: Any) -> Any:
        return _matmul(self, other)

    def __rmatmul__(self, other: Any) -> Any:
        return _matmul(other, self)

    def __mul__(self, other: Any) -> SparseTensor:
        return _mul(self, other)

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> SparseTensor:
        return self._with(self._elements / _at(self, other, "div"))

    def __pow__(self, exponent: Any) -> SparseTensor:
        return _pow(self, exponent)

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
    """Sparse times dense, dense times sparse, or sparse times sparse."""
    if isinstance(input, SparseTensor) and isinstance(other, SparseTensor):
        return _both_sparse(input, other)
    if isinstance(input, Tensor) and isinstance(other, Tensor):
        return _core.matmul(input, other)
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


def _pairs(begins: Tensor, wanted: Tensor) -> tuple[Tensor, Tensor]:
    """For each of the wanted groups all of its members: which of `wanted` it is, and the member's number.

    Reads how many there are.
    """
    first = begins.take(wanted)
    counts = begins.take(wanted + 1) - first
    which = arange(len(wanted), device=wanted.device).repeat_interleave(counts)
    before = counts.cumsum(0) - counts
    return which, first.take(which) + arange(len(which), device=wanted.device) - before.take(which)


def _both_sparse(input: SparseTensor, other: SparseTensor) -> SparseTensor:
    (rows, columns), _ = _matrix("matmul", input), _matrix("matmul", other)
    if input.shape[1] != other.shape[0]:
        raise ValueError(f"matmul: {list(input.shape)} times {list(other.shape)}; make the inner sizes equal")
    by_rows = other.to_sparse_csr()
    which, member = _pairs(by_rows.crow_indices(), columns)
    places = _core.stack([rows.take(which), by_rows.col_indices().take(member)])
    products = input._elements.take(which) * by_rows._elements.take(member)
    done = SparseTensor(places, products, (input.shape[0], other.shape[1])).coalesce()
    return done.to_sparse_csr() if input.is_sparse_csr and other.is_sparse_csr else done


def mm(input: Any, mat2: Any) -> Any:
    """The product of two matrices, each of which may be sparse: [n, k] times [k, m].

    Args:
        input: [n, k].
        mat2: [k, m].

    Returns:
        [n, m], sparse if both are; its gradients are those of the values and of the dense matrix.

    Raises:
        ValueError: the shapes do not fit.

    Example:
        >>> a = sg.sparse_coo_tensor([[0, 1], [1, 0]], [3.0, 4.0], (2, 2))
        >>> sg.sparse.mm(a, sg.eye(2)).tolist()
        [[0.0, 3.0], [4.0, 0.0]]
    """
    return _matmul(input, mat2)


def spmm(input: Any, mat2: Any) -> Any:
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
    out: Tensor = beta * mat + alpha * mm(mat1, mat2)
    return out


def sampled_addmm(
    input: SparseTensor, mat1: Tensor, mat2: Tensor, *, beta: float = 1.0, alpha: float = 1.0
) -> SparseTensor:
    """beta * input + alpha * (mat1 @ mat2) at the places of the input; the rest of the product is not computed.

    Args:
        input: sparse, [n, m].
        mat1: dense, [n, k].
        mat2: dense, [k, m].
        beta: a factor.
        alpha: another one.

    Raises:
        ValueError: the shapes do not fit.

    Example:
        >>> sg.sparse.sampled_addmm(sg.eye(2).to_sparse(), sg.ones(2, 3), sg.ones(3, 2)).values()
        tensor([4., 4.])
    """
    rows, columns = _matrix("sampled_addmm", input)
    if (mat1.shape[0], mat2.shape[-1]) != tuple(input.shape) or mat1.shape[1:] != mat2.shape[:1]:
        raise ValueError(
            f"sampled_addmm: {list(mat1.shape)} times {list(mat2.shape)} at places of {list(input.shape)}; make the "
            "sizes equal"
        )
    products = (mat1.index_select(0, rows) * mat2.index_select(1, columns).T).sum(1)
    return input._with(beta * input._elements + alpha * products)


def bmm(input: SparseTensor, mat2: Tensor) -> Tensor:
    """Products of sparse matrices [b, n, k] and dense ones [b, k, m]."""
    if len(input.shape) != 3 or len(input._places) != 3 or mat2.shape[:2] != (input.shape[0], input.shape[2]):
        raise ValueError(f"bmm: {list(input.shape)} times {list(mat2.shape)}; give [b, n, k] and [b, k, m]")
    batch, rows, columns = input._places.unbind(0)
    count, height, width = input.shape
    picked = mat2.reshape(count * width, -1).index_select(0, batch * width + columns)
    products = input._elements.unsqueeze(1) * picked
    out: Tensor = products.new_zeros((count * height, mat2.shape[2])).index_add(0, batch * height + rows, products)
    return out.reshape(count, height, -1)


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
    input, group, lowered, sums = _powers("softmax", input, dim)
    return input._with(lowered.exp() / sums.take(group))


def log_softmax(input: SparseTensor, dim: int) -> SparseTensor:
    """The logarithm of softmax().

    Args:
        input: sparse, [n, m], each place once.
        dim: 0 or 1.

    Example:
        >>> sg.sparse.log_softmax(sg.eye(2).to_sparse(), 1).values().tolist()
        [0.0, 0.0]
    """
    input, group, lowered, sums = _powers("log_softmax", input, dim)
    return input._with(lowered - sums.log().take(group))


def _powers(op: str, input: SparseTensor, dim: int) -> tuple[SparseTensor, Tensor, Tensor, Tensor]:
    """The groups of the values of a matrix, these less the largest of their group, and the sums of the powers of e."""
    input = input.coalesce()
    group = _matrix(op, input)[1 - dim % 2]
    values = input._elements
    zeros = values.new_zeros(input.shape[1 - dim % 2])
    largest = zeros.scatter_reduce(0, group, values.detach(), "amax", include_self=False)
    lowered = values - largest.take(group)
    return input, group, lowered, zeros.index_add(0, group, lowered.exp())


def spdiags(diagonals: Tensor, offsets: Any, shape: Sequence[int]) -> SparseTensor:
    """A matrix of diagonals.

    Args:
        diagonals: [n, columns]: the value in column j of the k-th diagonal is diagonals[k, j].
        offsets: [n]: how far above the main diagonal each one is.
        shape: rows and columns.

    Raises:
        ValueError: the shapes do not fit.

    Example:
        >>> sg.sparse.spdiags(sg.ones(1, 3), sg.tensor([1]), (2, 3)).to_dense().tolist()
        [[0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
    """
    values = diagonals if diagonals.ndim > 1 else diagonals.unsqueeze(0)
    above = _indices_of(offsets, values).reshape(-1)
    if len(shape) != 2 or values.ndim != 2 or len(above) != len(values):
        raise ValueError(
            f"spdiags: diagonals {list(diagonals.shape)}, {len(above)} offsets and shape {list(shape)}; give "
            "[n, columns], n offsets, and rows and columns"
        )
    columns = arange(values.shape[1], device=values.device).expand(values.shape)
    rows = columns - above.unsqueeze(1)
    inside = (rows >= 0) & (rows < shape[0]) & (columns < shape[1])
    return SparseTensor(_core.stack([rows[inside], columns[inside]]), values[inside], shape)


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
        return _at_common_places(x, y)
    return x._with(x._elements * _at(x, y, "mul"))


def _at_common_places(x: SparseTensor, y: SparseTensor) -> SparseTensor:
    """The products of values at the places of both. Reads how many there are."""
    if x.shape != y.shape or len(x._places) != len(y._places):
        raise ValueError(f"mul: shapes {list(x.shape)} and {list(y.shape)}; make them equal")
    x, y = x.coalesce(), y.coalesce()
    mine, others = x._flat()[0], y._flat()[0]
    if not len(mine) or not len(others):
        return SparseTensor(x._places[:, :0], x._elements[:0] * y._elements[:0], x.shape, coalesced=True)
    at = _core.searchsorted(others.contiguous(), mine.contiguous()).clamp(max=len(others) - 1)
    both = others.take(at) == mine
    products = x._elements[both] * y._elements.index_select(0, at[both])
    return SparseTensor(x._places[:, both], products, x.shape, coalesced=True)


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


def _pow(input: SparseTensor, exponent: Any) -> SparseTensor:
    if not isinstance(exponent, (int, float)) or exponent <= 0:
        raise TypeError("pow: the exponent must be a number above 0, else all places are filled; use to_dense()")
    return input.coalesce()._with(input.coalesce()._elements ** exponent)


def _cat(tensors: Sequence[SparseTensor], dim: int = 0) -> SparseTensor:
    """One behind the other, along a dimension with places."""
    if not all(isinstance(x, SparseTensor) for x in tensors):
        raise TypeError("cat: some are sparse, others are not; use to_dense() or to_sparse()")
    first = tensors[0]
    dim %= first.ndim
    rest = first.shape[:dim] + first.shape[dim + 1 :]
    for x in tensors:
        if x.shape[:dim] + x.shape[dim + 1 :] != rest or dim >= len(x._places):
            raise ValueError(f"cat: shapes {[list(x.shape) for x in tensors]} along {dim}; make the others equal")
    places, before = [], 0
    for x in tensors:
        rows = list(x._places.unbind(0))
        rows[dim] = rows[dim] + before
        places.append(_core.stack(rows))
        before += x.shape[dim]
    shape = (*first.shape[:dim], before, *first.shape[dim + 1 :])
    return SparseTensor(_core.cat(places, 1), _core.cat([x._elements for x in tensors]), shape)


def _index_select(input: SparseTensor, dim: int, index: Tensor) -> SparseTensor:
    """Those parts along a dimension with places, in this order. Reads how many values there are."""
    dim %= input.ndim
    if dim >= len(input._places):
        raise ValueError(f"index_select: dimension {dim}, of which {len(input._places)} have places; use to_dense()")
    order = input._places[dim].argsort(stable=True)
    sizes = arange(input.shape[dim] + 1, device=input.device)
    begins = _core.searchsorted(input._places[dim].take(order), sizes)
    which, member = _pairs(begins, index)
    chosen = order.take(member)
    places = [row.take(chosen) for row in input._places.unbind(0)]
    places[dim] = which
    shape = (*input.shape[:dim], len(index), *input.shape[dim + 1 :])
    return SparseTensor(_core.stack(places), input._elements.index_select(0, chosen), shape)


def _select(input: SparseTensor, dim: int, index: int) -> Any:
    """One part along a dimension with places, without that dimension."""
    dim %= input.ndim
    if not -input.shape[dim] <= index < input.shape[dim]:
        raise IndexError(
            f"select: index {index} of {input.shape[dim]}; use {-input.shape[dim]} to {input.shape[dim] - 1}"
        )
    chosen = _index_select(input, dim, _core.tensor([index % input.shape[dim]], device=input.device))
    return sum(chosen, dim)


# ---- places and types ------------------------------------------------------------------------------------------------


def _of_values(name: str, linear: bool) -> Callable[..., SparseTensor]:
    """A function of the values alone, which keeps 0. Values of one place are added first, if it is not linear."""

    def call(input: SparseTensor, *args: Any, **kwargs: Any) -> SparseTensor:
        input = input if linear or input.is_sparse_csr else input.coalesce()
        return input._with(getattr(input._elements, name)(*args, **kwargs))

    return call


def _to(input: SparseTensor, *args: Any, **kwargs: Any) -> SparseTensor:
    values = input._elements.to(*args, **kwargs)
    rows = None if input._begins is None else input._begins.to(values.device)
    return SparseTensor(input._places.to(values.device), values, input.shape, input.coalesced, rows)


_LINEAR = "bfloat16 clone deg2rad detach double float half int long neg negative rad2deg requires_grad_"
_ZERO_STAYS = """abs absolute asin asinh atan atanh ceil erf erfinv expm1 floor frac isinf isnan log1p nan_to_num relu
round sgn sign sin sinh sqrt square tan tanh trunc"""

SparseTensor.functions = {
    **{name: _of_values(name, linear=True) for name in _LINEAR.split()},
    **{name: _of_values(name, linear=False) for name in _ZERO_STAYS.split()},
    "_indices": lambda input: input._places,
    "_values": lambda input: input._elements,
    "add": _add,
    "addmm": addmm,
    "bmm": bmm,
    "cat": _cat,
    "cpu": lambda input: _to(input, "cpu"),
    "cuda": lambda input, *args: _to(input, input._elements.cuda(*args).device),
    "dim": lambda input: input.ndim,
    "div": lambda input, other: input / other,
    "index_select": _index_select,
    "is_complex": lambda input: False,
    "is_floating_point": lambda input: input.dtype.is_floating_point,
    "matmul": _matmul,
    "mm": _matmul,
    "mul": _mul,
    "multiply": _mul,
    "mv": _matmul,
    "ndimension": lambda input: input.ndim,
    "numel": lambda input: math.prod(input.shape),
    "pow": _pow,
    "select": _select,
    "size": lambda input, dim=None: input.shape if dim is None else input.shape[dim],
    "sum": sum,
    "t": lambda input: input.T,
    "to": _to,
    "transpose": _transpose,
}
