"""Twelve shapes of graphs, of any size, for rows about planning."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import spirograd as sg

Family = Callable[[Any, int, int], Any]  # (device, about so many operations, width): records them, gives what is held
FAMILIES: dict[str, Family] = {}


def family(record: Family) -> Family:
    FAMILIES[record.__name__.replace("_", " ")] = record
    return record


def leaf(device: Any, *shape: int, grad: bool = False) -> Any:
    x = sg.ones(*shape, device=device).realize()
    return x.requires_grad_() if grad else x


@family
def chain(device: Any, n: int, width: int) -> Any:
    x = leaf(device, width)
    for _ in range(n):
        x = sg.tanh(x)
    return x


@family
def chain_and_gradient(device: Any, n: int, width: int) -> Any:
    w, h = leaf(device, 1, grad=True), leaf(device, width)
    for _ in range(n // 10):
        h = sg.tanh(h * w[0])
    h.sum().backward()
    return w.grad


@family
def fan(device: Any, n: int, width: int) -> Any:
    x = leaf(device, width)
    return [x + float(i) for i in range(n)]


@family
def tree(device: Any, n: int, width: int) -> Any:
    level = [leaf(device, width) for _ in range(max(n, 2))]
    while len(level) > 1:
        level = [sum(level[i + 1 : i + 2], level[i]) for i in range(0, len(level), 2)]
    return level[0]


@family
def scalars_stacked(device: Any, n: int, width: int) -> Any:
    x, w = leaf(device, width, 8), leaf(device, 8, 4)
    return sg.stack([sg.log_softmax(x @ w, 1)[0, 1] for _ in range(n // 8)]).sum()


@family
def growing_result(device: Any, n: int, width: int) -> Any:
    h = leaf(device, 1, width)
    for _ in range(n // 4):
        h = sg.cat([h[-16:], h[-1:] * 0.5])
    return h


@family
def products(device: Any, n: int, width: int) -> Any:
    x, w = leaf(device, width, 4), leaf(device, 4, 4)
    for _ in range(n):
        x = x @ w
    return x


@family
def deep_network(device: Any, n: int, width: int) -> Any:
    weights = [leaf(device, 8, 8, grad=True) for _ in range(max(n // 7, 1))]
    x = leaf(device, width, 8)
    for w in weights:
        x = sg.relu(x @ w)
    x.sum().backward()
    return [w.grad for w in weights]


@family
def norms(device: Any, n: int, width: int) -> Any:
    x = leaf(device, width, 8)
    for _ in range(n // 5):
        x = (x - x.mean(1, keepdim=True)) * 0.5 + 1.0
    return x


@family
def softmaxes_and_gradient(device: Any, n: int, width: int) -> Any:
    x = leaf(device, width, 8, grad=True)
    y = x
    for _ in range(n // 17):
        y = sg.softmax(y * 0.5, 1)
    y.sum().backward()
    return x.grad


@family
def writes(device: Any, n: int, width: int) -> Any:
    x = leaf(device, 64, width) * 1.0
    for i in range(n // 3):
        x[i % 64] += 1.0
    return x


@family
def loop_with_one_weight(device: Any, n: int, width: int) -> Any:
    steps = max(n // 9, 1)
    w, h, xs = leaf(device, 8, 8, grad=True), leaf(device, width, 8), leaf(device, steps, width, 8)
    for i in range(steps):
        h = sg.tanh(xs[i] + h @ w)
    h.sum().backward()
    return w.grad
