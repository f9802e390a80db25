"""What the tests of the scalar engine share: engines, a plain reference engine, random graphs, the moons.

The tests of micrograd's interface run on micrograd itself too (the PyPI package), so that they state what it does.
`Ref` is micrograd's semantics over Python numbers once more, without recursion: it also knows how large the parts were
that a gradient was summed from, which is what a gradient's error is relative to.
"""

from __future__ import annotations

import importlib
import math
import operator
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st

import spirograd as sg

Number = int | float

# ---- bounds ----------------------------------------------------------------------------------------------------------
GRADIENT = 1e-12  # relative, in float64
FLOAT32 = 2.0**29  # how much coarser everything is on a GPU without float64
# Units in the last place of one operation, given the same operands; on the CPU, what micrograd has is exact.
CPU_ULPS = {"add": 0, "mul": 0, "sub": 0, "div": 0, "power": 0, "relu": 0, "function": 4, "pow": 4}
GPU_ULPS = {"add": 1, "mul": 1, "sub": 1, "div": 5, "power": 4, "relu": 0, "function": 4, "pow": 4}


# ---- engines ---------------------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class Engine:
    """The names of micrograd, on one device."""

    name: str  # "micrograd", "cpu" or "gpu"
    Value: Callable[..., Any]
    Neuron: Callable[..., Any]
    Layer: Callable[..., Any]
    MLP: Callable[..., Any]
    Module: type
    coarse: float = 1.0  # FLOAT32 where numbers are float32

    def __str__(self) -> str:
        return self.name


def engine(name: str) -> Engine:
    """Skips the test, with the reason, where micrograd is not installed."""
    if name == "micrograd":
        pytest.importorskip("micrograd", reason="micrograd is not installed")
        nn = importlib.import_module("micrograd.nn")
        return Engine(name, nn.Value, nn.Neuron, nn.Layer, nn.MLP, nn.Module)
    if name == "cpu":
        return Engine(name, sg.Value, sg.Neuron, sg.Layer, sg.MLP, sg.Module)
    gpu = sg.Device.gpu()
    made = [partial(kind, device=gpu) for kind in (sg.Value, sg.Neuron, sg.Layer, sg.MLP)]
    coarse = 1.0 if gpu.features.get("shaderFloat64") == "yes" else FLOAT32
    return Engine(name, *made, Module=sg.Module, coarse=coarse)


HOST = ["micrograd", "cpu"]
EVERY = [*HOST, pytest.param("gpu", marks=pytest.mark.gpu)]
OURS = EVERY[1:]


def bits(x: Number) -> bytes:
    """Equal for equal floats alone: -0.0 differs from 0.0, a NaN is a NaN."""
    return struct.pack("<d", math.nan if x != x else x)


def ulps(got: float, want: float, coarse: float = 1.0) -> float:
    """Distance in units in the last place of `want`."""
    if got == want or (got != got and want != want):
        return 0.0
    if not (math.isfinite(got) and math.isfinite(want)):
        return math.inf
    return abs(got - want) / (math.ulp(want) * coarse)


def shown(v: Any, **names: Any) -> str:
    """A graph as text: data of leaves (or their names), op and operands of others, operands sorted."""
    called = {id(value): name for name, value in names.items()}
    text = called.get(id(v)) or (v._op and f"{v._op}({', '.join(sorted(shown(c, **names) for c in v._prev))})")
    return text or repr(v.data)


# ---- the reference ---------------------------------------------------------------------------------------------------
FUNCTIONS: dict[str, tuple[Callable[[float], float], Callable[[float, float], float]]] = {
    # name -> (value, derivative from operand and result)
    "exp": (math.exp, lambda x, y: y),
    "log": (math.log, lambda x, y: 1 / x),
    "tanh": (math.tanh, lambda x, y: 1 - y * y),
    "sigmoid": (lambda x: 1 / (1 + math.exp(-x)), lambda x, y: y * (1 - y)),
    "sqrt": (math.sqrt, lambda x, y: 0.5 / y),
    "abs": (abs, lambda x, y: float(np.sign(x))),
    "sin": (math.sin, lambda x, y: math.cos(x)),
    "cos": (math.cos, lambda x, y: -math.sin(x)),
}


