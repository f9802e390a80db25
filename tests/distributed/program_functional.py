"""Gradients of collectives against central differences of the joint loss: run by mpiexec with 2 processes."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

import spirograd as sg
from spirograd import distributed as dist

D = dist.nn.functional
SHAPE = (2, 3)


def numbers(seed: int) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(SHAPE)


def cases(rank: int) -> dict[str, Callable[[sg.Tensor], tuple[sg.Tensor, ...]]]:
    return {
        "all_reduce": lambda x: (D.all_reduce(x),),
        "all_reduce mean": lambda x: (D.all_reduce(x * x, "mean"),),
        "reduce": lambda x: (D.reduce(x, 1),),
        "broadcast": lambda x: (D.broadcast(x, 1),),
        "all_gather": lambda x: D.all_gather(x),
        "gather": lambda x: D.gather(x, 1),
        "scatter": lambda x: (D.scatter([x, x * 2], 1),),
        "reduce_scatter": lambda x: (D.reduce_scatter(x, [x, x * x]),),
        "reduce_scatter mean": lambda x: (D.reduce_scatter(x, [x, x * x], "mean"),),
    }


def loss(made: tuple[sg.Tensor, ...], rank: int) -> sg.Tensor:
    """Another one in each process, and with other weights for each tensor."""
    weights = [sg.tensor(numbers(10 * rank + i)) for i in range(len(made))]
    return sum(((w * t * t).sum() for w, t in zip(weights, made, strict=True)), sg.zeros((), dtype=sg.float64))


def joint(make: Callable[[sg.Tensor], tuple[sg.Tensor, ...]], x: np.ndarray, rank: int) -> float:
    total = loss(make(sg.tensor(x)), rank).detach()
    dist.all_reduce(total)
    return total.item()


def check(name: str, make: Callable[[sg.Tensor], tuple[sg.Tensor, ...]], rank: int) -> None:
    values, step = numbers(100 + rank), 1e-5
    x = sg.tensor(values, requires_grad=True)
    loss(make(x), rank).backward()
    want = np.zeros((2, *SHAPE))
    for process in range(2):  # all evaluate each difference together
        for place in np.ndindex(*SHAPE):
            change = np.zeros(SHAPE)
            change[place] = step * (rank == process)
            want[process][place] = (joint(make, values + change, rank) - joint(make, values - change, rank)) / 2 / step
    gradient = np.zeros(SHAPE) if x.grad is None else x.grad.numpy()
    np.testing.assert_allclose(gradient, want[rank], 1e-6, 1e-6, err_msg=name)


def main() -> None:
    dist.init_process_group("mpi")
    rank = dist.get_rank()
    for name, make in cases(rank).items():
        check(name, make, rank)
    try:
        D.all_reduce(sg.ones(2), "max")
    except ValueError as error:
        assert "max has no gradient here" in str(error)
    else:
        raise AssertionError("nothing was raised")
    dist.destroy_process_group()
    x = sg.ones(2, requires_grad=True)
    D.all_gather(x)[0].sum().backward()
    assert x.grad is not None and x.grad.tolist() == [1.0, 1.0]
    print("all right")


main()
