"""What `viz.draw_dot` draws: a record for each value, an ellipse for the operation that made it.

A graph of scalars is read from `_prev` and `_op`, so micrograd's own values are drawn as well; one of tensors is read
from the text of `Tensor.graph()`. Deep graphs are walked without recursion.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import graphviz

from .._core import Tensor
from .._stages import NODE, STRIDES
from .style import PALE

MAX_NODES = 2000  # a few seconds for Graphviz; twice as many take ten times as long
MISSING = (
    "draw_dot: Graphviz's program 'dot' is not here; apt-get install graphviz (or brew install graphviz, or "
    "pip install pygraphviz, which brings its own), or give the text in .source to another viewer"
)
HELD = "#dbe9f4"

OPERAND = re.compile(r"%\d+|data|position|-?[\d.]+(?:e[+-]\d+)?|-?inf|-?nan")


class Graph(graphviz.Digraph):  # type: ignore[misc]
    """A `graphviz.Digraph` that pygraphviz draws where there is no program `dot`, and that a notebook shows as text
    where there is neither."""

    def pipe(self, format: str | None = None, encoding: str | None = None, **options: Any) -> Any:
        """The picture as bytes, or as text with an encoding."""
        try:
            return super().pipe(format=format, encoding=encoding, **options)
        except graphviz.ExecutableNotFound:
            picture = _without_dot(self.source, format or self.format)
            return picture.decode(encoding) if encoding else picture

    def render(self, filename: Any = None, directory: Any = None, format: str | None = None, **options: Any) -> Any:
        """Writes the source and the picture; returns the path of the picture."""
        try:
            return super().render(filename=filename, directory=directory, format=format, **options)
        except graphviz.ExecutableNotFound:
            picture = _without_dot(self.source, format or self.format)
            path = f"{self.save(filename=filename, directory=directory)}.{format or self.format}"
            with open(path, "wb") as file:
                file.write(picture)
            return path

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None, **options: Any) -> dict[str, Any]:
        try:
            bundle: dict[str, Any] = super()._repr_mimebundle_(include, exclude, **options)
        except graphviz.ExecutableNotFound:
            bundle = {"text/plain": f"{self.source}\n# {MISSING}"}
        return bundle


def _without_dot(source: str, format: str) -> bytes:
    try:
        import pygraphviz
    except ImportError:
        raise NoRenderer(MISSING) from None
    picture: bytes = pygraphviz.AGraph(string=source).draw(format=format, prog="dot")
    return picture


class NoRenderer(graphviz.ExecutableNotFound):  # type: ignore[misc]
    """No program on this machine can draw a graph."""

    def __init__(self, message: str) -> None:
        RuntimeError.__init__(self, message)


def value_graph(root: Any, format: str, rankdir: str) -> Graph:
    """The graph behind a scalar: `data | grad`, with the label in front where there is one."""
    names: dict[Any, str] = {root: "v0"}
    open_nodes, edges = [root], []
    while open_nodes:
        node = open_nodes.pop()
        for child in node._prev:
            if child not in names:
                names[child] = f"v{len(names)}"
                open_nodes.append(child)
            edges.append((child, node))
        _check_size(len(names))
    graph = Graph(format=format, graph_attr={"rankdir": rankdir})
    for node, name in names.items():
        cells = [f"data {node.data:.4f}", f"grad {node.grad:.4f}"]
        if label := getattr(node, "label", ""):
            cells.insert(0, str(label))
        graph.node(name, _record(cells), shape="record")
        if node._op:
            graph.node(f"{name}op", graphviz.escape(node._op))
            graph.edge(f"{name}op", name)
    for child, node in edges:
        graph.edge(names[child], names[node] + ("op" if node._op else ""))
    return graph


def tensor_graph(root: Tensor, format: str, rankdir: str) -> Graph:
    """The pending graph behind a tensor: `shape | type`, shaded where the values will be in memory afterwards.

    Operations that share a kernel have one colour; one that several kernels compute for themselves has all of theirs.
    """
    graph = Graph(format=format, graph_attr={"rankdir": rankdir})
    lines = [match for line in root.graph().splitlines() if (match := NODE.fullmatch(line))]
    _check_size(len(lines))
    kernels: dict[str, list[int]] = {}
    for k, step in enumerate(root.plan() if lines else []):
        for node in step.nodes:
            kernels.setdefault(str(node), []).append(k)
    if not lines:
        graph.node("n", _record([str(list(root.shape)), root.dtype.name]), shape="record")
    for line in lines:
        number, op, dtype, sizes, folds, operands, held = line.groups()
        folded = {int(d) for d in (folds or "").split()}
        shape = [int(size) for d, size in enumerate(sizes.split(", ") if sizes else []) if d not in folded]
        look = {"style": "filled", "fillcolor": HELD} if held else {}
        graph.node(f"n{number}", _record([str(shape), dtype]), shape="record", **look)
        inputs = OPERAND.findall(STRIDES.sub("", operands))
        constants = [] if "position" in inputs else [f"{float(text):g}" for text in inputs if text[0] not in "%d"]
        colours = list(dict.fromkeys(PALE[k % len(PALE)] for k in kernels.get(number, [])))
        look = {"style": "wedged" if len(colours) > 1 else "filled", "fillcolor": ":".join(colours)} if colours else {}
        graph.node(f"n{number}op", graphviz.escape(" ".join([op, *constants])), **look)
        graph.edge(f"n{number}op", f"n{number}")
        for i, text in enumerate(inputs):
            if text == "data":
                graph.node(f"n{number}data{i}", "data", shape="record", style="filled", fillcolor=HELD)
                graph.edge(f"n{number}data{i}", f"n{number}op")
            elif text[0] == "%":
                graph.edge(f"n{text[1:]}", f"n{number}op")
    return graph


def _check_size(count: int) -> None:
    if count > MAX_NODES:
        raise ValueError(
            f"draw_dot: more than {MAX_NODES:,} nodes, which take minutes to lay out; draw a smaller expression"
        )


def _record(cells: Iterable[str]) -> str:
    """A label of Graphviz's shape "record", whose own signs are escaped in the texts."""
    return "{ " + " | ".join(re.sub(r"([\\{}|<>])", r"\\\1", cell) for cell in cells) + " }"
