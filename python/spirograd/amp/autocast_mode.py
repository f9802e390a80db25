"""autocast: which types operations run in."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

from .. import _core
from .._core import Device
from ..base.types import DTypeLike

F = TypeVar("F", bound=Callable[..., Any])
_DEFAULTS = {"cpu": _core.bfloat16, "gpu": _core.float16}
_KINDS = ("cpu", "gpu")


def _kind(op: str, device_type: Any) -> str:
    kind = device_type.kind if isinstance(device_type, Device) else str(device_type).split(":")[0]
    if kind not in _KINDS:
        raise ValueError(f"{op}: device_type '{device_type}' is unknown; use cpu or gpu")
    return kind


class autocast(_core._Mode):
    """Inside, products of float32 tensors on a device run in a half type, and operations that add up run in float32.

    Parameters stay float32 and their gradients are float32. Leave it before backward(), which runs in the types of the
    forward pass. Float64 tensors are left alone. It is a context manager and a decorator, of its thread alone.

    Args:
        device_type: "cpu" or "gpu": the device whose tensors are converted.
        dtype: float16 or bfloat16; the default is float16 on a GPU and bfloat16 on the CPU.
        enabled: False switches an autocast around it off.
        cache_enabled: accepted for PyTorch's sake. Parameters are converted once for each of their values; other
            conversions are fused into what writes the tensor, or into what reads it.

    Raises:
        ValueError: another device type.
        TypeError: dtype is not a half type.

    Example:
        >>> layer, x = sg.nn.Linear(4, 2), sg.randn(3, 4)
        >>> with sg.amp.autocast("cpu", dtype=sg.bfloat16):
        ...     y = layer(x)
        ...     loss = sg.nn.functional.mse_loss(y, sg.zeros(3, 2))
        >>> y.dtype, loss.dtype
        (spirograd.bfloat16, spirograd.float32)
    """

    def __init__(
        self,
        device_type: str | Device,
        dtype: DTypeLike | None = None,
        enabled: bool = True,
        cache_enabled: bool | None = None,
    ) -> None:
        kind = _KINDS.index(_kind("autocast", device_type))
        half = _DEFAULTS[_KINDS[kind]] if dtype is None else _core.promote_types(dtype, dtype)
        if half not in (_core.float16, _core.bfloat16):
            raise TypeError(f"autocast: dtype {half} is not a half type; use float16 or bfloat16")
        self._kind, self._dtype = kind, half if enabled else None
        super().__init__(kind=kind, half=self._dtype)

    def __call__(self, function: F) -> F:
        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            with autocast(_KINDS[self._kind], self._dtype, self._dtype is not None):
                return function(*args, **kwargs)

        return call  # type: ignore[return-value]


def is_autocast_enabled(device_type: str | Device) -> bool:
    """Whether an autocast is open for a device, in this thread.

    Args:
        device_type: "cpu" or "gpu".

    Example:
        >>> with sg.amp.autocast("cpu"):
        ...     sg.amp.is_autocast_enabled("cpu"), sg.amp.is_autocast_enabled("gpu")
        (True, False)
    """
    return _core._autocast()[_KINDS.index(_kind("is_autocast_enabled", device_type))] is not None


def get_autocast_dtype(device_type: str | Device) -> _core.dtype:
    """The half type of products on a device: that of the open autocast, else the default.

    Args:
        device_type: "cpu" or "gpu".

    Example:
        >>> sg.amp.get_autocast_dtype("gpu")
        spirograd.float16
    """
    kind = _kind("get_autocast_dtype", device_type)
    return _core._autocast()[_KINDS.index(kind)] or _DEFAULTS[kind]


def is_autocast_available(device_type: str) -> bool:
    """Whether there is an autocast for a kind of device.

    Args:
        device_type: for example "cpu".

    Example:
        >>> sg.amp.is_autocast_available("gpu")
        True
    """
    return device_type in _KINDS
