"""Adam and its variants: steps by a running mean of the gradient over the root of a running mean of its square."""

from __future__ import annotations

from typing import Any, ClassVar

from .optimizer import ARGUMENTS, DECOUPLED, Group, Params, at_least_zero, below_one
from .rule import Counts, RuleOptimizer, Scalar, bias, choose, implementation, power, root


class _Moments(RuleOptimizer):
    """The base of optimisers with betas, eps and weight decay, either as a penalty in the gradient or decoupled."""

    def __init__(
        self,
        params: Params,
        lr: float,
        betas: tuple[float, float],
        eps: float | None,
        weight_decay: float,
        **options: Any,
    ) -> None:
        at_least_zero(self._name, lr=lr, weight_decay=weight_decay, **({} if eps is None else {"eps": eps}))
        for beta in betas:
            below_one(self._name, beta=beta)
        numbers = {"lr": lr, "betas": tuple(betas), **({} if eps is None else {"eps": eps})}
        super().__init__(params, {**numbers, "weight_decay": weight_decay, **options})

    def _kept(self, group: Group) -> tuple[str | None, ...]:
        return "exp_avg", "exp_avg_sq"

    def _penalty(self, group: Group) -> float:
        return 0.0 if group.get("decoupled_weight_decay") else super()._penalty(group)

    def _shrink(self, group: Group, lr: Scalar) -> Scalar:
        return 1 - lr * group["weight_decay"] if group.get("decoupled_weight_decay") else 1.0


class Adam(_Moments):
    """Adam (Kingma and Ba, 2014): m = beta1 m + (1 - beta1) g, v = beta2 v + (1 - beta2) g^2, at step t
    p -= lr * m / (1 - beta1^t) / (sqrt(v / (1 - beta2^t)) + eps).

    Example:
        >>> w = sg.tensor([1.0], requires_grad=True)
        >>> opt = sg.optim.Adam([w], lr=0.1)
        >>> (w * w).sum().backward()
        >>> opt.step()
        >>> round(w.item(), 3)
        0.9
    """

    _rule = "adam"

    def __init__(
        self,
        params: Params,
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.0,
        amsgrad: bool = False,
        *,
        maximize: bool = False,
        decoupled_weight_decay: bool = False,
        **options: Any,
    ) -> None:
        options = implementation(self._name, options, "foreach capturable differentiable fused")
        super().__init__(
            params,
            lr,
            betas,
            eps,
            weight_decay,
            amsgrad=amsgrad,
            maximize=maximize,
            **options,
            decoupled_weight_decay=decoupled_weight_decay,
        )

    def _kept(self, group: Group) -> tuple[str | None, ...]:
        return "exp_avg", "exp_avg_sq", "max_exp_avg_sq" if group["amsgrad"] else None

    def _numbers(self, group: Group, lr: Scalar, counts: Counts) -> tuple[Scalar, ...]:
        (beta1, beta2), step = group["betas"], counts["step"]
        scale = root(bias(beta2, step))
        return lr * scale / bias(beta1, step), beta1, beta2, group["eps"] * scale, self._shrink(group, lr)


class AdamW(Adam):
    """Adam with decoupled weight decay (Loshchilov and Hutter, 2017): p -= lr * weight_decay * p comes first.

    Example:
        >>> w = sg.tensor([1.0], requires_grad=True)
        >>> opt = sg.optim.AdamW([w], lr=0.1, weight_decay=0.5)
        >>> (w * w).sum().backward()
        >>> opt.step()
        >>> round(w.item(), 3)
        0.85
    """

    _sources = (DECOUPLED, ARGUMENTS)

    def __init__(
        self,
        params: Params,
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 1e-2,
        amsgrad: bool = False,
        *,
        maximize: bool = False,
        **options: Any,
    ) -> None:
        super().__init__(
            params, lr, betas, eps, weight_decay, amsgrad, maximize=maximize, decoupled_weight_decay=True, **options
        )


