"""torch.distributed.tensor: tensors that lie on several devices. There are none here: libraries ask whether one is."""

from __future__ import annotations

from typing import Any, NoReturn

__all__ = ["DTensor", "Partial", "Placement", "Replicate", "Shard", "distribute_module", "distribute_tensor"]


def missing(name: str) -> NotImplementedError:
    """The error of what would make such tensors."""
    return NotImplementedError(f"{name}: tensors of several devices are not there; use DistributedDataParallel")


class DTensor:
    """A tensor of several devices: no tensor is one, and making one is an error."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise missing("DTensor")


class Placement:
    """How a tensor would lie on devices."""


class Replicate(Placement):
    """The whole tensor on each device."""


class Partial(Placement):
    """Terms of a sum, one on each device."""

    def __init__(self, reduce_op: str = "sum") -> None:
        self.reduce_op = reduce_op


class Shard(Placement):
    """A part of a dimension on each device."""

    def __init__(self, dim: int) -> None:
        self.dim = dim


def distribute_tensor(*args: Any, **kwargs: Any) -> NoReturn:
    """Raises NotImplementedError."""
    raise missing("distribute_tensor")


def distribute_module(*args: Any, **kwargs: Any) -> NoReturn:
    """Raises NotImplementedError."""
    raise missing("distribute_module")
