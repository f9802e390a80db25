"""Subclasses of torch.Tensor: what is done with one of them gives one of them, and asks its __torch_function__()."""

from __future__ import annotations

import copy
from typing import Any

from .. import _core, nn
from .._core import Tensor
from . import answering
from .kinds import construct

__all__ = ["as_it_is", "open_to_subclasses"]

_OWN = (nn.Parameter, nn.Buffer)
_text, _copy, _deepcopy, _reduce = Tensor.__repr__, Tensor.__copy__, Tensor.__deepcopy__, Tensor.__reduce_ex__


def _torch_function(cls: Any, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
    """The function's own result, of this class."""
    if not all(issubclass(cls, kind) for kind in types):
        return NotImplemented
    with answering.DisableTorchFunctionSubclass():
        result = func(*args, **(kwargs or {}))
        return result if func in as_it_is() else _converted(result, cls)


def as_it_is() -> set[Any]:
    """Functions whose results keep their class."""
    return {vars(Tensor)["grad"].__get__}


def _converted(result: Any, cls: Any) -> Any:
    """A result with the tensors in it of a class."""
    if isinstance(result, Tensor):
        return result if isinstance(result, cls) else _core._alias(result, cls)
    if not isinstance(result, (tuple, list)) or not any(isinstance(part, (Tensor, tuple, list)) for part in result):
        return result
    parts = [_converted(part, cls) for part in result]
    return result._make(parts) if hasattr(result, "_make") else type(result)(parts)


def _constructed(*args: Any, device: Any = None) -> Tensor:
    """What Tensor(...) means: sizes or values; of a tensor, another name for it."""
    if len(args) == 1 and isinstance(args[0], Tensor) and device is None:
        return _core._alias(args[0], Tensor)
    return construct(args, _core.get_default_dtype(), device)


def _as_subclass(self: Tensor, cls: Any) -> Any:
    """Another name for a tensor, of a subclass: it shares its memory and its place in the gradient graph.

    Args:
        cls: torch.Tensor or a subclass of it.

    Raises:
        TypeError: there is no such class.
    """
    if not issubclass(cls, Tensor):
        raise TypeError(f"as_subclass: a subclass of torch.Tensor is needed, got {cls.__name__}")
    return _core._alias(self, cls)


def _make_subclass(cls: Any, data: Tensor, require_grad: bool = False) -> Any:
    """A leaf of a subclass that shares a tensor's memory."""
    with answering.DisableTorchFunctionSubclass():
        return _core._alias(data.detach(), cls).requires_grad_(require_grad)


# ---- text, copies, pickles -------------------------------------------------------------------------------------------
def _is_plain(x: Tensor) -> bool:
    return type(x) is Tensor or isinstance(x, _OWN)


def _named(self: Tensor) -> str:
    """The text of a tensor under its class's name, where that is of a subclass."""
    if _is_plain(self):
        return _text(self)
    text = _text(_core._alias(self, Tensor))
    head = f"{type(self).__name__}("
    return head + text.removeprefix("tensor(").replace("\n" + " " * len("tensor("), "\n" + " " * len(head))


def _with(x: Any, attributes: dict[str, Any]) -> Any:
    if attributes:
        vars(x).update(attributes)
    return x


def _copied(self: Tensor) -> Any:
    if _is_plain(self):
        return _copy(self)
    return _with(_core._alias(_copy(_core._alias(self, Tensor)), type(self)), vars(self))


def _deeply_copied(self: Tensor, memo: dict[int, Any]) -> Any:
    if _is_plain(self):
        return _deepcopy(self, memo)
    if id(self) not in memo:
        memo[id(self)] = made = _core._alias(_deepcopy(_core._alias(self, Tensor), memo), type(self))
        _with(made, copy.deepcopy(vars(self), memo))
    return memo[id(self)]


def _reduced(self: Tensor, protocol: Any) -> Any:
    if _is_plain(self):
        return _reduce(self, protocol)
    return _rebuilt, (type(self), _core._alias(self, Tensor), dict(vars(self)))


def _rebuilt(kind: type, x: Tensor, attributes: dict[str, Any]) -> Any:
    """What pickle makes of what it stored."""
    return _with(_core._alias(x, kind), attributes)


def open_to_subclasses() -> None:
    """Lets programs derive classes from Tensor."""
    answering.start_asking()
    _core._set_constructor(_constructed)
    changes: dict[str, Any] = {"__copy__": _copied, "__deepcopy__": _deeply_copied, "__reduce_ex__": _reduced}
    changes |= {"__torch_function__": classmethod(_torch_function), "as_subclass": _as_subclass}
    changes |= {"__repr__": answering.method("__repr__", _named), "_make_subclass": staticmethod(_make_subclass)}
    for name, value in changes.items():
        setattr(Tensor, name, value)
