"""Pictures of the graph behind a value."""

from __future__ import annotations

from typing import Any

from .._core import Tensor
from ..base.keywords import naming_keywords
from ._dot import tensor_graph, value_graph

__all__ = ["draw_dot"]


@naming_keywords
def draw_dot(root: Any, format: str = "svg", rankdir: str | None = None) -> Any:
    """The graph behind a value, as micrograd's notebooks draw it; a notebook shows it by itself.

    Args:
        root: a `Value`, whose nodes show `data | grad` (and the label in front); or a tensor, whose pending nodes show
            `shape | type`, shaded where the values will be in memory afterwards, and whose operations have one colour
            a kernel: what is fused is alike.
        format: of the picture: "svg", "png", "pdf".
        rankdir: "LR", from left to right, or "TB", from top to bottom; None: "TB" from 8 nodes on.

    Returns:
        A graph. `.render("file")` writes the picture and returns its path, `.source` is the text in Graphviz's
        language. Graphviz's program `dot`, or the package pygraphviz, draws it; without them it is an SVG of up to 300
        nodes.

    Raises:
        ValueError: rankdir is unknown, or the graph is too large to be laid out.
    """
    if rankdir not in ("LR", "TB", None):
        raise ValueError(f"draw_dot: rankdir is {rankdir!r}; use LR (left to right) or TB (top to bottom)")
    draw = tensor_graph if isinstance(root, Tensor) else value_graph
    return draw(root, format, rankdir)
