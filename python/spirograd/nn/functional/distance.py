"""Distances of all pairs, and a loss of any distance."""

from __future__ import annotations

from collections.abc import Callable

from ..._core import Tensor, minimum, relu, triu_indices
from ...base.casts import wide
from ...linalg import vector_norm
from .loss import pairwise_distance

__all__ = ["pdist", "triplet_margin_with_distance_loss"]


def pdist(input: Tensor, p: float = 2.0) -> Tensor:
    """Distances between all pairs of rows, of order p: [n, d] -> [n (n - 1) / 2].

    Args:
        input: [n, d], the rows.
        p: the order of the norm, 0 to infinity.

    Example:
        >>> sg.nn.functional.pdist(sg.tensor([[0.0], [1.0], [3.0]])).tolist()
        [1.0, 3.0, 2.0]
    """
    first, second = triu_indices(len(input), len(input), 1, device=input.device)
    return vector_norm(input[first] - input[second], p, -1)


@wide
def triplet_margin_with_distance_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    *,
    distance_function: Callable[..., Tensor] | None = None,
    margin: float = 1.0,
    swap: bool = False,
    reduction: str = "mean",
) -> Tensor:
    """triplet_margin_loss() with another distance: [..., d], three of them -> [], or [...] with reduction="none".

    Args:
        anchor, positive, negative: points.
        distance_function: makes a distance [...] of two of them; by default pairwise_distance().
        margin: how much farther the negative one has to be.
        swap: takes the smaller one of its distances to the anchor and to the positive one.
        reduction: "mean", "sum" or "none".

    Example:
        >>> x, y, z = sg.zeros(1, 2), sg.ones(1, 2), 3 * sg.ones(1, 2)
        >>> loss = sg.nn.functional.triplet_margin_with_distance_loss
        >>> loss(x, y, z, distance_function=lambda a, b: (a - b).abs().sum(-1)).item()
        0.0
    """
    distance = distance_function or pairwise_distance
    near, far = distance(anchor, positive), distance(anchor, negative)
    if swap:
        far = minimum(far, distance(positive, negative))
    losses = relu(margin + near - far)
    return losses if reduction == "none" else losses.sum() if reduction == "sum" else losses.mean()
