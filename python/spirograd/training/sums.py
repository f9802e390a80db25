"""Loss and metrics over the batches of an epoch, added up on the device."""

from __future__ import annotations

from typing import Any

from .. import _core
from .._core import Tensor
from ..base.grad_mode import no_grad
from ..metrics import Mean
from ..nn import functional as F
from .names import LossFunction, Metrics, metric_named


class Sums:
    """Loss and metrics over batches, on the device."""

    def __init__(self, op: str, loss: LossFunction, wanted: Metrics) -> None:
        self.loss = loss
        # A sigmoid stands before the losses that take probabilities.
        probabilities = loss is F.binary_cross_entropy or type(loss).__name__ == "BCELoss"
        self.metrics = [metric_named(op, metric, 0.5 if probabilities else 0.0) for metric in wanted]
        self.loss_sum = Mean(_itself, "loss")

    def reset(self) -> None:
        """Forgets all batches."""
        for metric in (self.loss_sum, *self.metrics):
            metric.reset()

    @property
    def empty(self) -> bool:
        """Whether there was no batch."""
        return not self.loss_sum._kept

    def add(self, target: Tensor, output: Any, loss: Tensor) -> None:
        """Adds the loss and the metrics of a batch."""
        self.loss_sum.update(loss, target)
        for metric in self.metrics:
            metric.update(output, target)

    def submit(self) -> None:
        """Submits what is pending without waiting for it. Needed where no optimiser steps, which would do it."""
        _core._submit([[self.loss_sum._kept["total"]]])

    def mean_loss(self) -> float:
        """The loss so far; waits for the device."""
        return float(self.loss_sum.compute())

    def read(self) -> dict[str, Any]:
        """The loss and all metrics; their numbers are fetched together."""
        with no_grad():
            values = {m.name: m.compute() for m in (self.loss_sum, *self.metrics)}
            numbers = [name for name, value in values.items() if value.ndim == 0]
            fetched = _core.stack([values[name].float() for name in numbers]).tolist()
        read = dict(zip(numbers, fetched, strict=True))
        return {name: read[name] if name in read else value.tolist() for name, value in values.items()}


def _itself(loss: Tensor, target: Tensor) -> Tensor:
    return loss
