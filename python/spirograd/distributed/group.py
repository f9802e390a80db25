"""The processes that work together: starting, ending, and groups of some of them."""

from __future__ import annotations

import atexit
import datetime
import math
import os
import signal
import socket
import sys
import threading
import time
import traceback
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

from .. import _core
from ..base.keywords import naming_keywords
from . import environment, nccl

DEFAULT_TIMEOUT = 600.0


@dataclass(frozen=True, eq=False)
class ProcessGroup:
    """Processes that call the same collectives in the same order; see new_group().

    Attributes:
        ranks: the members' numbers in the world, in order.
        rank: this process's place among them; -1: it is no member.
        timeout: seconds that a collective may wait for the others.
    """

    ranks: tuple[int, ...]
    rank: int
    timeout: float
    communicator: Any = None  # of mpi4py; None with one process, and where this process is no member
    number: int = 0  # in the core

    def size(self) -> int:
        """How many processes it has."""
        return len(self.ranks)

    def __repr__(self) -> str:
        return f"ProcessGroup(rank {self.rank} of {self.size()})"


_world: ProcessGroup | None = None
_backend = ""
_gpu = -1  # the number of this process's GPU, with NCCL


def _seconds(timeout: float | datetime.timedelta | None) -> float:
    if timeout is None:
        text = os.environ.get("SPIROGRAD_COLLECTIVE_TIMEOUT") or str(DEFAULT_TIMEOUT)
        try:
            seconds = float(text)
        except ValueError:
            seconds = math.nan
        if not 0 < seconds < math.inf:
            raise ValueError(f"SPIROGRAD_COLLECTIVE_TIMEOUT: {text!r} is not a positive number of seconds; write one")
        return seconds
    seconds = timeout.total_seconds() if isinstance(timeout, datetime.timedelta) else float(timeout)
    if not seconds > 0:
        raise ValueError(f"init_process_group: a timeout of {seconds:g} s; give a positive number of seconds")
    return seconds


def is_available() -> bool:
    """Whether processes can work together here: always, with one; with several if mpi4py is installed."""
    return True


def is_mpi_available() -> bool:
    """Whether mpi4py and an MPI library are there.

    Example:
        >>> import spirograd as sg
        >>> sg.distributed.is_mpi_available() in (True, False)
        True
    """
    try:
        _mpi()
    except ImportError:
        return False
    return True


def is_nccl_available() -> bool:
    """Whether NCCL and CUDA's driver are there.

    Example:
        >>> import spirograd as sg
        >>> sg.distributed.is_nccl_available() in (True, False)
        True
    """
    return nccl.find() is not None and nccl.has_driver()


def _mpi() -> Any:
    import mpi4py

    # UCX, which MPI may use, has the heap grow and shrink to try its watch; where it cannot grow, memory is lost.
    if "mpi4py.MPI" not in sys.modules and not _core._heap_can_grow():
        os.environ.setdefault("UCX_MEM_EVENTS", "n")

    mpi4py.rc.finalize = False  # _at_exit() does, unless another process is gone and would be waited for
    from mpi4py import MPI

    return MPI


# What ended the program, for the others.
_last_error = ""
_left_alone = False  # after another process had failed
_hook = sys.excepthook


def _line_of(trace: TracebackType | None) -> str:
    """Where the program was, outside of this package."""
    package = str(Path(__file__).parents[1])
    lines = [(f.filename, f.lineno) for f in traceback.extract_tb(trace) if not f.filename.startswith(package)]
    return f" at {lines[-1][0]}:{lines[-1][1]}" if lines else ""


