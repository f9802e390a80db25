"""Rates that depend only on the step."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeAlias

from ..optimizer import Optimizer
from .scheduler import LRScheduler, Step, a_group

Factor: TypeAlias = Callable[[int], float]


class LambdaLR(LRScheduler):
    """Multiplies the initial rate by a function of the step.

    Args:
        lr_lambda: a function from the step, which starts at 0, to a factor, or a list with one for each group.

    Example:
        >>> opt = sg.optim.SGD([sg.ones(1, requires_grad=True)], lr=1.0)
        >>> scheduler = sg.optim.lr_scheduler.LambdaLR(opt, lambda step: 1 / (step + 1))
        >>> opt.step(); scheduler.step()
        >>> scheduler.get_last_lr()
        [0.5]
    """

    def __init__(self, optimizer: Optimizer, lr_lambda: Factor | list[Factor], last_epoch: int = -1) -> None:
        self.lr_lambdas = a_group(type(self).__name__, "lr_lambda", lr_lambda, optimizer.param_groups)
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        return [base * f(self.last_epoch) for f, base in zip(self.lr_lambdas, self.base_lrs, strict=True)]

    def state_dict(self) -> dict[str, Any]:
        """Returns the state without functions, but with the attributes of callable objects."""
        state = super().state_dict()
        state["lr_lambdas"] = [None if hasattr(f, "__code__") else dict(vars(f)) for f in self.lr_lambdas]
        return state

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        super().load_state_dict({k: v for k, v in state_dict.items() if k != "lr_lambdas"})
        for f, attributes in zip(self.lr_lambdas, state_dict["lr_lambdas"], strict=True):
            if attributes is not None:
                vars(f).update(attributes)


class MultiplicativeLR(LambdaLR):
    """Multiplies the previous rate by a function of the step.

    Args:
        lr_lambda: a function from the step, which starts at 1, to a factor, or a list with one for each group.

    Example:
        >>> opt = sg.optim.SGD([sg.ones(1, requires_grad=True)], lr=1.0)
        >>> scheduler = sg.optim.lr_scheduler.MultiplicativeLR(opt, lambda step: 0.5)
        >>> opt.step(); scheduler.step(); scheduler.step()
        >>> scheduler.get_last_lr()
        [0.25]
    """

    _restarts = False

    def get_lr(self) -> list[Any]:
        rates = [group["lr"] for group in self.optimizer.param_groups]
        if self._is_initial:
            return rates
        return [lr * f(self.last_epoch) for f, lr in zip(self.lr_lambdas, rates, strict=True)]


class StepLR(LRScheduler):
    """Multiplies the rate by gamma every step_size steps.

    Args:
        step_size: the number of steps with the same rate.

    Example:
        >>> opt = sg.optim.SGD([sg.ones(1, requires_grad=True)], lr=1.0)
        >>> scheduler = sg.optim.lr_scheduler.StepLR(opt, step_size=2, gamma=0.5)
        >>> opt.step(); scheduler.step(); scheduler.step()
        >>> scheduler.get_last_lr()
        [0.5]
    """

    def __init__(self, optimizer: Optimizer, step_size: int, gamma: float = 0.1, last_epoch: int = -1) -> None:
        self.step_size, self.gamma = step_size, gamma
        super().__init__(optimizer, last_epoch)

    def _rate(self, lr: Any, base: Any) -> Any:
        return lr if self.last_epoch % self.step_size or not self.last_epoch else lr * self.gamma


class MultiStepLR(LRScheduler):
    """Multiplies the rate by gamma at each milestone.

    Args:
        milestones: the steps of the milestones; one that is listed twice counts twice.

    Example:
        >>> opt = sg.optim.SGD([sg.ones(1, requires_grad=True)], lr=1.0)
        >>> scheduler = sg.optim.lr_scheduler.MultiStepLR(opt, milestones=[1, 5], gamma=0.5)
        >>> opt.step(); scheduler.step(); scheduler.step()
        >>> scheduler.get_last_lr()
        [0.5]
    """

    def __init__(
        self, optimizer: Optimizer, milestones: Iterable[int], gamma: float = 0.1, last_epoch: int = -1
    ) -> None:
        self.milestones, self.gamma = Counter(milestones), gamma
        super().__init__(optimizer, last_epoch)

    def _rate(self, lr: Any, base: Any) -> Any:
        count = self.milestones[self.last_epoch]
        return lr * self.gamma**count if count else lr


class ConstantLR(LRScheduler):
    """Multiplies the rate by a factor for the first total_iters steps.

    Args:
        factor: the factor, in [0, 1].

    Raises:
        ValueError: factor is not in [0, 1].

    Example:
        >>> opt = sg.optim.SGD([sg.ones(1, requires_grad=True)], lr=1.0)
        >>> scheduler = sg.optim.lr_scheduler.ConstantLR(opt, factor=0.5, total_iters=2)
        >>> scheduler.get_last_lr()
        [0.5]
    """

    def __init__(self, optimizer: Optimizer, factor: float = 1 / 3, total_iters: int = 5, last_epoch: int = -1) -> None:
        if not 0 <= factor <= 1:
            raise ValueError(f"ConstantLR: factor is {factor}; use a number in [0, 1]")
        self.factor, self.total_iters = factor, total_iters
        super().__init__(optimizer, last_epoch)

    def _rate(self, lr: Any, base: Any) -> Any:
        if self.last_epoch == 0:
            return lr * self.factor
        return lr / self.factor if self.last_epoch == self.total_iters else lr


class LinearLR(LRScheduler):
    """Multiplies the rate by a factor that goes from start_factor to end_factor in total_iters steps, as in a warm-up.

    Args:
        start_factor: the first factor, in (0, 1].
        end_factor: the last factor, in [0, 1].

    Raises:
        ValueError: a factor is out of range.

    Example:
        >>> opt = sg.optim.SGD([sg.ones(1, requires_grad=True)], lr=1.0)
        >>> scheduler = sg.optim.lr_scheduler.LinearLR(opt, start_factor=0.5, total_iters=4)
        >>> opt.step(); scheduler.step(); scheduler.step()
        >>> scheduler.get_last_lr()
        [0.75]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        start_factor: float = 1 / 3,
        end_factor: float = 1.0,
        total_iters: int = 5,
        last_epoch: int = -1,
    ) -> None:
        if not 0 < start_factor <= 1:
            raise ValueError(f"LinearLR: start_factor is {start_factor}; use a number in (0, 1]")
        if not 0 <= end_factor <= 1:
            raise ValueError(f"LinearLR: end_factor is {end_factor}; use a number in [0, 1]")
        self.start_factor, self.end_factor, self.total_iters = start_factor, end_factor, total_iters
        super().__init__(optimizer, last_epoch)

    def _rate(self, lr: Any, base: Any) -> Any:
        if self.last_epoch == 0:
            return lr * self.start_factor
        if self._is_initial or self.last_epoch > self.total_iters:
            return lr
        slope = self.end_factor - self.start_factor
        return lr * (1 + slope / (self.total_iters * self.start_factor + (self.last_epoch - 1) * slope))


