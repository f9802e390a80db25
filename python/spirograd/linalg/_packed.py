"""Matrices as reflections and triangles, in LAPACK's compact forms."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from .. import _core
from .._core import Tensor
from ._lapack import LinAlgError, check_matrices, real_of
from ._products import householder_product

__all__ = ["geqrf", "ormqr"]


class Reflections(NamedTuple):
    """R from the diagonal on, reflections below it, and their factors."""

    a: Tensor
    tau: Tensor


class LDLFactor(NamedTuple):
    """L and D in one matrix, and which rows were exchanged, counted from 1; two negative ones are a block of D."""

    LD: Tensor
    pivots: Tensor


class LDLFactorInfo(NamedTuple):
    """LDLFactor, and for each matrix 0 or the number of the first zero on the diagonal of D."""

    LD: Tensor
    pivots: Tensor
    info: Tensor


def _on_host(like: Tensor, *arrays: Any) -> list[Tensor]:
    return [_core.tensor(np.array(a, order="C"), device=like.device) for a in arrays]


def geqrf(input: Tensor) -> Reflections:
    """The QR factors of matrices as reflections, without a gradient: [..., m, n] -> [..., m, n], [..., min(m, n)].

    linalg.householder_product() makes Q of them, ormqr() multiplies with it. It runs on the CPU, in NumPy.

    Raises:
        TypeError: the input is neither float32 nor float64.
        ValueError: it is no matrix.

    Example:
        >>> a = sg.tensor([[3.0, 1.0], [4.0, 2.0]])
        >>> packed, tau = sg.geqrf(a)
        >>> sg.allclose(sg.ormqr(packed, tau, packed.triu()), a)
        True
    """
    check_matrices("geqrf", real_of(input))
    values = input.detach().numpy()
    if input.numel() == 0:
        return Reflections(input.detach().clone(), input.new_zeros((*input.shape[:-2], min(input.shape[-2:]))))
    packed, tau = np.linalg.qr(values, mode="raw")
    return Reflections(*_on_host(input, np.swapaxes(packed, -1, -2).astype(values.dtype), tau.astype(values.dtype)))


def ormqr(input: Tensor, tau: Tensor, other: Tensor, left: bool = True, transpose: bool = False) -> Tensor:
    """Q @ other, with the square Q of the reflections that geqrf() gives.

    Args:
        input: [..., m, k], reflections below the diagonal.
        tau: [..., min(m, k)].
        other: [..., m, n]; [..., n, m] with left=False.
        left: False gives other @ Q.
        transpose: Q.mH in the place of Q.

    Raises:
        TypeError: the input is neither float32 nor float64.
        ValueError: the shapes do not fit.
    """
    rows, columns = input.shape[-2:]
    square = input[..., :rows] if columns >= rows else _core.pad(input, (0, rows - columns))
    q = householder_product(square, tau)
    q = q.mH if transpose else q
    return q @ other if left else other @ q


# ---- symmetric matrices that need not be positive --------------------------------------------------------------------
_ALPHA = (1 + math.sqrt(17)) / 8  # Bunch and Kaufman, "Some stable methods for calculating inertia" (1977)


def _exchange(a: Any, k: int, p: int, begin: int) -> None:
    """Rows and columns k < p of a symmetric matrix, of which the lower triangle from column `begin` on is kept."""
    if k == p:
        return
    for one, other in [(a[p + 1 :, k], a[p + 1 :, p]), (a[k + 1 : p, k], a[p, k + 1 : p])]:
        one[:], other[:] = other.copy(), one.copy()
    a[k, k], a[p, p] = a[p, p], a[k, k]
    if begin < k:
        a[k, begin], a[p, begin] = a[p, begin], a[k, begin]


def _choose(a: Any, k: int) -> tuple[int, int]:
    """The row that comes next, and whether the block there has one or two of them."""
    here, below = abs(a[k, k]), np.abs(a[k + 1 :, k])
    most = below.max(initial=0.0)
    if here >= _ALPHA * most:
        return k, 1
    row = k + 1 + int(below.argmax())
    beside = max(np.abs(a[row, k:row]).max(), np.abs(a[row + 1 :, row]).max(initial=0.0))
    if here >= _ALPHA * most * (most / beside):
        return k, 1
    return row, 1 if abs(a[row, row]) >= _ALPHA * beside else 2


def _factor(a: Any) -> tuple[Any, int]:
    """L D L^T of the lower triangle, in place; its pivots, and the first zero of D, counted from 1."""
    n, k, info = len(a), 0, 0
    pivots = np.zeros(n, np.int32)
    while k < n:
        row, size = _choose(a, k)
        _exchange(a, k + size - 1, row, k)
        pivots[k : k + size] = row + 1 if size == 1 else -(row + 1)
        columns = a[k + size :, k : k + size]
        block = np.tril(a[k : k + size, k : k + size])
        block = block + np.tril(block, -1).T
        if size == 1 and block[0, 0] == 0:
            info = info or k + 1
        else:
            factors = np.linalg.solve(block, columns.T).T
            a[k + size :, k + size :] -= np.tril(factors @ columns.T)
            columns[:] = factors
        k += size
    return pivots, info


def _solve(a: Any, pivots: Any, x: Any) -> None:
    """The solution for the right-hand sides in x, in place."""
    n, k, blocks = len(a), 0, []
    while k < n:
        size = 1 if pivots[k] > 0 else 2
        last, row = k + size - 1, abs(pivots[k]) - 1
        blocks.append((k, size, row))
        x[[last, row]] = x[[row, last]]
        x[k + size :] -= a[k + size :, k : k + size] @ x[k : k + size]
        block = np.tril(a[k : k + size, k : k + size])
        x[k : k + size] = np.linalg.solve(block + np.tril(block, -1).T, x[k : k + size])
        k += size
    for k, size, row in reversed(blocks):
        x[k : k + size] -= a[k + size :, k : k + size].T @ x[k + size :]
        x[[k + size - 1, row]] = x[[row, k + size - 1]]


def ldl_factor_ex(A: Tensor, *, hermitian: bool = False, check_errors: bool = False) -> LDLFactorInfo:
    """ldl_factor(), and for each matrix 0, or the number of the first zero on the diagonal of D, counted from 1."""
    check_matrices("linalg.ldl_factor", A, square=True)
    packed = np.tril(A.detach().numpy()).copy()
    pivots, info = np.zeros(A.shape[:-1], np.int32), np.zeros(A.shape[:-2], np.int32)
    for at in np.ndindex(*A.shape[:-2]):
        pivots[at], info[at] = _factor(packed[at])
    if check_errors and info.any():
        raise LinAlgError("linalg.ldl_factor: a matrix is singular; see linalg.pinv")
    return LDLFactorInfo(*_on_host(A, packed, pivots, info))


def ldl_factor(A: Tensor, *, hermitian: bool = False) -> LDLFactor:
    """L, of which the diagonal is ones, and D of blocks of one or two rows, of symmetric matrices A = P L D L^T P^T.

    [..., n, n] -> [..., n, n], [..., n], without a gradient. It runs on the CPU, in NumPy.

    Args:
        A: matrices, of which the lower triangle is read.
        hermitian: without a meaning for real matrices.

    Raises:
        LinAlgError: a matrix is singular.
        TypeError: A is neither float32 nor float64.
        ValueError: the matrices are not square.

    Example:
        >>> a = sg.tensor([[1.0, 2.0], [2.0, 1.0]])
        >>> factor, pivots = sg.linalg.ldl_factor(a)
        >>> sg.linalg.ldl_solve(factor, pivots, a.sum(-1, keepdim=True)).flatten().tolist()
        [1.0, 1.0]
    """
    return LDLFactor(*ldl_factor_ex(A, check_errors=True)[:2])


def ldl_solve(LD: Tensor, pivots: Tensor, B: Tensor, *, hermitian: bool = False) -> Tensor:
    """The X for which A @ X = B, from what ldl_factor() gives: [..., n, n], [..., n], [..., n, k] -> [..., n, k]."""
    check_matrices("linalg.ldl_solve", LD, square=True)
    batch = _core.broadcast_shapes(LD.shape[:-2], B.shape[:-2])
    factors, order = LD.expand(*batch, *LD.shape[-2:]).detach().numpy(), pivots.expand(*batch, LD.shape[-1]).numpy()
    x = B.expand(*batch, *B.shape[-2:]).detach().numpy().copy()
    for at in np.ndindex(*batch):
        _solve(factors[at], order[at], x[at])
    return _on_host(LD, x)[0]
