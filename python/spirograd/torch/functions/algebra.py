"""Products, distances, and tensors made of others."""

from __future__ import annotations

import itertools
import string
from typing import Any

from ... import _core, linalg
from ..._core import Tensor

__all__ = [
    "addr",
    "adjoint",
    "atleast_1d",
    "atleast_2d",
    "atleast_3d",
    "cdist",
    "cholesky",
    "cholesky_inverse",
    "cholesky_solve",
    "column_stack",
    "combinations",
    "cross",
    "det",
    "diagflat",
    "diagonal_scatter",
    "dist",
    "dsplit",
    "einsum",
    "index_reduce",
    "inverse",
    "logdet",
    "lu",
    "lu_solve",
    "lu_unpack",
    "matrix_exp",
    "matrix_power",
    "norm",
    "pca_lowrank",
    "pdist",
    "pinverse",
    "put",
    "qr",
    "range",
    "renorm",
    "row_stack",
    "scalar_tensor",
    "select_scatter",
    "slice_scatter",
    "slogdet",
    "svd",
    "svd_lowrank",
    "tensor_split",
    "trace",
    "unravel_index",
    "unsafe_chunk",
    "unsafe_split",
    "vander",
]

det, inverse, logdet, pinverse, slogdet = linalg.det, linalg.inv, linalg.logdet, linalg.pinv, linalg.slogdet
matrix_exp, matrix_power = linalg.matrix_exp, linalg.matrix_power
unsafe_chunk, unsafe_split = _core.chunk, _core.split
_range = range


def trace(input: Tensor) -> Tensor:
    """The sum of the diagonal of a matrix [n, m]."""
    if input.ndim != 2:
        raise RuntimeError(f"trace: the input has shape {list(input.shape)}; give a matrix")
    return input.diagonal().sum()


def unravel_index(indices: Tensor, shape: Any) -> tuple[Tensor, ...]:
    """The index of each dimension of a shape, for indices into its elements in C order.

    Args:
        indices: whole numbers, below the number of elements; negative ones count from the end.
        shape: sizes, or one.
    """
    if indices.is_floating_point() or indices.dtype == _core.bool:
        raise TypeError(f"unravel_index: indices are {indices.dtype}; give whole numbers")
    sizes = [shape] if isinstance(shape, int) else [int(n) for n in shape]
    indices, found = indices.to(_core.int64), []
    for n in reversed(sizes):
        found.append(indices % n)
        indices = indices // n
    return tuple(reversed(found))


def einsum(equation: Any, *operands: Any) -> Tensor:
    """einsum() that takes dimensions as lists of numbers as well: einsum(a, [0, 1], b, [1, 2], [0, 2])."""
    if isinstance(equation, str):
        return _core.einsum(equation, *operands)
    given = [equation, *operands]
    result = ["->", _letters(given.pop())] if len(given) % 2 else []
    return _core.einsum("".join([",".join(map(_letters, given[1::2])), *result]), *given[::2])


def _letters(dims: Any) -> str:
    return "".join("..." if d is Ellipsis else string.ascii_letters[d] for d in dims)


def index_reduce(
    input: Tensor, dim: int, index: Tensor, source: Tensor, reduce: str, *, include_self: bool = True
) -> Tensor:
    """A copy with slices of source folded into the slices that a one-dimensional index names: see scatter_reduce()."""
    sizes = [-1 if d == dim % input.ndim else 1 for d in _range(input.ndim)]
    places = index.reshape(sizes).expand(source.shape)
    return input.scatter_reduce(dim, places, source, reduce, include_self=include_self)


def adjoint(input: Tensor) -> Tensor:
    """The last two dimensions exchanged."""
    return input.transpose(-2, -1)


def cross(input: Tensor, other: Tensor, dim: int | None = None) -> Tensor:
    """The vector product along a dimension of size 3; without dim, along the first such dimension."""
    if dim is None:
        dim = next((i for i, n in enumerate(input.shape) if n == 3), None)
    if dim is None or input.shape[dim] != 3 or other.shape[dim] != 3:
        raise RuntimeError(
            f"cross: shapes {list(input.shape)} and {list(other.shape)} have no dimension of size 3; name one by dim="
        )
    a, b = input.unbind(dim), other.unbind(dim)
    parts = [a[i - 2] * b[i - 1] - a[i - 1] * b[i - 2] for i in _range(3)]
    return _core.stack(parts, dim)


def cdist(x1: Tensor, x2: Tensor, p: float = 2.0, compute_mode: str | None = None) -> Tensor:
    """Distances between the rows of x1 [..., n, d] and those of x2 [..., m, d]: [..., n, m].

    They are computed from differences, so `compute_mode`, which chooses a formula, has no effect.
    """
    difference = x1.unsqueeze(-2) - x2.unsqueeze(-3)
    return linalg.vector_norm(difference, p, -1)


