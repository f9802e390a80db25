"""torch.cuda.amp: autocast and GradScaler of the GPU."""

from __future__ import annotations

from typing import Any

from ....accelerator import is_available
from ..amp import GradScaler as _GradScaler
from ..amp import autocast as _autocast
from ..amp import custom_bwd, custom_fwd

__all__ = ["GradScaler", "amp_definitely_not_available", "autocast", "custom_bwd", "custom_fwd"]


def amp_definitely_not_available() -> bool:
    """Whether there is no GPU."""
    return not is_available()


class autocast(_autocast):
    """autocast of the GPU.

    Args:
        enabled: False switches an autocast around it off.
        dtype: float16 or bfloat16.
        cache_enabled: accepted.
    """

    def __init__(self, enabled: bool = True, dtype: Any = None, cache_enabled: bool = True) -> None:
        super().__init__("cuda", dtype, enabled, cache_enabled)


class GradScaler(_GradScaler):
    """GradScaler of the GPU; the arguments are those of torch.amp.GradScaler without the device."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__("cuda", *args, **kwargs)
