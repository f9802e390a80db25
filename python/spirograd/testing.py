"""Comparing results in tests."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from . import _core
from ._core import Tensor, as_tensor

# Relative and absolute tolerance; types that are not listed must be equal.
_TOLERANCES = {"float16": (1e-3, 1e-5), "bfloat16": (1.6e-2, 1e-5), "float32": (1.3e-6, 1e-5), "float64": (1e-7, 1e-7)}


def assert_close(
    actual: Any,
    expected: Any,
    *,
    allow_subclasses: bool = True,
    rtol: float | None = None,
    atol: float | None = None,
    equal_nan: bool = False,
    check_device: bool = True,
    check_dtype: bool = True,
    check_layout: bool = True,
    check_stride: bool = False,
    msg: str | Callable[[str], str] | None = None,
) -> None:
    """Fails unless abs(actual - expected) <= atol + rtol * abs(expected) everywhere.

    Args:
        actual: a tensor, an array, a number, or a sequence or a mapping of them.
        expected: the same.
        allow_subclasses: accept tensors of different classes.
        rtol: relative tolerance; None decides by the type: 1.3e-6 for float32, 1e-7 for float64, 0 for integers.
        atol: absolute tolerance, given together with rtol; None is 1e-5 for float32, 1e-7 for float64.
        equal_nan: NaN equals NaN.
        check_device: the devices must be the same.
        check_dtype: the types must be the same.
        check_layout: accepted; there is one layout.
        check_stride: the strides must be the same.
        msg: instead of the message, or a function of it.

    Raises:
        AssertionError: they differ.
        ValueError: one tolerance without the other.

    Example:
        >>> sg.testing.assert_close(sg.tensor([1.0, 2.0]), sg.tensor([1.0, 2.0 + 1e-7]))
    """
    if (rtol is None) != (atol is None):
        raise ValueError("assert_close: rtol and atol belong together; give both or none")
    try:
        _compare(actual, expected, "", allow_subclasses, rtol, atol, equal_nan, check_device, check_dtype, check_stride)
    except AssertionError as error:
        text = str(error)
        raise AssertionError(msg(text) if callable(msg) else text if msg is None else msg) from None


def _compare(
    actual: Any,
    expected: Any,
    where: str,
    allow_subclasses: bool,
    rtol: float | None,
    atol: float | None,
    equal_nan: bool,
    check_device: bool,
    check_dtype: bool,
    check_stride: bool,
) -> None:
    rest = (allow_subclasses, rtol, atol, equal_nan, check_device, check_dtype, check_stride)
    if isinstance(actual, Mapping) and isinstance(expected, Mapping):
        if actual.keys() != expected.keys():
            raise AssertionError(f"{_at(where)}the keys differ: {sorted(actual)} and {sorted(expected)}")
        for key in actual:
            _compare(actual[key], expected[key], f"{where}[{key!r}]", *rest)
        return
    if isinstance(actual, Sequence) and isinstance(expected, Sequence):
        if len(actual) != len(expected):
            raise AssertionError(f"{_at(where)}the lengths differ: {len(actual)} and {len(expected)}")
        for i in range(len(actual)):
            _compare(actual[i], expected[i], f"{where}[{i}]", *rest)
        return
    numbers = not isinstance(actual, Tensor | np.ndarray) and not isinstance(expected, Tensor | np.ndarray)
    if not numbers and not allow_subclasses and type(actual) is not type(expected):
        raise AssertionError(f"{_at(where)}the classes differ: {type(actual).__name__} and {type(expected).__name__}")
    x, y = as_tensor(actual).detach(), as_tensor(expected).detach()
    if numbers:  # Python's floats are float64, and types may differ
        x, y, check_dtype = x.double(), y.double(), False
        if isinstance(actual, float | int) and isinstance(expected, float | int):
            x, y = as_tensor(np.float64(actual)), as_tensor(np.float64(expected))
    for checked, name, a, b in (
        (True, "shapes", x.shape, y.shape),
        (check_device, "devices", x.device, y.device),
        (check_dtype, "types", x.dtype, y.dtype),
        (check_stride, "strides", x.stride(), y.stride()),
    ):
        if checked and a != b:
            raise AssertionError(f"{_at(where)}the {name} differ: {a} and {b}")
    _compare_values(x, y, where, rtol, atol, equal_nan)


def _compare_values(x: Tensor, y: Tensor, where: str, rtol: float | None, atol: float | None, equal_nan: bool) -> None:
    tolerances = [_TOLERANCES.get(t.dtype.name, (0.0, 0.0)) for t in (x, y)]
    relative = max(t[0] for t in tolerances) if rtol is None else rtol
    absolute = max(t[1] for t in tolerances) if atol is None else atol
    a, b = (t.cpu().double().numpy() if t.is_floating_point() else t.cpu().numpy() for t in (x, y))
    if a.dtype.kind != "f" and b.dtype.kind != "f" and not (relative or absolute):
        close = a == b
    else:
        a, b = a.astype(np.float64), b.astype(np.float64)
        close = np.isclose(a, b, rtol=relative, atol=absolute, equal_nan=equal_nan)
    if close.all():
        return
    with np.errstate(all="ignore"):
        error = np.where(close, -1, np.nan_to_num(np.abs(a.astype(np.float64) - b), nan=np.inf))
        largest = np.unravel_index(int(error.argmax()), error.shape)
        ratio = error[largest] / abs(float(b[largest]))
    wrong = int(close.size - close.sum())
    at = f" at {tuple(int(i) for i in largest)}" if largest else ""
    raise AssertionError(
        f"{_at(where)}{wrong} of {close.size} elements differ, most{at}: {a[largest]!r} instead of {b[largest]!r}, "
        f"off by {error[largest]:.4g} ({ratio:.4g} of it); allowed are {absolute:g} and {relative:g} of it"
    )


def _at(where: str) -> str:
    return f"assert_close: at {where}: " if where else "assert_close: "


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
    """A tensor of random values.

    Args:
        shape: sizes, one argument or several.
        dtype: the type.
        device: where it is; None: the default device.
        low, high: bounds; None: -9 and 9 or 10, or what the type holds.
        requires_grad: whether backward() reaches it.
        noncontiguous: every second element of a larger tensor.
        exclude_zero: 1 in the place of 0.
        memory_format: accepted.

    Example:
        >>> x = sg.testing.make_tensor(2, 3, dtype=sg.float32, low=0.0, high=1.0)
        >>> x.shape, bool((x < 1).all())
        ((2, 3), True)
    """
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
