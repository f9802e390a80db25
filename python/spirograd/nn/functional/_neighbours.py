"""Weighted sums of neighbours along a dimension: what resizing and means of windows are made of."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ... import _core
from ..._core import Tensor, where

__all__ = ["Neighbours", "shrinking_first"]


class Neighbours(NamedTuple):
    """Which elements along a dimension each place of the result is made of.

    Attributes:
        first: [places], int64: the first of them.
        weights: [places, neighbours] of the elements from there on. One with weight 0 is not read.
        readers: [elements], int64: for each element, the first place that may read it.
        most: how many places may read it, from there on.
    """

    first: Tensor
    weights: Tensor
    readers: Tensor
    most: int

    def sums(self, x: Tensor, dim: int) -> Tensor:
        """The weighted sums along a dimension of x, which has the type of the weights."""
        taps = int(self.weights.shape[1])
        place = self.readers.unsqueeze(1) + _core.arange(self.most, device=x.device)
        tap = _core.arange(x.shape[dim], device=x.device).unsqueeze(1) - self.first.take(place)
        weights = self.weights.take(place * taps + tap.clamp(0, taps - 1))
        transpose = where((tap >= 0) & (tap < taps), weights, 0.0)
        return _core._banded(x, dim, self.first.int(), self.weights, self.readers.int(), transpose)


def shrinking_first(before: Sequence[int], after: Sequence[int]) -> list[int]:
    """The order of dimensions in which least is computed: those that shrink first, from the outside in."""
    return sorted(range(len(before)), key=lambda d: (after[d] / before[d], d if after[d] < before[d] else -d))