def norm(input: Tensor, p: Any = "fro", dim: Any = None, keepdim: bool = False, dtype: Any = None, **names: Any) -> Any:
    """The length of vectors; with p="nuc" the sum of the singular values of matrices, which `dim` names.

    Args:
        input: a tensor.
        p: a number, "fro" or "nuc".
        dim: a dimension or several; None: all, which are two with "nuc".
        keepdim: keeps folded dimensions, with size 1.
        dtype: converts the input first.
        names: the same under NumPy's names.

    Raises:
        ValueError: p is unknown, or "nuc" has not two dimensions.
    """
    if p != "nuc":
        return _core.norm(input, p, dim, keepdim, dtype, **names)
    dims = list(_range(input.ndim)) if dim is None else [dim] if isinstance(dim, int) else list(dim)
    return linalg.matrix_norm(input, "nuc", dims, keepdim, dtype=dtype, **names)


def dist(input: Tensor, other: Tensor, p: float = 2) -> Tensor:
    """The p-norm of input - other."""
    return linalg.vector_norm(input - other, p)


def addr(input: Tensor, vec1: Tensor, vec2: Tensor, *, beta: float = 1, alpha: float = 1) -> Tensor:
    """beta * input + alpha * outer(vec1, vec2); with beta = 0 whatever the input is."""
    product = _core.outer(vec1, vec2)
    if input.dtype == product.dtype == _core.bool:
        return (product & bool(alpha)) | (input & bool(beta))
    product = alpha * product
    return product + beta * input if beta else product.expand(_core.broadcast_shapes(input.shape, product.shape))


def renorm(input: Tensor, p: float, dim: int, maxnorm: float) -> Tensor:
    """Slices along dim scaled down to a norm of at most maxnorm."""
    others = [i for i in _range(input.ndim) if i != dim % input.ndim]
    norm = linalg.vector_norm(input, p, others, keepdim=True)
    return input * _core.where(norm > maxnorm, maxnorm / (norm + 1e-7), 1.0)


def pdist(input: Tensor, p: float = 2.0) -> Tensor:
    """Distances between all pairs of rows: [n, d] -> [n (n - 1) / 2]."""
    first, second = _core.triu_indices(len(input), len(input), 1, device=input.device)
    return linalg.vector_norm(input[first] - input[second], p, -1)


def cholesky(input: Tensor, upper: bool = False) -> Tensor:
    """The triangular factor of a positive matrix."""
    return linalg.cholesky(input, upper=upper)


def cholesky_solve(B: Tensor, L: Tensor, upper: bool = False) -> Tensor:
    """The X for which A @ X = B, from the triangular factor L of A and right-hand sides [..., n, k]."""
    half = linalg.solve_triangular(L.mH if upper else L, B, upper=False)
    return linalg.solve_triangular(L if upper else L.mH, half, upper=True)


def cholesky_inverse(L: Tensor, upper: bool = False) -> Tensor:
    """The inverse of the matrix with the triangular factor L."""
    return cholesky_solve(_core.eye(L.shape[-1], dtype=L.dtype, device=L.device).expand(L.shape), L, upper)


def qr(input: Tensor, some: bool = True) -> Any:
    """The factors Q and R."""
    return linalg.qr(input, "reduced" if some else "complete")


def svd(input: Tensor, some: bool = True, compute_uv: bool = True) -> Any:
    """U, S and V with input = U diag(S) V^H."""
    u, s, vh = linalg.svd(input, full_matrices=not some)
    return u, s, vh.mH


def svd_lowrank(A: Tensor, q: int = 6, niter: int = 2, M: Tensor | None = None) -> Any:
    """U, S and V of the largest q singular values of A - M. They are exact, and niter is not needed."""
    u, s, vh = linalg.svd(A if M is None else A - M, full_matrices=False)
    return u[..., :q], s[..., :q], vh[..., :q, :].transpose(-2, -1)


def pca_lowrank(A: Tensor, q: int | None = None, center: bool = True, niter: int = 2) -> Any:
    """svd_lowrank() of the rows less their mean, of q components: at most 6 when not given."""
    q = min(6, *A.shape[-2:]) if q is None else q
    return svd_lowrank(A - A.mean(-2, keepdim=True) if center else A, q)


def diagflat(input: Tensor, offset: int = 0) -> Tensor:
    """A matrix with the elements of the input on a diagonal."""
    return _core.diag(input.flatten(), offset)


def put(input: Tensor, index: Tensor, source: Tensor, accumulate: bool = False) -> Tensor:
    """input with elements of its flattened form replaced, or added to."""
    flat = input.reshape(-1)
    source = source.reshape(-1)
    where = index.reshape(-1) % flat.shape[0]
    changed = flat.index_add(0, where, source) if accumulate else flat.index_copy(0, where, source)
    return changed.reshape(input.shape)


