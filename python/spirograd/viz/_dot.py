"""What `viz.draw_dot` draws: a record for each value, an ellipse for the operation that made it.

A graph of scalars is read from `_prev` and `_op`, so micrograd's own values are drawn as well; one of tensors is read
from the text of `Tensor.graph()`. Deep graphs are walked without recursion.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterable, Sequence
from typing import Any

from .._core import Tensor
from .._stages import NODE, STRIDES
from ._layers import Box, svg
from .style import PALE

MAX_NODES = 2000  # a few seconds for Graphviz; twice as many take ten times as long
SMALL = 300  # nodes and operations that are laid out here
MANY = 8  # nodes that are drawn from the top down
MISSING = (
    "draw_dot: Graphviz's program 'dot' is not here; apt-get install graphviz (or brew install graphviz, or "
    "pip install pygraphviz, which brings its own), or give the text in .source to another viewer"
)
HELD = "#dbe9f4"

OPERAND = re.compile(r"%\d+|data|position|-?[\d.]+(?:e[+-]\d+)?|-?inf|-?nan")


class Graph:
    """A picture of boxes and arrows, which a notebook shows.

    Graphviz's program `dot` draws it, or the package pygraphviz; where neither is installed, graphs of up to
    300 nodes are drawn as SVG all the same.

    Attributes:
        format: of the picture, where none is given.
        source: the graph in Graphviz's language.
    """

    def __init__(self, format: str, rankdir: str | None) -> None:
        self.format, self._rankdir = format, rankdir
        self._boxes: dict[str, Box] = {}
        self._edges: list[tuple[str, str]] = []

    def _node(self, name: str, cells: Sequence[str], round: bool = False, colours: Sequence[str] = ()) -> None:
        self._boxes[name] = Box(cells, round, colours)

    def _edge(self, start: str, end: str) -> None:
        self._edges.append((start, end))

    @property
    def _direction(self) -> str:
        return self._rankdir or ("LR" if sum(not box.round for box in self._boxes.values()) < MANY else "TB")

    @property
    def source(self) -> str:
        lines = [f"\tgraph [rankdir={self._direction}]", "\tnode [fontname=monospace fontsize=12]"]
        for name, box in self._boxes.items():
            label = _quoted(_record(box.cells) if len(box.cells) > 1 else box.cells[0])
            look = "" if box.round else " shape=record"
            if box.colours:
                style = "wedged" if len(box.colours) > 1 else "filled"
                look += f' style={style} fillcolor="{":".join(box.colours)}"'
            lines.append(f"\t{name} [label={label}{look}]")
        lines += [f"\t{start} -> {end}" for start, end in self._edges]
        return "\n".join(["digraph {", *lines, "}", ""])

    def pipe(self, format: str | None = None) -> bytes:
        """The picture as bytes.

        Raises:
            RuntimeError: no program here draws this format, or a graph of this size.
        """
        kind = format or self.format
        if program := shutil.which("dot"):
            done = subprocess.run([program, f"-T{kind}"], input=self.source.encode(), capture_output=True, check=False)
            if done.returncode:
                raise RuntimeError(f"draw_dot: dot ended with {done.returncode}: {done.stderr.decode().strip()}")
            return done.stdout
        try:
            import pygraphviz
        except ImportError:
            if kind != "svg" or len(self._boxes) > SMALL:
                raise RuntimeError(MISSING) from None
            boxes = {name: Box(box.cells, box.round, box.colours) for name, box in self._boxes.items()}
            return svg(boxes, self._edges, self._direction == "TB").encode()
        picture: bytes = pygraphviz.AGraph(string=self.source).draw(format=kind, prog="dot")
        return picture

    def render(self, filename: str | os.PathLike[str] = "graph", format: str | None = None) -> str:
        """Writes the source to this file and the picture beside it, whose path comes back."""
        path = f"{os.fspath(filename)}.{format or self.format}"
        picture = self.pipe(format)
        with open(filename, "w", encoding="utf-8") as text, open(path, "wb") as file:
            text.write(self.source)
            file.write(picture)
        return path

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        try:
            picture = self.pipe("svg").decode()
        except RuntimeError as error:
            return {"text/plain": f"{self.source}# {error}"}
        at = picture.index("<svg")  # no wider than the cell
        return {"image/svg+xml": f'{picture[at : at + 4]} style="max-width: 100%; height: auto"{picture[at + 4 :]}'}


def _quoted(text: str) -> str:
    return '"' + text.replace('"', '\\"') + '"'


def value_graph(root: Any, format: str, rankdir: str | None) -> Graph:
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
    graph = Graph(format, rankdir)
    for node, name in names.items():
        cells = [f"data {node.data:.4f}", f"grad {node.grad:.4f}"]
        if label := getattr(node, "label", ""):
            cells.insert(0, str(label))
        graph._node(name, cells)
        if node._op:
            graph._node(f"{name}op", [node._op], round=True)
            graph._edge(f"{name}op", name)
    for child, node in edges:
        graph._edge(names[child], names[node] + ("op" if node._op else ""))
    return graph


def tensor_graph(root: Tensor, format: str, rankdir: str | None) -> Graph:
    """The pending graph behind a tensor: `shape | type`, shaded where the values will be in memory afterwards.

    Operations that share a kernel have one colour; one that several kernels compute for themselves has all of theirs.
    """
    graph = Graph(format, rankdir)
    lines = [match for line in root.graph().splitlines() if (match := NODE.fullmatch(line))]
    _check_size(len(lines))
    kernels: dict[str, list[int]] = {}
    for k, step in enumerate(root.plan() if lines else []):
        for node in step.nodes:
            kernels.setdefault(str(node), []).append(k)
    if not lines:
        graph._node("n", [str(list(root.shape)), root.dtype.name])
    for line in lines:
        number, op, dtype, sizes, folds, operands, held, _ = line.groups()
        folded = {int(d) for d in (folds or "").split()}
        shape = [int(size) for d, size in enumerate(sizes.split(", ") if sizes else []) if d not in folded]
        graph._node(f"n{number}", [str(shape), dtype], colours=[HELD] if held else [])
        inputs = OPERAND.findall(STRIDES.sub("", operands))
        constants = [] if "position" in inputs else [f"{float(text):g}" for text in inputs if text[0] not in "%d"]
        colours = list(dict.fromkeys(PALE[k % len(PALE)] for k in kernels.get(number, [])))
        graph._node(f"n{number}op", [" ".join([op, *constants])], round=True, colours=colours)
        graph._edge(f"n{number}op", f"n{number}")
        for i, text in enumerate(inputs):
            if text == "data":
                graph._node(f"n{number}data{i}", ["data"], colours=[HELD])
                graph._edge(f"n{number}data{i}", f"n{number}op")
            elif text[0] == "%":
                graph._edge(f"n{text[1:]}", f"n{number}op")
    return graph


def _check_size(count: int) -> None:
    if count > MAX_NODES:
        raise ValueError(
            f"draw_dot: more than {MAX_NODES:,} nodes, which take minutes to lay out; draw a smaller expression"
        )


def _record(cells: Iterable[str]) -> str:
    """A label of Graphviz's shape "record", whose own signs are escaped in the texts."""
    return "{ " + " | ".join(re.sub(r"([\\{}|<>])", r"\\\1", cell) for cell in cells) + " }"
