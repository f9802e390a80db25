"""Tensors in pickle."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from ._core import Device, DeviceUnavailableError, Tensor, device, tensor


def reduce(x: Tensor) -> tuple[Callable[..., Tensor], tuple[Any, ...]]:
    """What pickle stores for a tensor. The values are an array, sent out of band if the protocol allows it."""
    values = x.detach()
    if x.dtype.name == "bfloat16":  # NumPy may not have it; float32 holds the same values
        values = values.float()
    kind = None if type(x) is Tensor else type(x)
    return _rebuild, (kind, values.numpy(), x.dtype.name, str(x.device), x.requires_grad)


def _rebuild(kind: type[Tensor] | None, values: Any, dtype: str, name: str, requires_grad: bool) -> Tensor:
    return (kind or Tensor)(tensor(values, dtype=dtype, device=place("pickle", name)), requires_grad=requires_grad)


def place(op: str, name: str) -> Device:
    """The device of this name; if it does not exist, the CPU, with a warning."""
    try:
        return device(name.replace("cuda", "gpu", 1))  # PyTorch's word, in files of its programs
    except DeviceUnavailableError as error:
        warnings.warn(f"{op}: the tensor was on {name}, it comes back on the CPU ({error})", stacklevel=3)
        return device("cpu")
