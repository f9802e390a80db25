"""Interceptors of calls: what they see, what they do not, and whose result counts."""

from __future__ import annotations

import copy
import inspect
import pickle
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import spirograd as sg


@pytest.fixture
def seen() -> Iterator[list[tuple[str, int, list[str], Any]]]:
    calls: list[tuple[str, int, list[str], Any]] = []

    def interceptor(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        result = function(*args, **kwargs)
        calls.append((function.__name__, len(args), list(kwargs), result))
        return result

    with sg._core._Mode(interceptor=interceptor):
        yield calls


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
def test_a_call_is_seen_once_with_its_result(name: str, seen: list[Any]) -> None:
    call, told, positional, keywords = CALLS[name]
    x = sg.ones(2, 2)
    seen.clear()
    result = call(x)
    assert [(n, p, k) for n, p, k, _ in seen] == [(told, positional, keywords)] and seen[0][3] is result


def test_writes_and_rows_are_seen(seen: list[Any]) -> None:
    x = sg.ones(3, 2)
    x[1] = 5
    x += 1
    rows = list(x)
    names = [n for n, *_ in seen]
    assert names == ["ones", "__setitem__", "__iadd__", "__len__", *["__getitem__"] * 3] and len(rows) == 3


def test_facts_and_what_python_makes_of_tensors_are_seen(seen: list[Any]) -> None:
    x = sg.zeros(2)
    x.requires_grad = True
    facts = (
        x.shape,
        x.dtype,
        x.device,
        x.ndim,
        x.requires_grad,
        x.is_leaf,
        x.grad,
        len(x),
        3 in x,
        bool(x[0]),
        int(x[1]),
    )
    x.grad = sg.ones(2)
    assert facts[3:] == (1, True, True, None, 2, False, False, 0) and repr(x).startswith("tensor")
    names = ["shape", "dtype", "device", "ndim", "requires_grad", "is_leaf", "grad", "__len__", "__contains__"]
    names += ["__getitem__", "__bool__", "__getitem__", "__int__", "ones", "grad", "__repr__"]
    assert [n for n, *_ in seen] == ["zeros", "requires_grad", *names]


def test_functions_written_in_python_are_seen_as_a_whole(seen: list[Any]) -> None:
    x = sg.ones(2, 3)
    sg.nn.functional.layer_norm(x, (3,))
    sg.linalg.norm(x)
    sg.trapezoid(x)
    sg.nn.Identity()(x)
    assert [n for n, *_ in seen] == ["ones", "layer_norm", "norm", "trapezoid", "__call__"]
    function = sg.nn.functional.layer_norm
    assert pickle.loads(pickle.dumps(function)) is copy.deepcopy(function) is function
    assert function.__name__ == "layer_norm" and next(iter(inspect.signature(function).parameters)) == "input"


def test_what_an_interceptor_calls_is_not_seen_and_its_errors_are_raised() -> None:
    seen = []

    def interceptor(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        result = function(*args, **kwargs)
        seen.append((function.__name__, float(result.sum())))
        if function.__name__ == "exp":
            raise RuntimeError("enough")
        return result

    x = sg.zeros(2)
    with sg._core._Mode(interceptor=interceptor):
        x.cos()
        with pytest.raises(RuntimeError, match="enough"):
            x.exp()
        with pytest.raises(ValueError, match="matmul"):
            sg.ones(2, 3) @ sg.ones(2, 3)
    x.sin()
    assert seen == [("cos", 2.0), ("exp", 2.0), ("ones", 6.0), ("ones", 6.0)]


def test_the_innermost_is_asked_first_and_its_result_counts() -> None:
    order: list[str] = []

    def named(name: str) -> Callable[..., Any]:
        def interceptor(function: Callable[..., Any], args: Any, kwargs: Any) -> Any:
            order.append(name)
            return function(*args, **kwargs) * 2

        return interceptor

    x = sg.ones(2)
    with sg._core._Mode(interceptor=named("outer")), sg._core._Mode(interceptor=named("inner")):
        y = x + 1  # inner's product is seen by outer
        with sg._core._Mode(alone=True):
            z = x + 1
    # inner: (outer: (x + 1) * 2) * 2, whose last product outer sees: * 2
    assert order == ["inner", "outer", "outer"] and y.tolist() == [16.0, 16.0] and z.tolist() == [2.0, 2.0]


def test_classes_come_before_interceptors_and_autocast_after_them() -> None:
    class Answering:
        @classmethod
        def __spirograd_function__(cls, function: Any, args: Any, kwargs: Any) -> str:
            return "class"

    types = []

    def interceptor(function: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        if "matmul" in function.__name__:
            types.append(args[0].dtype)
        return function(*args, **kwargs)

    other: Any = Answering()
    x = sg.ones(2, 2)
    with sg._core._Mode(interceptor=interceptor), sg.amp.autocast("cpu"):
        assert x.add(other) == "class" and not types
        assert (x @ x).dtype == x.matmul(x).dtype == sg.bfloat16 and types == [sg.float32] * 2
        assert (x.bfloat16() ** 2).dtype == sg.float32
        assert (x @ np.ones((2, 2), np.float32)).dtype == (np.ones((2, 2), np.float32) @ x).dtype == sg.bfloat16


def test_other_threads_are_not_seen(seen: list[Any]) -> None:
    thread = threading.Thread(target=lambda: sg.ones(2) + 1)
    thread.start()
    thread.join()
    assert not seen


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
