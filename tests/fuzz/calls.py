"""Functions that somebody calls with anything: a call gives a value or an error; none ends the process.

    python tests/fuzz/calls.py                               60 calls of each function and method on the CPU
    python tests/fuzz/calls.py --seed 3 --count 600          other ones, and more
    python tests/fuzz/calls.py --only Tensor.gather --seed 3  those of one function again

Each function has a process of its own, and its calls follow from its name and the seed. One that does not come back in
time is ended and named, but is no failure: somebody may ask for much.
"""

from __future__ import annotations

import argparse
import os
import random
import select
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any

import spirograd as sg
from spirograd.nn import functional

SECONDS = 20.0
OPERATORS = ("__and__", "__floordiv__", "__getitem__", "__lshift__", "__matmul__", "__mod__", "__pow__", "__setitem__")
NO_FUNCTIONS = ("load", "manual_seed", "save", "set_num_threads")  # these change files or the process

VALUES: dict[str, Callable[[], Any]] = {
    "1": lambda: 1,
    "-1": lambda: -1,
    "2.5": lambda: 2.5,
    "nan": lambda: float("nan"),
    "True": lambda: True,
    "None": lambda: None,
    "[1, 2]": lambda: [1, 2],
    "'mean'": lambda: "mean",
    "tensor(1.)": lambda: sg.tensor(1.0),
    "ones(2, 3)": lambda: sg.ones(2, 3),
    "ones(2, 3) with gradient": lambda: sg.ones(2, 3, requires_grad=True),
    "ones(1, 2, 4, 4)": lambda: sg.ones(1, 2, 4, 4),
    "tensor([1, 2])": lambda: sg.tensor([1, 2]),
    "tensor([[0, 1], [1, 0]])": lambda: sg.tensor([[0, 1], [1, 0]]),
    "tensor([True, False])": lambda: sg.tensor([True, False]),
    "zeros(0)": lambda: sg.zeros(0),
    "zeros(2, 0)": lambda: sg.zeros(2, 0),
    "zeros(0, 3)": lambda: sg.zeros(0, 3),
}


def functions() -> dict[str, Callable[..., Any]]:
    """What is called, by name."""
    found = {"canary": lambda *args: os.kill(os.getpid(), signal.SIGSEGV)}
    for room in (sg, functional, sg.linalg, sg.special, sg.fft, sg.signal):
        for name in room.__all__ if hasattr(room, "__all__") else dir(room):
            thing = getattr(room, name)
            if callable(thing) and not isinstance(thing, type) and name[0] != "_" and name not in NO_FUNCTIONS:
                found[f"{room.__name__}.{name}"] = thing
    for name in dir(sg.Tensor):
        if callable(getattr(sg.Tensor, name)) and (name[0] != "_" or name in OPERATORS):
            found[f"Tensor.{name}"] = getattr(sg.Tensor, name)
    return found


def call(name: str, function: Callable[..., Any], seed: int, count: int, report: int) -> None:
    """Calls a function with anything; what it is called with is reported first."""
    draw = random.Random(f"{name} {seed}")
    for _ in range(count):
        chosen = draw.choices(list(VALUES), k=draw.choice((1, 1, 2, 2, 2, 3, 3, 4)))
        os.write(report, f"({', '.join(chosen)})\n".encode())
        try:
            result = function(*(VALUES[value]() for value in chosen))
            if isinstance(result, sg.Tensor) and result.numel() < 1000:
                result.tolist()
        except Exception:  # an error is an answer
            continue


def judged(name: str, function: Callable[..., Any], seed: int, count: int) -> tuple[int, str]:
    """How the process of a function ended, 0 if it came to its end, and its last call."""
    reads, writes = os.pipe()
    process = os.fork()
    if not process:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        os.dup2(1, 2)
        call(name, function, seed, count, writes)
        os._exit(0)
    os.close(writes)
    said, end = b"", time.monotonic() + SECONDS
    while time.monotonic() < end:
        if select.select([reads], [], [], 0.2)[0]:
            more = os.read(reads, 1 << 16)
            if not more:
                break
            said += more
    else:
        os.kill(process, signal.SIGKILL)
    os.close(reads)
    status = os.waitpid(process, 0)[1]
    return os.waitstatus_to_exitcode(status), said.decode().strip().rpartition("\n")[2]


def main() -> int:
    parser = argparse.ArgumentParser(description="Calls each function with anything.")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--count", type=int, default=60, help="calls of each (default %(default)s)")
    parser.add_argument("--only", help="the name of one; canary: one that ends its process")
    options = parser.parse_args()
    failed = 0
    chosen = {n: f for n, f in functions().items() if n == options.only or (not options.only and n != "canary")}
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)  # some functions write files
        for name, function in chosen.items():
            code, last = judged(name, function, options.seed, options.count)
            if code == -signal.SIGKILL:
                print(f"{name}{last}: no answer in {SECONDS:.0f} s")
            elif code:
                failed += 1
                print(f"{name}{last}: the process ended with {code}; seed {options.seed}")
    print(f"{options.count} calls of each of {len(chosen)} functions: {failed} ended their process")
    return 1 if failed or not chosen else 0


if __name__ == "__main__":
    sys.exit(main())