class Ref:
    """A number with a gradient; `scale` is the gradient if every part of every sum had been positive."""

    made = 0

    def __init__(self, data: Any, prev: Sequence[Ref] = (), partials: Callable[[Ref], Any] | None = None) -> None:
        self.data, self.prev, self.partials = data, tuple(prev), partials
        self.grad: Number = 0
        self.scale = 0.0
        Ref.made += 1
        self.order = Ref.made

    @staticmethod
    def of(x: Any) -> Ref:
        return x if isinstance(x, Ref) else Ref(x)

    def __add__(self, other: Any) -> Ref:
        other = Ref.of(other)
        return Ref(self.data + other.data, (self, other), lambda out: (1, 1))

    def __mul__(self, other: Any) -> Ref:
        other = Ref.of(other)
        return Ref(self.data * other.data, (self, other), lambda out: (other.data, self.data))

    def __pow__(self, k: Any) -> Ref:
        if isinstance(k, Ref):
            y = self.data**k.data
            return Ref(y, (self, k), lambda out: (k.data * self.data ** (k.data - 1), out.data * math.log(self.data)))
        return Ref(self.data**k, (self,), lambda out: (k * self.data ** (k - 1),))

    def relu(self) -> Ref:
        return Ref(0 if self.data < 0 else self.data, (self,), lambda out: (out.data > 0,))

    def __getattr__(self, name: str) -> Callable[[], Ref]:
        if name not in FUNCTIONS:
            raise AttributeError(name)
        value, derivative = FUNCTIONS[name]
        return lambda: Ref(value(self.data), (self,), lambda out: (derivative(self.data, out.data),))

    def __neg__(self) -> Ref:
        return self * -1

    def __sub__(self, other: Any) -> Ref:
        return self + (-other)

    def __rsub__(self, other: Any) -> Ref:
        return -self + other

    def __truediv__(self, other: Any) -> Ref:
        return self * other**-1

    def __rtruediv__(self, other: Any) -> Ref:
        return self**-1 * other

    __radd__, __rmul__ = __add__, __mul__

    def backward(self) -> None:
        reached, todo = {self}, [self]
        while todo:
            for child in todo.pop().prev:
                if child not in reached:
                    reached.add(child)
                    todo.append(child)
        self.grad, self.scale = 1, 1.0
        for v in sorted(reached, key=lambda v: -v.order):
            for child, partial_ in zip(v.prev, v.partials(v) if v.partials else (), strict=True):
                child.grad += partial_ * v.grad
                child.scale += abs(partial_) * v.scale


# ---- random graphs ---------------------------------------------------------------------------------------------------
# name -> (on values a and b, or on a and the number k; kind of bound)
TWO: dict[str, tuple[Callable[[Any, Any], Any], str]] = {
    "a + b": (lambda a, b: a + b, "add"),
    "a - b": (lambda a, b: a - b, "sub"),
    "a * b": (lambda a, b: a * b, "mul"),
    "a / b": (lambda a, b: a / b, "div"),
}
NUMBER: dict[str, tuple[Callable[[Any, Any], Any], str]] = {
    "a + k": (lambda a, k: a + k, "add"),
    "k + a": (lambda a, k: k + a, "add"),
    "a - k": (lambda a, k: a - k, "sub"),
    "k - a": (lambda a, k: k - a, "sub"),
    "a * k": (lambda a, k: a * k, "mul"),
    "k * a": (lambda a, k: k * a, "mul"),
    "a / k": (lambda a, k: a / k, "div"),
    "k / a": (lambda a, k: k / a, "div"),
}
EXPONENT: dict[str, tuple[Callable[[Any, Any], Any], str]] = {"a ** k": (lambda a, k: a**k, "power")}
ONE: dict[str, tuple[Callable[[Any], Any], str]] = {
    "-a": (lambda a: -a, "mul"),
    "relu": (lambda a: a.relu(), "relu"),
}
BEYOND_ONE = {f: (operator.methodcaller(f), "function") for f in FUNCTIONS}
BEYOND_TWO = {"a ** b": (lambda a, b: a**b, "pow")}
KINDS = TWO | NUMBER | EXPONENT | ONE | BEYOND_ONE | BEYOND_TWO


