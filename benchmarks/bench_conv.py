"""Convolutions, pooling and the training step of a small CNN, with PyTorch beside them.

    python benchmarks/bench_conv.py                     # every row, every device
    python benchmarks/bench_conv.py --rows conv --device gpu

Writes benchmarks/results/conv-DATE.json. Close other programs first.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import numpy as np

import spirograd as sg
from harness import program
from harness.anchors import torch_for
from harness.common import Result, measure
from harness.rows import Context, milliseconds, row
from rows.ops.compare import Goal, Operation, normal
from rows.ops.reduce import copies

# images, channels, outputs, side, and the least TFLOP/s on a large GPU: forward, and with backward
SHAPES = [(32, 64, 64, 56, 16, 14), (32, 256, 256, 14, 16, 14)]


@row("conv")
def conv(context: Context) -> Iterator[Result]:
    """Convolutions 3 x 3 in float32, forward and with both gradients, in TFLOP/s."""
    for n, c, outputs, side, *goals in SHAPES:
        n = 2 if context.quick else n
        x, w = normal(n, c, side, side), normal(outputs, c, 3, 3, seed=1)
        flops = 2 * n * outputs * side * side * c * 9
        for backward in (False, True):
            form: Any = lambda t, x, w: t.conv2d(x, w, padding=1)  # noqa: E731
            upstream = normal(n, outputs, side, side, seed=2) if backward else None
            operation = Operation((x, w), form, {"torch": form}, upstream, copies=copies(context, x.size))
            timings = measure(operation.works(context), calls_inside=operation.copies, **context.turns)
            case = f"[{n}, {c}, {side}, {side}] -> {outputs}{', forward and backward' * backward}"
            goal = f">= {goals[backward]}" if context.gpu else ""
            count = flops * (3 if backward else 1)
            yield from context.results("conv", case, timings, "TFLOP/s", lambda s, f=count: f / s / 1e12, goal)


@row("pool")
def pool(context: Context) -> Iterator[Result]:
    """The largest elements and the means of windows, forward and with backward."""
    n = 4 if context.quick else 64
    x = normal(n, 64, 56, 56)
    for name, options, size in (
        ("max_pool2d", {"kernel_size": 2}, 28),
        ("max_pool2d", {"kernel_size": 3, "stride": 2, "padding": 1}, 28),
        ("avg_pool2d", {"kernel_size": 2}, 28),
    ):
        form: Any = lambda t, x, f=name, o=options: getattr(t.nn.functional, f)(x, **o)  # noqa: E731
        case = f"{name}({', '.join(f'{k}={v}' for k, v in options.items())}) of [{n}, 64, 56, 56]"
        for upstream in (None, normal(n, 64, size, size, seed=1)):
            operation = Operation((x,), form, {"torch": form}, upstream=upstream)
            yield from operation.run(context, "pool", case + ", forward and backward" * (upstream is not None), None)


def network(nn: Any) -> Any:
    return nn.Sequential(
        nn.Conv2d(1, 32, 3), nn.ReLU(), nn.Conv2d(32, 64, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
        nn.Linear(9216, 128), nn.ReLU(), nn.Linear(128, 10),
    )  # fmt: skip


@row("cnn")
def cnn(context: Context) -> Iterator[Result]:
    """A training step of a CNN on 28 x 28 images, batch 64, Adam."""
    images, classes = normal(64, 1, 28, 28), np.random.default_rng(1).integers(0, 10, 64)

    def work(t: Any, x: Any, y: Any, net: Any) -> Any:
        optimizer = t.optim.Adam(net.parameters())

        def step() -> float:
            optimizer.zero_grad()
            loss = t.nn.functional.cross_entropy(net(x), y)
            loss.backward()
            optimizer.step()
            return float(loss.item())

        return step

    place = context.device
    works = {
        "spirograd": work(
            sg, sg.tensor(images, device=place), sg.tensor(classes, device=place), network(sg.nn).to(place)
        )
    }
    torch = torch_for(context) if "torch" in context.anchors else None
    if torch:
        x = torch.array(images)
        works["torch"] = work(
            torch.torch, x, torch.torch.as_tensor(classes, device=x.device), network(torch.torch.nn).to(x.device)
        )
    timings = measure(works, **context.turns)
    yield from context.results("cnn", "batch 64", timings, "ms", milliseconds)
    yield from Goal(("torch",), most=1.0 if context.gpu else 1.1).result(context, "cnn", "batch 64", timings)


if __name__ == "__main__":
    sys.exit(program.run("conv", "Convolutions, pooling, a small CNN.", ("torch",)))
