"""Averages of the weights of a model over its steps: exponential (EMA) or equal (SWA)."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

from .. import _core, nn
from .._core import Device, Tensor
from ..base.docstrings import described_by
from ..base.grad_mode import no_grad
from ..base.whole import Whole
from .lr_scheduler.scheduler import LRScheduler, a_group
from .optimizer import Optimizer

__all__ = ["SWALR", "AveragedModel", "get_ema_avg_fn", "get_ema_multi_avg_fn", "get_swa_avg_fn", "get_swa_multi_avg_fn"]
__all__ += ["update_bn"]

# From the average, the new value and the number of averaged values (a 0-d tensor) to the new average.
Average: TypeAlias = Callable[[Tensor, Tensor, Any], Tensor]
# The same for all tensors at once, in place.
Averages: TypeAlias = Callable[[list[Tensor], list[Tensor], Any], None]


def get_swa_avg_fn() -> Average:
    """Returns the function of an equal average (Izmailov et al., 2018): average + (value - average) / (n + 1).

    Example:
        >>> mean = sg.optim.swa_utils.get_swa_avg_fn()
        >>> mean(sg.tensor(1.0), sg.tensor(4.0), 2).item()
        2.0
    """
    return lambda average, value, n: average + (value - average) / (n + 1)


def get_ema_avg_fn(decay: float = 0.999) -> Average:
    """Returns the function of an exponential average: decay * average + (1 - decay) * value.

    Args:
        decay: the decay, in [0, 1].

    Raises:
        ValueError: decay is not in [0, 1].

    Example:
        >>> mean = sg.optim.swa_utils.get_ema_avg_fn(0.75)
        >>> mean(sg.tensor(1.0), sg.tensor(5.0), 1).item()
        2.0
    """
    if not 0 <= decay <= 1:
        raise ValueError(f"get_ema_avg_fn: decay is {decay}; use a number in [0, 1]")
    return lambda average, value, n: average * decay + value * (1 - decay)


def _for_all(one: Average) -> Averages:
    def all_of_them(averages: list[Tensor], values: list[Tensor], n: Any) -> None:
        for average, value in zip(averages, values, strict=True):
            average.copy_(one(average, value, n))

    return all_of_them


def get_swa_multi_avg_fn() -> Averages:
    """Returns get_swa_avg_fn() for lists of tensors, in place."""
    return _for_all(get_swa_avg_fn())


@described_by(get_ema_avg_fn)
def get_ema_multi_avg_fn(decay: float = 0.999) -> Averages:
    """Returns get_ema_avg_fn() for lists of tensors, in place."""
    return _for_all(get_ema_avg_fn(decay))


class AveragedModel(nn.Module):
    """A copy of a model whose parameters are averages of those passed to update_parameters().

    The first values are copied. By default, all values have the same weight; pass
    multi_avg_fn=get_ema_multi_avg_fn(0.999) for an exponential average. An update is one launch, in the submission of
    the next step.

    Args:
        model: the model to average; it is not changed.
        device: the device of the copy, by default that of the model.
        avg_fn: a function from the average, the value and their number to the new average.
        multi_avg_fn: such a function for lists of tensors, in place.
        use_buffers: whether to average floating buffers instead of copying them.

    Raises:
        ValueError: both functions are given.

    Example:
        >>> net = sg.nn.Linear(1, 1, bias=False)
        >>> ema = sg.optim.swa_utils.AveragedModel(net, multi_avg_fn=sg.optim.swa_utils.get_ema_multi_avg_fn(0.5))
        >>> for x in (1.0, 3.0):
        ...     with sg.no_grad():
        ...         _ = net.weight.fill_(x)
        ...     ema.update_parameters(net)
        >>> ema.module.weight.item(), ema(sg.ones(1)).item()
        (2.0, 2.0)
    """

    n_averaged: Tensor

    def __init__(
        self,
        model: nn.Module,
        device: Device | str | None = None,
        avg_fn: Average | None = None,
        multi_avg_fn: Averages | None = None,
        use_buffers: bool = False,
    ) -> None:
        super().__init__()
        if avg_fn is not None and multi_avg_fn is not None:
            raise ValueError("AveragedModel: avg_fn and multi_avg_fn are given; pass one of them")
        self.module = copy.deepcopy(model)
        if device is not None:
            self.module = self.module.to(device)
        device_of_copy = next((p.device for p in self.module.parameters()), None)
        self.register_buffer("n_averaged", _core.zeros((), dtype=_core.int64, device=device_of_copy))
        self.use_buffers = use_buffers
        self._average = multi_avg_fn or _for_all(avg_fn or get_swa_avg_fn())
        self._started = False

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Calls the averaged model."""
        return self.module(*args, **kwargs)

    def update_parameters(self, model: nn.Module) -> None:
        """Adds the parameters of a model to the average.

        Args:
            model: a model of the same structure.
        """
        with no_grad():
            mine: list[Tensor] = list(self.module.parameters())
            others: list[Tensor] = list(model.parameters())
            own_buffers, buffers = list(self.module.buffers()), list(model.buffers())
            if self.use_buffers:
                mine += [b for b in own_buffers if b.is_floating_point()]
                others += [b for b in buffers if b.is_floating_point()]
            averages = [a.detach() for a in mine]
            values = [b.detach().to(a.device) for a, b in zip(averages, others, strict=True)]
            # Read once: a loaded average continues.
            self._started = self._started or bool(self.n_averaged.item())
            with Whole([*averages, *own_buffers]):
                if self._started:
                    self._average(averages, values, self.n_averaged)
                else:
                    for average, value in zip(averages, values, strict=True):
                        average.copy_(value)
                for own, buffer in zip(own_buffers, buffers, strict=True):
                    if not self.use_buffers or not own.is_floating_point():
                        own.copy_(buffer.to(own.device))
                self.n_averaged.add_(1)
                self._started = True


