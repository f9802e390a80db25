"""Clocks of programs that measure work on the CPU: docs/decisions/056-a-clock-finishes-the-cpus-work.md."""

from __future__ import annotations

import sys

from .. import _core

__all__ = ["finish_before_clocks"]

# They look at the clock to print now and then, and time nothing of the program's.
_PROGRESS = {"alive_progress", "enlighten", "fastprogress", "progressbar", "rich", "tqdm"}
_LOGS = {"absl", "loguru", "structlog", "tensorboard", "tensorboardX", "wandb"}


def finish_before_clocks() -> None:
    """From here on, a program that looks at a clock finds done what it recorded on the CPU before."""
    library = (sys.stdlib_module_names - {"timeit"}) | {__name__.partition(".")[0]}
    _core._finish_before_clocks(library | _PROGRESS | _LOGS)
