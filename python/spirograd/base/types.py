"""Types of arguments, for annotations only."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np

from .._core import Device, dtype

DeviceLike: TypeAlias = Device | str
DTypeLike: TypeAlias = dtype | str | type[Any] | np.dtype[Any]
