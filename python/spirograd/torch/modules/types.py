"""torch.types: what annotations name."""

import builtins
from collections.abc import Sequence
from typing import Any, TypeAlias

from ..._core import Device, Tensor, dtype
from ..layouts import Size

__all__ = ["Device", "FileLike", "Number", "Storage", "Tensor", "_TensorOrTensors", "_bool", "_complex", "_device"]
__all__ += ["_dtype", "_float", "_int", "_layout", "_size"]

Number = builtins.int | builtins.float | builtins.bool
Storage: TypeAlias = Any
FileLike: TypeAlias = Any
_int, _float, _bool, _complex = builtins.int, builtins.float, builtins.bool, builtins.complex
_device, _dtype, _layout = Device, dtype, Any
_size = Size | list[int] | tuple[int, ...]
_TensorOrTensors = Tensor | Sequence[Tensor]
