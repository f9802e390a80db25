"""Makes every call of Vulkan fail in turn while small programs run, and looks at what is left.

    SPIROGRAD_FAULTS=on python tests/faults/fault_sweep.py [--every N] [program ...]

After each fault: the result is right or the error of that fault was raised (kind_of), the tensors that the program
writes are those of before or of after, the CPU computes, so does the GPU where it was not lost, and where it was, after
recover(). Prints one JSON object a program: calls, cases, outcomes by name, and what was wrong. Each program runs in a
process of its own; if it dies, its last case is in the log. test_faults.py runs a sample; without --every it is the
full sweep.
"""

from __future__ import annotations

import argparse
import collections
import gc
import json
import os
import sys
import traceback
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import spirograd as sg
from spirograd import _core

CODES = (
    "OUT_OF_HOST_MEMORY",
    "OUT_OF_DEVICE_MEMORY",
    "INITIALIZATION_FAILED",
    "OUT_OF_POOL_MEMORY",
    "DEVICE_LOST",
)
LOSS = "DEVICE_LOST"
POLLED = {"vkGetSemaphoreCounterValue": 4, "vkWaitSemaphores": 2}  # asked again and again: the first ones stand for all


def bits(tensors: Any) -> list[bytes]:
    return [t.detach().cpu().numpy().tobytes() for t in tensors]


# ---- programs --------------------------------------------------------------------------------------------------------
class Program:
    """What runs with faults. `run` gives a value to compare with `expected`; `prepare` comes before each, without."""

    def __init__(self) -> None:
        self.gpu = sg.Device.gpu()

    def prepare(self) -> None: ...

    def run(self) -> Any:
        raise NotImplementedError

    def expected(self) -> Any:
        raise NotImplementedError

    def written(self) -> list[sg.Tensor]:
        """Tensors that the program writes in place."""
        return []

    def reload(self) -> None:
        """After a loss."""


class Kernel(Program):
    """A kernel that was never compiled before."""

    count = 0

    def prepare(self) -> None:
        Kernel.count += 1
        self.x = sg.tensor(np.linspace(-1, 1, 37, dtype=np.float32))
        self.y = self.x.to(self.gpu).realize()

    def chain(self, x: sg.Tensor) -> np.ndarray[Any, Any]:
        for bit in f"{Kernel.count:b}":
            x = x.sin() if bit == "1" else x.abs()
        return x.cumsum(0).numpy()

    def run(self) -> Any:
        return self.chain(self.y).tolist()

    def expected(self) -> Any:
        return self.chain(self.x).tolist()


class Step(Program):
    """A training step."""

    def __init__(self) -> None:
        super().__init__()
        sg.manual_seed(0)
        self.net = sg.nn.Sequential(sg.nn.Linear(6, 9), sg.nn.ReLU(), sg.nn.Dropout(0.25), sg.nn.Linear(9, 3))
        self.net.to(self.gpu)
        self.opt = self.optimizer()
        self.reload()
        for _ in range(2):  # the optimiser makes its states
            self._step(self.x, self.t)
        states = [x for p in self.net.parameters() for x in self.opt.state[p].values() if isinstance(x, sg.Tensor)]
        self.held = [*(p.data for p in self.net.parameters()), *states]
        self.saved = [x.numpy() for x in self.held]
        self.random = sg.get_rng_state()
        self.step: Any = self.replayed()
        self.before = bits(self.written())
        self.loss = self.run()
        self.after = bits(self.written())

    def optimizer(self) -> Any:
        return sg.optim.Adam(self.net.parameters(), lr=0.01)

    def replayed(self) -> Any:
        return self._step

    def reload(self) -> None:
        rows = np.random.default_rng(0).normal(size=(8, 6)).astype(np.float32)
        self.x, self.t = sg.tensor(rows, device=self.gpu), sg.tensor(np.arange(8) % 3, device=self.gpu)

    def prepare(self) -> None:
        for x, values in zip(self.held, self.saved, strict=True):  # in place: a replay knows these tensors
            x.copy_(sg.tensor(values, device=self.gpu))
        self.count(2.0)
        sg.set_rng_state(self.random)
        sg.synchronize()

    def count(self, steps: float) -> None:
        for p in self.net.parameters():
            self.opt.state[p]["step"] = steps

    def _step(self, x: sg.Tensor, t: sg.Tensor) -> sg.Tensor:
        loss = sg.nn.functional.cross_entropy(self.net(x), t)
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()
        return loss

    def run(self) -> Any:
        return self.step(self.x, self.t).item()

    def expected(self) -> Any:
        return self.loss

    def written(self) -> list[sg.Tensor]:
        return [*self.held, *(sg.tensor(self.opt.state[p]["step"]) for p in self.net.parameters())]


