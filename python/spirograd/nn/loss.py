"""Losses as modules: `nn.functional` has each as a function of nearly the same name, which tells what it takes,
computes and raises.
"""

from __future__ import annotations

from typing import Any

from .._core import Tensor
from . import functional as F
from .module import Module

__all__ = [
    "BCELoss",
    "BCEWithLogitsLoss",
    "CTCLoss",
    "ContrastiveLoss",
    "CosineEmbeddingLoss",
    "CrossEntropyLoss",
    "FocalLoss",
    "GaussianNLLLoss",
    "HingeEmbeddingLoss",
    "HingeLoss",
    "HuberLoss",
    "KLDivLoss",
    "L1Loss",
    "MSELoss",
    "MarginRankingLoss",
    "MultiLabelMarginLoss",
    "MultiLabelSoftMarginLoss",
    "MultiMarginLoss",
    "NLLLoss",
    "PoissonNLLLoss",
    "SmoothL1Loss",
    "SoftMarginLoss",
    "TripletMarginLoss",
]


class _Loss(Module):
    """What all have: their options are attributes, those that are tensors move with the module."""

    reduction: str


class CrossEntropyLoss(_Loss):
    """The negative log-likelihood of classes, from logits [n, classes, ...].

    Example:
        >>> loss = sg.nn.CrossEntropyLoss(label_smoothing=0.1)
        >>> loss(sg.zeros(4, 2), sg.tensor([0, 1, 1, 0])).item() == sg.log(sg.tensor(2.0)).item()
        True
    """

    def __init__(
        self,
        weight: Tensor | None = None,
        ignore_index: int = -100,
        reduction: str = "mean",
        label_smoothing: float = 0.0,
    ) -> None:
        super().__init__()
        self.weight: Tensor | None
        self.register_buffer("weight", weight)
        self.ignore_index = ignore_index
        self.reduction = reduction
        self.label_smoothing = label_smoothing

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.cross_entropy(
            input,
            target,
            weight=self.weight,
            ignore_index=self.ignore_index,
            reduction=self.reduction,
            label_smoothing=self.label_smoothing,
        )


class CTCLoss(_Loss):
    """Labels without their places in time: the call takes log_probs, targets, input_lengths and target_lengths.

    Example:
        >>> loss = sg.nn.CTCLoss(zero_infinity=True)
        >>> round(loss(sg.zeros(1, 1, 2), sg.tensor([[1, 1]]), (1,), (2,)).item(), 4)
        0.0
    """

    def __init__(self, blank: int = 0, reduction: str = "mean", zero_infinity: bool = False) -> None:
        super().__init__()
        self.blank = blank
        self.reduction = reduction
        self.zero_infinity = zero_infinity

    def forward(self, log_probs: Tensor, targets: Tensor, input_lengths: Any, target_lengths: Any) -> Tensor:
        return F.ctc_loss(
            log_probs,
            targets,
            input_lengths,
            target_lengths,
            blank=self.blank,
            reduction=self.reduction,
            zero_infinity=self.zero_infinity,
        )


class NLLLoss(_Loss):
    """Minus the log-probability of the target classes, from log-probabilities [n, classes, ...].

    Example:
        >>> sg.nn.NLLLoss()(sg.tensor([[-1.0, -2.0]]), sg.tensor([1])).item()
        2.0
    """

    def __init__(self, weight: Tensor | None = None, ignore_index: int = -100, reduction: str = "mean") -> None:
        super().__init__()
        self.weight: Tensor | None
        self.register_buffer("weight", weight)
        self.ignore_index = ignore_index
        self.reduction = reduction

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.nll_loss(input, target, weight=self.weight, ignore_index=self.ignore_index, reduction=self.reduction)


class MSELoss(_Loss):
    """The squared difference.

    Example:
        >>> sg.nn.MSELoss()(sg.zeros(2), sg.ones(2)).item()
        1.0
    """

    def __init__(self, reduction: str = "mean") -> None:
        super().__init__()
        self.reduction = reduction

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.mse_loss(input, target, reduction=self.reduction)


