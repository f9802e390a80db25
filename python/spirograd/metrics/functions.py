"""Metrics as functions of scores and targets."""

from __future__ import annotations

from collections.abc import Callable

from .. import _core
from .._core import Tensor, cross_entropy, where
from ..base.keywords import naming_keywords

__all__ = ["accuracy", "confusion_matrix", "f1_score", "mean_absolute_error", "mean_squared_error", "perplexity"]
__all__ += ["precision", "r2_score", "recall", "top_k_accuracy"]


def _classes(op: str, input: Tensor, target: Tensor, threshold: float) -> tuple[Tensor, Tensor, int | None]:
    """Predicted and true classes, flat, and the number of classes if the shapes show it."""
    if input.ndim == target.ndim + 1 and input.shape[1] == 1:
        input = input.squeeze(1)
    if input.ndim == target.ndim + 1 and (*input.shape[:1], *input.shape[2:]) == target.shape:
        return input.argmax(1).flatten(), target.flatten(), input.shape[1]
    if input.shape != target.shape:
        raise ValueError(
            f"{op}: input has shape {list(input.shape)}, target {list(target.shape)}; "
            "give scores [n, classes, ...] and classes [n, ...], or two of one shape"
        )
    if input.dtype.is_floating_point:
        return (input > threshold).flatten().long(), (target > threshold).flatten().long(), 2
    if input.dtype == _core.bool:
        return input.flatten().long(), target.flatten().long(), 2
    return input.flatten(), target.flatten(), None


def _hits(input: Tensor, target: Tensor, threshold: float) -> Tensor:
    said, wanted, _ = _classes("accuracy", input, target, threshold)
    return said == wanted


@naming_keywords
def accuracy(input: Tensor, target: Tensor, threshold: float = 0.0) -> Tensor:
    """The share of targets that were predicted.

    Args:
        input: scores [n, classes, ...], or scores or classes of the shape of target.
        target: classes [n, ...].
        threshold: above it a score of two classes says yes.

    Raises:
        ValueError: the shapes do not fit.

    Example:
        >>> sg.metrics.accuracy(sg.tensor([[0.1, 0.9], [0.8, 0.2]]), sg.tensor([1, 1])).item()
        0.5
    """
    return _hits(input, target, threshold).float().mean()


def _hits_of_top(input: Tensor, target: Tensor, k: int) -> Tensor:
    if input.ndim != target.ndim + 1 or (*input.shape[:1], *input.shape[2:]) != target.shape:
        raise ValueError(
            f"top_k_accuracy: input has shape {list(input.shape)}, target {list(target.shape)}; "
            "give scores [n, classes, ...] and classes [n, ...]"
        )
    if not 1 <= k <= input.shape[1]:
        raise ValueError(f"top_k_accuracy: k is {k} with {input.shape[1]} classes; use 1 to {input.shape[1]}")
    wanted = target.long().unsqueeze(1)
    own = input.gather(1, wanted)
    place = _core.arange(input.shape[1], device=input.device).reshape(-1, *(1,) * (input.ndim - 2))
    # Of equal scores the first counts as the higher one, as it does for argmax.
    ahead = (input > own) | ((input == own) & (place < wanted))
    return ahead.sum(1) < k


@naming_keywords
def top_k_accuracy(input: Tensor, target: Tensor, k: int = 5) -> Tensor:
    """The share of targets among the k classes with the highest scores.

    Args:
        input: scores [n, classes, ...].
        target: classes [n, ...].
        k: how many guesses there are.

    Raises:
        ValueError: the shapes do not fit, or there are fewer than k classes.
        IndexError: at the next read, when a class is out of range.

    Example:
        >>> scores = sg.tensor([[0.1, 0.6, 0.3], [0.5, 0.3, 0.2]])
        >>> sg.metrics.top_k_accuracy(scores, sg.tensor([2, 2]), k=2).item()
        0.5
    """
    return _hits_of_top(input, target, k).float().mean()


@naming_keywords
def confusion_matrix(input: Tensor, target: Tensor, num_classes: int | None = None, threshold: float = 0.0) -> Tensor:
    """How often class i (row) was taken for class j (column).

    Args:
        input: as in accuracy.
        target: classes [n, ...].
        num_classes: needed where input holds classes; else scores tell.
        threshold: as in accuracy.

    Returns:
        [num_classes, num_classes] of int64.

    Raises:
        ValueError: the shapes do not fit, or nothing tells how many classes there are.
        IndexError: at the next read, when a class is out of range.

    Example:
        >>> sg.metrics.confusion_matrix(sg.tensor([0, 1, 1]), sg.tensor([0, 1, 0]), num_classes=2).tolist()
        [[1, 1], [0, 1]]
    """
    said, wanted, seen = _classes("confusion_matrix", input, target, threshold)
    count = num_classes or seen
    if count is None:
        raise ValueError(
            "confusion_matrix: input holds classes, which do not tell how many there are; give num_classes"
        )
    said, wanted = said.long(), wanted.long()
    inside = (said >= 0) & (said < count) & (wanted >= 0) & (wanted < count)
    cells = _core.zeros(count * count, dtype=_core.int64, device=input.device)
    place = where(inside, wanted * count + said, -1)
    return cells.scatter_add(0, place, _core.ones_like(place)).reshape(count, count)