def _note_error(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    global _last_error
    _last_error = f"{kind.__name__}: {error}{_line_of(trace)}"
    _hook(kind, error, trace)


def _at_exit() -> None:
    """Tells the others that this process no longer takes part, so that nobody waits for it; ends MPI if all is well."""
    global _last_error
    if not _last_error:
        try:
            _core._exchange_finish()
        except Exception as error:  # nobody is left to catch it
            _last_error = f"{type(error).__name__}: {error}"
            print(f"distributed: the last collective failed: {_last_error}", file=sys.stderr)
    well = not _last_error and not _left_alone and not _core._groups_broken()
    _core._groups_leave(_last_error if well else _last_error or "it ended after another process failed")
    while well and not _core._groups_ended():  # MPI's end waits, too, and warns of messages that nobody has taken
        time.sleep(1e-3)
        well = not _core._groups_broken()
    if sys.platform != "win32" and signal.getsignal(signal.SIGUSR1) is _note_death:
        signal.signal(signal.SIGUSR1, signal.SIG_IGN)  # for the interpreter's end, which has no handlers
    _core._groups_close()
    if well and _mpi().Is_initialized() and not _mpi().Is_finalized():
        _mpi().Finalize()


def _note_death(*_: Any) -> None:
    _core._note_death()


def _survive() -> None:
    """MPICH's mpiexec tells processes that another has died by SIGUSR1, which would end them silently."""
    if sys.platform == "win32":
        return
    if threading.current_thread() is threading.main_thread() and signal.getsignal(signal.SIGUSR1) is signal.SIG_DFL:
        signal.signal(signal.SIGUSR1, _note_death)


def _open(communicator: Any, ranks: tuple[int, ...], seconds: float) -> int:
    """The group's number in the core."""
    mpi = _mpi()
    here = os.environ.get("NCCL_HOSTID") or socket.gethostname()  # what NCCL regards as one machine
    places = communicator.allgather((here, os.getpid()))
    return _core._group_open(
        mpi.__file__,
        mpi._sizeof(mpi.Comm),
        mpi._handleof(communicator) & (1 << 63) - 1,
        mpi._handleof(mpi.BYTE) & (1 << 63) - 1,
        communicator.rank,
        ranks,
        [pid if host == here else 0 for host, pid in places],
        seconds,
    )


@naming_keywords
def init_process_group(
    backend: str = "auto",
    *,
    timeout: float | datetime.timedelta | None = None,
    world_size: int = -1,
    rank: int = -1,
    init_method: str | None = None,
    device_id: _core.Device | str | int | None = None,
) -> None:
    """Joins the processes that a launcher started; the first call of a distributed program.

    Start the program with ``mpiexec -n 2 python train.py``, or any launcher that sets RANK and WORLD_SIZE, OMPI_...,
    PMI_... or SLURM_... variables and gives the processes an MPI world. Without a launcher there is one process, and
    all collectives do nothing.

    Args:
        backend: "mpi" goes through host memory, for all devices; "gloo", which programs for PyTorch name, is the same.
            With "nccl", tensors on NVIDIA's GPUs go from GPU to GPU, all others by MPI. "auto": NCCL if all processes
            have it, and a GPU each.
        timeout: seconds (or a timedelta) that a collective may wait for other processes before it raises
            DistributedError; None: SPIROGRAD_COLLECTIVE_TIMEOUT, 600 by default.
        world_size, rank: checked against the launcher's when given.
        init_method: "env://" or None.
        device_id: the GPU of this process, for NCCL, as a device, its name or its number; None: the one with the
            number get_local_rank().

    Raises:
        RuntimeError: called twice.
        ValueError: an unknown backend, or a rank or size that is not the launcher's.
        DistributedError: several processes were asked for, and MPI is not there or has only one; or "nccl" was, and a
            process lacks something.

    Example:
        >>> import spirograd as sg
        >>> sg.distributed.init_process_group()
        >>> sg.distributed.get_rank(), sg.distributed.get_world_size()
        (0, 1)
        >>> sg.distributed.destroy_process_group()
    """
    global _world, _backend, _gpu, _hook
    if _world is not None:
        raise RuntimeError("init_process_group: called twice; call destroy_process_group() first")
    names = {"auto", "mpi", "nccl", "gloo"}
    if backend not in names:
        raise ValueError(f"init_process_group: {backend!r} is not a backend; choose one of {sorted(names)}")
    if init_method not in (None, "env://"):
        raise ValueError(f"init_process_group: init_method {init_method!r}; processes find each other through MPI")
    seconds = _seconds(timeout)
    asked = world_size if world_size > 0 else environment.world_size() or 1
    communicator = None
    mine, size = 0, 1
    if asked > 1:
        try:
            communicator = _mpi().COMM_WORLD.Dup()
        except ImportError as error:
            raise _core.DistributedError(
                f"init_process_group: {asked} processes need mpi4py, which cannot be imported ({error}); "
                "pip install spirograd[mpi]"
            ) from None
        mine, size = communicator.rank, communicator.size
        if size != asked:
            raise _core.DistributedError(
                f"init_process_group: world_size is {asked}, and MPI has {size} processes; start them with "
                f"mpiexec -n {asked} of the MPI that mpi4py uses, or with srun --mpi=pmi2 (MPICH) or pmix (Open MPI)"
            )
    if rank >= 0 and rank != mine:
        raise ValueError(f"init_process_group: rank={rank}, but the launcher made this process rank {mine}")
    number, _gpu = 0, -1
    if communicator is not None:
        _survive()
        number = _open(communicator, tuple(range(size)), seconds)
        if backend in ("nccl", "auto"):
            gpu = _local_rank(communicator) if device_id is None else _number(device_id)
            why, usable = _use_nccl(number, gpu, backend)
            if why and backend == "nccl":
                _core._groups_close()
                raise _core.DistributedError(f"init_process_group: {why}")
            if not usable:
                _core._groups_close()
                communicator = communicator.Dup()
                number = _open(communicator, tuple(range(size)), seconds)
            if why and _NO_CUDA not in why and mine == 0:
                warnings.warn(f"init_process_group: tensors on GPUs go through the host; {why}", stacklevel=2)
            _gpu = -1 if why else gpu
        if sys.excepthook is not _note_error:
            _hook = sys.excepthook
            sys.excepthook = _note_error
            atexit.register(_at_exit)
    _world = ProcessGroup(tuple(range(size)), mine, seconds, communicator, number)
    _backend = "nccl" if _gpu >= 0 else "mpi"


def _number(device: _core.Device | str | int) -> int:
    """Of a GPU."""
    if isinstance(device, int):
        return device
    known = _core.Device(device) if isinstance(device, str) else device
    if known.kind != "gpu":
        raise ValueError(f"init_process_group: device_id is {device}, which is not a GPU; name a GPU")
    return known.index


_NO_CUDA = "there is no CUDA device to use"


def _use_nccl(group: int, gpu: int, backend: str) -> tuple[str, bool]:
    """Sends tensors on GPUs through NCCL if all processes of the group can. Returns why not, and whether the group can
    be used all the same."""
    lacks, library = "", nccl.find()
    if backend == "auto" and (not nccl.has_driver() or os.environ.get("SPIROGRAD_DEVICE") == "cpu"):
        lacks = _NO_CUDA
    elif library is None:
        lacks = "NCCL: there is no libnccl.so.2; pip install spirograd[nccl]"
    nccl.pin()
    try:
        return _core._nccl_open(group, gpu, library.path if library else "", lacks), True
    except _core.DistributedError as error:
        return str(error), False


def destroy_process_group(group: ProcessGroup | None = None) -> None:
    """Leaves the world and all groups: a program calls it at its end, or to go on alone after a DistributedError.

    A group of new_group() given as argument is left alone: it costs nothing.
    """
    global _world, _left_alone
    if group is None or group is _world:
        if _world is not None and _world.number and _core._groups_broken():
            _left_alone = True
            _core._groups_leave("it left the group")
            _core._groups_close()
        elif _world is not None and _world.number:
            _core._exchange([_core.zeros(1, device="cpu")], "all_reduce", "sum", 0, _world.number, False)
            _core._groups_close()
        _world = None


def is_initialized() -> bool:
    """Whether init_process_group() was called."""
    return _world is not None


def world() -> ProcessGroup:
    """All processes. One, if init_process_group() was not called."""
    return _world or _ALONE


_ALONE = ProcessGroup((0,), 0, DEFAULT_TIMEOUT)


def get_rank(group: ProcessGroup | None = None) -> int:
    """This process's number in a group, or in the world; -1: no member. 0 before init_process_group()."""
    return (group or world()).rank


def get_world_size(group: ProcessGroup | None = None) -> int:
    """The number of processes in a group, or in the world. 1 before init_process_group()."""
    return (group or world()).size()


def get_local_rank() -> int:
    """This process's number on its machine, which is the number of its GPU: ``sg.device(f"gpu:{get_local_rank()}")``.

    LOCAL_RANK or what mpirun and Slurm set; where they set nothing, MPI is asked.
    """
    return _local_rank(world().communicator)


def _local_rank(communicator: Any) -> int:
    known = environment.local_rank()
    if known is not None:
        return known
    if communicator is None:
        return 0
    _core._exchange_finish()
    here = communicator.Split_type(_mpi().COMM_TYPE_SHARED)
    try:
        return int(here.rank)
    finally:
        here.Free()


def get_backend(group: ProcessGroup | None = None) -> str:
    """How tensors on GPUs move: "nccl" or "mpi"."""
    return _backend or "mpi"


def get_process_group_ranks(group: ProcessGroup | None = None) -> list[int]:
    """The members' numbers in the world."""
    return list((group or world()).ranks)


@naming_keywords
def new_group(ranks: Sequence[int] | None = None, *, timeout: float | datetime.timedelta | None = None) -> ProcessGroup:
    """A group of some processes. Every process of the world must call this, in the same order.

    Args:
        ranks: the members, by their numbers in the world; None: all.
        timeout: as in init_process_group(); None: the world's.

    Raises:
        ValueError: a rank that there is not, or one named twice.

    Example:
        >>> import spirograd as sg
        >>> sg.distributed.new_group([0])
        ProcessGroup(rank 0 of 1)
    """
    everyone = world()
    members = tuple(everyone.ranks if ranks is None else sorted(int(r) for r in ranks))
    if len(set(members)) != len(members) or not set(members) <= set(everyone.ranks) or not members:
        raise ValueError(f"new_group: ranks are {list(members)} of {everyone.size()} processes; name each once")
    mine = members.index(everyone.rank) if everyone.rank in members else -1
    seconds = everyone.timeout if timeout is None else _seconds(timeout)
    if everyone.communicator is None:
        return ProcessGroup(members, mine, seconds)
    _core._exchange_finish()  # as the other processes do before they come here
    communicator = everyone.communicator.Split(0 if mine >= 0 else _mpi().UNDEFINED, max(mine, 0))
    if mine < 0:
        return ProcessGroup(members, mine, seconds)
    number = _open(communicator, members, seconds)
    if _gpu >= 0 and len(members) > 1 and (why := _use_nccl(number, _gpu, "nccl")[0]):
        raise _core.DistributedError(f"new_group: {why}")
    return ProcessGroup(members, mine, seconds, communicator, number)
