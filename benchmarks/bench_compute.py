"""What computes much on a GPU: products, convolutions, attention, whole training steps, in float32 and in half types.

    python benchmarks/bench_compute.py                                   # every row, beside PyTorch
    python benchmarks/bench_compute.py --rows gpt6,resnet18 --anchors none
    SPIROGRAD_MATRIX=cm1 python benchmarks/bench_compute.py --rows matmul_half

Writes benchmarks/results/compute-DATE.json. Close other programs first.
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

import spirograd as sg
from harness import program
from harness.anchors import torch_for
from harness.common import Result, measure
from harness.rows import Context, milliseconds, row
from models import networks
from rows.ops.compare import normal
from rows.slice import ops

Work = Callable[[], Any]  # does the work, waits for it


def pair(context: Context, make: Callable[..., Work], *arguments: Any) -> dict[str, Work]:
    """What `make` makes of a library, its device, its wait and arguments: of spirograd, and of PyTorch where it is."""
    works = {"spirograd": make(sg, context.device, sg.synchronize, *arguments)}
    if torch := torch_for(context):
        works["torch"] = make(torch.torch, torch.device, torch.wait, *arguments)
    return works


def products(t: Any, device: Any, wait: Work, m: int, n: int, k: int) -> Work:
    inputs = [t.tensor(normal(m, k, seed=i), device=device) for i in range(4)]
    weight = t.tensor(normal(n, k, seed=9), device=device)

    def work() -> None:
        kept = [t.nn.functional.linear(x, weight) for x in inputs]  # alive: so each is computed
        wait()
        del kept

    return work


@row("linear", cpu=False)
def linear(context: Context) -> Iterator[Result]:
    """Products of a GPT's layers, inputs [m, k] and weights [n, k], in float32; the last is as long as a batch."""
    shapes = [(16384, 384, 384), (16384, 1536, 384), (16384, 384, 1536), (16384, 1152, 384), (384, 1536, 16384)]
    for m, n, k in [(64, 48, 32)] if context.quick else shapes:
        timings = measure(pair(context, products, m, n, k), calls_inside=4, **context.turns)
        work = 2 * m * n * k
        yield from context.results("linear", f"{m} x {n} x {k}", timings, "TFLOP/s", lambda s, w=work: w / s / 1e12)


