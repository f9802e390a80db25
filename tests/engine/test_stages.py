"""What graph(), plan() and explain() give: tables in the width of a terminal, and the whole text on demand."""

from __future__ import annotations

import pytest

import spirograd as sg
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
