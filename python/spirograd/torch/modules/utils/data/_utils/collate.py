"""torch.utils.data._utils.collate: batches by the class of a sample, which programs may add to."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ......_core import Tensor, float64
from ......utils.data import _collate
from ....creation import tensor

__all__ = ["collate", "collate_float_fn", "collate_int_fn", "collate_numpy_array_fn", "collate_numpy_scalar_fn"]
__all__ += ["collate_str_fn", "collate_tensor_fn", "default_collate", "default_collate_err_msg_format"]
__all__ += ["default_collate_fn_map", "np_str_obj_array_pattern"]

np_str_obj_array_pattern = re.compile(r"[SaUO]")  # in the names of dtypes that are no numbers
default_collate_err_msg_format = (
    "default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; found {}"
)


class _Functions(dict[Any, Callable[..., Any]]):
    """Functions of a batch by the class of its samples. What is added here, DataLoader uses as well."""

    def __setitem__(self, kind: Any, function: Callable[..., Any]) -> None:
        super().__setitem__(kind, function)
        _collate.own[kind] = lambda batch: function(batch, collate_fn_map=self)

    def __delitem__(self, kind: Any) -> None:
        super().__delitem__(kind)
        _collate.own.pop(kind, None)

    def update(self, *others: Any, **named: Any) -> None:
        for kind, function in dict(*others, **named).items():
            self[kind] = function


def collate(batch: Sequence[Any], *, collate_fn_map: Mapping[Any, Callable[..., Any]] | None = None) -> Any:
    """A batch of samples, by the functions of a map; dicts, named tuples, tuples and lists item by item.

    Args:
        batch: the samples, all alike.
        collate_fn_map: functions by the class of a sample.

    Raises:
        TypeError: there is no function for a sample.
        RuntimeError: lists differ in length.
    """
    first, functions = batch[0], collate_fn_map or {}
    found = functions.get(type(first)) or next((f for kind, f in functions.items() if isinstance(first, kind)), None)
    if found is not None:
        return found(batch, collate_fn_map=collate_fn_map)

    def again(part: Any) -> Any:
        return collate(part, collate_fn_map=collate_fn_map)

    if isinstance(first, Mapping):
        made: Any = {key: again([sample[key] for sample in batch]) for key in first}
        try:
            return made if type(first) is dict else type(first)(made)  # type: ignore[call-arg]
        except TypeError:
            return made
    if isinstance(first, Sequence):
        lengths = {len(sample) for sample in batch}
        if len(lengths) > 1:
            raise RuntimeError(f"collate: samples have {sorted(lengths)} parts; give as many in each")
        parts = [again(part) for part in zip(*batch, strict=True)]
        return type(first)(*parts) if hasattr(first, "_fields") else parts
    raise TypeError(default_collate_err_msg_format.format(type(first)))


def collate_tensor_fn(batch: Sequence[Tensor], *, collate_fn_map: Any = None) -> Tensor:
    """Tensors stacked; those of a subclass give one of it."""
    from torch import stack  # type: ignore[import-not-found, unused-ignore]

    return stack(list(batch))  # type: ignore[no-any-return, unused-ignore]


def collate_numpy_array_fn(batch: Sequence[Any], *, collate_fn_map: Any = None) -> Any:
    """Arrays as tensors, stacked."""
    if np_str_obj_array_pattern.search(batch[0].dtype.str) is not None:
        raise TypeError(default_collate_err_msg_format.format(batch[0].dtype))
    return collate([tensor(array) for array in batch], collate_fn_map=collate_fn_map)


def collate_numpy_scalar_fn(batch: Sequence[Any], *, collate_fn_map: Any = None) -> Tensor:
    """Numbers of NumPy as a tensor."""
    return tensor(np.asarray(batch))


def collate_float_fn(batch: Sequence[float], *, collate_fn_map: Any = None) -> Tensor:
    """Numbers as a tensor of float64."""
    return tensor(batch, dtype=float64)


def collate_int_fn(batch: Sequence[int], *, collate_fn_map: Any = None) -> Tensor:
    """Whole numbers as a tensor."""
    return tensor(batch)


def collate_str_fn(batch: Sequence[Any], *, collate_fn_map: Any = None) -> Sequence[Any]:
    """Texts as they are."""
    return batch


default_collate_fn_map = _Functions(
    {
        Tensor: collate_tensor_fn,
        np.ndarray: collate_numpy_array_fn,
        (np.bool_, np.number, np.object_): collate_numpy_scalar_fn,
        float: collate_float_fn,
        int: collate_int_fn,
        str: collate_str_fn,
        bytes: collate_str_fn,
    }
)


def default_collate(batch: Sequence[Any]) -> Any:
    """A batch of samples, by the functions of default_collate_fn_map."""
    return collate(batch, collate_fn_map=default_collate_fn_map)
