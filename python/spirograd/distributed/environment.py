"""Which process this is: what torchrun, mpirun and Slurm say in environment variables."""

from __future__ import annotations

import os

# Of torchrun (and spirograd's launcher), Open MPI, MPICH and Intel MPI, Slurm; the first that is set counts.
_RANK = ("RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID")
_WORLD_SIZE = ("WORLD_SIZE", "OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_NTASKS")
_LOCAL_RANK = ("LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "SLURM_LOCALID")


def _first(names: tuple[str, ...]) -> int | None:
    for name in names:
        if value := os.environ.get(name):
            try:
                return int(value)
            except ValueError:
                raise ValueError(f"init_process_group: {name} is {value!r}, which is not a whole number") from None
    return None


def rank() -> int | None:
    """This process's number, if a launcher gave it one."""
    return _first(_RANK)


def world_size() -> int | None:
    """How many processes a launcher started, if one did."""
    return _first(_WORLD_SIZE)


def local_rank() -> int | None:
    """This process's number on its machine, if a launcher gave it one."""
    return _first(_LOCAL_RANK)
