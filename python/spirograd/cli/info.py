"""`info`: devices, environment and versions, and what connects several processes."""

from __future__ import annotations

import argparse
import importlib.metadata
import importlib.util
import shutil
import subprocess
import sys

from .. import _core
from ..base.config import show_config
from ..base.tables import wrapped
from ..distributed import nccl as nccl_library
from .launch import mpiexec_of
from .options import UserError


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """The command of `python -m spirograd`."""
    parser = commands.add_parser("info", help="devices, versions and environment")
    parser.add_argument(
        "--all", action="store_true", help="all variables of the environment, not only those that are set"
    )
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Prints the report."""
    print(show_config(options.all))
    print("\nseveral processes")
    for name, found in (("MPI", mpi()), ("launcher", launcher()), ("NCCL", nccl())):
        print(wrapped(f"  {name}: {found}"))
    gpus = [d for d in _core.Device.list() if d.kind == "gpu"]
    print(f"  GPUs: {len(gpus)}; one process each")
    for gpu in gpus:
        can = gpu.vendor == "NVIDIA" and gpu.features["external_memory"] == "yes"
        print(wrapped(f"    {gpu} {gpu.name}: {'NCCL, or MPI' if can else 'MPI'}"))
    if len(gpus) > 1 and (found := links()):
        print("  links between them:", *found.splitlines(), sep="\n    ")
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
    return f"{' '.join(asked.stdout.split()[:3]).rstrip(',')}, through mpi4py {version}"


def launcher() -> str:
    """The path of mpiexec, or what is missing."""
    try:
        return mpiexec_of(None)
    except UserError as error:
        return str(error).removeprefix("launch: ")


def nccl() -> str:
    """The library that would be loaded, or what is missing for it to work."""
    found = nccl_library.find()
    if found is None:
        return "not there; on NVIDIA GPUs: pip install spirograd[nccl]"
    text = f"{found.version} ({found.path})"
    return text if nccl_library.has_driver() else f"{text}, but no libcuda.so.1; install NVIDIA's driver"


def links() -> str:
    """How NVIDIA's GPUs are linked, as their own tool says; "" where it is not there."""
    tool = shutil.which("nvidia-smi")
    if not tool:
        return ""
    asked = subprocess.run([tool, "topo", "-m"], capture_output=True, text=True, check=False)
    return asked.stdout.partition("\n\n")[0].rstrip() if asked.returncode == 0 else ""
