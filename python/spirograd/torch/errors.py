"""Errors of wrong arguments: in PyTorch most are RuntimeErrors, which programs catch."""

from __future__ import annotations

from typing import Any

from .. import _core

__all__ = ["open_errors"]


class WrongValue(ValueError, RuntimeError):
    """A value or a shape that does not fit."""

    def __reduce__(self) -> Any:
        return _value_again, self.args


class WrongType(TypeError, RuntimeError):
    """An element type or a kind of argument that does not fit."""

    def __reduce__(self) -> Any:
        return _type_again, self.args


def _value_again(*args: Any) -> WrongValue:
    return WrongValue(*args)


def _type_again(*args: Any) -> WrongType:
    return WrongType(*args)


def open_errors() -> None:
    """Makes the core raise these, under the names that programs for spirograd see."""
    for kind, name in ((WrongValue, "ValueError"), (WrongType, "TypeError")):
        kind.__name__, kind.__qualname__, kind.__module__ = name, name, "builtins"
    _core._set_argument_errors(WrongValue, WrongType)
