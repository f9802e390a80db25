"""The arguments of layers: how help() describes them, and how repr() shows them."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from typing import Any, ClassVar, Concatenate, ParamSpec, TypeVar

from .._core import Tensor, _meet_mixed_types, float32
from ..base.docstrings import described_by

T = TypeVar("T", bound=Callable[..., Any])
P = ParamSpec("P")
R = TypeVar("R")

# Descriptions of arguments that many layers and functions take.
_COMMON = """
Args:
    input: a tensor of any shape.
    device: the device of the parameters.
    dtype: the element type of the parameters.
    inplace: whether to write the result into the input; gradients remain correct.
    reduction: "mean", "sum" or "none".
"""


def same_type(op: str, input: Tensor, *others: Tensor | None, narrow: bool = False) -> None:
    """Warns of inputs with other types than the first, or raises TypeError in programs written for PyTorch.

    Args:
        op: in the message.
        input: the first.
        others: those compared with it; None where there is none.
        narrow: whether a half type may meet float32.
    """
    own = input.dtype
    for other in others:
        if other is None or other.dtype is own or (narrow and own.itemsize == 2 and other.dtype is float32):
            continue
        _meet_mixed_types(op, own, other.dtype)


def described(*sources: Any, **words: str) -> Callable[[T], T]:
    """Calls described_by() with the sources, and with the text of arguments that many layers take."""
    return described_by(*sources, _COMMON, **words)


def of_dims(dims: int, *sources: Any, **words: str) -> Callable[[T], T]:
    """Calls described() for the member of a family with 1, 2 or 3 dimensions, whose sizes replace `{sizes}`."""
    return described(*(_of_dims(source, dims) for source in sources), **words)


def _of_dims(source: Any, dims: int) -> str:
    """The text of a family, or of its function or class, for the member with so many dimensions: they replace `{dims}`,
    their names `{sizes}`, and a number for each of them `{8}`."""
    text = source if isinstance(source, str) else source.__doc__ or ""
    words = {"dims": str(dims), "sizes": ("length", "height, width", "depth, height, width")[dims - 1]}
    return re.sub(r"\{(\w+)\}", lambda m: words.get(m[1], ", ".join([m[1]] * dims) if m[1].isdigit() else m[0]), text)


def in_dims(function: Callable[Concatenate[int, P], R], dims: int, *sources: Any, example: str = "") -> Callable[P, R]:
    """Makes a member of a family of functions.

    Args:
        function: computes every member: its first argument is the number of dimensions. Its docstring is the text of
            the family, and its name that of the members, without the `_` in front and the dimensions at the end.
        dims: the number of dimensions of the member.
        sources: what else describes it.
        example: the lines of an example in place of that of the family.
    """

    def member(*args: P.args, **kwargs: P.kwargs) -> R:
        return function(dims, *args, **kwargs)

    signature = inspect.signature(function)
    member.__signature__ = signature.replace(parameters=list(signature.parameters.values())[1:])  # type: ignore[attr-defined]
    member.__wrapped__, member.__module__ = function, function.__module__  # type: ignore[attr-defined]
    member.__name__ = member.__qualname__ = f"{function.__name__.strip('_')}{dims}d"
    member.__doc__ = f"\nExample:{example}" if example else _of_dims(function, dims)
    return of_dims(dims, *sources)(member)


class OfDims:
    """The base of families of layers with 1, 2 or 3 dimensions: class Pool2d(_Pool, dims=2). The docstring of the
    family `_Pool` describes its members; what it leaves out comes from `_sources`, and from its own bases."""

    _dims: ClassVar[int]
    _sources: ClassVar[tuple[Any, ...]] = ()

    def __init_subclass__(cls, dims: int = 0, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if dims:
            cls._dims = dims
            family, *bases = (base for base in cls.__mro__[1:] if issubclass(base, OfDims))
            cls.__doc__ = vars(cls).get("__doc__") or _of_dims(family, dims)
            of_dims(dims, family, *cls._sources, *bases)(cls)


def shown_arguments(layer: Any, shown: str | None) -> str:
    """The arguments of a layer's constructor, with the values that its attributes of the same names hold.

    Args:
        layer: the layer.
        shown: names of arguments, in the order of the text. A plain name is shown as name=value, `{name}` as the value
            alone, and `name?` only if the value is not the default. None shows all arguments, except tensors, device
            and dtype.
    """
    arguments = inspect.signature(type(layer)._constructor).parameters
    if shown is None:
        shown = " ".join(name for name, argument in arguments.items() if _is_plain(name, argument))
    texts = []
    for item in shown.split():
        name = item.strip("{}?")
        if name not in arguments:  # the members of a family share one text, and differ in their arguments
            continue
        value = getattr(layer, name)
        if name == "bias" and not isinstance(value, bool):
            value = value is not None
        if isinstance(value, Tensor) or (item.endswith("?") and _is_default(value, arguments[name].default)):
            continue
        text = str(value) if name.startswith("padding") else repr(value)  # PyTorch does not quote padding="same"
        texts.append(text if item.startswith("{") else f"{name}={text}")
    return ", ".join(texts)


def _is_plain(name: str, argument: inspect.Parameter) -> bool:
    one = argument.kind not in (argument.VAR_POSITIONAL, argument.VAR_KEYWORD)
    return (
        one and name not in ("self", "device", "dtype") and name[0] != "_" and "Tensor" not in str(argument.annotation)
    )


def _is_default(value: Any, default: Any) -> bool:
    """Whether the value, or each element of a tuple of sizes, is the default."""
    return bool(value == default or (isinstance(value, tuple) and all(size == default for size in value)))