@dataclass(frozen=True)
class Step:
    """Makes a value from values a and b or the number k; or does something with value a."""

    op: str  # of KINDS, or "read", "read grad", "write", "clear grad", "backward"
    a: int
    b: int = 0
    k: Number = 0

    @property
    def makes(self) -> bool:
        return self.op in KINDS

    def of(self, values: Sequence[Any]) -> Any:
        on = KINDS[self.op][0]
        if self.op in ONE or self.op in BEYOND_ONE:
            return on(values[self.a])
        return on(values[self.a], self.k if self.op in NUMBER or self.op in EXPONENT else values[self.b])

    def do(self, values: Sequence[Any]) -> None:
        v = values[self.a]
        if self.op == "read":
            _ = v.data
        elif self.op == "read grad":
            _ = v.grad
        elif self.op == "write":
            v.data = self.k
        elif self.op == "clear grad":
            v.grad = 0
        else:
            v.backward()


@dataclass(frozen=True)
class Program:
    """Leaves, and what happens to them in order. Only leaves are written to."""

    leaves: tuple[Number, ...]
    steps: tuple[Step, ...]

    def run(self, make: Callable[[Any], Any]) -> list[Any]:
        """All values, in the order in which they were made."""
        values = [make(x) for x in self.leaves]
        for step in self.steps:
            if step.makes:
                values.append(step.of(values))
            else:
                step.do(values)
        return values

    def check(self, values: Sequence[Any], bounds: dict[str, int], coarse: float = 1.0) -> None:
        """Each value given the values of its operands, so that errors do not add up; all gradients given the values.

        A bound of 0 means the same bits.
        """
        refs: list[Any] = [Ref(x) for x in self.leaves]
        for step in self.steps:
            if not step.makes:
                step.do(refs)
                continue
            want, got = step.of(refs), values[len(refs)].data
            bound = bounds[KINDS[step.op][1]]
            right = bits(got) == bits(want.data) if not bound else ulps(got, want.data, coarse) <= bound + (coarse > 1)
            assert right, f"value {len(refs)}, {step.op}: {got!r}, {want.data!r} is right"
            want.data = got
            refs.append(want)
        for i, (v, ref) in enumerate(zip(values, refs, strict=True)):
            if v.grad != ref.grad:
                error, bound = abs(v.grad - ref.grad), GRADIENT * coarse * ref.scale
                assert error <= bound, f"gradient of value {i}: {v.grad!r}, {ref.grad!r} is right; bound {bound}"


def tame(values: Sequence[Ref]) -> bool:
    """Neither complex nor far from 1, and so are all derivatives: errors and infinities have tests of their own."""
    for v in values:
        for node in (v, *v.prev):
            numbers = [node.data, *(node.partials(node) if node.partials else ())]
            if any(isinstance(x, complex) or not (x == 0 or 1e-4 <= abs(x) <= 1e4) for x in numbers):
                return False
    return True


