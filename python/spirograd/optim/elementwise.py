"""Optimisers with rates as state: ASGD for each group, Rprop for each element, Adafactor for rows and columns."""

from __future__ import annotations

from typing import Any, ClassVar

from .. import _core
from .._core import Tensor
from .optimizer import ARGUMENTS, DECOUPLED, Group, Params, at_least_zero
from .rule import Counts, RuleOptimizer, Scalar, choose, implementation, root


class ASGD(RuleOptimizer):
    """Averaged gradient descent (Polyak and Juditsky, 1992): p follows the gradient with a falling rate, and the state
    `ax` is the mean of p from step t0 on.

    Args:
        lambd: the decay of p, relative to the rate.
        alpha: how fast the rate falls: lr / (1 + lambd lr t)**alpha.
        t0: the first step of the mean.

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
        options = implementation("ASGD", options, "foreach differentiable capturable")
        numbers = {"lr": lr, "lambd": lambd, "alpha": alpha, "t0": t0, "weight_decay": weight_decay}
        at_least_zero("ASGD", **numbers)
        super().__init__(params, {**numbers, "maximize": maximize, **options})

    _rule = "asgd"
    # A step uses the rate and the share of the mean that the previous step computed, with its lr.
    _start: ClassVar[Counts] = {"step": 0.0, "eta": 0.0, "mu": 1.0, "_eta": 0.0, "_mu": 1.0}

    def _kept(self, group: Group) -> tuple[str | None, ...]:
        return ("ax",)

    def _advanced(self, group: Group, counts: Counts) -> Counts:
        lr, step = group["lr"], counts["step"] + 1
        after = step - group["t0"]
        return {
            "step": step,
            "eta": lr / (1 + group["lambd"] * lr * step) ** group["alpha"],
            "mu": choose(after > 1, 1 / (after + (after == 0)), 1.0),
            "_eta": choose(counts["step"] > 0, counts["eta"], lr),
            "_mu": counts["mu"],
        }

    def _numbers(self, group: Group, lr: Scalar, counts: Counts) -> tuple[Scalar, ...]:
        return counts["_eta"], 1 - group["lambd"] * counts["_eta"], counts["_mu"]


class Rprop(RuleOptimizer):
    """Resilient backpropagation (Riedmiller and Braun, 1993), without undoing steps.

    Each element has its own step size, which grows while the sign of the gradient stays the same, and shrinks when it
    changes.

    Args:
        lr: the initial step size.
        etas: the factors that shrink and grow the step size, below 1 and above 1.
        step_sizes: the least and the largest step size.

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
        options = implementation("Rprop", options, "foreach differentiable capturable")
        at_least_zero("Rprop", lr=lr)
        if not 0 < etas[0] < 1 < etas[1]:
            raise ValueError(f"Rprop: etas are {etas}; use one between 0 and 1 and one above 1")
        super().__init__(params, {"lr": lr, "etas": etas, "step_sizes": step_sizes, "maximize": maximize, **options})

    _rule = "rprop"
    _has_penalty = False

    def _kept(self, group: Group) -> tuple[str | None, ...]:
        return "prev", "step_size"

    def _fresh(self, group: Group, p: Tensor, name: str) -> Tensor | None:
        return _core.full_like(p.detach(), group["lr"]) if name == "step_size" else super()._fresh(group, p, name)

    def _numbers(self, group: Group, lr: Scalar, counts: Counts) -> tuple[Scalar, ...]:
        return *group["etas"], *group["step_sizes"]


class Adafactor(RuleOptimizer):
    """Adafactor (Shazeer and Stern, 2018): the running mean squares of a matrix are stored for its rows and columns.

    Args:
        lr: the largest rate. That of step t is min(lr, 1 / sqrt(t)) times the root mean square of the parameter.
        beta2_decay: the decay of the running mean squares at step t is 1 - t**beta2_decay.
        eps: added to the squared gradients, by default the machine epsilon of the type, and the least root mean
            square of a parameter.
        d: the update is divided by the ratio of its root mean square to d, if that is above 1.

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

    _sources = (DECOUPLED, ARGUMENTS)

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
        options = implementation("Adafactor", options, "foreach")
        at_least_zero("Adafactor", lr=lr, weight_decay=weight_decay)
        if beta2_decay > 0 or d < 1:
            raise ValueError(f"Adafactor: beta2_decay is {beta2_decay}, d is {d}; use at most 0, and at least 1")
        defaults = {"lr": lr, "beta2_decay": beta2_decay, "eps": eps, "d": d, "weight_decay": weight_decay}
        super().__init__(params, {**defaults, "maximize": maximize, **options})

    _rule = "adafactor"
    _has_penalty = False

    def _kept(self, group: Group) -> tuple[str | None, ...]:
        return "row_var", "col_var", "variance"

    def _fresh(self, group: Group, p: Tensor, name: str) -> Tensor | None:
        if (name == "variance") == (p.ndim > 1):
            return None
        sizes = list(p.shape)
        if name != "variance":
            sizes[-1 if name == "row_var" else -2] = 1
        return _core.zeros(sizes, dtype=p.dtype, device=p.device)

    def _numbers(self, group: Group, lr: Scalar, counts: Counts) -> tuple[Scalar, ...]:
        step, (eps, least) = counts["step"], group["eps"]
        most = 1 / root(step)
        rate = choose(most < lr, most, lr)
        shrink, tiny = 1 - lr * group["weight_decay"], -1.0 if eps is None else eps
        return rate, step ** group["beta2_decay"], least, group["d"], shrink, tiny, tiny * tiny
