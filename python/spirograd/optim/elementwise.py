"""Optimisers whose step is written with tensors: ASGD, Rprop and Adafactor. All of a step is one submission."""

from __future__ import annotations

import math
from typing import Any

from .. import _core
from .._core import Tensor, ones_like, sign, where, zeros_like
from ..base.grad_mode import no_grad
from .optimizer import Group, Optimizer, Params, at_least_zero
from .rule import unused


class _Elementwise(Optimizer):
    """One parameter after the other: write _step(). A step that fails leaves the states as they were."""

    _before: dict[Tensor, dict[str, Any]]

    def _update(self) -> None:
        self._before = {p: dict(state) for p, state in self._state.items()}
        with no_grad():
            for group in self.param_groups:
                for p in group["params"]:
                    if p.grad is not None:
                        state = self._state[p]
                        state["step"] = state.get("step", 0) + 1
                        self._step(group, p, -p.grad if group["maximize"] else p.grad, state)

    def _undo(self) -> None:
        self._state.clear()
        self._state.update(self._before)

    def _step(self, group: Group, p: Tensor, g: Tensor, state: dict[str, Any]) -> None:
        raise NotImplementedError


class ASGD(_Elementwise):
    """Averaged gradient descent (Polyak and Juditsky, 1992): p falls along g with a falling rate, and the state `ax` is
    the mean of p from step t0 on.

    Args:
        params: tensors, usually model.parameters(), or groups.
        lr: the learning rate.
        lambd: decay of p, in units of the rate.
        alpha: how fast the rate falls: lr / (1 + lambd lr t)**alpha.
        t0: where the mean begins.
        weight_decay: L2 penalty.
        maximize: go up, not down.
        options: PyTorch's `foreach` and `capturable`, which are not needed here.

    Raises:
        ValueError: a number is negative.

    Example:
        >>> w = sg.tensor([1.0], requires_grad=True)
        >>> opt = sg.optim.ASGD([w], lr=0.1)
        >>> (w * w).sum().backward()
        >>> opt.step()
        >>> round(w.item(), 3)
        0.8
    """

    def __init__(
        self,
        params: Params,
        lr: float = 1e-2,
        lambd: float = 1e-4,
        alpha: float = 0.75,
        t0: float = 1e6,
        weight_decay: float = 0.0,
        *,
        maximize: bool = False,
        **options: Any,
    ) -> None:
        unused("ASGD", options)
        numbers = {"lr": lr, "lambd": lambd, "alpha": alpha, "t0": t0, "weight_decay": weight_decay}
        at_least_zero("ASGD", **numbers)
        super().__init__(params, {**numbers, "maximize": maximize})

    def _step(self, group: Group, p: Tensor, g: Tensor, state: dict[str, Any]) -> None:
        lr, lambd, t = group["lr"], group["lambd"], state["step"]
        eta, mu = state.get("eta", lr), state.get("mu", 1.0)
        if group["weight_decay"]:
            g = g + group["weight_decay"] * p
        p.mul_(1 - lambd * eta).sub_(eta * g)
        mean = state.get("ax")
        state["ax"] = p.detach().clone() if mu == 1 or mean is None else mean + (p.detach() - mean) * mu
        state["eta"] = lr / (1 + lambd * lr * t) ** group["alpha"]
        state["mu"] = 1 / max(1.0, t - group["t0"])


