"""Distances between rows of two tensors, as modules."""

from __future__ import annotations

from .._core import Tensor
from . import functional as F
from .module import Module

__all__ = ["CosineSimilarity", "PairwiseDistance"]


class CosineSimilarity(Module):
    """The cosine of the angle between vectors; see functional.cosine_similarity().

    Args:
        dim: the dimension of the vectors.
        eps: the least product of lengths.

    Example:
        >>> sg.nn.CosineSimilarity()(sg.tensor([[1.0, 0.0]]), sg.tensor([[0.0, 2.0]])).tolist()
        [0.0]
    """

    _shown = ""

    def __init__(self, dim: int = 1, eps: float = 1e-8) -> None:
        super().__init__()
        self.dim = dim
        self.eps = eps

    def forward(self, x1: Tensor, x2: Tensor) -> Tensor:
        return F.cosine_similarity(x1, x2, self.dim, self.eps)


class PairwiseDistance(Module):
    """The length of the difference along the last dimension; see functional.pairwise_distance().

    Args:
        p: the order of the norm.
        eps: added to the differences.
        keepdim: keep the last dimension, with size 1.

    Example:
        >>> sg.nn.PairwiseDistance(eps=0.0)(sg.tensor([3.0, 4.0]), sg.zeros(2)).item()
        5.0
    """

    _shown = ""

    def __init__(self, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False) -> None:
        super().__init__()
        self.norm = p
        self.eps = eps
        self.keepdim = keepdim

    def forward(self, x1: Tensor, x2: Tensor) -> Tensor:
        return F.pairwise_distance(x1, x2, self.norm, self.eps, self.keepdim)
