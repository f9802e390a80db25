"""torch.distributed.device_mesh: devices in a grid, for tensors that lie on several. There are no such tensors here."""

from __future__ import annotations

from typing import Any, NoReturn

from .tensor import missing

__all__ = ["DeviceMesh", "init_device_mesh"]


class DeviceMesh:
    """A grid of devices: making one is an error."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise missing("DeviceMesh")


def init_device_mesh(*args: Any, **kwargs: Any) -> NoReturn:
    """Raises NotImplementedError."""
    raise missing("init_device_mesh")
