"""What NCCL's backend adds to that of MPI: run by mpiexec with 2 processes, with the mocks of CUDA and NCCL.

Arguments: what; a folder, for a file of each process that found all right, or the reason of an error.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import signal
import sys
import time
import warnings
from pathlib import Path

import spirograd as sg
from spirograd import distributed as dist
from spirograd.nn.parallel import DistributedDataParallel as DDP

LIMIT = 2.0
CALM = ("train", "gathers", "many_calls")  # nobody fails
F = sg.nn.functional


def bits(model: sg.nn.Module) -> str:
    return hashlib.sha256(b"".join(p.detach().cpu().numpy().tobytes() for p in model.parameters())).hexdigest()


def trained(compiled: bool = False) -> str:
    """A few steps of a model whose gradients all have odd sizes."""
    sg.manual_seed(0)
    model = DDP(sg.nn.Sequential(sg.nn.Linear(5, 7), sg.nn.Tanh(), sg.nn.Linear(7, 3)))
    optimizer = sg.optim.Adam(model.parameters(), lr=0.01)
    sg.manual_seed(1 + dist.get_rank())
    x, y = sg.randn(6, 5), sg.randint(0, 3, (6,))

    def step(x: sg.Tensor, y: sg.Tensor) -> None:
        loss = F.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    take = sg.compile(step) if compiled else step
    for _ in range(6):
        take(x, y)
    sg.synchronize()
    sg.reset_stats()
    for _ in range(4):
        take(x, y)
    sg.synchronize()
    stats = sg.stats()
    if dist.get_backend() == "nccl":
        assert stats["submissions"] <= 3 * 4 and stats["hand_overs"] == 4 and stats["allocations"] == 0, stats
        assert stats["bytes_read"] == 0, "gradients stay on the GPU"
        if not compiled:
            assert stats["submissions"] <= 2 * 4 + 2, "an update runs with the next step"
            assert stats["resubmissions"] == 3, "commands of a whole step are kept: gradients are not copied"
    return bits(model)


def train(early: sg.Tensor) -> None:
    rank = dist.get_rank()
    dist.all_reduce(early)
    assert early.tolist() == [1.0] * 1000, "memory from before NCCL"
    dist.broadcast(early[3:6], 1)
    large = sg.zeros(40 << 20)  # a block of its own
    part = large[5:14]
    dist.all_reduce(part.add_(rank), "max")
    assert part.tolist() == [1.0] * 9
    mock = ctypes.CDLL("libcuda.so.1") if "MOCK_CUDA_UUID" in os.environ else None
    before = mock.mock_opened() if mock else 0
    del large, part
    sg.empty_cache()
    if mock:
        assert mock.mock_opened() == mock.mock_mapped() < before, "what Vulkan gives back, CUDA closes first"
    large, x = sg.zeros(40 << 20), sg.ones(5)
    dist.all_reduce(large)
    sg.synchronize()
    dist.all_reduce(x, "max", async_op=True)
    del large
    sg.empty_cache()  # CUDA's stream waits for what this process does next, so nothing may wait for that stream
    assert x.tolist() == [1.0] * 5
    if mock:
        assert mock.mock_opened() == mock.mock_mapped() < before, "CUDA closes it when the stream is idle"
    two, one = dist.new_group([0, 1]), dist.new_group([1])
    for group, want in ((two, 3.0), (one, 2.0)):
        x = sg.full((9,), float(rank + 1))
        if group.rank >= 0:
            dist.all_reduce(x, group=group)
            assert x.tolist() == [want] * 9
    both = trained(), trained(compiled=True)
    dist.destroy_process_group()
    dist.init_process_group("mpi")
    assert dist.get_backend() == "mpi"
    assert both == (trained(), trained(compiled=True)), "NCCL and MPI give the same bits in two processes"


def gathers(early: sg.Tensor) -> None:
    """Sums of few values, which each process makes of copies of all."""
    rank, mock = dist.get_rank(), ctypes.CDLL("libnccl.so.2") if "MOCK_CUDA_UUID" in os.environ else None
    before, batches = mock.mock_window_gathers() if mock else 0, 0
    for dtype in (sg.float32, sg.float16, sg.bfloat16):
        for sizes in ((1,), (3,), (5, 1, 7), (1 << 20, 3), (3 << 20, 5), (2,)):  # the window grows with the largest
            for op, scale in (("sum", 1.0), ("avg", 0.5)):
                tensors = [(sg.arange(n) % 61 + rank * (i + 1)).to(dtype) for i, n in enumerate(sizes)]
                want = [(2 * (sg.arange(n) % 61) + i + 1) * scale for i, n in enumerate(sizes)]
                dist.all_reduce_coalesced(tensors, op)
                for x, y in zip(tensors, want, strict=True):
                    assert x.dtype is dtype and (x.float() == y).all().item(), (dtype, sizes, op)
                batches += 1
    column = sg.full((4, 6), 1.0 + rank)[:, 2]
    dist.all_reduce(column)
    assert column.tolist() == [3.0] * 4, "a view"
    if mock:
        again = mock.mock_window_gathers() - before
        assert again == batches + 1, f"{again} of {batches + 1} in a window, with one that tries each larger window"


def many_calls(early: sg.Tensor) -> None:
    """Large values in several groups of calls, of which NCCL begins with the first before it has the last."""
    rank, mock = dist.get_rank(), ctypes.CDLL("libnccl.so.2") if "MOCK_CUDA_UUID" in os.environ else None
    for count, n, groups in ((65, 1 << 19, 2), (65, 3, 1), (31, 3 << 19, 1), (96, 1 << 19, 3)):
        tensors = [sg.full((n + i,), float(rank + i)) for i in range(count)]
        dist.all_reduce(sg.ones(3), "max")
        before = mock.mock_groups() if mock else 0
        dist.all_reduce_coalesced(tensors, "max")
        assert all((x == i + 1).all().item() for i, x in enumerate(tensors)), (count, n)
        if mock:
            assert mock.mock_groups() - before == groups, (count, n, mock.mock_groups() - before)


def raises_in_time(count: int, part: str, op: str = "max", before: int = 0) -> None:
    tensors = [sg.ones(1 << 19) for _ in range(before)] + [sg.ones(count)]
    begin = time.perf_counter()
    try:
        dist.all_reduce_coalesced(tensors, op)
    except sg.DistributedError as error:
        text = str(error)
    else:
        raise AssertionError("nothing was raised")
    name = "maximum" if op == "max" else op
    first = f"{before + 1} tensors, the first float32 [{1 << 19}]" if before else f"float32 [{count}]"
    assert part in text and f"all_reduce({name}) of {first} by NCCL" in text, text
    assert time.perf_counter() - begin < LIMIT + 5
    dist.destroy_process_group()
    y = sg.ones(3)
    dist.all_reduce(y)
    assert y.tolist() == [1.0] * 3, "it goes on alone"


def fails(early: sg.Tensor) -> None:
    own = "NCCL: a collective answered unhandled system error (a mock's words)"
    raises_in_time(664, own if dist.get_rank() else "process 1 takes part no more")


def dies(early: sg.Tensor) -> None:
    raises_in_time(668, "process 1")


def hangs(early: sg.Tensor) -> None:
    raises_in_time(672, f"process {1 - dist.get_rank()}")


def make_window() -> None:
    dist.broadcast(sg.ones(3), 0)
    dist.all_reduce(sg.ones(3))


def fails_among_copies(early: sg.Tensor) -> None:
    make_window()
    own = "NCCL: a collective answered unhandled system error (a mock's words)"
    raises_in_time(664, own if dist.get_rank() else "process 1 takes part no more", "sum")


def dies_among_copies(early: sg.Tensor) -> None:
    make_window()
    raises_in_time(668, "process 1", "sum")


def hangs_among_copies(early: sg.Tensor) -> None:
    make_window()
    raises_in_time(672, f"process {1 - dist.get_rank()}", "sum")


def fails_among_later_calls(early: sg.Tensor) -> None:
    own = "NCCL: a collective answered unhandled system error (a mock's words)"
    raises_in_time(664, own if dist.get_rank() else "process 1 takes part no more", before=64)


def dies_among_later_calls(early: sg.Tensor) -> None:
    raises_in_time(668, "process 1", before=64)


def hangs_among_later_calls(early: sg.Tensor) -> None:
    raises_in_time(672, f"process {1 - dist.get_rank()}", before=64)


def no_window(early: sg.Tensor) -> None:
    """Memory for copies that one process cannot open: both sum as without it."""
    rank = dist.get_rank()
    dist.broadcast(sg.ones(3), 0)
    if rank == 1:
        sg._core._set_faults("vkAllocateMemory@1=OUT_OF_DEVICE_MEMORY")
    for _ in range(3):
        x = sg.full((3,), 1.0 + rank)
        dist.all_reduce(x)
        assert x.tolist() == [3.0] * 3
    assert not ctypes.CDLL("libnccl.so.2").mock_window_gathers()


def refuses(early: sg.Tensor) -> None:
    """What fails in one process before the others wait for it within NCCL: all raise, and go on."""
    rank, x = dist.get_rank(), sg.ones(3)
    if rank == 1:
        sg._core._set_faults("vkGetMemoryFdKHR@1=OUT_OF_HOST_MEMORY")
    try:
        dist.all_reduce(x)
    except sg.DistributedError as error:
        assert rank == 0 and "process 1 failed" in str(error) and "vkGetMemoryFdKHR" in str(error), error
    except sg.OutOfMemoryError as error:
        assert rank == 1 and "vkGetMemoryFdKHR" in str(error), error
    else:
        raise AssertionError("nothing was raised")
    y = sg.full((3,), float(rank))
    if rank == 0:
        dist.send(y, 1)  # two of a group cannot make a communicator for all
    else:
        dist.recv(y, 0)
    assert y.tolist() == [0.0] * 3
    dist.all_reduce(x)
    assert x.tolist() == [2.0] * 3


def unregistered(early: sg.Tensor) -> None:
    """NCCL takes the memory of one process and not that of the other: both sum and gather as without it."""
    rank = dist.get_rank()
    dist.broadcast(sg.ones(3), 0)
    for _ in range(3):
        x, parts = sg.full((3,), 1.0 + rank), [sg.zeros(2), sg.zeros(2)]
        dist.all_reduce(x)
        dist.all_gather(parts, sg.full((2,), float(rank)))
        assert x.tolist() == [3.0] * 3 and [p.tolist() for p in parts] == [[0.0] * 2, [1.0] * 2]
    assert not ctypes.CDLL("libnccl.so.2").mock_window_gathers()


def missing() -> None:
    """`auto` does without, `nccl` says why it cannot."""
    try:
        dist.init_process_group("nccl")
    except sg.DistributedError as error:
        assert sys.argv[2] in str(error), error
    else:
        raise AssertionError("nothing was raised")
    with warnings.catch_warnings(record=True) as warned:
        dist.init_process_group()
    said = [str(w.message) for w in warned]
    assert dist.get_rank() or any(sys.argv[2] in text and "go through the host" in text for text in said), said
    x = sg.ones(3)
    dist.all_reduce(x)
    assert dist.get_backend() == "mpi" and x.tolist() == [2.0] * 3


def main() -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # mpiexec sends it when a process has died, whatever its options
    what = sys.argv[1]
    sg.set_default_device(f"gpu:{dist.get_local_rank()}")
    if what == "missing":
        missing()
    else:
        rank = dist.environment.rank() or 0
        early = sg.full((1000,), float(rank))
        sg.synchronize()
        dist.init_process_group("nccl", timeout=30 if what in CALM else LIMIT)
        globals()[what](early)
    if what in (*CALM, "missing"):
        dist.destroy_process_group()
    else:
        (Path(sys.argv[2]) / str(rank)).touch()
    print("all right")


main()
