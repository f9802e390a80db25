"""torch.autograd.forward_ad: tensors that carry a tangent. There are none here; func.jvp() computes tangents."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any, NamedTuple, NoReturn

from ...._core import Tensor

__all__ = ["UnpackedDualTensor", "dual_level", "make_dual", "unpack_dual"]


class UnpackedDualTensor(NamedTuple):
    """A tensor and its tangent."""

    primal: Tensor
    tangent: Tensor | None


@contextlib.contextmanager
def dual_level() -> Iterator[None]:
    """A context in which nothing changes."""
    yield


def make_dual(tensor: Tensor, tangent: Tensor, *, level: Any = None) -> NoReturn:
    """Raises NotImplementedError."""
    raise NotImplementedError("make_dual: tensors carry no tangents; use func.jvp()")


def unpack_dual(tensor: Tensor, *, level: Any = None) -> UnpackedDualTensor:
    """The tensor, and no tangent."""
    return UnpackedDualTensor(tensor, None)
