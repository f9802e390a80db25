"""run: a program written for PyTorch, unchanged, with spirograd in PyTorch's place."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from .options import UserError


def add(commands: Any) -> None:
    """Describes the command."""
    command = commands.add_parser(
        "run",
        help="run a program written for PyTorch",
        description="Runs a program written for PyTorch, unchanged: its `import torch` is spirograd.",
        usage="python -m spirograd run [--check]\n       (SCRIPT | - | -m MODULE | -c CODE) [ARGUMENT ...]",
    )
    command.add_argument("--check", action="store_true", help="list the names that are missing, without running")
    command.add_argument("-m", dest="module", action="store_true", help="the program is a module, not a script")
    command.add_argument("-c", dest="code", action="store_true", help="the program is the next word")
    command.add_argument(
        "program", metavar="SCRIPT", help="a file, - for standard input; with -m a module, with -c code"
    )
    command.add_argument("arguments", metavar="ARGUMENT", nargs=argparse.REMAINDER, help="the program's own")
    command.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """The program's exit status; of --check, 1 when names are missing."""
    if options.check:
        return check(options)
    from .running import run_code, run_program

    if (code := _code(options)) is not None:
        return run_code(code, "-c" if options.code else "-", options.arguments)
    if not options.module and not Path(options.program).is_file():
        raise UserError(f"run: there is no file {options.program}; give a script, or -m and a module")
    return run_program(options.program, options.arguments, options.module)


def _code(options: argparse.Namespace) -> str | None:
    """The text of a program that is not a file."""
    if options.code:
        return str(options.program)
    return sys.stdin.read() if options.program == "-" and not options.module else None


def check(options: argparse.Namespace) -> int:
    """Prints the names that are missing."""
    from importlib.util import find_spec

    from ..torch import install
    from .missing import missing_names

    install()
    code, path = _code(options), options.program
    if options.module:
        spec = find_spec(path)
        path = spec.origin if spec else None
    if code is None and (path is None or not Path(path).is_file()):
        raise UserError(f"run: there is no program {options.program}; give a script, or -m and a module")
    found = missing_names(Path(path) if code is None else Path("<string>" if options.code else "<stdin>"), code)
    print("\n".join([*found, f"{len(found)} missing" if found else "nothing is missing"]))
    return bool(found)
