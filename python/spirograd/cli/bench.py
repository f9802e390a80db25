"""`bench`: a few figures for a device; `benchmarks/` has many more, and compares them with other libraries."""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from .. import _core, nn, optim
from .._core import Device
from .options import add_device, devices

SECONDS = 0.5  # seconds that one figure is measured for
LONGEST = 0.05  # seconds of one piece of work; larger sizes are left out


class Timing(NamedTuple):
    """Seconds of one piece of work."""

    median: float
    least: float
    most: float


def timed(work: Callable[[], Any]) -> Timing:
    """Times work, including the wait for its results, which are kept alive so that all of it is done."""

    def sample() -> float:
        start = time.perf_counter()
        made = work()
        _core.synchronize()
        seconds = time.perf_counter() - start
        del made
        return seconds

    sample()  # compiles, fills caches
    once = min(sample() for _ in range(3))
    samples = [sample() for _ in range(max(3, min(200, int(SECONDS / max(once, 1e-9)))))]
    return Timing(statistics.median(samples), min(samples), max(samples))


def largest(sizes: list[int], work_of: Callable[[int], Callable[[], Any]]) -> tuple[int, Timing]:
    """The timing of the largest size that does not take long."""
    for size in sizes:
        timing = timed(work_of(size))
        if timing.median > LONGEST:
            break
    return size, timing


def figures(device: Device, quick: bool) -> Iterator[tuple[str, str, Timing]]:
    """What was measured, the figure, and the seconds behind it."""
    one = _core.ones(1, device=device)
    timing = timed(lambda: (one + 1).item())
    yield "one small operation, read at once", f"{timing.median * 1e6:.0f} us", timing

    def chain(n: int) -> Callable[[], Any]:
        a, b = _core.rand(n, device=device), _core.rand(n, device=device)
        return lambda: [(a * b + i).tanh().relu() for i in range(4)]

    n, timing = largest([2**18] if quick else [2**20, 2**22, 2**24, 2**26], chain)
    rate = 4 * 3 * 4 * n / timing.median
    yield f"(a * b + i).tanh().relu(), {n:,} float32", f"{rate / 1e9:.1f} GB/s", timing

    def product(n: int) -> Callable[[], Any]:
        a, b = _core.rand(n, n, device=device), _core.rand(n, n, device=device)
        return lambda: a @ b

    n, timing = largest([128] if quick else [512, 1024, 2048, 4096, 8192], product)
    yield f"a @ b, {n} x {n} float32", f"{2 * n**3 / timing.median / 1e12:.3f} TFLOP/s", timing

    for batch in (64,) if quick else (64, 1024):
        timing = timed(training(device, batch, 1))
        if long := timing.median > LONGEST:
            steps, each = 1, timing
        else:
            steps = 10
            each = Timing(*(seconds / steps for seconds in timed(training(device, batch, steps))))
        what = f"a step of MLP 784-512-256-10, batch {batch}"
        yield what, f"{each.median * 1e3:.3f} ms", each
        if long:
            break


def training(device: Device, batch: int, steps: int) -> Callable[[], Any]:
    """Steps with Adam in a row, as in training: no value is read in between."""
    net = nn.Sequential(nn.Linear(784, 512), nn.ReLU(), nn.Linear(512, 256), nn.ReLU(), nn.Linear(256, 10)).to(device)
    optimizer = optim.Adam(net.parameters(), lr=1e-4)
    x = _core.rand(batch, 784, device=device)
    y = _core.randint(0, 10, (batch,), device=device)

    def work() -> Any:
        for _ in range(steps):
            loss = _core.cross_entropy(net(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        return loss

    return work


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """The command of `python -m spirograd`."""
    parser = commands.add_parser("bench", help="a few figures: bandwidth, products, a training step")
    add_device(parser, "all", "cpu, gpu, gpu:1 or all")
    parser.add_argument("--quick", action="store_true", help="small sizes, to see that it runs")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Prints the figures: medians, and the least and the greatest time in milliseconds."""
    for device in devices(options.device):
        print(f"{device}: {device.name or 'CPU'} ({device.type})")
        for what, figure, timing in figures(device, options.quick):
            least, most = (f"{ms:.0f}" if ms > 99 else f"{ms:.2g}" for ms in (timing.least * 1e3, timing.most * 1e3))
            print(f"  {what:<45} {figure:>13}  {least}-{most} ms", flush=True)
        _core.empty_cache()
    return 0
