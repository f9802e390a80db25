"""The NCCL backend in two processes: on one software device, with mock libraries in place of CUDA and NCCL, or on one
or two of NVIDIA's GPUs, where these are.

What the mocks cannot show: that NVIDIA's driver opens Vulkan's memory, and that NCCL itself works.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from pathlib import Path

import pytest

import spirograd as sg
from distributed.processes import HERE, run

pytestmark = pytest.mark.gpu


@pytest.fixture(scope="module")
def mocks(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Variables with which a program finds the mocks, and the device, whatever its number."""
    gpu = sg.Device.gpu()
    if gpu.type != "software" or gpu.features["external_memory"] != "yes":
        pytest.skip("needs a software driver that exports memory")
    compiler = shutil.which(os.environ.get("CXX", "g++"))
    if not compiler:
        pytest.skip("needs a C++ compiler")
    folder = tmp_path_factory.mktemp("mocks")
    for source, library in (("cuda.cpp", "libcuda.so.1"), ("nccl.cpp", "libnccl.so.2")):
        options = ["-std=c++20", "-shared", "-fPIC", "-pthread", "-o", str(folder / library)]
        subprocess.run([compiler, *options, str(HERE / "mock" / source), "-lrt"], check=True)
    path = f"{folder}{os.pathsep}{os.environ.get('LD_LIBRARY_PATH', '')}"
    return {"LD_LIBRARY_PATH": path, "MOCK_CUDA_UUID": gpu.uuid, "LOCAL_RANK": "0", "OWN_GPU": "1"}


@pytest.fixture(scope="module")
def nccl(request: pytest.FixtureRequest) -> dict[str, str]:
    """The same; without mocks where there are NVIDIA's GPUs and NCCL: one for each process, or one for both. Then they
    say that they are on two machines, because NCCL takes no GPU twice on one."""
    gpus = [d for d in sg.Device.list() if d.kind == "gpu" and d.vendor == "NVIDIA"]
    if gpus and sg.distributed.is_nccl_available():
        one = {"LOCAL_RANK": "0", "HOSTS": "2", "NCCL_SOCKET_IFNAME": "lo"}
        return {"OWN_GPU": "1"} | (one if len(gpus) == 1 else {})
    variables: dict[str, str] = request.getfixturevalue("mocks")
    return variables


def test_collectives_against_numpy(nccl: dict[str, str]) -> None:
    done = run(2, "program_collectives.py", "gpu", "2", variables=nccl)
    assert done.returncode == 0, done.stdout
    assert done.stdout.count("all right by nccl") == 2, done.stdout


def test_steps_are_those_of_mpi_and_cost_little(nccl: dict[str, str]) -> None:
    done = run(2, "program_nccl.py", "train", variables=nccl)
    assert done.returncode == 0, done.stdout
    assert done.stdout.count("all right") == 2, done.stdout


def test_few_values_are_copied_and_added_here(nccl: dict[str, str]) -> None:
    done = run(2, "program_nccl.py", "gathers", variables=nccl)
    assert done.returncode == 0, done.stdout
    assert done.stdout.count("all right") == 2, done.stdout


def test_later_calls_come_while_earlier_values_move(nccl: dict[str, str]) -> None:
    done = run(2, "program_nccl.py", "many_calls", variables=nccl)
    assert done.returncode == 0, done.stdout
    assert done.stdout.count("all right") == 2, done.stdout


def test_training(nccl: dict[str, str]) -> None:
    done = run(2, "program_training.py", "gpu", "2", variables=nccl)
    assert done.returncode == 0, done.stdout
    assert done.stdout.count("all right by nccl") == 2, done.stdout


def first_finds_all_right(program: str, how: str, folder: Path, variables: dict[str, str]) -> None:
    done = run(2, program, how, str(folder), options=("-disable-auto-cleanup",), variables=variables)
    last = time.monotonic() + 60
    while not (folder / "0").exists() and time.monotonic() < last:
        time.sleep(0.05)
    assert (folder / "0").exists(), done.stdout


@pytest.mark.parametrize("among", ["", "_among_copies", "_among_later_calls"])
@pytest.mark.parametrize("how", ["fails", "dies", "hangs"])
def test_a_process_that_fails_within_a_collective(mocks: dict[str, str], how: str, among: str, tmp_path: Path) -> None:
    first_finds_all_right("program_nccl.py", how + among, tmp_path, mocks)


@pytest.mark.parametrize("how, why", [("no_window", "SPIROGRAD_FAULTS"), ("unregistered", "MOCK_NO_WINDOW")])
def test_sums_are_nccls_where_one_process_has_no_memory_for_copies(
    mocks: dict[str, str], how: str, why: str, tmp_path: Path
) -> None:
    done = run(2, "program_nccl.py", how, str(tmp_path), variables=mocks | {why: "on"})
    assert {file.name for file in tmp_path.iterdir()} == {"0", "1"}, done.stdout


def test_a_process_whose_memory_cannot_be_opened(mocks: dict[str, str], tmp_path: Path) -> None:
    done = run(2, "program_nccl.py", "refuses", str(tmp_path), variables=mocks | {"SPIROGRAD_FAULTS": "on"})
    assert {file.name for file in tmp_path.iterdir()} == {"0", "1"}, done.stdout


def test_a_nan_stops_all(nccl: dict[str, str], tmp_path: Path) -> None:
    first_finds_all_right("program_failures.py", "anomaly", tmp_path, nccl)


@pytest.mark.parametrize("how", ["mismatch", "index_error", "later"])
def test_all_raise_and_go_on(nccl: dict[str, str], how: str, tmp_path: Path) -> None:
    done = run(2, "program_failures.py", how, str(tmp_path), variables=nccl)
    assert done.returncode == 0, done.stdout
    assert {file.name for file in tmp_path.iterdir()} == {"0", "1"}, done.stdout


@pytest.mark.parametrize(
    "changed, reason",
    [
        ({"MOCK_CUDA_UUID": "0" * 32}, "none has the UUID"),
        ({"NCCL_ALGO": "Tree"}, "ncclCommInitRankConfig answered invalid usage"),  # the mock wants it pinned
    ],
)
def test_without_nccl_mpi_is_left(mocks: dict[str, str], changed: dict[str, str], reason: str) -> None:
    done = run(2, "program_nccl.py", "missing", reason, variables=mocks | changed)
    assert done.returncode == 0, done.stdout
    assert done.stdout.count("all right") == 2, done.stdout
