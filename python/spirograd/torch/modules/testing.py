"""Names of torch.testing that spirograd lacks."""

from __future__ import annotations

from typing import Any

from ... import _core
from ..._core import Tensor
from ...testing import assert_close

__all__ = ["assert_allclose", "make_tensor"]


def assert_allclose(
    actual: Any, expected: Any, rtol: float | None = None, atol: float | None = None, **options: Any
) -> None:
    """assert_close, which also converts numbers, arrays and types."""
    assert_close(actual, expected, rtol=rtol, atol=atol, check_dtype=False, **options)


def make_tensor(
    *shape: Any,
    dtype: _core.dtype,
    device: Any = None,
    low: float | None = None,
    high: float | None = None,
    requires_grad: bool = False,
    noncontiguous: bool = False,
    exclude_zero: bool = False,
    memory_format: Any = None,
) -> Tensor:
    """A tensor of random values between two bounds; without them, from -9 to 9, or of what the type holds."""
    size = tuple(shape[0]) if len(shape) == 1 and not isinstance(shape[0], int) else shape
    if dtype == _core.bool:
        return _core.randint(0, 2, size, device=device).bool()
    if dtype.is_floating_point:
        low, high = -9.0 if low is None else low, 9.0 if high is None else high
        x = (_core.rand(size, device=device) * (high - low) + low).to(dtype)
    else:
        low, high = (0 if dtype == _core.uint8 else -9) if low is None else low, 10 if high is None else high
        x = _core.randint(int(low), int(high), size, device=device).to(dtype)
    if exclude_zero:
        x = _core.where(x == 0, _core.ones_like(x), x)
    if noncontiguous and x.numel() > 1:
        x = x.repeat_interleave(2, -1)[..., ::2]
    return x.requires_grad_() if requires_grad else x
