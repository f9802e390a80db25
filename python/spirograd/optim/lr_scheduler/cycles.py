"""Rates that rise and fall, with a momentum that falls and rises."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from ..optimizer import Group, Optimizer
from .scheduler import LRScheduler, a_group, set_rate


def _set_momentum(group: Group, momentum: float) -> None:
    """Sets the momentum, or the first beta."""
    if "betas" in group:
        group["betas"] = (momentum, *group["betas"][1:])
    else:
        group["momentum"] = momentum


def _check_momentum(name: str, groups: list[Group]) -> None:
    for group in groups:
        if "betas" not in group and "momentum" not in group:
            raise ValueError(f"{name}: the optimiser has no momentum; use cycle_momentum=False")


class OneCycleLR(LRScheduler):
    """Raises the rate once to max_lr, then lowers it far below the initial rate (Smith and Topin, 2017).

    The momentum moves in the opposite direction.

    Args:
        total_steps: the number of steps; alternatively, pass epochs and steps_per_epoch.
        epochs: the number of epochs.
        steps_per_epoch: the number of steps of an epoch.
        pct_start: the share of the steps in which the rate rises.
        div_factor: the initial rate is max_lr / div_factor.
        final_div_factor: the last rate is the initial rate / final_div_factor.
        three_phase: whether the rate first falls to the initial rate, for as many steps as it rose.

    Raises:
        ValueError: the number of steps is missing, an argument is out of range, or there is no momentum to cycle; from
            step(): all steps were made.

    Example:
        >>> opt = sg.optim.SGD([sg.ones(1, requires_grad=True)], lr=0.1, momentum=0.9)
        >>> scheduler = sg.optim.lr_scheduler.OneCycleLR(opt, max_lr=1.0, total_steps=10, pct_start=0.4)
        >>> opt.step(); scheduler.step(); scheduler.step(); scheduler.step()
        >>> scheduler.get_last_lr()
        [1.0]
    """

    _restarts = False

    def __init__(
        self,
        optimizer: Optimizer,
        max_lr: float | list[float],
        total_steps: int | None = None,
        epochs: int | None = None,
        steps_per_epoch: int | None = None,
        pct_start: float = 0.3,
        anneal_strategy: str = "cos",
        cycle_momentum: bool = True,
        base_momentum: float | list[float] = 0.85,
        max_momentum: float | list[float] = 0.95,
        div_factor: float = 25.0,
        final_div_factor: float = 1e4,
        three_phase: bool = False,
        last_epoch: int = -1,
    ) -> None:
        if total_steps is None:
            if epochs is None or steps_per_epoch is None:
                raise ValueError("OneCycleLR: no number of steps; give total_steps, or epochs and steps_per_epoch")
            total_steps = epochs * steps_per_epoch
        if total_steps <= 0:
            raise ValueError(f"OneCycleLR: total_steps is {total_steps}; use 1 or more")
        if not 0 <= pct_start <= 1:
            raise ValueError(f"OneCycleLR: pct_start is {pct_start}; use a number in [0, 1]")
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(f"OneCycleLR: anneal_strategy '{anneal_strategy}' is unknown; use cos or linear")
        self.total_steps, self._anneal_func_type, self.cycle_momentum = total_steps, anneal_strategy, cycle_momentum
        # The last step of each phase, and the options of the group between which it moves.
        rise = float(pct_start * total_steps) - 1
        phases: list[tuple[float, str, str, str, str]]
        phases = [(rise, "initial_lr", "max_lr", "max_momentum", "base_momentum")]
        if three_phase:
            phases.append((2 * rise, "max_lr", "initial_lr", "base_momentum", "max_momentum"))
            phases.append((total_steps - 1, "initial_lr", "min_lr", "max_momentum", "max_momentum"))
        else:
            phases.append((total_steps - 1, "max_lr", "min_lr", "base_momentum", "max_momentum"))
        names = ("end_step", "start_lr", "end_lr", "start_momentum", "end_momentum")
        self._schedule_phases: list[dict[str, Any]] = [dict(zip(names, phase, strict=True)) for phase in phases]
        groups = optimizer.param_groups
        if cycle_momentum:
            _check_momentum("OneCycleLR", groups)
        if last_epoch == -1:
            most = a_group("OneCycleLR", "max_lr", max_lr, groups)
            low = a_group("OneCycleLR", "base_momentum", base_momentum, groups)
            high = a_group("OneCycleLR", "max_momentum", max_momentum, groups)
            for group, lr, least, largest in zip(groups, most, low, high, strict=True):
                first = lr / div_factor
                group.update(initial_lr=first, max_lr=lr, min_lr=first / final_div_factor)
                if cycle_momentum:
                    _set_momentum(group, largest)
                    group.update(base_momentum=least, max_momentum=largest)
        super().__init__(optimizer, last_epoch)

    def _between(self, start: float, end: float, share: float) -> float:
        if self._anneal_func_type == "cos":
            return end + (start - end) / 2 * (1 + math.cos(math.pi * share))
        return start + (end - start) * share

    def get_lr(self) -> list[Any]:
        step = self.last_epoch
        if step > self.total_steps:
            raise ValueError(f"OneCycleLR: step {step} of {self.total_steps}; give a larger total_steps")
        begin = 0.0
        phase = self._schedule_phases[-1]
        for phase in self._schedule_phases:
            if step <= phase["end_step"]:
                break
            begin = phase["end_step"] if phase is not self._schedule_phases[-1] else begin
        share = (step - begin) / (phase["end_step"] - begin)
        rates = []
        for group in self.optimizer.param_groups:
            rates.append(self._between(group[phase["start_lr"]], group[phase["end_lr"]], share))
            if self.cycle_momentum:
                start, end = group[phase["start_momentum"]], group[phase["end_momentum"]]
                _set_momentum(group, self._between(start, end, share))
        return rates


class CyclicLR(LRScheduler):
    """Raises the rate from base_lr to max_lr and lowers it again, over and over (Smith, 2015).

    The momentum moves in the opposite direction.

    Args:
        base_lr: the lowest rate, or one for each group.
        step_size_up: the number of steps of a rise.
        step_size_down: the number of steps of a fall, by default step_size_up.
        mode: "triangular"; "triangular2", which halves the height each time; or "exp_range", which multiplies it by
            gamma**step.
        gamma: gamma of "exp_range".
        scale_fn: a function that replaces mode: from the cycle, which starts at 1, or the step, to the height.
        scale_mode: "cycle" or "iterations": the argument of scale_fn.

    Raises:
        ValueError: mode is unknown, or there is no momentum to cycle.

    Example:
        >>> opt = sg.optim.SGD([sg.ones(1, requires_grad=True)], lr=0.1, momentum=0.9)
        >>> scheduler = sg.optim.lr_scheduler.CyclicLR(opt, base_lr=0.0, max_lr=1.0, step_size_up=4)
        >>> opt.step(); scheduler.step()
        >>> scheduler.get_last_lr()
        [0.25]
    """

    _restarts = False

    def __init__(
        self,
        optimizer: Optimizer,
        base_lr: float | list[float],
        max_lr: float | list[float],
        step_size_up: int = 2000,
        step_size_down: int | None = None,
        mode: str = "triangular",
        gamma: float = 1.0,
        scale_fn: Callable[[float], float] | None = None,
        scale_mode: str = "cycle",
        cycle_momentum: bool = True,
        base_momentum: float | list[float] = 0.8,
        max_momentum: float | list[float] = 0.9,
        last_epoch: int = -1,
    ) -> None:
        if scale_fn is None and mode not in ("triangular", "triangular2", "exp_range"):
            raise ValueError(f"CyclicLR: mode '{mode}' is unknown; use triangular, triangular2 or exp_range")
        groups = optimizer.param_groups
        first = a_group("CyclicLR", "base_lr", base_lr, groups)
        self.max_lrs = a_group("CyclicLR", "max_lr", max_lr, groups)
        self.total_size = float(step_size_up + (step_size_up if step_size_down is None else step_size_down))
        self.step_ratio = step_size_up / self.total_size
        self.mode, self.gamma, self.cycle_momentum = mode, gamma, cycle_momentum
        self.scale_mode = scale_mode if scale_fn else "iterations" if mode == "exp_range" else "cycle"
        self._scale_fn_custom = scale_fn
        if cycle_momentum:
            _check_momentum("CyclicLR", groups)
            self.base_momentums = a_group("CyclicLR", "base_momentum", base_momentum, groups)
            self.max_momentums = a_group("CyclicLR", "max_momentum", max_momentum, groups)
        if last_epoch == -1:
            for i, group in enumerate(groups):
                set_rate(group, first[i])
                if cycle_momentum:
                    group["base_momentum"], group["max_momentum"] = self.base_momentums[i], self.max_momentums[i]
        super().__init__(optimizer, last_epoch)
        self.base_lrs = first

    def scale_fn(self, x: float) -> float:
        """Returns the relative height of a cycle.

        Args:
            x: the cycle, which starts at 1, or the step.
        """
        if self._scale_fn_custom is not None:
            return self._scale_fn_custom(x)
        heights = {"triangular": 1.0, "triangular2": 0.5 ** (x - 1), "exp_range": self.gamma**x}
        return float(heights[self.mode])

    def get_lr(self) -> list[Any]:
        cycle = math.floor(1 + self.last_epoch / self.total_size)
        x = 1 + self.last_epoch / self.total_size - cycle
        height = x / self.step_ratio if x <= self.step_ratio else (x - 1) / (self.step_ratio - 1)
        height *= self.scale_fn(cycle if self.scale_mode == "cycle" else self.last_epoch)
        if self.cycle_momentum:
            for group, low, high in zip(
                self.optimizer.param_groups, self.base_momentums, self.max_momentums, strict=True
            ):
                _set_momentum(group, high - (high - low) * height)
        return [low + (high - low) * height for low, high in zip(self.base_lrs, self.max_lrs, strict=True)]

    def state_dict(self) -> dict[str, Any]:
        return {**super().state_dict(), "_scale_fn_custom": None}

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        super().load_state_dict({k: v for k, v in state_dict.items() if k != "_scale_fn_custom"})
