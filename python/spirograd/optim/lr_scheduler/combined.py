"""Schedulers that combine other schedulers."""

from __future__ import annotations

import bisect
from collections.abc import Mapping, Sequence
from typing import Any

from ..optimizer import Optimizer
from .plateau import ReduceLROnPlateau
from .scheduler import LRScheduler, Step, copied, set_rate


def _checked(name: str, optimizer: Optimizer, schedulers: Sequence[LRScheduler]) -> None:
    for i, scheduler in enumerate(schedulers):
        if isinstance(scheduler, ReduceLROnPlateau):
            raise ValueError(f"{name}: scheduler {i} is a ReduceLROnPlateau, which needs a metric; step it separately")
        if scheduler.optimizer is not optimizer:
            raise ValueError(f"{name}: scheduler {i} has another optimiser; use one optimiser for all")


class _Combined(LRScheduler):
    """The base of schedulers that step other schedulers."""

    _schedulers: list[LRScheduler]

    def _advance(self) -> None:
        """Steps the schedulers that are active."""
        raise NotImplementedError

    def step(self, epoch: int | None = None) -> None:
        """Steps the schedulers that are active.

        Args:
            epoch: not supported.

        Raises:
            ValueError: epoch is given.
        """
        if epoch is not None:
            raise ValueError(f"{type(self).__name__}: it cannot jump to an epoch; leave out epoch")
        with Step(self):
            self._advance()
            self._store_rates()

    def _store_rates(self) -> None:
        self._last_lr = [copied(group["lr"]) for group in self.optimizer.param_groups]

    def state_dict(self) -> dict[str, Any]:
        """Returns the states of all schedulers."""
        return {**super().state_dict(), "_schedulers": [s.state_dict() for s in self._schedulers]}

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        super().load_state_dict({k: v for k, v in state_dict.items() if k != "_schedulers"})
        for scheduler, state in zip(self._schedulers, state_dict["_schedulers"], strict=True):
            scheduler.load_state_dict(state)


class SequentialLR(_Combined):
    """Uses one scheduler after another.

    Args:
        schedulers: the schedulers, in order.
        milestones: the first steps of the second and the following schedulers.

    Raises:
        ValueError: the numbers of schedulers and milestones do not fit, or a scheduler has another optimiser.

    Example:
        >>> opt = sg.optim.SGD([sg.ones(1, requires_grad=True)], lr=1.0)
        >>> warm = sg.optim.lr_scheduler.LinearLR(opt, start_factor=0.5, total_iters=2)
        >>> fall = sg.optim.lr_scheduler.ExponentialLR(opt, gamma=0.5)
        >>> scheduler = sg.optim.lr_scheduler.SequentialLR(opt, [warm, fall], milestones=[2])
        >>> rates = []
        >>> for _ in range(4):
        ...     rates += scheduler.get_last_lr()
        ...     opt.step(); scheduler.step()
        >>> rates
        [0.5, 0.75, 1.0, 0.5]
    """

    def __init__(
        self, optimizer: Optimizer, schedulers: list[LRScheduler], milestones: list[int], last_epoch: int = -1
    ) -> None:
        if not schedulers or len(milestones) != len(schedulers) - 1:
            raise ValueError(
                f"SequentialLR: {len(schedulers)} schedulers and {len(milestones)} milestones; "
                "give one milestone fewer than schedulers"
            )
        _checked("SequentialLR", optimizer, schedulers)
        self.optimizer, self._schedulers, self._milestones = optimizer, list(schedulers), milestones
        self.last_epoch = last_epoch + 1
        # All schedulers have set their first rates; only that of the first one is used.
        for group in optimizer.param_groups:
            set_rate(group, group["initial_lr"])
        for scheduler in schedulers:
            scheduler.last_epoch -= 1
        first = schedulers[0]
        first._is_initial, first._step_count = True, 0
        first.step()
        first._is_initial = False
        self._store_rates()

    def _advance(self) -> None:
        self.last_epoch += 1
        i = bisect.bisect_right(self._milestones, self.last_epoch)
        scheduler = self._schedulers[i]
        if i > 0 and self._milestones[i - 1] == self.last_epoch:
            scheduler.step(0)
        else:
            scheduler.step()


class ChainedScheduler(_Combined):
    """Uses several schedulers at once; each continues from the rates of the previous one.

    Args:
        schedulers: schedulers of the same optimiser.
        optimizer: their optimiser, by default that of the first scheduler.

    Raises:
        ValueError: there are no schedulers, or one has another optimiser.

    Example:
        >>> opt = sg.optim.SGD([sg.ones(1, requires_grad=True)], lr=1.0)
        >>> parts = [sg.optim.lr_scheduler.ExponentialLR(opt, gamma=g) for g in (0.5, 0.1)]
        >>> scheduler = sg.optim.lr_scheduler.ChainedScheduler(parts)
        >>> opt.step(); scheduler.step()
        >>> scheduler.get_last_lr()
        [0.05]
    """

    def __init__(self, schedulers: Sequence[LRScheduler], optimizer: Optimizer | None = None) -> None:
        if not schedulers:
            raise ValueError("ChainedScheduler: no schedulers; pass at least one")
        self.optimizer = optimizer or schedulers[0].optimizer
        _checked("ChainedScheduler", self.optimizer, schedulers)
        self._schedulers = list(schedulers)
        self._store_rates()

    def _advance(self) -> None:
        for scheduler in self._schedulers:
            scheduler.step()
