"""Callbacks of `fit`: early stopping, checkpoints, learning rates, logs."""

from __future__ import annotations

import csv
import json
import math
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TextIO

import numpy as np

from .._core import Tensor
from ..base.grad_mode import no_grad
from ..base.keywords import naming_keywords
from ..base.tree import to_host
from ..optim import ZeroRedundancyOptimizer
from ..optim.swa_utils import AveragedModel, get_ema_multi_avg_fn
from ..utils import checkpoints
from ..utils.tensorboard import SummaryWriter
from .state import Training

__all__ = ["EMA", "CSVLogger", "Callback", "EarlyStopping", "JSONLogger", "LearningRateScheduler", "ModelCheckpoint"]
__all__ += ["TensorBoardLogger"]


class Callback:
    """Base of callbacks: write the methods you need. Each is given the Training.

    Example:
        >>> class Halve(sg.callbacks.Callback):
        ...     def on_epoch_end(self, training):
        ...         if training.logs["loss"] < 0.5:
        ...             training.stop = True
    """

    def on_train_begin(self, training: Training) -> None:
        """Before the first epoch."""

    def on_epoch_begin(self, training: Training) -> None:
        """Before the first step of an epoch."""

    def on_batch_end(self, training: Training) -> None:
        """After each step. Reading a tensor here makes every step wait."""

    def on_validation_begin(self, training: Training) -> None:
        """Before the validation of an epoch, if there are data for it."""

    def on_validation_end(self, training: Training) -> None:
        """After the validation, whose values are not yet recorded."""

    def on_epoch_end(self, training: Training) -> None:
        """After an epoch and its validation; `training.logs` has their values."""

    def on_train_end(self, training: Training) -> None:
        """After the last epoch, even if Ctrl-C ended the training."""


class _Watch:
    """The value of an epoch that a callback watches, and whether it has improved."""

    def __init__(self, who: str, monitor: str, mode: str, min_delta: float) -> None:
        if mode not in ("auto", "min", "max"):
            raise ValueError(f"{who}: mode is {mode!r}; use auto, min or max")
        if min_delta < 0:
            raise ValueError(f"{who}: min_delta is {min_delta}; use 0 or more")
        falling = any(word in monitor for word in ("loss", "mae", "mse", "error", "perplexity"))
        self.who, self.monitor, self.min_delta = who, monitor, min_delta
        self.sign = -1 if mode == "min" or (mode == "auto" and falling) else 1
        self.best = math.nan

    def value(self, training: Training) -> float:
        if self.monitor not in training.logs:
            raise ValueError(
                f"{self.who}: there is no '{self.monitor}' among {', '.join(training.logs)}; give validation_data, or "
                "monitor another"
            )
        return training.logs[self.monitor]

    def better(self, training: Training) -> bool:
        value = self.value(training)
        if math.isnan(value) or self.sign * (value - self.best) <= self.min_delta:
            return False
        self.best = value
        return True


