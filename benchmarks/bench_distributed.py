"""Training in several processes against one, with PyTorch's DistributedDataParallel beside it where PyTorch is there.

    python -m spirograd launch -n 2 benchmarks/bench_distributed.py                 # the CPU, one thread a process
    python -m spirograd launch -n 2 benchmarks/bench_distributed.py --device gpu    # a GPU a process

Each process takes a batch of the same size as the one process does, so that N processes do N times the work; the factor
is N * time of one / time of N. The first process measures alone while the others wait; both are measured in turns. With
the CPU set SPIROGRAD_THREADS=1. Writes benchmarks/results/distributed-DATE.json. Close other programs first.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any, NamedTuple

import spirograd as sg
from harness import common
from harness.common import Result, Timing
from models import twins

dist = sg.distributed
F = sg.nn.functional
WARMING, TURNS = 3, 5


class Case(NamedTuple):
    """A model, a batch for it, and the factor to reach with two processes."""

    name: str
    make: Callable[[Any], Any]
    batch: Callable[[Any], tuple[Any, Any]]
    steps: int
    goal: float


def mlp(lib: Any) -> Any:
    nn = lib.nn
    return nn.Sequential(nn.Linear(784, 512), nn.ReLU(), nn.Linear(512, 256), nn.ReLU(), nn.Linear(256, 10))


def images(rows: int) -> Callable[[Any], tuple[Any, Any]]:
    return lambda lib: (lib.randn(rows, 784), lib.randint(0, 10, (rows,)))


def tokens(vocabulary: int, rows: int, length: int) -> Callable[[Any], tuple[Any, Any]]:
    return lambda lib: tuple(lib.randint(0, vocabulary, (rows, length)) for _ in range(2))


def gpt(vocabulary: int, context: int, width: int, layers: int, heads: int) -> Callable[[Any], Any]:
    def make(lib: Any) -> Any:
        if lib is sg:
            return sg.models.GPT2(vocabulary, context, width, layers, heads, 0.0)
        sizes = SimpleNamespace(width=width, layers=layers, heads=heads, context=context, dropout=0.0)
        return twins.gpt(lib)(vocabulary, sizes)

    return make


CPU = [Case("MLP 784-512-256-10, batch 1,024 a process", mlp, images(1024), 20, 1.7)]
GPU = [
    Case("GPT L6 E384 T256, 64 sequences a GPU", gpt(65, 256, 384, 6, 6), tokens(65, 64, 256), 20, 1.94),
    Case("GPT-2 small T1024, batch 8 a GPU", gpt(50257, 1024, 768, 12, 12), tokens(50257, 8, 1024), 10, 1.96),
    Case("MLP 784-512-256-10, batch 16,384 a GPU", mlp, images(16384), 50, 1.6),
]


def stepper(lib: Any, case: Case, device: str, wrap: Callable[[Any], Any]) -> Callable[[], Any]:
    """A function that makes a training step, and returns its loss."""
    lib.manual_seed(0)
    model = wrap(case.make(lib).to(device))
    x, y = (t.to(device) for t in case.batch(lib))
    optimizer = lib.optim.AdamW(model.parameters(), lr=1e-4)

    def step() -> Any:
        loss = lib.nn.functional.cross_entropy(model(x).flatten(0, -2), y.flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss

    return step


def seconds_of(step: Callable[[], Any], steps: int) -> float:
    step().item()
    start = time.perf_counter()
    for _ in range(steps):
        loss = step()
    loss.item()
    return (time.perf_counter() - start) / steps


def factors(case: Case, lib: Any, name: str, device: str, wrap: Callable[[Any], Any]) -> Iterator[Result]:
    """Times of one process and of all, and the factor between them."""
    alone, joint = (stepper(lib, case, device, w) for w in (lambda model: model, wrap))
    one, all_ = [], []
    for turn in range(WARMING + TURNS):
        dist.barrier()
        first = seconds_of(alone, case.steps) if dist.get_rank() == 0 else 0.0
        dist.barrier()
        every = seconds_of(joint, case.steps)
        if turn >= WARMING:  # kernels for plans that run often are compiled beside the first turns
            one.append(first)
            all_.append(every)
    if dist.get_rank():
        return
    size = dist.get_world_size()
    for label, samples in (("1 process", one), (f"{size} processes", all_)):
        timing = Timing.of(samples)
        yield Result("training", f"{case.name}, {label}", name, device, timing.median * 1e3, "ms", timing)
    value = size * Timing.of(one).median / Timing.of(all_).median
    goal = f">= {case.goal}x" if size == 2 and name == "spirograd" else ""
    yield Result("training", f"{case.name}, factor", name, device, value, "x", target=goal)


def all_reduces(tensors: list[Any]) -> Timing:
    """Of one batch, from the call until the sums are there."""
    samples = []
    for _ in range(10):
        sg.synchronize()
        dist.barrier()
        start = time.perf_counter()
        work = dist.all_reduce_coalesced(tensors, async_op=True)
        assert work is not None
        work.wait()
        samples.append(time.perf_counter() - start)
    return Timing.of(samples[3:])


def bandwidth(device: str) -> Iterator[Result]:
    """Bytes a second of an all-reduce of 16 tensors, alone and as one more in a batch of several."""
    several, further = 2, 4
    for megabytes, goal in ((64, 240), (512, 300)) if device != "cpu" else ((4, 0),):
        size = megabytes * (1 << 20)
        tensors = [sg.ones(size // 4 // 16, device=device) for _ in range(16 * (several + further))]
        one, few, more = (all_reduces(tensors[: 16 * n]) for n in (1, several, several + further))
        name, target = f"{megabytes} MB in 16 tensors", f">= {goal} GB/s" if goal else ""
        yield Result("all_reduce", name, "spirograd", device, size / one.median / 1e9, "GB/s", one, target)
        value = further * size / (more.median - few.median) / 1e9
        yield Result("all_reduce", f"{name}, one more in a batch", "spirograd", device, value, "GB/s", more, target)


def memory(device: str) -> Iterator[Result]:
    """Bytes of Adam's state in this process with ZeRO, against all of it."""
    model = mlp(sg).to(device)
    zero = sg.optim.ZeroRedundancyOptimizer(model.parameters(), sg.optim.Adam)
    plain = sg.optim.Adam(model.parameters())
    for optimizer in (zero, plain):
        model(sg.ones(2, 784, device=device)).sum().backward()
        optimizer.step()
    held = [
        sum(t.nbytes for s in o.state.values() for t in s.values() if hasattr(t, "nbytes")) for o in (zero.optim, plain)
    ]
    yield Result("zero", "Adam's state", "spirograd", device, held[0] / held[1], "of all", target="<= 0.52")


