"""Memory of a GPU in bytes. `device` is its number or the device; None is the current one."""

from __future__ import annotations

from collections import OrderedDict

from .. import _core
from ..base.types import DeviceLike
from .devices import index_of


def _device(device: DeviceLike | int | None) -> _core.Device:
    return _core.Device.gpu(index_of(device))


def _stats(device: DeviceLike | int | None) -> dict[str, int]:
    return _core._device_stats(_device(device)) if _core.Device.is_gpu_available() else {}


def empty_cache() -> None:
    """Returns memory kept for reuse to the driver, on all devices."""
    _core.empty_cache()


def get_memory_info(device: DeviceLike | int | None = None, /) -> tuple[int, int]:
    """Free bytes on the device, and its total.

    Raises:
        DeviceUnavailableError: there is no GPU.
    """
    place = _device(device)
    return place.memory_free, place.memory_total


def memory_allocated(device: DeviceLike | int | None = None, /) -> int:
    """Bytes in tensors and whatever else is held between runs; 0 without a GPU.

    Example:
        >>> sg.accelerator.memory.memory_allocated() >= 0
        True
    """
    return _stats(device).get("bytes_live", 0)


def max_memory_allocated(device: DeviceLike | int | None = None, /) -> int:
    """The most bytes in use since the start or reset_peak_memory_stats(): tensors, and what a run needs inside.

    A run counts its intermediate values while it is submitted; staging memory is not counted.

    Example:
        >>> sg.accelerator.memory.max_memory_allocated() >= sg.accelerator.memory.memory_allocated()
        True
    """
    return _stats(device).get("bytes_peak", 0)


def memory_reserved(device: DeviceLike | int | None = None, /) -> int:
    """Bytes of the device's memory that the driver has given: in use, or kept for reuse. They come in large blocks."""
    return _stats(device).get("bytes_reserved", 0)


def memory_stats(device: DeviceLike | int | None = None, /) -> OrderedDict[str, int]:
    """All counters under PyTorch's names; empty without a GPU."""
    stats = _stats(device)
    if not stats:
        return OrderedDict()
    return OrderedDict(
        [
            ("allocated_bytes.all.current", stats["bytes_live"]),
            ("allocated_bytes.all.peak", stats["bytes_peak"]),
            ("reserved_bytes.all.current", stats["bytes_reserved"]),
            ("inactive_split_bytes.all.current", stats["bytes_cached"]),
            ("num_device_alloc", stats["allocations"]),
        ]
    )


def reset_peak_memory_stats(device: DeviceLike | int | None = None, /) -> None:
    """Restarts max_memory_allocated() from what is allocated now."""
    if _core.Device.is_gpu_available():
        _core._reset_peak(_device(device))


def memory_summary(device: DeviceLike | None = None, abbreviated: bool = False) -> str:
    """What memory tensors and runs use, as text.

    Args:
        device: one device; None: the CPU, and a GPU that was used.
        abbreviated: only what is in use.

    Example:
        >>> print(sg.memory_summary("cpu"))  # doctest: +ELLIPSIS
        cpu...
          in use now ...
    """
    if device is not None:
        places = [_core.device(device)]
    else:
        places = [_core.Device("cpu")]
        if _core.Device.is_gpu_available():
            places += [place for place in _core.Device.list() if place.kind == "gpu" and _used(place)]
    return "\n".join(_summary(place, abbreviated) for place in places)


def _used(place: _core.Device) -> bool:
    return any(_core._device_stats(place).values())


def _summary(place: _core.Device, abbreviated: bool) -> str:
    stats = _core._device_stats(place)
    rows = [("in use now", stats["bytes_live"]), ("most in use", stats["bytes_peak"])]
    if not abbreviated:
        rows += [
            ("kept for reuse", stats["bytes_cached"]),
            ("taken in all", stats["bytes_reserved"]),
        ]
        rows += [("free on the device", place.memory_free), ("size of the device", place.memory_total)]
    table = [(name, _bytes(size)) for name, size in rows]
    if not abbreviated:
        table.append(("allocations", str(stats["allocations"])))
    return "\n".join([f"{place}: {place.name}", *(f"  {name:<19}{text:>12}" for name, text in table)])


def _bytes(size: int) -> str:
    for unit, factor in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if size >= factor:
            return f"{size / factor:.1f} {unit}"
    return f"{size} B"
