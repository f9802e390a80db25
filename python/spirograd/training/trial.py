"""Steps that are tried out: afterwards everything is as it was."""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Iterator
from typing import Any

from .. import _core
from .._core import OutOfMemoryError
from ..base.grad_mode import no_grad
from ..nn import Module
from .data import Rows
from .step import Step

FULL = 0.9  # of the memory that is free


@contextlib.contextmanager
def trial(model: Module, optimizer: Any) -> Iterator[None]:
    """Model, optimiser and random numbers are afterwards what they were; inside, the model is in training mode."""
    with no_grad():
        weights = {name: value.clone() for name, value in model.state_dict().items()}
    state, random, mode = copy.deepcopy(optimizer.state_dict()), _core.get_rng_state(), model.training
    model.train()
    try:
        yield
    finally:
        model.load_state_dict(weights)
        model.train(mode)
        optimizer.zero_grad()
        optimizer.load_state_dict(state)
        _core.set_rng_state(random)


def largest_batch(step: Step, data: Rows, device: _core.Device) -> int:
    """The largest power of two of rows with which a step takes no more than 90 % of the memory that is free.

    Each size is measured; the next one is tried if it will fit, when memory grows with the rows.
    """
    rows = data.target.shape[0]
    size, before = 1, 0
    with trial(step.model, step.optimizer):
        _core.synchronize(device)
        free = _core._device_stats(device)["bytes_cached"] + device.memory_free
        while True:
            try:
                taken = _taken(step, data, size, device)
            except OutOfMemoryError:
                if size == 1:
                    raise
                return size // 2
            if 2 * size > rows or taken + 2 * max(taken - before, 0) > FULL * free:
                return size
            size, before = 2 * size, taken


def _taken(step: Step, data: Rows, size: int, device: _core.Device) -> int:
    """How many bytes a step with so many rows takes beyond what is there."""
    _core._reset_peak(device)
    live = _core._device_stats(device)["bytes_live"]
    whole, data.batch_size = data.batch_size, size
    try:
        step.learn(next(data.batches(None)).batch(), 0, lambda output, loss: None)
    finally:
        data.batch_size = whole
    _core.synchronize(device)
    return _core._device_stats(device)["bytes_peak"] - live
