"""Averages gradients over all processes, in one collective at the end of backward()."""

from __future__ import annotations

import weakref
from collections.abc import Iterable, Sequence
from typing import Any

from ... import _core, distributed
from ..._core import Tensor
from ...base.grad_mode import no_grad

_alive: weakref.WeakSet[Averages] = weakref.WeakSet()


def are_averaged(tensors: Iterable[Tensor]) -> list[bool]:
    """For each tensor, whether DistributedDataParallel averages its gradient."""
    known = {id(p) for averages in _alive if averages.processes > 1 for p in averages.parameters}
    return [id(t) in known for t in tensors]


class Averages:
    """Averages the gradients of some parameters over all processes.

    Args:
        parameters: the parameters of the model, in the same order in all processes.
        group: the processes.
        tree: whether sums have a fixed order; see DistributedDataParallel.

    Attributes:
        last: whether the current pass is the last of its step, after which gradients are averaged.
        begin: the first node of the forward passes since the last backward().
    """

    def __init__(self, parameters: Sequence[Tensor], group: Any, tree: bool) -> None:
        self.parameters, self.group = parameters, group
        self.processes = distributed.get_world_size(group)
        self.last = True
        self.begin: Tensor | None = None
        self._sums = TreeSums() if tree else None
        self._pairs = pairs() if tree else []
        _alive.add(self)

    def arrived(self, anchor: Tensor) -> None:
        """Called by backward() when the gradients of all parameters are written; `anchor` is the leaf of the call."""
        anchor.grad = self.begin = None
        trained = [p for p in self.parameters if p.requires_grad]
        if self._sums is not None:
            self._sums.add(_taken(trained))
            if not self.last:
                return
            for p, gradient in zip(trained, self._sums.total(), strict=True):
                p.grad = gradient
        if self.processes > 1 and trained:
            self._average(trained)

    def _average(self, trained: list[Tensor]) -> None:
        gradients = []
        with no_grad():
            for p in trained:
                if p.grad is None:  # unused in this process, but maybe not in others
                    p.grad = _core.zeros_like(p.detach())
                gradients.append(p.grad)
            for group in self._pairs or [self.group]:
                distributed.all_reduce_coalesced(gradients, distributed.ReduceOp.AVG, group, async_op=True)


def _taken(parameters: list[Tensor]) -> list[Tensor]:
    """Takes the gradients from the parameters; zeros for missing ones."""
    found = []
    for p in parameters:
        found.append(_core.zeros_like(p.detach()) if p.grad is None else p.grad)
        p.grad = None
    return found


class TreeSums:
    """Sums of lists of tensors in a balanced tree: first pairs of neighbours, then pairs of these sums.

    The sum of 2 * n lists is the sum of the first n plus the sum of the others, no matter which processes compute them.

    Example:
        >>> sums = sg.nn.parallel.averages.TreeSums()
        >>> for x in (1e8, 1.0, -1e8, 1.0):
        ...     sums.add([sg.tensor(x)])
        >>> sums.total()[0].item()  # (1e8 + 1) + (-1e8 + 1), each rounded
        0.0
    """

    def __init__(self) -> None:
        self._parts: list[tuple[int, list[Tensor]]] = []  # the number of lists of each sum, in descending order

    def add(self, tensors: list[Tensor]) -> None:
        """Adds a list of tensors."""
        self._parts.append((1, tensors))
        while len(self._parts) > 1 and self._parts[-1][0] == self._parts[-2][0]:
            self._join()

    def total(self) -> list[Tensor]:
        """Returns the sum; the next add() starts a new one."""
        while len(self._parts) > 1:
            self._join()
        return self._parts.pop()[1]

    def _join(self) -> None:
        count, later = self._parts.pop()
        earlier_count, earlier = self._parts.pop()
        with no_grad():
            self._parts.append((earlier_count + count, [a + b for a, b in zip(earlier, later, strict=True)]))


def pairs() -> list[Any]:
    """Groups of this process and one other. Sums in one group after the other form a balanced tree over all processes.

    A sum of two does not depend on the process that computes it: both orders give the same bits.
    """
    rank, size = distributed.get_rank(), distributed.get_world_size()
    if size & (size - 1):
        raise ValueError(
            f"DistributedDataParallel: reproducible=True with {size} processes; use 1, 2, 4 or another power of two"
        )
    found, distance = [], 1
    while distance < size:
        for first in range(size):
            if not first & distance:  # every process creates every group
                group = distributed.new_group([first, first | distance])
                if rank in (first, first | distance):
                    found.append(group)
        distance *= 2
    return found
