"""Rows about the way in: transfers, the first result of a process, the time of the import."""

from __future__ import annotations

import contextlib
import ctypes
import re
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import spirograd as sg
from harness.anchors import torch_for
from harness.common import Result, Timing, measure, run_python
from harness.rows import Context, milliseconds, row

Work = Callable[[], Any]

FIRST_RESULT = """
import time
import spirograd as sg
start = time.perf_counter()
x = sg.ones(4, device="{device}")
value = (x * 2 + 1).numpy()
print(time.perf_counter() - start)
assert value.tolist() == [3, 3, 3, 3]
"""


@contextlib.contextmanager
def kept_host_memory() -> Iterator[bool]:
    """Inside, the C library gives freed blocks out again instead of fresh pages; yields whether it can (glibc only).

    NumPy arrays then lie in memory that was touched before, as in a program that keeps its arrays.
    """
    try:
        mallopt = ctypes.CDLL(None).mallopt
        ctypes.CDLL(None).gnu_get_libc_version  # noqa: B018
    except (AttributeError, OSError):
        yield False
        return
    trim_threshold, mmap_max = -1, -4  # M_TRIM_THRESHOLD, M_MMAP_MAX of <malloc.h>
    mallopt(mmap_max, 0)
    mallopt(trim_threshold, 2**31 - 1)
    try:
        yield True
    finally:
        mallopt(mmap_max, 65_536)
        mallopt(trim_threshold, 128 * 1024)


def transfers(context: Context, values: Any) -> Iterator[tuple[str, dict[str, Work]]]:
    """(case, what to time) in the order in which they must be measured."""
    x = sg.tensor(values, device=context.device)

    def upload() -> None:
        t = sg.tensor(values, device=context.device)
        sg.synchronize()
        del t  # its memory goes back to the pool

    torch = torch_for(context) if "torch" in context.anchors else None
    tx = torch.array(values) if torch else None
    host = np.empty_like(values)

    def torch_upload() -> None:
        t = torch.torch.from_numpy(values).to(torch.device, copy=True)
        torch.wait()
        del t

    def both(ours: Work, theirs: Work) -> dict[str, Work]:
        return {"spirograd": ours} | ({"torch": theirs} if torch else {})

    yield "upload, memory of the pool", both(upload, torch_upload)

    def empty_upload() -> None:
        sg.empty_cache()
        upload()

    yield "upload, new memory", both(empty_upload, torch_upload)
    if context.gpu:
        yield "download, fresh pages", both(lambda: x.numpy(), lambda: tx.cpu().numpy())
        with kept_host_memory() as kept:
            if kept:
                torch_host = torch.torch.from_numpy(host) if torch else None
                yield "download, touched pages", both(lambda: x.numpy(), lambda: torch_host.copy_(tx))
            else:
                print("transfer: no download into touched pages, this C library has no mallopt")


@row("transfer")
def transfer(context: Context) -> Iterator[Result]:
    """256 MiB between NumPy and the device."""
    mib = 16 if context.quick else 256
    values = np.random.default_rng(0).standard_normal(mib * 2**18, dtype=np.float32)
    if not np.array_equal(sg.tensor(values, device=context.device).numpy(), values):
        raise ArithmeticError("benchmark: what came back is not what was sent")
    for case, works in transfers(context, values):
        timings = measure(works, **context.turns)
        yield from context.results("transfer", f"{case}, {mib} MiB", timings, "GB/s", lambda s: values.nbytes / s / 1e9)


@row("first")
def first(context: Context) -> Iterator[Result]:
    """The first result in a new process after import: device, a small computation, read. Caches on disk are warm."""
    code = FIRST_RESULT.format(device=str(context.device))
    run_python(code)
    samples = [float(run_python(code).stdout) for _ in range(3 if context.quick else 11)]
    timings = {"spirograd": Timing.of(samples)}
    case = "first result after import, new process"
    yield from context.results("first", case, timings, "ms", milliseconds, "<= 300 ms")


def imported(text: str, package: str) -> tuple[float, float]:
    """Seconds of importing a package, from -X importtime: in total, and of its own modules alone."""
    total, own = 0.0, 0.0
    for line in text.splitlines():
        match = re.match(r"import time:\s+(\d+) \|\s+(\d+) \|\s+(\S+)$", line)
        if match and (match[3] == package or match[3].startswith(package + ".")):
            own += int(match[1]) / 1e6
            if match[3] == package:
                total = int(match[2]) / 1e6
    return total, own


@row("import", gpu=False)
def import_time(context: Context) -> Iterator[Result]:
    """`import spirograd` after `import numpy`, in a new process."""
    count = 5 if context.quick else 21
    run_python("import numpy, spirograd")
    texts = [run_python("import numpy, spirograd", "-X", "importtime").stderr for _ in range(count)]
    pairs = [imported(text, "spirograd") for text in texts]
    for case, index, target in (("own modules", 1, "<= 20 ms"), ("with what they import beside NumPy", 0, "")):
        timing = Timing.of([pair[index] for pair in pairs])
        yield from context.results(
            "import", f"import spirograd, {case}", {"spirograd": timing}, "ms", milliseconds, target
        )
    start = time.perf_counter()
    run_python("import numpy")
    yield Result(
        "import", "python and numpy alone, whole process", "python", "cpu", 1e3 * (time.perf_counter() - start), "ms"
    )
