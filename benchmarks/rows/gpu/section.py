"""What the sections of benchmark_gpu.py are given: a device, how much time there is, and a place for what is left out.

spirograd is lazy, and a lazy engine could skip what nobody looks at. So every `work` here reads, inside the timed
region, values that need all of its results, or keeps the results alive and waits for the device.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from harness.common import Result, measure, sample

UNITS = {"us": 1e6, "ms": 1e3}
SHORTEST = 5e-3  # s, a sample with --quick
LONGEST = 0.3  # s, a unit of work; larger sizes of the row are left out


def parameters(sizes: Sequence[int]) -> int:
    """How many an MLP with layers of these sizes has."""
    return sum((fan_in + 1) * fan_out for fan_in, fan_out in pairwise(sizes))


def dashed(sizes: Sequence[int]) -> str:
    return "-".join(map(str, sizes))


@dataclass
class Bench:
    """One device in one section."""

    device: Any  # sg.Device
    section: str
    quick: bool
    skipped: list[str] = field(default_factory=list)
    latest: float = 0.0  # seconds of a unit of the work timed last

    @property
    def gpu(self) -> bool:
        return bool(self.device.kind == "gpu")

    def time(
        self,
        row: str,
        case: str,
        work: Callable[[], Any],
        *,
        inside: int = 1,
        unit: str = "ms",
        least: int = 9,
        **facts: Any,
    ) -> Result:
        """Times one of the `inside` units of work that `work` does and reads; `facts` go to the JSON."""
        turns: dict[str, Any] = {"seconds": 0.3, "least": least, "most": 100}
        again = 1
        if self.quick:
            # Three samples in all: `measure` then leaves out waking the device, which takes longest. A sample is as
            # many calls as make it long enough to be one.
            turns = {"seconds": 0.0, "least": 3, "most": 3, "warm_up": 1}
            again = max(1, int(SHORTEST / min(sample(work, 2))))

        def calls() -> None:
            for _ in range(again):
                work()

        timing = measure({"": calls}, calls_inside=inside * again, **turns)[""]
        self.latest = timing.median
        facts = {"section": self.section} | facts
        return Result(row, case, "spirograd", str(self.device), timing.median * UNITS[unit], unit, timing, facts=facts)

    def inside(self, units: int) -> int:
        """How many units of work to put into one call, of those that a full run on a real device does."""
        return min(units, 2) if self.quick or self.device.type == "software" else units

    def skips(self, what: str, why: str = "") -> bool:
        """Whether to leave out a case for `why`, or because it is larger than one that took long already."""
        if not why and self.latest > LONGEST:
            why = f"the size before took {self.latest:.1f} s"
        if why:
            self.skipped.append(f"{self.device}, {what}: skipped, {why}")
        return bool(why)


@dataclass(frozen=True)
class Section:
    name: str
    doc: str
    run: Callable[[Bench], Iterator[Result]]
