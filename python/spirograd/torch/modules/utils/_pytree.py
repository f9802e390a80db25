"""torch.utils._pytree: nested tuples, lists and dicts as flat lists."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ....base import tree

__all__ = ["TreeSpec", "tree_flatten", "tree_leaves", "tree_map", "tree_map_only", "tree_unflatten"]

TreeSpec = Callable[[list[Any]], Any]  # for annotations


def tree_flatten(tree_: Any, is_leaf: Any = None) -> tuple[list[Any], Callable[[list[Any]], Any]]:
    """The leaves in order, and what tree_unflatten() needs."""
    return tree.flatten(tree_)


def tree_unflatten(leaves: list[Any], treespec: Callable[[list[Any]], Any]) -> Any:
    """The nest with other leaves."""
    return treespec(list(leaves))


def tree_leaves(tree_: Any, is_leaf: Any = None) -> list[Any]:
    """The leaves in order."""
    return tree.flatten(tree_)[0]


def tree_map(func: Callable[[Any], Any], tree_: Any, *rests: Any) -> Any:
    """The nest of func(leaf)."""
    leaves, build = tree.flatten(tree_)
    return build([func(*both) for both in zip(leaves, *(tree.flatten(rest)[0] for rest in rests), strict=True)])


def tree_map_only(kind: Any, func: Callable[[Any], Any], tree_: Any) -> Any:
    """tree_map where leaves are of a type."""
    return tree.transform(lambda x: func(x) if isinstance(x, kind) else x, tree_)