class ExponentialLR(LRScheduler):
    """Multiplies the rate by gamma at each step.

    Example:
        >>> opt = sg.optim.SGD([sg.ones(1, requires_grad=True)], lr=1.0)
        >>> scheduler = sg.optim.lr_scheduler.ExponentialLR(opt, gamma=0.5)
        >>> opt.step(); scheduler.step()
        >>> scheduler.get_last_lr()
        [0.5]
    """

    def __init__(self, optimizer: Optimizer, gamma: float, last_epoch: int = -1) -> None:
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def _rate(self, lr: Any, base: Any) -> Any:
        return lr if self._is_initial or self.last_epoch == 0 else lr * self.gamma


class PolynomialLR(LRScheduler):
    """Multiplies the initial rate by (1 - step / total_iters)**power; from total_iters on, the rate is 0.

    Args:
        power: the exponent; 1 gives a line.

    Example:
        >>> opt = sg.optim.SGD([sg.ones(1, requires_grad=True)], lr=1.0)
        >>> scheduler = sg.optim.lr_scheduler.PolynomialLR(opt, total_iters=4)
        >>> opt.step(); scheduler.step()
        >>> scheduler.get_last_lr()
        [0.75]
    """

    def __init__(self, optimizer: Optimizer, total_iters: int = 5, power: float = 1.0, last_epoch: int = -1) -> None:
        self.total_iters, self.power = total_iters, power
        super().__init__(optimizer, last_epoch)

    def _rate(self, lr: Any, base: Any) -> Any:
        t, total = self.last_epoch, self.total_iters
        if self._is_initial or t == 0 or t > total:
            return lr
        return lr * ((1 - t / total) / (1 - (t - 1) / total)) ** self.power


