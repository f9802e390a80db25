"""Pictures of the graph behind a value."""

from __future__ import annotations

from typing import Any

from .._core import Tensor

__all__ = ["draw_dot"]


def draw_dot(root: Any, format: str = "svg", rankdir: str = "LR") -> Any:
    """The graph behind a value, as micrograd's notebooks draw it; a notebook shows it by itself.

    Args:
        root: a `Value`, whose nodes show `data | grad` (and the label in front); or a tensor, whose pending nodes show
            `shape | type`, shaded where the values will be in memory afterwards, and whose operations have one colour
            a kernel: what is fused is alike.
        format: of the picture: "svg", "png", "pdf".
        rankdir: "LR", from left to right, or "TB", from top to bottom.

    Returns:
        A `graphviz.Digraph`. `.render("file")` writes the picture, `.source` is its text. Pictures need Graphviz's
        program `dot`, or the package pygraphviz; the text needs neither.

    Raises:
        ImportError: the package graphviz is not installed.
        ValueError: rankdir is unknown, or the graph is too large to be laid out.
    """
    if rankdir not in ("LR", "TB"):
        raise ValueError(f"draw_dot: rankdir is {rankdir!r}; use LR (left to right) or TB (top to bottom)")
    try:
        from . import _dot
    except ImportError as error:
        if error.name != "graphviz":
            raise
        raise ImportError(
            "draw_dot: the package graphviz is not installed; pip install graphviz", name="graphviz"
        ) from None
    draw = _dot.tensor_graph if isinstance(root, Tensor) else _dot.value_graph
    return draw(root, format, rankdir)
