"""eig and eigvals of matrices that are not symmetric: complex numbers, with their gradients."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .. import _core
from .._complex import ComplexTensor
from .._core import Tensor
from ..autograd import Function
from ._inverses import solve
from ._lapack import Array, check_matrices, eye_like, lapack, or_complex


class EigResult(NamedTuple):
    """What eig() gives."""

    eigenvalues: ComplexTensor
    eigenvectors: ComplexTensor


def _parts(a: Array) -> tuple[Array, ...]:
    w, v = np.linalg.eig(a)
    return np.real(w), np.imag(w), np.real(v), np.imag(v)


def _solved(a: ComplexTensor, b: ComplexTensor) -> ComplexTensor:
    """x with a @ x = b: complex equations are twice as many real ones."""
    n = a.shape[-1]
    both = _core.cat([_core.cat([a.real, -a.imag], -1), _core.cat([a.imag, a.real], -1)], -2)
    x = solve(both, _core.cat([b.real, b.imag], -2))
    return ComplexTensor(x[..., :n, :], x[..., n:, :])


class _Eig(Function):
    @staticmethod
    def forward(ctx: Any, a: Tensor) -> tuple[Tensor, ...]:
        made = lapack("linalg.eig", "has no decomposition; it may hold NaN or infinity", _parts, a)
        ctx.save_for_backward(*made)
        return made

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Tensor:
        w_real, w_imag, v_real, v_imag = ctx.saved_tensors
        v = ComplexTensor(v_real, v_imag)
        gw, gv = ComplexTensor(*grads[:2]), ComplexTensor(*grads[2:])
        turn = v.mH @ gv
        # A vector keeps its length, and its angle has no meaning.
        turn = turn - (v.mH @ v) * turn.real.diagonal(0, -2, -1).unsqueeze(-2)
        one = eye_like(v_real)
        apart = ComplexTensor(w_real, -w_imag)
        apart = apart.unsqueeze(-2) - apart.unsqueeze(-1) + one
        inner = turn / apart * (1 - one) + gw.diag_embed()
        return _solved(v.mH, inner @ v.mH).real


@or_complex
def eig(A: Tensor) -> EigResult:
    """Eigenvalues, in no order, and eigenvectors of length 1, in columns: A @ V = V * w.

    Shapes: [..., n, n] -> [..., n], [..., n, n], both complex. Symmetric matrices are for eigh().

    The angles of the vectors are free, so only what does not depend on them has a meaningful gradient, and it needs
    eigenvalues that differ.

    Args:
        A: real matrices.

    Raises:
        LinAlgError: the iteration did not converge: NaN or infinity.
        TypeError: A is neither float32 nor float64.
        ValueError: the matrices are not square.

    Example:
        >>> sg.linalg.eig(sg.tensor([[0.0, -1.0], [1.0, 0.0]])).eigenvalues.imag.tolist()
        [1.0, -1.0]
    """
    check_matrices("linalg.eig", A, square=True)
    w_real, w_imag, v_real, v_imag = _Eig.apply(A)
    return EigResult(ComplexTensor(w_real, w_imag), ComplexTensor(v_real, v_imag))


@or_complex
def eigvals(A: Tensor) -> ComplexTensor:
    """The eigenvalues: [..., n, n] -> [..., n], complex; see eig().

    Example:
        >>> sg.linalg.eigvals(sg.tensor([[0.0, -4.0], [1.0, 0.0]])).imag.tolist()
        [2.0, -2.0]
    """
    return eig(A).eigenvalues