class L1Loss(_Loss):
    """The absolute difference.

    Example:
        >>> sg.nn.L1Loss()(sg.zeros(2), sg.ones(2)).item()
        1.0
    """

    def __init__(self, reduction: str = "mean") -> None:
        super().__init__()
        self.reduction = reduction

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.l1_loss(input, target, reduction=self.reduction)


class SmoothL1Loss(_Loss):
    """A parabola near 0, over beta; the absolute difference beyond.

    Example:
        >>> sg.nn.SmoothL1Loss()(sg.zeros(1), sg.ones(1)).item()
        0.5
    """

    def __init__(self, reduction: str = "mean", beta: float = 1.0) -> None:
        super().__init__()
        self.reduction = reduction
        self.beta = beta

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.smooth_l1_loss(input, target, reduction=self.reduction, beta=self.beta)


class HuberLoss(_Loss):
    """A parabola near 0, the absolute difference times delta beyond.

    Example:
        >>> sg.nn.HuberLoss(delta=2.0)(sg.zeros(1), sg.tensor([3.0])).item()
        4.0
    """

    def __init__(self, reduction: str = "mean", delta: float = 1.0) -> None:
        super().__init__()
        self.reduction = reduction
        self.delta = delta

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.huber_loss(input, target, reduction=self.reduction, delta=self.delta)


class GaussianNLLLoss(_Loss):
    """Minus the logarithm of a normal density with predicted mean and variance.

    Example:
        >>> sg.nn.GaussianNLLLoss()(sg.zeros(2), sg.ones(2), sg.ones(2)).item()
        0.5
    """

    def __init__(self, full: bool = False, eps: float = 1e-6, reduction: str = "mean") -> None:
        super().__init__()
        self.full = full
        self.eps = eps
        self.reduction = reduction

    def forward(self, input: Tensor, target: Tensor, var: Tensor) -> Tensor:
        return F.gaussian_nll_loss(input, target, var, full=self.full, eps=self.eps, reduction=self.reduction)


class PoissonNLLLoss(_Loss):
    """Minus the logarithm of a Poisson probability of counts.

    Example:
        >>> sg.nn.PoissonNLLLoss()(sg.zeros(1), sg.tensor([3.0])).item()
        1.0
    """

    def __init__(self, log_input: bool = True, full: bool = False, eps: float = 1e-8, reduction: str = "mean") -> None:
        super().__init__()
        self.log_input = log_input
        self.full = full
        self.eps = eps
        self.reduction = reduction

    def forward(self, log_input: Tensor, target: Tensor) -> Tensor:
        return F.poisson_nll_loss(
            log_input, target, log_input=self.log_input, full=self.full, eps=self.eps, reduction=self.reduction
        )


class BCELoss(_Loss):
    """Cross entropy of yes and no, from probabilities.

    Example:
        >>> sg.nn.BCELoss()(sg.tensor([0.0, 1.0]), sg.tensor([0.0, 0.0])).item()
        50.0
    """

    def __init__(self, weight: Tensor | None = None, reduction: str = "mean") -> None:
        super().__init__()
        self.weight: Tensor | None
        self.register_buffer("weight", weight)
        self.reduction = reduction

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.binary_cross_entropy(input, target, weight=self.weight, reduction=self.reduction)


class BCEWithLogitsLoss(_Loss):
    """Cross entropy of yes and no, from logits.

    Example:
        >>> sg.nn.BCEWithLogitsLoss()(sg.tensor([200.0]), sg.tensor([1.0])).item()
        0.0
    """

    def __init__(self, weight: Tensor | None = None, reduction: str = "mean", pos_weight: Tensor | None = None) -> None:
        super().__init__()
        self.weight: Tensor | None
        self.register_buffer("weight", weight)
        self.reduction = reduction
        self.pos_weight: Tensor | None
        self.register_buffer("pos_weight", pos_weight)

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.binary_cross_entropy_with_logits(
            input, target, weight=self.weight, reduction=self.reduction, pos_weight=self.pos_weight
        )


