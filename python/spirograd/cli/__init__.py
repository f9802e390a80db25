"""The commands of `python -m spirograd`.

Each has a file with `add(commands)`, which describes it, and `run(options)`, which gives the exit status: 0 when all is
well, 1 when what was checked is not, 2 when it could not run, 130 when it was interrupted.
"""

from __future__ import annotations

import argparse
import errno
import os
import sys
from collections.abc import Sequence

from .. import _core
from . import bench, doctor, generate, info, launch, report, run, selftest, train
from .options import Parser, UserError, add_list_of_models

__all__ = ["main", "parser"]

PROGRAM = "python -m spirograd"


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs a command line; returns the exit status.

    Args:
        arguments: the words after `python -m spirograd`; None: those of the process.

    Example:
        >>> sg.cli.main(["info"])  # doctest: +ELLIPSIS
        spirograd ...
        0
    """
    words = list(sys.argv[1:] if arguments is None else arguments)
    options = parser().parse_args(words)
    try:
        if getattr(options, "config", None):  # placed before the other words, which override them
            options = parser().parse_args([*words[:2], *train.from_toml(options.config), *words[2:]])
        status: int = options.run(options)
        sys.stdout.flush()
        return status
    except KeyboardInterrupt:
        print("\ninterrupted", file=sys.stderr)
        return 130
    except (UserError, _core.Error, ImportError, OSError) as error:
        if _is_closed_pipe(error):  # the reader of the output has closed it
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return 0
        print(f"{PROGRAM}: {error}", file=sys.stderr)
        return 2


def _is_closed_pipe(error: BaseException) -> bool:
    if os.name == "nt":
        return isinstance(error, OSError) and error.errno == errno.EINVAL and error.filename is None
    return isinstance(error, BrokenPipeError)


def parser() -> argparse.ArgumentParser:
    """All commands with their options."""
    top = Parser(prog=PROGRAM, description="Trains on any GPU through Vulkan.")
    top.add_argument("--version", action="version", version=_core.__version__)
    add_list_of_models(top)
    commands = top.add_subparsers(metavar="COMMAND", required=True)
    for command in (run, launch, info, doctor, selftest, bench, report, train, generate):
        command.add(commands)
    return top
