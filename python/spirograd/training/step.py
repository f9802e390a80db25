"""A step: what one batch, or several, do to the parameters. The plain loop and the replayed one both call it."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any, TypeAlias

from .. import _core
from .._core import Tensor
from ..amp import GradScaler, autocast
from ..nn import Module
from ..nn.utils import clip_grad_norm_, clip_grad_value_
from ..optim import LBFGS
from .data import Batch
from .names import LossFunction
from .weights import WeightedLoss

Casts: TypeAlias = Callable[[], AbstractContextManager[Any]]
_HALVES = {"bf16": _core.bfloat16, "fp16": _core.float16}


def casts_of(op: str, precision: str | None, device: Any) -> Casts:
    """What a forward pass runs in: autocast, or nothing."""
    if precision is None:
        return nullcontext
    if precision not in _HALVES:
        raise ValueError(f"{op}: precision is {precision!r}; use None, {' or '.join(map(repr, _HALVES))}")
    return lambda: autocast(device.kind, _HALVES[precision])


class Step:
    """How the parameters change.

    Args:
        model, optimizer: what learns, and what moves its parameters.
        loss: of output and target.
        casts: what the forward pass runs in.
        scaler: of the losses, for float16.
        clip_grad_norm, clip_grad_value: the largest norm of all gradients, the largest magnitude of each element.
        batches: how many make a step; their gradients are averaged.

    Attributes:
        takes_closure: whether the optimiser evaluates the loss itself, some, as LBFGS, several times.
    """

    def __init__(
        self,
        model: Module,
        optimizer: Any,
        loss: LossFunction | WeightedLoss,
        casts: Casts = nullcontext,
        scaler: GradScaler | None = None,
        clip_grad_norm: float | None = None,
        clip_grad_value: float | None = None,
        batches: int = 1,
    ) -> None:
        self.model, self.optimizer, self.loss, self.casts, self.scaler = model, optimizer, loss, casts, scaler
        self._norm, self._value, self.batches = clip_grad_norm, clip_grad_value, batches
        for name, limit in (("clip_grad_norm", clip_grad_norm), ("clip_grad_value", clip_grad_value)):
            if limit is not None and not limit > 0:
                raise ValueError(f"fit: {name} is {limit}; use a number above 0, or None")
        if batches < 1:
            raise ValueError(f"fit: accumulate_grad_batches is {batches}; use 1 or more")
        closure = inspect.signature(optimizer.step).parameters.get("closure")
        needs_closure = isinstance(optimizer, LBFGS) or (closure is not None and closure.default is inspect._empty)
        self.takes_closure = closure is not None and scaler is None and batches == 1
        if needs_closure and not self.takes_closure:
            raise ValueError(
                f"fit: {type(optimizer).__name__} evaluates the loss itself, once a batch and in float32; leave out "
                "accumulate_grad_batches and precision='fp16'"
            )

    def forward(self, batch: Batch) -> tuple[Any, Tensor]:
        """The output and the loss."""
        with self.casts():
            output = self.model(*batch.inputs)
            if isinstance(self.loss, WeightedLoss):
                return output, self.loss(output, batch.target, batch.weight)
            return output, self.loss(output, batch.target)

    def backward(self, loss: Tensor, first: bool, share: Tensor | None = None) -> None:
        """Adds the gradients of a loss to those of this step; the first one begins anew. `share`: as in Selection."""
        if first:
            self.optimizer.zero_grad()
        if share is not None:
            loss = loss * share
        (loss if self.scaler is None else self.scaler.scale(loss)).backward()

    def clip(self, batches: int) -> None:
        """Makes the sum of the gradients of some batches their mean, and limits it."""
        if batches == 1 and self._norm is None and self._value is None:
            return
        if self.scaler is not None:
            self.scaler.unscale_(self.optimizer)
        parameters = [p for group in self.optimizer.param_groups for p in group["params"] if p.grad is not None]
        if batches > 1:
            for p in parameters:
                p.grad.mul_(1 / batches)
        if self._norm is not None:
            clip_grad_norm_(parameters, self._norm)
        if self._value is not None:
            clip_grad_value_(parameters, self._value)

    def update(self, batches: int) -> None:
        """Moves the parameters by the gradients of some batches."""
        self.clip(batches)
        if self.scaler is None:
            self.optimizer.step()
        else:
            self.scaler.step(self.optimizer)
            self.scaler.update()

    def learn(self, batch: Batch, done: int, add: Callable[[Any, Tensor], None]) -> None:
        """Learns from a batch, after `done` others of the same step; `add` gets output and loss before parameters
        change, so that what it does is part of the same submission."""
        if self.takes_closure:
            self.optimizer.step(self._closure(batch, add))
            return
        output, loss = self.forward(batch)
        self.backward(loss, done == 0, batch.share)
        add(output, loss)
        if done + 1 == self.batches:
            self.update(self.batches)

    def _closure(self, batch: Batch, add: Callable[[Any, Tensor], None]) -> Callable[[], Tensor]:
        counted = False

        def closure() -> Tensor:
            nonlocal counted
            output, loss = self.forward(batch)
            self.backward(loss, True, batch.share)
            self.clip(1)
            if not counted:
                add(output, loss)
                counted = True
            return loss

        return closure
