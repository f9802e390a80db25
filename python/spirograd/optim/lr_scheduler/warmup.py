"""Warm-ups with the names of the transformers library: a line from 0 to the rate, then the schedule of the name."""

from __future__ import annotations

import math

from ...base.docstrings import described_by
from ...base.keywords import naming_keywords
from ..optimizer import Optimizer
from .rates import LambdaLR
from .scheduler import ARGUMENTS


@naming_keywords
@described_by(ARGUMENTS)
def get_constant_schedule_with_warmup(optimizer: Optimizer, num_warmup_steps: int, last_epoch: int = -1) -> LambdaLR:
    """Raises the rate from 0 in num_warmup_steps, and keeps it.

    Example:
        >>> opt = sg.optim.SGD([sg.ones(1, requires_grad=True)], lr=1.0)
        >>> scheduler = sg.optim.lr_scheduler.get_constant_schedule_with_warmup(opt, num_warmup_steps=4)
        >>> opt.step(); scheduler.step()
        >>> scheduler.get_last_lr()
        [0.25]
    """
    return LambdaLR(optimizer, lambda step: min(1.0, step / max(1, num_warmup_steps)), last_epoch)


def _after(step: int, warmup: int, total: int) -> float:
    """The share of the steps after the warm-up that have been made."""
    return (step - warmup) / max(1, total - warmup)


@naming_keywords
@described_by(ARGUMENTS)
def get_linear_schedule_with_warmup(
    optimizer: Optimizer, num_warmup_steps: int, num_training_steps: int, last_epoch: int = -1
) -> LambdaLR:
    """Raises the rate from 0 in num_warmup_steps, and lowers it along a line to 0 at num_training_steps.

    Example:
        >>> opt = sg.optim.SGD([sg.ones(1, requires_grad=True)], lr=1.0)
        >>> scheduler = sg.optim.lr_scheduler.get_linear_schedule_with_warmup(opt, 1, 5)
        >>> opt.step(); scheduler.step(); scheduler.step()
        >>> scheduler.get_last_lr()
        [0.75]
    """

    def factor(step: int) -> float:
        if step < num_warmup_steps:
            return step / max(1, num_warmup_steps)
        return max(0.0, 1 - _after(step, num_warmup_steps, num_training_steps))

    return LambdaLR(optimizer, factor, last_epoch)


@naming_keywords
@described_by(ARGUMENTS)
def get_cosine_schedule_with_warmup(
    optimizer: Optimizer,
    num_warmup_steps: int,
    num_training_steps: int,
    num_cycles: float = 0.5,
    last_epoch: int = -1,
) -> LambdaLR:
    """Raises the rate from 0 in num_warmup_steps, and lowers it along a cosine to 0 at num_training_steps.

    Args:
        num_training_steps: the step at which the cosine ends.
        num_cycles: the number of periods of the cosine; 0.5 falls once.

    Example:
        >>> opt = sg.optim.SGD([sg.ones(1, requires_grad=True)], lr=1.0)
        >>> scheduler = sg.optim.lr_scheduler.get_cosine_schedule_with_warmup(opt, 0, 2)
        >>> opt.step(); scheduler.step()
        >>> round(scheduler.get_last_lr()[0], 6)
        0.5
    """

    def factor(step: int) -> float:
        if step < num_warmup_steps:
            return step / max(1, num_warmup_steps)
        share = _after(step, num_warmup_steps, num_training_steps)
        return max(0.0, 0.5 * (1 + math.cos(2 * math.pi * num_cycles * share)))

    return LambdaLR(optimizer, factor, last_epoch)
