"""The names that torch.nn.init had before they ended in an underscore."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import Any

from ....nn import init

_OLD = "constant dirac eye kaiming_normal kaiming_uniform normal orthogonal sparse uniform xavier_normal xavier_uniform"


def _old(name: str) -> Callable[..., Any]:
    def call(*args: Any, **kwargs: Any) -> Any:
        warnings.warn(f"nn.init.{name} is deprecated; use {name}_", stacklevel=2)
        return getattr(init, f"{name}_")(*args, **kwargs)

    call.__name__ = call.__qualname__ = name
    call.__doc__ = f"{name}_ by its old name."
    return call


__all__ = [name for name in _OLD.split() if hasattr(init, f"{name}_")]
globals().update({name: _old(name) for name in __all__})


_calculate_fan_in_and_fan_out = functools.partial(init._fans, "_calculate_fan_in_and_fan_out")
_calculate_correct_fan = functools.partial(init._fan, "_calculate_correct_fan")
__all__ += ["_calculate_correct_fan", "_calculate_fan_in_and_fan_out"]


def _in_place(name: str) -> Callable[..., Any]:
    def call(tensor: Any, *args: Any, **kwargs: Any) -> Any:
        return getattr(init, name)(tensor, *args, **kwargs)

    call.__name__ = call.__qualname__ = f"_no_grad_{name}"
    call.__doc__ = f"{name} by its inner name."
    return call


_INNER = [name for name in ("normal_", "trunc_normal_", "uniform_", "zeros_") if hasattr(init, name)]
globals().update({f"_no_grad_{name}": _in_place(name) for name in _INNER})
__all__ += [f"_no_grad_{name}" for name in _INNER]
