"""torch.nn.parallel on one device."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .... import nn

__all__ = ["DataParallel", "data_parallel"]


class DataParallel(nn.Module):
    """A module on one device: the batch is not split.

    Args:
        module: what is called; also its attribute `module`, so that state_dict() has PyTorch's keys.
        device_ids: at most one GPU.
        output_device: accepted.
        dim: accepted.

    Raises:
        ValueError: several GPUs.
    """

    def __init__(
        self,
        module: nn.Module,
        device_ids: Sequence[Any] | None = None,
        output_device: Any = None,
        dim: int = 0,
    ) -> None:
        super().__init__()
        if device_ids is not None and len(device_ids) > 1:
            raise ValueError(f"DataParallel: {len(device_ids)} GPUs are named; use one: batches are not split here")
        self.module = module

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return self.module(*args, **kwargs)


def data_parallel(
    module: nn.Module,
    inputs: Any,
    device_ids: Any = None,
    output_device: Any = None,
    dim: int = 0,
    module_kwargs: Any = None,
) -> Any:
    """module(*inputs), on one device."""
    return module(*(inputs if isinstance(inputs, tuple) else (inputs,)), **(module_kwargs or {}))