def _shares(op: str, matrix: Tensor, average: str, part: Callable[[Tensor, Tensor, Tensor], Tensor]) -> Tensor:
    """`part` of the right, predicted and true numbers of each class, averaged over classes."""
    counts = matrix.float()
    right, said, wanted = counts.diagonal(), counts.sum(0), counts.sum(1)
    if average == "auto":
        average = "binary" if len(counts) == 2 else "macro"
    if average == "none":
        return part(right, said, wanted)
    if average == "binary":
        if len(counts) != 2:
            raise ValueError(f"{op}: average is binary with {len(counts)} classes; use macro, micro or none")
        return part(right[1], said[1], wanted[1])
    if average == "micro":
        return part(right.sum(), said.sum(), wanted.sum())
    if average == "macro":
        there = (said + wanted > 0).float()
        return (part(right, said, wanted) * there).sum() / there.sum()
    raise ValueError(f"{op}: average '{average}' is unknown; use auto, binary, macro, micro or none")


def _over(a: Tensor, b: Tensor) -> Tensor:
    """a / b, and 0 where b is 0."""
    share: Tensor = where(b > 0, a / where(b > 0, b, 1.0), 0.0)
    return share


_PARTS: dict[str, Callable[[Tensor, Tensor, Tensor], Tensor]] = {
    "precision": lambda right, said, wanted: _over(right, said),
    "recall": lambda right, said, wanted: _over(right, wanted),
    "f1_score": lambda right, said, wanted: _over(2 * right, said + wanted),
}


def _score(op: str, input: Tensor, target: Tensor, average: str, classes: int | None, threshold: float) -> Tensor:
    return _shares(op, confusion_matrix(input, target, classes, threshold), average, _PARTS[op])


@naming_keywords
def precision(
    input: Tensor,
    target: Tensor,
    average: str = "auto",
    num_classes: int | None = None,
    threshold: float = 0.0,
) -> Tensor:
    """The share of predictions of a class that are right; 0 without predictions.

    Args:
        input: as in accuracy.
        target: classes [n, ...].
        average: "binary" looks at class 1 of two; "macro" is the mean over the classes that occur; "micro" counts all
            together; "none" gives one number a class; "auto" is binary for two classes and macro for more.
        num_classes: needed where input holds classes.
        threshold: as in accuracy.

    Raises:
        ValueError: the shapes do not fit, or the average is unknown or not defined for that number of classes.

    Example:
        >>> said, wanted = sg.tensor([1, 1, 0, 1]), sg.tensor([1, 0, 1, 1])
        >>> round(sg.metrics.precision(said, wanted, num_classes=2).item(), 4)
        0.6667
    """
    return _score("precision", input, target, average, num_classes, threshold)


@naming_keywords
def recall(
    input: Tensor,
    target: Tensor,
    average: str = "auto",
    num_classes: int | None = None,
    threshold: float = 0.0,
) -> Tensor:
    """The share of a class that was found; arguments and errors as in precision.

    Example:
        >>> said, wanted = sg.tensor([1, 0, 0, 0]), sg.tensor([1, 1, 0, 0])
        >>> sg.metrics.recall(said, wanted, num_classes=2).item()
        0.5
    """
    return _score("recall", input, target, average, num_classes, threshold)


@naming_keywords
def f1_score(
    input: Tensor,
    target: Tensor,
    average: str = "auto",
    num_classes: int | None = None,
    threshold: float = 0.0,
) -> Tensor:
    """The harmonic mean of precision and recall; arguments and errors as in precision.

    Example:
        >>> said, wanted = sg.tensor([1, 0, 0, 0]), sg.tensor([1, 1, 1, 0])
        >>> sg.metrics.f1_score(said, wanted, num_classes=2).item()
        0.5
    """
    return _score("f1_score", input, target, average, num_classes, threshold)


@naming_keywords
def perplexity(input: Tensor, target: Tensor, ignore_index: int = -100) -> Tensor:
    """exp of the mean cross entropy: the effective number of classes among which the model is undecided.

    Args:
        input: logits [n, classes, ...].
        target: classes [n, ...].
        ignore_index: targets that count nowhere.

    Raises:
        ValueError: the shapes do not fit.
        IndexError: at the next read, when a class is out of range.

    Example:
        >>> round(sg.metrics.perplexity(sg.zeros(3, 8), sg.tensor([0, 3, 7])).item(), 3)
        8.0
    """
    return cross_entropy(input, target, ignore_index=ignore_index).exp()


def _same_shape(op: str, input: Tensor, target: Tensor) -> None:
    if input.shape != target.shape:
        raise ValueError(f"{op}: input has shape {list(input.shape)}, target {list(target.shape)}; reshape one of them")


@naming_keywords
def mean_absolute_error(input: Tensor, target: Tensor) -> Tensor:
    """The mean absolute difference.

    Raises:
        ValueError: the shapes differ.

    Example:
        >>> sg.metrics.mean_absolute_error(sg.zeros(2), sg.tensor([1.0, -3.0])).item()
        2.0
    """
    _same_shape("mean_absolute_error", input, target)
    return (input - target).abs().mean()


@naming_keywords
def mean_squared_error(input: Tensor, target: Tensor) -> Tensor:
    """The mean squared difference.

    Raises:
        ValueError: the shapes differ.

    Example:
        >>> sg.metrics.mean_squared_error(sg.zeros(2), sg.tensor([1.0, -3.0])).item()
        5.0
    """
    _same_shape("mean_squared_error", input, target)
    return (input - target).square().mean()


@naming_keywords
def r2_score(input: Tensor, target: Tensor) -> Tensor:
    """The share of the target's variance that was predicted: 1 is perfect, 0 no better than the mean.

    Args:
        input: [n, ...]; each column is judged alone, then they are averaged.
        target: the same shape.

    Raises:
        ValueError: the shapes differ.

    Example:
        >>> y = sg.tensor([1.0, 2.0, 3.0])
        >>> sg.metrics.r2_score(y, y).item(), sg.metrics.r2_score(sg.full((3,), 2.0), y).item()
        (1.0, 0.0)
    """
    _same_shape("r2_score", input, target)
    return (1 - (input - target).square().sum(0) / (target - target.mean(0)).square().sum(0)).mean()
