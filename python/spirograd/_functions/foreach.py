"""PyTorch's _foreach_*: an operation for each tensor of a list. Equal kernels of a list run together here anyway."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .. import _core, linalg
from .._core import Tensor
from ..base.overridable import open_functions

_UNARY = ["abs", "ceil", "cos", "erf", "exp", "expm1", "floor", "log", "log10", "log1p", "log2", "neg", "reciprocal"]
_UNARY += ["round", "rsqrt", "sigmoid", "sign", "sin", "sqrt", "tan", "tanh", "trunc"]
_BINARY = {"add": "add", "sub": "sub", "mul": "mul", "div": "div", "pow": "pow"}
_BINARY |= {"maximum": "maximum", "minimum": "minimum", "clamp_max": "minimum", "clamp_min": "maximum"}


def _each(other: Any, count: int) -> Sequence[Any]:
    """A list as it is, or one number or tensor for all."""
    return other if isinstance(other, (list, tuple)) else [other] * count


def _number(other: Any, like: Tensor) -> Any:
    return other if isinstance(other, Tensor) else _core.full((), other, dtype=like.dtype, device=like.device)


def _of_one(name: str) -> Callable[..., list[Tensor]]:
    def call(self: Sequence[Tensor]) -> list[Tensor]:
        return [getattr(x, name)() for x in self]

    return call


def _of_two(name: str) -> Callable[..., list[Tensor]]:
    def call(self: Sequence[Tensor], other: Any, **options: Any) -> list[Tensor]:
        pairs = zip(self, _each(other, len(self)), strict=True)
        if name in ("maximum", "minimum"):
            return [getattr(x, name)(_number(y, x)) for x, y in pairs]
        return [getattr(x, name)(y, **options) for x, y in pairs]

    return call


def _lerp(self: Sequence[Tensor], end: Sequence[Tensor], weight: Any) -> list[Tensor]:
    return [x.lerp(y, w) for x, y, w in zip(self, end, _each(weight, len(self)), strict=True)]


def _three(name: str) -> Callable[..., list[Tensor]]:
    def call(self: Sequence[Tensor], first: Sequence[Tensor], second: Sequence[Tensor], value: Any = 1) -> list[Tensor]:
        values = value.tolist() if isinstance(value, Tensor) else _each(value, len(self))
        lists = zip(self, first, second, values, strict=True)
        return [getattr(x, name)(a, b, value=v) for x, a, b, v in lists]

    return call


def _foreach_norm(self: Sequence[Tensor], ord: Any = 2, dtype: Any = None) -> list[Tensor]:
    return [linalg.vector_norm(x, ord, dtype=dtype) for x in self]


def _foreach_copy_(self: Sequence[Tensor], src: Sequence[Tensor], non_blocking: bool = False) -> None:
    for x, y in zip(self, src, strict=True):
        x.copy_(y)


def _foreach_zero_(self: Sequence[Tensor]) -> None:
    for x in self:
        x.zero_()


def _in_place(function: Callable[..., list[Tensor]]) -> Callable[..., None]:
    def call(self: Sequence[Tensor], *args: Any, **kwargs: Any) -> None:
        for x, new in zip(self, function(self, *args, **kwargs), strict=True):
            x.copy_(new)

    return call


_made: dict[str, Callable[..., list[Tensor]]] = {name: _of_one(name) for name in _UNARY}
_made |= {name: _of_two(method) for name, method in _BINARY.items()}
_made |= {"lerp": _lerp, "addcmul": _three("addcmul"), "addcdiv": _three("addcdiv")}
for _name, _function in _made.items():
    for _form, _suffix in ((_function, ""), (_in_place(_function), "_")):
        _form.__name__ = _form.__qualname__ = f"_foreach_{_name}{_suffix}"
        _form.__doc__ = f"`{_name}{_suffix}` for each tensor of a list."
        globals()[_form.__name__] = _form

__all__ = [name for name in list(globals()) if name.startswith("_foreach_")]

open_functions(__name__)
