"""GradScaler: scales losses, and skips steps whose gradients overflowed, without asking the device."""

from __future__ import annotations

import weakref
from collections.abc import Mapping
from typing import Any

from .. import _core
from .._core import Device, Tensor
from ..base.grad_mode import no_grad
from ..base.keywords import naming_keywords
from ..base.whole import Whole
from ..optim import Optimizer


class _OfOptimizer:
    """What happened to an optimiser since the last update()."""

    def __init__(self) -> None:
        self.found: Tensor | None = None  # whether a gradient is infinite or NaN: [], of its device
        self.stepped = False


def _gradients(optimizer: Optimizer) -> list[Tensor]:
    return [p.grad for group in optimizer.param_groups for p in group["params"] if p.grad is not None]


@naming_keywords
class GradScaler:
    """Multiplies losses by a scale so that float16 gradients do not vanish; the scale grows while nothing overflows.

    When a gradient is infinite or NaN, the step of that optimiser changes nothing: the device decides, nothing is read
    back. Scale and counters are tensors of the device. An optimiser that is no RuleOptimizer, such as LBFGS or one of
    your own, is asked by a read instead.

    Args:
        device: where scale and counters are kept; by default, where the first loss is.
        init_scale: the first scale.
        growth_factor: multiplies the scale after growth_interval good steps in a row.
        backoff_factor: multiplies the scale after a bad step.
        growth_interval: good steps before the scale grows.
        enabled: False does nothing but step.

    Raises:
        ValueError: growth_factor is not above 1, or backoff_factor not below.

    Example:
        >>> w = sg.tensor([1.0], requires_grad=True)
        >>> optimizer, scaler = sg.optim.SGD([w], lr=0.25), sg.amp.GradScaler()
        >>> scaler.scale((w * w).sum()).backward()
        >>> scaler.step(optimizer)
        >>> scaler.update()
        >>> w.tolist(), scaler.get_scale()
        ([0.5], 65536.0)
    """

    def __init__(
        self,
        device: str | Device | None = None,
        init_scale: float = 2.0**16,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
        enabled: bool = True,
    ) -> None:
        if growth_factor <= 1:
            raise ValueError(f"GradScaler: growth_factor is {growth_factor}; use more than 1")
        if not 0 < backoff_factor < 1:
            raise ValueError(f"GradScaler: backoff_factor is {backoff_factor}; use a number in (0, 1)")
        self._enabled = enabled
        self._growth_factor, self._backoff_factor = growth_factor, backoff_factor
        self._growth_interval = growth_interval
        self._start: tuple[float, int, int] = (init_scale, 0, 0)
        self._scale: Tensor | None = None
        self._growth_tracker: Tensor | None = None
        self._skipped: Tensor | None = None
        self._states: weakref.WeakKeyDictionary[Optimizer, _OfOptimizer] = weakref.WeakKeyDictionary()
        if device is not None and enabled:
            self._begin(Device(device) if isinstance(device, str) else device)

    def _begin(self, device: Device) -> Tensor:
        if self._scale is None:
            scale, good, skipped = self._start
            self._scale = _core.tensor(scale, dtype=_core.float32, device=device)
            self._growth_tracker = _core.tensor(good, dtype=_core.int32, device=device)
            self._skipped = _core.tensor(skipped, dtype=_core.int32, device=device)
        return self._scale

    def scale(self, outputs: Any) -> Any:
        """Losses times the scale.

        Args:
            outputs: a tensor, or lists, tuples and dicts of them.

        Returns:
            The same, multiplied; call backward() on it.
        """
        if not self._enabled:
            return outputs
        if isinstance(outputs, Tensor):
            return outputs * self._begin(outputs.device).to(outputs.device)
        if isinstance(outputs, dict):
            return {k: self.scale(v) for k, v in outputs.items()}
        if isinstance(outputs, (list, tuple)):
            return type(outputs)(self.scale(v) for v in outputs)
        raise TypeError(f"scale: a {type(outputs).__name__} cannot be scaled; pass tensors")

    def unscale_(self, optimizer: Optimizer) -> None:
        """Divides the gradients of an optimiser by the scale, in place; call it to clip them before step().

        Args:
            optimizer: the one whose gradients are divided.

        Raises:
            Error: it was called since the last update(), or scale() never was.
            ValueError: a gradient is float16; keep parameters in float32.
        """
        if not self._enabled:
            return
        if self._scale is None:
            raise _core.Error("unscale_: there is no scale yet; call scale(loss).backward() first")
        state = self._states.setdefault(optimizer, _OfOptimizer())
        if state.found is not None:
            when = "after step()" if state.stepped else "twice"
            raise _core.Error(f"unscale_: called {when} since the last update(); call it once, before step()")
        gradients = _gradients(optimizer)
        with no_grad(), Whole(gradients):
            found = None
            factor = 1 / self._scale
            for g in gradients:
                if g.dtype == _core.float16:
                    raise ValueError("unscale_: a gradient is float16; keep parameters in float32, under autocast")
                bad = g.isfinite().logical_not().any()
                found = bad if found is None else found.logical_or(bad.to(found.device))
                g.mul_(factor.to(g.device))
            state.found = _core.zeros_like(self._scale) if found is None else found.float()

    def step(self, optimizer: Optimizer, *args: Any, **kwargs: Any) -> Any:
        """optimizer.step(), which changes nothing where a gradient is infinite or NaN.

        Args:
            optimizer: the one whose gradients are scaled.
            args: of its step().
            kwargs: of its step().

        Returns:
            What its step() returned.

        Raises:
            Error: called twice since the last update(), or with a closure.
        """
        if not self._enabled:
            return optimizer.step(*args, **kwargs)
        if args or "closure" in kwargs:
            raise _core.Error("GradScaler: a step with a closure cannot be undone; call backward() before")
        state = self._states.setdefault(optimizer, _OfOptimizer())
        if state.stepped:
            raise _core.Error("GradScaler: step() was called twice since the last update(); call update() after each")
        unscaled, count = state.found is not None, getattr(optimizer, "_step_count", None)
        try:
            if not unscaled:
                self.unscale_(optimizer)
            state.stepped = True
            if not hasattr(optimizer, "found_inf"):
                return None if state.found is not None and state.found.item() else optimizer.step(**kwargs)
            return self._stepped(optimizer, state.found, kwargs)
        except BaseException:
            state.stepped = getattr(optimizer, "_step_count", None) != count
            if not (state.stepped or unscaled or state.found is None):
                self._rescale(optimizer, state)
            raise

    def _rescale(self, optimizer: Optimizer, state: _OfOptimizer) -> None:
        """Undoes unscale_()."""
        gradients = _gradients(optimizer)
        with no_grad(), Whole(gradients):
            for g in gradients:
                g.mul_(self._scale.to(g.device))  # type: ignore[union-attr]
            state.found = None

    @staticmethod
    def _stepped(optimizer: Any, found: Tensor | None, options: dict[str, Any]) -> Any:
        optimizer.found_inf = found
        try:
            return optimizer.step(**options)
        finally:
            optimizer.found_inf = None

    def update(self, new_scale: float | Tensor | None = None) -> None:
        """The scale of the next step; call it once after all steps.

        Args:
            new_scale: replaces the scale that would follow from the steps.

        Raises:
            Error: no optimiser has stepped.
        """
        if not self._enabled:
            return
        flags = [s.found for s in self._states.values() if s.found is not None]
        if self._scale is None or self._growth_tracker is None or self._skipped is None:
            raise _core.Error("update: there is no scale yet; call scale(loss).backward() and step() first")
        scale = self._scale
        states: weakref.WeakKeyDictionary[Optimizer, _OfOptimizer] = weakref.WeakKeyDictionary()
        if new_scale is not None:
            value = new_scale.detach() if isinstance(new_scale, Tensor) else _core.tensor(float(new_scale))
            self._scale, self._states = value.to(scale.device, _core.float32), states
        elif not flags:
            raise _core.Error("update: no optimiser has stepped since the last one; call step() first")
        else:
            with no_grad(), Whole([scale, self._growth_tracker, self._skipped]):
                found = flags[0].to(scale.device) > 0
                for flag in flags[1:]:
                    found = found.logical_or(flag.to(scale.device) > 0)
                good = self._growth_tracker + 1
                grown = scale * self._growth_factor
                grows = (good == self._growth_interval).logical_and(grown.isfinite())
                reset = found.logical_or(good == self._growth_interval)
                # In place, for functions of sg.compile; as data, for graphs that still need the old scale.
                scale.data.copy_(_core.where(found, scale * self._backoff_factor, _core.where(grows, grown, scale)))
                self._growth_tracker.copy_(_core.where(reset, _core.zeros_like(good), good))
                self._skipped.add_(found)
                self._states = states

    @property
    def skipped(self) -> Tensor:
        """How many updates were skipped because of an infinity: [], int32, on the device."""
        return _core.tensor(self._start[2], dtype=_core.int32) if self._skipped is None else self._skipped

    def get_scale(self) -> float:
        """The scale; reads it from the device."""
        if not self._enabled:
            return 1.0
        return self._start[0] if self._scale is None else float(self._scale.item())

    def get_growth_factor(self) -> float:
        """The factor by which the scale grows."""
        return self._growth_factor

    def set_growth_factor(self, new_factor: float) -> None:
        """Sets the factor by which the scale grows."""
        self._growth_factor = new_factor

    def get_backoff_factor(self) -> float:
        """The factor by which the scale shrinks."""
        return self._backoff_factor

    def set_backoff_factor(self, new_factor: float) -> None:
        """Sets the factor by which the scale shrinks."""
        self._backoff_factor = new_factor

    def get_growth_interval(self) -> int:
        """How many good steps come before the scale grows."""
        return self._growth_interval

    def set_growth_interval(self, new_interval: int) -> None:
        """Sets after how many good steps the scale grows."""
        self._growth_interval = new_interval

    def is_enabled(self) -> bool:
        """Whether it scales."""
        return self._enabled

    def state_dict(self) -> dict[str, Any]:
        """Scale, counters and options as numbers, with PyTorch's names; {} when it is not enabled."""
        if not self._enabled:
            return {}
        good = self._start[1] if self._growth_tracker is None else int(self._growth_tracker.item())
        return {
            "scale": self.get_scale(),
            "growth_factor": self._growth_factor,
            "backoff_factor": self._backoff_factor,
            "growth_interval": self._growth_interval,
            "_growth_tracker": good,
            "skipped": int(self.skipped.item()),
        }

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Takes over what state_dict() gave, ours or PyTorch's.

        Args:
            state_dict: of an enabled scaler.

        Raises:
            ValueError: it is empty.
        """
        if not self._enabled:
            return
        if not state_dict:
            raise ValueError("load_state_dict: the state is empty, of a scaler that was not enabled; save another")
        self._growth_factor, self._backoff_factor = state_dict["growth_factor"], state_dict["backoff_factor"]
        self._growth_interval = state_dict["growth_interval"]
        self._start = (state_dict["scale"], state_dict["_growth_tracker"], state_dict.get("skipped", 0))
        if self._scale is not None:
            device, self._scale = self._scale.device, None
            self._begin(device)