@naming_keywords
class EarlyStopping(Callback):
    """Ends a training that no longer improves.

    Args:
        monitor: the value to watch, such as "val_loss", "val_accuracy" or "loss".
        patience: epochs that may pass without a better value.
        min_delta: by how much a value must be better.
        mode: whether small ("min") or large ("max") values are good; "auto" knows losses, errors and perplexity.
        restore_best_weights: puts the weights of the best epoch back at the end. They are kept on the device.

    Attributes:
        best_epoch: when that was.

    Raises:
        ValueError: mode, patience or min_delta are wrong; in `fit`: nothing has this name.

    Example:
        >>> x, y = sg.randn(64, 3), sg.randint(0, 2, (64,))
        >>> stop = sg.callbacks.EarlyStopping(monitor="loss", patience=2, min_delta=10.0)
        >>> history = sg.fit(sg.nn.Linear(3, 2), x, y, epochs=50, callbacks=[stop], verbose=0)
        >>> history.epochs, history.stopped, stop.best_epoch
        ([1, 2, 3], True, 1)
    """

    def __init__(
        self,
        monitor: str = "val_loss",
        patience: int = 5,
        min_delta: float = 0.0,
        mode: str = "auto",
        restore_best_weights: bool = False,
    ) -> None:
        if patience < 0:
            raise ValueError(f"EarlyStopping: patience is {patience}; use 0 or more")
        self._options = (monitor, mode, min_delta)
        self.patience, self.restore_best_weights = patience, restore_best_weights
        self.on_train_begin(None)

    def on_train_begin(self, training: Training | None) -> None:
        self._watch = _Watch("EarlyStopping", *self._options)
        self._waited, self.best_epoch = 0, 0
        self._weights: dict[str, Tensor] | None = None

    @property
    def best(self) -> float:
        """The best value so far; NaN before the first epoch."""
        return self._watch.best

    def on_epoch_end(self, training: Training) -> None:
        if self._watch.better(training):
            self._waited, self.best_epoch = 0, training.epoch
            if self.restore_best_weights:
                with no_grad():
                    state = training.model.state_dict()
                    self._weights = to_host(state) if training.recovers else {k: v.clone() for k, v in state.items()}
        else:
            self._waited += 1
            training.stop = training.stop or self._waited >= max(self.patience, 1)

    def on_train_end(self, training: Training) -> None:
        if self._weights is not None:
            training.model.load_state_dict(self._weights)
            self._weights = None


class ModelCheckpoint(Callback):
    """Stores model and optimiser after epochs, with `utils.checkpoints`, whose restore() brings them back.

    Args:
        folder: where files go.
        monitor: with save_best_only, the value to watch.
        mode: as in EarlyStopping.
        save_best_only: stores only what is better than all before.
        keep: how many files may stay; 0: all.
        save: stores, in place of `utils.checkpoints.save`, and is called like it.
        objects: what else is to be stored by its name: a scheduler, a generator.

    Raises:
        ValueError: mode is unknown; in `fit`: nothing has the name that is looked at.

    Example:
        >>> seen = []
        >>> store = lambda folder, step, **more: seen.append((step, more["epoch"], sorted(more)))
        >>> keeper = sg.callbacks.ModelCheckpoint("runs", save=store)
        >>> x, y = sg.randn(64, 3), sg.randint(0, 2, (64,))
        >>> _ = sg.fit(sg.nn.Linear(3, 2), x, y, epochs=2, callbacks=[keeper], verbose=0)
        >>> seen
        [(2, 1, ['epoch', 'keep', 'model', 'optimizer']), (4, 2, ['epoch', 'keep', 'model', 'optimizer'])]
    """

    def __init__(
        self,
        folder: str | os.PathLike[str],
        monitor: str = "val_loss",
        mode: str = "auto",
        save_best_only: bool = False,
        keep: int = 3,
        save: Callable[..., Any] | None = None,
        **objects: Any,
    ) -> None:
        self.folder, self.keep, self.objects = folder, keep, objects
        self._watch = _Watch("ModelCheckpoint", monitor, mode, 0.0) if save_best_only else None
        self._save = save

    def on_epoch_end(self, training: Training) -> None:
        if self._watch is not None and not self._watch.better(training):
            return
        save = self._save or checkpoints.save
        state = {"model": training.model, "optimizer": training.optimizer, **self.objects}
        for thing in state.values():
            if isinstance(thing, ZeroRedundancyOptimizer):
                thing.consolidate_state_dict()  # all processes take part
        if training.writes:
            save(self.folder, training.history.steps, epoch=training.epoch, keep=self.keep, **state)