class KLDivLoss(_Loss):
    """The divergence of log-probabilities from a target.

    Example:
        >>> p = sg.tensor([[0.5, 0.5]])
        >>> sg.nn.KLDivLoss(reduction="batchmean")(p.log(), p).item()
        0.0
    """

    def __init__(self, reduction: str = "mean", log_target: bool = False) -> None:
        super().__init__()
        self.reduction = reduction
        self.log_target = log_target

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.kl_div(input, target, reduction=self.reduction, log_target=self.log_target)


class FocalLoss(_Loss):
    """Cross entropy in which easy cases count less.

    Example:
        >>> round(sg.nn.FocalLoss(gamma=0.0)(sg.zeros(1), sg.ones(1)).item(), 4)
        0.6931
    """

    _shown = "gamma alpha? reduction"

    def __init__(self, gamma: float = 2.0, alpha: Tensor | float | None = None, reduction: str = "mean") -> None:
        super().__init__()
        self.gamma = gamma
        self.alpha: Tensor | float | None
        if isinstance(alpha, Tensor):
            self.register_buffer("alpha", alpha)
        else:
            self.alpha = alpha
        self.reduction = reduction

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.focal_loss(input, target, gamma=self.gamma, alpha=self.alpha, reduction=self.reduction)


class HingeLoss(_Loss):
    """max(0, margin - target * input), target -1 or 1.

    Example:
        >>> sg.nn.HingeLoss()(sg.tensor([2.0, -0.5]), sg.tensor([1.0, 1.0])).item()
        0.75
    """

    def __init__(self, margin: float = 1.0, reduction: str = "mean") -> None:
        super().__init__()
        self.margin = margin
        self.reduction = reduction

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.hinge_loss(input, target, margin=self.margin, reduction=self.reduction)


class SoftMarginLoss(_Loss):
    """log(1 + exp(-target * input)), target -1 or 1.

    Example:
        >>> round(sg.nn.SoftMarginLoss()(sg.zeros(1), sg.ones(1)).item(), 4)
        0.6931
    """

    def __init__(self, reduction: str = "mean") -> None:
        super().__init__()
        self.reduction = reduction

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.soft_margin_loss(input, target, reduction=self.reduction)


class MultiLabelSoftMarginLoss(_Loss):
    """Cross entropy of yes and no for each class of a row, from logits.

    Example:
        >>> round(sg.nn.MultiLabelSoftMarginLoss()(sg.zeros(4, 3), sg.ones(4, 3)).item(), 4)
        0.6931
    """

    def __init__(self, weight: Tensor | None = None, reduction: str = "mean") -> None:
        super().__init__()
        self.weight: Tensor | None
        self.register_buffer("weight", weight)
        self.reduction = reduction

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.multilabel_soft_margin_loss(input, target, weight=self.weight, reduction=self.reduction)


class MultiMarginLoss(_Loss):
    """How far the right class falls short of leading each other one by the margin.

    Example:
        >>> sg.nn.MultiMarginLoss()(sg.tensor([[0.0, 1.0]]), sg.tensor([0])).item()
        1.0
    """

    def __init__(self, p: int = 1, margin: float = 1.0, weight: Tensor | None = None, reduction: str = "mean") -> None:
        super().__init__()
        self.p = p
        self.margin = margin
        self.weight: Tensor | None
        self.register_buffer("weight", weight)
        self.reduction = reduction

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.multi_margin_loss(
            input, target, p=self.p, margin=self.margin, weight=self.weight, reduction=self.reduction
        )


