"""LRScheduler, the base of all schedulers."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any

from ..._core import Tensor
from ...base.docstrings import described_by
from ...base.grad_mode import no_grad
from ...base.keywords import naming_keywords
from ..optimizer import Group, Optimizer

# Descriptions of arguments that several schedulers take.
ARGUMENTS = """
Args:
    optimizer: the optimiser whose learning rates change.
    last_epoch: the number of the last step, to resume training; -1 starts anew.
    gamma: the factor.
    total_iters: the number of steps.
    eta_min: the lowest rate.
    anneal_strategy: "cos" or "linear".
    max_lr: the highest rate, or one for each group.
    cycle_momentum: whether to move the momentum, or the first beta, between max_momentum and base_momentum.
    base_momentum: the lowest momentum, or one for each group.
    max_momentum: the highest momentum, or one for each group.
    num_warmup_steps: the number of steps in which the rate rises.
    num_training_steps: the step at which the rate is 0 again.
"""


def set_rate(group: Group, lr: Any) -> None:
    """Sets a rate. Tensors are written in place, so that every reference sees the new rate."""
    if isinstance(group["lr"], Tensor):
        with no_grad():
            group["lr"].copy_(lr) if isinstance(lr, Tensor) else group["lr"].fill_(lr)
    else:
        group["lr"] = lr


def copied(lr: Any) -> Any:
    """A copy of a rate that later writes do not change."""
    return lr.detach().clone() if isinstance(lr, Tensor) else lr


def a_group(name: str, what: str, value: Any, groups: Sequence[Group]) -> list[Any]:
    """One value for each group, from one value for all or a sequence."""
    if not isinstance(value, (list, tuple)):
        return [value] * len(groups)
    if len(value) != len(groups):
        raise ValueError(f"{name}: {len(value)} values of {what} for {len(groups)} groups; give one, or one for each")
    return list(value)


def _with_parts(scheduler: LRScheduler) -> list[LRScheduler]:
    parts = vars(scheduler).get("_schedulers", ())
    return [scheduler, *[below for part in parts for below in _with_parts(part)]]


class Step:
    """The block of a scheduler's step. An error or an interrupt inside restores the schedulers and the rates."""

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


@described_by(ARGUMENTS)
class LRScheduler:
    """The base of all schedulers. Derive from it and write get_lr().

    Rates follow from those of the previous step, so that several schedulers of one optimiser can be combined.

    Attributes:
        base_lrs: the initial rates of the groups.
        last_epoch: the number of steps so far.

    Raises:
        TypeError: optimizer is not an Optimizer.
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

    _restarts = True  # whether a jump to a step starts again from the initial rates

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if cls.__module__.startswith("spirograd."):
            described_by(ARGUMENTS)(cls)
            if "__init__" in vars(cls):
                cls.__init__ = naming_keywords(cls.__init__)  # type: ignore[method-assign]

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
        """Returns the rates of step last_epoch, one for each group."""
        return [
            self._rate(group["lr"], base)
            for group, base in zip(self.optimizer.param_groups, self.base_lrs, strict=True)
        ]

    def _rate(self, lr: Any, base: Any) -> Any:
        """The rate of step last_epoch, which follows `lr`."""
        raise NotImplementedError(f"{type(self).__name__} has no get_lr()")

    def get_last_lr(self) -> list[Any]:
        """Returns the last rates that step() set, one for each group."""
        return self._last_lr

    def step(self, epoch: int | None = None) -> None:
        """Sets the rates of the next step.

        Args:
            epoch: a step to jump to; by default the next one.
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
        """Returns the state and the options, without functions."""
        return {k: v for k, v in vars(self).items() if k != "optimizer" and not callable(v)}

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Loads a state that state_dict() returned; load the state of the optimiser as well."""
        vars(self).update(state_dict)
