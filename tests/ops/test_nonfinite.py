"""A NaN or an infinity reaches what depends on it and nothing else: every op of the table, and layers, forward and
backward.

What depends on an element is found by changing it: outputs that differ for one of a few finite numbers there. An output
that does not depend on it stays finite, so a product with a zero that the op puts in itself (a weight beside a window, a
mask, padding) is a mistake.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import spirograd as sg
from reference.table import ROWS, Array, Row, Shape
from spirograd import nn

F = nn.functional
INF, NAN = float("inf"), float("nan")
SPECIAL = (NAN, INF, -INF)
FINITE = (9.5, -9.5, 0.3, -0.7)


@dataclass(frozen=True)
class Call:
    """A function of tensors, and the shapes of those that get special values."""

    name: str
    op: Callable[..., Any]
    shapes: Sequence[Shape]

    def inputs(self) -> list[Array]:
        random = np.random.default_rng(len(self.name))
        return [random.uniform(-3, 3, shape) for shape in self.shapes]


Values = list[Array]


def run(op: Callable[..., Any], inputs: Values, upstream: Array | None, device: sg.Device) -> tuple[Array, Values]:
    """The result, and the gradients of its product with `upstream`."""
    leaves = [sg.tensor(x.astype("float32"), device=device, requires_grad=upstream is not None) for x in inputs]
    y = op(*leaves)
    if upstream is None:
        return y.numpy(), []
    grads = sg.autograd.grad(y, leaves, sg.tensor(upstream.astype("float32"), device=device), allow_unused=True)
    zeros = [np.zeros(x.shape, "float32") for x in inputs]
    return y.detach().numpy(), [z if g is None else g.numpy() for z, g in zip(zeros, grads, strict=True)]


def different(a: Array, b: Array) -> Array:
    return ~((a == b) | (np.isnan(a) & np.isnan(b)))


def spread(got: Array, base: Array, depends: Array) -> list[tuple[int, ...]]:
    """Where `got` is not finite, though it does not depend on what was changed."""
    return [tuple(int(i) for i in at) for at in np.argwhere(~np.isfinite(got) & np.isfinite(base) & ~depends)]


def check(op: Callable[..., Any], inputs: Values, gradients: bool, seed: int, device: sg.Device) -> list[str]:
    """What a special value in an input, or in the gradient of the result, reached by mistake."""
    random = np.random.default_rng(seed)
    first, _ = run(op, inputs, None, device)
    if first.dtype.kind != "f" or first.size == 0:
        return []
    upstream = random.uniform(0.5, 2, first.shape) if gradients else None
    base = run(op, inputs, upstream, device)
    mistakes = []
    for number, x in enumerate(inputs):
        at = tuple(int(random.integers(n)) for n in x.shape)

        def with_value(value: float, number: int = number, at: tuple[int, ...] = at) -> tuple[Array, Values]:
            changed = [a.copy() for a in inputs]
            changed[number][at] = value
            return run(op, changed, upstream, device)

        others = [with_value(value) for value in FINITE]
        depends = np.any([different(y, base[0]) for y, _ in others], 0)
        grads_depend = [np.any([different(g[i], base[1][i]) for _, g in others], 0) for i in range(len(base[1]))]
        for i in range(len(base[1])):
            if i == number:
                grads_depend[i][at] = True
        for value in SPECIAL:
            y, grads = with_value(value)
            what = f"{value} at {list(at)} of input {number}"
            if bad := spread(y, base[0], depends):
                mistakes.append(f"{what} reaches {len(bad)} of {y.size}, such as {bad[:3]}")
            for i, g in enumerate(grads):
                if bad := spread(g, base[1][i], grads_depend[i]):
                    mistakes.append(f"{what} reaches {len(bad)} of the gradient of input {i}, such as {bad[:3]}")
    if upstream is not None:
        at = tuple(int(random.integers(n)) for n in first.shape)
        one = np.zeros(first.shape)
        one[at] = 1
        read = [g != 0 for g in run(op, inputs, one, device)[1]]
        for value in SPECIAL:
            changed = upstream.copy()
            changed[at] = value
            for i, g in enumerate(run(op, inputs, changed, device)[1]):
                if bad := spread(g, base[1][i], read[i]):
                    mistakes.append(
                        f"{value} at {list(at)} of the result's gradient reaches {len(bad)} of the gradient of input "
                        f"{i}, such as {bad[:3]}"
                    )
    return mistakes


def resized(shape: Shape, **options: Any) -> Call:
    return Call(f"interpolate:{options}", lambda x: F.interpolate(x, **options), [shape])


LAYERS = [
    resized((1, 2, 7), mode="linear", size=12),
    resized((1, 2, 7), mode="linear", size=12, align_corners=True),
    resized((1, 2, 7), mode="linear", scale_factor=0.6),
    resized((1, 2, 5, 6), mode="bilinear", scale_factor=2),
    resized((1, 2, 5, 6), mode="bilinear", size=(5, 9)),
    resized((1, 2, 5, 6), mode="bicubic", size=(11, 13)),
    resized((1, 2, 8, 9), mode="bicubic", size=(3, 4)),
    resized((1, 2, 9, 8), mode="bilinear", size=(4, 3), antialias=True),
    resized((1, 2, 9, 8), mode="bicubic", size=(4, 3), antialias=True),
    resized((1, 2, 4, 5, 6), mode="trilinear", size=(7, 4, 9)),
    resized((1, 2, 7, 9), mode="area", size=(3, 4)),
    resized((1, 2, 7, 9), mode="nearest", size=(10, 4)),
    Call("adaptive_avg_pool1d", lambda x: F.adaptive_avg_pool1d(x, 4), [(2, 3, 9)]),
    Call("adaptive_avg_pool2d", lambda x: F.adaptive_avg_pool2d(x, (3, 5)), [(2, 7, 8)]),
    Call("adaptive_avg_pool3d", lambda x: F.adaptive_avg_pool3d(x, (2, 3, 4)), [(1, 2, 5, 7, 6)]),
    Call("adaptive_max_pool2d", lambda x: F.adaptive_max_pool2d(x, (3, 5)), [(2, 7, 8)]),
]


@pytest.mark.parametrize("call", LAYERS, ids=lambda call: call.name)
def test_layers(call: Call, device: sg.Device) -> None:
    for seed in range(4):
        assert check(call.op, call.inputs(), True, seed, device) == []
