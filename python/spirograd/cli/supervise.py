"""One process of a launch: MPI runs this file, which runs the program, marks its output with its number, and reports.

Nothing but the standard library is imported: the program decides what it loads. See launch.py.
"""

from __future__ import annotations

import collections
import ctypes
import os
import runpy
import signal
import socket
import subprocess
import sys
import threading
from multiprocessing import connection
from pathlib import Path
from typing import Any, BinaryIO

LINES = 20  # the last ones, which are shown when the program fails
ANSWER = 1.0  # seconds that the program has to print its stack
_HERE = Path(__file__).parent
_LOCAL_SIZE = ("MPI_LOCALNRANKS", "OMPI_COMM_WORLD_LOCAL_SIZE")
_DIE_WITH_PARENT = 1  # PR_SET_PDEATHSIG


def die_with_parent() -> None:
    """The system kills this process when its parent ends, however that happens. On macOS nothing does."""
    if sys.platform != "linux":
        return
    ctypes.CDLL(None).prctl(_DIE_WITH_PARENT, signal.SIGKILL)


class Supervisor:
    """The program of one process."""

    def __init__(self, words: list[str]) -> None:
        known = runpy.run_path(str(_HERE.parent / "distributed" / "environment.py"))
        self.rank, size, local = (known[name]() or 0 for name in ("rank", "world_size", "local_rank"))
        here = next((int(os.environ[name]) for name in _LOCAL_SIZE if name in os.environ), size or 1)
        environment = dict(os.environ)
        host, _, port = environment.pop("SPIROGRAD_LAUNCH").rpartition(":")
        key = environment.pop("SPIROGRAD_LAUNCH_KEY").encode()
        environment |= {"RANK": str(self.rank), "WORLD_SIZE": str(size or 1)}
        environment |= {"LOCAL_RANK": str(local), "LOCAL_WORLD_SIZE": str(here)}
        if device := environment.pop("SPIROGRAD_LAUNCH_DEVICE", None):
            environment["SPIROGRAD_DEVICE"] = f"gpu:{local}" if device == "gpu" else device
        environment.setdefault("PYTHONUNBUFFERED", "1")  # lines come when they are written
        cores = len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1
        environment.setdefault("SPIROGRAD_THREADS", str(max(1, cores // here)))
        self.lines: collections.deque[str] = collections.deque(maxlen=LINES)
        self._lock = threading.Lock()
        self._line: Any = connection.Client((host, int(port)), "AF_INET", authkey=key)
        self._line.send(self.rank)
        stack, self._stack_end = os.pipe()
        self._stack = stack
        environment["SPIROGRAD_LAUNCH_STACK"] = str(self._stack_end)
        os.set_inheritable(self._stack_end, True)
        self.program = subprocess.Popen(
            [sys.executable, str(_HERE / "supervised.py"), *words],
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            close_fds=False,  # MPI talks to its launcher through an inherited one
            preexec_fn=die_with_parent,
        )

    def run(self) -> int:
        """Waits for the end of the program; gives its return code."""
        assert self.program.stdout and self.program.stderr
        readers = [
            threading.Thread(target=self._mark, args=pair, daemon=True)
            for pair in ((self.program.stdout, sys.stdout.buffer), (self.program.stderr, sys.stderr.buffer))
        ]
        listener = threading.Thread(target=self._listen, daemon=True)
        for thread in (*readers, listener):
            thread.start()
        code = self.program.wait()
        for reader in readers:
            reader.join(2)  # a process that the program left behind may keep its output open
        what = {"code": code, "lines": list(self.lines), "host": socket.gethostname(), "process": self.program.pid}
        try:
            self._send("failed" if code else "done", what)
        except OSError:
            return code
        if code:
            listener.join(30)  # MPI would end the others at once; they are asked first where they are
        return code

    def _mark(self, source: BinaryIO, to: BinaryIO) -> None:
        mark = f"[{self.rank}] ".encode()
        for line in source:
            with self._lock:
                self.lines.append(line.decode(errors="replace").rstrip("\n"))
                to.write(mark + line if line.endswith(b"\n") else mark + line + b"\n")
                to.flush()

    def _send(self, word: str, what: Any) -> None:
        with self._lock:
            self._line.send((word, what))

    def _listen(self) -> None:
        try:
            while True:
                word = self._line.recv()
                if word == "end":
                    break
                self._send("where", self._where())
        except (EOFError, OSError):  # the launcher is gone
            pass
        self.program.kill()

    def _where(self) -> str:
        """The stacks of the program's threads."""
        try:
            self.program.send_signal(signal.SIGUSR2)
        except OSError:
            return ""
        text = b""
        with open(self._stack, "rb", buffering=0, closefd=False) as pipe:
            while connection.wait([pipe.fileno()], ANSWER if not text else 0.1):
                text += pipe.read(1 << 16)
        return text.decode(errors="replace")


def main() -> int:
    """Runs the program; gives its exit status."""
    die_with_parent()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: supervisor.program.kill())
    supervisor = Supervisor(sys.argv[1:])
    code = supervisor.run()
    return code if code >= 0 else 128 - code


if __name__ == "__main__":
    sys.exit(main())
