"""Calls of torch_scatter, which are also those of sg.graphs. With PyTorch and that package, this file stores what it
gives on a CPU: python graph_cases.py ../golden/graphs.npz
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

GROUPS: list[tuple[tuple[int, ...], int, tuple[int, ...], int | None]] = [
    ((7,), 0, (7,), None),
    ((4, 7, 3), 1, (7,), 6),
    ((4, 7), 1, (4, 7), None),
    ((6, 4), -2, (6,), 7),
]
BOUNDS: list[tuple[tuple[int, ...], Any]] = [
    ((7,), [0, 2, 2, 5, 7]),
    ((7, 3), [0, 2, 7]),
    ((2, 7, 3), [[0, 2, 7], [0, 5, 7]]),
    ((2, 7, 3), [[0, 4, 7]]),
]
ASCENDING: list[tuple[tuple[int, ...], Any]] = [
    ((7,), [0, 0, 2, 2, 3, 3, 3]),
    ((7, 3), [0, 1, 1, 1, 4, 4, 5]),
    ((2, 7, 3), [[0, 0, 1, 1, 2, 2, 2], [0, 1, 1, 1, 1, 3, 3]]),
]


def cases(of: Any, tensor: Callable[[Any], Any]) -> Iterator[tuple[str, list[Any]]]:
    """Results by name."""
    numbers = np.random.RandomState(0)

    def normal(*shape: int) -> Any:
        return tensor(numbers.randn(*shape).astype("f"))

    def with_gradient(function: Callable[[Any], Any], shape: tuple[int, ...]) -> list[Any]:
        x = normal(*shape).requires_grad_()
        y = function(x)
        (y * tensor(np.cos(np.arange(y.numel(), dtype="f")).reshape(tuple(y.shape)))).sum().backward()
        return [y, x.grad]

    for i, (shape, dim, indices, size) in enumerate(GROUPS):
        index = tensor(numbers.randint(0, 5, indices))
        for reduce in ("sum", "mean", "mul", "min", "max"):
            made = with_gradient(lambda x: of.scatter(x, index, dim, None, size, reduce), shape)  # noqa: B023
            yield f"scatter {i} {reduce}", made
            whole = tensor(numbers.randint(-9, 9, shape))
            yield f"scatter {i} {reduce} integers", [of.scatter(whole, index, dim, None, size, reduce)]
            out = normal(*made[0].shape)
            yield f"scatter {i} {reduce} out", [of.scatter(normal(*shape), index, dim, out, None, reduce), out]
        for function in (of.scatter_min, of.scatter_max):
            yield f"{function.__name__} {i}", list(function(normal(*shape), index, dim, None, size))
        for function in (of.scatter_softmax, of.scatter_log_softmax, of.scatter_logsumexp):
            make = lambda x: function(x, index, dim, dim_size=size)  # noqa: B023, E731
            yield f"{function.__name__} {i}", with_gradient(make, shape)
        for unbiased in (True, False):
            std = of.scatter_std(normal(*shape), index, dim, dim_size=size, unbiased=unbiased)
            yield f"scatter_std {i} {unbiased}", [std]
    for i, (shape, bounds) in enumerate(BOUNDS):
        indptr = tensor(np.array(bounds))
        for reduce in ("sum", "mean", "min", "max"):
            made = with_gradient(lambda x: of.segment_csr(x, indptr, None, reduce), shape)  # noqa: B023
            yield f"segment_csr {i} {reduce}", made
        yield f"gather_csr {i}", with_gradient(lambda x: of.gather_csr(x, indptr), tuple(made[0].shape))  # noqa: B023
    for i, (shape, indices) in enumerate(ASCENDING):
        index = tensor(np.array(indices))
        for reduce in ("sum", "mean", "min", "max"):
            made = with_gradient(lambda x: of.segment_coo(x, index, None, None, reduce), shape)  # noqa: B023
            yield f"segment_coo {i} {reduce}", made
            out = normal(*made[0].shape)
            yield f"segment_coo {i} {reduce} out", [of.segment_coo(normal(*shape), index, out, None, reduce), out]
        yield f"gather_coo {i}", with_gradient(lambda x: of.gather_coo(x, index), tuple(made[0].shape))  # noqa: B023


if __name__ == "__main__":
    import torch
    import torch_scatter

    results = cases(torch_scatter, torch.tensor)
    found = {f"{name} {i}": r.detach().numpy() for name, made in results for i, r in enumerate(made)}
    np.savez_compressed(sys.argv[1], **found)
