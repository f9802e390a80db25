"""torch._higher_order_ops.associative_scan."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...._core import Tensor, cat, stack
from ..utils._pytree import tree_flatten

__all__ = ["associative_scan"]

Combine = Callable[[list[Tensor], list[Tensor]], list[Tensor]]


def _scanned(combine: Combine, xs: list[Tensor]) -> list[Tensor]:
    """Along the first dimension: pairs are combined and scanned, and what lies between them follows from that."""
    count = xs[0].shape[0]
    if count < 2:
        return xs
    odd = _scanned(combine, combine([x[0 : count - 1 : 2] for x in xs], [x[1::2] for x in xs]))
    if count == 2:
        even = [x[:1] for x in xs]
    else:
        rest = combine([x[: (count - 1) // 2] for x in odd], [x[2::2] for x in xs])
        even = [cat([x[:1], more]) for x, more in zip(xs, rest, strict=True)]
    return [_interleaved(a, b) for a, b in zip(even, odd, strict=True)]


def _interleaved(even: Tensor, odd: Tensor) -> Tensor:
    pairs = stack([even[: odd.shape[0]], odd], 1).flatten(0, 1)
    return cat([pairs, even[-1:]]) if even.shape[0] > odd.shape[0] else pairs


def associative_scan(
    combine_fn: Callable[[Any, Any], Any], xs: Any, dim: int, reverse: bool = False, combine_mode: str = "pointwise"
) -> Any:
    """The combinations of all slices up to each one, in about two combinations of tensors for each halving.

    Args:
        combine_fn: of two nests of slices, associative.
        xs: tensors, in a nest.
        dim: along which.
        reverse: from the last slice on.
        combine_mode: accepted.
    """
    leaves, spec = tree_flatten(xs)

    def combine(a: list[Tensor], b: list[Tensor]) -> list[Tensor]:
        return tree_flatten(combine_fn(spec.unflatten(a), spec.unflatten(b)))[0]

    turned = [x.movedim(dim, 0) for x in leaves]
    made = _scanned(combine, [x.flip(0) for x in turned] if reverse else turned)
    return spec.unflatten([(x.flip(0) if reverse else x).movedim(0, dim) for x in made])
