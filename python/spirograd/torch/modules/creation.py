"""Tensors of given values: torch.tensor, which reads nested lists in its own way, as_tensor and asarray."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from ... import _core
from ..._core import Tensor

__all__ = ["as_tensor", "asarray", "tensor"]


as_tensor, asarray = _core.as_tensor, _core.asarray


def tensor(
    data: Any, dtype: Any = None, device: Any = None, requires_grad: bool = False, pin_memory: bool = False
) -> Tensor:
    """A tensor with the values of numbers, nested lists, an array or a tensor.

    In lists, tensors of one element, and numbers and arrays of NumPy, count as numbers of their types.

    Args:
        data: the values.
        dtype: their type; None: that of the data, for lists the default one.
        device: where the tensor is; None: on the default device, or that of the data.
        requires_grad: whether backward() reaches it.
        pin_memory: accepted.

    Raises:
        ValueError: a tensor in a list has several elements, or lists have several lengths.
    """
    if isinstance(data, (list, tuple)) and not (types := _types(data)) <= _PLAIN:
        kinds = {_core.tensor(kind()).dtype for kind in types & _PLAIN}
        data = _numbers(data, kinds)
        dtype = functools.reduce(_core.promote_types, kinds) if dtype is None else dtype
    return _core.tensor(data, dtype=dtype, device=device, requires_grad=requires_grad)


_PLAIN = {bool, int, float, complex}


def _types(data: Any) -> set[type]:
    """The types of the numbers in nested lists."""
    found = set(map(type, data))
    if not found & {list, tuple}:
        return found
    return set[type]().union(*(_types(x) if isinstance(x, (list, tuple)) else {type(x)} for x in data))


def _numbers(data: Any, kinds: set[_core.dtype]) -> Any:
    if isinstance(data, (list, tuple)):
        return [_numbers(x, kinds) for x in data]
    if isinstance(data, Tensor):
        if data.numel() != 1:
            raise ValueError(
                f"tensor: a list holds a tensor of {data.numel()} elements; use torch.stack() for tensors of several"
            )
        kinds.add(data.dtype)
    elif isinstance(data, np.generic):
        kinds.add(_core.tensor(data).dtype)
    elif isinstance(data, np.ndarray):
        kinds.add(_core.tensor(data).dtype)
        return data.tolist()
    else:
        return data
    return data.item()
