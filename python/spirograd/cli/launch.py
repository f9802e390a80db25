"""launch: a program in several processes, which the installed MPI starts, one for each GPU.

MPI starts a supervisor for each process (supervise.py), which starts the program, marks its output, and reports over a
connection of its own, so that this command can say who failed and where the others were.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import queue
import re
import secrets
import shutil
import signal
import socket
import struct
import subprocess
import sys
import threading
from collections.abc import Sequence
from multiprocessing import connection
from pathlib import Path
from typing import Any

from .options import UserError, positive

ASKED = 3.0  # seconds that the others have to say where they are
HELLO, STRANGERS = 10, 64  # seconds that a connection has to show its key, and how many may be at it beside ours
ENDED = 10.0  # seconds that they have to end
# What another launcher may have left: MPI's own numbers count.
STALE = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE")
_PACKAGE = str(Path(__file__).parents[1])


def add(commands: Any) -> None:
    """Describes the command."""
    command = commands.add_parser(
        "launch",
        help="run a program in several processes, one for each GPU",
        description="Runs a program in several processes, which sg.distributed connects, through the installed MPI.",
        usage="python -m spirograd launch -n N [--hosts HOST:N,HOST:N] [--device gpu]\n"
        "       (SCRIPT | -m MODULE) [ARGUMENT ...]",
    )
    command.add_argument(
        "-n",
        type=positive,
        dest="count",
        metavar="N",
        help="how many processes (default: as --hosts, or as the job of Slurm)",
    )
    command.add_argument("--hosts", metavar="HOST:N,...", help="machines, and how many processes each of them runs")
    command.add_argument(
        "--device", choices=["cpu", "gpu"], help="the default device; gpu: of each process of a machine its own"
    )
    command.add_argument("--mpiexec", metavar="PATH", help="MPI's own launcher (default: beside Python, or in PATH)")
    command.add_argument("-m", dest="module", action="store_true", help="the program is a module, not a script")
    command.add_argument("program", metavar="SCRIPT", help="a file, or with -m a module")
    command.add_argument("arguments", metavar="ARGUMENT", nargs=argparse.REMAINDER, help="the program's own")
    command.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """The exit status of the first process that failed, or 0."""
    hosts = hosts_of(options.hosts)
    machines, tasks = allocation()
    remote = bool(hosts) or machines > 1
    count = options.count or sum(slots for _, slots in hosts) or tasks
    if not count:
        raise UserError("launch: the number of processes is missing; give -n N, or --hosts HOST:N")
    if not options.module and not Path(options.program).is_file():
        raise UserError(f"launch: there is no file {options.program}; give a script, or -m and a module")
    starter = mpiexec_of(options.mpiexec)
    if os.name == "nt":
        raise UserError("launch: needs signals, which Windows does not have; start the program with mpiexec")
    kind = kind_of(starter)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))  # ends the others, as Ctrl-C does
    with Control(count, [name for name, _ in hosts] or peers(), remote=remote) as control:
        environment = {k: v for k, v in os.environ.items() if k not in STALE}
        environment |= control.variables | {
            "MASTER_ADDR": hosts[0][0] if hosts else socket.gethostname() if remote else "127.0.0.1"
        }
        environment["SPIROGRAD_LAUNCH_DEVICE"] = options.device or ""
        program = ["-m", options.program] if options.module else [options.program]
        supervisor = [sys.executable, "-I", str(Path(__file__).with_name("supervise.py"))]
        words = [*arguments_of(kind, starter, count, hosts, control.variables), *supervisor, *program]
        return control.watch([*words, *options.arguments], environment)


def allocation() -> tuple[int, int]:
    """How many machines and processes Slurm has given this job: MPI starts them there by itself. (1, 0): it is none."""
    machines, tasks = (os.environ.get(name, "") for name in ("SLURM_JOB_NUM_NODES", "SLURM_NTASKS"))
    return int(machines) if machines.isdecimal() else 1, int(tasks) if tasks.isdecimal() else 0


def peers() -> list[str]:
    """One machine of a job of Slurm, the last of a list such as a[1-3,7],b."""
    listed = os.environ.get("SLURM_JOB_NODELIST", "")
    last = re.search(r"([^,\[\]]+)(?:\[(?:[^\]]*[-,])?([0-9]+)\])?$", listed)
    return ["".join(part or "" for part in last.groups())] if last else []


def address_for(others: Sequence[str]) -> str:
    """The address of this machine on the network of the others; empty, for any, where their names say nothing here."""
    found = ""
    for name in others:
        with contextlib.suppress(OSError), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            probe.connect((name, 9))  # of datagrams: nothing is sent
            found = probe.getsockname()[0]
            if not found.startswith("127."):
                break
    return found


def hosts_of(text: str | None) -> list[tuple[str, int]]:
    """Names of machines and how many processes each runs, from "a:2,b:2"."""
    found = []
    for part in (text or "").split(","):
        name, _, slots = part.strip().partition(":")
        if not name:
            continue
        if slots and not (slots.isdecimal() and int(slots)):
            raise UserError(f"launch: --hosts {part}: '{slots}' is not a number of processes; write HOST:N")
        found.append((name, int(slots or 1)))
    return found


# ---- the installed MPI -----------------------------------------------------------------------------------------------
def mpiexec_of(given: str | None) -> str:
    """The path of MPI's launcher: beside Python first, where pip installs it together with the library."""
    if given:
        if not shutil.which(given):
            raise UserError(f"launch: --mpiexec {given}: there is no such program")
        return given
    beside = Path(sys.executable).parent
    for path in (str(beside), None):
        for name in ("mpiexec", "mpirun"):
            if found := shutil.which(name, path=path):
                return found
    raise UserError(
        "launch: there is no mpiexec; pip install spirograd[mpi], or install MPICH or Open MPI and mpi4py for it"
    )


