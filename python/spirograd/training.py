"""fit: the training loop. A step is one submission; nothing is read between steps but what a bar shows now and then."""

from __future__ import annotations

import inspect
import os
import re
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence, Sized
from typing import Any, TypeAlias

import numpy as np

from . import _core, metrics, optim
from ._core import Generator, Tensor, tensor
from ._grad_mode import no_grad
from ._replayed_step import Batch, ReplayedStep, is_ours, sums_of
from .callbacks import Callback, LearningRateScheduler
from .metrics import Mean, Metric
from .nn import Module
from .nn import functional as F
from .progress import Progress
from .scalar import Module as ScalarModule

__all__ = ["History", "Training", "evaluate", "fit"]

Loss: TypeAlias = str | Callable[[Any, Tensor], Tensor]
Metrics: TypeAlias = Sequence[str | Metric | Callable[[Any, Tensor], Tensor]]

READ_EVERY = 0.3  # seconds between two looks at the loss for the bar: each one waits for the device

_LOSSES: dict[str, Callable[..., Tensor]] = {
    "bce": F.binary_cross_entropy,
    "bce_with_logits": F.binary_cross_entropy_with_logits,
    "binary_cross_entropy": F.binary_cross_entropy,
    "binary_cross_entropy_with_logits": F.binary_cross_entropy_with_logits,
    "cross_entropy": F.cross_entropy,
    "focal": F.focal_loss,
    "hinge": F.hinge_loss,
    "huber": F.huber_loss,
    "kl_div": F.kl_div,
    "l1": F.l1_loss,
    "mae": F.l1_loss,
    "mse": F.mse_loss,
    "multi_margin": F.multi_margin_loss,
    "nll": F.nll_loss,
    "poisson_nll": F.poisson_nll_loss,
    "smooth_l1": F.smooth_l1_loss,
    "soft_margin": F.soft_margin_loss,
}
_METRICS: dict[str, Callable[..., Metric]] = {
    "accuracy": metrics.Accuracy,
    "f1": metrics.F1,
    "mae": metrics.MAE,
    "mse": metrics.MSE,
    "perplexity": metrics.Perplexity,
    "precision": metrics.Precision,
    "r2": metrics.R2,
    "recall": metrics.Recall,
}
_WITH_THRESHOLD = ("accuracy", "f1", "precision", "recall")


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
    """

    def __init__(self, model: Module, optimizer: Any, epochs: int) -> None:
        self.model, self.optimizer, self.epochs = model, optimizer, epochs
        self.history = History()
        self.epoch = 0
        self.logs: dict[str, float] = {}
        self.stop = False


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

    Returns:
        A History. Ctrl-C ends the training early and returns what there is.

    Raises:
        TypeError: the model is none of tensors.
        ValueError: the data do not fit together, a name is unknown, or compile=True with what cannot be replayed: an
            optimiser that is no `RuleOptimizer`, a metric that is no `metrics.Sum`.
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
    place = _place("fit", model)
    loss_of = _loss("fit", loss)
    if isinstance(optimizer, str):
        optimizer = _optimizer(optimizer, model, lr)
    elif lr is not None:
        raise ValueError("fit: lr is for an optimiser that is named; set it where this one is made")
    data = _data("fit", x, y, place, batch_size)
    held_back: _Rows | _Batches | None = None
    if validation_split:
        if validation_data is not None:
            raise ValueError("fit: both validation_data and validation_split are given; give one")
        if not isinstance(data, _Rows):
            raise ValueError("fit: validation_split needs x and y; give validation_data beside a loader")
        data, held_back = data.split(validation_split, shuffle, seed)
    elif validation_data is not None:
        pair = validation_data if isinstance(validation_data, tuple) else (validation_data, None)
        if len(pair) != 2:
            raise ValueError(f"fit: validation_data has {len(pair)} parts; give (x, y), or what gives batches")
        held_back = _data("fit", pair[0], pair[1], place, batch_size)
    if isinstance(data, _Rows):
        data.shuffle, data.seed = shuffle, seed
    training = Training(model, optimizer, epochs)
    followers = [c if isinstance(c, Callback) else LearningRateScheduler(c) for c in callbacks]
    sums = _Sums("fit", loss_of, metrics)
    replayed, added = None, sums_of(sums.metrics)
    if compile and (added is None or not isinstance(optimizer, optim.RuleOptimizer)):
        raise ValueError("fit: compile=True needs a RuleOptimizer and metrics that are sums; leave it out")
    if compile is None:
        compile = is_ours(model, loss_of, optimizer, sums.metrics, followers)
    if compile and added is not None:
        replayed = ReplayedStep(model, loss_of, optimizer, [sums.loss_sum, *added])
    mode, steps = model.training, data.steps()
    bar = None
    if verbose == 1 and sys.stderr.isatty():
        bar = Progress(steps and steps * (epochs - initial_epoch), "fit")
    try:
        for follower in followers:
            follower.on_train_begin(training)
        for epoch in range(initial_epoch + 1, epochs + 1):
            training.epoch = epoch
            _epoch(training, data, held_back, sums, followers, bar, replayed)
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
    data = _data("evaluate", x, y, _place("evaluate", model), batch_size)
    return _evaluate(model, data, _Sums("evaluate", _loss("evaluate", loss), metrics))


# ---- the loop --------------------------------------------------------------------------------------------------------


def _epoch(
    training: Training,
    data: _Rows | _Batches,
    held_back: _Rows | _Batches | None,
    sums: _Sums,
    followers: Sequence[Callback],
    bar: Progress | None,
    replayed: ReplayedStep | None,
) -> None:
    model, optimizer, history = training.model, training.optimizer, training.history
    start = shown = time.perf_counter()
    takes_closure = _takes_closure(optimizer)
    rate, before = float(optimizer.param_groups[0]["lr"]), history.steps
    model.train()
    sums.reset()
    for follower in followers:
        follower.on_epoch_begin(training)
    if replayed is not None:
        replayed.begin()
    for batch in data.batches(training.epoch):
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
    if history.steps == before:
        raise ValueError(f"fit: there was no batch in epoch {training.epoch}; give what can be gone through again")
    logs = sums.read()
    later = {} if held_back is None else _evaluate(model, held_back, sums)
    history.epochs.append(training.epoch)
    history.learning_rates.append(rate)
    history.times.append(time.perf_counter() - start)
    for columns, values in ((history.metrics, logs), (history.val_metrics, later)):
        for name, value in values.items():
            columns.setdefault(name, []).append(value)
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


def _evaluate(model: Module, data: _Rows | _Batches, sums: _Sums) -> dict[str, float]:
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

    def __init__(self, op: str, loss: Callable[[Any, Tensor], Tensor], wanted: Metrics) -> None:
        self.loss = loss
        # A sigmoid stands before the losses that take probabilities.
        probabilities = loss is F.binary_cross_entropy or type(loss).__name__ == "BCELoss"
        self.metrics = [_metric(op, metric, 0.5 if probabilities else 0.0) for metric in wanted]
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


# ---- data ------------------------------------------------------------------------------------------------------------


class _Rows:
    """Inputs and targets on a device, of which batches are rows."""

    def __init__(self, inputs: tuple[Tensor, ...], target: Tensor, batch_size: int) -> None:
        self.inputs, self.target, self.batch_size = inputs, target, batch_size
        self.shuffle = False
        self.seed: int | None = None

    def steps(self) -> int:
        return -(-self.target.shape[0] // self.batch_size)

    def batches(self, epoch: int | None) -> Iterator[Batch]:
        """Those of an epoch; None: in order."""
        order = self.order(epoch) if self.shuffle and epoch is not None else None
        whole = (*self.inputs, self.target)
        for first in range(0, self.target.shape[0], self.batch_size):
            some = slice(first, first + self.batch_size)
            yield Batch(tuple(t[some] for t in whole)) if order is None else Batch(whole, order[some])

    def order(self, epoch: int) -> Tensor:
        generator = None if self.seed is None else Generator().manual_seed(self.seed + (epoch << 32))
        order = _core.randperm(self.target.shape[0], generator=generator, device=self.target.device)
        _core._submit([[order]])  # made by itself, so that the first step of an epoch is like the others
        return order

    def split(self, share: float, shuffle: bool, seed: int | None) -> tuple[_Rows, _Rows]:
        rows = self.target.shape[0]
        count = round(rows * share)
        if not 0 < count < rows:
            raise ValueError(f"fit: validation_split {share} of {rows} rows leaves {rows - count} and {count}")
        self.seed = seed
        order = self.order(0) if shuffle else _core.arange(rows, device=self.target.device)
        parts = (order[: rows - count], order[rows - count :])
        first, second = ([t.index_select(0, part) for t in (*self.inputs, self.target)] for part in parts)
        return tuple(_Rows(tuple(p[:-1]), p[-1], self.batch_size) for p in (first, second))  # type: ignore[return-value]


class _Batches:
    """Batches that somebody else makes."""

    def __init__(self, op: str, loader: Iterable[Any], place: _Place) -> None:
        self.op, self.loader, self.place = op, loader, place

    def steps(self) -> int | None:
        return len(self.loader) if isinstance(self.loader, Sized) else None

    def batches(self, epoch: int | None) -> Iterator[Batch]:
        for batch in self.loader:
            if not isinstance(batch, (tuple, list)) or len(batch) < 2:
                raise ValueError(f"{self.op}: a batch is a {type(batch).__name__}; give (inputs, target)")
            *inputs, target = batch
            if len(inputs) == 1 and isinstance(inputs[0], (tuple, list)):
                inputs = list(inputs[0])
            yield Batch(tuple(self.place.put(value) for value in (*inputs, target)))


class _Place:
    """The device and the floating type of a model."""

    def __init__(self, device: Any, dtype: Any) -> None:
        self.device, self.dtype = device, dtype

    def put(self, value: Any) -> Tensor:
        if isinstance(value, Tensor):
            return value.detach().to(self.device, self.dtype if value.dtype.is_floating_point else value.dtype)
        array = np.asarray(value.numpy() if hasattr(value, "numpy") else value)
        return tensor(array, device=self.device, dtype=self.dtype if array.dtype.kind == "f" else None)


def _place(op: str, model: Any) -> _Place:
    if isinstance(model, ScalarModule):
        raise TypeError(
            f"{op}: {type(model).__name__} is a model of scalar values; use modules of tensors, sg.nn.Sequential(...)"
        )
    if not isinstance(model, Module):
        raise TypeError(f"{op}: model is a {type(model).__name__}; pass an sg.nn.Module")
    for parameter in model.parameters():
        return _Place(parameter.device, parameter.dtype)
    return _Place(_core.get_default_device(), _core.float32)


def _data(op: str, x: Any, y: Any, place: _Place, batch_size: int) -> _Rows | _Batches:
    if batch_size < 1:
        raise ValueError(f"{op}: batch_size is {batch_size}; use 1 or more")
    if y is None:
        if isinstance(x, (Tensor, np.ndarray)):
            raise ValueError(f"{op}: x has no target; give y, or something that gives batches (inputs, target)")
        if not isinstance(x, Iterable):
            raise TypeError(f"{op}: x is a {type(x).__name__}; give arrays x and y, or what gives batches")
        return _Batches(op, x, place)
    inputs = tuple(place.put(value) for value in (x if isinstance(x, tuple) else (x,)))
    target = place.put(y)
    sizes = [t.shape[0] if t.ndim else 0 for t in (*inputs, target)]
    if len(set(sizes)) > 1:
        raise ValueError(f"{op}: x has {', '.join(map(str, sizes[:-1]))} rows, y {sizes[-1]}; give as many")
    if sizes[0] == 0:
        raise ValueError(f"{op}: there are no rows; give at least one")
    return _Rows(inputs, target, batch_size)


# ---- names -----------------------------------------------------------------------------------------------------------


def _loss(op: str, loss: Loss) -> Callable[[Any, Tensor], Tensor]:
    if not isinstance(loss, str):
        return loss
    if (found := _LOSSES.get(loss.removesuffix("_loss"))) is None:
        raise ValueError(f"{op}: loss '{loss}' is unknown; use {', '.join(sorted(_LOSSES))}, or a function")
    return found


def _metric(op: str, metric: Any, threshold: float) -> Metric:
    if isinstance(metric, Metric):
        return metric
    if not isinstance(metric, str):
        return Mean(metric)
    if top := re.fullmatch(r"top(\d+)", metric):
        return metrics.TopK(int(top[1]))
    if metric not in _METRICS:
        raise ValueError(f"{op}: metric '{metric}' is unknown; use {', '.join(_METRICS)}, top5, or a function")
    return _METRICS[metric](**({"threshold": threshold} if metric in _WITH_THRESHOLD else {}))


def _optimizer(name: str, model: Module, lr: float | None) -> Any:
    known = {key.lower(): value for key, value in vars(optim).items() if _is_optimizer(value)}
    if name.lower() not in known:
        raise ValueError(f"fit: optimizer '{name}' is unknown; use {', '.join(sorted(known))}, or an optimiser")
    return known[name.lower()](model.parameters(), **({} if lr is None else {"lr": lr}))


def _is_optimizer(value: Any) -> bool:
    if not isinstance(value, type) or not issubclass(value, optim.Optimizer):
        return False
    return value.__name__ not in ("Lookahead", "Optimizer", "RuleOptimizer")  # these are not made of parameters alone
