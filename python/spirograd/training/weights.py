"""Losses in which classes and rows have weights."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Mapping
from typing import Any

import numpy as np

from .. import _core
from .._core import Tensor
from ..nn import Module
from .data import Data, Destination, Rows
from .names import LossFunction

_SMALLEST = 1e-30  # a batch without weight has loss 0, not 0 / 0


class WeightedLoss:
    """The weighted mean of the losses of rows (or of pixels, or of tokens): sum(weight * loss) / sum(weight).

    Args:
        loss: a function with the argument `reduction`, or a module with this attribute.
        class_weight: [classes]; a negative target, such as the usual `ignore_index`, has weight 0.
    """

    def __init__(self, loss: LossFunction, class_weight: Tensor | None) -> None:
        self.class_weight = class_weight
        if isinstance(loss, Module) and hasattr(loss, "reduction"):
            self._each: Any = copy.copy(loss)
            self._each.reduction = "none"
        elif not isinstance(loss, type) and "reduction" in inspect.signature(loss).parameters:
            self._each = lambda output, target: loss(output, target, reduction="none")  # type: ignore[call-arg]
        else:
            raise ValueError(
                f"fit: class_weight and sample_weight need the loss of each row, and "
                f"{getattr(loss, '__name__', type(loss).__name__)} has no reduction='none'; use a loss of nn.functional"
            )

    def __call__(self, output: Any, target: Tensor, weight: Tensor | None) -> Tensor:
        losses: Tensor = self._each(output, target)
        weights = _core.ones_like(losses)
        if weight is not None:
            weights = weights * weight.reshape(-1, *[1] * (losses.ndim - 1))
        if self.class_weight is not None:
            if target.shape != losses.shape:
                raise ValueError(
                    f"fit: class_weight needs one class a loss, target has shape {list(target.shape)}, the losses "
                    f"{list(losses.shape)}; use sample_weight"
                )
            there = target >= 0
            of_class = self.class_weight.index_select(0, target.clamp(min=0).long().flatten()).reshape(target.shape)
            weights = weights * of_class * there
        return (losses * weights).sum() / weights.sum().clamp(min=_SMALLEST)


def class_weights_of(wanted: Any, data: Data, place: Destination) -> Tensor:
    """Weights of classes, [classes], from a sequence, from a dict, or "balanced" by their counts in the data."""
    if isinstance(wanted, (str, Mapping)):
        if isinstance(wanted, str) and wanted != "balanced":
            raise ValueError(f"fit: class_weight is {wanted!r}; use 'balanced', one weight a class, or a dict")
        if not isinstance(data, Rows):
            raise ValueError(
                "fit: class_weight needs x and y to count classes; give one weight a class beside a loader"
            )
        targets = data.target.detach().cpu().numpy()
        if targets.dtype.kind not in "biu":
            raise ValueError(f"fit: class_weight is for classes, y is {data.target.dtype}; use sample_weight")
        counts = np.bincount(np.maximum(targets, 0).ravel().astype(np.int64), (targets >= 0).ravel())
        if isinstance(wanted, str):
            weights = counts.sum() / (max(np.count_nonzero(counts), 1) * np.maximum(counts, 1))
        else:
            weights = np.ones(max(len(counts), 1 + max(wanted, default=-1)))
            for label, weight in wanted.items():
                weights[label] = weight
    else:
        weights = np.asarray(wanted.detach().cpu().numpy() if isinstance(wanted, Tensor) else wanted, dtype=np.float64)
    if weights.ndim != 1 or not np.all(np.isfinite(weights) & (weights >= 0)):
        raise ValueError(
            f"fit: class_weight has shape {list(weights.shape)}; give one weight of 0 or more for each class"
        )
    return place.put(weights)


def weigh(data: Data, wanted: Any, place: Destination) -> Rows:
    """The data with weights of rows, [n]."""
    if not isinstance(data, Rows):
        raise ValueError("fit: sample_weight needs x and y; beside a loader, weigh in a loss of your own")
    weights = place.put(wanted).to(place.dtype)
    rows = data.target.shape[0]
    if weights.shape != (rows,):
        raise ValueError(f"fit: sample_weight has shape {list(weights.shape)}, there are {rows} rows; give one each")
    data.weight = weights
    return data
