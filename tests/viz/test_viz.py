"""Graphs and decision boundaries: what is in the picture, and what is said when it cannot be drawn."""

from __future__ import annotations

import os
import random
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

import spirograd as sg
from spirograd import viz


def parts(dot: Any) -> tuple[dict[str, str], list[tuple[str, str]]]:
    """Nodes with their labels, and edges."""
    nodes = dict(re.findall(r'^\t(\w+) \[label=("[^"]*"|\S+?)[ \]]', dot.source, re.MULTILINE))
    return {name: text.strip('"') for name, text in nodes.items()}, re.findall(r"(\w+) -> (\w+)", dot.source)


# ---- graphs of values ------------------------------------------------------------------------------------------


def test_a_graph_of_values_is_micrograds(device: sg.Device) -> None:
    x = sg.Value(1.0, device=device)
    y = (x * 2 + 1).relu()
    y.backward()
    nodes, edges = parts(viz.draw_dot(y))
    boxes = ["1.0000 | grad 2.0000", "2.0000 | grad 1.0000", "2.0000 | grad 1.0000", "1.0000 | grad 1.0000"]
    boxes += ["3.0000 | grad 1.0000", "3.0000 | grad 1.0000"]
    assert Counter(nodes.values()) == Counter([*(f"{{ data {box} }}" for box in boxes), "*", "+", "ReLU"])
    drawn = Counter((nodes[a], nodes[b]) for a, b in edges)
    assert drawn["{ data 1.0000 | grad 2.0000 }", "*"] == 1 and drawn["+", "{ data 3.0000 | grad 1.0000 }"] == 1
    assert sum(drawn.values()) == 3 + 5  # an edge from each operation, an edge for each operand


def test_a_neuron_has_the_nodes_that_prev_and_op_tell() -> None:
    random.seed(1337)
    out = sg.Neuron(2)([sg.Value(1.0), sg.Value(-2.0)])
    out.backward()
    seen, open_nodes = {out}, [out]
    while open_nodes:
        for child in open_nodes.pop()._prev:
            if child not in seen:
                seen.add(child)
                open_nodes.append(child)
    nodes, edges = parts(viz.draw_dot(out))
    assert len(nodes) == len(seen) + sum(1 for v in seen if v._op)
    assert len(edges) == sum(1 for v in seen if v._op) + sum(len(v._prev) for v in seen)
    assert sorted(v._op for v in seen if v._op) == sorted(t for t in nodes.values() if not t.startswith("{"))


def test_a_shared_value_is_drawn_once_and_labels_stand_in_front() -> None:
    a = sg.Value(3.0)
    a.label = "a {1|2}"
    nodes, edges = parts(viz.draw_dot(a * a + a))
    boxes = [name for name, text in nodes.items() if text == r"{ a \{1\|2\} | data 3.0000 | grad 0.0000 }"]
    assert len(boxes) == 1, nodes
    assert len([1 for start, _ in edges if start == boxes[0]]) == 2


def test_direction_and_format() -> None:
    dot = viz.draw_dot(sg.Value(1.0), format="png", rankdir="TB")
    assert dot.format == "png" and "rankdir=TB" in dot.source
    assert "rankdir=LR" in viz.draw_dot(sg.Value(1.0)).source
    assert "rankdir=TB" in viz.draw_dot(sum((sg.Value(i) for i in range(4)), sg.Value(0))).source, "from 8 nodes on"
    with pytest.raises(ValueError, match="draw_dot: rankdir is 'RL'; use LR"):
        viz.draw_dot(sg.Value(1.0), rankdir="RL")


def test_a_graph_beyond_reason_is_refused_and_a_long_one_is_not() -> None:
    y = x = sg.Value(1.0)
    for _ in range(1500):
        y = y + x
    assert viz.draw_dot(y).source.count("record") == 1501
    for _ in range(1500):
        y = y + x
    with pytest.raises(ValueError, match=r"draw_dot: more than 2,000 nodes, .*; draw a smaller expression"):
        viz.draw_dot(y)


# ---- graphs of tensors -------------------------------------------------------------------------------------------


