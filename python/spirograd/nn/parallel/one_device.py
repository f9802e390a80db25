"""PyTorch's way to use several devices in one process: here modules stay on one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..._core import Tensor, cat
from ..module import Module

__all__ = ["DataParallel", "data_parallel", "gather", "parallel_apply", "replicate", "scatter"]


class DataParallel(Module):
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
        module: Module,
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
    module: Module,
    inputs: Any,
    device_ids: Any = None,
    output_device: Any = None,
    dim: int = 0,
    module_kwargs: Any = None,
) -> Any:
    """module(*inputs), on one device: the batch is not split.

    Args:
        module: what is called.
        inputs: a tuple of its arguments, or the only one.
        device_ids: accepted, without effect.
        output_device: accepted, without effect.
        dim: accepted, without effect.
        module_kwargs: its arguments by name, a dict.
    """
    return module(*(inputs if isinstance(inputs, tuple) else (inputs,)), **(module_kwargs or {}))


def parallel_apply(modules: Any, inputs: Any, kwargs_tup: Any = None, devices: Any = None) -> list[Any]:
    """What each module makes of its inputs, one after the other.

    Args:
        modules: what is called.
        inputs: for each module a tuple or list of its arguments, or the only one.
        kwargs_tup: for each module a dict of its arguments by name.
        devices: accepted, without effect.
    """
    options = kwargs_tup or [{}] * len(modules)
    each = [x if isinstance(x, (tuple, list)) else (x,) for x in inputs]
    return [module(*x, **more) for module, x, more in zip(modules, each, options, strict=True)]


def scatter(inputs: Any, target_gpus: Sequence[Any], dim: int = 0) -> list[Any]:
    """Tensors, also inside of tuples, lists and dicts, cut along a dimension: a part for each device, on it.

    Args:
        inputs: what is cut; other things than tensors are given to each device as they are.
        target_gpus: the devices; a number is that of a GPU.
        dim: the dimension.
    """
    devices = [f"gpu:{place}" if isinstance(place, int) else place for place in target_gpus]

    def cut(x: Any) -> list[Any]:
        if isinstance(x, Tensor):
            return [part.to(device) for part, device in zip(x.chunk(len(devices), dim), devices, strict=False)]
        if isinstance(x, (tuple, list)) and x:
            return [type(x)(parts) for parts in zip(*map(cut, x), strict=False)]
        if isinstance(x, dict) and x:
            return [dict(zip(x, parts, strict=True)) for parts in zip(*map(cut, x.values()), strict=False)]
        return [x for _ in devices]

    return cut(inputs)


def gather(outputs: Sequence[Any], target_device: Any, dim: int = 0) -> Any:
    """Tensors of several devices joined on one, also inside of tuples, lists and dicts.

    Args:
        outputs: what each device made, all of the same structure.
        target_device: the device of the result; a number is that of a GPU.
        dim: the dimension to join along.
    """
    device = f"gpu:{target_device}" if isinstance(target_device, int) else target_device
    if isinstance(outputs[0], Tensor):
        return cat([x.to(device) for x in outputs], dim)
    if isinstance(outputs[0], dict):
        return {key: gather([x[key] for x in outputs], target_device, dim) for key in outputs[0]}
    return type(outputs[0])(gather(list(parts), target_device, dim) for parts in zip(*outputs, strict=True))


def replicate(network: Module, devices: Sequence[Any], detach: bool = False) -> list[Module]:
    """The module for each device: one device is all that is taken.

    Args:
        network: the module.
        devices: at most one; the module stays on its own.
        detach: accepted, without effect.

    Raises:
        ValueError: several.
    """
    if len(devices) > 1:
        raise ValueError(f"replicate: {len(devices)} devices; use one: modules are not copied to others here")
    return [network]
