"""Collectives against NumPy: run by mpiexec with any number of processes; the device is the first argument."""

from __future__ import annotations

import os
import sys

import numpy as np

import spirograd as sg
from spirograd import distributed as dist

TYPES = [sg.float32, sg.float64, sg.float16, sg.bfloat16, sg.int64, sg.int32, sg.uint8, sg.bool]
SIZES = [(1,), (7,), (3, 5), (1025,), (0,), ()]


def values(rank: int, shape: tuple[int, ...], dtype: sg.dtype, seed: int) -> np.ndarray:
    """What a process has: small whole numbers, so that sums are exact in every type."""
    numbers = np.random.default_rng([seed, rank]).integers(0, 4, shape)
    return numbers.astype(bool) if dtype == sg.bool else numbers.astype(np.float64)


def tensor(numbers: np.ndarray, dtype: sg.dtype, device: str) -> sg.Tensor:
    return sg.tensor(numbers.tolist(), dtype=dtype, device=device).reshape(numbers.shape)


def array(x: sg.Tensor) -> np.ndarray:
    return x.double().cpu().numpy() if x.dtype != sg.bool else x.cpu().numpy()


def same(x: sg.Tensor, want: np.ndarray, what: str) -> None:
    np.testing.assert_array_equal(array(x), want, err_msg=what)


def check(dtype: sg.dtype, shape: tuple[int, ...], device: str, seed: int) -> None:
    rank, size = dist.get_rank(), dist.get_world_size()
    all_values = [values(r, shape, dtype, seed) for r in range(size)]
    name = f"{dtype} {shape}"

    def mine() -> sg.Tensor:
        return tensor(all_values[rank], dtype, device)

    folds = {"max": np.maximum, "min": np.minimum}
    folds |= {} if dtype == sg.bool else {"sum": np.add, "product": np.multiply}
    for op, fold in folds.items():
        x = mine()
        dist.all_reduce(x, op)
        want = all_values[0]
        for other in all_values[1:]:
            want = fold(want, other)
        same(x, want, f"all_reduce {op} {name}")
        y = mine()
        dist.reduce(y, size - 1, op)
        same(y, want if rank == size - 1 else all_values[rank], f"reduce {op} {name}")
    x = mine()
    dist.broadcast(x, size - 1)
    same(x, all_values[-1], f"broadcast {name}")
    outs = [mine() for _ in range(size)]
    dist.all_gather(outs, mine())
    for out, want in zip(outs, all_values, strict=True):
        same(out, want, f"all_gather {name}")
    out = sg.zeros(size, *shape, dtype=dtype, device=device)
    dist.all_gather_into_tensor(out, mine())
    same(out, np.stack(all_values), f"all_gather_into_tensor {name}")
    lists = [[values(r, shape, dtype, seed + 1 + i) for i in range(size)] for r in range(size)]
    op, fold = ("max", np.maximum) if dtype == sg.bool else ("sum", np.add)
    want = lists[0][rank]
    for r in range(1, size):
        want = fold(want, lists[r][rank])
    x = mine()
    dist.reduce_scatter(x, [tensor(v, dtype, device) for v in lists[rank]], op)
    same(x, want, f"reduce_scatter {name}")
    x = mine()
    dist.reduce_scatter_tensor(x, tensor(np.stack(lists[rank]), dtype, device), op)
    same(x, want, f"reduce_scatter_tensor {name}")
    outs = [mine() for _ in range(size)]
    dist.gather(mine(), outs if rank == 0 else None, 0)
    if rank == 0:
        for out, want in zip(outs, all_values, strict=True):
            same(out, want, f"gather {name}")
    x = mine()
    dist.scatter(x, [tensor(v, dtype, device) for v in lists[0]] if rank == 0 else None, 0)
    same(x, lists[0][rank], f"scatter {name}")
    if rank == 0:
        dist.send(mine(), size - 1)
    if rank == size - 1:
        x = mine()
        dist.recv(x, 0)
        same(x, all_values[0], f"recv {name}")


def check_views(device: str) -> None:
    rank, size = dist.get_rank(), dist.get_world_size()
    base = sg.arange(24, device=device).reshape(4, 6).float()
    view = base.t()[1:4]
    dist.all_reduce(view)
    want = np.arange(24.0).reshape(4, 6)
    want[:, 1:4] *= size
    same(base, want, "all_reduce of a view")
    mean = sg.full((3,), float(rank), device=device)
    dist.all_reduce(mean, dist.ReduceOp.AVG)
    same(mean, np.full(3, (size - 1) / 2), "mean")


def check_groups(device: str) -> None:
    rank, size = dist.get_rank(), dist.get_world_size()
    group = dist.new_group(range(1, size))
    x = sg.full((3,), float(rank), device=device)
    dist.all_reduce(x, group=group)
    same(x, np.full(3, sum(range(1, size)) if rank else 0.0), "a group without process 0")
    dist.broadcast(x, size - 1, group)


def main() -> None:
    dist.init_process_group()
    device = f"gpu:{dist.get_local_rank()}" if os.environ.get("OWN_GPU") else sys.argv[1]
    size, backend = dist.get_world_size(), dist.get_backend()
    assert size == int(sys.argv[2]), f"{size} processes"
    for number, dtype in enumerate(TYPES):
        for shape in SIZES:
            check(dtype, shape, device, 100 * number)
    check_views(device)
    check_groups(device)
    objects: list = [None] * size
    dist.all_gather_object(objects, {"rank": dist.get_rank()})
    assert objects == [{"rank": r} for r in range(size)]
    dist.barrier()
    dist.destroy_process_group()
    print(f"all right by {backend}")


main()