class Replay(Step):
    """A step of sg.compile, with commands that are kept."""

    def optimizer(self) -> Any:
        return sg.optim.SGD(self.net.parameters(), lr=0.01, momentum=0.9)

    def replayed(self) -> Any:
        step = sg.compile(self._step)
        for _ in range(6):
            step(self.x, self.t)
        self.prepare()
        return step

    def count(self, steps: float) -> None: ...

    def written(self) -> list[sg.Tensor]:
        return self.held


class Read(Program):
    """Bytes in several chunks to the host."""

    def __init__(self) -> None:
        super().__init__()
        self.array = np.arange(1 << 20, dtype=np.float32)
        self.reload()

    def reload(self) -> None:
        self.x = sg.tensor(self.array, device=self.gpu)
        sg.synchronize()

    def run(self) -> Any:
        return self.x.numpy().tobytes()

    def expected(self) -> Any:
        return self.array.tobytes()


class Later(Read):
    """The same, read by the CPU when they have arrived."""

    def run(self) -> Any:
        return (self.x.to("cpu", non_blocking=True) + 0).numpy().tobytes()


class Upload(Program):
    """Bytes in several chunks and small ones to the device, then a kernel that reads both."""

    array = np.arange(1 << 20, dtype=np.float32)

    def run(self) -> Any:
        x, y = sg.tensor(self.array, device=self.gpu), sg.tensor([1.0, 2.0], device=self.gpu)
        return [(x[:2] + y).tolist(), x[-1].item()]

    def expected(self) -> Any:
        return [[1.0, 3.0], float(self.array[-1])]


class InPlace(Program):
    """Writes through a view, a read, a write."""

    def prepare(self) -> None:
        self.x = sg.arange(64.0, device=self.gpu).realize()
        sg.synchronize()
        self.before = bits([self.x])
        self.after = [(np.arange(64, dtype=np.float32) + np.repeat([1, 0], 32).astype(np.float32)).tobytes()]

    def run(self) -> Any:
        self.x[:32].add_(1.0)
        return self.x.sum().item()

    def expected(self) -> Any:
        return float(sum(range(64)) + 32)

    def written(self) -> list[sg.Tensor]:
        return [self.x]


class Profiled(Program):
    """Kernels with time stamps."""

    def run(self) -> Any:
        with sg.profiler.profile():
            return (sg.ones(3, device=self.gpu) * 2).tolist()

    def expected(self) -> Any:
        return [2.0, 2.0, 2.0]


class Emptied(Program):
    """Caches given back, and memory asked for again."""

    def prepare(self) -> None:
        sg.ones(1 << 20, device=self.gpu).realize()
        sg.synchronize()

    def run(self) -> Any:
        sg.empty_cache()
        return sg.full((1 << 20,), 2.0, device=self.gpu).sum().item()

    def expected(self) -> Any:
        return float(2 << 20)


class Scalars(Program):
    """A graph of Values, its gradients, and a parameter that is written."""

    def run(self) -> Any:
        a, b = sg.Value(2.0, device="gpu"), sg.Value(3.0, device="gpu")
        c = (a * b + a).relu()
        c.backward()
        got = [c.data, a.grad]
        a.data = 5.0
        return [*got, (a * b).data]

    def expected(self) -> Any:
        return [8.0, 4.0, 15.0]


PROGRAMS = {
    p.__name__.lower(): p for p in (Kernel, Step, Replay, Read, Later, Upload, InPlace, Profiled, Emptied, Scalars)
}


