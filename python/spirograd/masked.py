"""Reductions and normalisations of the elements where a mask is true, under the names of torch.masked.

Elsewhere is what changes nothing: 0 in a sum. What has no elements at all gets that, or NaN.

Example:
    >>> x, mask = sg.tensor([1.0, 2.0, 9.0]), sg.tensor([True, True, False])
    >>> sg.masked.mean(x, mask=mask).item()
    1.5
    >>> sg.masked.softmax(x, 0, mask=mask)
    tensor([0.2689, 0.7311, 0.0000])
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from . import _core
from ._core import Tensor, where
from .base.dtypes import iinfo
from .linalg import vector_norm

__all__ = ["amax", "amin", "argmax", "argmin", "as_masked_tensor", "cumprod", "cumsum", "log_softmax", "logaddexp"]
__all__ += ["logsumexp", "masked_tensor", "mean", "median", "norm", "normalize", "prod", "softmax", "softmin", "std"]
__all__ += ["sum", "var"]

Dim = int | Sequence[int] | None


def masked_tensor(data: Any, mask: Any, requires_grad: bool = False) -> NoReturn:
    """Raises NotImplementedError: there are no tensors that have a mask."""
    raise NotImplementedError(
        "masked_tensor: no tensor keeps a mask; give mask= to the functions of torch.masked, such as masked.mean"
    )


def as_masked_tensor(data: Any, mask: Any) -> NoReturn:
    """Raises NotImplementedError, as masked_tensor()."""
    masked_tensor(data, mask)


def _limits(x: Tensor) -> tuple[float, float]:
    if x.is_floating_point():
        return -math.inf, math.inf
    limits = iinfo(x.dtype)
    return limits.min, limits.max


def _filled(op: str, input: Tensor, mask: Tensor | None, value: float) -> Tensor:
    if mask is None:
        return input
    if not isinstance(mask, Tensor) or mask.dtype != _core.bool:
        kind = mask.dtype.name if isinstance(mask, Tensor) else type(mask).__name__
        raise TypeError(f"masked.{op}: the mask is {kind}; give a tensor of bool")
    return where(mask, input, value)


def _reduced(
    op: str,
    input: Tensor,
    dim: Dim,
    keepdim: bool | None,
    dtype: Any,
    mask: Tensor | None,
    fill: Callable[[Tensor], float],
    function: Callable[..., Tensor],
) -> Tensor:
    x = input if dtype is None else input.to(dtype)
    dims = [dim] if isinstance(dim, int) else list(dim or range(x.ndim))
    x = _filled(op, x, mask, fill(x))
    return function(x, dims, bool(keepdim)) if dims else function(x.reshape(1), [0], False)


def _counts(input: Tensor, dim: Dim, keepdim: bool | None, mask: Tensor | None) -> Tensor:
    ones = _core.ones(input.shape, dtype=_core.int64, device=input.device)
    return sum(ones, dim, keepdim=keepdim, mask=mask)


def sum(
    input: Tensor, dim: Dim = None, *, keepdim: bool | None = False, dtype: Any = None, mask: Tensor | None = None
) -> Tensor:
    """The sum of the elements where the mask is true.

    Args:
        input: a tensor.
        dim: a dimension or several; None or (): all.
        keepdim: keeps folded dimensions, with size 1.
        dtype: converts the input first.
        mask: of bool, of a shape that broadcasts; None: all elements.
    """
    return _reduced("sum", input, dim, keepdim, dtype, mask, lambda x: 0, _core.sum)


def _prod(x: Tensor, dims: list[int], keepdim: bool) -> Tensor:
    for d in sorted((d % x.ndim for d in dims), reverse=True):
        x = x.prod(d, keepdim=keepdim)
    return x


def prod(
    input: Tensor, dim: Dim = None, *, keepdim: bool | None = False, dtype: Any = None, mask: Tensor | None = None
) -> Tensor:
    """The product; arguments as in sum."""
    return _reduced("prod", input, dim, keepdim, dtype, mask, lambda x: 1, _prod)


def amax(
    input: Tensor, dim: Dim = None, *, keepdim: bool | None = False, dtype: Any = None, mask: Tensor | None = None
) -> Tensor:
    """The largest element; arguments as in sum."""
    return _reduced("amax", input, dim, keepdim, dtype, mask, lambda x: _limits(x)[0], _core.amax)


def amin(
    input: Tensor, dim: Dim = None, *, keepdim: bool | None = False, dtype: Any = None, mask: Tensor | None = None
) -> Tensor:
    """The smallest element; arguments as in sum."""
    return _reduced("amin", input, dim, keepdim, dtype, mask, lambda x: _limits(x)[1], _core.amin)


def logsumexp(
    input: Tensor, dim: Dim = None, *, keepdim: bool = False, dtype: Any = None, mask: Tensor | None = None
) -> Tensor:
    """The logarithm of the sum of exponentials; arguments as in sum."""
    x = input if dtype is None else input.to(dtype)
    wide = x if x.is_floating_point() else x.float()
    return _reduced("logsumexp", wide, dim, keepdim, None, mask, lambda x: -math.inf, _core.logsumexp).to(x.dtype)


def norm(
    input: Tensor,
    ord: float | None = 2.0,
    dim: Dim = None,
    *,
    keepdim: bool | None = False,
    dtype: Any = None,
    mask: Tensor | None = None,
) -> Tensor:
    """The norm of order `ord` of vectors; other arguments as in sum."""
    order = 2.0 if ord is None else float(ord)
    fill = math.inf if order == -math.inf else 0.0
    return _reduced(
        "norm", input, dim, keepdim, dtype, mask, lambda x: fill, lambda x, d, keep: vector_norm(x, order, d, keep)
    )


def mean(
    input: Tensor, dim: Dim = None, *, keepdim: bool | None = False, dtype: Any = None, mask: Tensor | None = None
) -> Tensor:
    """The mean, NaN where the mask leaves no elements; arguments as in sum.

    Raises:
        ValueError: the input is of whole numbers, and no dtype is given.
    """
    if not (input if dtype is None else _core.empty(0, dtype=dtype)).is_floating_point():
        raise ValueError(f"masked.mean: the input is {input.dtype.name}; give dtype=, a floating type")
    total = sum(input, dim, keepdim=keepdim, dtype=dtype, mask=mask)
    return total / _counts(input, dim, keepdim, mask)


def var(
    input: Tensor,
    dim: Dim = None,
    unbiased: bool | None = None,
    *,
    correction: float | None = None,
    keepdim: bool | None = False,
    dtype: Any = None,
    mask: Tensor | None = None,
) -> Tensor:
    """The variance.

    Args:
        input, dim, keepdim, dtype, mask: as in sum.
        unbiased: False is correction=0.
        correction: what is taken from the number of elements; default: 1.

    Raises:
        ValueError: unbiased and correction are both given.
    """
    if unbiased is not None and correction is not None:
        raise ValueError("masked.var: unbiased and correction are both given; give one")
    less = correction if correction is not None else 0 if unbiased is False else 1
    x = input if dtype is None else input.to(dtype)
    x = x if x.is_floating_point() else x.to(_core.float32)
    away = x - mean(x, dim, keepdim=True, mask=mask)
    count = (_counts(x, dim, keepdim, mask) - less).to(x.dtype)
    return sum(away * away, dim, keepdim=keepdim, mask=mask) / _core.maximum(count, _core.zeros_like(count))


def std(
    input: Tensor,
    dim: Dim = None,
    unbiased: bool | None = None,
    *,
    correction: float | None = None,
    keepdim: bool | None = False,
    dtype: Any = None,
    mask: Tensor | None = None,
) -> Tensor:
    """The root of var(); the same arguments."""
    return _core.sqrt(var(input, dim, unbiased, correction=correction, keepdim=keepdim, dtype=dtype, mask=mask))


def _place(
    op: str,
    function: Callable[..., Tensor],
    end: int,  # of _limits(): what is never chosen
    input: Tensor,
    dim: int | None,
    keepdim: bool | None,
    dtype: Any,
    mask: Tensor | None,
) -> Tensor:
    x = input if dtype is None else input.to(dtype)
    return function(_filled(op, x, mask, _limits(x)[end]), dim, bool(keepdim)).to(x.dtype)


def argmax(
    input: Tensor,
    dim: int | None = None,
    *,
    keepdim: bool | None = False,
    dtype: Any = None,
    mask: Tensor | None = None,
) -> Tensor:
    """Where the largest element is, in the type of the input, as in PyTorch; arguments as in sum."""
    return _place("argmax", _core.argmax, 0, input, dim, keepdim, dtype, mask)


def argmin(
    input: Tensor,
    dim: int | None = None,
    *,
    keepdim: bool | None = False,
    dtype: Any = None,
    mask: Tensor | None = None,
) -> Tensor:
    """Where the smallest element is, in the type of the input, as in PyTorch; arguments as in sum."""
    return _place("argmin", _core.argmin, 1, input, dim, keepdim, dtype, mask)


def median(
    input: Tensor, dim: int = -1, *, keepdim: bool = False, dtype: Any = None, mask: Tensor | None = None
) -> Tensor:
    """The median, the lower one of two; NaN where the mask leaves no elements; arguments as in sum."""
    x = input if dtype is None else input.to(dtype)
    if mask is not None and not x.is_floating_point():
        raise ValueError(f"masked.median: the input is {x.dtype.name}, which has no NaN; convert it with .float()")
    return _core.nanmedian(_filled("median", x, mask, math.nan), dim, keepdim)[0]


def cumsum(input: Tensor, dim: int, *, dtype: Any = None, mask: Tensor | None = None) -> Tensor:
    """Sums up to each place; arguments as in sum."""
    x = input if dtype is None else input.to(dtype)
    return _filled("cumsum", x, mask, 0).cumsum(dim).to(x.dtype)


def cumprod(input: Tensor, dim: int, *, dtype: Any = None, mask: Tensor | None = None) -> Tensor:
    """Products up to each place; arguments as in sum."""
    x = input if dtype is None else input.to(dtype)
    return _filled("cumprod", x, mask, 1).cumprod(dim).to(x.dtype)


def softmax(input: Tensor, dim: int, *, dtype: Any = None, mask: Tensor | None = None) -> Tensor:
    """softmax() of the elements where the mask is true, 0 elsewhere; arguments as in sum."""
    return _core.softmax(_filled("softmax", input if dtype is None else input.to(dtype), mask, -math.inf), dim)


def log_softmax(input: Tensor, dim: int, *, dtype: Any = None, mask: Tensor | None = None) -> Tensor:
    """The logarithm of softmax(); arguments as in sum."""
    return _core.log_softmax(_filled("log_softmax", input if dtype is None else input.to(dtype), mask, -math.inf), dim)


def softmin(input: Tensor, dim: int, *, dtype: Any = None, mask: Tensor | None = None) -> Tensor:
    """softmax() of the negative input; arguments as in sum."""
    return softmax(-input, dim, dtype=dtype, mask=mask)


def normalize(
    input: Tensor, ord: float, dim: int, *, eps: float = 1e-12, dtype: Any = None, mask: Tensor | None = None
) -> Tensor:
    """The elements where the mask is true over their norm, which is at least eps; 0 elsewhere."""
    x = input if dtype is None else input.to(dtype)
    size = norm(x, ord, dim, keepdim=True, mask=mask)
    return _filled("normalize", x, mask, 0) / _core.maximum(size, _core.full_like(size, eps))


def logaddexp(
    input: Tensor,
    other: Tensor,
    *,
    dtype: Any = None,
    input_mask: Tensor | None = None,
    other_mask: Tensor | None = None,
) -> Tensor:
    """log(exp(input) + exp(other)), without what a mask leaves out."""
    a, b = (x if dtype is None else x.to(dtype) for x in (input, other))
    return _core.logaddexp(
        _filled("logaddexp", a, input_mask, -math.inf), _filled("logaddexp", b, other_mask, -math.inf)
    )