def counters(device: str) -> Iterator[Result]:
    """What a step of the MLP costs, once it is known."""
    case = CPU[0]
    step = stepper(sg, case, device, sg.nn.parallel.DistributedDataParallel)
    for _ in range(6):
        step()
    sg.synchronize()
    sg.reset_stats()
    for _ in range(10):
        step()
    sg.synchronize()
    stats = sg.stats()
    by_nccl = dist.get_backend() == "nccl" and device != "cpu"
    goals = {"submissions": "<= 3", "hand_overs": "1", "allocations": "0"} if by_nccl else {}
    for name in ("submissions", "hand_overs", "allocations"):
        yield Result(
            "counters", f"MLP, {name} a step", "spirograd", device, stats[name] / 10, "", target=goals.get(name, "")
        )


def strong(device: str) -> Iterator[Result]:
    """The batch of one GPU shared out: as many times as fast as one process alone."""
    rows = 64 if device != "cpu" else 16
    size = dist.get_world_size()
    make = gpt(65, 256, 384, 6, 6) if device != "cpu" else gpt(65, 64, 64, 2, 4)
    length = 256 if device != "cpu" else 64
    one, each = (Case("", make, tokens(65, n, length), 10, 0) for n in (rows, rows // size))
    alone = stepper(sg, one, device, lambda model: model)
    joint = stepper(sg, each, device, sg.nn.parallel.DistributedDataParallel)
    times = []
    for _ in range(WARMING + TURNS):
        dist.barrier()
        first = seconds_of(alone, one.steps) if dist.get_rank() == 0 else 0.0
        dist.barrier()
        times.append((first, seconds_of(joint, each.steps)))
    singles, joints = (Timing.of(samples) for samples in zip(*times[WARMING:], strict=True))
    name = f"{'GPT L6 E384 T256' if device != 'cpu' else 'GPT L2 E64 T64'}, {rows} sequences in all"
    yield Result("strong scaling", name, "spirograd", device, singles.median / joints.median, "x", joints)


def torch_beside(device: str) -> tuple[Any, str, Callable[[Any], Any]] | None:
    try:
        import torch
    except ImportError:
        return None
    rank, size, local = (int(os.environ[k]) for k in ("RANK", "WORLD_SIZE", "LOCAL_RANK"))
    place = "cpu" if device == "cpu" else f"cuda:{local}"
    torch.set_num_threads(1 if device == "cpu" else torch.get_num_threads())
    torch.distributed.init_process_group("gloo" if device == "cpu" else "nccl", rank=rank, world_size=size)
    return torch, place, lambda model: torch.nn.parallel.DistributedDataParallel(model)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    options.add_argument("--device", choices=["cpu", "gpu"], default="cpu", help="default: cpu")
    options.add_argument("--backend", choices=["auto", "nccl", "mpi"], default="auto", help="of GPUs (default: auto)")
    options.add_argument("--json", metavar="FILE", help="where the results go")
    given = options.parse_args()
    dist.init_process_group("mpi" if given.device == "cpu" else given.backend)
    device = "cpu" if given.device == "cpu" else f"gpu:{dist.get_local_rank()}"
    results = [*bandwidth(device), *memory(device), *counters(device), *strong(device)]
    beside = torch_beside(device)
    for case in CPU if device == "cpu" else GPU:
        results += factors(case, sg, "spirograd", device, sg.nn.parallel.DistributedDataParallel)
        if beside:
            lib, place, wrap = beside
            results += factors(case, lib, "torch", place, wrap)
    if dist.get_rank() == 0:
        environment = common.environment([sg.Device(device)]) | {"processes": dist.get_world_size()}
        path = common.save("distributed", results, environment, given.json)
        print(common.table(results))
        print(path)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