# ---- one process -----------------------------------------------------------------------------------------------------
class Report:
    def __init__(self, name: str) -> None:
        self.name, self.outcomes, self.wrong = name, collections.Counter[str](), list[str]()
        self.calls = self.cases = 0

    def note(self, outcome: str) -> None:
        self.cases += 1
        self.outcomes[outcome] += 1

    def bad(self, rule: str, what: str) -> None:
        self.wrong.append(f"{rule}: {what}")

    def text(self) -> str:
        return json.dumps(
            {"program": self.name, "calls": self.calls, "cases": self.cases, "outcomes": self.outcomes}
            | {"wrong": self.wrong}
        )


def equal(got: Any, wanted: Any) -> bool:
    if isinstance(wanted, list):
        return len(got) == len(wanted) and all(equal(g, w) for g, w in zip(got, wanted, strict=True))
    return bool(abs(got - wanted) <= 1e-5 * max(1.0, abs(wanted))) if isinstance(wanted, float) else got == wanted


def rules_of(calls: list[str], hosts: int, every: int) -> Iterator[str]:
    """Each call with each code, and each request for host memory; of all of them every n-th, and the first of each kind
    that docs/reliability.md has a row for."""
    counts = collections.Counter(calls)
    rules = [
        f"{name}@{n}{'!' if code == LOSS else ''}={code}"
        for name, count in counts.items()
        for n in range(1, min(count, POLLED.get(name, count)) + 1)
        for code in CODES
    ]
    rules += [f"host@{n}" for n in range(1, hosts + 1)]
    kinds = ("DEVICE_MEMORY", "HOST_MEMORY", "POOL_MEMORY", "vkCreateComputePipelines@1=INIT", "host@")
    kinds += ("vkAllocateMemory@1!=DEVICE_LOST",)
    first = [next((rule for rule in rules if kind in rule), None) for kind in kinds]
    yield from dict.fromkeys([*filter(None, first), *rules[::every]])


def kind_of(rule: str) -> type[sg.Error]:
    """The error that a fault leads to, where it leads to one."""
    call, _, code = rule.partition("=")
    if LOSS in code:
        return sg.DeviceLostError
    if "MEMORY" in code or call.startswith("host@"):
        return sg.OutOfMemoryError
    return sg.KernelCompileError if call.startswith("vkCreateComputePipelines") else sg.Error


def look(program: Program, rule: str, report: Report) -> None:
    """One fault."""
    program.prepare()
    _core._set_faults(rule)
    try:
        got = program.run()
        fired = _core._fault_report()["fired"]
        _core._set_faults("")
        report.note("right" if fired else "not reached")
        if not equal(got, program.expected()):
            report.bad(rule, f"got {str(got)[:80]}")
    except Exception as e:
        report.note(type(e).__name__)
        if type(e) is not kind_of(rule):
            report.bad(rule, "".join(traceback.format_exception_only(e)).strip())
    finally:
        _core._set_faults("")
    if sg.ones(2).add(1).tolist() != [2.0, 2.0]:
        report.bad(rule, "the CPU computes something else")
    try:
        if program.written() and bits(program.written()) not in (program.before, program.after):
            report.bad(rule, "neither the tensors of before nor of after")
        if sg.ones(2, device=program.gpu).add(1).tolist() != [2.0, 2.0]:
            report.bad(rule, "the GPU computes something else")
        lost = False
    except (sg.DeviceLostError, sg.DeviceTimeoutError) as e:
        lost = True
        if LOSS not in rule:
            report.bad(rule, f"taken for a loss: {e}")
    if lost:
        program.gpu.recover()
        program.reload()
        if sg.ones(2, device=program.gpu).add(1).tolist() != [2.0, 2.0]:
            report.bad(rule, "the GPU does not work after recover()")


