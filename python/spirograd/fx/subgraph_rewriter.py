"""Finds a pattern in a graph and puts another in its place."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from ..nn import Module
from .graph import Graph
from .graph_module import GraphModule
from .node import Node
from .tracer import Tracer

__all__ = ["Match", "replace_pattern"]


class Match(NamedTuple):
    """Where a pattern was found: the node that gives its result, and for each of its nodes the one of the graph."""

    anchor: Node
    nodes_map: dict[Node, Any]


def replace_pattern(
    gm: GraphModule,
    pattern: Callable[..., Any] | Module | Graph,
    replacement: Callable[..., Any] | Module | Graph,
) -> list[Match]:
    """Replaces each place of a graph that computes one thing by code that computes another.

    Places may not overlap, and nothing else may take a value from inside of one.

    Args:
        gm: the traced module, which is changed.
        pattern: what is looked for: a function, a module or a graph with one result.
        replacement: what takes its place, with as many inputs.

    Returns:
        The places that were found.

    Example:
        >>> traced = sg.fx.symbolic_trace(lambda x: sg.relu(x + x))
        >>> len(sg.fx.replace_pattern(traced, lambda x: x + x, lambda x: x * 2))
        1
        >>> traced(sg.ones(1)).tolist()
        [2.0]
    """
    looked, put = (g if isinstance(g, Graph) else Tracer().trace(g) for g in (pattern, replacement))
    inputs = [n for n in looked.nodes if n.op == "placeholder"]
    new_inputs = [n for n in put.nodes if n.op == "placeholder"]
    if len(inputs) != len(new_inputs):
        raise ValueError(f"replace_pattern: {len(inputs)} inputs of the pattern, {len(new_inputs)} of the replacement; "
                         "give both the same")  # fmt: skip
    anchor = looked.output_node().args[0]
    if not isinstance(anchor, Node) or anchor.op == "placeholder":
        raise ValueError("replace_pattern: the pattern's result is no call; let it give the value of one")
    found: list[Match] = []
    taken: set[Node] = set()
    for node in list(gm.graph.nodes):
        places: dict[Node, Any] = {}
        if not _matches(anchor, node, places):
            continue
        inside = {n for p, n in places.items() if p.op not in ("placeholder", "get_attr")}
        escapes = any(user not in inside for n in inside - {node} for user in n.users)
        if escapes or inside & taken:
            continue
        taken |= inside
        found.append(Match(node, places))
    replaced: dict[Node, Node] = {}  # results of places, which may be inputs of later ones
    for match in found:
        values = {new: replaced.get(v, v) if isinstance(v := match.nodes_map[old], Node) else v
                  for old, new in zip(inputs, new_inputs, strict=True)}  # fmt: skip
        with gm.graph.inserting_before(match.anchor):
            result = gm.graph.graph_copy(put, values)
        match.anchor.replace_all_uses_with(result)
        replaced[match.anchor] = result
        for old in reversed(list(looked.nodes)):
            at = match.nodes_map.get(old)
            if old.op not in ("placeholder", "output") and isinstance(at, Node) and not at.users and not at._erased:
                gm.graph.erase_node(at)
    gm.recompile()
    return found


def _matches(pattern: Any, value: Any, places: dict[Node, Any]) -> bool:
    """Whether a value is computed as a pattern says; `places` gets which node stands for which."""
    if isinstance(pattern, Node):
        if pattern in places:
            return bool(places[pattern] is value or (not isinstance(value, Node) and places[pattern] == value))
        if pattern.op == "placeholder":
            places[pattern] = value
            return True
        if not isinstance(value, Node) or value.op != pattern.op or value.target != pattern.target:
            return False
        places[pattern] = value
        return _matches(pattern.args, value.args, places) and _matches(pattern.kwargs, value.kwargs, places)
    if isinstance(value, Node):
        return False
    if isinstance(pattern, (list, tuple)):
        same = isinstance(value, (list, tuple)) and len(pattern) == len(value)
        return same and all(_matches(p, v, places) for p, v in zip(pattern, value, strict=True))
    if isinstance(pattern, dict):
        same = isinstance(value, dict) and pattern.keys() == value.keys()
        return same and all(_matches(p, value[k], places) for k, p in pattern.items())
    if isinstance(pattern, slice):
        parts = [(s.start, s.stop, s.step) if isinstance(s, slice) else s for s in (pattern, value)]
        return _matches(parts[0], parts[1], places)
    return bool(type(pattern) is type(value) and pattern == value)
