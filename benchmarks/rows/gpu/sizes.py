"""The CPU against the GPU: a training step of MLPs of tensors, from less than a thousand to 100 million parameters."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import spirograd as sg
from harness.common import Result
from rows.gpu.section import Bench, Section, dashed, parameters
from rows.slice.train import spirograd_steps

MODELS = (  # 661, 9,930, 992,266, 10,010,122 and 100,761,610 parameters
    (10, 20, 20, 1),
    (32, 80, 80, 10),
    (512, 768, 768, 10),
    (1024, 2688, 2688, 10),
    (4096, 8192, 8192, 10),
)
BATCH = 64
BYTES = 24  # of memory for each parameter: itself, its gradient, two of Adam, and as much again as one for moving it


def too_large(place: Bench, count: int) -> str:
    """Why a model does not fit; empty if it does, or if nobody knows."""
    free = place.device.memory_free or place.device.memory_total
    if free and BYTES * count > free:
        return f"it needs {BYTES * count / 2**30:.1f} GiB, {free / 2**30:.1f} GiB are free"
    return ""


def run(place: Bench) -> Iterator[Result]:
    for sizes in MODELS[:3] if place.quick else MODELS:
        count = parameters(sizes)
        case = f"{count:,} parameters"
        if place.skips(case, too_large(place, count)):
            break
        inside = place.inside(10 if count < 5e6 else 2)
        try:
            steps = spirograd_steps(sizes, BATCH, place.device)
            # The last loss needs every update before it and is read; the last update is waited for.
            work = partial(steps, inside)
            yield place.time(f"MLP {dashed(sizes)}", case, work, inside=inside, least=3, size=count)
        except sg.OutOfMemoryError as error:
            place.skips(case, str(error))
            break
        del steps, work  # or two models would be in memory
        sg.empty_cache()


SIZES = Section("CPU against GPU by model size", f"a training step of tensors with Adam, batch {BATCH}", run)