def sweep(name: str, every: int, say: Callable[[str], None]) -> Report:
    report = Report(name)
    program = PROGRAMS[name]()
    for _ in range(3):  # plans are made, commands kept
        program.prepare()
        program.run()
    program.prepare()
    _core._set_faults("")
    if not equal(program.run(), program.expected()):
        report.bad("none", "wrong without a fault")
    seen = _core._fault_report()
    report.calls = len([c for c in seen["calls"] if c not in POLLED])
    gc.collect()
    before = sg.stats()["bytes_live"]
    for rule in rules_of(seen["calls"], seen["host_requests"], every):
        say(rule)
        look(program, rule, report)
    program.prepare()
    if not equal(program.run(), program.expected()):
        report.bad("none", "wrong after all faults")
    gc.collect()
    if (after := sg.stats()["bytes_live"]) > before:
        report.bad("all", f"{after - before} bytes stay in use")
    return report


def start(rule: str) -> str:
    """In a process that has not seen Vulkan: the first use of a GPU, with a fault from the start."""
    os.environ["SPIROGRAD_FAULTS"] = rule
    try:
        gpu = sg.Device.gpu()
        outcome = "right" if (sg.tensor([1.0, 2.0], device=gpu) * 2).tolist() == [2.0, 4.0] else "wrong"
    except sg.Error as e:
        outcome = type(e).__name__
    if sg.ones(2).add(1).tolist() != [2.0, 2.0]:
        return "the CPU computes something else"
    _core._set_faults("")
    try:
        gpu = sg.Device.gpu()
        gpu.recover()
        if (sg.tensor([1.0, 2.0], device=gpu) * 2).tolist() != [2.0, 4.0]:
            return "wrong afterwards"
    except sg.DeviceUnavailableError:
        outcome += ", no GPU in this process"
    return outcome


def leave(rule: str) -> str:
    """A fault at the end of a process."""
    os.environ["SPIROGRAD_FAULTS"] = "on"
    kept = [sg.ones(3, device="gpu").exp() for _ in range(3)]
    kept[0].realize()
    _core._set_faults(rule)
    return "left"


def in_fork(work: Callable[[], str], patience: int = 60) -> tuple[str, int]:
    """What a child said, and its status: that of a process that ends as Python does."""
    there, here = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(there)
        import signal

        signal.alarm(patience)
        os.write(here, work().encode())
        os.close(here)
        sys.exit(0)
    os.close(here)
    with os.fdopen(there, "rb") as file:
        text = file.read().decode()
    return text, os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def processes(name: str, every: int) -> Report:
    """Faults that need a process each."""
    report = Report(name)
    scenario = {"start": start, "leave": leave}[name]

    def dry() -> str:
        os.environ["SPIROGRAD_FAULTS"] = "on"
        (sg.tensor([1.0, 2.0], device=sg.Device.gpu()) * 2).tolist()
        seen = _core._fault_report()
        return json.dumps([seen["calls"], seen["host_requests"]])

    if name == "start":
        trace, hosts = json.loads(in_fork(dry)[0])
    else:
        trace, hosts = ["vkWaitSemaphores", "vkGetPipelineCacheData", "vkGetSemaphoreCounterValue", "vkQueueSubmit2"], 0
    report.calls = len([c for c in trace if c not in POLLED])
    for rule in rules_of(trace, hosts, every):
        outcome, status = in_fork(lambda rule=rule: scenario(rule))  # type: ignore[misc]
        report.note(outcome)
        told = outcome.split(",")[0]
        if status != 0 or told not in ("right", "left", "DeviceUnavailableError", kind_of(rule).__name__):
            report.bad(rule, f"{outcome or 'nothing'}, status {status}")
    return report


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("programs", nargs="*", default=["start", *PROGRAMS, "leave"])
    options = parser.parse_args()
    ok = True
    for name in options.programs:
        if name not in PROGRAMS:
            report = processes(name, options.every)
        else:
            os.environ["SPIROGRAD_FAULTS"] = "on"

            def work(name: str = name) -> str:
                return sweep(name, options.every, lambda rule: print(rule, file=sys.stderr, flush=True)).text()

            text, status = in_fork(work, 1800)
            report = Report(name)
            if status == 0:
                print(text, flush=True)
                ok = ok and not json.loads(text)["wrong"]
                continue
            report.bad("the last one", f"the process ended with status {status}")
        print(report.text(), flush=True)
        ok = ok and not report.wrong
    return 0 if ok else 1


if __name__ == "__main__":
    sys.exit(main())
