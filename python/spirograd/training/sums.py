"""Loss and metrics over the batches of an epoch, added up on the device."""

from __future__ import annotations

import functools
import operator
from typing import Any

import numpy as np

from .. import _core, distributed
from .._core import Tensor
from ..base.grad_mode import no_grad
from ..metrics import Mean, Metric, Sum
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
        self.joint = False  # whether the batches of all processes count

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
        """Submits what is pending without waiting for it. Needed where no step of an optimiser does it."""
        _core._submit([[self.loss_sum._kept["total"]]])

    def mean_loss(self) -> float:
        """The loss so far; waits for the device."""
        return float(self.loss_sum.compute())

    def read(self) -> dict[str, Any]:
        """The loss and all metrics; their numbers are fetched together."""
        with no_grad():
            everything = (self.loss_sum, *self.metrics)
            if self.joint:
                values = {m.name: joint_result(m, self.loss_sum._kept["total"].device) for m in everything}
            else:
                values = {m.name: m.compute() for m in everything}
            numbers = [name for name, value in values.items() if value.ndim == 0]
            fetched = _core.stack([values[name].float() for name in numbers]).tolist()
        read = dict(zip(numbers, fetched, strict=True))
        return {name: read[name] if name in read else value.tolist() for name, value in values.items()}


def joint_result(metric: Metric, device: Any) -> Tensor:
    """A metric over the batches of all processes: of their sums; of a metric that does not keep sums, the mean of its
    values."""
    summed = isinstance(metric, Sum)
    if summed:
        own = {k: v.cpu().numpy() if isinstance(v, Tensor) else v for k, v in metric._kept.items()}
    else:
        own = {"value": metric.compute().cpu().numpy()} if metric._kept else {}
    everyone: list[Any] = [None] * distributed.get_world_size()
    distributed.all_gather_object(everyone, own)
    parts = [part for part in everyone if part]
    if not parts:
        raise ValueError(f"{metric.name}: no process had a batch; give more rows")
    kept = {key: _total([part[key] for part in parts], device) for key in parts[0]}
    return metric.result(kept) if summed else kept["value"] / len(parts)


def _total(parts: list[Any], device: Any) -> Any:
    total = functools.reduce(operator.add, parts)
    return _core.tensor(total, device=device) if isinstance(total, (np.ndarray, np.generic)) else total


def _itself(loss: Tensor, target: Tensor) -> Tensor:
    return loss
