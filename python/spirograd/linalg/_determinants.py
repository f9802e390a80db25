"""det, slogdet and logdet, with their gradients."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from .. import _core
from .._core import Tensor
from ..autograd import Function
from ..base.grad_mode import no_grad
from ._decompositions import svd
from ._inverses import inv
from ._lapack import LinAlgError, check_matrices, eye_like, lapack, name_of, or_complex
from ._norms import matrix_norm


class SlogdetResult(NamedTuple):
    """What slogdet() gives."""

    sign: Tensor
    logabsdet: Tensor


class _Det(Function):
    @staticmethod
    def forward(ctx: Any, a: Tensor) -> Any:
        (out,) = lapack("linalg.det", "has no determinant", np.linalg.det, a)
        ctx.save_for_backward(a, out)
        return out

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Any:
        a, y = ctx.saved_tensors
        g = g.unsqueeze(-1).unsqueeze(-1)
        try:
            inverse = inv(a)
        except LinAlgError:
            return g * _Cofactors.apply(a)
        with no_grad():  # what the inverse of a nearly singular matrix is off by
            condition = (matrix_norm(a, 1) * matrix_norm(inverse, 1)).amax().item() if y.numel() and a.numel() else 1.0
        if condition > float(np.finfo(name_of(a)).eps) ** -0.5:
            return g * _Cofactors.apply(a)
        return g * y.unsqueeze(-1).unsqueeze(-1) * inverse.mT


class _Cofactors(Function):
    """The gradient of det: without the signs of U and V, of each singular value the product of the others."""

    @staticmethod
    def forward(ctx: Any, a: Tensor) -> Any:
        ctx.save_for_backward(a)
        u, s, vh = svd(a)
        others = _core.where(eye_like(a) != 0, 1.0, s.unsqueeze(-2)).prod(-1)
        return _sign_of(u, vh) * ((u * others.unsqueeze(-2)) @ vh)

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Any:
        (a,) = ctx.saved_tensors
        u, s, vh = svd(a)
        same = eye_like(a) != 0
        two = same.unsqueeze(-2) | same.unsqueeze(-3)
        pairs = _core.where(two, 1.0, s.unsqueeze(-2).unsqueeze(-2)).prod(-1)  # products without two of them
        pairs = _core.where(same, 0.0, pairs)
        inner = u.mT @ g @ vh.mT
        along = _core.diag_embed((pairs @ inner.diagonal(0, -2, -1).unsqueeze(-1)).squeeze(-1))
        return _sign_of(u, vh) * (u @ (along - pairs * inner.mT) @ vh)


def _sign_of(u: Tensor, vh: Tensor) -> Tensor:
    with no_grad():
        return (det(u) * det(vh)).round().unsqueeze(-1).unsqueeze(-1)


@or_complex
def det(A: Tensor) -> Tensor:
    """The determinant of square matrices: [..., n, n] -> [...].

    Singular matrices have a first and a second gradient; a third one needs singular values that differ.

    Raises:
        TypeError: A is neither float32 nor float64.
        ValueError: the matrices are not square.

    Example:
        >>> round(sg.linalg.det(sg.tensor([[1.0, 2.0], [3.0, 4.0]])).item(), 5)
        -2.0
    """
    check_matrices("linalg.det", A, square=True)
    out: Tensor = _Det.apply(A)
    return out


class _Slogdet(Function):
    @staticmethod
    def forward(ctx: Any, a: Tensor) -> tuple[Tensor, ...]:
        made = lapack("linalg.slogdet", "has no determinant", lambda x: tuple(np.linalg.slogdet(x)), a)
        ctx.save_for_backward(a)
        ctx.set_materialize_grads(False)
        return made

    @staticmethod
    def backward(ctx: Any, gsign: Tensor | None, g: Tensor | None) -> Any:
        (a,) = ctx.saved_tensors
        if g is None:
            return _core.zeros_like(a)  # the sign is a step
        return g.unsqueeze(-1).unsqueeze(-1) * inv(a).mT


@or_complex
def slogdet(A: Tensor) -> SlogdetResult:
    """The sign of the determinant and the logarithm of its absolute value: [..., n, n] -> [...], [...].

    A singular matrix gives 0 and -inf, and has no gradient.

    Raises:
        TypeError: A is neither float32 nor float64.
        ValueError: the matrices are not square.

    Example:
        >>> sign, log = sg.linalg.slogdet(sg.tensor([[1.0, 0.0], [0.0, -1.0]]))
        >>> sign.item(), log.item()
        (-1.0, 0.0)
    """
    check_matrices("linalg.slogdet", A, square=True)
    return SlogdetResult(*_Slogdet.apply(A))


@or_complex
def logdet(A: Tensor) -> Tensor:
    """The logarithm of the determinant: [..., n, n] -> [...]; NaN where it is negative.

    Example:
        >>> sg.logdet(sg.eye(2)).item()
        0.0
    """
    sign, log = slogdet(A)
    out: Tensor = _core.where(sign < 0, math.nan, log)
    return out
