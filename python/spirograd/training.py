"""fit: the training loop. A step is one submission; nothing is read between steps but what a bar shows now and then."""

from __future__ import annotations

import inspect
import os
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeAlias

from . import _core, optim
from ._batches import Data, Rows, data_of, held_back, place_of
from ._by_name import LossFunction, loss_named, metric_named, optimizer_named
from ._core import DeviceLostError, DeviceTimeoutError, Tensor
from ._grad_mode import no_grad
from ._recovery import Recovery
from ._replayed_step import ReplayedStep, is_ours, sums_of
from .callbacks import Callback, LearningRateScheduler
from .metrics import Mean, Metric
from .nn import Module
from .nn import functional as F
from .progress import Progress

__all__ = ["History", "Training", "evaluate", "fit"]

Loss: TypeAlias = str | LossFunction
Metrics: TypeAlias = Sequence[str | Metric | Callable[[Any, Tensor], Tensor]]

READ_EVERY = 0.3  # seconds between two looks at the loss for the bar: each one waits for the device


class History:
    """What a training recorded, one entry an epoch.

    Attributes:
        epochs: their numbers, from 1.
        times: seconds that each took, with its validation.
        metrics: by name, "loss" first, the values over the training data while the model was learning.
        val_metrics: by name the values over the validation data after the epoch; empty without such data.
        learning_rates: of the first group of parameters, as the epoch began.
        steps: steps done in all.
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
        self.interrupted = False
        self.stopped = False

    def _add(self, epoch: int, rate: float, seconds: float, values: dict[str, Any], val_values: dict[str, Any]) -> None:
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
        from .viz import plot_history

        return plot_history(self, path)

    def __repr__(self) -> str:
        shown = "".join(f", {name} {_short(value)}" for name, value in self.last().items())
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
        recovers: whether it goes on when its device is lost: what a callback keeps for later belongs on the host then.
    """

    def __init__(self, model: Module, optimizer: Any, epochs: int) -> None:
        self.model, self.optimizer, self.epochs = model, optimizer, epochs
        self.history = History()
        self.epoch = 0
        self.logs: dict[str, float] = {}
        self.stop = False
        self.recovers = False