class Adamax(_Moments):
    """Adam with the largest recent gradient in place of the root (Kingma and Ba, 2014, section 7): u = max(beta2 u,
    abs(g) + eps), p -= lr / (1 - beta1^t) * m / u.

    Args:
        betas: the decays of the running mean and of the largest gradient.
        eps: added to abs(g).

    Example:
        >>> w = sg.tensor([1.0], requires_grad=True)
        >>> opt = sg.optim.Adamax([w], lr=0.1)
        >>> (w * w).sum().backward()
        >>> opt.step()
        >>> round(w.item(), 3)
        0.9
    """

    _rule = "adamax"

    def __init__(
        self,
        params: Params,
        lr: float = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.0,
        *,
        maximize: bool = False,
        **options: Any,
    ) -> None:
        options = implementation("Adamax", options, "foreach differentiable capturable")
        super().__init__(params, lr, betas, eps, weight_decay, maximize=maximize, **options)

    def _kept(self, group: Group) -> tuple[str | None, ...]:
        return "exp_avg", "exp_inf"

    def _numbers(self, group: Group, lr: Scalar, counts: Counts) -> tuple[Scalar, ...]:
        beta1, beta2 = group["betas"]
        return lr / bias(beta1, counts["step"]), beta1, beta2, group["eps"]


class NAdam(_Moments):
    """Adam with Nesterov momentum (Dozat, 2016), whose share mu_t = beta1 (1 - 0.96^(t momentum_decay) / 2) grows with
    the steps.

    Args:
        momentum_decay: how fast mu grows.

    Example:
        >>> w = sg.tensor([1.0], requires_grad=True)
        >>> opt = sg.optim.NAdam([w], lr=0.1)
        >>> (w * w).sum().backward()
        >>> opt.step()
        >>> w.item() < 1
        True
    """

    _rule = "nadam"
    _start: ClassVar[Counts] = {"step": 0.0, "mu_product": 1.0}

    def __init__(
        self,
        params: Params,
        lr: float = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.0,
        momentum_decay: float = 4e-3,
        decoupled_weight_decay: bool = False,
        *,
        maximize: bool = False,
        **options: Any,
    ) -> None:
        options = implementation("NAdam", options, "foreach capturable differentiable")
        at_least_zero("NAdam", momentum_decay=momentum_decay)
        super().__init__(
            params,
            lr,
            betas,
            eps,
            weight_decay,
            momentum_decay=momentum_decay,
            decoupled_weight_decay=decoupled_weight_decay,
            maximize=maximize,
            **options,
        )

    @staticmethod
    def _mu(group: Group, step: Scalar) -> Scalar:
        return group["betas"][0] * (1 - 0.5 * power(0.96, step * group["momentum_decay"]))

    def _advanced(self, group: Group, counts: Counts) -> Counts:
        step = counts["step"] + 1
        return {"step": step, "mu_product": counts["mu_product"] * self._mu(group, step)}

    def _numbers(self, group: Group, lr: Scalar, counts: Counts) -> tuple[Scalar, ...]:
        (beta1, beta2), step, product = group["betas"], counts["step"], counts["mu_product"]
        mu, mu_next = self._mu(group, step), self._mu(group, step + 1)
        return (
            lr * (1 - mu) / (1 - product),
            lr * mu_next / (1 - product * mu_next),
            root(bias(beta2, step)),
            beta1,
            beta2,
            group["eps"],
            self._shrink(group, lr),
        )


