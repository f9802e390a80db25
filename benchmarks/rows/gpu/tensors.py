"""Tensors: matrix products, a fused chain and a training step over a range of sizes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import spirograd as sg
from harness.common import Result
from harness.formulas import chain
from rows.gpu.section import Bench, Section, dashed
from rows.slice.train import MLP, spirograd_steps

Work = tuple[Callable[[], Any], int]  # what does it, units of work in it
Part = Callable[[Bench, int], Work]


def products(place: Bench, n: int) -> Work:
    a = np.random.default_rng(n).standard_normal((n, n), dtype=np.float32) / np.float32(n**0.5)
    sa = sg.tensor(a, device=place.device)
    inside = place.inside(max(1, min(16, 2**33 // n**3))) if place.gpu else 1

    def work() -> float:
        x = sa
        for _ in range(inside):  # each needs the one before, and the last is read: none can be skipped
            x = sa @ x
        return float(x[0, 0].item())

    return work, inside


def chains(place: Bench, n: int) -> Work:
    x = sg.tensor(np.random.default_rng(n).standard_normal(n, dtype=np.float32), device=place.device)

    def work() -> Any:
        kept = chain(x, sg.relu, sg.tanh)
        sg.synchronize()  # the result is alive: so it is computed and written
        return kept

    return work, 1


def steps(place: Bench, batch: int) -> Work:
    run = spirograd_steps(MLP, batch, place.device)  # reads the last loss, which needs every update before it
    inside = place.inside(10 if batch <= 256 else 3)
    return lambda: run(inside), inside


# name -> (what the size is, sizes, sizes with --quick, how to make the work)
PARTS: dict[str, tuple[str, list[int], list[int], Part]] = {
    "matrix product": ("rows and columns", [128, 256, 512, 1024, 2048], [128, 256, 512], products),
    "fused chain of 8 ops": ("float32 elements", [2**k for k in (12, 14, 16, 18, 20, 22, 24)], [2**14, 2**18], chains),
    "training step": ("batch", [16, 64, 256, 1024, 4096], [16, 64], steps),
}


def run(place: Bench) -> Iterator[Result]:
    for name, (unit, sizes, few, make) in PARTS.items():
        place.latest = 0.0
        for size in few if place.quick else sizes:
            case = f"{size:,} {unit}"
            if place.skips(f"{name}, {case}"):
                break
            work, inside = make(place, size)
            yield place.time(name, case, work, inside=inside, size=size)


TENSORS = Section("Tensors", f"float32; the training step is of the MLP {dashed(MLP)} with Adam", run)
