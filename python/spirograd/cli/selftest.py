"""`selftest`: each family of kernels, on each device, against NumPy in float64, on odd shapes."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from .. import _core, autograd, nn, optim
from .._core import Device, Tensor
from .options import add_device, devices

Array = npt.NDArray[Any]
Pair = tuple[Tensor, Any]  # the result and what it should be
F = nn.functional


class Family(NamedTuple):
    """Kernels that are one code, with the error they may have, relative to 1 + the size of the result."""

    name: str
    allowed: float
    pairs: Callable[[Device], Iterator[Pair]]


def numbers(device: Device, *shape: int, seed: int = 0) -> tuple[Tensor, Array]:
    """The same numbers as a tensor in float32 and as an array in float64."""
    values = np.random.default_rng(seed + sum(shape)).normal(size=shape).astype(np.float32)
    return _core.tensor(values, device=device), values.astype(np.float64)


def pointwise(device: Device) -> Iterator[Pair]:
    """Chains of operations, with broadcasting."""
    x, a = numbers(device, 7, 1031)
    y, b = numbers(device, 7, 1, seed=1)
    yield (
        (x * y + 0.5).tanh().exp() - x.abs().sqrt() / (y * y + 1),
        (np.exp(np.tanh(a * b + 0.5)) - np.sqrt(np.abs(a)) / (b * b + 1)),
    )
    yield _core.where(x > y, x.sigmoid(), y.sin()), np.where(a > b, 1 / (1 + np.exp(-a)), np.sin(b))
    n = _core.arange(1031, device=device)
    yield n % 7 * 3 - n // 5, np.arange(1031) % 7 * 3 - np.arange(1031) // 5


def reductions(device: Device) -> Iterator[Pair]:
    """Along any dimension, and over all."""
    x, a = numbers(device, 33, 5, 1027)
    yield x.mean(0), a.mean(0)
    yield x.amax(1), a.max(1)
    yield x.argmin(2), a.argmin(2)
    yield x.argmin(0), a.argmin(0)
    yield x.var(), a.var(ddof=1)
    yield (x > 0).sum((0, 2)), (a > 0).sum((0, 2))


def rows(device: Device) -> Iterator[Pair]:
    """Softmax and its like: a row is read, reduced and written in one kernel."""
    for size in (1025, 5003):
        x, a = numbers(device, 3, size)
        e = np.exp(a - a.max(1, keepdims=True))
        yield x.softmax(1) * size, size * e / e.sum(1, keepdims=True)  # of small numbers, an error would count little
        yield x.log_softmax(1), a - a.max(1, keepdims=True) - np.log(e.sum(1, keepdims=True))


def scans(device: Device) -> Iterator[Pair]:
    """Running sums and largest."""
    x, a = numbers(device, 5, 4099)
    yield x.cumsum(1) / 64, a.cumsum(1) / 64
    yield x.cumsum(0), a.cumsum(0)
    yield x.cummax(1)[0], np.maximum.accumulate(a, 1)
    n = _core.arange(70001, device=device) % 5
    yield n.cumsum(0), (np.arange(70001) % 5).cumsum()


def sorts(device: Device) -> Iterator[Pair]:
    """Sorted values, where they were, and the largest."""
    for size in (1, 37, 5003):
        x, a = numbers(device, 3, size)
        yield x.sort(1)[0], np.sort(a, 1)
        yield x.argsort(1), np.argsort(a, 1, kind="stable")
        yield x.topk(min(size, 9), 1)[0], -np.sort(-a, 1)[:, :9]


def gathers(device: Device) -> Iterator[Pair]:
    """Elements and rows at computed places."""
    x, a = numbers(device, 129, 33)
    places = np.random.default_rng(1).integers(0, 129, (77, 33))
    index = _core.tensor(places, device=device)
    yield x.gather(0, index), np.take_along_axis(a, places, 0)
    yield x[index[:, 0]], a[places[:, 0]]
    yield x[1::3, ::2], a[1::3, ::2]


def scatters(device: Device) -> Iterator[Pair]:
    """Elements and rows added at computed places."""
    x, a = numbers(device, 77, 33)
    places = np.random.default_rng(2).integers(0, 19, (77, 33))
    index = _core.tensor(places, device=device)
    wanted = np.zeros((19, 33))
    np.add.at(wanted, (places, np.arange(33)), a)
    yield _core.zeros(19, 33, device=device).scatter_add(0, index, x), wanted
    wanted = np.zeros((19, 33))
    np.add.at(wanted, places[:, 0], a)
    yield _core.zeros(19, 33, device=device).index_add_(0, index[:, 0], x), wanted


def products(device: Device) -> Iterator[Pair]:
    """Of matrices, stacks of them, and vectors; either side transposed."""
    for m, k, n in ((1, 1, 1), (17, 33, 65), (129, 257, 67), (3, 1031, 5), (1, 300, 700), (512, 1, 31)):
        (x, a), (y, b) = numbers(device, m, k), numbers(device, k, n, seed=1)
        yield x @ y, a @ b
        (x, a), (y, b) = numbers(device, k, m), numbers(device, n, k, seed=1)
        yield x.T @ y.T, a.T @ b.T
    (x, a), (y, b) = numbers(device, 3, 1, 19, 37), numbers(device, 5, 37, 21)
    yield x @ y, a @ b
    (x, a), (y, b) = numbers(device, 101, 203), numbers(device, 203)
    yield x @ y, a @ b
    yield F.linear(x, x[:7], x[:7, 0]), a @ a[:7].T + a[:7, 0]


def transposes(device: Device) -> Iterator[Pair]:
    """Elements in another order."""
    x, a = numbers(device, 65, 3, 131)
    yield x.permute(2, 0, 1).contiguous(), a.transpose(2, 0, 1)
    yield x.transpose(0, 2) * 2, a.transpose(2, 1, 0) * 2
    yield _core.cat([x.flip(0), x.roll(5, 2)], 1), np.concatenate([a[::-1], np.roll(a, 5, 2)], 1)


def randoms(device: Device) -> Iterator[Pair]:
    """The same seed gives the same bits on every device; normal ones are functions of them."""
    generators = [_core.Generator(place).manual_seed(7) for place in (device, Device.cpu())]
    for _ in range(2):
        here, there = (_core.rand(3, 1031, generator=g, device=g.device) for g in generators)
        yield (here == there.to(device)), np.ones((3, 1031))
        yield (here.mean() - 0.5).abs() < 0.05, True
        here, there = (_core.randn(3, 1031, generator=g, device=g.device) for g in generators)
        yield here, there.numpy()
        yield (here.var() - 1).abs() < 0.1, True
    yield _core.randperm(1031, generator=generators[0], device=device).sort()[0], np.arange(1031)


def casts(device: Device) -> Iterator[Pair]:
    """From any type to any other."""
    x, a = numbers(device, 3, 1031)
    yield x.to(_core.float16).to(_core.float32), a.astype(np.float32).astype(np.float16)
    yield x.to(_core.bfloat16).float(), _bfloat16(a.astype(np.float32))
    for kind in (np.int8, np.int16, np.int32, np.int64, np.bool_):
        name = np.dtype(kind).name
        yield (x * 20).to(name).to(_core.float32), (a.astype(np.float32) * 20).astype(kind)


def _bfloat16(a: npt.NDArray[np.float32]) -> Array:
    """Rounded to 8 bits of significand, ties to even."""
    raw = a.view(np.uint32)
    rounded: npt.NDArray[np.uint32] = (raw + 0x7FFF + ((raw >> 16) & 1)) & np.uint32(0xFFFF0000)
    return rounded.view(np.float32)


def gradients(device: Device) -> Iterator[Pair]:
    """Back through a product, a softmax and a sum, by the formula."""
    (x, a), (w, b) = numbers(device, 37, 19), numbers(device, 11, 19, seed=1)
    classes = np.random.default_rng(3).integers(0, 11, 37)
    w.requires_grad_()
    loss = _core.cross_entropy(x @ w.T, _core.tensor(classes, device=device))
    (found,) = autograd.grad(loss, [w])
    e = np.exp(a @ b.T)
    share = e / e.sum(1, keepdims=True)
    yield loss, -np.log(share[np.arange(37), classes]).mean()
    share[np.arange(37), classes] -= 1
    yield found, share.T @ a / 37


def optimisers(device: Device) -> Iterator[Pair]:
    """Three steps over tensors of odd sizes."""
    for kind in ("SGD", "Adam"):
        tensors = [numbers(device, *shape) for shape in ((31, 17), (1031,), (1,))]
        leaves = [x.requires_grad_() for x, _ in tensors]
        optimizer: Any = optim.SGD(leaves, lr=0.1, momentum=0.9) if kind == "SGD" else optim.Adam(leaves, lr=0.1)
        for _ in range(3):
            _core.stack([(x * x).sum() for x in leaves]).sum().backward()
            optimizer.step()
            optimizer.zero_grad()
        for x, (_, a) in zip(leaves, tensors, strict=True):
            m, v = np.zeros_like(a), np.zeros_like(a)
            for t in (1, 2, 3):
                g = 2 * a
                if kind == "SGD":
                    m = 0.9 * m + g
                    a = a - 0.1 * m
                else:
                    m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g * g
                    a = a - 0.1 * (m / (1 - 0.9**t)) / (np.sqrt(v / (1 - 0.999**t)) + 1e-8)
            yield x.detach(), a


def convolutions(device: Device) -> Iterator[Pair]:
    """Of images, with stride and padding."""
    (x, a), (w, b) = numbers(device, 2, 3, 13, 11), numbers(device, 5, 3, 3, 3, seed=1)
    padded = np.pad(a, ((0, 0), (0, 0), (1, 1), (1, 1)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), (2, 3))[:, :, ::2, ::2]
    yield F.conv2d(x, w, stride=2, padding=1), np.einsum("nchwij,ocij->nohw", windows, b)


def attentions(device: Device) -> Iterator[Pair]:
    """Causal, of an odd length."""
    (q, a), (k, b), (v, c) = (numbers(device, 2, 3, 37, 8, seed=i) for i in range(3))
    scores = np.where(np.tri(37), a @ b.swapaxes(2, 3) / np.sqrt(8), -np.inf)
    e = np.exp(scores - scores.max(3, keepdims=True))
    attention = F.scaled_dot_product_attention
    yield attention(q, k, v, is_causal=True), e / e.sum(3, keepdims=True) @ c


FAMILIES = [
    Family("pointwise", 2e-5, pointwise),
    Family("reductions", 2e-5, reductions),
    Family("rows", 2e-5, rows),
    Family("scans", 2e-5, scans),
    Family("sorts", 0, sorts),
    Family("gathers", 0, gathers),
    Family("scatters", 2e-5, scatters),
    Family("products", 1e-4, products),
    Family("transposes", 0, transposes),
    Family("random numbers", 2e-5, randoms),
    Family("casts", 0, casts),
    Family("gradients", 2e-5, gradients),
    Family("optimisers", 2e-5, optimisers),
    Family("convolutions", 2e-5, convolutions),
    Family("attention", 2e-5, attentions),
]


def error_of(family: Family, device: Device) -> float:
    """The largest error, relative to 1 + the size of the result.

    Raises:
        ValueError: a result has another shape than it should, or is not a number.
    """
    worst = 0.0
    for found, wanted in family.pairs(device):
        if found.device != device:
            raise ValueError(f"a result is on {found.device}")
        value, wanted = found.detach().numpy().astype(np.float64), np.asarray(wanted, np.float64)
        if value.shape != wanted.shape:
            raise ValueError(f"a result has shape {value.shape}, it should be {wanted.shape}")
        if np.isnan(value).any():
            raise ValueError("a result is not a number")
        if value.size:
            worst = max(worst, float((np.abs(value - wanted) / (1 + np.abs(wanted))).max()))
    return worst


def checked(family: Family, device: Device) -> tuple[bool, float | None, str]:
    """Whether a family is right on a device; its error, None if it failed; how it failed."""
    try:
        error = error_of(family, device)
    except Exception as raised:  # any failure becomes a line of the table
        return False, None, f"{type(raised).__name__}: {raised}"
    return error <= family.allowed, error, ""


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """The command of `python -m spirograd`."""
    parser = commands.add_parser("selftest", help="each family of kernels against NumPy, on each device")
    add_device(parser, "all", "cpu, gpu, gpu:1 or all")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Prints a table; 1 when something fails."""
    failures = []
    start = time.perf_counter()
    for device in devices(options.device):
        print(f"{device}: {device.name or 'CPU'}")
        for family in FAMILIES:
            began = time.perf_counter()
            fine, error, problem = checked(family, device)
            said = problem or f"error {error:.1e}, allowed {family.allowed:.0e}"
            seconds = time.perf_counter() - began
            print(f"  {family.name:<16} {'ok' if fine else 'FAIL':<5} {seconds:5.1f} s  {said}", flush=True)
            if not fine:
                failures.append(f"{family.name} on {device}")
    seconds = time.perf_counter() - start
    print(f"{seconds:.1f} s: " + (f"FAIL: {', '.join(failures)}" if failures else "all is well"))
    return 1 if failures else 0