@naming_keywords
class LearningRateScheduler(Callback):
    """Sets the learning rate.

    Args:
        schedule: a scheduler of `optim.lr_scheduler`, or a function from the epoch's number, from 1, to a rate.
        each: when the scheduler steps: "epoch" or "step".
        monitor: the value that its step() is given, as ReduceLROnPlateau needs it.

    Raises:
        ValueError: `each` is unknown, or a function is to be asked each step.

    Example:
        >>> x, y = sg.randn(64, 3), sg.randint(0, 2, (64,))
        >>> decay = sg.callbacks.LearningRateScheduler(lambda epoch: 0.1 / epoch)
        >>> sg.fit(sg.nn.Linear(3, 2), x, y, epochs=2, callbacks=[decay], verbose=0).learning_rates
        [0.1, 0.05]
    """

    def __init__(self, schedule: Any, each: str = "epoch", monitor: str | None = None) -> None:
        if each not in ("epoch", "step"):
            raise ValueError(f"LearningRateScheduler: each is {each!r}; use epoch or step")
        if not hasattr(schedule, "step"):
            if not callable(schedule):
                raise TypeError(f"LearningRateScheduler: {type(schedule).__name__} has no step(); give a scheduler")
            if each == "step":
                raise ValueError("LearningRateScheduler: a function is asked once an epoch; give a scheduler")
        if monitor is None and type(schedule).__name__ == "ReduceLROnPlateau":
            monitor = "val_loss"
        self.schedule, self.each = schedule, each
        self._watch = None if monitor is None else _Watch("LearningRateScheduler", monitor, "auto", 0.0)

    def on_train_begin(self, training: Training) -> None:
        self._set(training)

    def on_batch_end(self, training: Training) -> None:
        if self.each == "step":
            self.schedule.step()

    def on_epoch_end(self, training: Training) -> None:
        if not hasattr(self.schedule, "step"):
            self._set(training)
        elif self.each == "epoch":
            self.schedule.step(*(() if self._watch is None else (self._watch.value(training),)))

    def _set(self, training: Training) -> None:
        """The rate of the next epoch, if a function gives it."""
        if not hasattr(self.schedule, "step"):
            for group in training.optimizer.param_groups:
                group["lr"] = self.schedule(training.epoch + 1)