def update_bn(loader: Iterable[Any], model: nn.Module, device: Device | str | None = None) -> None:
    """Recomputes the running means and variances of the BatchNorm layers of a model, over all batches of a loader.

    Args:
        loader: an iterable of batches, or of tuples that start with the batch.
        model: the model, which is in training mode meanwhile.
        device: the device to which batches are moved.
    """
    layers = [m for m in model.modules() if getattr(m, "running_mean", None) is not None]
    if not layers:
        return
    momenta = [layer.momentum for layer in layers]  # type: ignore[attr-defined]
    training = model.training
    for layer in layers:
        layer.reset_running_stats()  # type: ignore[attr-defined]
        layer.momentum = None  # type: ignore[attr-defined]
    model.train()
    with no_grad():
        for batch in loader:
            x = batch[0] if isinstance(batch, (list, tuple)) else batch
            model(x if device is None else x.to(device))
    for layer, momentum in zip(layers, momenta, strict=True):
        layer.momentum = momentum  # type: ignore[attr-defined]
    model.train(training)


class SWALR(LRScheduler):
    """Moves the current rate to swa_lr in anneal_epochs steps, and keeps it.

    Args:
        swa_lr: the last rate, or one for each group.
        anneal_epochs: the number of steps.

    Raises:
        ValueError: anneal_epochs is negative, or anneal_strategy is unknown.

    Example:
        >>> opt = sg.optim.SGD([sg.ones(1, requires_grad=True)], lr=1.0)
        >>> scheduler = sg.optim.swa_utils.SWALR(opt, swa_lr=0.5, anneal_epochs=2, anneal_strategy="linear")
        >>> opt.step(); scheduler.step()
        >>> scheduler.get_last_lr()
        [0.75]
    """

    _restarts = False

    def __init__(
        self,
        optimizer: Optimizer,
        swa_lr: float | list[float],
        anneal_epochs: int = 10,
        anneal_strategy: str = "cos",
        last_epoch: int = -1,
    ) -> None:
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(f"SWALR: anneal_strategy '{anneal_strategy}' is unknown; use cos or linear")
        if anneal_epochs < 0:
            raise ValueError(f"SWALR: anneal_epochs is {anneal_epochs}; use 0 or more")
        self.anneal_epochs, self._anneal_strategy = anneal_epochs, anneal_strategy
        for group, rate in zip(
            optimizer.param_groups, a_group("SWALR", "swa_lr", swa_lr, optimizer.param_groups), strict=True
        ):
            group["swa_lr"] = rate
        super().__init__(optimizer, last_epoch)

    def _share(self, step: int) -> float:
        t = max(0.0, min(1.0, step / max(1, self.anneal_epochs)))
        return t if self._anneal_strategy == "linear" else (1 - math.cos(math.pi * t)) / 2

    def get_lr(self) -> list[Any]:
        step = self._step_count - 1
        if self.anneal_epochs == 0:
            step = max(1, step)
        before, now = self._share(step - 1), self._share(step)
        rates = []
        for group in self.optimizer.param_groups:
            end, lr = group["swa_lr"], group["lr"]
            start = end if before == 1 else (lr - before * end) / (1 - before)
            rates.append(end * now + start * (1 - now))
        return rates
