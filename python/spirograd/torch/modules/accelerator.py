"""The names of torch.accelerator that spirograd lacks."""

from __future__ import annotations

from .cuda import device as device_index

__all__ = ["device_index"]
