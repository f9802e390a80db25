"""torch.fx: spirograd's, whose proxies answer for functions that are called outside of a trace, too."""

from __future__ import annotations

from typing import Any

from ....fx import Proxy
from ...subclasses import AnyTensor

__all__: list[str] = []


def _answer(cls: type[Proxy], func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
    """A node for the function, or for the method of a tensor."""
    name = getattr(func, "__name__", "")
    return cls.__spirograd_function__(
        getattr(AnyTensor.__base__, name) if getattr(AnyTensor, name, None) is func else func, args, kwargs or {}
    )


Proxy.__torch_function__ = classmethod(_answer)  # type: ignore[attr-defined]
