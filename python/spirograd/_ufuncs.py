"""NumPy's functions of tensors, such as `np.exp(x)`: those that are operations here, on the tensor's device and with
gradients; and `a += x` with an array. Imported once, by `__init__`."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import _core
from ._core import Tensor, Value

# An array or a number of NumPy in front of an operator: the tensor behind it answers.
_REFLECTED = {
    "add": "__radd__", "subtract": "__rsub__", "multiply": "__rmul__", "divide": "__rtruediv__",
    "floor_divide": "__rfloordiv__", "remainder": "__rmod__", "divmod": "__rdivmod__", "power": "__rpow__",
    "matmul": "__rmatmul__", "bitwise_and": "__rand__", "bitwise_or": "__ror__", "bitwise_xor": "__rxor__",
    "left_shift": "__rlshift__", "right_shift": "__rrshift__", "equal": "__eq__", "not_equal": "__ne__",
    "less": "__gt__", "less_equal": "__ge__", "greater": "__lt__", "greater_equal": "__le__",
}  # fmt: skip
# Names that NumPy has and PyTorch has not.
_NAMES = {
    "absolute": "abs", "arccos": "acos", "arccosh": "acosh", "arcsin": "asin", "arcsinh": "asinh", "arctan": "atan",
    "arctan2": "atan2", "arctanh": "atanh", "conjugate": "conj", "divide": "div", "equal": "eq", "fabs": "abs",
    "float_power": "pow", "greater": "gt", "greater_equal": "ge", "invert": "bitwise_not", "left_shift":
    "bitwise_left_shift", "less": "lt", "less_equal": "le", "multiply": "mul", "negative": "neg", "not_equal": "ne",
    "power": "pow", "right_shift": "bitwise_right_shift", "rint": "round", "subtract": "sub",
}  # fmt: skip


def array_ufunc(self: Tensor, ufunc: np.ufunc, method: str, *inputs: Any, **keywords: Any) -> Any:
    """Tensor.__array_ufunc__. NotImplemented, hence TypeError, for what is no operation here."""
    out = keywords.pop("out", None)
    if keywords or any(isinstance(x, Value) for x in inputs):
        return NotImplemented
    if out is not None:  # `a += x`: the array is NumPy's, and so is the sum
        arrays = [x.detach().cpu().numpy() if isinstance(x, Tensor) else x for x in inputs]
        wrong = any(isinstance(x, Tensor) and x.requires_grad for x in inputs) or isinstance(out[0], Tensor)
        return NotImplemented if wrong else getattr(ufunc, method)(*arrays, out=out)
    if method != "__call__":
        return NotImplemented
    name = ufunc.__name__
    if not isinstance(inputs[0], Tensor) and name in _REFLECTED:
        return getattr(self, _REFLECTED[name])(inputs[0])
    function = getattr(_core, _NAMES.get(name, name), None)
    if function is None:
        return NotImplemented
    if not isinstance(inputs[0], Tensor):
        inputs = (_core.tensor(inputs[0], device=self.device), *inputs[1:])
    return function(*inputs)


Tensor.__array_ufunc__ = array_ufunc
