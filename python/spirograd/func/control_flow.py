"""Control flow and scans with functions of tensors, under the names of PyTorch's control_flow: Python runs them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .._core import Tensor, cat, stack
from ..utils._pytree import tree_flatten

__all__ = ["associative_scan", "cond", "scan", "while_loop"]

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

    Example:
        >>> sg.func.associative_scan(lambda a, b: a + b, sg.tensor([1.0, 2.0, 3.0]), 0).tolist()
        [1.0, 3.0, 6.0]
    """
    leaves, spec = tree_flatten(xs)

    def combine(a: list[Tensor], b: list[Tensor]) -> list[Tensor]:
        return tree_flatten(combine_fn(spec.unflatten(a), spec.unflatten(b)))[0]

    turned = [x.movedim(dim, 0) for x in leaves]
    made = _scanned(combine, [x.flip(0) for x in turned] if reverse else turned)
    return spec.unflatten([(x.flip(0) if reverse else x).movedim(0, dim) for x in made])


def cond(pred: Any, true_fn: Callable[..., Any], false_fn: Callable[..., Any], operands: Sequence[Any] = ()) -> Any:
    """What one of two functions gives; the condition is read.

    Example:
        >>> sg.func.cond(sg.tensor(True), lambda x: x + 1, lambda x: x - 1, (sg.tensor(1.0),)).item()
        2.0
    """
    return true_fn(*operands) if bool(pred) else false_fn(*operands)


def while_loop(cond_fn: Callable[..., Any], body_fn: Callable[..., Any], carried_inputs: Sequence[Any]) -> Any:
    """Calls body_fn() on its own results while cond_fn() of them holds, which is read each time.

    Example:
        >>> sg.func.while_loop(lambda x: x < 9, lambda x: x * 2, (sg.tensor(1.0),))[0].item()
        16.0
    """
    carried = tuple(carried_inputs)
    while bool(cond_fn(*carried)):
        made = body_fn(*carried)
        carried = tuple(made) if isinstance(made, (tuple, list)) else (made,)
    return carried


def scan(
    combine_fn: Callable[[Any, Any], tuple[Any, Any]], init: Any, xs: Any, *, dim: int = 0, reverse: bool = False
) -> tuple[Any, Any]:
    """A loop along a dimension.

    Args:
        combine_fn: of (what is carried, a slice of each x); what is carried on, and results.
        init: what is carried at first.
        xs: tensors, in a nest.
        reverse: from the last slice on.

    Returns:
        What is carried in the end, and results stacked in the order of the slices.

    Example:
        >>> step = lambda total, x: (total + x, total * x)
        >>> total, made = sg.func.scan(step, sg.tensor(0.0), sg.tensor([1.0, 2.0, 3.0]))
        >>> total.item(), made.tolist()
        (6.0, [0.0, 2.0, 9.0])
    """
    carried, made = init, []
    leaves, spec = tree_flatten(xs)
    count = leaves[0].shape[dim]
    for i in reversed(range(count)) if reverse else range(count):
        carried, result = combine_fn(carried, spec.unflatten([x.select(dim, i) for x in leaves]))
        made.append(tree_flatten(result))
    if reverse:
        made.reverse()
    results = [stack(parts) for parts in zip(*(leaves for leaves, _ in made), strict=True)]
    return carried, made[0][1].unflatten(results)