@st.composite
def programs(draw: st.DrawFn, beyond: bool = False) -> Program:
    """Random graphs of what micrograd has, or of everything. A step that is not tame becomes a negation or a read."""
    number = st.one_of(st.integers(-4, 4), st.floats(-3, 3), st.sampled_from([0.0, -0.0, 1.0, -1.0, 0.5]))
    exponent = st.sampled_from([2, 3, -1, -2, 0, 1, 4, 2.0, 0.5, -0.5, 1.5, 1 / 3])
    making = [*TWO, *NUMBER, *EXPONENT, *ONE] + ([*BEYOND_ONE, *BEYOND_TWO] if beyond else [])
    names = [*making, *making, "read", "read grad", "write", "write", "clear grad", "backward"]
    place = st.integers(0, 2**10)
    leaves = draw(st.lists(number, min_size=1, max_size=5))
    asked = draw(st.lists(st.tuples(st.sampled_from(names), place, place, number, exponent), min_size=1, max_size=30))
    values, steps = [Ref(x) for x in leaves], []
    for op, a, b, k, e in asked:
        n = len(values)
        # Half of the operands are the latest value: so graphs are deep as well as wide.
        place_a = a % len(leaves) if op == "write" else n - 1 if a % 2 else a // 2 % n
        step = Step(op, place_a, b % n, e if op in EXPONENT else k)
        before = values[step.a].data
        try:
            if op == "write":
                values[step.a].data = k
            kept = tame([*values, step.of(values)] if step.makes else values)
        except (ArithmeticError, ValueError, TypeError):
            kept = False
        if not kept:
            values[step.a].data = before
            step = Step("-a" if step.makes else "read", step.a)
        if step.makes:
            values.append(step.of(values))
        steps.append(step)
    return Program(tuple(leaves), (*steps, Step("backward", len(values) - 1)))


# ---- the demo --------------------------------------------------------------------------------------------------------
def moons(count: int = 100, noise: float = 0.1, seed: int = 1337) -> tuple[np.ndarray[Any, Any], list[int]]:
    """Two half circles, with the random numbers in the order in which scikit-learn's make_moons takes them; labels are
    -1 and 1."""
    random = np.random.RandomState(seed)
    angle = np.linspace(0, np.pi, count // 2)
    outer = np.stack([np.cos(angle), np.sin(angle)], 1)
    inner = np.stack([1 - np.cos(angle), 1 - np.sin(angle) - 0.5], 1)
    order = np.arange(count)
    random.shuffle(order)
    points = np.concatenate([outer, inner])[order] + random.normal(scale=noise, size=(count, 2))
    return points, [1 if i >= count // 2 else -1 for i in order]


def moons_loss(model: Any, value: Callable[[Any], Any], points: Any, labels: Sequence[int]) -> tuple[Any, float]:
    """The demo's loss: the largest margin, and a little of the sum of squares of the parameters. And the accuracy."""
    scores = [model([value(x) for x in row]) for row in points]
    margins = [(1 + -label * score).relu() for label, score in zip(labels, scores, strict=True)]
    loss = sum(margins) * (1.0 / len(margins)) + 1e-4 * sum(p * p for p in model.parameters())
    right = sum((label > 0) == (score.data > 0) for label, score in zip(labels, scores, strict=True))
    return loss, right / len(labels)


def moons_demo(engine: Engine, steps: int = 100) -> list[tuple[float, float]]:
    """Loss and accuracy of each step of the demo's training."""
    import random

    random.seed(1337)
    points, labels = moons(seed=1337)
    model = engine.MLP(2, [16, 16, 1])
    curve = []
    for k in range(steps):
        loss, accuracy = moons_loss(model, engine.Value, points, labels)
        model.zero_grad()
        loss.backward()
        rate = 1.0 - 0.9 * k / 100
        for p in model.parameters():
            p.data -= rate * p.grad
        curve.append((float(loss.data), accuracy))
    return curve


def difference(f: Callable[..., float], at: list[float], i: int) -> float:
    h = 1e-6
    up, down = list(at), list(at)
    up[i] += h
    down[i] -= h
    return (f(*up) - f(*down)) / (up[i] - down[i])
