"""fit in several processes: the model is wrapped, the data are shared out, seeds are agreed upon."""

from __future__ import annotations

from typing import Any

from .. import _core, distributed
from ..nn import Module
from ..nn.parallel import DistributedDataParallel
from ..optim import LBFGS
from .data import Batches, Data, Rows

_STRIDE = 0x9E3779B97F4A7C15  # between the seeds of processes: odd, and far from small numbers


def common_seed(seed: int | None) -> int | None:
    """Joins the other processes; gives a seed that all of them have. None, with one process, stays None."""
    if not distributed.is_initialized():
        distributed.init_process_group()
    if distributed.get_world_size() == 1:
        return seed
    common = [int(_core.randint(0, 1 << 31, ()).item()) if seed is None else seed]
    distributed.broadcast_object_list(common)
    return common[0]


def joined(model: Module, optimizer: Any, data: Data, later: Data | None, on_device_lost: str) -> tuple[Module, Module]:
    """Wraps the model and shares out the data. Gives the module that a step calls, and the model without a wrapper."""
    rank, processes = distributed.get_rank(), distributed.get_world_size()
    bare: Any = model.module if isinstance(model, DistributedDataParallel) else model
    if processes == 1:
        return bare, bare
    for wrong, name in (
        (isinstance(optimizer, LBFGS), "LBFGS, whose line search sees the loss of one process"),
        (on_device_lost != "raise", f"on_device_lost={on_device_lost!r}"),
    ):
        if wrong:
            raise ValueError(f"fit: distributed=True with {name}; leave out one of them")
    learner = model if isinstance(model, DistributedDataParallel) else DistributedDataParallel(model)
    for part in (data, later):
        if isinstance(part, Rows):
            part.rank, part.processes = rank, processes
        elif isinstance(part, Batches) and part is data:
            part.joint = True
            _check_steps(part)
    if rank:  # dropout in each process is its own
        _core.manual_seed((_core.initial_seed() + rank * _STRIDE) % (1 << 63))
    return learner, bare


def _check_steps(data: Batches) -> None:
    """ValueError unless the loaders of all processes give the same number of batches."""
    steps: list[Any] = [None] * distributed.get_world_size()
    distributed.all_gather_object(steps, data.steps())
    if len(set(steps)) > 1:
        raise ValueError(
            f"fit: the loaders of the processes give {', '.join(map(str, steps))} batches; give each the same "
            "number, with a DistributedSampler"
        )


def any_process(value: bool) -> bool:
    """Whether this holds in any process."""
    values: list[Any] = [None] * distributed.get_world_size()
    distributed.all_gather_object(values, value)
    return any(values)