def test_a_graph_of_tensors_has_shapes_and_operations(device: sg.Device) -> None:
    x = sg.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], device=device)
    w = sg.ones(3, 2, device=device, requires_grad=True)
    w.tolist()
    y = ((x @ w) * 2 + 1).relu().sum(dim=1)
    dot = viz.draw_dot(y)
    nodes, edges = parts(dot)
    operations = [text for text in nodes.values() if not text.startswith("{")]
    assert operations == ["matmul", "data", "data", "mul 2", "add 1", "relu", "sum"]
    assert list(nodes.values())[-2] == "{ [2] | float32 }"
    assert len(edges) == 5 + 6  # results, operands
    assert re.search(r"\[2\] \| float32 \}\".*style=filled", dot.source), "the result is held"
    assert y.tolist() == [26.0, 62.0]
    assert list(parts(viz.draw_dot(y))[0].values()) == ["{ [2] | float32 }"], "nothing is pending"


def test_operations_of_one_kernel_have_one_colour(device: sg.Device) -> None:
    x = sg.tensor([[1.0, 2.0], [3.0, 4.0]], device=device)
    w = sg.ones(2, 2, device=device)
    w.tolist()
    y = ((x @ w) * 2).relu().sum(dim=0).exp()
    named = re.findall(r'n\d+op \[label="?([^"\s]+)[^]]*?fillcolor="([^"]+)"', viz.draw_dot(y).source)
    steps = {word: i for i, step in enumerate(y.plan()) for word in step.name.split("_")}
    assert len(named) == 5, named
    for op, colour in named:
        assert colour == viz.style.PALE[steps[op] % len(viz.style.PALE)], (op, colour, steps)
    assert len({colour for _, colour in named}) == len(y.plan()) > 1
    nodes = [int(n) for n in re.findall(r"%(\d+) = ", y.graph())]
    assert sorted(n for step in y.plan() for n in step.nodes) == nodes


def test_an_operation_that_two_kernels_repeat_has_both_colours() -> None:
    x = sg.randn(3000)
    x.tolist()
    y = x.exp()
    z = (y - y.sum()) / 2
    sums = [step.nodes for step in z.plan()]
    twice = [n for n in set(sums[0]) if sum(n in nodes for nodes in sums) > 1]
    assert bool(twice) == ("style=wedged" in viz.draw_dot(z).source)


def test_numbers_are_shown_and_positions_are_not() -> None:
    x = sg.randn(3)
    assert [t for t in parts(viz.draw_dot(sg.where(x > 0.5, x, -1e-9)))[0].values() if t[0] != "{"] == [
        "randn",
        "gt 0.5",
        "where -0",
    ]


# ---- when something is missing -----------------------------------------------------------------------------------


