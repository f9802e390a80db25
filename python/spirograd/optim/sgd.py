"""Steps along the gradient: SGD and LARS."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from .._core import Tensor
from .optimizer import Group, Params, at_least_zero
from .rule import Counts, RuleOptimizer, Scalar, choose, implementation


class SGD(RuleOptimizer):
    """Stochastic gradient descent, with momentum: v = momentum * v + (1 - dampening) * g, p -= lr * v.

    The first v is g. With `nesterov`, the step is lr * (g + momentum * v).

    Args:
        dampening: the share of the gradient that v leaves out.
        nesterov: whether to look ahead along v.

    Raises:
        ValueError: a number is negative, or nesterov is set without momentum or with dampening.

    Example:
        >>> w = sg.tensor([1.0], requires_grad=True)
        >>> opt = sg.optim.SGD([w], lr=0.5)
        >>> (w * w).sum().backward()
        >>> opt.step()
        >>> w.tolist()
        [0.0]
    """

    _start: ClassVar[Counts] = {"_steps": 0.0}

    def __init__(
        self,
        params: Params,
        lr: float = 1e-3,
        momentum: float = 0.0,
        dampening: float = 0.0,
        weight_decay: float = 0.0,
        nesterov: bool = False,
        *,
        maximize: bool = False,
        **options: Any,
    ) -> None:
        options = implementation("SGD", options, "foreach differentiable fused")
        at_least_zero("SGD", lr=lr, momentum=momentum, weight_decay=weight_decay)
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ValueError(
                f"SGD: nesterov with momentum {momentum} and dampening {dampening}; give momentum and no dampening"
            )
        defaults = {
            "lr": lr,
            "momentum": momentum,
            "dampening": dampening,
            "weight_decay": weight_decay,
            "nesterov": nesterov,
            "maximize": maximize,
            **options,
        }
        super().__init__(params, defaults)

    def _rule_of(self, group: Group) -> str:
        return "nesterov" if group["nesterov"] else "sgd"

    def _kept(self, group: Group) -> tuple[str | None, ...]:
        return ("momentum_buffer" if group["momentum"] else None,)

    def _advanced(self, group: Group, counts: Counts) -> Counts:
        return {"_steps": counts["_steps"] + 1}

    def _numbers(self, group: Group, lr: Scalar, counts: Counts) -> tuple[Scalar, ...]:
        return lr, group["momentum"], choose(counts["_steps"] > 1, 1.0 - group["dampening"], 1.0)

    def _loaded(self, p: Tensor, values: Mapping[str, Any]) -> dict[str, Any]:
        return {**super()._loaded(p, values), "_steps": 1.0 if values.get("momentum_buffer") is not None else 0.0}


class LARS(RuleOptimizer):
    """SGD with momentum and a separate rate for each tensor (You, Gitman and Ginsburg, 2017).

    rate = lr * trust_coefficient * norm(p) / (norm(g) + weight_decay * norm(p) + eps) if both norms, those of whole
    tensors, are positive, else lr; v = momentum * v + rate * (g + weight_decay * p), p -= v.

    Args:
        trust_coefficient: the largest step, as a share of norm(p).

    Raises:
        ValueError: a number is negative.

    Example:
        >>> w = sg.tensor([3.0, 4.0], requires_grad=True)
        >>> opt = sg.optim.LARS([w], lr=1.0, trust_coefficient=0.5)
        >>> w.sum().backward()
        >>> opt.step()
        >>> round((sg.tensor([3.0, 4.0]) - w).norm().item(), 4)
        2.5
    """

    _rule = "lars"
    _has_penalty = False
    _start: ClassVar[Counts] = {}

    def __init__(
        self,
        params: Params,
        lr: float,
        momentum: float = 0.0,
        weight_decay: float = 0.0,
        trust_coefficient: float = 1e-3,
        eps: float = 1e-8,
        *,
        maximize: bool = False,
    ) -> None:
        numbers = {
            "lr": lr,
            "momentum": momentum,
            "weight_decay": weight_decay,
            "trust_coefficient": trust_coefficient,
            "eps": eps,
        }
        at_least_zero("LARS", **numbers)
        super().__init__(params, {**numbers, "maximize": maximize})

    def _kept(self, group: Group) -> tuple[str | None, ...]:
        return ("momentum_buffer" if group["momentum"] else None,)

    def _numbers(self, group: Group, lr: Scalar, counts: Counts) -> tuple[Scalar, ...]:
        return lr, group["momentum"], group["weight_decay"], group["trust_coefficient"], group["eps"]
