"""The loops over batches: an epoch of training, and a validation.

A step is one submission. Between steps, only the progress bar reads a value, now and then.
"""

from __future__ import annotations

import inspect
import time
from collections.abc import Sequence
from typing import Any

from .._core import Tensor
from ..base.grad_mode import no_grad
from ..nn import Module
from ..progress import Progress
from .callbacks import Callback
from .data import Data
from .recovery import Recovery
from .replay import ReplayedStep
from .state import Training, short
from .sums import Sums

READ_EVERY = 0.3  # seconds between two reads of the loss for the bar, each of which waits for the device


def run_epoch(
    training: Training,
    data: Data,
    later: Data | None,
    sums: Sums,
    followers: Sequence[Callback],
    bar: Progress | None,
    replayed: ReplayedStep | None,
    recovery: Recovery | None,
) -> None:
    """The steps of one epoch and its validation, recorded in the history. `later`: the data of the validation."""
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
                note = f"epoch {training.epoch}/{training.epochs}, loss {short(sums.mean_loss())}"
            bar.advance(note=note)
    if history.steps == before and not resumed:
        raise ValueError(
            f"fit: there was no batch in epoch {training.epoch}; give a list or a DataLoader, not an iterator"
        )
    values = sums.read()
    later_values = {} if later is None else run_evaluation(model, later, sums)
    history.add(training.epoch, rate, time.perf_counter() - start, values, later_values)
    training.logs = history.last()
    for follower in followers:
        follower.on_epoch_end(training)


def run_evaluation(model: Module, data: Data, sums: Sums) -> dict[str, float]:
    """Loss and metrics over the data, with the model in eval mode."""
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
        raise ValueError("evaluate: there was no batch; give a list or a DataLoader, not an iterator")
    return sums.read()


def _step(
    model: Module, optimizer: Any, takes_closure: bool, sums: Sums, inputs: tuple[Tensor, ...], target: Tensor
) -> None:
    counted = False

    def closure() -> Tensor:
        nonlocal counted
        output = model(*inputs)
        loss = sums.loss(output, target)
        optimizer.zero_grad()
        loss.backward()
        if not counted:
            sums.add(loss, output, target)  # before the step, so that it is part of its submission
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
