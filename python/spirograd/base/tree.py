"""Tuples, lists and dicts of tensors as one flat list, and back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .._core import Tensor


def flatten(tree: Any) -> tuple[list[Any], Callable[[list[Any]], Any]]:
    """The leaves in order, and a function that builds the same tree from other leaves."""
    if isinstance(tree, dict):
        keys = list(tree)
        parts = [tree[k] for k in keys]

        def build(made: list[Any]) -> Any:
            return dict(zip(keys, made, strict=True))
    elif isinstance(tree, tuple) and hasattr(tree, "_fields"):
        parts, kind = list(tree), type(tree)

        def build(made: list[Any]) -> Any:
            return kind(*made)
    elif isinstance(tree, (tuple, list)):
        parts, sequence = list(tree), type(tree)

        def build(made: list[Any]) -> Any:
            return sequence(made)
    else:
        return [tree], lambda made: made[0]
    flat = [flatten(part) for part in parts]

    def rebuild(leaves: list[Any]) -> Any:
        made, at = [], 0
        for leaves_of, build_part in flat:
            made.append(build_part(leaves[at : at + len(leaves_of)]))
            at += len(leaves_of)
        return build(made)

    return [leaf for leaves_of, _ in flat for leaf in leaves_of], rebuild


def transform(function: Callable[[Any], Any], tree: Any) -> Any:
    """The tree of function(leaf)."""
    leaves, rebuild = flatten(tree)
    return rebuild([function(leaf) for leaf in leaves])


def to_host(tree: Any) -> Any:
    """The same tree with copies of its tensors on the CPU."""

    def copied(x: Any) -> Any:
        if not isinstance(x, Tensor):
            return x
        return x.detach().cpu() if x.device.kind == "gpu" else x.detach().clone()

    return transform(copied, tree)


def to_device(tree: Any, device: Any) -> Any:
    """The same tree with its tensors on that device."""
    return transform(lambda x: x.to(device) if isinstance(x, Tensor) else x, tree)
