"""How fit continues after its device was lost: from copies on the host, taken at intervals."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from typing import Any

from .. import _core
from ..base.tree import to_device, to_host
from ..metrics import Metric
from .callbacks import Callback
from .data import Data, Rows, Selection
from .state import Training


class Recovery:
    """The state that a training needs to continue, on the host.

    Args:
        training: its model, optimiser and history.
        scaler: of the losses, or None.
        data: what it learns from, and what it is validated with.
        metrics: the sums of an epoch.
        followers: whose schedulers of learning rates are a part of it.
        device: where all of this lives.
        every: steps between two copies.
    """

    def __init__(
        self,
        training: Training,
        scaler: Any,
        data: Sequence[Data | None],
        metrics: Sequence[Metric],
        followers: Sequence[Callback],
        device: Any,
        every: int,
    ) -> None:
        self.training, self.metrics, self.device, self.every = training, metrics, device, every
        others = [scaler, *(getattr(follower, "schedule", follower) for follower in followers)]
        self._parts = [training.model, training.optimizer, *(x for x in others if hasattr(x, "load_state_dict"))]
        self._rows = [(d, to_host((d.inputs, d.target, d.weight))) for d in data if isinstance(d, Rows)]
        self.done = 0  # batches of the epoch
        self._lost_at = -1
        self._random_of_epoch: Any = None
        self._keep()

    def _keep(self) -> None:
        """Copies everything as it is now."""
        training = self.training
        self._kept_at = training.history.steps
        self._kept = {
            "epoch": training.epoch,
            "done": self.done,
            "random": _core.get_rng_state(),
            "random_of_epoch": self._random_of_epoch,
            "history": copy.deepcopy(vars(training.history)),
            "parts": [to_host(part.state_dict()) for part in self._parts],
            "metrics": [to_host(metric._kept) for metric in self.metrics],
        }

    def batches(self, data: Data, epoch: int) -> Iterator[Selection]:
        """The batches of an epoch that are still to be done."""
        if self.done:
            _core.set_rng_state(self._random_of_epoch)
        else:
            self._random_of_epoch = _core.get_rng_state()
        batches = iter(data.batches(epoch))
        for _ in range(self.done):
            next(batches)
        if self.done:
            _core.set_rng_state(self._kept["random"])
        for batch in batches:
            yield batch
            self.done += 1
            steps = self.training.history.steps
            if steps % self.every == 0 and steps != self._kept_at:  # no batch of the next step was seen
                self._keep()
        self.done = 0

    def go_back(self) -> bool:
        """Reopens the device and restores what was copied. False, and nothing is done, if the training has come no
        further since the last time."""
        training, kept = self.training, self._kept
        if training.history.steps <= self._lost_at:
            return False
        self._lost_at = training.history.steps
        self.device.recover()
        for rows, tensors in self._rows:
            rows.inputs, rows.target, rows.weight = to_device(tensors, self.device)
        training.optimizer.zero_grad()
        for part, state in zip(self._parts, kept["parts"], strict=True):
            part.load_state_dict(copy.deepcopy(state))
        for metric, sums in zip(self.metrics, kept["metrics"], strict=True):
            metric._kept = to_device(sums, self.device)
        vars(training.history).update(copy.deepcopy(kept["history"]))
        _core.set_rng_state(kept["random"])
        self._random_of_epoch = kept["random_of_epoch"]
        training.epoch, self.done, self._kept_at = kept["epoch"], kept["done"], training.history.steps
        return True
