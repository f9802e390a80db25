"""Running somebody's program with spirograd in PyTorch's place."""

from __future__ import annotations

import linecache
import runpy
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from types import ModuleType, TracebackType
from typing import Any

from ..torch import install
from ..torch.clocks import finish_before_clocks
from ..torch.libraries import COMPILED
from ..torch.start import stand_in

__all__ = ["run_code", "run_program"]


def run_program(target: str, arguments: list[str], module: bool = False) -> int:
    """Runs a script or a module as Python would, and gives its exit status.

    Args:
        target: the script's path, or the module's name.
        arguments: what follows it on the command line.
        module: whether the target is a module.
    """
    install()
    finish_before_clocks()
    sys.argv = [target, *arguments]
    folder = Path() if module else Path(target).resolve().parent
    sys.path.insert(0, "" if module else str(folder))
    for name in COMPILED:  # the program's own packages may have such names
        if (folder / name).is_dir() or (folder / f"{name}.py").is_file():
            del sys.modules[name]
    stand_in()
    if module:
        return _status(lambda: runpy.run_module(target, run_name="__main__", alter_sys=True), target)
    return _status(lambda: runpy.run_path(target, run_name="__main__"), target)


def run_code(text: str, name: str, arguments: list[str]) -> int:
    """Runs a program that is not a file, as `python -c` and `python -` do, and gives its exit status.

    Args:
        text: the program.
        name: "-c" or "-", its sys.argv[0].
        arguments: what follows it on the command line.
    """
    install()
    sys.argv = [name, *arguments]
    sys.path.insert(0, "")
    stand_in()
    file = "<string>" if name == "-c" else "<stdin>"
    linecache.cache[file] = (len(text), None, text.splitlines(True), file)  # for tracebacks
    main = sys.modules["__main__"] = ModuleType("__main__")
    return _status(lambda: exec(compile(text, file, "exec"), vars(main)), name)


def _status(run: Callable[[], Any], target: str) -> int:
    try:
        run()
    except SystemExit as end:
        if end.code is None or isinstance(end.code, int):
            return end.code or 0
        print(end.code, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        traceback.print_exception(type(error), error, _of_the_program(error.__traceback__))
        if isinstance(error, ImportError) and (error.name or "").split(".")[0] == "torch":
            print(f"Names that are missing: {PROGRAM} --check {target}", file=sys.stderr)
        return 1
    return 0


PROGRAM = "python -m spirograd run"


def _of_the_program(trace: TracebackType | None) -> TracebackType | None:
    """The traceback from the program's first line on; all of it if no line is the program's."""
    own = (str(Path(__file__).parents[1]), "<frozen")
    start = trace
    while start and start.tb_frame.f_code.co_filename.startswith(own):
        start = start.tb_next
    return start or trace
