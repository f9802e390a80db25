"""Layers that compute distances between vectors."""

from __future__ import annotations

from .._core import Tensor
from . import functional as F
from ._arguments import described
from .module import Module

__all__ = ["CosineSimilarity", "PairwiseDistance"]


@described(F.cosine_similarity)
class CosineSimilarity(Module):
    """
    Example:
        >>> sg.nn.CosineSimilarity()(sg.tensor([[1.0, 0.0]]), sg.tensor([[0.0, 2.0]])).tolist()
        [0.0]
    """

    _shown = ""

    def __init__(self, dim: int = 1, eps: float = 1e-8) -> None:
        super().__init__()
        self.dim, self.eps = dim, eps

    def forward(self, x1: Tensor, x2: Tensor) -> Tensor:
        return F.cosine_similarity(x1, x2, self.dim, self.eps)


@described(F.pairwise_distance)
class PairwiseDistance(Module):
    """
    Example:
        >>> sg.nn.PairwiseDistance(eps=0.0)(sg.tensor([3.0, 4.0]), sg.zeros(2)).item()
        5.0
    """

    _shown = ""

    def __init__(self, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False) -> None:
        super().__init__()
        self.norm, self.eps, self.keepdim = p, eps, keepdim

    def forward(self, x1: Tensor, x2: Tensor) -> Tensor:
        return F.pairwise_distance(x1, x2, self.norm, self.eps, self.keepdim)
