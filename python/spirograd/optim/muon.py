"""Muon: steps by orthogonal matrices."""

from __future__ import annotations

from typing import Any, ClassVar

from .optimizer import ARGUMENTS, DECOUPLED, Group, Params, at_least_zero, below_one
from .rule import Counts, RuleOptimizer, Scalar


class Muon(RuleOptimizer):
    """Muon (Jordan et al., 2024): momentum, made a nearly orthogonal matrix by the Newton-Schulz iteration.

    m = momentum m + (1 - momentum) g; the step is orthogonal((1 - momentum) g + momentum m), or orthogonal(m) without
    nesterov, times lr and a factor of the shape; and p -= lr * weight_decay * p. The iteration x = a x + (b x x^T
    + c (x x^T)^2) x starts at m / norm(m) and runs in the type of the parameter (PyTorch: bfloat16).

    Args:
        params: matrices, or groups of them; use another optimiser for other tensors.
        momentum: the share of m that is kept.
        nesterov: whether to look ahead along m.
        ns_coefficients: a, b and c.
        eps: the lower bound of norm(m).
        ns_steps: number of iterations.
        adjust_lr_fn: the factor of a shape [rows, columns]: "original" or None, sqrt(max(1, rows / columns)), or
            "match_rms_adamw", 0.2 sqrt(max(rows, columns)).

    Raises:
        ValueError: a parameter is not a matrix, a number is out of range, or adjust_lr_fn is unknown.

    Example:
        >>> w = sg.eye(2).requires_grad_()
        >>> opt = sg.optim.Muon([w], lr=0.1, weight_decay=0.0)
        >>> (w * w).sum().backward()
        >>> opt.step()
        >>> 0.8 < w[0, 0].item() < 1.0
        True
    """

    _sources = (DECOUPLED, ARGUMENTS)

    def __init__(
        self,
        params: Params,
        lr: float = 1e-3,
        weight_decay: float = 0.1,
        momentum: float = 0.95,
        nesterov: bool = True,
        ns_coefficients: tuple[float, float, float] = (3.4445, -4.775, 2.0315),
        eps: float = 1e-7,
        ns_steps: int = 5,
        adjust_lr_fn: str | None = None,
    ) -> None:
        at_least_zero("Muon", lr=lr, weight_decay=weight_decay, eps=eps, ns_steps=ns_steps)
        below_one("Muon", momentum=momentum)
        if adjust_lr_fn not in (None, "original", "match_rms_adamw"):
            raise ValueError(f"Muon: adjust_lr_fn '{adjust_lr_fn}' is unknown; use original or match_rms_adamw")
        defaults: dict[str, Any] = {
            "lr": lr,
            "weight_decay": weight_decay,
            "momentum": momentum,
            "nesterov": nesterov,
            "ns_coefficients": ns_coefficients,
            "eps": eps,
            "ns_steps": ns_steps,
            "adjust_lr_fn": adjust_lr_fn,
        }
        super().__init__(params, defaults)

    _start: ClassVar[Counts] = {}
    _has_penalty = False

    def add_param_group(self, param_group: Group) -> None:
        super().add_param_group(param_group)
        for p in self.param_groups[-1]["params"]:
            if p.ndim != 2:
                raise ValueError(f"Muon: a parameter has shape {list(p.shape)}; pass matrices, the others to AdamW")

    def _rule_of(self, group: Group) -> str:
        return "muon_nesterov" if group["nesterov"] else "muon"

    def _kept(self, group: Group) -> tuple[str | None, ...]:
        return ("momentum_buffer",)

    def _numbers(self, group: Group, lr: Scalar, counts: Counts) -> tuple[Scalar, ...]:
        shrink, like_adam = 1 - lr * group["weight_decay"], group["adjust_lr_fn"] == "match_rms_adamw"
        return lr, group["momentum"], shrink, group["eps"], group["ns_steps"], like_adam, *group["ns_coefficients"]
