"""Random graphs against NumPy in float64: every fusion, view and layout that nobody thought of.

A graph is grown from its root: a random op of the wanted shape, its inputs likewise, sometimes an input made before.
Values stay near 1 and functions are continuous, so float32 and float64 cannot drift apart. The seed is fixed;
SPIROGRAD_TEST_GRAPHS sets the number of graphs, SPIROGRAD_TEST_SEED the first.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import spirograd as sg

Array = np.ndarray[Any, Any]
Shape = tuple[int, ...]
SEED = int(os.environ.get("SPIROGRAD_TEST_SEED", "0"))
GRAPHS = int(os.environ.get("SPIROGRAD_TEST_GRAPHS", "0"))
BATCH = 10
LARGEST = 3000


@dataclass
class Value:
    """A tensor, its exact values, and what stands behind it: memory that was there, memory written, a formula."""

    x: sg.Tensor
    want: Array
    kind: str  # "leaf", "stored", "formula"


class Graph:
    def __init__(self, seed: int, device: sg.Device) -> None:
        self.random = np.random.default_rng(seed)
        self.device = device
        self.made: list[Value] = []
        self.reductions = self.products = self.copies = 0
        self.stored_for_products: set[int] = set()
        rank = int(self.random.integers(0, 4))
        shape = tuple(int(n) for n in self.random.integers(1, 9, rank))
        self.root = self.grow(shape, depth=int(self.random.integers(3, 8)))

    def pick(self, *choices: Any) -> Any:
        return choices[int(self.random.integers(len(choices)))]

    def grow(self, shape: Shape, depth: int) -> Value:
        again = [v for v in self.made if v.want.shape == shape]
        if again and self.random.random() < 0.25:
            return self.pick(*again)
        if depth == 0 or int(np.prod(shape)) > LARGEST:
            return self.leaf(shape)
        grown = self.pick(*self.possible(shape))(shape, depth - 1)
        assert grown.want.shape == shape == grown.x.shape
        self.made.append(grown)
        return grown

    def possible(self, shape: Shape) -> list[Callable[[Shape, int], Value]]:
        ops: list[Callable[[Shape, int], Value]] = [self.unary, self.unary, self.binary, self.binary, self.where]
        ops += [self.reduce, self.reduce, self.reshape]
        if shape:
            ops += [self.permute, self.slice, self.softmax, self.broadcast]
        if len(shape) in (2, 3):
            ops += [self.matmul, self.matmul]
        return ops

    def leaf(self, shape: Shape) -> Value:
        array = self.random.uniform(-1, 1, shape).astype(np.float32)
        x = sg.tensor(array, device=self.device)
        if len(shape) > 1 and self.random.random() < 0.3:
            x = sg.tensor(np.ascontiguousarray(array.T), device=self.device).permute(*reversed(range(len(shape))))
        value = Value(x, array.astype(np.float64), "leaf")
        self.made.append(value)
        return value

    def unary(self, shape: Shape, depth: int) -> Value:
        a = self.grow(shape, depth)
        op, oracle = self.pick(
            (sg.tanh, np.tanh),
            (sg.sigmoid, lambda x: 1 / (1 + np.exp(-x))),
            (sg.relu, lambda x: np.maximum(x, 0)),
            (sg.abs, np.abs),
            (sg.neg, np.negative),
            (sg.sin, np.sin),
            (lambda x: (x * 0.25).exp(), lambda x: np.exp(x * 0.25)),
            (lambda x: (x * x + 1).log(), lambda x: np.log(x * x + 1)),
            (lambda x: 1 / (x.abs() + 1), lambda x: 1 / (np.abs(x) + 1)),
            (lambda x: x * 0.5 - 0.25, lambda x: x * 0.5 - 0.25),
        )
        return Value(op(a.x), oracle(a.want), "formula")

    def binary(self, shape: Shape, depth: int) -> Value:
        other = tuple(1 if self.random.random() < 0.25 else n for n in shape)
        other = other[int(self.random.integers(0, len(shape) + 1)) :] if self.random.random() < 0.3 else other
        a, b = self.grow(shape, depth), self.grow(other, depth)
        if self.random.random() < 0.5:
            a, b = b, a
        op = self.pick(
            lambda x, y: x + y,
            lambda x, y: x - y,
            lambda x, y: x * y * 0.5,
            lambda x, y: (sg.maximum if isinstance(x, sg.Tensor) else np.maximum)(x, y),
            lambda x, y: (sg.minimum if isinstance(x, sg.Tensor) else np.minimum)(x, y),
            lambda x, y: x / (y * y + 1),
        )
        return Value(op(a.x, b.x), op(a.want, b.want), "formula")

    def where(self, shape: Shape, depth: int) -> Value:
        # The condition is exact, or float32 and float64 would take different sides.
        c, a, b = self.leaf(shape), self.grow(shape, depth), self.grow(shape, depth)
        return Value(sg.where(c.x > 0.1, a.x, b.x), np.where(c.want > np.float32(0.1), a.want, b.want), "formula")

    def reduce(self, shape: Shape, depth: int) -> Value:
        at = int(self.random.integers(0, len(shape) + 1))
        n = int(self.random.integers(1, 13))
        keep = at < len(shape) and shape[at] == 1 and self.random.random() < 0.5
        inner = (*shape[:at], n, *shape[at + keep :])
        a = self.grow(inner, depth)
        name = self.pick("mean", "sum", "amax", "amin")
        x, want = (
            getattr(a.x, name)(dim=at, keepdim=bool(keep)),
            getattr(a.want, name.removeprefix("a"))(axis=at, keepdims=bool(keep)),
        )
        self.reductions += 1
        if name == "sum":
            return Value(x * (1 / n), want / n, "formula")
        return Value(x, want, "formula" if name == "mean" else "stored")

    def softmax(self, shape: Shape, depth: int) -> Value:
        a = self.grow(shape, depth)
        dim = int(self.random.integers(0, len(shape)))
        e = np.exp(a.want - a.want.max(axis=dim, keepdims=True))
        want = e / e.sum(axis=dim, keepdims=True)
        self.reductions += 2
        if self.random.random() < 0.3:
            return Value(a.x.log_softmax(dim) * 0.2, np.log(want) * 0.2, "formula")
        return Value(a.x.softmax(dim), want, "formula")

    def permute(self, shape: Shape, depth: int) -> Value:
        order = self.random.permutation(len(shape))
        source = [0] * len(shape)
        for i, d in enumerate(order):
            source[d] = shape[i]
        a = self.grow(tuple(source), depth)
        return Value(a.x.permute(*(int(d) for d in order)), a.want.transpose(order), a.kind)

    def slice(self, shape: Shape, depth: int) -> Value:
        bigger, key = [], []
        for n in shape:
            start, step, rest = (int(v) for v in self.random.integers([0, 1, 0], [3, 3, 2]))
            bigger.append(start + (n - 1) * step + 1 + rest)
            key.append(slice(start, start + (n - 1) * step + 1, step))
        a = self.grow(tuple(bigger), depth)
        return Value(a.x[tuple(key)], a.want[tuple(key)], a.kind)

    def broadcast(self, shape: Shape, depth: int) -> Value:
        a = self.grow(tuple(1 if self.random.random() < 0.4 else n for n in shape), depth)
        return Value(a.x.expand(*shape), np.broadcast_to(a.want, shape), a.kind)

    def reshape(self, shape: Shape, depth: int) -> Value:
        n = int(np.prod(shape))
        options: list[Shape] = [(n,), (1, n), (n, 1), *((d, n // d) for d in (2, 3, 4, 5, 7) if n % d == 0)]
        a = self.grow(self.pick(*options), depth)
        self.copies += 1
        return Value(a.x.reshape(shape), a.want.reshape(shape), "formula" if a.kind == "formula" else "stored")

    def matmul(self, shape: Shape, depth: int) -> Value:
        *batch, m, n = shape
        k = int(self.random.integers(1, 20))
        left: Shape = (*(self.pick(b, 1) for b in batch), m, k) if self.random.random() < 0.7 else (*batch, m, k)
        right: Shape = (*batch, k, n) if left[:-2] != tuple(batch) else self.pick((*batch, k, n), (k, n))
        a, b = self.grow(left, depth), self.grow(right, depth)
        self.products += 1
        for v in (a, b):  # a product reads memory: a formula must be written for it first
            if v.kind == "formula":
                self.copies += 1
        if len(batch) == 1 and len(right) == 2:
            self.copies += 1  # flattening the batch may take one
        return Value((a.x @ b.x) * (1 / k), a.want @ b.want / k, "formula")


def result(seed: int, device: sg.Device) -> tuple[Array, Array, int, int]:
    graph = Graph(seed, device)
    most = graph.reductions + graph.products + graph.copies + 1
    root, want = graph.root.x * 1.0, graph.root.want
    del graph  # only the root is held
    sg.reset_stats()
    got = root.numpy()
    return got, want, sg.stats()["dispatches"], most


def check(seed: int, device: sg.Device, monkeypatch: pytest.MonkeyPatch) -> None:
    sg.synchronize(device)
    for fuse in "10":
        monkeypatch.setenv("SPIROGRAD_FUSE", fuse)
        got, want, dispatches, most = result(seed, device)
        note = f"graph {seed}, {'fused' if fuse == '1' else 'unfused'}, on {device}"
        np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-4, err_msg=note)
        if fuse == "1":
            assert dispatches <= most, f"{note}: {dispatches} dispatches, at most {most} expected"


@pytest.mark.parametrize("batch", range(max(GRAPHS, 200) // BATCH))
def test_random_graphs(batch: int, device: sg.Device, monkeypatch: pytest.MonkeyPatch) -> None:
    if not GRAPHS and device.type == "software" and batch >= 60 // BATCH:
        batch_of_hardware = f"batch {batch} is for hardware; SPIROGRAD_TEST_GRAPHS=200 runs it here too"
        pytest.skip(batch_of_hardware)
    for seed in range(batch * BATCH, (batch + 1) * BATCH):
        check(SEED + seed, device, monkeypatch)
