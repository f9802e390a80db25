"""Weighted sums of neighbours along a dimension, for resizing and for means of windows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ... import _core
from ..._core import Tensor, where

__all__ = ["Neighbours", "shrinking_first"]


class Neighbours(NamedTuple):
    """The elements along a dimension that each element of the result is a sum of.

    Attributes:
        first: [results], int64: the index of the first element.
        weights: [results, neighbours]: the weights of the elements from there on. An element with weight 0 is not read.
        readers: [elements], int64: for each element, the first result that may read it.
        most: the number of results from there on that may read it.
    """

    first: Tensor
    weights: Tensor
    readers: Tensor
    most: int

    def sums(self, x: Tensor, dim: int) -> Tensor:
        """The weighted sums along a dimension of x, which has the type of the weights."""
        taps = int(self.weights.shape[1])
        result = self.readers.unsqueeze(1) + _core.arange(self.most, device=x.device)
        tap = _core.arange(x.shape[dim], device=x.device).unsqueeze(1) - self.first.take(result)
        weights = self.weights.take(result * taps + tap.clamp(0, taps - 1))
        transpose = where((tap >= 0) & (tap < taps), weights, 0.0)
        return _core._banded(x, dim, self.first.int(), self.weights, self.readers.int(), transpose)


def shrinking_first(before: Sequence[int], after: Sequence[int]) -> list[int]:
    """The cheapest order of the dimensions: first those that shrink, from the outside in."""
    return sorted(range(len(before)), key=lambda d: (after[d] / before[d], d if after[d] < before[d] else -d))
