"""Trainings that are interrupted at random moments: afterwards each is between two steps, as if nothing had been.

By hand, for more than the sample of test_interrupted_training.py:
    python tests/faults/interrupted_training.py [INTERRUPTS [SEED]]
"""

from __future__ import annotations

import random
import signal
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

import spirograd as sg

F = sg.nn.functional
FIT = sg.fit  # imported here, not while interrupts come
LONGEST = 0.06  # seconds until an interrupt, some steps
Snapshot = tuple[int, list[Any]]  # the number of steps; weights and moments


class Training:
    """A small network and Adam; every step has the same batch, so a step depends on weights and moments alone."""

    def __init__(self) -> None:
        sg.manual_seed(1)
        self.net = sg.nn.Sequential(sg.nn.Linear(64, 256), sg.nn.ReLU(), sg.nn.Linear(256, 256), sg.nn.Linear(256, 8))
        self.optimizer = sg.optim.Adam(self.net.parameters(), lr=1e-3)
        self.scheduler = sg.optim.lr_scheduler.ExponentialLR(self.optimizer, gamma=0.999)
        self.scaler = sg.amp.GradScaler("cpu", init_scale=4.0, growth_interval=50)
        self.x, self.y = sg.randn(128, 64), sg.randint(0, 8, (128,))
        self.compiled = sg.compile(self.step)

    def step(self) -> sg.Tensor:
        loss = F.cross_entropy(self.net(self.x), self.y)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss

    def whole_step(self) -> None:
        """With scaled losses, and a rate that falls; first, what an interrupt left out behind the last step."""
        if any(state.stepped for state in self.scaler._states.values()):
            self.scaler.update()
        if self.scheduler.last_epoch < self.optimizer._step_count:
            self.scheduler.step()
        loss = F.cross_entropy(self.net(self.x), self.y)
        self.optimizer.zero_grad(set_to_none=False)
        self.scaler.scale(loss).backward()
        self.scaler.step(self.optimizer)
        self.scaler.update()
        self.scheduler.step()

    def snapshot(self) -> Snapshot:
        states = [self.optimizer.state[p] for p in self.net.parameters()]
        counts = {int(state.get("step", 0)) for state in states} | {self.optimizer._step_count}
        assert len(counts) == 1, f"not all have made as many steps: {counts}"
        tensors = [*self.net.parameters(), *(s[name] for s in states if s for name in ("exp_avg", "exp_avg_sq"))]
        return counts.pop(), [t.detach().numpy().copy() for t in tensors]


def plain(training: Training) -> None:
    while True:
        training.step()


def read(training: Training) -> None:
    while True:
        training.step().item()


def compiled(training: Training) -> None:
    while True:
        training.compiled()


def scaled(training: Training) -> None:
    while True:
        training.whole_step()


def fit(training: Training) -> None:
    net, optimizer = training.net, training.optimizer
    FIT(net, training.x, training.y, batch_size=128, epochs=10**6, optimizer=optimizer, shuffle=False, verbose=0)


WAYS: dict[str, Callable[[Training], None]] = {f.__name__: f for f in (plain, read, compiled, scaled, fit)}


def interrupted(body: Callable[[], Any], after: float) -> None:
    """Runs the body until an interrupt after some seconds; again a second later, if a finaliser swallowed it."""
    running = True

    def interrupt(signum: int, frame: object) -> None:
        if running:
            raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        signal.setitimer(signal.ITIMER_REAL, after, 1)
        body()
        running = False
    except KeyboardInterrupt:
        running = False
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def step_of(way: str, training: Training) -> None:
    training.whole_step() if way == "scaled" else training.step()


def wrong(way: str, interrupts: int, seed: int) -> str:
    """How a training differs from one that nobody interrupts, after an interrupt or ten steps after the last; or ""."""
    training, moments, found = Training(), random.Random(seed), []
    for _ in range(interrupts):
        interrupted(lambda: WAYS[way](training), moments.uniform(1e-4, LONGEST))
        found.append(training.snapshot())
    for _ in range(10):
        step_of(way, training)
    found.append(training.snapshot())

    undisturbed = Training()
    for number, (steps, values) in enumerate(found):
        while undisturbed.optimizer._step_count < steps:
            step_of(way, undisturbed)
        count, want = undisturbed.snapshot()
        if count != steps:
            return f"after interrupt {number}, there are {steps} steps, and before it there were {count}"
        if steps and not all(np.array_equal(a, b) for a, b in zip(values, want, strict=True)):
            return f"after interrupt {number}, weights or moments are not those of step {steps}"
    return "" if found[-1][0] == found[-2][0] + 10 else f"of ten more steps, {found[-1][0] - found[-2][0]} were made"


if __name__ == "__main__":
    count, seed = int(sys.argv[1]) if sys.argv[1:] else 500, int(sys.argv[2]) if sys.argv[2:] else 0
    results = {way: wrong(way, count, seed) for way in WAYS}
    print("\n".join(f"{way}: {text or f'{count} interrupts, nothing wrong'}" for way, text in results.items()))
    sys.exit(any(results.values()))