class RAdam(_Moments):
    """Adam without the root until enough steps determine its variance (Liu et al., 2019).

    Example:
        >>> w = sg.tensor([1.0], requires_grad=True)
        >>> opt = sg.optim.RAdam([w], lr=0.1)
        >>> (w * w).sum().backward()
        >>> opt.step()
        >>> round(w.item(), 3)
        0.8
    """

    _rule = "radam"

    def __init__(
        self,
        params: Params,
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.0,
        decoupled_weight_decay: bool = False,
        *,
        maximize: bool = False,
        **options: Any,
    ) -> None:
        options = implementation("RAdam", options, "foreach capturable differentiable")
        super().__init__(
            params,
            lr,
            betas,
            eps,
            weight_decay,
            decoupled_weight_decay=decoupled_weight_decay,
            maximize=maximize,
            **options,
        )

    def _numbers(self, group: Group, lr: Scalar, counts: Counts) -> tuple[Scalar, ...]:
        (beta1, beta2), step = group["betas"], counts["step"]
        most, rate = 2 / (1 - beta2) - 1, lr / bias(beta1, step)
        plain, adaptive = rate, 0.0
        if most > 5:
            seen = bias(beta2, step)
            length = most - 2 * step * power(beta2, step) / seen  # of the average that the running mean square is
            known = choose(length > 5, 1.0, 0.0)
            share = (length - 4) * (length - 2) * most / ((most - 4) * (most - 2) * length)
            plain, adaptive = rate * (1 - known), rate * root(share * known * seen)
        return plain, adaptive, beta1, beta2, group["eps"], self._shrink(group, lr)


class Lion(_Moments):
    """Steps of equal size in each dimension (Chen et al., 2023): p -= lr * (sign(beta1 m + (1 - beta1) g)
    + weight_decay * p), then m = beta2 m + (1 - beta2) g.

    Args:
        lr: the learning rate, a number or a 0-d tensor; about a tenth of that of Adam.
        betas: the shares of m in the step and in the next m.

    Example:
        >>> w = sg.tensor([1.0], requires_grad=True)
        >>> opt = sg.optim.Lion([w], lr=0.25)
        >>> (w * w).sum().backward()
        >>> opt.step()
        >>> w.tolist()
        [0.75]
    """

    _sources = (DECOUPLED, ARGUMENTS)
    _rule = "lion"
    _start: ClassVar[Counts] = {}

    def __init__(
        self,
        params: Params,
        lr: float = 1e-4,
        betas: tuple[float, float] = (0.9, 0.99),
        weight_decay: float = 0.0,
        *,
        maximize: bool = False,
    ) -> None:
        super().__init__(params, lr, betas, None, weight_decay, maximize=maximize, decoupled_weight_decay=True)

    def _kept(self, group: Group) -> tuple[str | None, ...]:
        return ("exp_avg",)

    def _numbers(self, group: Group, lr: Scalar, counts: Counts) -> tuple[Scalar, ...]:
        return lr, *group["betas"], self._shrink(group, lr)


class LAMB(_Moments):
    """Adam with a separate rate for each tensor, for large batches (You et al., 2019).

    With r the step of Adam without lr, plus weight_decay * p: p -= lr * norm(p) / norm(r) * r, with the norms of whole
    tensors; the ratio is 1 if one of them is 0.

    Args:
        weight_decay: the factor of p that is added to the step r.

    Example:
        >>> w = sg.tensor([3.0, 4.0], requires_grad=True)
        >>> opt = sg.optim.LAMB([w], lr=0.1)
        >>> w.sum().backward()
        >>> opt.step()
        >>> round((sg.tensor([3.0, 4.0]) - w).norm().item(), 4)
        0.5
    """

    _rule = "lamb"
    _has_penalty = False

    def __init__(
        self,
        params: Params,
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-6,
        weight_decay: float = 0.0,
        *,
        maximize: bool = False,
    ) -> None:
        super().__init__(params, lr, betas, eps, weight_decay, maximize=maximize)

    def _numbers(self, group: Group, lr: Scalar, counts: Counts) -> tuple[Scalar, ...]:
        (beta1, beta2), step = group["betas"], counts["step"]
        decay = group["weight_decay"]
        return lr, 1 / bias(beta1, step), root(bias(beta2, step)), beta1, beta2, group["eps"], decay