def fit(
    model: Module,
    x: Any,
    y: Any = None,
    *,
    loss: Loss = "cross_entropy",
    optimizer: Any = "adam",
    lr: float | None = None,
    epochs: int = 1,
    batch_size: int = 32,
    validation_data: Any = None,
    validation_split: float = 0.0,
    shuffle: bool = True,
    seed: int | None = None,
    callbacks: Iterable[Any] = (),
    metrics: Metrics = (),
    verbose: int = 1,
    initial_epoch: int = 0,
    compile: bool | None = None,
    on_device_lost: str = "raise",
    snapshot_every: int = 100,
) -> History:
    """Trains a model. Arrays go to the model's device once, floats in its type; batches are rows, picked there.

    Args:
        model: a module; it may be on any device.
        x: an array or tensor [n, ...], or a tuple of them for a model with several inputs. Or, without y, anything that
            gives batches (inputs, target) each time it is gone through, such as a DataLoader.
        y: targets, [n, ...].
        loss: a function of (output, target), a module, or the name of a loss of `nn.functional`, with or without
            "_loss": "cross_entropy", "mse", "l1", "bce_with_logits", "hinge".
        optimizer: an optimiser, or the name of one of `optim` ("adam", "sgd"), made for all parameters.
        lr: learning rate of an optimiser that is named; else it has its own.
        epochs: how often to go through the data.
        batch_size: rows a step; the last step of an epoch takes what is left.
        validation_data: (x, y), or what gives batches; it is looked at after each epoch.
        validation_split: share of the rows that is held back for that, in place of validation_data: the last ones, or,
            with shuffle, some that are drawn once.
        shuffle: a new random order of the rows each epoch.
        seed: of these orders; None takes them from the common stream. With a seed an epoch's order depends on its
            number alone, so a training that is taken up again sees the same batches.
        callbacks: see `spirograd.callbacks`; a scheduler of learning rates will do too, and steps once an epoch.
        metrics: names ("accuracy", "top5", "precision", "recall", "f1", "perplexity", "mae", "mse", "r2"), metrics of
            `spirograd.metrics`, or functions of (output, target).
        verbose: 1 shows a bar on a terminal, 2 writes a line an epoch, 0 is silent.
        initial_epoch: epochs that were done before, in a training that is taken up again.
        compile: whether steps are replayed as by `sg.compile`, with the same bits and without their Python. None: where
            that leaves out nothing of yours: layers of `nn` without hooks, losses, optimisers and metrics of the
            package. True: also with modules and functions of your own, under the terms of `sg.compile`.
        on_device_lost: "raise", or "recover": when the model's GPU is lost or hangs, it is opened anew and the training
            goes on from copies on the host: data, parameters, states of the optimiser and of schedulers, random
            numbers, and the sums of the epoch. Callbacks hear again of steps that are done again. Batches that a loader
            makes must be the same when an epoch is gone through again.
        snapshot_every: steps between two such copies; each waits for the device.

    Returns:
        A History. Ctrl-C ends the training early and returns what there is.

    Raises:
        TypeError: the model is none of tensors.
        ValueError: the data do not fit together, a name is unknown, or compile=True with what cannot be replayed: an
            optimiser that is no `RuleOptimizer`, a metric that is no `metrics.Sum`.
        DeviceLostError, DeviceTimeoutError: the GPU failed; with "recover": twice in the same steps.
        IndexError: a class is out of range; raised at the end of an epoch at the latest.

    Example:
        >>> X, y = sg.randn(256, 2), sg.randint(0, 2, (256,))
        >>> y = (X[:, 0] * X[:, 1] > 0).long()
        >>> net = sg.nn.Sequential(sg.nn.Linear(2, 16), sg.nn.Tanh(), sg.nn.Linear(16, 2))
        >>> history = sg.fit(net, X, y, lr=0.05, epochs=20, metrics=["accuracy"], seed=0, verbose=0)
        >>> history.metrics["loss"][-1] < history.metrics["loss"][0]
        True
        >>> history.metrics["accuracy"][-1] > 0.8
        True
    """
    if on_device_lost not in ("raise", "recover"):
        raise ValueError(f"fit: on_device_lost is {on_device_lost!r}; use raise or recover")
    if snapshot_every < 1:
        raise ValueError(f"fit: snapshot_every is {snapshot_every}; use 1 or more")
    place = place_of("fit", model)
    loss_of = loss_named("fit", loss)
    if isinstance(optimizer, str):
        optimizer = optimizer_named(optimizer, model, lr)
    elif lr is not None:
        raise ValueError("fit: lr is for an optimiser that is named; set it where this one is made")
    data = data_of("fit", x, y, place, batch_size)
    data, later = held_back(data, validation_data, validation_split, place, batch_size, shuffle, seed)
    if isinstance(data, Rows):
        data.shuffle, data.seed = shuffle, seed
    training = Training(model, optimizer, epochs)
    followers = [c if isinstance(c, Callback) else LearningRateScheduler(c) for c in callbacks]
    sums = _Sums("fit", loss_of, metrics)
    replayed = _replayed(compile, model, optimizer, sums, followers)
    mode, steps = model.training, data.steps()
    training.recovers, recovery, epoch = on_device_lost == "recover", None, initial_epoch
    bar = None
    if verbose == 1 and sys.stderr.isatty():
        bar = Progress(steps and steps * (epochs - initial_epoch), "fit")
    try:
        for follower in followers:
            follower.on_train_begin(training)
        if training.recovers:
            kept = [sums.loss_sum, *sums.metrics]
            recovery = Recovery(training, [data, later], kept, followers, place.device, snapshot_every)
        while epoch < epochs:
            epoch = training.epoch = epoch + 1
            try:
                _epoch(training, data, later, sums, followers, bar, replayed, recovery)
            except (DeviceLostError, DeviceTimeoutError):
                if recovery is None or not recovery.go_back():
                    raise
                epoch = training.epoch - 1 if recovery.done else initial_epoch
                continue
            if verbose == 2:
                _print_epoch(training)
            if training.stop:
                training.history.stopped = True
                break
    except KeyboardInterrupt:
        training.history.interrupted = True
    finally:
        model.train(mode)
        if bar is not None:
            bar.close()
    for follower in followers:
        follower.on_train_end(training)
    return training.history


def evaluate(
    model: Module,
    x: Any,
    y: Any = None,
    *,
    loss: Loss = "cross_entropy",
    metrics: Metrics = (),
    batch_size: int = 32,
) -> dict[str, float]:
    """Loss and metrics of a model that is not to change; arguments as in fit.

    Returns:
        "loss" and the metrics, by name.

    Raises:
        TypeError: the model is none of tensors.
        ValueError: the data do not fit together, or a name is unknown.

    Example:
        >>> sg.evaluate(sg.nn.Linear(2, 1), sg.zeros(4, 2), sg.zeros(4), loss="mse", metrics=["mse"])
        Traceback (most recent call last):
        ...
        ValueError: mse_loss: input has shape [4, 1], target [4]; reshape one of them
        >>> sg.evaluate(sg.nn.Flatten(), sg.zeros(4, 2), sg.ones(4, 2), loss="mse")
        {'loss': 1.0}
    """
    data = data_of("evaluate", x, y, place_of("evaluate", model), batch_size)
    return _evaluate(model, data, _Sums("evaluate", loss_named("evaluate", loss), metrics))


# ---- the loop --------------------------------------------------------------------------------------------------------


def _replayed(
    compile: bool | None, model: Module, optimizer: Any, sums: _Sums, followers: Sequence[Callback]
) -> ReplayedStep | None:
    added = sums_of(sums.metrics)
    if compile and (added is None or not isinstance(optimizer, optim.RuleOptimizer)):
        raise ValueError("fit: compile=True needs a RuleOptimizer and metrics that are sums; leave it out")
    if compile is None:
        compile = is_ours(model, sums.loss, optimizer, sums.metrics, followers)
    if not compile or added is None:
        return None
    return ReplayedStep(model, sums.loss, optimizer, [sums.loss_sum, *added])


