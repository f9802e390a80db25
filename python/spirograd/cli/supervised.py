"""Runs a program as Python would, in a process that can be asked where it is: it writes its stacks to a pipe then.

Nothing of the package is imported: the program decides what it loads. See supervise.py.
"""

from __future__ import annotations

import atexit
import faulthandler
import os
import runpy
import signal
import sys
from pathlib import Path
from types import TracebackType

OWN = (__file__, "<frozen runpy>")


def main() -> None:
    """Runs the script or module that the arguments name, as `__main__`."""
    faulthandler.register(signal.SIGUSR2, file=int(os.environ.pop("SPIROGRAD_LAUNCH_STACK")), all_threads=True)
    words = sys.argv[1:]
    module = words[0] == "-m"
    sys.argv = words[module:]
    try:
        if module:
            sys.path[0] = os.getcwd()
            runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
        else:
            sys.path[0] = str(Path(sys.argv[0]).resolve().parent)
            runpy.run_path(sys.argv[0], run_name="__main__")
    except SystemExit as end:
        if not end.code:
            raise
        if not isinstance(end.code, int):
            print(end.code, file=sys.stderr)
        leave(end.code if isinstance(end.code, int) else 1)
    except BaseException as error:
        trace = of_the_program(error.__traceback__)
        sys.excepthook(type(error), error.with_traceback(trace), trace)
        leave(1)


def of_the_program(trace: TracebackType | None) -> TracebackType | None:
    """The traceback from the program's first line on; all of it if no line is the program's."""
    start = trace
    while start and start.tb_frame.f_code.co_filename in OWN:
        start = start.tb_next
    return start or trace


def leave(status: int) -> None:
    """Ends a process that failed without MPI's own end, which would wait for the others."""
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    os._exit(status & 255)


if __name__ == "__main__":
    main()
