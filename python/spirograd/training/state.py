"""The state of a training: model, optimiser, progress and history."""

from __future__ import annotations

import os
from typing import Any

from ..nn import Module
from ..viz import plot_history
from ..viz.style import png_of


class History:
    """What a training recorded, one entry for each epoch.

    Attributes:
        epochs: their numbers, from 1.
        times: seconds that each took, with its validation.
        metrics: by name, "loss" first, the values over the training data while the model was learning.
        val_metrics: by name the values over the validation data after the epoch; empty without such data.
        learning_rates: of the first group of parameters, as the epoch began.
        steps: steps done in all.
        batch_size: rows a step, where fit was given x and y.
        interrupted: whether Ctrl-C ended it; the epoch that it cut short is not recorded.
        stopped: whether a callback ended it.
    """

    def __init__(self) -> None:
        self.epochs: list[int] = []
        self.times: list[float] = []
        self.metrics: dict[str, list[float]] = {}
        self.val_metrics: dict[str, list[float]] = {}
        self.learning_rates: list[float] = []
        self.steps = 0
        self.batch_size = 0
        self.interrupted = False
        self.stopped = False

    def add(self, epoch: int, rate: float, seconds: float, values: dict[str, Any], val_values: dict[str, Any]) -> None:
        """Records an epoch."""
        self.epochs.append(epoch)
        self.learning_rates.append(rate)
        self.times.append(seconds)
        for columns, new in ((self.metrics, values), (self.val_metrics, val_values)):
            for name, value in new.items():
                columns.setdefault(name, []).append(value)

    def last(self) -> dict[str, float]:
        """The latest values, validation's under names with "val" before them; empty before the first epoch.

        Example:
            >>> x, y = sg.randn(8, 2), sg.zeros(8, dtype=sg.int64)
            >>> history = sg.fit(sg.nn.Linear(2, 2), x, y, validation_data=(x, y), verbose=0)
            >>> list(history.last())
            ['loss', 'val_loss']
        """
        values = {name: column[-1] for name, column in self.metrics.items()}
        return values | {f"val_{name}": column[-1] for name, column in self.val_metrics.items()}

    def plot(self, path: str | os.PathLike[str] | None = None) -> Any:
        """Draws every metric against the epoch; see `viz.plot_history`.

        Raises:
            ImportError: matplotlib is not installed.
        """
        return plot_history(self, path)

    def _repr_png_(self) -> bytes | None:
        """The picture that a notebook shows; None without an epoch or without matplotlib."""
        return png_of(self.plot) if self.epochs else None

    def __repr__(self) -> str:
        shown = "".join(f", {name} {short(value)}" for name, value in self.last().items())
        ended = ", interrupted" if self.interrupted else ", stopped" if self.stopped else ""
        return f"History({len(self.epochs)} epochs, {sum(self.times):.1f} s{shown}{ended})"


class Training:
    """A training under way, as callbacks see it.

    Attributes:
        model: what learns.
        optimizer: what moves its parameters.
        history: what was recorded so far.
        epoch: number of the current epoch, from 1.
        epochs: number of the last one.
        logs: the values of the epoch that just ended, validation's under names with "val" before them.
        stop: set it to end the training after this step's epoch.
        writes: whether this process is the one, of those that train together, that writes files and prints.
        recovers: whether it goes on when its device is lost: what a callback keeps for later belongs on the host then.
    """

    def __init__(self, model: Module, optimizer: Any, epochs: int) -> None:
        self.model, self.optimizer, self.epochs = model, optimizer, epochs
        self.history = History()
        self.epoch = 0
        self.logs: dict[str, float] = {}
        self.stop = False
        self.recovers = False
        self.writes = True


def short(value: Any) -> str:
    """A number with four digits."""
    return f"{value:.4g}" if isinstance(value, float) else str(value)
