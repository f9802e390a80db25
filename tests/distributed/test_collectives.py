"""Collectives of 2 and 4 processes over MPI."""

from __future__ import annotations

import pytest

from distributed.processes import ONE_GPU, run


@pytest.mark.parametrize("processes", [2, 4])
def test_collectives_against_numpy(processes: int) -> None:
    done = run(processes, "program_collectives.py", "cpu", str(processes))
    assert done.returncode == 0, done.stdout
    assert done.stdout.count("all right by mpi") == processes


@pytest.mark.gpu
def test_collectives_of_gpu_tensors() -> None:
    done = run(2, "program_collectives.py", "gpu", "2", variables=ONE_GPU)
    assert done.returncode == 0, done.stdout
    assert done.stdout.count("all right by mpi") == 2


def test_gradients_of_collectives() -> None:
    done = run(2, "program_functional.py")
    assert done.returncode == 0, done.stdout
    assert done.stdout.count("all right") == 2
