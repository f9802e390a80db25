"""Random whole programs, run on every backend and compared.

    python tests/fuzz/programs.py --count 300                 CPU, fused and not, against float64
    python tests/fuzz/programs.py --count 300 --devices cpu,gpu --jobs 2
    python tests/fuzz/programs.py --seed 1234 --count 1 --show

PyTorch in float64 is the reference where it is installed, else this library's CPU in float64, one kernel an operation.
A difference is judged against how much the reference itself moves when its data moves by a millionth and PyTorch rounds
at random (rounding.py), so that a comparison or a division near a jump is no finding. What is found is made shorter and
printed as a program, which runs as it is printed, from this folder. Programs run in processes of their own, so that one
that ends its process is a finding, too. `--devices canary` runs the library with a mistake of each family, and must
find them all.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import multiprocessing
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection
from multiprocessing.pool import ThreadPool
from pathlib import Path
from time import monotonic
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))
import gradients  # noqa: F401  (these fill the tables)
import spirograd as sg
import statements  # noqa: F401
import training  # noqa: F401
import types_and_chances  # noqa: F401
from draw import VALUES, WRITES, draw
from mistakes import MISTAKES, Mistaken
from program import Array, Backend, Program, Refused, run

ROUNDS = 12
NEGLIGIBLE = 1e-6  # of a gradient that another library says is none
LEAST_SHARE = 0.02  # of the statements, for each family
LEAST_LENGTH = 12  # of a program, on average
SECONDS = 60.0  # for a process to do anything
LATEST = 10.0  # seconds for the last program when time is over
MOST_SHORTENED = 12  # programs, in one process
FARTHEST = 1e6  # beyond, a training diverges, and what comes after it is decided by rounding


@dataclass(frozen=True)
class Accuracy:
    tolerance: float  # of the largest value
    noise: float  # by which data is moved to see how far values go
    margin: float  # times as far is still right


FLOAT, HALF = Accuracy(3e-4, 2e-6, 100.0), Accuracy(4e-2, 4e-3, 10.0)


def has_torch() -> bool:
    return importlib.util.find_spec("torch") is not None


def reference() -> Backend:
    if has_torch():
        import torch

        torch.set_num_threads(1)
        return Backend("PyTorch float64", torch, "cpu", double=True)
    return Backend("CPU float64 unfused", sg, sg.Device.cpu(), double=True, fuse=False)


def backends(devices: list[str]) -> list[Backend]:
    if devices == ["canary"]:
        changed = {"": None} | {name: Mistaken({name: f}) for name, f in MISTAKES.items()}
        return [Backend(f"canary {name}", t or sg, sg.Device.cpu()) for name, t in changed.items()]
    cpu = sg.Device.cpu()
    made = [Backend("CPU fused", sg, cpu), Backend("CPU unfused", sg, cpu, fuse=False)]
    made.append(Backend("CPU float64 fused", sg, cpu, double=True))
    if has_torch():
        made.append(Backend("CPU float64 unfused", sg, cpu, double=True, fuse=False))
    if "gpu" in devices:
        gpu = sg.Device.gpu()
        made += [Backend("GPU fused", sg, gpu), Backend("GPU unfused", sg, gpu, fuse=False)]
    return made if "cpu" in devices else [b for b in made if "GPU" in b.name]


Values = list[Array | None]


def attempt(program: Program, backend: Backend, number: int) -> Values | Refused:
    try:
        return run(program, backend, number)
    except Refused as refused:
        return refused


@dataclass
class Finding:
    kind: str  # "wrong", "bits": not those of the same backend with fused kernels, "refused", "accepted" or "ended"
    backend: str
    number: int
    what: str
    program: Program


def accuracy_of(program: Program) -> Accuracy:
    return HALF if "float16" in program.text() else FLOAT


def differences(got: Values, want: Values, tolerance: float) -> list[int]:
    if len(got) != len(want):
        return [-1]
    return [i for i, (a, b) in enumerate(zip(got, want, strict=True)) if not same(a, b, tolerance)]


def same(a: Array | None, b: Array | None, tolerance: float | Array) -> bool:
    if a is None or b is None:
        gradient = b if a is None else a
        return gradient is None or bool(np.all(np.abs(gradient) <= NEGLIGIBLE))
    if a.shape != b.shape:
        return False
    scale = 1 + np.abs(b[np.isfinite(b)]).max(initial=0)
    return bool(np.all(distance(a, b) <= tolerance * scale))


def distance(a: Array, b: Array) -> Array:
    """Infinite from NaN to a number, and 0 from NaN to NaN."""
    a, b = a.astype(np.float64), b.astype(np.float64)
    with np.errstate(invalid="ignore"):
        apart = np.where((a == b) | (np.isnan(a) & np.isnan(b)), 0.0, np.abs(a - b))
    return np.where(np.isnan(apart), np.inf, apart)


def before_divergence(values: Values) -> Values:
    for i, v in enumerate(values):
        if v is not None and v.dtype.kind == "f" and v.size and np.abs(v[~np.isnan(v)]).max(initial=0) > FARTHEST:
            return values[:i]
    return values


def moves(program: Program, backend: Backend, number: int, want: Values) -> list[Array | None] | None:
    """How far each value goes from `want` when data and rounding move; None: the program takes another course."""
    spread: list[Array | None] = [None if w is None else np.zeros(w.shape) for w in want]
    for seed in range(ROUNDS):
        try:
            moved = run(program, backend, number, accuracy_of(program).noise, seed)[: len(want)]
        except Refused:
            return None
        if [m is None or m.shape for m in moved] != [w is None or w.shape for w in want]:
            return None
        for i, (m, w) in enumerate(zip(moved, want, strict=True)):
            if m is not None and w is not None:
                spread[i] = np.maximum(spread[i], distance(m, w))
    return spread


def is_wrong(program: Program, base: Backend, number: int, got: Values, want: Values) -> bool:
    accuracy = accuracy_of(program)
    if len(calm := before_divergence(want)) < len(want):
        got, want = got[: len(calm)], calm
    if not differences(got, want, accuracy.tolerance):
        return False
    spread = moves(program, base, number, want)
    if spread is None or len(got) != len(want):
        return spread is not None
    return any(
        not same(g, w, accuracy.tolerance if s is None else accuracy.tolerance + accuracy.margin * s)
        for g, w, s in zip(got, want, spread, strict=True)
    )


def examine(program: Program, base: Backend, others: list[Backend]) -> Iterator[Finding]:
    for number in range(program.runs):
        want = attempt(program, base, number)
        seen: dict[str, Values | Refused] = {}
        for backend in others:
            got = seen[backend.name] = attempt(program, backend, number)
            fused = seen.get(backend.name.replace("unfused", "fused"))
            if isinstance(got, list) and isinstance(fused, list) and bits_of(got) != bits_of(fused):
                yield Finding("bits", backend.name, number, "other bits than fused", program)
            if isinstance(got, Refused):
                if not isinstance(want, Refused):
                    yield Finding("refused", backend.name, number, str(got), program)
            elif isinstance(want, Refused):
                if base.t is sg:  # PyTorch refuses some writes that have a meaning here
                    yield Finding("accepted", backend.name, number, str(want), program)
            elif is_wrong(program, base, number, got, want):
                yield Finding("wrong", backend.name, number, describe(got, want, program), program)


def bits_of(values: Values) -> list[bytes | None]:
    """All NaNs are one."""

    def of(v: Array) -> bytes:
        return (np.where(v != v, np.nan, v) if v.dtype.kind == "f" else v).tobytes()

    return [None if v is None else of(v) for v in values]


def describe(got: Values, want: Values, program: Program) -> str:
    if len(got) != len(want):
        return f"{len(got)} values, not {len(want)}"
    i = differences(got, want, accuracy_of(program).tolerance)[0]
    return f"value {i} is {got[i]!r}, not {want[i]!r}"


def still(program: Program, finding: Finding, base: Backend, others: list[Backend]) -> bool:
    alive()
    if finding.kind == "ended":
        return isinstance(in_a_process(examine_all, program, finding.backend.split(",")), str)
    mine = [b for b in others if b.name in (finding.backend, finding.backend.replace("unfused", "fused"))]
    for again in examine(program, base, mine):
        if again.kind == finding.kind and again.backend == finding.backend:
            finding.what = again.what
            return True
    return False


def shorten(finding: Finding, base: Backend, others: list[Backend]) -> Program:
    """Leaves out runs and lines as long as the finding stays."""
    if "thread" in finding.what:
        return finding.program
    program = finding.program
    for runs in (1, 2):
        if runs < program.runs and still(replace(program, runs=runs), finding, base, others):
            program = replace(program, runs=runs)
            break
    again = True
    while again:
        again = False
        for i in reversed(range(len(program.lines))):
            shorter = replace(program, lines=program.lines[:i] + program.lines[i + 1 :])
            if still(shorter, finding, base, others):
                program, again = shorter, True
    return program


def in_two_threads(first: Program, second: Program, backend: Backend) -> list[Values | Refused]:
    """Both programs at once, one a thread."""
    results: list[Values | Refused] = [[], []]
    start = threading.Barrier(2)

    def work(i: int, program: Program) -> None:
        start.wait()
        results[i] = attempt(program, replace(backend, fuse=True), 0)

    threads = [threading.Thread(target=work, args=(i, p)) for i, p in enumerate((first, second))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


def examine_threads(first: Program, second: Program, base: Backend, others: list[Backend]) -> Iterator[Finding]:
    for backend in others:
        if backend.fuse and backend.name != base.name:
            for program, got in zip((first, second), in_two_threads(first, second, backend), strict=True):
                alone = attempt(program, base, 0)
                if not isinstance(got, Refused) and not isinstance(alone, Refused):
                    if is_wrong(program, base, 0, got, alone):
                        yield Finding(
                            "wrong", backend.name, 0, "beside another thread: " + describe(got, alone, program), program
                        )
                elif isinstance(got, Refused) and not isinstance(alone, Refused):
                    yield Finding("refused", backend.name, 0, "beside another thread: " + str(got), program)


def examine_all(program: Program, devices: list[str]) -> list[Finding]:
    return list(examine(program, reference(), backends(devices)))


def in_a_process(function: Callable[..., Any], *arguments: Any, end: float = float("inf")) -> Any:
    """What the function returns, or a text that says how its process ended; past the end, what it has told so far."""
    context = multiprocessing.get_context("spawn")
    reads, writes = context.Pipe(duplex=False)
    process = context.Process(target=answer, args=(writes, function, arguments))
    process.start()
    writes.close()
    result: Any = f"no answer in {SECONDS:.0f} s"
    so_far, over = None, False
    try:
        while not over and reads.poll(min(SECONDS, max(0.0, end - monotonic()))):
            over, told = reads.recv()
            so_far = so_far if told is None else told
        if over or (so_far is not None and monotonic() >= end):
            result = so_far
    except EOFError:
        process.join()
        result = f"the process ended with {process.exitcode}"
    process.kill()
    process.join()
    return result


listener: Connection | None = None  # of the process that asked


def answer(writes: Connection, function: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
    global listener
    listener = writes
    writes.send((True, function(*arguments)))


def alive(so_far: Any = None) -> None:
    """Tells that the process goes on, and what it has."""
    if listener:
        listener.send((False, so_far))


Done = tuple[list[Finding], Counter[str]]


@dataclass(frozen=True)
class Job:
    first: int  # seed
    count: int
    devices: list[str]
    shorter: bool  # whether to shorten what is found
    end: float  # by monotonic(), which all processes share


def done(job: Job) -> Done:
    """Works on it in a process; where that ends, on the halves, until it is known which program did it."""
    result = in_a_process(work_on, job, end=job.end + LATEST)
    if monotonic() > job.end and isinstance(result, str):
        return [], Counter()
    if not isinstance(result, str):
        return result  # type: ignore[no-any-return]
    if job.count > 1:
        half = job.count // 2
        one = done(replace(job, count=half))
        two = done(replace(job, first=job.first + half, count=job.count - half))
        return one[0] + two[0], one[1] + two[1]
    finding = Finding("ended", ",".join(job.devices), 0, result, draw(job.first, reference()))
    if job.shorter:
        finding.program = shorten(finding, reference(), [])
    counts = Counter({"programs": 1, "lines": len(finding.program.lines), "ended": 1})
    return [finding], counts


def concerned(program: Program, devices: list[str], findings: list[Finding]) -> list[Backend]:
    """Canaries that the program may find, and that are not found yet, with the library as it is before them."""
    known, text = {f.backend for f in findings if f.kind == "wrong"}, program.text()
    first, *canaries = backends(devices)
    chosen = [b for b in canaries if b.name not in known and b.name.split(".")[-1].split(" ")[-1] in text]
    return [first, *chosen] if chosen else []


def work_on(job: Job) -> Done:
    devices = job.devices
    base, others = reference(), backends(devices)
    findings: list[Finding] = []
    counts: Counter[str] = Counter()
    before: Program | None = None
    for seed in range(job.first, job.first + job.count):
        if monotonic() > job.end:
            break
        alive((findings, counts))
        program = draw(seed, base)
        counts["programs"] += 1
        counts["lines"] += len(program.lines)
        counts.update(f"family {name}" for name in program.families)
        if devices == ["canary"]:
            others = concerned(program, devices, findings)
        counts["runs"] += program.runs * len(others)
        found = list(examine(program, base, others))
        if before and seed % 8 == 0:
            found += examine_threads(before, program, base, others)
        before = program
        counts.update(finding.kind for finding in found)
        counts.update(f"refused: {finding.what[:90]}" for finding in found if finding.kind == "refused")
        if devices == ["canary"]:
            found = [] if any(f.backend == "canary " for f in found) else found  # the mistake is no canary's
        else:  # one of each kind tells enough of a program
            found = list({finding.kind: finding for finding in reversed(found)}.values())
        for finding in found:
            if job.shorter and counts["shortened"] < MOST_SHORTENED and finding.kind in ("wrong", "bits", "accepted"):
                counts["shortened"] += 1
                finding.program = shorten(finding, base, others)
        findings += found
    return findings, counts


def report(finding: Finding) -> str:
    program = finding.program
    return (
        f"\n# ---- {finding.kind} on {finding.backend}, seed {program.seed}, run {finding.number}\n"
        f"from program import begin; globals().update(begin({program.seed}, {finding.number}, {program.batches}))\n"
        f"{program.text()}\nout(*kept())\n# {finding.what[:600]}"
    )


def thin(counts: Counter[str]) -> list[str]:
    """What there is too little of in what was drawn."""
    families = {family for _, family, _ in (*VALUES, *WRITES)} | {"replays"}
    drawn = sum(n for name, n in counts.items() if name.startswith("family "))
    shares = {name: counts[f"family {name}"] / max(1, drawn) for name in sorted(families)}
    print("statements: " + ", ".join(f"{name} {share:.1%}" for name, share in shares.items()))
    found = [f"{name}: {share:.1%} of the statements" for name, share in shares.items() if share < LEAST_SHARE]
    if counts["lines"] < LEAST_LENGTH * counts["programs"]:
        found.append(f"{counts['lines'] / counts['programs']:.1f} lines a program")
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=0, help="of the first program")
    parser.add_argument("--count", type=int, default=300, help="programs")
    parser.add_argument("--devices", default="cpu", help="cpu, gpu or both with a comma; canary: mistakes")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--seconds", type=float, default=0, help="stop after so long; 0: never")
    parser.add_argument("--show", action="store_true", help="print the programs, run nothing")
    parser.add_argument("--json", type=Path, help="write counts and findings to this file")
    parser.add_argument("--whole", action="store_true", help="do not make what is found shorter")
    options = parser.parse_args()
    if options.show:
        for seed in range(options.seed, options.seed + options.count):
            print(f"# seed {seed}\n{draw(seed, reference()).text()}\n")
        return 0
    size = max(1, min(400, options.count // (4 * options.jobs) or 1))
    devices = options.devices.split(",")
    start = monotonic()
    last = options.seed + options.count
    shorter, end = not options.whole and devices != ["canary"], start + (options.seconds or float("inf"))
    jobs = [Job(s, min(size, last - s), devices, shorter, end) for s in range(options.seed, last, size)]
    counts: Counter[str] = Counter()
    findings: list[Finding] = []
    with ThreadPool(options.jobs) as pool:
        for found, counted in pool.imap_unordered(done, jobs):
            counts += counted
            findings += found
            for finding in found:
                if finding.kind != "refused":
                    print(report(finding), flush=True)
    refused = {k: n for k, n in counts.items() if k.startswith("refused: ")}
    for text, n in sorted(refused.items(), key=lambda item: -item[1])[:40]:
        print(f"{n:6} {text}")
    wrong = [f for f in findings if f.kind != "refused"]
    print(
        f"{counts['programs']} programs, {counts['lines']} lines, {counts['runs']} runs against {reference().name}, "
        f"{monotonic() - start:.0f} s: {len(wrong)} findings, {counts['refused']} refused"
    )
    if options.json:
        options.json.write_text(json.dumps({"counts": counts, "findings": [report(f) for f in findings]}, indent=1))
    if devices == ["canary"]:
        missed = {f"canary {name}" for name in MISTAKES} - {f.backend for f in wrong}
        print(f"not found: {', '.join(sorted(missed))}" if missed else "every mistake of a canary was found")
    few = thin(counts) if counts["programs"] >= 200 else []
    for what in few:
        print(f"too few: {what}")
    failed = len({f.program.seed for f in wrong})
    print(f"{counts['programs'] - failed} passed, {failed} failed")
    return bool(wrong or few)


if __name__ == "__main__":
    sys.exit(main())