@pytest.fixture
def no_renderer(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setitem(sys.modules, "pygraphviz", None)


def boxes(picture: str) -> list[tuple[float, ...]]:
    """Left, top, right, bottom of what is drawn."""
    root = ElementTree.fromstring(picture)
    svg = "{http://www.w3.org/2000/svg}"
    found = []
    for e in [*root.iter(svg + "rect"), *root.iter(svg + "ellipse")]:
        if e.tag == svg + "ellipse":
            x, y, w, h = (float(e.get(k, 0)) for k in ("cx", "cy", "rx", "ry"))
            found.append((x - w, y - h, x + w, y + h))
        elif e.get("width") != "100%":
            x, y, w, h = (float(e.get(k, 0)) for k in ("x", "y", "width", "height"))
            found.append((x, y, x + w, y + h))
    return found


@pytest.mark.parametrize("rankdir", ["LR", "TB"])
@pytest.mark.usefixtures("no_renderer")
def test_without_a_program_a_small_graph_is_drawn(rankdir: str) -> None:
    random.seed(0)
    out = sg.MLP(2, [3, 1])([sg.Value(1.0), sg.Value(2.0)])
    out.label = "a < b"
    dot = viz.draw_dot(out, rankdir=rankdir)
    picture = dot._repr_mimebundle_()["image/svg+xml"]
    nodes, edges = parts(dot)
    assert picture.startswith('<svg style="max-width: 100%; height: auto"') and "a &lt; b" in picture
    assert picture.count("<ellipse") == sum(not text.startswith("{") for text in nodes.values())
    assert picture.count("marker-end") == len(edges)
    drawn = boxes(picture)
    for i, (l1, t1, r1, b1) in enumerate(drawn):
        for l2, t2, r2, b2 in drawn[:i]:
            assert r1 <= l2 + 0.2 or r2 <= l1 + 0.2 or b1 <= t2 + 0.2 or b2 <= t1 + 0.2, "nothing overlaps"
    width, height = map(float, ElementTree.fromstring(picture).attrib["viewBox"].split()[2:])
    assert min(min(box) for box in drawn) >= 0
    assert max(r for _, _, r, _ in drawn) <= width and max(b for *_, b in drawn) <= height


@pytest.mark.usefixtures("no_renderer")
def test_without_a_program_the_text_is_there(tmp_path: Path) -> None:
    path = viz.draw_dot(sg.Value(1.0) + 2.0).render(tmp_path / "graph")
    assert path == str(tmp_path / "graph.svg") and "<svg" in Path(path).read_text()
    y = x = sg.Value(1.0)
    for _ in range(200):
        y = y + x
    dot = viz.draw_dot(y)
    assert dot.source.startswith("digraph {")
    for draw in (dot.pipe, lambda: viz.draw_dot(x).pipe("png")):
        with pytest.raises(RuntimeError, match=r"draw_dot: .*'dot' is not here; apt-get install graphviz"):
            draw()
    shown = dot._repr_mimebundle_()
    assert list(shown) == ["text/plain"] and dot.source in shown["text/plain"] and "apt-get" in shown["text/plain"]


def test_pygraphviz_draws_where_there_is_no_program(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    pytest.importorskip("pygraphviz", exc_type=ImportError, reason="pygraphviz is not installed")
    monkeypatch.setenv("PATH", str(tmp_path))
    dot = viz.draw_dot(sg.Value(1.0) + 2.0)
    assert "<svg" in dot._repr_mimebundle_()["image/svg+xml"]
    path = Path(dot.render(tmp_path / "graph", format="png"))
    assert path == tmp_path / "graph.png" and path.read_bytes().startswith(b"\x89PNG")
    assert (tmp_path / "graph").read_text() == dot.source


# ---- decision boundaries -----------------------------------------------------------------------------------------

POINTS = np.array([[-1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])


def shares(path: Path) -> list[float]:
    """How much of the picture has the ground of each class."""
    image = pytest.importorskip("matplotlib.image", reason="pictures need matplotlib")
    pixels = image.imread(path)[:, :, :3]
    grounds = [[int(c[i : i + 2], 16) / 255 for i in (1, 3, 5)] for c in viz.style.PALE[:3]]
    return [float((np.abs(pixels - g).max(axis=2) < 0.02).mean()) for g in grounds]


class Right(sg.nn.Module):
    """Whether a point lies right of 0."""

    def __init__(self, device: sg.Device) -> None:
        super().__init__()
        self.scale = sg.nn.Parameter(sg.ones(1, device=device))

    def forward(self, x: sg.Tensor) -> sg.Tensor:
        return x[:, 0:1] * self.scale


def test_boundary_of_a_module(device: sg.Device, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="pictures need matplotlib")
    path = tmp_path / "boundary.png"
    figure = viz.plot_decision_boundary(Right(device), POINTS, [0, 1, 1], path, title="right or left")
    left, right, _ = shares(path)
    assert left == pytest.approx(right, abs=0.02) and left > 0.2
    axes = figure.axes[0]
    assert axes.get_title() == "right or left"
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["0", "1"]


def test_boundary_of_values(device: sg.Device, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="pictures need matplotlib")
    neuron = sg.Neuron(2, nonlin=False, device=device)
    neuron.w[0].data, neuron.w[1].data, neuron.b.data = 1.0, 0.0, 0.0
    path = tmp_path / "boundary.png"
    viz.plot_decision_boundary(neuron, POINTS.tolist(), [-1, 1, 1], path, steps=20)
    left, right, _ = shares(path)
    assert left == pytest.approx(right, abs=0.02) and left > 0.2


def test_boundary_of_several_classes_and_of_one(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="pictures need matplotlib")
    path = tmp_path / "boundary.png"
    viz.plot_decision_boundary(lambda p: [-p[0], p[0], p[1]], POINTS, [0, 1, 2], path, steps=20)
    assert min(shares(path)) > 0.05
    viz.plot_decision_boundary(lambda p: 1.0, POINTS, [1, 1, 1], path, steps=5)
    assert shares(path)[0] == 0.0


@pytest.mark.parametrize(("points", "classes"), [([[1.0]], [1]), ([1.0, 2.0], [1, 2]), ([[1.0, 2.0]], [1, 2])])
def test_wrong_shapes(points: Any, classes: Any) -> None:
    pytest.importorskip("matplotlib", reason="pictures need matplotlib")
    with pytest.raises(ValueError, match=r"plot_decision_boundary: X has shape \[.*; give \[n, 2\] and \[n\]"):
        viz.plot_decision_boundary(lambda p: 0.0, points, classes)


# ---- training ----------------------------------------------------------------------------------------------------


def text_of(figure: Any) -> list[str]:
    text = pytest.importorskip("matplotlib.text", reason="pictures need matplotlib")
    return [t.get_text() for t in figure.findobj(text.Text) if t.get_text()]


def test_a_history_has_a_panel_for_each_metric(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="pictures need matplotlib")
    history = sg.training.History()
    with pytest.raises(ValueError, match="plot_history: the history has no epoch; train for one at least"):
        viz.plot_history(history)
    history.epochs, history.metrics = [1, 2], {"loss": [2.0, 1.0], "accuracy": [0.5, 0.75]}
    history.val_metrics = {"loss": [2.5, 1.5]}
    figure = viz.plot_history(history, tmp_path / "history.png")
    assert [axes.get_ylabel() for axes in figure.axes] == ["loss", "accuracy"]
    assert [list(line.get_ydata()) for line in figure.axes[0].lines] == [[2.0, 1.0], [2.5, 1.5]]
    assert len(figure.axes[1].lines) == 1 and {"training", "validation", "epoch"} <= set(text_of(figure))
    assert (tmp_path / "history.png").read_bytes().startswith(b"\x89PNG")


def test_a_confusion_matrix_has_its_counts_and_names() -> None:
    pytest.importorskip("matplotlib", reason="pictures need matplotlib")
    matrix = sg.tensor([[5, 1], [0, 4]])
    figure = viz.plot_confusion_matrix(matrix, ["cat", "dog"])
    assert {"5", "1", "0", "4", "cat", "dog", "said", "is"} <= set(text_of(figure))
    (image,) = figure.axes[0].images
    np.testing.assert_allclose(image.get_array(), [[5 / 6, 1 / 6], [0, 1]])
    with pytest.raises(
        ValueError, match=r"plot_confusion_matrix: matrix has shape \[2, 3\]; give \[classes, classes\]"
    ):
        viz.plot_confusion_matrix(np.zeros((2, 3)))
    with pytest.raises(ValueError, match="plot_confusion_matrix: 1 names for 2 classes; give one each"):
        viz.plot_confusion_matrix(matrix, ["cat"])


def test_filters_are_pictures(device: sg.Device) -> None:
    pytest.importorskip("matplotlib", reason="pictures need matplotlib")
    grey = viz.plot_filters(sg.randn(10, 1, 3, 3, device=device))
    assert sum(len(axes.images) for axes in grey.axes[:-1]) == 10  # the last has the scale
    weight = np.random.default_rng(0).normal(size=(4, 3, 5, 5))
    colour = viz.plot_filters(weight)
    pictures = [axes.images[0].get_array() for axes in colour.axes if axes.images]
    assert [p.shape for p in pictures] == [(5, 5, 3)] * 4 and {p.min() for p in pictures} == {0.0}
    assert {p.max() for p in pictures} == {1.0}
    channels = viz.plot_filters(np.ones((2, 4, 3, 3)))
    assert channels.axes[0].get_subplotspec().get_gridspec().ncols == 4
    with pytest.raises(
        ValueError, match=r"plot_filters: weight has shape \[2, 2\]; give \[filters, channels, height, width"
    ):
        viz.plot_filters(sg.nn.Linear(2, 2))


DRAWN = """
import spirograd as sg
from spirograd.viz import draw_dot

junk = [bytearray(n) for n in range(%d)]  # values are at other addresses
x = [sg.Value(float(i)) for i in range(4)]
y = sum((a * b + a / (b + 2) for a in x for b in x), sg.Value(0.0)).tanh()
walked, open_nodes = [], [y]  # as in micrograd's notebooks
while open_nodes:
    node = open_nodes.pop()
    walked.append(node.data)
    open_nodes += list(node._prev)
print(draw_dot(y).pipe().decode(), walked)
"""


def test_a_graph_of_values_is_drawn_alike_in_each_run() -> None:
    environment = {**os.environ, "PATH": os.devnull}  # without Graphviz
    commands = [[sys.executable, "-c", DRAWN % n] for n in (0, 1000, 3000)]
    runs = [subprocess.run(c, env=environment, capture_output=True, text=True, check=True).stdout for c in commands]
    assert "<svg" in runs[0] and len(set(runs)) == 1
