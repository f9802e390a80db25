"""What a notebook shows, in a real kernel: bars, figures, tables, graphs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

nbclient = pytest.importorskip("nbclient", reason="notebooks need nbclient and ipykernel")
nbformat = pytest.importorskip("nbformat")
pytest.importorskip("ipykernel")

START = """
import spirograd as sg
_ = sg.manual_seed(0)
X, y = sg.datasets.moons(64, noise=0.1, seed=0)
net = sg.nn.Sequential(sg.nn.Linear(2, 8), sg.nn.Tanh(), sg.nn.Linear(8, 2))
"""
Cell = Callable[[str], list[Any]]


@pytest.fixture(scope="module")
def cell() -> Iterator[Cell]:
    """Runs a cell and gives its outputs."""
    book = nbformat.v4.new_notebook()
    client = nbclient.NotebookClient(book, timeout=60, kernel_name="python3")

    def run(code: str) -> list[Any]:
        book.cells.append(nbformat.v4.new_code_cell(code))
        client.execute_cell(book.cells[-1], len(book.cells) - 1)
        return list(book.cells[-1].outputs)

    with client.setup_kernel():
        run(START)
        yield run


def test_fit_shows_one_bar(cell: Cell) -> None:
    (output,) = cell("history = sg.fit(net, X, y, epochs=3, seed=0)")
    assert output.output_type == "display_data"
    assert '<progress value="1.000"' in output.data["text/html"] and "6/6" in output.data["text/html"]
    assert "epoch 3/3, loss 0." in output.data["text/plain"]


def test_figures_are_shown_without_pyplot(cell: Cell) -> None:
    pytest.importorskip("matplotlib", reason="pictures need matplotlib")
    cell("found = sg.training.lr_find(net, X, y, seed=0)")
    draws = ["sg.viz.plot_decision_boundary(net, X, y)", "history.plot()", "found.plot()"]
    for draw in [*draws, "import matplotlib.pyplot\n" + draws[0]]:
        (output,) = cell(draw)
        assert output.output_type == "execute_result" and output.data["image/png"].startswith("iVBORw0KGgo"), draw


def test_graph_plan_explanation_and_profile_are_tables(cell: Cell) -> None:
    cell("x, w = sg.randn(64, 32).realize(), sg.randn(32, 16).realize()")
    cell("with sg.profiler.profile() as prof:\n    (x @ w).sum().item()")
    cell("z = ((x @ w) * 2).relu().sum(0).exp()")
    cases = {
        "z.graph()": "5 pending operations", "z.plan()": "2 kernels", "sg.explain(z)": "2 kernels; ",
        "prof": " in all; ", "prof.key_averages()": " in all; ", "net": "parameters: 42, trained: 42",
    }  # fmt: skip
    for code, caption in cases.items():
        (output,) = cell(code)
        assert caption in output.data["text/html"].partition("</caption>")[0].partition("<caption>")[2], code
        text = output.data["text/plain"]
        assert code == "net" or (caption in text and "\\n" not in text), code
        assert max(map(len, text.splitlines())) <= 80, code


def test_a_graph_is_a_picture(cell: Cell) -> None:
    cell("import os, sys; path, os.environ['PATH'] = os.environ['PATH'], ''; sys.modules['pygraphviz'] = None")
    (output,) = cell("v = sg.MLP(2, [2, 1])([1.0, 2.0])\nsg.viz.draw_dot(v)")
    assert output.data["image/svg+xml"].startswith('<svg style="max-width: 100%; height: auto" ')