class Rprop(_Elementwise):
    """Resilient backpropagation (Riedmiller and Braun, 1993), without undoing steps.

    Each element has a step size of its own, which grows while the sign of its gradient stays, and shrinks when it
    changes.

    Args:
        params: tensors, usually model.parameters(), or groups.
        lr: the first step size.
        etas: what it is multiplied by, below 1 and above 1.
        step_sizes: its least and its largest value.
        maximize: go up, not down.
        options: PyTorch's `foreach` and `capturable`, which are not needed here.

    Raises:
        ValueError: lr is negative, or etas are not below 1 and above 1.

    Example:
        >>> w = sg.tensor([1.0], requires_grad=True)
        >>> opt = sg.optim.Rprop([w], lr=0.1)
        >>> (w * w).sum().backward()
        >>> opt.step()
        >>> round(w.item(), 3)
        0.9
    """

    def __init__(
        self,
        params: Params,
        lr: float = 1e-2,
        etas: tuple[float, float] = (0.5, 1.2),
        step_sizes: tuple[float, float] = (1e-6, 50),
        *,
        maximize: bool = False,
        **options: Any,
    ) -> None:
        unused("Rprop", options)
        at_least_zero("Rprop", lr=lr)
        if not 0 < etas[0] < 1 < etas[1]:
            raise ValueError(f"Rprop: etas are {etas}; use one between 0 and 1 and one above 1")
        super().__init__(params, {"lr": lr, "etas": etas, "step_sizes": step_sizes, "maximize": maximize})

    def _step(self, group: Group, p: Tensor, g: Tensor, state: dict[str, Any]) -> None:
        (shrink, grow), (least, largest) = group["etas"], group["step_sizes"]
        size = state.get("step_size")
        size = ones_like(p) * group["lr"] if size is None else size
        change = g * state["prev"] if "prev" in state else zeros_like(p)
        factor = where(change > 0, grow, where(change < 0, shrink, ones_like(p)))  # numbers alone are float32
        state["step_size"] = (size * factor).clamp(least, largest)
        state["prev"] = where(change < 0, 0.0, g)
        p.sub_(sign(state["prev"]) * state["step_size"])


class Adafactor(_Elementwise):
    """Adafactor (Shazeer and Stern, 2018): the running squares of a matrix are kept as those of its rows and columns.

    Args:
        params: tensors, usually model.parameters(), or groups.
        lr: the largest rate; the rate of step t is min(lr, 1 / sqrt(t)) times the size of the parameter.
        beta2_decay: the running squares keep 1 - t**beta2_decay.
        eps: added to squared gradients (None: the type's least difference), and the least size of a parameter.
        d: the update is divided by the ratio of its root mean square to d, where that is above 1.
        weight_decay: what is taken from p, in units of lr * p.
        maximize: go up, not down.
        options: PyTorch's `foreach`, which is not needed here.

    Raises:
        ValueError: a number is out of range.

    Example:
        >>> w = sg.ones(2, 2, requires_grad=True)
        >>> opt = sg.optim.Adafactor([w], lr=0.1)
        >>> (w * w).sum().backward()
        >>> opt.step()
        >>> round(w[0, 0].item(), 2)
        0.9
    """

    def __init__(
        self,
        params: Params,
        lr: float = 1e-2,
        beta2_decay: float = -0.8,
        eps: tuple[float | None, float] = (None, 1e-3),
        d: float = 1.0,
        weight_decay: float = 0.0,
        *,
        maximize: bool = False,
        **options: Any,
    ) -> None:
        unused("Adafactor", options)
        at_least_zero("Adafactor", lr=lr, weight_decay=weight_decay)
        if beta2_decay > 0 or d < 1:
            raise ValueError(f"Adafactor: beta2_decay is {beta2_decay}, d is {d}; use at most 0, and at least 1")
        defaults = {"lr": lr, "beta2_decay": beta2_decay, "eps": eps, "d": d, "weight_decay": weight_decay}
        super().__init__(params, {**defaults, "maximize": maximize})

    def _step(self, group: Group, p: Tensor, g: Tensor, state: dict[str, Any]) -> None:
        lr, t = group["lr"], state["step"]
        eps1, eps2 = group["eps"]
        if eps1 is None:
            eps1 = 2.0**-52 if p.dtype == _core.float64 else 2.0**-23
        new = t ** group["beta2_decay"]
        rate = min(lr, 1 / math.sqrt(t))
        alpha = (_root_mean_square(p)).clamp(min=eps2) * rate
        if group["weight_decay"]:
            p.mul_(1 - lr * group["weight_decay"])
        if g.ndim > 1:
            rows = _followed(state, "row_var", (g * g).mean(-1, keepdim=True), new)
            columns = _followed(state, "col_var", (g * g).mean(-2, keepdim=True), new)
            squares = rows @ columns / rows.mean(-2, keepdim=True).clamp(min=eps1)
        else:
            squares = _followed(state, "variance", g * g, new)
        update = g * squares.clamp(min=eps1 * eps1).rsqrt()
        p.sub_(alpha * update / (_root_mean_square(update) / group["d"]).clamp(min=1.0))


def _root_mean_square(x: Tensor) -> Tensor:
    return (x * x).mean().sqrt()


def _followed(state: dict[str, Any], name: str, value: Tensor, new: float) -> Tensor:
    before = state.get(name)
    state[name] = value * new if before is None else before + (value - before) * new
    return state[name]  # type: ignore[no-any-return]
