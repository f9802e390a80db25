"""torch._utils: tensors end to end in one, and indices of devices."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from ... import _core
from ..._core import Device, Tensor

__all__ = ["_flatten_dense_tensors", "_get_available_device_type", "_get_device_index", "_take_tensors"]
__all__ += ["_unflatten_dense_tensors"]


def _flatten_dense_tensors(tensors: Sequence[Tensor]) -> Tensor:
    """The elements of tensors of one type, one after the other."""
    return _core.cat([t.reshape(-1) for t in tensors]) if tensors else _core.empty(0)


def _unflatten_dense_tensors(flat: Tensor, tensors: Sequence[Tensor]) -> tuple[Tensor, ...]:
    """Pieces of a flat tensor, in the shapes of other tensors."""
    pieces = flat.split([t.numel() for t in tensors])
    return tuple(piece.reshape(t.shape) for piece, t in zip(pieces, tensors, strict=True))


def _take_tensors(tensors: Iterable[Tensor], size_limit: int) -> Iterator[list[Tensor]]:
    """Lists of tensors of one type that have at most so many bytes together, or of one tensor."""
    waiting: dict[Any, list[Tensor]] = {}
    for t in tensors:
        key = (t.dtype.name, str(t.device))
        some = waiting.setdefault(key, [])
        if some and sum(s.nbytes for s in some) + t.nbytes > size_limit:
            yield waiting.pop(key)
            some = waiting.setdefault(key, [])
        some.append(t)
    yield from (some for some in waiting.values() if some)


def _get_available_device_type() -> str | None:
    """ "cuda" if there is a GPU."""
    return "cuda" if Device.is_gpu_available() else None


def _get_device_index(device: Any, optional: bool = False, allow_cpu: bool = False) -> int:
    """The index of a device; the current GPU's where none is named and that is allowed, -1 for the CPU.

    Raises:
        ValueError: no index is named, or the CPU is not allowed.
    """
    if isinstance(device, int):
        return device
    place = _core.device(device) if isinstance(device, str) else device
    if isinstance(place, Device) and place.kind == "cpu":
        if allow_cpu:
            return -1
        raise ValueError(f"_get_device_index: a GPU is needed, got {device}; pass allow_cpu=True")
    if place is None and not optional:
        raise ValueError("_get_device_index: no device is given; pass one, or optional=True")
    return 0 if place is None or place.index is None else int(place.index)
