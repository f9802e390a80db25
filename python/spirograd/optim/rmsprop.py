"""Steps over the root of the squares of gradients: RMSprop, Adagrad and Adadelta."""

from __future__ import annotations

from typing import Any

from .. import _core
from .._core import Tensor
from .optimizer import Group, Params, at_least_zero, below_one
from .rule import Counts, RuleOptimizer, Scalar, implementation


class RMSprop(RuleOptimizer):
    """RMSprop (Tieleman and Hinton, 2012): v = alpha v + (1 - alpha) g^2, p -= lr * g / (sqrt(v) + eps).

    Args:
        alpha: the decay of the running mean square.
        centered: whether to divide by the root of the variance: v minus the square of a running mean (Graves, 2013).

    Raises:
        ValueError: a number is negative.

    Example:
        >>> w = sg.tensor([1.0], requires_grad=True)
        >>> opt = sg.optim.RMSprop([w], lr=0.01)
        >>> (w * w).sum().backward()
        >>> opt.step()
        >>> round(w.item(), 3)
        0.9
    """

    _rule = "rmsprop"

    def __init__(
        self,
        params: Params,
        lr: float = 1e-2,
        alpha: float = 0.99,
        eps: float = 1e-8,
        weight_decay: float = 0.0,
        momentum: float = 0.0,
        centered: bool = False,
        *,
        maximize: bool = False,
        **options: Any,
    ) -> None:
        options = implementation("RMSprop", options, "capturable foreach differentiable")
        numbers = {"lr": lr, "momentum": momentum, "alpha": alpha, "eps": eps, "weight_decay": weight_decay}
        at_least_zero("RMSprop", **numbers)
        super().__init__(params, {**numbers, "centered": centered, "maximize": maximize, **options})

    def _kept(self, group: Group) -> tuple[str | None, ...]:
        return (
            "square_avg",
            "momentum_buffer" if group["momentum"] else None,
            "grad_avg" if group["centered"] else None,
        )

    def _numbers(self, group: Group, lr: Scalar, counts: Counts) -> tuple[Scalar, ...]:
        return lr, group["alpha"], group["eps"], group["momentum"]


class Adagrad(RuleOptimizer):
    """Adagrad (Duchi, Hazan and Singer, 2011): v += g^2, at step t p -= lr / (1 + (t - 1) lr_decay) * g
    / (sqrt(v) + eps).

    Args:
        lr_decay: how fast the rate falls.
        initial_accumulator_value: the initial v.

    Raises:
        ValueError: a number is negative.

    Example:
        >>> w = sg.tensor([1.0], requires_grad=True)
        >>> opt = sg.optim.Adagrad([w], lr=0.1)
        >>> (w * w).sum().backward()
        >>> opt.step()
        >>> round(w.item(), 3)
        0.9
    """

    _rule = "adagrad"

    def __init__(
        self,
        params: Params,
        lr: float = 1e-2,
        lr_decay: float = 0.0,
        weight_decay: float = 0.0,
        initial_accumulator_value: float = 0.0,
        eps: float = 1e-10,
        *,
        maximize: bool = False,
        **options: Any,
    ) -> None:
        options = implementation("Adagrad", options, "foreach differentiable fused")
        numbers = {
            "lr": lr,
            "lr_decay": lr_decay,
            "eps": eps,
            "weight_decay": weight_decay,
            "initial_accumulator_value": initial_accumulator_value,
        }
        at_least_zero("Adagrad", **numbers)
        super().__init__(params, {**numbers, "maximize": maximize, **options})

    def _kept(self, group: Group) -> tuple[str | None, ...]:
        return ("sum",)

    def _fresh(self, group: Group, p: Tensor, name: str) -> Tensor:
        return _core.full_like(p.detach(), group["initial_accumulator_value"])

    def _numbers(self, group: Group, lr: Scalar, counts: Counts) -> tuple[Scalar, ...]:
        return lr / (1 + (counts["step"] - 1) * group["lr_decay"]), group["eps"]


class Adadelta(RuleOptimizer):
    """Adadelta (Zeiler, 2012): v = rho v + (1 - rho) g^2, step d = sqrt(u + eps) / sqrt(v + eps) * g,
    u = rho u + (1 - rho) d^2, p -= lr * d.

    Args:
        lr: the factor of the step.
        rho: the decay of the running mean squares.
        eps: added under the roots.

    Raises:
        ValueError: a number is negative, or rho is not in [0, 1).

    Example:
        >>> w = sg.tensor([1.0], requires_grad=True)
        >>> opt = sg.optim.Adadelta([w])
        >>> (w * w).sum().backward()
        >>> opt.step()
        >>> w.item() < 1
        True
    """

    _rule = "adadelta"

    def __init__(
        self,
        params: Params,
        lr: float = 1.0,
        rho: float = 0.9,
        eps: float = 1e-6,
        weight_decay: float = 0.0,
        *,
        maximize: bool = False,
        **options: Any,
    ) -> None:
        options = implementation("Adadelta", options, "capturable foreach differentiable")
        below_one("Adadelta", rho=rho)
        numbers = {"lr": lr, "rho": rho, "eps": eps, "weight_decay": weight_decay}
        at_least_zero("Adadelta", **numbers)
        super().__init__(params, {**numbers, "maximize": maximize, **options})

    def _kept(self, group: Group) -> tuple[str | None, ...]:
        return "square_avg", "acc_delta"

    def _numbers(self, group: Group, lr: Scalar, counts: Counts) -> tuple[Scalar, ...]:
        return lr, group["rho"], group["eps"]
