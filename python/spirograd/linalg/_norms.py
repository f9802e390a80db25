"""Norms, on every device."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from .. import _core
from .._complex import ComplexTensor, _abs
from .._core import Tensor
from ..base.types import DTypeLike
from ._decompositions import svdvals
from ._lapack import name_of, or_complex

Dim = int | Sequence[int] | None


def _size(x: Any) -> Any:
    return _abs(x) if isinstance(x, ComplexTensor) else x


def _floating(op: str, x: Any, dtype: DTypeLike | None) -> Tensor:
    if not isinstance(x, Tensor):
        raise TypeError(f"{op}: a {type(x).__name__} is given; a tensor is needed")
    made: Tensor = x if dtype is None else x.to(dtype)
    if not made.is_floating_point():
        raise TypeError(f"{op}: the tensor is {name_of(made)}; convert it with .float(), or give dtype=")
    return made


def vector_norm(
    x: Tensor, ord: float = 2, dim: Dim = None, keepdim: bool = False, *, dtype: DTypeLike | None = None
) -> Tensor:
    """The norm of vectors, the root of order ord of the sum of abs(x)**ord, on the tensor's device.

    Args:
        x: of a floating type, or complex.
        ord: any number; 0 counts what is not 0, inf and -inf give the largest and smallest abs(x).
        dim: the dimensions that make a vector; default: all.
        keepdim: keeps them, with size 1.
        dtype: converts x first.

    Raises:
        TypeError: x is of integers.

    Example:
        >>> sg.linalg.vector_norm(sg.tensor([3.0, 4.0])).item()
        5.0
    """
    x = _floating("linalg.vector_norm", _size(x), dtype)
    if not isinstance(ord, int | float):
        raise TypeError(f"linalg.vector_norm: ord is {ord!r}; a number is needed")
    return _core.norm(x, float(ord), dim, keepdim)


@or_complex
def matrix_norm(
    A: Tensor,
    ord: float | str = "fro",
    dim: Sequence[int] = (-2, -1),
    keepdim: bool = False,
    *,
    dtype: DTypeLike | None = None,
) -> Tensor:
    """The norm of matrices.

    Args:
        A: of a floating type.
        ord: 'fro' the root of the sum of squares; 'nuc' the sum of singular values; 2 and -2 the largest and smallest
            of them (these three in LAPACK, see svd()); 1 and -1 the largest and smallest sum of abs(A) along a column,
            inf and -inf along a row.
        dim: the two dimensions that make a matrix.
        keepdim: keeps them, with size 1.
        dtype: converts A first.

    Raises:
        TypeError: A is of integers.
        ValueError: ord is something else, or dim are not two dimensions.

    Example:
        >>> sg.linalg.matrix_norm(sg.tensor([[1.0, -2.0], [3.0, 4.0]]), 1).item()
        6.0
    """
    op = "linalg.matrix_norm"
    A = _floating(op, A, dtype)
    if A.ndim < 2:
        raise ValueError(f"{op}: a tensor of shape {list(A.shape)} is not a matrix; use two dimensions or more")
    dims = list(dim) if not isinstance(dim, int) else [dim]
    if any(not -A.ndim <= d < A.ndim for d in dims):
        raise IndexError(f"{op}: dim {tuple(dims)} is out of range for shape {list(A.shape)}")
    if len({d % A.ndim for d in dims}) != 2 or len(dims) != 2:
        raise ValueError(f"{op}: dim {tuple(dims)} are not two dimensions")
    row, column = (d % A.ndim for d in dims)
    if ord == "fro":
        return _core.norm(A, 2.0, (row, column), keepdim)
    if ord in ("nuc", 2, -2):
        s = svdvals(A.movedim((row, column), (-2, -1)))
        out = s.sum(-1) if ord == "nuc" else s.amax(-1) if ord == 2 else s.amin(-1)
    elif ord in (1, -1, math.inf, -math.inf):
        along, other = (row, column) if abs(float(ord)) == 1 else (column, row)
        sums = A.abs().sum(along, True)
        out = sums.amax(other, True) if float(ord) > 0 else sums.amin(other, True)
        out = out.squeeze((row, column))
    else:
        raise ValueError(f"{op}: ord {ord!r} is unknown; use 'fro', 'nuc', 1, 2, inf, or these with a minus")
    if not keepdim:
        return out
    for d in sorted((row, column)):
        out = out.unsqueeze(d)
    return out


def norm(
    A: Tensor,
    ord: float | str | None = None,
    dim: Dim = None,
    keepdim: bool = False,
    *,
    dtype: DTypeLike | None = None,
) -> Tensor:
    """The norm of vectors or of matrices.

    Args:
        A: of a floating type.
        ord: without it, the root of the sum of squares; else as in vector_norm() or matrix_norm().
        dim: one dimension makes vectors, two make matrices (vectors again without ord); default: all of A, which with
            ord is of one dimension or two.
        keepdim: keeps them, with size 1.
        dtype: converts A first.

    Raises:
        TypeError: A is of integers.
        ValueError: ord or dim are neither.

    Example:
        >>> sg.linalg.norm(sg.tensor([[3.0, 0.0], [0.0, 4.0]])).item()
        5.0
        >>> sg.linalg.norm(sg.tensor([[3.0, 0.0], [0.0, 4.0]]), ord=1, dim=0).tolist()
        [3.0, 4.0]
    """
    if ord is None:
        return vector_norm(A, 2, dim, keepdim, dtype=dtype)
    A = _floating("linalg.norm", A, dtype)
    dims = list(range(A.ndim)) if dim is None else [dim] if isinstance(dim, int) else list(dim)
    if len(dims) == 2:
        return matrix_norm(A, ord, dims, keepdim)
    if isinstance(ord, str):
        raise ValueError(f"linalg.norm: ord {ord!r} is for matrices; {len(dims)} dimensions are given")
    if len(dims) != 1:
        raise ValueError(f"linalg.norm: ord {ord!r} over {len(dims)} dimensions; give dim= of one or two")
    return vector_norm(A, ord, dims, keepdim)