def kind_of(starter: str) -> str:
    """ "mpich" or "openmpi", as the launcher says; what derives from MPICH (Intel MPI, MVAPICH) is like it."""
    try:
        said = subprocess.run([starter, "--version"], capture_output=True, text=True, timeout=30, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise UserError(f"launch: {starter} does not run: {error}") from None
    if not re.search(r"open ?mpi|openrte|prrte", said.stdout + said.stderr, re.IGNORECASE):
        return "mpich"
    allowed = ("OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM")
    if os.geteuid() == 0 and not all(os.environ.get(name) for name in allowed):
        raise UserError(
            f"launch: {starter} is Open MPI's, which does not start programs of root; use another user, set "
            f"{allowed[0]}=1 and {allowed[1]}=1, or pip install spirograd[mpi], whose MPICH does"
        )
    return "openmpi"


def arguments_of(
    kind: str, starter: str, count: int, hosts: Sequence[tuple[str, int]], variables: dict[str, str]
) -> list[str]:
    """The command line before the program's."""
    words = [starter, "-n", str(count)]
    listed = ",".join(f"{name}:{slots}" for name, slots in hosts)
    if kind == "openmpi":  # other machines get the variables that are named
        passed = [word for name in (*variables, "SPIROGRAD_LAUNCH_DEVICE", "MASTER_ADDR") for word in ("-x", name)]
        return [*words, *(["--host", listed] if hosts else ["--oversubscribe"]), *passed]
    return [*words, *(["-hosts", listed] if hosts else [])]


# ---- the processes ---------------------------------------------------------------------------------------------------
class Control:
    """The connections to the supervisors.

    Args:
        count: how many there will be.
        others: names of machines, for whom it listens on their network alone.
        remote: whether some are on other machines; otherwise it listens to this one.

    Attributes:
        variables: what supervisors read to connect, and MASTER_PORT.
    """

    def __init__(self, count: int, others: Sequence[str], remote: bool) -> None:
        self.count = count
        key = secrets.token_hex(16)
        self._key, here = key.encode(), address_for(others) if remote else "127.0.0.1"
        self._listener = connection.Listener((here, 0), "AF_INET", backlog=count + STRANGERS)
        self._strangers = threading.BoundedSemaphore(count + STRANGERS)
        port = self._listener.address[1]
        with socket.socket() as free:
            free.bind(("", 0))
            master = free.getsockname()[1]
        address = f"{here or socket.getfqdn()}:{port}"
        self.variables = {"SPIROGRAD_LAUNCH": address, "SPIROGRAD_LAUNCH_KEY": key, "MASTER_PORT": str(master)}
        self._messages: queue.Queue[tuple[int, str, Any]] = queue.Queue()
        self._supervisors: dict[int, connection.Connection] = {}
        threading.Thread(target=self._accept, daemon=True).start()

    def __enter__(self) -> Control:
        return self

    def __exit__(self, *_: object) -> None:
        self._listener.close()

    def _accept(self) -> None:
        while True:
            try:
                line = self._listener.accept()
            except OSError:  # closed
                return
            self._strangers.acquire()
            threading.Thread(target=self._read, args=(line,), daemon=True).start()

    def _known(self, line: Any) -> bool:
        """Whether the other end has the key. It may not: a connection that stays silent is dropped after a while."""
        try:
            with socket.socket(fileno=os.dup(line.fileno())) as wire:
                for option in (socket.SO_RCVTIMEO, socket.SO_SNDTIMEO):
                    wire.setsockopt(socket.SOL_SOCKET, option, struct.pack("ll", HELLO, 0))
                connection.deliver_challenge(line, self._key)
                connection.answer_challenge(line, self._key)
                for option in (socket.SO_RCVTIMEO, socket.SO_SNDTIMEO):
                    wire.setsockopt(socket.SOL_SOCKET, option, struct.pack("ll", 0, 0))
            return True
        except Exception:  # whatever it sends
            line.close()
            return False
        finally:
            self._strangers.release()

    def _read(self, line: Any) -> None:
        if not self._known(line):
            return
        try:
            rank = line.recv()
            self._supervisors[rank] = line
            while True:
                self._messages.put((rank, *line.recv()))
        except (EOFError, OSError):
            pass

    def _tell(self, ranks: Sequence[int], word: str) -> None:
        for rank in ranks:
            with contextlib.suppress(OSError, KeyError):
                self._supervisors[rank].send(word)

    def watch(self, words: list[str], environment: dict[str, str]) -> int:
        """Starts MPI's launcher and waits for its end; ends everything when a process fails, or at Ctrl-C."""
        ended: set[int] = set()
        # A group of its own: Ctrl-C reaches this process alone, which ends the others.
        with subprocess.Popen(words, env=environment, stdin=subprocess.DEVNULL, start_new_session=True) as mpi:
            try:
                while mpi.poll() is None:
                    try:
                        rank, word, what = self._messages.get(timeout=0.1)
                    except queue.Empty:
                        continue
                    if word == "failed":
                        return self._failed(rank, what, ended)
                    if word == "done":
                        ended.add(rank)
                if not mpi.returncode:
                    return 0
                try:  # its last word may be on its way
                    while True:
                        rank, word, what = self._messages.get(timeout=0.5)
                        if word == "failed":
                            return self._failed(rank, what, ended)
                except queue.Empty:
                    pass
                print(f"launch: {words[0]} ended with status {mpi.returncode}", file=sys.stderr)
                return mpi.returncode if mpi.returncode > 0 else 128 - mpi.returncode
            finally:
                self._end(mpi)

    def _failed(self, rank: int, what: dict[str, Any], ended: set[int]) -> int:
        """Prints which process failed, and where the others were."""
        code: int = what["code"]
        others = [r for r in range(self.count) if r != rank and r not in ended]
        self._tell(others, "where")
        places: dict[int, str] = {}
        while len(places) < len(others):
            try:
                other, word, text = self._messages.get(timeout=ASKED)
            except queue.Empty:
                break
            if word == "where":
                places[other] = text
            elif word == "failed":
                places.setdefault(other, "")
                ended.add(other)
        print(f"launch: rank {rank} of {self.count} ({what['host']}, process {what['process']}) {ending(code)}")
        for line in what["lines"]:
            print(f"  | {line}")
        for other in others:
            if other in ended:
                print(f"launch: rank {other} failed after it")
            else:
                print(f"launch: rank {other} was {place_of(places[other]) if other in places else 'not to be reached'}")
        sys.stdout.flush()
        return code if code > 0 else 128 - code

    def _end(self, mpi: subprocess.Popen[bytes]) -> None:
        """Ends the remaining processes, the programs first."""
        if mpi.poll() is None:
            self._tell(range(self.count), "end")
        for number, seconds in ((signal.SIGTERM, ENDED / 2), (signal.SIGKILL, ENDED / 2)):
            try:
                mpi.wait(timeout=seconds)
                return
            except subprocess.TimeoutExpired:
                os.killpg(mpi.pid, number)


def ending(code: int) -> str:
    """How a process with this return code ended."""
    if code >= 0:
        return f"ended with status {code}"
    name = signal.Signals(-code).name if -code in set(signal.Signals) else f"signal {-code}"
    hint = ", which the system sends when memory is short" if -code == signal.SIGKILL else ""
    return f"was killed by {name}{hint}"


def place_of(stack: str) -> str:
    """Which collective a process was in, and the line of the program, from a stack with the latest call first."""
    frames = re.findall(r'File "([^"]*)", line (\d+) in (\S+)', re.split(r"[Tt]hread 0x", stack)[-1])  # the main thread
    own = [(path, function) for path, _, function in frames if path.startswith(_PACKAGE)]
    collective = [function for path, function in own if f"{os.sep}distributed{os.sep}" in path and function[0] != "_"]
    outside = [
        f"{path}:{line}, in {function}"
        for path, line, function in frames
        if not path.startswith((_PACKAGE, "<frozen")) and not path.endswith("runpy.py")
    ]
    where = f" at {outside[0]}" if outside else ""
    return f"in {collective[-1]}{where}" if collective else where.strip() or "not in the program's Python"
