"""`info`: devices, environment and versions, and what processes can work together with."""

from __future__ import annotations

import argparse
import ctypes
import importlib.metadata
import importlib.util
import subprocess
import sys
from pathlib import Path

from .. import _core
from ..base.config import show_config
from .launch import mpiexec_of
from .options import UserError


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """The command of `python -m spirograd`."""
    commands.add_parser("info", help="devices, versions and environment").set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Prints the report."""
    print(show_config())
    print("\nseveral processes")
    for name, found in (("MPI", mpi()), ("launcher", launcher()), ("NCCL", nccl())):
        print(f"  {name}: {found}")
    gpus = [d for d in _core.Device.list() if d.kind == "gpu"]
    print(f"  GPUs: {len(gpus)}; one process each")
    return 0


def mpi() -> str:
    """The library that mpi4py uses, or what is missing. Another process asks it: here it would be initialised."""
    if not importlib.util.find_spec("mpi4py"):
        return "no mpi4py; pip install spirograd[mpi]"
    version = importlib.metadata.version("mpi4py")
    code = "import mpi4py; mpi4py.rc.initialize = False; from mpi4py import MPI; print(MPI.Get_library_version())"
    asked = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    if asked.returncode:
        return f"mpi4py {version} finds no MPI library; pip install spirograd[mpi], or install MPICH or Open MPI"
    return f"{' '.join(asked.stdout.split()[:3])}, through mpi4py {version}"


def launcher() -> str:
    """The path of mpiexec, or what is missing."""
    try:
        return mpiexec_of(None)
    except UserError as error:
        return str(error).removeprefix("launch: ")


def nccl() -> str:
    """The version of the library that would be loaded, or what is missing."""
    names = ["libnccl.so.2"]
    spec = importlib.util.find_spec("nvidia")
    for folder in spec.submodule_search_locations or [] if spec else []:
        names += [str(path) for path in Path(folder).glob("nccl/lib/libnccl.so.2")]
    for name in names:
        try:
            library = ctypes.CDLL(name)
        except OSError:
            continue
        number = ctypes.c_int()
        if library.ncclGetVersion(ctypes.byref(number)) == 0:
            major, rest = divmod(number.value, 10000)
            return f"{major}.{rest // 100}.{rest % 100} ({name})"
    return "not there; on NVIDIA GPUs: pip install spirograd[nccl]"
