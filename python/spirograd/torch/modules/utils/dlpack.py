"""torch.utils.dlpack: tensors of other libraries, without a copy."""

from __future__ import annotations

from typing import Any

from ...._core import Tensor, from_dlpack

__all__ = ["from_dlpack", "to_dlpack"]


def to_dlpack(tensor: Tensor) -> Any:
    """A capsule of the DLPack protocol, for one reader."""
    return tensor.__dlpack__()
