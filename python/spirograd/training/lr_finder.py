"""lr_find: which learning rate to begin with, from a short training in which the rate grows (Smith, 2017)."""

from __future__ import annotations

import itertools
import math
import os
from typing import Any

import numpy as np

from .. import _core
from ..base.keywords import naming_keywords
from ..nn import Module
from ..viz import plot_lr_find
from ..viz.style import png_of, smooth
from .data import Rows, data_of, destination_of
from .names import Loss, loss_named, optimizer_named
from .state import short
from .step import Step, casts_of
from .trial import trial

__all__ = ["LRFinder", "lr_find"]

READ_EVERY = 10  # steps between two looks at the losses, each of which waits for the device
DIVERGED = 4.0  # times the smallest loss, both as running means
MEMORY = 0.9  # of these means
FEWEST = 15  # steps that a suggestion is made from


class LRFinder:
    """What lr_find saw.

    Attributes:
        learning_rates: one for each step, growing.
        losses: of these steps.
    """

    def __init__(self, learning_rates: list[float], losses: list[float]) -> None:
        self.learning_rates, self.losses = learning_rates, losses

    def suggestion(self, skip_begin: int = 5) -> float | None:
        """The rate at which the loss, averaged over neighbours, had made half of its way down to where it first rises.

        None when that is not sure: there are few steps, as where a trained model diverges at once, or the loss fell by
        less than 5 %, or by less than twice as much as it wavers from batch to batch at the first, small rates.

        Args:
            skip_begin: steps at the beginning that are left out.
        """
        losses = self.smoothed()[skip_begin:]
        if len(losses) < FEWEST:
            return None
        quiet = self.losses[skip_begin : skip_begin + len(losses) // 5]
        start, wavers = float(np.median(quiet)), float(np.std(quiet))
        enough = max(2 * wavers, 0.05 * abs(start))
        least = losses[0]
        for loss in losses:
            least = min(least, loss)
            if start - least > enough and loss - least > max(wavers, 0.2 * (start - least)):
                break
        if start - least <= enough:
            return None
        half = next(i for i, loss in enumerate(losses) if loss <= (start + least) / 2)
        return self.learning_rates[skip_begin + half]

    def smoothed(self) -> list[float]:
        """The losses, each averaged over its neighbours: a tenth of all steps."""
        return smooth(self.losses, max(2, len(self.losses) // 20))

    def plot(self, path: str | os.PathLike[str] | None = None) -> Any:
        """Draws the loss against the learning rate, with the suggestion; see `viz.plot_lr_find`.

        Raises:
            ImportError: matplotlib is not installed.
        """
        return plot_lr_find(self, path)

    def _repr_png_(self) -> bytes | None:
        """The picture that a notebook shows; None without matplotlib."""
        return png_of(self.plot)

    def __repr__(self) -> str:
        found = self.suggestion()
        return f"LRFinder({len(self.losses)} steps, suggestion {'None' if found is None else short(found)})"


@naming_keywords
def lr_find(
    model: Module,
    x: Any,
    y: Any = None,
    *,
    loss: Loss = "cross_entropy",
    optimizer: Any = "adam",
    batch_size: int = 32,
    min_lr: float = 1e-7,
    max_lr: float = 10.0,
    num_training: int = 100,
    seed: int | None = None,
    precision: str | None = None,
) -> LRFinder:
    """Trains for a few steps with a learning rate that grows from step to step, and notes the losses.

    It ends early when the loss grows to four times the smallest. Model, optimiser and random numbers are as before
    afterwards.

    Args:
        model, x, y, loss, optimizer, batch_size, seed, precision: as in fit.
        min_lr, max_lr: the first and the last rate.
        num_training: steps; data are gone through as often as they need.

    Returns:
        An LRFinder, whose suggestion() is a rate to begin with.

    Raises:
        TypeError: the model is not a module of tensors.
        ValueError: the rates or the number of steps are out of range, or as in fit.

    Example:
        >>> x = sg.randn(256, 2)
        >>> net = sg.nn.Sequential(sg.nn.Linear(2, 16), sg.nn.Tanh(), sg.nn.Linear(16, 2))
        >>> found = sg.training.lr_find(net, x, (x[:, 0] > 0).long(), seed=0)
        >>> 1e-4 < found.suggestion() < 1
        True
    """
    if not 0 < min_lr < max_lr:
        raise ValueError(f"lr_find: min_lr is {min_lr}, max_lr {max_lr}; use 0 < min_lr < max_lr")
    if num_training < 2:
        raise ValueError(f"lr_find: num_training is {num_training}; use 2 or more")
    place = destination_of("lr_find", model)
    if isinstance(optimizer, str):
        optimizer = optimizer_named(optimizer, model, None)
    data = data_of("lr_find", x, y, place, batch_size)
    if isinstance(data, Rows):
        data.shuffle, data.seed = True, seed
    step = Step(model, optimizer, loss_named("lr_find", loss), casts_of("lr_find", precision, place.device))
    rates = [min_lr * (max_lr / min_lr) ** (i / (num_training - 1)) for i in range(num_training)]
    with trial(model, optimizer):
        losses = _losses(step, (b for epoch in itertools.count(1) for b in _some(data.batches(epoch))), rates)
    return LRFinder(rates[: len(losses)], losses)


def _some(batches: Any) -> Any:
    """The batches; there must be at least one."""
    first = next(batches, None)
    if first is None:
        raise ValueError("lr_find: there was no batch; give a list or a DataLoader, not an iterator")
    yield first
    yield from batches


def _losses(step: Step, batches: Any, rates: list[float]) -> list[float]:
    """The losses of steps with these rates, up to where they diverge."""
    pending: list[Any] = []
    losses: list[float] = []
    for rate, selection in zip(rates, batches, strict=False):
        for group in step.optimizer.param_groups:
            group["lr"] = rate
        step.learn(selection.batch(), 0, lambda _, loss: pending.append(loss.detach().float()))
        if len(pending) == READ_EVERY or len(losses) + len(pending) == len(rates):
            losses += _core.stack(pending).tolist()
            pending.clear()
            if (end := _diverges(losses)) is not None:
                return losses[:end]
    return losses


def _diverges(losses: list[float]) -> int | None:
    """The step at which the running mean has become too large, or NaN."""
    total, best = 0.0, math.inf
    for i, loss in enumerate(losses):
        total = MEMORY * total + (1 - MEMORY) * loss
        mean = total / (1 - MEMORY ** (i + 1))
        if not mean <= DIVERGED * abs(best):
            return i
        best = min(best, mean)
    return None
