"""`doctor`: which packages are installed beside spirograd, whether they work with it, and what a program lacks."""

from __future__ import annotations

import argparse
from typing import Any

from .. import _core
from . import run as run_command


def add(commands: Any) -> None:
    """Describes the command."""
    command = commands.add_parser(
        "doctor",
        help="packages that work with spirograd or do not, and what a program lacks",
        description="Lists the packages around PyTorch that are installed here, and whether they work with spirograd.",
    )
    command.add_argument("program", metavar="SCRIPT", nargs="?", help="a program to look at, as `run --check` does")
    command.set_defaults(run=run, module=False, code=False)


def run(options: argparse.Namespace) -> int:
    """0 when nothing is wrong, 1 when a package does not work or the program lacks names."""
    from importlib.machinery import PathFinder

    from ..torch.packages import installed

    gpus = [d for d in _core.Device.list() if d.kind == "gpu"]
    print(f"spirograd {_core.__version__}: {gpus[0].name if gpus else f'no GPU: {_core._gpu_reason()[0]}'}")
    if PathFinder.find_spec("torch") is not None:
        print("PyTorch is installed, too: `run` takes spirograd instead")
    rows = list(installed())
    width = max((len(name) + len(number) for name, number, _, _ in rows), default=0) + 1
    for name, number, works, status in rows:
        print(f"  {'ok ' if works else 'NO '} {f'{name} {number}'.ljust(width)}  {status}")
    if not rows:
        print("  no package around PyTorch that is known")
    failed = any(not works for _, _, works, _ in rows)
    if options.program is None:
        return int(failed)
    print()
    return run_command.check(options) or int(failed)