class CosineAnnealingLR(LRScheduler):
    """Moves the rate from its initial value to eta_min and back along a cosine of period 2 T_max.

    The schedule is that of Loshchilov and Hutter (2016), without restarts.

    Args:
        T_max: the number of steps from the initial rate to eta_min.

    Example:
        >>> opt = sg.optim.SGD([sg.ones(1, requires_grad=True)], lr=1.0)
        >>> scheduler = sg.optim.lr_scheduler.CosineAnnealingLR(opt, T_max=2)
        >>> opt.step(); scheduler.step()
        >>> round(scheduler.get_last_lr()[0], 6)
        0.5
    """

    def __init__(self, optimizer: Optimizer, T_max: int, eta_min: float = 0.0, last_epoch: int = -1) -> None:
        self.T_max, self.eta_min = T_max, eta_min
        super().__init__(optimizer, last_epoch)

    def _rate(self, lr: Any, base: Any) -> Any:
        t, period = self.last_epoch, self.T_max
        if self._is_initial or t == 0:
            return lr
        if (t - 1 - period) % (2 * period) == 0:  # there is no ratio to the lowest rate
            return lr + (base - self.eta_min) * (1 - math.cos(math.pi / period)) / 2
        ratio = (1 + math.cos(math.pi * t / period)) / (1 + math.cos(math.pi * (t - 1) / period))
        return ratio * (lr - self.eta_min) + self.eta_min


class CosineAnnealingWarmRestarts(LRScheduler):
    """Moves the rate from its initial value to eta_min along a cosine, again and again (Loshchilov and Hutter, 2016).

    Args:
        T_0: the number of steps of the first fall.
        T_mult: the factor by which each fall is longer than the previous one.

    Raises:
        ValueError: T_0 or T_mult is not a positive integer.

    Example:
        >>> opt = sg.optim.SGD([sg.ones(1, requires_grad=True)], lr=1.0)
        >>> scheduler = sg.optim.lr_scheduler.CosineAnnealingWarmRestarts(opt, T_0=2)
        >>> opt.step(); scheduler.step(); scheduler.step()
        >>> scheduler.get_last_lr()
        [1.0]
    """

    def __init__(
        self, optimizer: Optimizer, T_0: int, T_mult: int = 1, eta_min: float = 0.0, last_epoch: int = -1
    ) -> None:
        for name, value in (("T_0", T_0), ("T_mult", T_mult)):
            if not isinstance(value, int) or value < 1:
                raise ValueError(f"CosineAnnealingWarmRestarts: {name} is {value}; use an integer of 1 or more")
        self.T_0, self.T_mult, self.T_i, self.eta_min = T_0, T_mult, T_0, eta_min
        self.T_cur: float = last_epoch
        super().__init__(optimizer, last_epoch)

    def _rate(self, lr: Any, base: Any) -> Any:
        return self.eta_min + (base - self.eta_min) * (1 + math.cos(math.pi * self.T_cur / self.T_i)) / 2

    def step(self, epoch: float | None = None) -> None:
        """Sets the rates of the next step.

        Args:
            epoch: a step to jump to, which may be a fraction; by default the next one.

        Raises:
            ValueError: epoch is negative.
        """
        if epoch is not None and epoch < 0:
            raise ValueError(f"CosineAnnealingWarmRestarts: epoch is {epoch}; use 0 or more")
        with Step(self):
            self._step_count += 1
            if epoch is None:
                self.last_epoch += 1
                self.T_cur += 1
            else:
                self.last_epoch, self.T_cur, self.T_i = math.floor(epoch), epoch, self.T_0
            while self.T_cur >= self.T_i:
                self.T_cur -= self.T_i
                self.T_i *= self.T_mult
            self._set_rates()


class NoamLR(LRScheduler):
    """Sets factor * model_size**-0.5 * min(t**-0.5, t * warmup_steps**-1.5) with t = step + 1 (Vaswani et al., 2017).

    Args:
        optimizer: the optimiser whose learning rates change; its own rate is not used.
        model_size: the number of features of the model.
        warmup_steps: the number of steps in which the rate rises.
        factor: the factor of all rates.

    Raises:
        ValueError: warmup_steps is less than 1.

    Example:
        >>> opt = sg.optim.Adam([sg.ones(1, requires_grad=True)], betas=(0.9, 0.98), eps=1e-9)
        >>> scheduler = sg.optim.lr_scheduler.NoamLR(opt, model_size=4, warmup_steps=4)
        >>> scheduler.get_last_lr()
        [0.0625]
    """

    def __init__(
        self, optimizer: Optimizer, model_size: int, warmup_steps: int, factor: float = 1.0, last_epoch: int = -1
    ) -> None:
        if warmup_steps < 1:
            raise ValueError(f"NoamLR: warmup_steps is {warmup_steps}; use 1 or more")
        self.model_size, self.warmup_steps, self.factor = model_size, warmup_steps, factor
        super().__init__(optimizer, last_epoch)

    def _rate(self, lr: Any, base: Any) -> Any:
        t = self.last_epoch + 1
        return self.factor * float(self.model_size**-0.5 * min(t**-0.5, t * self.warmup_steps**-1.5))
