"""torch.amp: mixed precision, where "cuda" is a kind of device."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import Any

from .... import accelerator
from .... import amp as ours
from ...._core import Device, Tensor, bfloat16, float16
from ....base.tree import transform

__all__ = ["GradScaler", "autocast", "custom_bwd", "custom_fwd", "is_autocast_available"]


class autocast(ours.autocast):
    """spirograd's autocast. On "cuda" without a GPU it does nothing, as in PyTorch.

    Args:
        device_type: "cuda" or "cpu".
        dtype: float16 or bfloat16; with another one it is off, and warns.
        enabled: False switches an autocast around it off.
        cache_enabled: accepted.
    """

    def __init__(
        self, device_type: str | Device, dtype: Any = None, enabled: bool = True, cache_enabled: bool | None = None
    ) -> None:
        if isinstance(device_type, str) and device_type.split(":")[0] == "cuda":
            device_type = "gpu"
        if dtype is not None and dtype not in (float16, bfloat16):
            warnings.warn(f"autocast: {dtype} is no half type; it is off", stacklevel=2)
            dtype, enabled = None, False
        super().__init__(device_type, dtype, enabled, cache_enabled)


class GradScaler(ours.GradScaler):
    """spirograd's GradScaler. Without a GPU, one of "cuda" does nothing, as in PyTorch.

    Args:
        device: "cuda" or "cpu".
        init_scale: the first factor.
        growth_factor: what it grows by.
        backoff_factor: what it falls by after an infinity.
        growth_interval: steps between two growths.
        enabled: False makes all calls do nothing.
    """

    def __init__(
        self,
        device: str = "cuda",
        init_scale: float = 2.0**16,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
        enabled: bool = True,
    ) -> None:
        enabled = enabled and (str(device) == "cpu" or accelerator.is_available())
        super().__init__(device, init_scale, growth_factor, backoff_factor, growth_interval, enabled)


def is_autocast_available(device_type: str) -> bool:
    """Whether there is an autocast for a kind of device."""
    return device_type in ("cpu", "cuda")


def custom_fwd(fwd: Any = None, *, device_type: str = "cuda", cast_inputs: Any = None) -> Any:
    """Marks forward() of a Function: autocast is off inside when `cast_inputs` says in which type it runs."""
    if fwd is None:
        return functools.partial(custom_fwd, device_type=device_type, cast_inputs=cast_inputs)

    @functools.wraps(fwd)
    def call(*args: Any, **kwargs: Any) -> Any:
        if cast_inputs is None:
            return fwd(*args, **kwargs)
        with autocast(device_type, enabled=False):
            return fwd(*transform(_cast(cast_inputs), args), **transform(_cast(cast_inputs), kwargs))

    return call


def _cast(dtype: Any) -> Callable[[Any], Any]:
    return lambda x: x.to(dtype) if isinstance(x, Tensor) and x.is_floating_point() else x


def custom_bwd(bwd: Any = None, *, device_type: str = "cuda") -> Any:
    """Marks backward() of a Function; gradients have the types of the forward pass here as it is."""
    return functools.partial(custom_bwd, device_type=device_type) if bwd is None else bwd
