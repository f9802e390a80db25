"""torch.distributed: the names of spirograd.distributed, which chooses NCCL or MPI, whatever the backend's name."""

from __future__ import annotations

import datetime
import os
from typing import Any

from .... import distributed
from ....distributed import environment

__all__ = ["get_default_backend_for_device", "init_process_group", "is_available", "is_gloo_available"]
__all__ += ["is_torchelastic_launched"]

_BACKENDS = (None, "auto", "gloo", "mpi", "nccl", "ucc")


def init_process_group(
    backend: str | None = None,
    init_method: str | None = None,
    timeout: float | datetime.timedelta | None = None,
    world_size: int = -1,
    rank: int = -1,
    store: Any = None,
    group_name: str = "",
    pg_options: Any = None,
    device_id: Any = None,
) -> None:
    """Joins the processes that a launcher started: `python -m spirograd launch`, mpiexec or Slurm.

    A process that is alone needs no init_method to find others, and may name any.

    Raises:
        ValueError: there is no such backend in PyTorch, or the launcher says another rank or number of processes.
    """
    names = (backend or "auto").split(",")  # "cpu:gloo,cuda:nccl"
    if any(name.rpartition(":")[2] not in _BACKENDS for name in names):
        raise ValueError(f"init_process_group: no backend {backend!r}; leave it out")
    if world_size == 1:
        init_method = None
    distributed.init_process_group(
        timeout=timeout, world_size=world_size, rank=rank, init_method=init_method, device_id=device_id
    )


def is_available() -> bool:
    """Whether a launcher started this process, with others or alone; libraries then ask for more of PyTorch's names.

    init_process_group() also works without a launcher, for one process.
    """
    return environment.world_size() is not None or distributed.is_initialized()


def get_default_backend_for_device(device: Any) -> str:
    """ "nccl" for cuda and "gloo" for the CPU, names that init_process_group() takes."""
    return "nccl" if str(device).startswith(("cuda", "gpu")) else "gloo"


def is_gloo_available() -> bool:
    """False: NCCL or MPI is what carries tensors."""
    return False


def is_torchelastic_launched() -> bool:
    """Whether torchrun started this process."""
    return "TORCHELASTIC_RUN_ID" in os.environ
