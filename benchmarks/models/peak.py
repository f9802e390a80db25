"""The peak of memory of a process that trains. It imports one library and NumPy, so that nothing else is counted."""

from __future__ import annotations

from pathlib import Path

from models import networks


def print_peak(library: str, steps: int) -> None:
    """The most memory, in MiB, that this process ever had in use, after some steps of the MLP on the CPU."""
    if library == "torch":
        import torch as t

        wait = int
    else:
        import spirograd as t

        wait = t.synchronize
    networks.mlp(784, 512, 256, 10, batch=64).steps(t, "cpu", wait)(steps)
    line = next(s for s in Path("/proc/self/status").read_text().splitlines() if s.startswith("VmHWM"))
    print(int(line.split()[1]) / 1024)
