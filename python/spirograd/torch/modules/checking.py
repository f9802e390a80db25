"""Conditions that programs for PyTorch state, and the numbers that its compiler has names for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..._core import Tensor

__all__ = ["SymBool", "SymFloat", "SymInt", "_assert_async", "_check", "_check_index", "_check_is_size"]
__all__ += ["_check_type", "_check_value", "_check_with", "sym_float", "sym_int", "sym_ite", "sym_max", "sym_min"]
__all__ += ["sym_not", "sym_sum"]

Message = Callable[[], object] | None


class SymInt:
    """A whole number that a compiler does not know yet: here, numbers are known."""


class SymFloat:
    """A number that a compiler does not know yet."""


class SymBool:
    """A condition that a compiler does not know yet."""


sym_int, sym_float, sym_max, sym_min, sym_sum = int, float, max, min, sum


def sym_not(a: Any) -> bool:
    """Whether it does not hold."""
    return not a


def sym_ite(b: Any, t: Any, f: Any) -> Any:
    """t where b holds, else f."""
    return t if b else f


def _check_with(error: type[Exception], cond: Any, message: Message = None) -> None:
    if not isinstance(cond, (bool, int)):
        raise TypeError(f"_check: cond must be a bool, but got {type(cond)}")
    if not cond:
        raise error("Expected cond to be True, but got False" if message is None else str(message()))


def _check(cond: Any, message: Message = None) -> None:
    _check_with(RuntimeError, cond, message)


def _check_index(cond: Any, message: Message = None) -> None:
    _check_with(IndexError, cond, message)


def _check_value(cond: Any, message: Message = None) -> None:
    _check_with(ValueError, cond, message)


def _check_type(cond: Any, message: Message = None) -> None:
    _check_with(TypeError, cond, message)


def _check_is_size(i: int, message: Message = None, *, max: int | None = None) -> None:
    _check_with(RuntimeError, i >= 0 and (max is None or i <= max), message)


def _assert_async(condition: Tensor, message: str = "") -> None:
    if not bool(condition):
        raise RuntimeError(message or "Expected Tensor with single nonzero value, but got zero")
