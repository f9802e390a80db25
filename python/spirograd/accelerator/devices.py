"""Which GPU is the current one."""

from __future__ import annotations

from .. import _core
from ..base.types import DeviceLike

__all__ = ["current_accelerator", "current_device_index", "device_count", "is_available", "set_device_index"]
__all__ += ["synchronize"]

_current = 0


def is_available() -> bool:
    """Whether there is a GPU.

    Example:
        >>> sg.accelerator.is_available() == (sg.accelerator.device_count() > 0)
        True
    """
    return _core.Device.is_gpu_available()


def device_count() -> int:
    """The number of GPUs."""
    return len(_core.Device.list()) - 1


def current_accelerator(check_available: bool = False) -> _core.Device | None:
    """The current GPU, or None where there is none.

    Args:
        check_available: accepted; a GPU that is listed can be used.
    """
    return _core.Device.gpu(_current) if is_available() else None


def current_device_index() -> int:
    """The number of the current GPU.

    Raises:
        DeviceUnavailableError: there is none.
    """
    return _core.Device.gpu(_current).index


def set_device_index(device: DeviceLike | int, /) -> None:
    """Chooses the current GPU.

    Args:
        device: its number, or the device.

    Raises:
        DeviceUnavailableError: there is no GPU with that number.
    """
    global _current
    _current = index_of(device)


def synchronize(device: DeviceLike | int | None = None, /) -> None:
    """Runs what is pending on a GPU and waits until it is done.

    Args:
        device: its number, or the device; None is the current one.
    """
    _core.synchronize(_core.Device.gpu(index_of(device)))


def index_of(device: DeviceLike | int | None) -> int:
    """The number of a GPU, of the current one for None."""
    if device is None:
        return current_device_index()
    if isinstance(device, int):
        return _core.Device.gpu(device).index
    place = _core.device(device)
    if place.kind != "gpu":
        raise ValueError(f"accelerator: {place} is not a GPU; name one, as in 'gpu:0'")
    return place.index
