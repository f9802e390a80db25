"""What the benchmarks share: timing, facts about the machine, JSON and tables.

The rules of timing here:
- spirograd is lazy, and a lazy engine may skip what nobody looks at. So each timed region ends with a read of a value
  that depends on all the work, or keeps every result alive and waits for the device (`synchronize`).
- The same holds for the libraries beside it: asynchronous ones are waited for inside the region.
- Libraries of one row are measured in the same process, in turns of a few samples with a rest in between, so that a
  thread pool that still spins, or another process that comes and goes, hits no library alone.
- A row says its median, quartiles, least and greatest sample. Nothing is thrown away.
"""

from __future__ import annotations

import gc
import json
import os
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "benchmarks" / "results"

TURNS = 3  # how often each library of a row has its turn
WAKE = 0.15  # s of work before the samples of a turn
REST = 0.05  # seconds between turns


@dataclass
class Timing:
    """Seconds of one call, over n samples."""

    median: float
    low: float  # lower quartile
    high: float  # upper quartile
    least: float
    greatest: float
    n: int

    @staticmethod
    def of(samples: list[float]) -> Timing:
        low, median, high = statistics.quantiles(samples, n=4, method="inclusive") if len(samples) > 1 else samples * 3
        return Timing(median, low, high, min(samples), max(samples), len(samples))

    @property
    def unsteady(self) -> bool:
        """Half of the samples took more than twice the least: something else had the processor."""
        return self.median > 2 * self.least

    def scaled(self, factor: float) -> Timing:
        return Timing(*(v * factor for v in (self.median, self.low, self.high, self.least, self.greatest)), self.n)


@dataclass
class Result:
    """One number of one library on one device."""

    row: str
    case: str
    library: str
    device: str
    value: float
    unit: str
    timing: Timing | None = None
    target: str = ""
    facts: dict[str, Any] = field(default_factory=dict)


def sample(call: Callable[[], Any], count: int) -> list[float]:
    samples = []
    for _ in range(count):
        start = time.perf_counter()
        call()
        samples.append(time.perf_counter() - start)
    return samples


def wake(call: Callable[[], Any]) -> None:
    """Runs until threads, caches and clocks are back from the rest: a GPU needs a while to reach its speed."""
    begin = time.perf_counter()
    call()
    while time.perf_counter() - begin < WAKE:
        call()


def measure(
    calls: Mapping[str, Callable[[], Any]],
    *,
    calls_inside: int = 1,
    seconds: float = 1.0,
    least: int = 9,
    most: int = 300,
    warm_up: int = 3,
) -> dict[str, Timing]:
    """Times each call, in turns.

    Args:
        calls: for each library a function that does the work and waits for its result.
        calls_inside: how many units of work one call does; the timing is of one unit.
        seconds: time to spend on each library, about.
        least: samples at least, whatever they take.
        most: samples at most.
        warm_up: calls before the first sample, beside two that are always made; one if they are long.
    """
    collected: dict[str, list[float]] = {name: [] for name in calls}
    counts = {}
    for name, call in calls.items():
        call()  # compiles, fills caches
        once = min(sample(call, 1 if sample(call, 1)[0] > 1 else warm_up))
        counts[name] = -(-max(least, min(most, int(seconds / max(once, 1e-9)))) // TURNS)
    enabled = gc.isenabled()
    gc.disable()  # a collection inside a sample would be ours, not the library's
    try:
        for _ in range(TURNS):
            for name, call in calls.items():
                gc.collect()
                time.sleep(REST)
                if counts[name] > 1:
                    wake(call)
                collected[name] += sample(call, counts[name])
    finally:
        if enabled:
            gc.enable()
    return {name: Timing.of(samples).scaled(1 / calls_inside) for name, samples in collected.items()}


def run_python(code: str, *options: str) -> subprocess.CompletedProcess[str]:
    done = subprocess.run([sys.executable, *options, "-c", code], capture_output=True, text=True, env=dict(os.environ))
    if done.returncode:
        raise RuntimeError(f"benchmark: a child process failed:\n{done.stderr}")
    return done


def git_commit() -> str:
    """The commit, with a + when the tree differs from it."""
    try:
        show = ["git", "-C", str(ROOT), "describe", "--always", "--abbrev=12", "--match=", "--dirty=+"]
        return subprocess.run(show, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


def cpu_name() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def environment(devices: list[Any]) -> dict[str, Any]:
    """Everything a number depends on and that can be known."""
    import numpy as np

    import spirograd as sg

    versions = {"spirograd": sg.__version__, "python": platform.python_version(), "numpy": np.__version__}
    for name in ("torch", "jax"):
        if name in sys.modules:
            versions[name] = sys.modules[name].__version__
    return {
        "date": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        "commit": git_commit(),
        "versions": versions,
        "cpu": cpu_name(),
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "load_before": os.getloadavg()[0] if hasattr(os, "getloadavg") else None,
        "system": platform.platform(),
        "omp_wait_policy": os.environ.get("OMP_WAIT_POLICY"),
        "devices": [device_facts(d) for d in devices],
    }


def device_facts(device: Any) -> dict[str, Any]:
    """Name, driver and memory of a device."""
    names = ("type", "name", "vendor", "driver", "api_version", "memory_total")
    return {"device": str(device)} | {n: v for n in names if (v := getattr(device, n, None)) not in (None, "", 0)}


def save(name: str, results: list[Result], env: dict[str, Any], path: str | None = None) -> Path:
    """Writes benchmarks/results/NAME-DATE.json, or `path`."""
    stamp = env["date"].replace(":", "").replace("+0000", "Z")
    target = Path(path) if path else RESULTS / f"{name}-{stamp}.json"
    target.parent.mkdir(parents=True, exist_ok=True)
    content = {"benchmark": name, "environment": env, "results": [asdict(r) for r in results]}
    target.write_text(json.dumps(content, indent=1) + "\n")
    return target


def number(value: float) -> str:
    """Four digits that matter."""
    if value == int(value) and abs(value) < 1e6:
        return f"{value:,.0f}"
    return f"{value:,.0f}" if abs(value) >= 1e4 else f"{value:.4g}"


def table(results: list[Result]) -> str:
    """One line a number, for people."""
    lines = [("row", "case", "device", "library", "value", "unit", "25-75 %", "n", "target")]
    for r in results:
        spread = ""
        if r.timing and r.timing.median:
            a, b = r.timing.low / r.timing.median - 1, r.timing.high / r.timing.median - 1
            spread = f"{a:+.0%} {b:+.0%}" + ("!" if r.timing.unsteady else "")
        n = str(r.timing.n) if r.timing else ""
        lines.append((r.row, r.case, r.device, r.library, number(r.value), r.unit, spread, n, r.target))
    widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]
    right = {4, 6, 7}
    text = []
    for k, line in enumerate(lines):
        cells = [c.rjust(w) if i in right else c.ljust(w) for i, (c, w) in enumerate(zip(line, widths, strict=True))]
        text.append("  ".join(cells).rstrip())
        if k == 0:
            text.append("  ".join("-" * w for w in widths))
    if any(r.timing and r.timing.unsteady for r in results):
        text.append("! the median is over twice the least: the machine was not quiet, do not compare this number")
    return "\n".join(text)
