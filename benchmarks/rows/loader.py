"""Batches on their way to a GPU: how much of the time of the uploads lies beside kernels."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np

import spirograd as sg
from harness.common import Result
from harness.rows import Context, row
from spirograd.profiler import Event, profile
from spirograd.utils.data import DataLoader, TensorDataset

BATCHES = 10
PRODUCTS = 16  # a step, so that it takes longer than a batch takes to make: copying 64 MiB of rows, and then to send


@row("prefetch", cpu=False)
def prefetch(context: Context) -> Iterator[Result]:
    """A DataLoader with workers sends batches of 64 MiB: the part of the uploads' time beside kernels, by timestamps.

    The first two batches are left out: nothing runs yet when they are sent.
    """
    n = 256 if context.quick else 4096
    if context.device.features.get("copy_queue") != "yes":
        raise RuntimeError("the device has no queue for copies alone")
    weight = sg.randn(n, n, device=context.device) * n**-0.5
    rows = np.random.default_rng(0).random((BATCHES * n, n), dtype=np.float32)
    loader = DataLoader(TensorDataset(rows), batch_size=n, shuffle=True, num_workers=4, device=context.device)
    losses: list[sg.Tensor] = []

    def epoch() -> None:
        for (x,) in loader:
            for _ in range(PRODUCTS):
                x = x @ weight
            losses.append(x.sum().realize())
        sg.synchronize(context.device)

    epoch()
    with profile() as prof:
        epoch()
    if len({loss.item() for loss in losses}) <= BATCHES // 2:
        raise ArithmeticError("benchmark: batches of other rows have the same sum")
    kernels = [e for e in prof.events() if e.category == "kernel"]
    uploads = sorted((e for e in prof.events() if e.category == "gpu_memcpy"), key=start)  # a batch in pieces
    if sum(e.bytes for e in uploads) != rows.nbytes:
        raise RuntimeError(f"{sum(e.bytes for e in uploads)} bytes of uploads; the batches have {rows.nbytes}")
    ends = itertools.accumulate(e.bytes for e in uploads)
    later = [e for e, end in zip(uploads, ends, strict=True) if end > 2 * rows.nbytes // BATCHES]
    whole = sum(e.end - e.start for e in later)
    part = sum(max(0.0, min(u.end, k.end) - max(u.start, k.start)) for u in later for k in kernels) / whole
    facts = {"upload_bytes": sum(e.bytes for e in later), "uploads_us": whole, "kernels": len(kernels)}
    facts |= {"kernels_us": sum(k.end - k.start for k in kernels), "wall_us": prof.wall}
    case = f"{BATCHES} batches of {4 * n * n / 2**20:g} MiB, {PRODUCTS} products each"
    goal = f">= 80 %{'' if part >= 0.8 else ': MISSED'}"
    yield Result("prefetch", case, "spirograd", str(context.device), 100 * part, "%", None, goal, facts)


def start(event: Event) -> float:
    return event.start
