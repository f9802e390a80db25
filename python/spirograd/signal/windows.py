"""Windows: weights that fall towards both ends, under the names of torch.signal.windows.

They are computed in float64 by NumPy and rounded once. `sym=True` gives a symmetric window, for filters; `sym=False`
leaves out the last of one element more, so that windows side by side are periodic, for transforms.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from .. import _core
from .._core import Tensor
from ..base.types import DTypeLike

__all__ = ["bartlett", "blackman", "cosine", "exponential", "gaussian", "general_cosine", "general_hamming"]
__all__ += ["hamming", "hann", "kaiser", "nuttall"]

Places = Any  # an array of places


def _window(
    op: str,
    formula: Callable[[Places, float], Places],
    M: int,
    sym: bool,
    dtype: DTypeLike | None = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """The formula of places 0, 1 ... and of the last place of the symmetric window."""
    if M < 0:
        raise ValueError(f"{op}: the length is {M}; use 0 or more")
    last = (M - 1) if sym else M
    values = np.ones(M) if M < 2 else formula(np.arange(M, dtype=np.float64), float(last))
    kind = _core.get_default_dtype() if dtype is None else dtype
    return _core.tensor(values, dtype=kind, device=device, requires_grad=requires_grad)


def general_cosine(M: int, *, a: Iterable[float], sym: bool = True, **options: Any) -> Tensor:
    """a[0] - a[1] cos(t) + a[2] cos(2t) - ..., where t goes from 0 to 2 pi.

    Args:
        M: how many elements.
        a: the weights.
        sym: whether the window is symmetric, or periodic.
        options: dtype, device, requires_grad of the result; layout is accepted.

    Raises:
        ValueError: M is negative, or there are no weights.

    Example:
        >>> [round(v, 4) for v in sg.signal.windows.general_cosine(3, a=[0.5, 0.5]).tolist()]
        [0.0, 1.0, 0.0]
    """
    weights = list(a)
    if not weights:
        raise ValueError("general_cosine: a has no weights; give one or more")

    def formula(k: Places, last: float) -> Places:
        return sum((-1) ** i * w * np.cos(2 * math.pi * i * k / last) for i, w in enumerate(weights))

    return _window("general_cosine", formula, M, sym, **options)


def general_hamming(M: int, *, alpha: float = 0.54, sym: bool = True, **options: Any) -> Tensor:
    """general_cosine() with the weights alpha and 1 - alpha; the other arguments as there.

    Example:
        >>> [round(v, 4) for v in sg.signal.windows.general_hamming(3, alpha=0.6).tolist()]
        [0.2, 1.0, 0.2]
    """
    return general_cosine(M, a=[alpha, 1 - alpha], sym=sym, **options)


def hamming(M: int, *, sym: bool = True, **options: Any) -> Tensor:
    """The Hamming window: general_hamming() with 0.54.

    Example:
        >>> [round(v, 4) for v in sg.signal.windows.hamming(3).tolist()]
        [0.08, 1.0, 0.08]
    """
    return general_hamming(M, sym=sym, **options)


def hann(M: int, *, sym: bool = True, **options: Any) -> Tensor:
    """The Hann window: general_hamming() with 0.5.

    Example:
        >>> [round(v, 4) for v in sg.signal.windows.hann(4, sym=False).tolist()]
        [0.0, 0.5, 1.0, 0.5]
    """
    return general_hamming(M, alpha=0.5, sym=sym, **options)


def blackman(M: int, *, sym: bool = True, **options: Any) -> Tensor:
    """The Blackman window: general_cosine() with 0.42, 0.5 and 0.08.

    Example:
        >>> [round(v, 4) for v in sg.signal.windows.blackman(5).abs().tolist()]
        [0.0, 0.34, 1.0, 0.34, 0.0]
    """
    return general_cosine(M, a=[0.42, 0.5, 0.08], sym=sym, **options)


def nuttall(M: int, *, sym: bool = True, **options: Any) -> Tensor:
    """Nuttall's window of four terms: general_cosine() with 0.3635819, 0.4891775, 0.1365995 and 0.0106411.

    Example:
        >>> [round(v, 4) for v in sg.signal.windows.nuttall(3).tolist()]
        [0.0004, 1.0, 0.0004]
    """
    return general_cosine(M, a=[0.3635819, 0.4891775, 0.1365995, 0.0106411], sym=sym, **options)


def bartlett(M: int, *, sym: bool = True, **options: Any) -> Tensor:
    """A triangle from 0 to 1 and back; arguments as in general_cosine().

    Example:
        >>> sg.signal.windows.bartlett(5).tolist()
        [0.0, 0.5, 1.0, 0.5, 0.0]
    """
    return _window("bartlett", lambda k, last: 1 - np.abs(2 * k / last - 1), M, sym, **options)


def cosine(M: int, *, sym: bool = True, **options: Any) -> Tensor:
    """Half a period of a sine, whose zeros lie half an element outside.

    Example:
        >>> [round(v, 4) for v in sg.signal.windows.cosine(3).tolist()]
        [0.5, 1.0, 0.5]
    """
    return _window("cosine", lambda k, last: np.sin(math.pi * (k + 0.5) / (last + 1)), M, sym, **options)


def gaussian(M: int, *, std: float = 1.0, sym: bool = True, **options: Any) -> Tensor:
    """A normal density around the middle, 1 there.

    Args:
        M: how many elements.
        std: its standard deviation, in elements.
        sym, options: see general_cosine.

    Raises:
        ValueError: std is not positive.

    Example:
        >>> [round(v, 4) for v in sg.signal.windows.gaussian(3).tolist()]
        [0.6065, 1.0, 0.6065]
    """
    if std <= 0:
        raise ValueError(f"gaussian: std is {std}; make it positive")
    return _window("gaussian", lambda k, last: np.exp(-(((k - last / 2) / std) ** 2) / 2), M, sym, **options)


def exponential(M: int, *, center: float | None = None, tau: float = 1.0, sym: bool = True, **options: Any) -> Tensor:
    """exp(-distance / tau) from the centre.

    Args:
        M: how many elements.
        center: its place; None: the middle. A symmetric window has no other.
        tau: in elements.
        sym, options: see general_cosine.

    Raises:
        ValueError: tau is not positive, or a symmetric window is given a centre.

    Example:
        >>> [round(v, 4) for v in sg.signal.windows.exponential(3).tolist()]
        [0.3679, 1.0, 0.3679]
    """
    if tau <= 0:
        raise ValueError(f"exponential: tau is {tau}; make it positive")
    if sym and center is not None:
        raise ValueError(f"exponential: center is {center} for a symmetric window; use sym=False")
    return _window(
        "exponential", lambda k, last: np.exp(-np.abs(k - (last / 2 if center is None else center)) / tau), M, sym,
        **options,
    )  # fmt: skip


def kaiser(M: int, *, beta: float = 12.0, sym: bool = True, **options: Any) -> Tensor:
    """Kaiser's window: I0(beta root(1 - x^2)) / I0(beta), where x goes from -1 to 1.

    Args:
        M: how many elements.
        beta: the larger, the narrower; not negative.
        sym, options: see general_cosine.

    Raises:
        ValueError: beta is negative.

    Example:
        >>> [round(v, 4) for v in sg.signal.windows.kaiser(3, beta=2.0).tolist()]
        [0.4387, 1.0, 0.4387]
    """
    if beta < 0:
        raise ValueError(f"kaiser: beta is {beta}; use 0 or more")

    def formula(k: Places, last: float) -> Places:
        x = 2 * k / last - 1
        return np.i0(beta * np.sqrt(np.maximum(1 - x * x, 0))) / np.i0(beta)

    return _window("kaiser", formula, M, sym, **options)