@row("precision", cpu=False)
def precision(context: Context) -> Iterator[Result]:
    """Products of square float32 matrices by set_float32_matmul_precision, beside PyTorch's strict ones."""
    for word in ("high", "medium"):
        sg.set_float32_matmul_precision(word)
        try:
            for n in (64,) if context.quick else (1024, 2048, 4096, 8192):
                a = np.random.default_rng(n).standard_normal((n, n), dtype=np.float32) / np.float32(n**0.5)
                inside = max(2, min(32, 2**36 // (2 * n**3))) if context.device.type != "software" else 2
                timings = measure(ops.product_libraries(context, a, inside), calls_inside=inside, **context.turns)
                work, case = 2 * n**3, f"{word}, {n} x {n} x {n}"
                yield from context.results("precision", case, timings, "TFLOP/s", lambda s, w=work: w / s / 1e12)
        finally:
            sg.set_float32_matmul_precision("highest")


# images, channels, outputs, side of the image and of the kernel, stride
CONVOLUTIONS = [
    (32, 64, 64, 56, 3, 1),
    (32, 256, 256, 14, 3, 1),
    (32, 3, 64, 224, 7, 2),
    (32, 256, 64, 56, 1, 1),
]


def convolving(
    t: Any, device: Any, wait: Work, arrays: tuple[Any, ...], dtype: str, stride: int, backward: bool
) -> Work:
    x, w, g = (t.tensor(a, device=device).to(getattr(t, dtype)) for a in arrays)
    leaves = [x.requires_grad_(backward), w.requires_grad_(backward)]
    padding = w.shape[-1] // 2

    def work() -> None:
        y = t.nn.functional.conv2d(x, w, stride=stride, padding=padding)
        kept = t.autograd.grad(y, leaves, g) if backward else y
        wait()
        del kept

    return work


@row("convolutions", cpu=False)
def convolutions(context: Context) -> Iterator[Result]:
    """Convolutions in float32 and bfloat16, forward and with both gradients."""
    for dtype, (n, c, outputs, side, kernel, stride) in itertools.product(("float32", "bfloat16"), CONVOLUTIONS):
        n, side = (2, 8) if context.quick else (n, side)
        out = (side - 1) // stride + 1
        arrays = normal(n, c, side, side), normal(outputs, c, kernel, kernel, seed=1), normal(n, outputs, out, out)
        for backward in (False, True):
            timings = measure(pair(context, convolving, arrays, dtype, stride, backward), **context.turns)
            case = f"{dtype}, [{n}, {c}, {side}, {side}] -> {outputs}, {kernel} x {kernel}, stride {stride}"
            case += ", forward and backward" * backward
            yield from context.results("convolutions", case, timings, "ms", milliseconds)


def taken(t: Any, device: Any, steps: networks.Steps) -> float:
    """GiB of the device that two steps take, of everything: also what a library keeps between the steps."""
    memory = sg.accelerator.memory if t is sg else t.cuda
    memory.empty_cache()
    steps(2)
    return float(memory.memory_reserved(device) / 2**30)


def training(context: Context, name: str, case: str, network: networks.Network) -> Iterator[Result]:
    """The time of a training step with Adam in float32 and under autocast, and the memory that it takes."""
    for half in (None, "bfloat16"):
        found = {"spirograd": (sg, context.device, network.steps(sg, context.device, sg.synchronize, half=half))}
        if torch := torch_for(context):
            steps = network.steps(torch.torch, torch.device, torch.wait, half=half)
            found["torch"] = (torch.torch, torch.device, steps)
        calls = {library: partial(of[2], 3) for library, of in found.items()}
        timings = measure(calls, calls_inside=3, **context.turns)
        here = f"{case}, {half or 'float32'}"
        yield from context.results(name, here, timings, "ms", milliseconds)
        for library, of in found.items():
            yield Result(name, f"{here}, memory", library, str(context.device), taken(*of), "GiB")


@row("resnet18", cpu=False)
def resnet18(context: Context) -> Iterator[Result]:
    """A training step of ResNet-18 on 64 images of 224 x 224, Adam, float32 and autocast."""
    network = networks.resnet(1, 1, side=16, batch=2) if context.quick else None
    network = network or networks.resnet(2, 2, 2, 2, side=224, batch=64)
    yield from training(context, "resnet18", "ResNet-18, 224 x 224, batch 64", network)


@row("gpt6", cpu=False)
def gpt6(context: Context) -> Iterator[Result]:
    """A training step of a GPT of 6 layers, 6 heads, 384 wide; context 256, batch 64, Adam, float32 and autocast."""
    tiny = networks.gpt(65, 1, 2, 16, time=8, batch=2)
    network = tiny if context.quick else networks.gpt(65, 6, 6, 384, time=256, batch=64)
    yield from training(context, "gpt6", "L6 H6 E384, T 256, batch 64", network)


@row("gpt2_small", cpu=False)
def gpt2_small(context: Context) -> Iterator[Result]:
    """A training step of GPT-2 small: 12 layers, 12 heads, 768 wide; context 1,024, batch 8, Adam, both types."""
    tiny = networks.gpt(97, 2, 2, 16, time=8, batch=2)
    network = tiny if context.quick else networks.gpt(50257, 12, 12, 768, time=1024, batch=8)
    yield from training(context, "gpt2_small", "L12 H12 E768, T 1024, batch 8", network)


ROWS = (
    "matmul", "linear", "precision", "matmul_half", "attention", "convolutions", "resnet18", "gpt6", "gpt2_small",
)  # fmt: skip

if __name__ == "__main__":
    sys.exit(program.run("compute", "What computes much on a GPU.", ("torch",), ROWS))
