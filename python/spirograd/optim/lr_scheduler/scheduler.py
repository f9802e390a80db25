"""What all schedulers share."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any

from ..._core import Tensor
from ...base.grad_mode import no_grad
from ..optimizer import Group, Optimizer


def set_rate(group: Group, lr: Any) -> None:
    """Sets a rate. A tensor is written in place, so that every reference to it sees the new rate."""
    if isinstance(group["lr"], Tensor):
        with no_grad():
            group["lr"].copy_(lr) if isinstance(lr, Tensor) else group["lr"].fill_(lr)
    else:
        group["lr"] = lr


def copied(lr: Any) -> Any:
    """A copy of a rate, which later writes do not change."""
    return lr.detach().clone() if isinstance(lr, Tensor) else lr


def a_group(name: str, what: str, value: Any, groups: Sequence[Group]) -> list[Any]:
    """One value a group, from one for all or a sequence."""
    if not isinstance(value, (list, tuple)):
        return [value] * len(groups)
    if len(value) != len(groups):
        raise ValueError(f"{name}: {len(value)} values of {what} for {len(groups)} groups; give one, or one a group")
    return list(value)


def _with_parts(scheduler: LRScheduler) -> list[LRScheduler]:
    parts = vars(scheduler).get("_schedulers", ())
    return [scheduler, *[below for part in parts for below in _with_parts(part)]]


class Step:
    """The block of a scheduler's step. An error or an interrupt inside sets back what was changed."""

    __slots__ = ("_groups", "_schedulers")

    def __init__(self, scheduler: LRScheduler) -> None:
        self._schedulers = [(s, vars(s).copy()) for s in _with_parts(scheduler)]
        self._groups = [(group, group.copy(), copied(group["lr"])) for group in scheduler.optimizer.param_groups]

    def __enter__(self) -> None:
        pass

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            return
        for scheduler, attributes in self._schedulers:
            vars(scheduler).clear()
            vars(scheduler).update(attributes)
        for group, options, lr in self._groups:
            group.update(options)
            set_rate(group, lr)


class LRScheduler:
    """Base of schedulers: derive from it and write get_lr().

    Rates follow from those of the step before, so that several schedulers of one optimiser compose.

    Args:
        optimizer: whose rates change.
        last_epoch: the number of the last step, to go on; -1 starts.

    Attributes:
        base_lrs: the rates that the groups began with.
        last_epoch: how many steps were made.

    Raises:
        TypeError: optimizer is no Optimizer.
        KeyError: last_epoch is given, and a group has no "initial_lr".

    Example:
        >>> class Halving(sg.optim.lr_scheduler.LRScheduler):
        ...     def get_lr(self):
        ...         return [base / 2**self.last_epoch for base in self.base_lrs]
        >>> opt = sg.optim.SGD([sg.ones(1, requires_grad=True)], lr=1.0)
        >>> scheduler = Halving(opt)
        >>> opt.step(); scheduler.step()
        >>> scheduler.get_last_lr()
        [0.5]
    """

    _restarts = True  # a jump to a step begins again at the first rates

    def __init__(self, optimizer: Optimizer, last_epoch: int = -1) -> None:
        name = type(self).__name__
        if not isinstance(optimizer, Optimizer):
            raise TypeError(f"{name}: a {type(optimizer).__name__} is not an optimiser; pass one of spirograd.optim")
        self.optimizer = optimizer
        for i, group in enumerate(optimizer.param_groups):
            if last_epoch == -1:
                group.setdefault("initial_lr", copied(group["lr"]))
            elif "initial_lr" not in group:
                raise KeyError(f"{name}: group {i} has no 'initial_lr'; set it to the rate of step 0")
        self.base_lrs = [copied(group["initial_lr"]) for group in optimizer.param_groups]
        self.last_epoch = last_epoch
        self._step_count = 0
        self._is_initial = True
        self.step()
        self._is_initial = False

    def get_lr(self) -> list[Any]:
        """The rates of step last_epoch, one a group."""
        return [
            self._rate(group["lr"], base)
            for group, base in zip(self.optimizer.param_groups, self.base_lrs, strict=True)
        ]

    def _rate(self, lr: Any, base: Any) -> Any:
        """The rate of step last_epoch after `lr`."""
        raise NotImplementedError(f"{type(self).__name__} has no get_lr()")

    def get_last_lr(self) -> list[Any]:
        """The rates that step() set last, one a group."""
        return self._last_lr

    def step(self, epoch: int | None = None) -> None:
        """Sets the rates of the next step.

        Args:
            epoch: the step to jump to; usually left out.
        """
        optimizer = self.optimizer
        if self._step_count == 1 and type(optimizer).step is Optimizer.step and not optimizer._step_count:
            warnings.warn(
                f"{type(self).__name__}: step() before optimizer.step() skips the first rate; call it after",
                UserWarning,
                stacklevel=2,
            )
        with Step(self):
            self._step_count += 1
            if epoch is None:
                self.last_epoch += 1
                self._set_rates()
            elif self._restarts:
                for group, base in zip(optimizer.param_groups, self.base_lrs, strict=True):
                    set_rate(group, base)
                for self.last_epoch in range(epoch + 1):
                    self._set_rates()
            else:
                self.last_epoch = epoch
                self._set_rates()

    def _set_rates(self) -> None:
        for group, lr in zip(self.optimizer.param_groups, self.get_lr(), strict=True):
            set_rate(group, lr)
        self._last_lr = [copied(group["lr"]) for group in self.optimizer.param_groups]

    def state_dict(self) -> dict[str, Any]:
        """All that changes, and the options; functions are left out."""
        return {k: v for k, v in vars(self).items() if k != "optimizer" and not callable(v)}

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Takes over what state_dict() gave; load the optimiser's state too."""
        vars(self).update(state_dict)
