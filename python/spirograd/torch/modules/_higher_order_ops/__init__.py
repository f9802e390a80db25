"""torch._higher_order_ops: control flow and scans with functions of tensors. Python runs them here."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ...._core import stack
from ..utils._pytree import tree_leaves, tree_map
from .associative_scan import associative_scan

__all__ = ["associative_scan", "cond", "scan", "while_loop"]


def cond(pred: Any, true_fn: Callable[..., Any], false_fn: Callable[..., Any], operands: Sequence[Any] = ()) -> Any:
    """What one of two functions gives; the condition is read."""
    return true_fn(*operands) if bool(pred) else false_fn(*operands)


def while_loop(cond_fn: Callable[..., Any], body_fn: Callable[..., Any], carried_inputs: Sequence[Any]) -> Any:
    """Calls body_fn() on its own results while cond_fn() of them holds, which is read each time."""
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
    """
    carried, made = init, []
    count = tree_leaves(xs)[0].shape[dim]
    for i in reversed(range(count)) if reverse else range(count):
        carried, result = combine_fn(carried, tree_map(lambda x, i=i: x.select(dim, i), xs))
        made.append(result)
    if reverse:
        made.reverse()
    return carried, tree_map(lambda *parts: stack(parts, 0), *made)
