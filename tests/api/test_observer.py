"""The observer of calls: what it is told, what it is not, and that nobody is told by default."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import spirograd as sg


@pytest.fixture
def seen() -> Iterator[list[tuple[str, int, list[str], Any]]]:
    calls: list[tuple[str, int, list[str], Any]] = []
    sg._core._set_observer(lambda name, args, kwargs, result: calls.append((name, len(args), list(kwargs), result)))
    yield calls
    sg._core._set_observer(None)


CALLS: dict[str, tuple[Callable[[sg.Tensor], Any], str, int, list[str]]] = {
    "function": (lambda x: sg.relu(x), "relu", 1, []),
    "method": (lambda x: x.softmax(0), "softmax", 2, []),
    "keyword": (lambda x: sg.sum(x, dim=0, keepdim=True), "sum", 1, ["dim", "keepdim"]),
    "input by name": (lambda x: sg.exp(input=x), "exp", 0, ["input"]),
    "creation": (lambda x: sg.zeros(2, dtype=sg.int64), "zeros", 1, ["dtype"]),
    "operator": (lambda x: x + 1, "__add__", 2, []),
    "reflected": (lambda x: 1 - x, "__sub__", 2, []),
    "comparison": (lambda x: x <= 0, "__le__", 2, []),
    "unary": (lambda x: -x, "__neg__", 1, []),
    "power": (lambda x: x**2, "__pow__", 2, []),
    "index": (lambda x: x[0], "__getitem__", 2, []),
    "attribute": (lambda x: x.T, "T", 1, []),
    "in place": (lambda x: x.add_(1), "add_", 2, []),
}


@pytest.mark.parametrize("name", CALLS)
def test_a_call_is_told_once_with_its_result(name: str, seen: list[Any]) -> None:
    call, told, positional, keywords = CALLS[name]
    x = sg.ones(2, 2)
    seen.clear()
    result = call(x)
    assert [(n, p, k) for n, p, k, _ in seen] == [(told, positional, keywords)] and seen[0][3] is result


def test_writes_and_rows_are_told(seen: list[Any]) -> None:
    x = sg.ones(3, 2)
    x[1] = 5
    x += 1
    rows = list(x)
    assert [n for n, *_ in seen] == ["ones", "__setitem__", "__iadd__", *["__getitem__"] * 3] and len(rows) == 3


def test_what_the_observer_calls_is_not_told_and_its_errors_are_raised() -> None:
    told = []

    def observer(name: str, args: Any, kwargs: Any, result: sg.Tensor) -> None:
        told.append((name, float(result.sum())))
        if name == "exp":
            raise RuntimeError("enough")

    x = sg.zeros(2)
    sg._core._set_observer(observer)
    try:
        x.cos()
        with pytest.raises(RuntimeError, match="enough"):
            x.exp()
        with pytest.raises(ValueError, match="matmul"):
            sg.ones(2, 3) @ sg.ones(2, 3)  # a call that fails is not told
    finally:
        sg._core._set_observer(None)
    x.sin()
    assert told == [("cos", 2.0), ("exp", 2.0), ("ones", 6.0), ("ones", 6.0)]


def test_an_export_follows_its_own_thread_alone() -> None:
    pytest.importorskip("onnx", reason="needs onnx")
    stop = threading.Event()

    def busy() -> None:
        x = sg.ones(3)
        while not stop.is_set():
            x = (x + 1).cos()

    thread = threading.Thread(target=busy)
    thread.start()
    try:
        net = sg.nn.Sequential(sg.nn.Linear(3, 4), sg.nn.ReLU())
        for _ in range(20):
            assert len(sg.onnx.export(net, sg.ones(2, 3)).graph.node) == 4
    finally:
        stop.set()
        thread.join()
