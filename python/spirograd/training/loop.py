"""The loops over batches: an epoch of training, and a validation.

A step is one submission. Between steps, only the progress bar reads a value, now and then.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

from .. import _core
from .._core import Tensor
from ..base.grad_mode import no_grad
from ..base.tree import flatten
from ..nn import Module
from .bar import Bar
from .callbacks import Callback
from .data import Data
from .recovery import Recovery
from .replay import ReplayedStep
from .state import Training
from .step import Casts, Step
from .sums import Sums

READ_EVERY = 0.3  # seconds between two reads of the loss for the bar, each of which waits for the device


def run_epoch(
    training: Training,
    step: Step,
    data: Data,
    later: Data | None,
    sums: Sums,
    followers: Sequence[Callback],
    bar: Bar | None,
    replayed: ReplayedStep | None,
    recovery: Recovery | None,
) -> None:
    """The steps of one epoch and its validation, recorded in the history. `later`: the data of the validation."""
    model, optimizer, history = training.model, training.optimizer, training.history
    start = shown = time.perf_counter()
    rate, before = float(optimizer.param_groups[0]["lr"]), history.steps
    model.train()
    resumed = recovery is not None and recovery.done > 0  # in the middle
    if resumed:
        if replayed is not None:
            replayed.resume()
    else:
        sums.reset()
        for follower in followers:
            follower.on_epoch_begin(training)
        if replayed is not None:
            replayed.begin()

    def stepped() -> None:
        history.steps += 1
        for follower in followers:
            follower.on_batch_end(training)

    done = 0  # batches of the step under way
    for batch in data.batches(training.epoch) if recovery is None else recovery.batches(data, training.epoch):
        if replayed is not None and replayed.ready:
            replayed(batch, done)
        else:
            made = batch.batch()
            step.learn(made, done, partial(sums.add, made.target))
            if replayed is not None:
                replayed.take_over()
            elif done + 1 < step.batches:
                sums.submit()
        done += 1
        if done == step.batches:
            done = 0
            stepped()
        if bar is not None:
            note = None
            if (now := time.perf_counter()) - shown > READ_EVERY:
                shown = now
                note = bar.describe(training, {"loss": sums.mean_loss()})
            bar.advance(note=note)
    if done:  # batches that are left
        step.update(done)
        stepped()
    if history.steps == before and not resumed:
        raise ValueError(
            f"fit: there was no batch in epoch {training.epoch}; give a list or a DataLoader, not an iterator"
        )
    values = sums.read()
    later_values = {}
    if later is not None:
        for follower in followers:
            follower.on_validation_begin(training)
        later_values = run_evaluation(model, later, sums, step.casts)
        for follower in followers:
            follower.on_validation_end(training)
    history.add(training.epoch, rate, time.perf_counter() - start, values, later_values)
    training.logs = history.last()
    if not math.isfinite(values["loss"]) and all(map(math.isfinite, history.metrics["loss"][:-1])):
        what = f"the loss of epoch {training.epoch} is {values['loss']}"
        _core._warn_at_line(f"fit: {what}; try a smaller lr, or look for NaN in the data")
    if bar is not None:
        bar.advance(0, note=bar.describe(training, training.logs))
    for follower in followers:
        follower.on_epoch_end(training)


def run_evaluation(model: Module, data: Data, sums: Sums, casts: Casts) -> dict[str, float]:
    """Loss and metrics over the data, with the model in eval mode."""
    mode = model.training
    model.eval()
    sums.reset()
    try:
        with no_grad():
            for selection in data.batches(None):
                batch = selection.batch()
                with casts():
                    output = model(*batch.inputs)
                    loss = sums.loss(output, batch.target)
                sums.add(batch.target, output, loss)
                sums.submit()
    finally:
        model.train(mode)
    if sums.empty and not sums.joint:
        raise ValueError("evaluate: there was no batch; give a list or a DataLoader, not an iterator")
    return sums.read()


def run_prediction(model: Module, batches: Iterable[tuple[Tensor, ...]], casts: Casts) -> Any:
    """The outputs for all batches, with the model in eval mode."""
    mode = model.training
    model.eval()
    columns: list[list[Tensor]] = []
    rebuild: Callable[[list[Any]], Any] | None = None
    try:
        with no_grad(), casts():
            for inputs in batches:
                parts, rebuild = flatten(model(*inputs))
                columns = columns or [[] for _ in parts]
                for column, part in zip(columns, parts, strict=True):
                    column.append(part)
                _core._submit([[part for part in parts if isinstance(part, Tensor)]])  # without waiting
    finally:
        model.train(mode)
    if rebuild is None:
        raise ValueError("predict: there are no rows; give at least one")
    return rebuild([column[0] if len(column) == 1 else _core.cat(column) for column in columns])
