"""Losses, metrics and optimisers by their names in fit."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any, TypeAlias

from .. import metrics, optim
from .._core import Tensor
from ..metrics import Mean, Metric
from ..nn import Module
from ..nn import functional as F

LossFunction: TypeAlias = Callable[[Any, Tensor], Tensor]
Loss: TypeAlias = str | LossFunction
Metrics: TypeAlias = Sequence[str | Metric | Callable[[Any, Tensor], Tensor]]


@wraps(F.cross_entropy)
def _cross_entropy(output: Any, *args: Any, **options: Any) -> Tensor:
    if output.ndim > 1 and output.shape[1] == 1:
        what = "the net has one output for each example, and the cross-entropy of one class is always 0"
        raise ValueError(f"fit: {what}; use loss='mse', or loss='bce_with_logits' for two classes")
    return F.cross_entropy(output, *args, **options)


_LOSSES: dict[str, Callable[..., Tensor]] = {
    "bce": F.binary_cross_entropy,
    "bce_with_logits": F.binary_cross_entropy_with_logits,
    "binary_cross_entropy": F.binary_cross_entropy,
    "binary_cross_entropy_with_logits": F.binary_cross_entropy_with_logits,
    "cross_entropy": _cross_entropy,
    "focal": F.focal_loss,
    "hinge": F.hinge_loss,
    "huber": F.huber_loss,
    "kl_div": F.kl_div,
    "l1": F.l1_loss,
    "mae": F.l1_loss,
    "mse": F.mse_loss,
    "multi_margin": F.multi_margin_loss,
    "multilabel_margin": F.multilabel_margin_loss,
    "nll": F.nll_loss,
    "poisson_nll": F.poisson_nll_loss,
    "smooth_l1": F.smooth_l1_loss,
    "soft_margin": F.soft_margin_loss,
}
_METRICS: dict[str, Callable[..., Metric]] = {
    "accuracy": metrics.Accuracy,
    "f1": metrics.F1,
    "mae": metrics.MAE,
    "mse": metrics.MSE,
    "perplexity": metrics.Perplexity,
    "precision": metrics.Precision,
    "r2": metrics.R2,
    "recall": metrics.Recall,
}
_WITH_THRESHOLD = ("accuracy", "f1", "precision", "recall")


def loss_named(op: str, loss: str | LossFunction) -> LossFunction:
    """The loss of this name, or the given function."""
    if not isinstance(loss, str):
        return loss
    if (found := _LOSSES.get(loss.removesuffix("_loss"))) is None:
        raise ValueError(f"{op}: loss '{loss}' is unknown; use {', '.join(sorted(_LOSSES))}, or a function")
    return found


def metric_named(op: str, metric: Any, threshold: float) -> Metric:
    """The metric of this name, the given metric, or the mean of a given function."""
    if isinstance(metric, Metric):
        return metric
    if not isinstance(metric, str):
        return Mean(metric)
    if top := re.fullmatch(r"top(\d+)", metric):
        return metrics.TopK(int(top[1]))
    if metric not in _METRICS:
        raise ValueError(f"{op}: metric '{metric}' is unknown; use {', '.join(_METRICS)}, top5, or a function")
    return _METRICS[metric](**({"threshold": threshold} if metric in _WITH_THRESHOLD else {}))


def optimizer_named(name: str, model: Module, lr: float | None) -> Any:
    """An optimiser of this name for all parameters of a model."""
    known = {key.lower(): value for key, value in vars(optim).items() if _is_optimizer(value)}
    if name.lower() not in known:
        raise ValueError(f"fit: optimizer '{name}' is unknown; use {', '.join(sorted(known))}, or an optimiser")
    return known[name.lower()](model.parameters(), **({} if lr is None else {"lr": lr}))


def _is_optimizer(value: Any) -> bool:
    if not isinstance(value, type) or not issubclass(value, optim.Optimizer):
        return False
    return value.__name__ not in ("Lookahead", "Optimizer", "RuleOptimizer")  # these are not made of parameters alone