@naming_keywords
class EMA(Callback):
    """Averages the weights over the steps, newer ones more. Validation uses the averages, and after the training the
    model has them.

    Args:
        decay: in [0, 1]: average = decay * average + (1 - decay) * weights, after each step.
        use_buffers: averages floating buffers, such as the statistics of BatchNorm, too; else they are the last ones.

    Attributes:
        averaged: the averages, an `optim.swa_utils.AveragedModel`; there from the beginning of the training.

    Raises:
        ValueError: decay is out of range.

    Example:
        >>> x, y = sg.randn(64, 3), sg.randint(0, 2, (64,))
        >>> net, ema = sg.nn.Linear(3, 2), sg.callbacks.EMA(0.9)
        >>> _ = sg.fit(net, x, y, epochs=2, callbacks=[ema], verbose=0)
        >>> sg.equal(net.weight, ema.averaged.module.weight)
        True
    """

    averaged: AveragedModel

    def __init__(self, decay: float = 0.999, use_buffers: bool = False) -> None:
        self.use_buffers = use_buffers
        self._average = get_ema_multi_avg_fn(decay)

    def on_train_begin(self, training: Training) -> None:
        self.averaged = AveragedModel(training.model, multi_avg_fn=self._average, use_buffers=self.use_buffers)

    def on_batch_end(self, training: Training) -> None:
        self.averaged.update_parameters(training.model)

    def on_validation_begin(self, training: Training) -> None:
        with no_grad():
            for own, average in self._pairs(training):
                before = own.clone()
                own.copy_(average)
                average.copy_(before)

    def on_validation_end(self, training: Training) -> None:
        self.on_validation_begin(training)  # the same exchange

    def on_train_end(self, training: Training) -> None:
        with no_grad():
            for own, average in self._pairs(training):
                own.copy_(average)

    def state_dict(self) -> dict[str, Any]:
        """The averages, from which a training that lost its device continues."""
        return self.averaged.state_dict()

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Puts averages back."""
        self.averaged.load_state_dict(state)

    def _pairs(self, training: Training) -> Iterator[tuple[Tensor, Tensor]]:
        """Weights of the model and their averages."""
        yield from zip(training.model.parameters(), self.averaged.module.parameters(), strict=True)
        if self.use_buffers:
            yield from zip(training.model.buffers(), self.averaged.module.buffers(), strict=True)


class _Log(Callback):
    """Writes one line for each epoch, as soon as the epoch ends."""

    def __init__(self, path: str | os.PathLike[str], append: bool = False) -> None:
        self.path, self.append = Path(path), append

    def on_train_begin(self, training: Training) -> None:
        if not training.writes:
            return
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.path.open("a" if self.append else "w").close()

    def on_epoch_end(self, training: Training) -> None:
        if not training.writes:
            return
        history = training.history
        row = {"epoch": training.epoch, "seconds": round(history.times[-1], 4), "lr": history.learning_rates[-1]}
        with self.path.open("a", newline="", encoding="utf-8") as file:
            self.write(file, row | training.logs)

    def write(self, file: TextIO, row: dict[str, Any]) -> None:
        """Adds the values of an epoch."""
        raise NotImplementedError


class CSVLogger(_Log):
    """Writes epoch, seconds, learning rate, losses and metrics to a table with a header.

    Args:
        path: the file; folders are made.
        append: continue an existing file.

    Example:
        >>> import pathlib, tempfile
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "log.csv"
        >>> x, y = sg.randn(64, 3), sg.randint(0, 2, (64,))
        >>> _ = sg.fit(sg.nn.Linear(3, 2), x, y, epochs=2, callbacks=[sg.callbacks.CSVLogger(path)], verbose=0)
        >>> path.read_text().splitlines()[0], len(path.read_text().splitlines())
        ('epoch,seconds,lr,loss', 3)
    """

    def write(self, file: TextIO, row: dict[str, Any]) -> None:
        writer = csv.DictWriter(file, list(row), lineterminator="\n")
        if file.tell() == 0:
            writer.writeheader()
        writer.writerow(row)


class JSONLogger(_Log):
    """Writes one JSON object an epoch, on a line of its own, null for what is not finite; arguments as in CSVLogger.

    Example:
        >>> import json, pathlib, tempfile
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "log.jsonl"
        >>> x, y = sg.randn(64, 3), sg.randint(0, 2, (64,))
        >>> _ = sg.fit(sg.nn.Linear(3, 2), x, y, callbacks=[sg.callbacks.JSONLogger(path)], verbose=0)
        >>> list(json.loads(path.read_text()))
        ['epoch', 'seconds', 'lr', 'loss']
    """

    def write(self, file: TextIO, row: dict[str, Any]) -> None:
        finite = {k: None if isinstance(v, float) and not math.isfinite(v) else v for k, v in row.items()}
        file.write(json.dumps(finite, allow_nan=False) + "\n")


@naming_keywords
class TensorBoardLogger(Callback):
    """Writes loss, metrics and learning rate of each epoch for TensorBoard: `loss/train` beside `loss/validation`.

    Args:
        log_dir: the folder, which `tensorboard --logdir` is given; None: runs/ with the time and the machine's name.
        histograms: writes histograms of all parameters, too.

    Example:
        >>> import tempfile
        >>> x, y = sg.randn(64, 3), sg.randint(0, 2, (64,))
        >>> log = sg.callbacks.TensorBoardLogger(tempfile.mkdtemp())
        >>> _ = sg.fit(sg.nn.Linear(3, 2), x, y, validation_data=(x, y), callbacks=[log], verbose=0)
    """

    def __init__(self, log_dir: str | os.PathLike[str] | None = None, histograms: bool = False) -> None:
        self.log_dir, self.histograms = log_dir, histograms

    def on_train_begin(self, training: Training) -> None:
        self._writer = SummaryWriter(self.log_dir)

    def on_epoch_end(self, training: Training) -> None:
        history, epoch = training.history, training.epoch
        for part, columns in (("train", history.metrics), ("validation", history.val_metrics)):
            for name, column in columns.items():
                if np.ndim(column[-1]) == 0:
                    self._writer.add_scalar(f"{name}/{part}", column[-1], epoch)
        self._writer.add_scalar("learning_rate", history.learning_rates[-1], epoch)
        if self.histograms:
            for name, parameter in training.model.named_parameters():
                self._writer.add_histogram(name, parameter, epoch)
        self._writer.flush()

    def on_train_end(self, training: Training) -> None:
        self._writer.close()
