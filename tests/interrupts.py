"""Ctrl-C for tests."""

from __future__ import annotations

import os
import signal


def ctrl_c(number: int = signal.SIGINT) -> None:
    """As a terminal sends it to this process; on Windows a process can do so to itself alone."""
    if os.name == "nt":
        signal.raise_signal(number)
    else:
        os.kill(os.getpid(), number)
