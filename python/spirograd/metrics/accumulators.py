"""Metrics accumulated over many batches."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .._core import Tensor, cross_entropy
from ..base.grad_mode import no_grad
from ..base.keywords import naming_keywords
from .functions import (
    _PARTS,
    _hits,
    _hits_of_top,
    _same_shape,
    _shares,
    confusion_matrix,
    mean_absolute_error,
    mean_squared_error,
)

__all__ = ["F1", "MAE", "MSE", "R2", "Accuracy", "ConfusionMatrix", "Mean", "Metric", "Perplexity", "Precision"]
__all__ += ["Recall", "Sum", "TopK"]


class Metric:
    """Accumulates over batches. What it keeps is on the device and does not grow with their number.

    A metric of your own says in `add(input, target)` what a batch adds to the tensors it keeps, by name, and in
    `result(kept)` what follows from them.

    Attributes:
        name: the key in a history.

    Example:
        >>> class Largest(sg.metrics.Metric):
        ...     def add(self, kept, input, target):
        ...         top = input.max()
        ...         return {"top": sg.maximum(kept["top"], top) if kept else top}
        ...     def result(self, kept):
        ...         return kept["top"]
        >>> metric = Largest()
        >>> for x in (3.0, 7.0, 5.0):
        ...     metric.update(sg.tensor([x]), sg.zeros(1))
        >>> metric.name, metric.compute().item()
        ('largest', 7.0)
    """

    def __init__(self, name: str | None = None) -> None:
        self.name = name or type(self).__name__.lower()
        self._kept: dict[str, Any] = {}

    def add(self, kept: dict[str, Any], input: Tensor, target: Tensor) -> dict[str, Any]:
        """The values to keep after a batch; `kept` is empty before the first one."""
        raise NotImplementedError(f"{type(self).__name__} has no add()")

    def result(self, kept: dict[str, Any]) -> Tensor:
        """The metric, from the kept values."""
        raise NotImplementedError(f"{type(self).__name__} has no result()")

    def update(self, input: Any, target: Tensor) -> None:
        """Adds a batch. Nothing is read, and no gradient is kept."""
        with no_grad():
            output = input.detach() if isinstance(input, Tensor) else input  # a model may give several
            self._kept = self.add(self._kept, output, target.detach())

    def compute(self) -> Tensor:
        """The value over all batches since the last reset, as a tensor.

        Raises:
            ValueError: there was no batch.
        """
        if not self._kept:
            raise ValueError(f"{self.name}: nothing was added; call update() first")
        with no_grad():
            return self.result(self._kept)

    def reset(self) -> None:
        """Forgets all batches."""
        self._kept = {}

    def __repr__(self) -> str:
        return f"{type(self).__name__}(name={self.name!r})"


class Sum(Metric):
    """A metric that keeps sums: a batch adds its `part(input, target)` to them.

    Example:
        >>> class Errors(sg.metrics.Sum):
        ...     def part(self, input, target):
        ...         return {"count": (input.argmax(1) != target).sum()}
        ...     def result(self, kept):
        ...         return kept["count"]
        >>> metric = Errors()
        >>> metric.update(sg.tensor([[0.1, 0.9], [0.8, 0.2]]), sg.tensor([1, 1]))
        >>> metric.compute().item()
        1
    """

    def part(self, input: Tensor, target: Tensor) -> dict[str, Any]:
        """What a batch adds: tensors and numbers, by name."""
        raise NotImplementedError(f"{type(self).__name__} has no part()")

    def add(self, kept: dict[str, Any], input: Tensor, target: Tensor) -> dict[str, Any]:
        part = self.part(input, target)
        return {key: kept[key] + value if kept else value for key, value in part.items()}


class Mean(Sum):
    """The mean of a function of a batch, each batch counted by its rows.

    Args:
        function: from (input, target) to one number, or to one an element.
        name: the key in a history; the function's name.

    Example:
        >>> metric = sg.metrics.Mean(sg.metrics.mean_squared_error)
        >>> metric.update(sg.zeros(3), sg.ones(3))
        >>> metric.update(sg.zeros(1), sg.zeros(1))
        >>> metric.name, metric.compute().item()
        ('mean_squared_error', 0.75)
    """

    def __init__(self, function: Callable[[Tensor, Tensor], Tensor], name: str | None = None) -> None:
        super().__init__(name or getattr(function, "__name__", type(function).__name__.lower()))
        self.function = function

    def part(self, input: Tensor, target: Tensor) -> dict[str, Any]:
        value = self.function(input, target)
        if value.ndim:  # one an element: hits are counted exactly
            total = value.sum() if value.dtype.is_floating_point else value.long().sum()
            return {"total": total, "count": value.numel()}
        rows = target.shape[0] if target.ndim else 1
        return {"total": value * rows, "count": rows}

    def result(self, kept: dict[str, Any]) -> Tensor:
        total = kept["total"] if kept["total"].dtype.is_floating_point else kept["total"].float()
        mean: Tensor = total / kept["count"]
        return mean


@naming_keywords
class Accuracy(Mean):
    """accuracy() over batches.

    Example:
        >>> metric = sg.metrics.Accuracy()
        >>> metric.update(sg.tensor([[0.1, 0.9], [0.8, 0.2]]), sg.tensor([1, 1]))
        >>> metric.compute().item()
        0.5
    """

    def __init__(self, threshold: float = 0.0, name: str | None = None) -> None:
        super().__init__(lambda input, target: _hits(input, target, threshold), name or "accuracy")


@naming_keywords
class TopK(Mean):
    """top_k_accuracy() over batches; its name is "top5" for k = 5.

    Example:
        >>> metric = sg.metrics.TopK(2)
        >>> metric.update(sg.tensor([[0.1, 0.6, 0.3], [0.5, 0.3, 0.2]]), sg.tensor([2, 2]))
        >>> metric.name, metric.compute().item()
        ('top2', 0.5)
    """

    def __init__(self, k: int = 5, name: str | None = None) -> None:
        super().__init__(lambda input, target: _hits_of_top(input, target, k), name or f"top{k}")


class MAE(Mean):
    """mean_absolute_error() over batches.

    Example:
        >>> metric = sg.metrics.MAE()
        >>> metric.update(sg.zeros(2), sg.tensor([1.0, -3.0]))
        >>> metric.compute().item()
        2.0
    """

    def __init__(self, name: str | None = None) -> None:
        super().__init__(mean_absolute_error, name or "mae")


class MSE(Mean):
    """mean_squared_error() over batches.

    Example:
        >>> metric = sg.metrics.MSE()
        >>> metric.update(sg.zeros(2), sg.tensor([1.0, -3.0]))
        >>> metric.compute().item()
        5.0
    """

    def __init__(self, name: str | None = None) -> None:
        super().__init__(mean_squared_error, name or "mse")


@naming_keywords
class Perplexity(Sum):
    """perplexity() over batches: each target weighs the same, in whichever batch it is.

    Example:
        >>> metric = sg.metrics.Perplexity()
        >>> metric.update(sg.zeros(3, 8), sg.tensor([0, 3, -100]))
        >>> round(metric.compute().item(), 3)
        8.0
    """

    def __init__(self, ignore_index: int = -100, name: str | None = None) -> None:
        super().__init__(name)
        self.ignore_index = ignore_index

    def part(self, input: Tensor, target: Tensor) -> dict[str, Any]:
        total = cross_entropy(input, target, ignore_index=self.ignore_index, reduction="sum")
        return {"total": total, "count": (target != self.ignore_index).long().sum()}

    def result(self, kept: dict[str, Any]) -> Tensor:
        mean: Tensor = kept["total"] / kept["count"].float()
        return mean.exp()


@naming_keywords
class ConfusionMatrix(Sum):
    """confusion_matrix() over batches.

    Args:
        num_classes: needed where inputs are classes.
        threshold: as in accuracy.
        name: the key in a history.

    Example:
        >>> metric = sg.metrics.ConfusionMatrix(2)
        >>> metric.update(sg.tensor([0, 1]), sg.tensor([0, 1]))
        >>> metric.update(sg.tensor([1]), sg.tensor([0]))
        >>> metric.compute().tolist()
        [[1, 1], [0, 1]]
    """

    def __init__(self, num_classes: int | None = None, threshold: float = 0.0, name: str | None = None) -> None:
        super().__init__(name or "confusion_matrix")
        self.num_classes, self.threshold = num_classes, threshold

    def part(self, input: Tensor, target: Tensor) -> dict[str, Any]:
        return {"matrix": confusion_matrix(input, target, self.num_classes, self.threshold)}

    def result(self, kept: dict[str, Any]) -> Tensor:
        matrix: Tensor = kept["matrix"]
        return matrix


class _OfMatrix(ConfusionMatrix):
    _share = ""

    def __init__(
        self, average: str = "auto", num_classes: int | None = None, threshold: float = 0.0, name: str | None = None
    ) -> None:
        super().__init__(num_classes, threshold, name or type(self).__name__.lower())
        self.average = average

    def result(self, kept: dict[str, Any]) -> Tensor:
        return _shares(self.name, kept["matrix"], self.average, _PARTS[self._share])


class Precision(_OfMatrix):
    """precision() over batches; not the mean of theirs.

    Example:
        >>> metric = sg.metrics.Precision(num_classes=2)
        >>> metric.update(sg.tensor([1, 1]), sg.tensor([1, 0]))
        >>> metric.compute().item()
        0.5
    """

    _share = "precision"


class Recall(_OfMatrix):
    """recall() over batches; not the mean of theirs.

    Example:
        >>> metric = sg.metrics.Recall(num_classes=2)
        >>> metric.update(sg.tensor([1, 0]), sg.tensor([1, 1]))
        >>> metric.compute().item()
        0.5
    """

    _share = "recall"


class F1(_OfMatrix):
    """f1_score() over batches; not the mean of theirs.

    Example:
        >>> metric = sg.metrics.F1(num_classes=2)
        >>> metric.update(sg.tensor([1, 0, 0, 0]), sg.tensor([1, 1, 1, 0]))
        >>> metric.compute().item()
        0.5
    """

    _share = "f1_score"


class R2(Metric):
    """r2_score() over batches. Means and squares are merged by the formula of Chan, Golub and LeVeque (1979).

    Example:
        >>> metric = sg.metrics.R2()
        >>> metric.update(sg.tensor([1.0, 2.0]), sg.tensor([1.0, 2.0]))
        >>> metric.update(sg.tensor([3.0]), sg.tensor([3.0]))
        >>> metric.compute().item()
        1.0
    """

    def add(self, kept: dict[str, Any], input: Tensor, target: Tensor) -> dict[str, Any]:
        _same_shape("r2_score", input, target)
        count, mean = target.shape[0], target.mean(0)
        new = {
            "count": count,
            "mean": mean,
            "squares": (target - mean).square().sum(0),
            "errors": (input - target).square().sum(0),
        }
        if not kept:
            return new
        total = kept["count"] + count
        apart = mean - kept["mean"]
        return {
            "count": total,
            "mean": kept["mean"] + apart * (count / total),
            "squares": kept["squares"] + new["squares"] + apart.square() * (kept["count"] * count / total),
            "errors": kept["errors"] + new["errors"],
        }

    def result(self, kept: dict[str, Any]) -> Tensor:
        score: Tensor = (1 - kept["errors"] / kept["squares"]).mean()
        return score
