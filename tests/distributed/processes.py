"""Starts programs of this folder as several processes, with the MPI that mpi4py uses."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
ONE_GPU = {"SPIROGRAD_VISIBLE_DEVICES": "0"}  # for all processes: their tensors go through the host


def mpiexec() -> str:
    """The launcher beside this Python (the wheel `mpich` installs it there), or the system's."""
    pytest.importorskip("mpi4py", reason="needs mpi4py and an MPI: pip install spirograd[mpi]")
    found = shutil.which("mpiexec", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    if not found:
        pytest.skip("needs mpiexec: pip install spirograd[mpi]")
    return found


def run(
    processes: int,
    program: str,
    *arguments: str,
    seconds: float = 180,
    options: tuple[str, ...] = (),
    variables: dict[str, str] | None = None,
):
    """The finished run, with its output; everything it started is ended."""
    env = {**os.environ, "SPIROGRAD_THREADS": "1", "PYTHONFAULTHANDLER": "1", **(variables or {})}
    # MPICH's mpiexec ends all when a process dies; one that dies behind a shell leaves the others time to notice.
    # With HOSTS, each process says that it is on a machine of its own.
    own_host = '[ -z "${HOSTS:-}" ] || export NCCL_HOSTID="host $PMI_RANK"; '
    behind = ["sh", "-c", own_host + '"$@" || { sleep 3; exit 1; }', "sh"]
    command = [mpiexec(), *options, "-n", str(processes), *behind, sys.executable, str(HERE / program), *arguments]
    with subprocess.Popen(
        command, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True
    ) as started:
        try:
            output, _ = started.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            os.killpg(started.pid, signal.SIGKILL)
            output, _ = started.communicate()
            pytest.fail(f"{program} did not end within {seconds} s:\n{output}")
    return subprocess.CompletedProcess(command, started.returncode, output)
