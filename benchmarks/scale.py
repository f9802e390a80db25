"""SIMULATED efficiency of data-parallel training on 8 to 1,024 GPUs: arithmetic, not a measurement.

    python benchmarks/scale.py            # the tables of docs/distributed.md

A step is compute, one hand-over between Vulkan and the collective, and one all-reduce of all gradients; nothing
overlaps. In one machine, few gradients are copied to all and added up there. Otherwise the all-reduce is hierarchical:
reduce-scatter in each machine, a ring over the machines for each GPU's share over its own network card, all-gather in
each machine.
"""

from __future__ import annotations

import argparse
import itertools
import math
from typing import NamedTuple

# Measured on 2 H200 of one host: NCCL on Vulkan's memory, (bytes, seconds) of an all-reduce.
MEASURED = [
    (4 << 10, 17e-6),
    (1 << 20, 26e-6),
    (4 << 20, 44e-6),
    (16 << 20, 86e-6),
    (64 << 20, 264e-6),
    (256 << 20, 911e-6),
    (1 << 30, 3259e-6),
]
HAND_OVER = 0.7e-3  # measured: what a step of two processes takes longer, beyond the reduction of its gradients
COPIED, COPY_SPEED, MOST_COPIED = 0.15e-3, 90e9, 128 << 20  # the same with copies; bytes a second; bytes of all
PER_HOST = 8
HOP = 5e-6  # assumed: seconds for one message between two machines
# Published speeds of one network card for each GPU, in bytes a second.
NETWORKS = {"InfiniBand 400 Gbit/s": 50e9, "Ethernet 100 Gbit/s": 12.5e9}


class Training(NamedTuple):
    name: str
    gradients: int  # bytes
    compute: float  # seconds a step on one GPU, measured on an H200


SMALL = Training("GPT L6 E384 T256, 64 sequences a GPU", 4 * 10_750_000, 31.5e-3)
TRAININGS = [SMALL, Training("GPT-2 small T1024, 8 sequences a GPU", 4 * 124_440_000, 162.8e-3)]


def pair_time(size: float) -> float:
    """Seconds of an all-reduce of this many bytes between two GPUs, between the measured points."""
    points = MEASURED
    if size <= points[0][0]:
        return points[0][1]
    for (small, fast), (large, slow) in itertools.pairwise(points):
        if size <= large:
            share = math.log(size / small) / math.log(large / small)
            return math.exp(math.log(fast) + share * math.log(slow / fast))
    return points[-1][1] * size / points[-1][0]


def in_machine(size: float, gpus: int) -> float:
    """A ring over GPUs moves 2 * (n - 1) / n of the bytes over each link, which for two are the bytes."""
    return pair_time(size) * 2 * (gpus - 1) / gpus


def step_time(training: Training, gpus: int, speed: float, share: float = 1.0) -> float:
    """Seconds of a step on this many GPUs, each with this share of the batch."""
    if gpus == 1:
        return training.compute
    here = min(gpus, PER_HOST)
    machines = -(-gpus // PER_HOST)
    if machines == 1 and gpus * training.gradients <= MOST_COPIED:
        return training.compute * share + COPIED + (gpus - 1) * training.gradients / COPY_SPEED
    reduction = in_machine(training.gradients, here)
    if machines > 1:
        own = training.gradients / here
        reduction += 2 * (machines - 1) / machines * own / speed + 2 * (machines - 1) * HOP
    return training.compute * share + HAND_OVER + reduction


def table() -> str:
    """Rows of Markdown."""
    lines = [
        f"| GPUs (simulated) | {' | '.join(f'{t.name}, {n}' for t in TRAININGS for n in NETWORKS)} |",
        f"|---|{'---|' * len(TRAININGS) * len(NETWORKS)}",
    ]
    for gpus in (2, 8, 16, 32, 64, 128, 256, 512, 1024):
        cells = []
        for training in TRAININGS:
            for speed in NETWORKS.values():
                seconds = step_time(training, gpus, speed)
                cells.append(f"{training.compute / seconds:.1%}, {seconds * 1e3:.1f} ms")
        lines.append(f"| {gpus:,} | {' | '.join(cells)} |")
    return "\n".join(lines)


def strong(training: Training) -> str:
    """Rows of Markdown: the batch of one GPU shared out in one machine."""
    lines = ["| GPUs (simulated) | ms a step | times as fast as one |", "|---|---|---|"]
    for gpus in (1, 2, 4, 8):
        seconds = step_time(training, gpus, 1.0, 1 / gpus)
        lines.append(f"| {gpus} | {seconds * 1e3:.1f} | {training.compute / seconds:.2f} |")
    return "\n".join(lines)


if __name__ == "__main__":
    argparse.ArgumentParser(description=__doc__.split("\n")[0]).parse_args()
    print(table())
    print(f"\n{SMALL.name.split(',')[0]}, 64 sequences in all:\n\n{strong(SMALL)}")
