"""What becomes of gradients when backward() ends: their mean over all processes, in one collective."""

from __future__ import annotations

import weakref
from collections.abc import Iterable, Sequence
from typing import Any

from ... import _core, distributed
from ..._core import Tensor
from ...base.grad_mode import no_grad

_alive: weakref.WeakSet[Averages] = weakref.WeakSet()


def are_averaged(tensors: Iterable[Tensor]) -> list[bool]:
    """Of each tensor, whether DistributedDataParallel makes a mean of its gradient."""
    known = {id(p) for averages in _alive if averages.processes > 1 for p in averages.parameters}
    return [id(t) in known for t in tensors]


class Averages:
    """Makes the gradients of some parameters their means over all processes.

    Args:
        parameters: of the model, in the same order in all processes.
        group: the processes.
        tree: whether sums have a fixed order; see DistributedDataParallel.

    Attributes:
        last: whether the pass under way is the last of its step, so that the mean is made after it.
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
        """Called by backward() when the gradients of all parameters are written; `anchor` is the leaf that called."""
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
                if p.grad is None:  # unused here, and maybe not elsewhere
                    p.grad = _core.zeros_like(p.detach())
                gradients.append(p.grad)
            for group in self._pairs or [self.group]:
                distributed.all_reduce_coalesced(gradients, distributed.ReduceOp.AVG, group, async_op=True)


def _taken(parameters: list[Tensor]) -> list[Tensor]:
    """The gradients, which the parameters no longer have; zeros where there are none."""
    found = []
    for p in parameters:
        found.append(_core.zeros_like(p.detach()) if p.grad is None else p.grad)
        p.grad = None
    return found


class TreeSums:
    """Sums of lists of tensors in a balanced tree: neighbours first, then neighbours of those.

    The sum of 2 * n lists is that of the first n plus that of the others, whoever computes these.

    Example:
        >>> sums = sg.nn.parallel.averages.TreeSums()
        >>> for x in (1e8, 1.0, -1e8, 1.0):
        ...     sums.add([sg.tensor(x)])
        >>> sums.total()[0].item()  # (1e8 + 1) + (-1e8 + 1), each rounded
        0.0
    """

    def __init__(self) -> None:
        self._parts: list[tuple[int, list[Tensor]]] = []  # how many lists each is of, falling

    def add(self, tensors: list[Tensor]) -> None:
        """Adds a list."""
        self._parts.append((1, tensors))
        while len(self._parts) > 1 and self._parts[-1][0] == self._parts[-2][0]:
            self._join()

    def total(self) -> list[Tensor]:
        """The sum; the next add() begins anew."""
        while len(self._parts) > 1:
            self._join()
        return self._parts.pop()[1]

    def _join(self) -> None:
        count, later = self._parts.pop()
        earlier_count, earlier = self._parts.pop()
        with no_grad():
            self._parts.append((earlier_count + count, [a + b for a, b in zip(earlier, later, strict=True)]))


def pairs() -> list[Any]:
    """Groups of this process and one other, in which sums one after the other make a balanced tree over all processes.

    A sum of two does not depend on who computes it: both orders give the same bits.
    """
    rank, size = distributed.get_rank(), distributed.get_world_size()
    if size & (size - 1):
        raise ValueError(
            f"DistributedDataParallel: reproducible=True with {size} processes; use 1, 2, 4 or another power of two"
        )
    found, distance = [], 1
    while distance < size:
        for first in range(size):
            if not first & distance:  # every process makes every group
                group = distributed.new_group([first, first | distance])
                if rank in (first, first | distance):
                    found.append(group)
        distance *= 2
    return found
