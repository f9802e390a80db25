"""Formulas that several rows measure, and the check of a result."""

from __future__ import annotations

from typing import Any

import numpy as np


def close(ours: Any, truth: Any, tolerance: float) -> None:
    """A fast wrong result is no result."""
    if np.shape(ours) != np.shape(truth):
        raise ArithmeticError(f"benchmark: the result has shape {np.shape(ours)}, right is {np.shape(truth)}")
    error = float(np.max(np.abs(ours - truth) / (np.abs(truth) + np.mean(np.abs(truth)) + 1e-30)))
    if not error <= tolerance:
        raise ArithmeticError(f"benchmark: the result is off by {error:.3g} (relative), at most {tolerance:g} is right")


def chain(x: Any, relu: Any, tanh: Any) -> Any:
    """Eight pointwise ops: mul, add, relu, mul, sub, tanh, mul, add."""
    y = tanh(relu(x * 1.1 + 0.5) * 0.9 - 0.1)
    return y * x + x


def plain_chain(x: Any, relu: Any, _: Any) -> Any:
    """Eight pointwise ops without a function that costs arithmetic: mul, add, mul, sub, mul, relu, mul, add."""
    return relu(((x * 1.5 + 0.5) * 0.7 - 0.1) * x) * 2.0 + 1.0
