"""The arguments of layers: how help() describes them, and how repr() shows them."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, TypeVar

from .._core import Tensor
from ..base.docstrings import described_by

T = TypeVar("T", bound=Callable[..., Any])

# Descriptions of arguments that many layers and functions take.
_COMMON = """
Args:
    input: a tensor of any shape.
    device: the device of the parameters.
    dtype: the element type of the parameters.
    inplace: whether to write the result into the input; gradients remain correct.
    reduction: "mean", "sum" or "none".
"""


def described(*sources: Any, **words: str) -> Callable[[T], T]:
    """Calls described_by() with the sources, and with the text of arguments that many layers take."""
    return described_by(*sources, _COMMON, **words)


def of_dims(dims: int, *sources: Any, **words: str) -> Callable[[T], T]:
    """Calls described() for the member of a family with 1, 2 or 3 dimensions, whose sizes replace `{sizes}`."""
    return described(*sources, sizes=("length", "height, width", "depth, height, width")[dims - 1], **words)


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
