"""What graph(), plan() and explain() give: tables in the width of a terminal, and the whole text on demand."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import spirograd as sg
from spirograd import _stages
from spirograd.base.tables import table_html, table_text


def pending(device: sg.Device) -> sg.Tensor:
    x, w = sg.randn(64, 32, device=device).realize(), sg.randn(32, 16, device=device).realize()
    return ((x @ w) * 2).relu().sum(0).exp()


def test_a_table_of_operations_and_of_kernels(device: sg.Device) -> None:
    y = pending(device)
    graph, plan = y.graph(), y.plan()
    assert repr(graph).splitlines()[0] == "5 pending operations" and len(repr(graph).splitlines()) == 7
    assert [row.split()[1] for row in repr(graph).splitlines()[2:]] == ["matmul", "mul", "relu", "sum", "exp"]
    assert [row.split()[1] for row in repr(plan).splitlines()[2:]] == [step.name for step in plan]
    assert sum(step.flops for step in plan) >= 2 * 64 * 32 * 16
    assert min(step.bytes for step in plan) > 0 and plan[0].shapes == "[64, 32] @ [32, 16]"
    for shown in (graph, plan, sg.explain(y)):
        assert shown._repr_html_().startswith("<table>") and "matmul" in shown._repr_html_()


def test_the_text_is_there_on_demand(device: sg.Device) -> None:
    y = pending(device)
    graph, explanation = y.graph(), sg.explain(y)
    assert type(str(graph)) is str and str(graph).startswith("%0 = matmul float32[") and f"{graph}" == str(graph)
    assert str(graph) in explanation and "---- plan ----" in str(explanation)
    assert repr(explanation) != str(explanation) and len(repr(explanation).splitlines()) == 2 + len(y.plan())
    y.tolist()
    assert repr(y.graph()) == "the value is there: float32[16]"
    assert repr(y.plan()) == repr(sg.explain(y)) == "nothing is pending"


def test_a_table_is_cut_to_the_width(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    name = "matmul_" + "add_mul_" * 20 + "end"
    lines = table_text("3 kernels", ("", "kernel", "bytes"), [("0", name, "1,024"), ("1", "exp", "4")]).splitlines()
    assert max(map(len, lines)) == 60 and "matmul_" in lines[2] and "…" in lines[2] and "_end  1,024" in lines[2]
    many = [(str(i), "exp") for i in range(200)]
    assert "(140 more)" in table_text("many", ("", "op"), many) and "(140 more)" in table_html("many", ("", "op"), many)
    assert "&lt;b&gt;" in table_html("<b>", (), ())


@pytest.fixture
def lines() -> Iterator[None]:
    sg._core._keep_lines(True)
    yield
    sg._core._keep_lines(False)


def line_of(function: Callable[..., Any], offset: int) -> str:
    return f"{Path(__file__).name}:{function.__code__.co_firstlineno + offset}"


def forward(x: sg.Tensor, w: sg.Tensor) -> sg.Tensor:
    y = x @ w
    y = sg.nn.functional.softplus(y)
    return y.square().sum()


def test_plans_and_graphs_name_the_lines_that_recorded(lines: None, device: sg.Device) -> None:
    x, w = sg.ones(4, 3, device=device), sg.ones(3, 2, device=device, requires_grad=True)
    sg.synchronize()
    loss = forward(x, w)
    product, softplus, total = (line_of(forward, i) for i in (1, 2, 3))
    loss.backward()
    assert w.grad is not None
    kernels = {step.name: [Path(line).name for line in step.lines] for step in w.grad.plan()}
    assert all(kernels.values()) and {line for of_one in kernels.values() for line in of_one} == {
        product,
        softplus,
        total,
    }
    last = w.grad.plan()[-1]
    assert "matmul" in last.name and Path(last.lines[-1]).name == product, "a gradient has the line of its operation"
    for shown in (w.grad.plan(), w.grad.graph(), sg.explain(w.grad)):
        assert repr(shown).splitlines()[1].endswith("line") and product.split(":")[1] in repr(shown)
        assert "<th" in shown._repr_html_() and ">line</th>" in shown._repr_html_()
    assert f"// {__file__}:{product.split(':')[1]}\n" in str(sg.explain(w.grad)) or device.kind == "cpu"


def test_lines_are_kept_only_where_somebody_asked(device: sg.Device) -> None:
    y = sg.ones(3, device=device) * 2
    assert [step.lines for step in y.plan()] == [[]] * len(y.plan())
    assert "line" not in repr(y.plan()).splitlines()[1] and "#" not in y.graph()
    program = "import spirograd as sg; print((sg.ones(2) * 2).plan()[0].lines)"
    for value, shown in (("1", "['<string>:1']"), ("0", "[]"), ("", "[]")):
        environment = {**os.environ, "SPIROGRAD_LINES": value}
        command = [sys.executable, "-c", program]
        assert subprocess.run(command, env=environment, capture_output=True, text=True).stdout.strip() == shown


def test_lines_of_cells_are_short(monkeypatch: pytest.MonkeyPatch) -> None:
    compiler = SimpleNamespace(format_code_name=lambda name: ("Cell", "In[3]") if name.startswith("/tmp/ipy") else None)
    ipython = SimpleNamespace(get_ipython=lambda: SimpleNamespace(compile=compiler))
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    assert _stages._short_lines(["/tmp/ipykernel_1/2.py:2", "/home/me/net.py:7", "/tmp/ipykernel_1/2.py:5"]) == (
        "In[3]:2, 5, net.py:7"
    )