def _epoch(
    training: Training,
    data: Data,
    later: Data | None,
    sums: _Sums,
    followers: Sequence[Callback],
    bar: Progress | None,
    replayed: ReplayedStep | None,
    recovery: Recovery | None,
) -> None:
    model, optimizer, history = training.model, training.optimizer, training.history
    start = shown = time.perf_counter()
    takes_closure = _takes_closure(optimizer)
    rate, before = float(optimizer.param_groups[0]["lr"]), history.steps
    model.train()
    resumed = recovery is not None and recovery.done > 0  # in the middle
    if not resumed:
        sums.reset()
        for follower in followers:
            follower.on_epoch_begin(training)
        if replayed is not None:
            replayed.begin()
    for batch in data.batches(training.epoch) if recovery is None else recovery.batches(data, training.epoch):
        if replayed is not None and replayed.ready:
            replayed(batch)
        else:
            _step(model, optimizer, takes_closure, sums, *batch.parts())
            if replayed is not None:
                replayed.take_over()
        history.steps += 1
        for follower in followers:
            follower.on_batch_end(training)
        if bar is not None:
            note = None
            if (now := time.perf_counter()) - shown > READ_EVERY:
                shown = now
                note = f"epoch {training.epoch}/{training.epochs}, loss {_short(sums.mean_loss())}"
            bar.advance(note=note)
    if history.steps == before and not resumed:
        raise ValueError(f"fit: there was no batch in epoch {training.epoch}; give what can be gone through again")
    values = sums.read()
    later_values = {} if later is None else _evaluate(model, later, sums)
    history._add(training.epoch, rate, time.perf_counter() - start, values, later_values)
    training.logs = history.last()
    for follower in followers:
        follower.on_epoch_end(training)


def _step(
    model: Module, optimizer: Any, takes_closure: bool, sums: _Sums, inputs: tuple[Tensor, ...], target: Tensor
) -> None:
    counted = False

    def closure() -> Tensor:
        nonlocal counted
        output = model(*inputs)
        loss = sums.loss(output, target)
        optimizer.zero_grad()
        loss.backward()
        if not counted:
            sums.add(loss, output, target)  # before the step, whose submission it then rides in
            counted = True
        return loss

    if takes_closure:
        optimizer.step(closure)
    else:
        closure()
        optimizer.step()


def _takes_closure(optimizer: Any) -> bool:
    """Whether step() evaluates the loss itself, some, as LBFGS, several times."""
    return "closure" in inspect.signature(optimizer.step).parameters


def _evaluate(model: Module, data: Data, sums: _Sums) -> dict[str, float]:
    mode = model.training
    model.eval()
    sums.reset()
    try:
        with no_grad():
            for batch in data.batches(None):
                inputs, target = batch.parts()
                output = model(*inputs)
                sums.add(sums.loss(output, target), output, target)
                sums.submit()
    finally:
        model.train(mode)
    if sums.empty:
        raise ValueError("evaluate: there was no batch; give what can be gone through again")
    return sums.read()


class _Sums:
    """Loss and metrics over batches, on the device."""

    def __init__(self, op: str, loss: LossFunction, wanted: Metrics) -> None:
        self.loss = loss
        # A sigmoid stands before the losses that take probabilities.
        probabilities = loss is F.binary_cross_entropy or type(loss).__name__ == "BCELoss"
        self.metrics = [metric_named(op, metric, 0.5 if probabilities else 0.0) for metric in wanted]
        self.loss_sum = Mean(_itself, "loss")

    def reset(self) -> None:
        for metric in (self.loss_sum, *self.metrics):
            metric.reset()

    @property
    def empty(self) -> bool:
        return not self.loss_sum._kept

    def add(self, loss: Tensor, output: Any, target: Tensor) -> None:
        self.loss_sum.update(loss, target)
        for metric in self.metrics:
            metric.update(output, target)

    def submit(self) -> None:
        """Runs what is pending without waiting for it: where no optimiser steps, nobody else does."""
        _core._submit([[self.loss_sum._kept["total"]]])

    def mean_loss(self) -> float:
        return float(self.loss_sum.compute())

    def read(self) -> dict[str, Any]:
        """All of them; numbers are fetched together."""
        with no_grad():
            values = {m.name: m.compute() for m in (self.loss_sum, *self.metrics)}
            numbers = [name for name, value in values.items() if value.ndim == 0]
            fetched = _core.stack([values[name].float() for name in numbers]).tolist()
        read = dict(zip(numbers, fetched, strict=True))
        return {name: read[name] if name in read else value.tolist() for name, value in values.items()}


def _itself(loss: Tensor, target: Tensor) -> Tensor:
    return loss


def _print_epoch(training: Training) -> None:
    shown = "".join(f"  {name} {_short(value)}" for name, value in training.logs.items())
    print(f"epoch {training.epoch}/{training.epochs}{shown}  {training.history.times[-1]:.1f} s", flush=True)


def _short(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
