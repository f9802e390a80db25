"""A process that dies, is late, fails, or calls something else is an error on the others, not a hang."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import pytest

from distributed.processes import ONE_GPU, run


@pytest.mark.parametrize("how", ["killed", "sleeping", "exception", "anomaly"])
def test_one_that_is_missed(how: str, tmp_path: Path) -> None:
    # Otherwise MPICH's mpiexec ends the others before they can say anything.
    done = run(2, "program_failures.py", how, str(tmp_path), options=("-disable-auto-cleanup",))
    last = time.monotonic() + 60
    while not (tmp_path / "0").exists() and time.monotonic() < last:
        time.sleep(0.05)
    assert (tmp_path / "0").exists(), done.stdout


@pytest.mark.skipif(sys.platform != "linux", reason="heaps of other systems are not at the end of a program")
def test_mpi_leaves_a_heap_alone_that_cannot_grow() -> None:
    done = run(2, "program_heap.py")
    assert done.returncode == 0, done.stdout
    assert done.stdout.count("all right") == 2, done.stdout


@pytest.mark.parametrize("how", ["mismatch", "index_error"])
def test_all_raise_and_go_on(how: str, tmp_path: Path) -> None:
    done = run(2, "program_failures.py", how, str(tmp_path))
    assert done.returncode == 0, done.stdout
    assert {file.name for file in tmp_path.iterdir()} == {"0", "1"}, done.stdout


@pytest.mark.gpu
@pytest.mark.parametrize("how", ["mismatch", "index_error", "later"])
def test_all_raise_and_go_on_with_gpus(how: str, tmp_path: Path) -> None:
    done = run(2, "program_failures.py", how, str(tmp_path), variables={"SPIROGRAD_DEVICE": "gpu", **ONE_GPU})
    assert done.returncode == 0, done.stdout
    assert {file.name for file in tmp_path.iterdir()} == {"0", "1"}, done.stdout
