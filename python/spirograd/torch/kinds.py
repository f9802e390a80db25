"""The types of tensors that PyTorch had before it had dtypes: FloatTensor, cuda.LongTensor and the others."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import _core
from .._core import Tensor

__all__ = ["KINDS", "TensorKind", "construct", "kind_of", "set_default_tensor_type"]

_WORDS = {
    "Bool": "bool",
    "Byte": "uint8",
    "Char": "int8",
    "Short": "int16",
    "Int": "int32",
    "Long": "int64",
    "Half": "float16",
    "BFloat16": "bfloat16",
    "Float": "float32",
    "Double": "float64",
}


class TensorKind(type):
    """The class of such types: a call makes a tensor, isinstance() asks for the dtype and the device."""

    dtype: _core.dtype
    place: str

    def __instancecheck__(cls, x: object) -> bool:
        return isinstance(x, Tensor) and x.dtype == cls.dtype and x.device.kind == cls.place

    def __call__(cls, *args: Any) -> Tensor:
        return construct(args, cls.dtype, cls.place)

    def __repr__(cls) -> str:
        return f"<class '{cls.__module__}.{cls.__name__}'>"


def _kind(word: str, place: str) -> TensorKind:
    body = {"dtype": getattr(_core, _WORDS[word]), "place": place}
    body["__module__"] = "torch.cuda" if place == "gpu" else "torch"
    return TensorKind(f"{word}Tensor", (), body)


KINDS = {place: {f"{word}Tensor": _kind(word, place) for word in _WORDS} for place in ("cpu", "gpu")}


def construct(args: tuple[Any, ...], dtype: _core.dtype, place: Any) -> Tensor:
    """What Tensor(...) meant: sizes make a tensor with that shape, a list or an array one with its values."""
    if all(isinstance(n, (int, np.integer)) and not isinstance(n, bool) for n in args):
        return _core.empty(tuple(args) or (0,), dtype=dtype, device=place)
    if len(args) != 1:
        raise TypeError("Tensor: sizes or one list of values are needed; use torch.tensor() for values")
    (data,) = args
    if isinstance(data, tuple) and type(data) is not tuple:  # a Size
        return _core.empty(tuple(data), dtype=dtype, device=place)
    if isinstance(data, Tensor):
        return data.detach().to(device=place, dtype=dtype)
    if isinstance(data, float):
        raise TypeError(f"Tensor: sizes or a list of values are needed, got {data}; use torch.tensor({data})")
    return _core.tensor(data, dtype=dtype, device=place)


def kind_of(x: Tensor) -> str:
    """The name that x.type() gives."""
    word = next(word for word, name in _WORDS.items() if name == x.dtype.name)
    return f"torch.{'cuda.' if x.device.kind == 'gpu' else ''}{word}Tensor"


def named(kind: Any) -> Any:
    """The type itself, from "torch.FloatTensor"; other things as they are."""
    if not isinstance(kind, str):
        return kind
    *modules, name = kind.split(".")
    found = KINDS["gpu" if "cuda" in modules else "cpu"].get(name)
    if found is None:
        raise TypeError(f"type: there is no tensor type '{kind}'; use a dtype, or one such as 'torch.FloatTensor'")
    return found


def set_default_tensor_type(t: TensorKind | str, /) -> None:
    """Sets the default dtype and the default device to those of a tensor type.

    Args:
        t: such as torch.cuda.FloatTensor, or its name.

    Raises:
        TypeError: it does not hold fractions, or there is no such type.
    """
    kind = named(t)
    if not isinstance(kind, TensorKind):
        raise TypeError(f"set_default_tensor_type: {kind!r} is no tensor type; use torch.FloatTensor or another one")
    _core.set_default_dtype(kind.dtype)
    _core.set_default_device(kind.place)
