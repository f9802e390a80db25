"""NumPy's elementwise functions of tensors, such as numpy.sqrt(x): they compute on arrays, and give tensors."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._core import Tensor, from_numpy

__all__ = ["array_ufunc"]

# An array or a number of NumPy before an operator asks its function; the tensor behind it has gradients.
_REFLECTED = {
    "add": "__radd__",
    "bitwise_and": "__rand__",
    "bitwise_or": "__ror__",
    "bitwise_xor": "__rxor__",
    "divide": "__rtruediv__",
    "equal": "__eq__",
    "floor_divide": "__rfloordiv__",
    "greater": "__lt__",
    "greater_equal": "__le__",
    "less": "__gt__",
    "less_equal": "__ge__",
    "matmul": "__rmatmul__",
    "multiply": "__rmul__",
    "not_equal": "__ne__",
    "power": "__rpow__",
    "remainder": "__rmod__",
    "subtract": "__rsub__",
}


def array_ufunc(self: Tensor, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
    """Tensor.__array_ufunc__."""
    reflected = _REFLECTED.get(ufunc.__name__)
    if reflected and method == "__call__" and not kwargs and not isinstance(inputs[0], Tensor):
        return getattr(self, reflected)(inputs[0])
    made = getattr(ufunc, method)(*(np.asarray(x) if isinstance(x, Tensor) else x for x in inputs), **kwargs)
    if kwargs.get("out") is not None:
        return made
    return tuple(map(_tensor, made)) if isinstance(made, tuple) else _tensor(made)


def _tensor(made: Any) -> Tensor:
    return from_numpy(np.array(made))
