"""Names of torch.testing that spirograd lacks."""

from __future__ import annotations

from typing import Any

from ...testing import assert_close

__all__ = ["assert_allclose"]


def assert_allclose(
    actual: Any, expected: Any, rtol: float | None = None, atol: float | None = None, **options: Any
) -> None:
    """assert_close, which also converts numbers, arrays and types."""
    assert_close(actual, expected, rtol=rtol, atol=atol, check_dtype=False, **options)
