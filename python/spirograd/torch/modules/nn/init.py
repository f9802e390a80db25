"""The names that torch.nn.init had before they ended in an underscore."""

from __future__ import annotations

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
