"""Draws docs/images/step.svg: the operations of one training step, in a frame for each kernel that computes them.

    tools/step_picture.py [FILE]

All of it is read from `graph()` and `plan()` of the step's results. A test compares the picture of the pages with what
this says now (tests/docs/test_step_picture.py).
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import graphviz
import pygraphviz

import spirograd as sg
from spirograd._stages import NODE
from spirograd.viz._dot import OPERAND
from spirograd.viz.style import PALE

PICTURE = Path(__file__).resolve().parents[1] / "docs" / "images" / "step.svg"


def step() -> list[tuple[str, Any]]:
    """A step of gradient descent, recorded and not run: its results, with names."""
    x, y = sg.zeros(64, 32, device="cpu").realize(), sg.zeros(64, 4, device="cpu").realize()
    w = sg.zeros(32, 4, device="cpu", requires_grad=True).realize()
    b = sg.zeros(4, device="cpu", requires_grad=True).realize()
    loss = ((x @ w + b).sigmoid() - y).square().mean()
    loss.backward()
    assert w.grad is not None and b.grad is not None
    with sg.no_grad():
        return [("loss", loss), ("w", w - 0.1 * w.grad), ("b", b - 0.1 * b.grad)]


def draw(results: list[tuple[str, Any]]) -> graphviz.Digraph:
    """An operation that several kernels compute for themselves is in the frame of the first."""
    kernels = results[0][1].plan()
    home = {str(node): k for k in reversed(range(len(kernels))) for node in kernels[k].nodes}
    lines = {m[1]: m for _, result in results for m in map(NODE.fullmatch, result.graph().splitlines()) if m}
    look = {"fontname": "Helvetica", "fontsize": "13"}
    graph = graphviz.Digraph(
        graph_attr={"rankdir": "LR", "nodesep": "0.15", "ranksep": "0.25", "bgcolor": "white", **look},
        node_attr={"shape": "box", "style": "rounded,filled", "fillcolor": "white", "height": "0.3", **look},
    )
    for k in range(len(kernels)):
        with graph.subgraph(name=f"cluster{k}") as frame:
            frame.attr(
                label=f"kernel {k + 1}", style="rounded,filled", margin="6", color=PALE[k % len(PALE)], labeljust="l"
            )
            for number in filter(lambda n: home.get(n) == k, lines):
                frame.node(f"n{number}", lines[number][2])
    for number, line in lines.items():
        for operand in OPERAND.findall(line[6]):
            if operand[0] == "%" and operand[1:] in lines:
                graph.edge(f"n{operand[1:]}", f"n{number}")
    for name, result in results:
        last = [m[1] for m in map(NODE.fullmatch, result.graph().splitlines()) if m][-1]
        graph.node(name, name, shape="plain", fillcolor="transparent")
        graph.edge(f"n{last}", name)
    return graph


if __name__ == "__main__":
    drawing = pygraphviz.AGraph(string=draw(step()).source)
    drawing.draw(sys.argv[1] if len(sys.argv) > 1 else PICTURE, format="svg", prog="dot")
