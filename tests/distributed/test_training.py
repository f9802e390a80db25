"""Training in 1, 2 and 4 processes over MPI."""

from __future__ import annotations

import re

import pytest

from distributed.processes import ONE_GPU, run


def bits(processes: int, device: str = "cpu") -> str:
    """Runs all checks; gives the hash of the model that was trained reproducibly."""
    done = run(processes, "program_training.py", device, str(processes), seconds=180, variables=ONE_GPU)
    assert done.returncode == 0 and done.stdout.count("all right") == processes, done.stdout
    found = re.search(r"bits (\w+)", done.stdout)
    assert found
    return found[1]


def test_training_is_that_of_one_process_and_reproducible_to_the_bit() -> None:
    assert bits(1) == bits(2) == bits(4)


@pytest.mark.gpu
def test_training_of_gpu_models() -> None:
    bits(2, "gpu")