def dsplit(input: Tensor, indices_or_sections: Any) -> tuple[Tensor, ...]:
    """Parts along the third dimension: so many, or between these places."""
    return tuple(tensor_split(input, indices_or_sections, 2))


def _each(name: str) -> Any:
    function = getattr(_core, name)

    def call(*tensors: Any) -> Any:
        several = tensors[0] if len(tensors) == 1 and isinstance(tensors[0], (list, tuple)) else tensors
        return function(*several) if several is tensors and len(tensors) == 1 else tuple(map(function, several))

    call.__name__ = call.__qualname__ = name
    call.__doc__ = f"{name}() of one tensor, or of each of several."
    return call


atleast_1d, atleast_2d, atleast_3d = map(_each, ("atleast_1d", "atleast_2d", "atleast_3d"))


def _written(input: Tensor, key: Any, src: Tensor) -> Tensor:
    result = input.clone()
    result[key] = src
    return result


def select_scatter(input: Tensor, src: Tensor, dim: int, index: int) -> Tensor:
    """input with src at an index of a dimension."""
    return _written(input, (slice(None),) * (dim % input.ndim) + (index,), src)


def slice_scatter(
    input: Tensor, src: Tensor, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1
) -> Tensor:
    """input with src in a slice of a dimension."""
    return _written(input, (slice(None),) * (dim % input.ndim) + (slice(start, end, step),), src)


def diagonal_scatter(input: Tensor, src: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Tensor:
    """input with src on a diagonal."""
    result = input.clone()
    result.diagonal(offset, dim1, dim2).copy_(src)
    return result


def column_stack(tensors: Any) -> Tensor:
    """Vectors and matrices side by side, vectors as columns."""
    return _core.hstack([x.reshape(-1, 1) if x.ndim < 2 else x for x in tensors])


def row_stack(tensors: Any) -> Tensor:
    """vstack by another name."""
    return _core.vstack(tensors)


def combinations(input: Tensor, r: int = 2, with_replacement: bool = False) -> Tensor:
    """All choices of r elements of a vector: [choices, r]."""
    choose = itertools.combinations_with_replacement if with_replacement else itertools.combinations
    chosen = list(choose(_range(input.shape[0]), r))
    return input[_core.tensor(chosen, dtype=_core.int64, device=input.device).reshape(-1, r)]


def vander(x: Tensor, N: int | None = None, increasing: bool = False) -> Tensor:
    """Powers of the elements of a vector, in columns."""
    powers = _core.arange(len(x) if N is None else N, device=x.device)
    return x.unsqueeze(-1) ** (powers if increasing else powers.flip(0))


def scalar_tensor(s: float, *, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """A number as a tensor, of the default type unless another one is given."""
    dtype = dtype or _core.get_default_dtype()
    return _core.tensor(s, dtype=dtype, device=device).requires_grad_(requires_grad)


def range(start: float = 0, end: float | None = None, step: float = 1, **options: Any) -> Tensor:
    """arange with its end, as floats."""
    if end is None:
        start, end = 0, start
    options.setdefault("dtype", _core.get_default_dtype())
    return _core.arange(start, end + step * 0.5 if (end - start) % step == 0 else end, step, **options)


def lu(A: Tensor, pivot: bool = True, get_infos: bool = False) -> Any:
    """Both factors in one matrix, and which rows were exchanged; with get_infos, zeros too."""
    factors = linalg.lu_factor(A, pivot=pivot)
    infos = _core.zeros(A.shape[:-2], dtype=_core.int32, device=A.device)
    return (*factors, infos) if get_infos else tuple(factors)


def lu_solve(b: Tensor, LU_data: Tensor, LU_pivots: Tensor) -> Tensor:
    """The x for which A @ x = b, from what lu() gives."""
    return linalg.lu_solve(LU_data, LU_pivots, b)


def lu_unpack(LU_data: Tensor, LU_pivots: Tensor, unpack_data: bool = True, unpack_pivots: bool = True) -> Any:
    """P, L and U of what lu() gives."""
    return linalg.lu_unpack(LU_data, LU_pivots)


def tensor_split(
    input: Tensor, indices_or_sections: Any = None, dim: int = 0, *, indices: Any = None, sections: Any = None
) -> tuple[Tensor, ...]:
    """Parts of a dimension: so many, of about one size, or cut at places."""
    given = [x for x in (indices_or_sections, indices, sections) if x is not None]
    if len(given) != 1:
        raise TypeError(f"tensor_split: {len(given)} of indices_or_sections, indices and sections are given; give one")
    where = given[0].tolist() if isinstance(given[0], Tensor) else given[0]
    return _core.tensor_split(input, where, dim)
