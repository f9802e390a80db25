"""Arguments of PyTorch's functions that spirograd's do not have."""

from __future__ import annotations

import functools
import inspect
import warnings
from collections.abc import Callable
from types import BuiltinFunctionType
from typing import Any

from .._core import Tensor, tensor
from ..base.out import placed
from .absent import Meta
from .layouts import arranged, channels_last, channels_last_3d, memory_format, preserve_format, strided

__all__ = ["FACTOR_FIRST", "NEWER_LOSSES", "adapted", "factor_first", "legacy_reduction", "without_layout"]

# They say where or how memory is laid out: there is one way here.
_OF_NUMBERS = ("add", "sub", "mul", "div", "true_divide", "floor_divide", "remainder", "fmod", "pow")
_SIZED = ("empty", "ones", "rand", "randn", "zeros")
_MADE = ("empty", "empty_like", "full_like", "ones_like", "rand_like", "randn_like", "zeros_like")
_NUMBERS = (bool, int, float)
FACTOR_FIRST = {"add": ("alpha", 1), "sub": ("alpha", 1), "addcmul": ("value", 2), "addcdiv": ("value", 2)}
# Losses that never had `size_average` and `reduce`.
NEWER_LOSSES = ("ctc_loss", "gaussian_nll_loss", "huber_loss", "CTCLoss", "GaussianNLLLoss", "HuberLoss")
_WITHOUT_MEANING = ("pin_memory", "memory_format", "names")


def adapted(thing: Any) -> Any:
    """A function of the core, taking `out=` and the arguments without a meaning as well; other things as they are."""
    if not isinstance(thing, BuiltinFunctionType):
        return thing
    function: Callable[..., Any] = thing if thing.__name__ not in _OF_NUMBERS else _of_numbers(thing)
    sized, made = thing.__name__ in _SIZED, thing.__name__ in _MADE
    if thing.__name__ in FACTOR_FIRST:
        function = factor_first(function, thing.__name__)

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        if sized and args and isinstance(args[0], Tensor):  # sizes may be tensors of one number
            args = tuple(int(size) for size in args)
        if not kwargs:
            return function(*args)
        out = kwargs.pop("out", None)
        memory_format = kwargs.pop("memory_format", None)
        result = function(*args, **without_layout(thing.__name__, kwargs))
        if made and memory_format is not None:
            result = _in_order(result, memory_format, args)
        return result if out is None else placed(thing.__name__, result, out)

    return call


def _in_order(made: Tensor, order: memory_format, args: tuple[Any, ...]) -> Tensor:
    """A new tensor with its channels last, if the format says so, or keeps that of a tensor that has."""
    like = args[0] if args and isinstance(args[0], Tensor) else made
    if order is preserve_format and like.ndim in (4, 5) and not like.is_contiguous():
        last = channels_last if like.ndim == 4 else channels_last_3d
        order = last if like.movedim(1, -1).is_contiguous() else order
    if arranged(made, order) is made:
        return made
    return arranged(made.detach(), order).requires_grad_(made.requires_grad)


def factor_first(function: Callable[..., Any], name: str) -> Callable[..., Any]:
    """A sum of a multiple, taking its factor before the tensors as well, as in PyTorch before 1.5."""
    word, tensors = FACTOR_FIRST[name.rstrip("_")]

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        if len(args) == tensors + 2 and isinstance(args[1], _NUMBERS):
            return function(args[0], *args[2:], **{word: args[1]}, **kwargs)
        return function(*args, **kwargs)

    return call


def _of_numbers(thing: Callable[..., Any]) -> Callable[..., Any]:
    """An operation of two, taking two numbers as well."""

    @functools.wraps(thing)
    def call(input: Any, other: Any, *args: Any, **kwargs: Any) -> Any:
        one = isinstance(input, _NUMBERS) and isinstance(other, _NUMBERS)
        return thing(tensor(input) if one else input, other, *args, **kwargs)

    return call


def without_layout(op: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """The arguments without those that lay memory out."""
    layout = arguments.pop("layout", strided)
    if layout is not strided and layout is not None:
        raise ValueError(f"{op}: layout {layout} is not in spirograd; use torch.strided")
    if Meta.is_meant(arguments.get("device")):
        del arguments["device"]
    for name in _WITHOUT_MEANING:
        arguments.pop(name, None)
    return arguments


def legacy_reduction(loss: Callable[..., Any]) -> Callable[..., Any]:
    """A loss, or the __init__ of its class, taking the old arguments `size_average` and `reduce` as well.

    In PyTorch they come before newer ones, so arguments without names have other places than here.
    """
    order = _with_old_arguments(list(inspect.signature(loss).parameters))
    first = order.index("size_average")

    @functools.wraps(loss)
    def call(*args: Any, **kwargs: Any) -> Any:
        if len(args) > len(order):
            raise TypeError(f"{loss.__name__}: {len(args)} arguments were given, it takes {len(order)}")
        placed = dict(zip(order[first:], args[first:], strict=False))
        if twice := placed.keys() & kwargs.keys():
            raise TypeError(f"{loss.__name__}: {', '.join(sorted(twice))} is given twice; give it once")
        kwargs |= placed
        size_average, reduce = kwargs.pop("size_average", None), kwargs.pop("reduce", None)
        if size_average is not None or reduce is not None:
            averaged = size_average is None or size_average
            kwargs["reduction"] = "none" if reduce is not None and not reduce else "mean" if averaged else "sum"
            warnings.warn(
                f"size_average and reduce are deprecated; use reduction={kwargs['reduction']!r}", stacklevel=2
            )
        return loss(*args[:first], **kwargs)

    return call


def _with_old_arguments(names: list[str]) -> list[str]:
    at = names.index("reduction")
    early = at - 1 if names[at - 1] in ("ignore_index", "eps") else at
    return [*names[:early], "size_average", *names[early:at], "reduce", *names[at:]]