class MultiLabelMarginLoss(_Loss):
    """How far the right classes fall short of leading the wrong ones by 1; targets end with -1.

    Example:
        >>> loss = sg.nn.MultiLabelMarginLoss()
        >>> round(loss(sg.tensor([[0.1, 0.2, 0.4, 0.8]]), sg.tensor([[3, 0, -1, 1]])).item(), 4)
        0.85
    """

    def __init__(self, reduction: str = "mean") -> None:
        super().__init__()
        self.reduction = reduction

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.multilabel_margin_loss(input, target, reduction=self.reduction)


class HingeEmbeddingLoss(_Loss):
    """Distances of like pairs; of unlike ones what they lack to the margin.

    Example:
        >>> sg.nn.HingeEmbeddingLoss()(sg.tensor([0.25]), sg.tensor([-1])).item()
        0.75
    """

    def __init__(self, margin: float = 1.0, reduction: str = "mean") -> None:
        super().__init__()
        self.margin = margin
        self.reduction = reduction

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.hinge_embedding_loss(input, target, margin=self.margin, reduction=self.reduction)


class MarginRankingLoss(_Loss):
    """max(0, margin - target * (input1 - input2)).

    Example:
        >>> sg.nn.MarginRankingLoss()(sg.zeros(1), sg.ones(1), sg.ones(1)).item()
        1.0
    """

    def __init__(self, margin: float = 0.0, reduction: str = "mean") -> None:
        super().__init__()
        self.margin = margin
        self.reduction = reduction

    def forward(self, input1: Tensor, input2: Tensor, target: Tensor) -> Tensor:
        return F.margin_ranking_loss(input1, input2, target, margin=self.margin, reduction=self.reduction)


class TripletMarginLoss(_Loss):
    """max(0, margin + the distance to what is alike - the distance to what is not).

    Example:
        >>> a = sg.zeros(1, 2)
        >>> sg.nn.TripletMarginLoss(p=1.0, eps=0.0)(a, a, a + 0.25).item()
        0.5
    """

    def __init__(
        self, margin: float = 1.0, p: float = 2.0, eps: float = 1e-6, swap: bool = False, reduction: str = "mean"
    ) -> None:
        super().__init__()
        self.margin = margin
        self.p = p
        self.eps = eps
        self.swap = swap
        self.reduction = reduction

    def forward(self, anchor: Tensor, positive: Tensor, negative: Tensor) -> Tensor:
        return F.triplet_margin_loss(
            anchor,
            positive,
            negative,
            margin=self.margin,
            p=self.p,
            eps=self.eps,
            swap=self.swap,
            reduction=self.reduction,
        )


class CosineEmbeddingLoss(_Loss):
    """1 - cos of like pairs; of unlike ones what the cosine is above the margin.

    Example:
        >>> x = sg.tensor([[1.0, 0.0]])
        >>> sg.nn.CosineEmbeddingLoss()(x, x, sg.tensor([-1])).item()
        1.0
    """

    def __init__(self, margin: float = 0.0, reduction: str = "mean") -> None:
        super().__init__()
        self.margin = margin
        self.reduction = reduction

    def forward(self, input1: Tensor, input2: Tensor, target: Tensor) -> Tensor:
        return F.cosine_embedding_loss(input1, input2, target, margin=self.margin, reduction=self.reduction)


class ContrastiveLoss(_Loss):
    """Half the squared distance of like pairs; of unlike ones half the square of what they lack to the margin.

    Example:
        >>> x, y = sg.zeros(1, 1), sg.tensor([[0.5]])
        >>> sg.nn.ContrastiveLoss(eps=0.0)(x, y, sg.tensor([1])).item()
        0.125
    """

    def __init__(self, margin: float = 1.0, eps: float = 1e-6, reduction: str = "mean") -> None:
        super().__init__()
        self.margin = margin
        self.eps = eps
        self.reduction = reduction

    def forward(self, input1: Tensor, input2: Tensor, target: Tensor) -> Tensor:
        return F.contrastive_loss(input1, input2, target, margin=self.margin, eps=self.eps, reduction=self.reduction)
