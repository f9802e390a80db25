"""Float64 programs of PyTorch that round as float32 does, but each time to another side.

Monte Carlo arithmetic (Parker, 1997): what is not exact in float32 moves by a random part of its last bit, in forward
and backward passes, so that runs spread as far as rounding may take a program: over a comparison next to its threshold,
to another one of equal values, into what is left of a difference, past the end of a domain, or to zero.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_iter, tree_map

Array = np.ndarray[Any, Any]
RANGE = np.finfo(np.float32)
LAST_BIT = float(RANGE.eps)


class Rounding(TorchDispatchMode):
    def __init__(self, seed: int) -> None:
        super().__init__()
        self.random = np.random.default_rng(seed)

    def __torch_dispatch__(self, op: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if op.is_view:
            return op(*args, **(kwargs or {}))
        args, kwargs = tree_map(self.number, (args, kwargs or {}))
        given = [a.copy() for a in doubles((args, kwargs))]
        result = op(*args, **kwargs)
        copied = [np.isin(a, np.concatenate([g.ravel() for g in given])) if given else a != a for a in doubles(result)]
        if torch.Tag.pointwise not in op.tags and not all(c.all() for c in copied) and is_function(op):
            args, kwargs = tree_map(self.terms, (args, kwargs))  # a sum rounds as if its terms had been rounded
            for a, c, again in zip(doubles(result), copied, doubles(op(*args, **kwargs)), strict=True):
                np.copyto(a, again, where=~c)
        for a, c in zip(doubles(result), copied, strict=True):
            self.round(a, ~c)
        return result

    def round(self, a: Array, where: Array | bool = True) -> None:
        with np.errstate(all="ignore"):
            narrow = a.astype(np.float32)
            moved = a * (1 + LAST_BIT * self.random.standard_normal(a.shape))
            moved = np.where(np.abs(a) < RANGE.tiny, moved * self.random.integers(0, 2, a.shape), moved)
            np.copyto(a, np.where(np.isinf(narrow), narrow, moved), where=where & (a != narrow))

    def number(self, x: Any) -> Any:
        if isinstance(x, float) and np.isfinite(x) and float(np.float32(x)) != x:
            return x * (1 + LAST_BIT * float(self.random.standard_normal()))
        return x

    def terms(self, x: Any) -> Any:
        if is_double(x):
            x = x.clone()
            self.round(x.numpy(force=True))
        return x


def is_function(op: Any) -> bool:
    """Whether it can be called twice."""
    return not op._schema.is_mutable and torch.Tag.nondeterministic_seeded not in op.tags


def is_double(x: Any) -> bool:
    return isinstance(x, torch.Tensor) and x.dtype == torch.float64 and x.device.type == "cpu"


def doubles(tree: Any) -> Iterator[Array]:
    return (x.numpy(force=True) for x in tree_iter(tree) if is_double(x))
