"""Rates that depend on a metric."""

from __future__ import annotations

import math
from typing import Any

from ..optimizer import Optimizer
from .scheduler import LRScheduler, Step, a_group, copied, set_rate


class ReduceLROnPlateau(LRScheduler):
    """Multiplies the rate by a factor when a metric has stopped improving.

    Args:
        mode: "min" if a lower metric is better, or "max".
        factor: the factor, less than 1.
        patience: the number of consecutive bad epochs without a change.
        threshold: the least improvement that counts.
        threshold_mode: "rel" if threshold is a share of the best metric, or "abs".
        cooldown: the number of epochs after a change that do not count as bad.
        min_lr: the lowest rate, or one for each group.
        eps: the least change of a rate.

    Raises:
        ValueError: factor is 1 or more, or a mode is unknown.

    Example:
        >>> opt = sg.optim.SGD([sg.ones(1, requires_grad=True)], lr=1.0)
        >>> scheduler = sg.optim.lr_scheduler.ReduceLROnPlateau(opt, factor=0.5, patience=1)
        >>> for loss in (3.0, 3.0, 3.0):
        ...     scheduler.step(loss)
        >>> scheduler.get_last_lr()
        [0.5]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        mode: str = "min",
        factor: float = 0.1,
        patience: int = 10,
        threshold: float = 1e-4,
        threshold_mode: str = "rel",
        cooldown: int = 0,
        min_lr: float | list[float] = 0.0,
        eps: float = 1e-8,
    ) -> None:
        if factor >= 1:
            raise ValueError(f"ReduceLROnPlateau: factor is {factor}; use less than 1")
        if mode not in ("min", "max"):
            raise ValueError(f"ReduceLROnPlateau: mode '{mode}' is unknown; use min or max")
        if threshold_mode not in ("rel", "abs"):
            raise ValueError(f"ReduceLROnPlateau: threshold_mode '{threshold_mode}' is unknown; use rel or abs")
        if not isinstance(optimizer, Optimizer):
            raise TypeError(f"ReduceLROnPlateau: a {type(optimizer).__name__} is not an optimiser; pass one")
        self.optimizer = optimizer
        self.mode, self.factor, self.patience, self.cooldown, self.eps = mode, factor, patience, cooldown, eps
        self.threshold, self.threshold_mode = threshold, threshold_mode
        self.min_lrs = a_group("ReduceLROnPlateau", "min_lr", min_lr, optimizer.param_groups)
        self.mode_worse = math.inf if mode == "min" else -math.inf
        self.last_epoch = 0
        self._last_lr = [copied(group["lr"]) for group in optimizer.param_groups]
        self._reset()

    def _reset(self) -> None:
        self.best = self.mode_worse
        self.cooldown_counter = self.num_bad_epochs = 0

    def is_better(self, a: float, best: float) -> bool:
        """Whether a metric is better than the best so far, by more than the threshold."""
        sign = 1 if self.mode == "min" else -1
        margin = self.threshold * best if self.threshold_mode == "rel" else self.threshold
        return sign * a < sign * (best - sign * margin) if math.isfinite(best) else sign * a < sign * best

    def step(self, metrics: Any, epoch: int | None = None) -> None:  # type: ignore[override]
        """Compares the metric of an epoch with the best so far.

        Args:
            metrics: a number, or a tensor of one element, which is read.
            epoch: the number of the epoch; by default the next one.
        """
        current = float(metrics)
        with Step(self):
            self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
            if self.is_better(current, self.best):
                self.best, self.num_bad_epochs = current, 0
            else:
                self.num_bad_epochs += 1
            if self.cooldown_counter > 0:
                self.cooldown_counter, self.num_bad_epochs = self.cooldown_counter - 1, 0
            if self.num_bad_epochs > self.patience:
                for group, least in zip(self.optimizer.param_groups, self.min_lrs, strict=True):
                    old = float(group["lr"])
                    new = max(old * self.factor, least)
                    if old - new > self.eps:
                        set_rate(group, new)
                self.cooldown_counter, self.num_bad_epochs = self.cooldown, 0
            self._last_lr = [copied(group["lr"]) for group in self.optimizer.param_groups]
