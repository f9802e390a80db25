"""Orthogonal polynomials, by their recurrences up to the largest degree that is asked for, which is read. They have no
gradients, as in PyTorch.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .._core import Tensor, broadcast_tensors, float32, float64, full_like, get_default_dtype, result_type, where

__all__ = ["chebyshev_polynomial_t", "chebyshev_polynomial_u", "chebyshev_polynomial_v", "chebyshev_polynomial_w"]
__all__ += ["hermite_polynomial_h", "hermite_polynomial_he", "laguerre_polynomial_l", "legendre_polynomial_p"]
__all__ += [f"shifted_chebyshev_polynomial_{kind}" for kind in "tuvw"]

Step = Callable[[int, Tensor, Tensor, Tensor], Tensor]  # the polynomial of degree k + 1 from k, x, those of k and k - 1


def _by_recurrence(op: str, x: Any, n: Any, first: Callable[[Tensor], Tensor], step: Step) -> Tensor:
    if not isinstance(x, Tensor) and not isinstance(n, Tensor):
        raise TypeError(f"{op}: {type(x).__name__} and {type(n).__name__} are given; one of them must be a tensor")
    kind = result_type(x, n)
    kind = kind if kind.is_floating_point else get_default_dtype()
    if kind not in (float32, float64):
        raise TypeError(f"{op}: the type is {kind.name}; convert it with .float()")
    like = x if isinstance(x, Tensor) else n
    points = x.detach().to(kind) if isinstance(x, Tensor) else full_like(like, x, dtype=kind, requires_grad=False)
    degree = n.detach() if isinstance(n, Tensor) else full_like(points, n)
    points, degree = broadcast_tensors(points, degree.trunc() if degree.is_floating_point() else degree)
    before, here = full_like(points, 1.0), first(points)
    found = where(degree < 0, 0.0, where(degree == 0, before, here))
    most = int(degree.max().item()) if degree.numel() else 0
    for k in range(1, most):
        before, here = here, step(k, points, here, before)
        found = where(degree == k + 1, here, found)
    return found


def _chebyshev(k: int, x: Tensor, here: Tensor, before: Tensor) -> Tensor:
    return 2 * x * here - before


def _shifted(k: int, x: Tensor, here: Tensor, before: Tensor) -> Tensor:
    return (4 * x - 2) * here - before


def chebyshev_polynomial_t(input: Any, n: Any) -> Tensor:
    """Chebyshev's polynomials of the first kind.

    Args:
        input: where.
        n: the degrees; below 0 they give 0. One of both is a tensor.

    Raises:
        TypeError: neither is a tensor, or the type is a half one.

    Example:
        >>> sg.special.chebyshev_polynomial_t(sg.tensor([0.5]), 2).tolist()
        [-0.5]
    """
    return _by_recurrence("chebyshev_polynomial_t", input, n, lambda x: x, _chebyshev)


def chebyshev_polynomial_u(input: Any, n: Any) -> Tensor:
    """Chebyshev's polynomials of the second kind; arguments as in chebyshev_polynomial_t."""
    return _by_recurrence("chebyshev_polynomial_u", input, n, lambda x: 2 * x, _chebyshev)


def chebyshev_polynomial_v(input: Any, n: Any) -> Tensor:
    """Chebyshev's polynomials of the third kind; arguments as in chebyshev_polynomial_t."""
    return _by_recurrence("chebyshev_polynomial_v", input, n, lambda x: 2 * x - 1, _chebyshev)


def chebyshev_polynomial_w(input: Any, n: Any) -> Tensor:
    """Chebyshev's polynomials of the fourth kind; arguments as in chebyshev_polynomial_t."""
    return _by_recurrence("chebyshev_polynomial_w", input, n, lambda x: 2 * x + 1, _chebyshev)


def shifted_chebyshev_polynomial_t(input: Any, n: Any) -> Tensor:
    """chebyshev_polynomial_t() at 2 x - 1."""
    return _by_recurrence("shifted_chebyshev_polynomial_t", input, n, lambda x: 2 * x - 1, _shifted)


def shifted_chebyshev_polynomial_u(input: Any, n: Any) -> Tensor:
    """chebyshev_polynomial_u() at 2 x - 1."""
    return _by_recurrence("shifted_chebyshev_polynomial_u", input, n, lambda x: 4 * x - 2, _shifted)


def shifted_chebyshev_polynomial_v(input: Any, n: Any) -> Tensor:
    """chebyshev_polynomial_v() at 2 x - 1."""
    return _by_recurrence("shifted_chebyshev_polynomial_v", input, n, lambda x: 4 * x - 3, _shifted)


def shifted_chebyshev_polynomial_w(input: Any, n: Any) -> Tensor:
    """chebyshev_polynomial_w() at 2 x - 1."""
    return _by_recurrence("shifted_chebyshev_polynomial_w", input, n, lambda x: 4 * x - 1, _shifted)


def hermite_polynomial_h(input: Any, n: Any) -> Tensor:
    """Hermite's polynomials of physicists; arguments as in chebyshev_polynomial_t."""
    return _by_recurrence(
        "hermite_polynomial_h", input, n, lambda x: 2 * x, lambda k, x, here, before: 2 * (x * here - k * before)
    )


def hermite_polynomial_he(input: Any, n: Any) -> Tensor:
    """Hermite's polynomials of probability; arguments as in chebyshev_polynomial_t."""
    return _by_recurrence(
        "hermite_polynomial_he", input, n, lambda x: x, lambda k, x, here, before: x * here - k * before
    )


def laguerre_polynomial_l(input: Any, n: Any) -> Tensor:
    """Laguerre's polynomials; arguments as in chebyshev_polynomial_t.

    Example:
        >>> sg.special.laguerre_polynomial_l(sg.tensor([2.0]), 1).tolist()
        [-1.0]
    """

    def step(k: int, x: Tensor, here: Tensor, before: Tensor) -> Tensor:
        return ((2 * k + 1 - x) * here - k * before) / (k + 1)

    return _by_recurrence("laguerre_polynomial_l", input, n, lambda x: 1 - x, step)


def legendre_polynomial_p(input: Any, n: Any) -> Tensor:
    """Legendre's polynomials; arguments as in chebyshev_polynomial_t.

    Example:
        >>> sg.special.legendre_polynomial_p(sg.tensor([2.0]), 2).tolist()
        [5.5]
    """

    def step(k: int, x: Tensor, here: Tensor, before: Tensor) -> Tensor:
        return ((2 * k + 1) * x * here - k * before) / (k + 1)

    return _by_recurrence("legendre_polynomial_p", input, n, lambda x: x, step)
