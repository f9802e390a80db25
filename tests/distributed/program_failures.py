"""What the others see when process 1 fails, run by mpiexec with 2 processes.

Arguments: how it fails; a folder, for a file of each process that found all right (when a process dies, mpiexec may end
before the others, and what they print is lost).
"""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path

import spirograd as sg
from spirograd import distributed as dist
from spirograd.nn.parallel import DistributedDataParallel as DDP

LIMIT = 2.0


def expect(part: str, work) -> float:
    """Seconds until a DistributedError that says so."""
    begin = time.perf_counter()
    try:
        work()
    except sg.DistributedError as error:
        assert part in str(error), f"{part!r} is not in: {error}"
        return time.perf_counter() - begin
    raise AssertionError(f"nothing was raised; expected {part!r}")


def reduced(*shape: int) -> sg.Tensor:
    x = sg.ones(*shape)
    dist.all_reduce(x)
    return x


def killed(rank: int) -> None:
    if rank == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    took = expect("process 1", lambda: reduced(3, 5))
    assert took < LIMIT + 5, took
    expect("no longer work together", lambda: reduced(3))
    dist.destroy_process_group()
    assert reduced(2).tolist() == [1.0, 1.0], "it goes on alone"


def sleeping(rank: int) -> None:
    if rank == 1:
        time.sleep(LIMIT + 1)
        return
    took = expect("process 1 did not come within 2 s", lambda: reduced(3, 5))
    assert LIMIT <= took < LIMIT + 5, took


def exception(rank: int) -> None:
    if rank == 1:
        raise ValueError("a batch is damaged")
    part = "process 1 takes part no more: ValueError: a batch is damaged at "
    expect(part + __file__, lambda: reduced(3))


def anomaly(rank: int) -> None:
    """A NaN in one process, with the check for them: the other updates nothing, and hears of the line."""
    weight = sg.ones(3)
    with sg.autograd.detect_anomaly():
        gradient = sg.full((3,), -1.0 if rank == 1 else 1.0).log()

    def update() -> None:
        nonlocal weight
        dist.all_reduce(gradient)
        weight = weight - gradient

    expect(f"process 1 takes part no more: Error: log: the result at {__file__}:", update)
    assert weight.tolist() == [1.0] * 3


def mismatch(rank: int) -> None:
    """Shapes, types, kinds and the number of tensors; the processes can go on afterwards."""
    other = "process 1" if rank == 0 else "process 0"
    cases = [
        (lambda: reduced(3), lambda: reduced(4), "all_reduce(sum) of float32 [4]"),
        (lambda: reduced(3), lambda: dist.broadcast(sg.ones(3)), "broadcast of float32 [3]"),
        (lambda: reduced(3), lambda: dist.all_reduce(sg.ones(3).double()), "all_reduce(sum) of float64 [3]"),
        (lambda: reduced(3), lambda: dist.all_reduce(sg.ones(3), "max"), "all_reduce(maximum) of float32 [3]"),
        (
            lambda: reduced(3),
            lambda: dist.all_reduce_coalesced([sg.ones(3), sg.ones(2)]),
            "all_reduce(sum) of 2 tensors, ",
        ),
    ]
    for first, second, text in cases:
        expect(f"{other} calls {text}" if rank == 0 else other, first if rank == 0 else second)
        assert reduced(3).tolist() == [2.0, 2.0, 2.0]


def expect_index_error(rank: int, work) -> None:
    """Work in which process 1 has an index of 9 out of range: all raise."""
    try:
        work()
        sg.synchronize()
    except IndexError as error:
        assert rank == 1 and "index 9" in str(error), error
    except sg.DistributedError as error:
        assert rank == 0 and "process 1 failed" in str(error) and "index 9" in str(error), error
    else:
        raise AssertionError("nothing was raised")


def index_error(rank: int) -> None:
    """An index out of range on one process: no process updates its weight, all raise, and can go on."""
    weight, gradient = sg.ones(4), sg.ones(4)
    sg.synchronize()

    def update() -> None:
        nonlocal weight, gradient
        row = sg.arange(8).float()[sg.tensor([9 if rank == 1 else 3])]
        gradient += row.sum()
        dist.all_reduce(gradient)
        weight -= gradient

    expect_index_error(rank, update)
    assert weight.tolist() == [1.0] * 4
    assert reduced(1).item() == 2.0


def later(rank: int) -> None:
    """The same for collectives that end later: nothing is raised before somebody looks, or before the next one."""
    other = "process 1" if rank == 0 else "process 0"
    x, y = sg.ones(3 + rank), sg.ones(2)
    work = dist.all_reduce(x, async_op=True)
    y.add_(x[:2])
    expect(other, work.wait if rank else y.tolist)
    assert x.tolist() == [1.0] * (3 + rank) and y.tolist() == [1.0, 1.0], "written back, and raised once"
    assert reduced(3).tolist() == [2.0, 2.0, 2.0]

    sg.manual_seed(0)
    model = DDP(sg.nn.Embedding(8, 3))
    optimizer = sg.optim.SGD(model.parameters(), lr=1.0)
    before = model.module.weight.tolist()

    def train(index: int) -> None:
        optimizer.zero_grad()
        loss = model(sg.tensor([index])).sum()
        loss.backward()
        if rank == 0:  # reads its loss, the other does not
            loss.item()
        optimizer.step()

    for _ in range(2):
        expect_index_error(rank, lambda: train(9 if rank == 1 else 3))
        assert model.module.weight.tolist() == before
    for i in range(3):
        train(i + rank)
    after = sg.tensor(before)
    for i in range(3):
        after[i] -= 0.5
        after[i + 1] -= 0.5
    assert model.module.weight.allclose(after)
    dist.all_reduce(sg.ones(3), async_op=True)  # ends when the process does


def main() -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # mpiexec sends it when a process has died, whatever its options
    if os.environ.get("OWN_GPU"):
        sg.set_default_device(f"gpu:{dist.get_local_rank()}")
    dist.init_process_group(timeout=LIMIT if sys.argv[1] in ("killed", "sleeping") else 30)
    rank = dist.get_rank()
    globals()[sys.argv[1]](rank)
    (Path(sys.argv[2]) / str(rank)).touch()


main()
