"""Loss layers. Each has the arguments of its function as options, and calls it."""

from __future__ import annotations

from typing import Any

from .._core import Tensor
from . import functional as F
from ._arguments import described
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
    """The base of all losses. Options that are tensors are buffers, which move with the module."""

    def __init__(self, reduction: str = "mean") -> None:
        super().__init__()
        self.reduction = reduction


@described(F.cross_entropy)
class CrossEntropyLoss(_Loss):
    """
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
        super().__init__(reduction)
        self.weight: Tensor | None
        self.register_buffer("weight", weight)
        self.ignore_index = ignore_index
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


@described(F.ctc_loss)
class CTCLoss(_Loss):
    """
    Example:
        >>> loss = sg.nn.CTCLoss(zero_infinity=True)
        >>> round(loss(sg.zeros(1, 1, 2), sg.tensor([[1, 1]]), (1,), (2,)).item(), 4)
        0.0
    """

    def __init__(self, blank: int = 0, reduction: str = "mean", zero_infinity: bool = False) -> None:
        super().__init__(reduction)
        self.blank = blank
        self.zero_infinity = zero_infinity

    def forward(self, log_probs: Tensor, targets: Tensor, input_lengths: Any, target_lengths: Any) -> Tensor:
        """Computes the loss; functional.ctc_loss() describes the arguments."""
        return F.ctc_loss(
            log_probs,
            targets,
            input_lengths,
            target_lengths,
            blank=self.blank,
            reduction=self.reduction,
            zero_infinity=self.zero_infinity,
        )


@described(F.nll_loss)
class NLLLoss(_Loss):
    """
    Example:
        >>> sg.nn.NLLLoss()(sg.tensor([[-1.0, -2.0]]), sg.tensor([1])).item()
        2.0
    """

    def __init__(self, weight: Tensor | None = None, ignore_index: int = -100, reduction: str = "mean") -> None:
        super().__init__(reduction)
        self.weight: Tensor | None
        self.register_buffer("weight", weight)
        self.ignore_index = ignore_index

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.nll_loss(input, target, weight=self.weight, ignore_index=self.ignore_index, reduction=self.reduction)


@described(F.mse_loss)
class MSELoss(_Loss):
    """
    Example:
        >>> sg.nn.MSELoss()(sg.zeros(2), sg.ones(2)).item()
        1.0
    """

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.mse_loss(input, target, reduction=self.reduction)


@described(F.l1_loss)
class L1Loss(_Loss):
    """
    Example:
        >>> sg.nn.L1Loss()(sg.zeros(2), sg.ones(2)).item()
        1.0
    """

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.l1_loss(input, target, reduction=self.reduction)


@described(F.smooth_l1_loss)
class SmoothL1Loss(_Loss):
    """
    Example:
        >>> sg.nn.SmoothL1Loss()(sg.zeros(1), sg.ones(1)).item()
        0.5
    """

    def __init__(self, reduction: str = "mean", beta: float = 1.0) -> None:
        super().__init__(reduction)
        self.beta = beta

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.smooth_l1_loss(input, target, reduction=self.reduction, beta=self.beta)


@described(F.huber_loss)
class HuberLoss(_Loss):
    """
    Example:
        >>> sg.nn.HuberLoss(delta=2.0)(sg.zeros(1), sg.tensor([3.0])).item()
        4.0
    """

    def __init__(self, reduction: str = "mean", delta: float = 1.0) -> None:
        super().__init__(reduction)
        self.delta = delta

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.huber_loss(input, target, reduction=self.reduction, delta=self.delta)


@described(F.gaussian_nll_loss)
class GaussianNLLLoss(_Loss):
    """
    Example:
        >>> sg.nn.GaussianNLLLoss()(sg.zeros(2), sg.ones(2), sg.ones(2)).item()
        0.5
    """

    def __init__(self, full: bool = False, eps: float = 1e-6, reduction: str = "mean") -> None:
        super().__init__(reduction)
        self.full = full
        self.eps = eps

    def forward(self, input: Tensor, target: Tensor, var: Tensor) -> Tensor:
        return F.gaussian_nll_loss(input, target, var, full=self.full, eps=self.eps, reduction=self.reduction)


@described(F.poisson_nll_loss)
class PoissonNLLLoss(_Loss):
    """
    Example:
        >>> sg.nn.PoissonNLLLoss()(sg.zeros(1), sg.tensor([3.0])).item()
        1.0
    """

    def __init__(self, log_input: bool = True, full: bool = False, eps: float = 1e-8, reduction: str = "mean") -> None:
        super().__init__(reduction)
        self.log_input = log_input
        self.full = full
        self.eps = eps

    def forward(self, log_input: Tensor, target: Tensor) -> Tensor:
        return F.poisson_nll_loss(
            log_input, target, log_input=self.log_input, full=self.full, eps=self.eps, reduction=self.reduction
        )


@described(F.binary_cross_entropy)
class BCELoss(_Loss):
    """
    Example:
        >>> sg.nn.BCELoss()(sg.tensor([0.0, 1.0]), sg.tensor([0.0, 0.0])).item()
        50.0
    """

    def __init__(self, weight: Tensor | None = None, reduction: str = "mean") -> None:
        super().__init__(reduction)
        self.weight: Tensor | None
        self.register_buffer("weight", weight)

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.binary_cross_entropy(input, target, weight=self.weight, reduction=self.reduction)


@described(F.binary_cross_entropy_with_logits)
class BCEWithLogitsLoss(_Loss):
    """
    Example:
        >>> sg.nn.BCEWithLogitsLoss()(sg.tensor([200.0]), sg.tensor([1.0])).item()
        0.0
    """

    def __init__(self, weight: Tensor | None = None, reduction: str = "mean", pos_weight: Tensor | None = None) -> None:
        super().__init__(reduction)
        self.weight: Tensor | None
        self.register_buffer("weight", weight)
        self.pos_weight: Tensor | None
        self.register_buffer("pos_weight", pos_weight)

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.binary_cross_entropy_with_logits(
            input, target, weight=self.weight, reduction=self.reduction, pos_weight=self.pos_weight
        )


@described(F.kl_div)
class KLDivLoss(_Loss):
    """
    Example:
        >>> p = sg.tensor([[0.5, 0.5]])
        >>> sg.nn.KLDivLoss(reduction="batchmean")(p.log(), p).item()
        0.0
    """

    def __init__(self, reduction: str = "mean", log_target: bool = False) -> None:
        super().__init__(reduction)
        self.log_target = log_target

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.kl_div(input, target, reduction=self.reduction, log_target=self.log_target)


@described(F.focal_loss)
class FocalLoss(_Loss):
    """
    Example:
        >>> round(sg.nn.FocalLoss(gamma=0.0)(sg.zeros(1), sg.ones(1)).item(), 4)
        0.6931
    """

    _shown = "gamma alpha? reduction"

    def __init__(self, gamma: float = 2.0, alpha: Tensor | float | None = None, reduction: str = "mean") -> None:
        super().__init__(reduction)
        self.gamma = gamma
        self.alpha: Tensor | float | None
        if isinstance(alpha, Tensor):
            self.register_buffer("alpha", alpha)
        else:
            self.alpha = alpha

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.focal_loss(input, target, gamma=self.gamma, alpha=self.alpha, reduction=self.reduction)


@described(F.hinge_loss)
class HingeLoss(_Loss):
    """
    Example:
        >>> sg.nn.HingeLoss()(sg.tensor([2.0, -0.5]), sg.tensor([1.0, 1.0])).item()
        0.75
    """

    def __init__(self, margin: float = 1.0, reduction: str = "mean") -> None:
        super().__init__(reduction)
        self.margin = margin

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.hinge_loss(input, target, margin=self.margin, reduction=self.reduction)


@described(F.soft_margin_loss)
class SoftMarginLoss(_Loss):
    """
    Example:
        >>> round(sg.nn.SoftMarginLoss()(sg.zeros(1), sg.ones(1)).item(), 4)
        0.6931
    """

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.soft_margin_loss(input, target, reduction=self.reduction)


@described(F.multilabel_soft_margin_loss)
class MultiLabelSoftMarginLoss(_Loss):
    """
    Example:
        >>> round(sg.nn.MultiLabelSoftMarginLoss()(sg.zeros(4, 3), sg.ones(4, 3)).item(), 4)
        0.6931
    """

    def __init__(self, weight: Tensor | None = None, reduction: str = "mean") -> None:
        super().__init__(reduction)
        self.weight: Tensor | None
        self.register_buffer("weight", weight)

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.multilabel_soft_margin_loss(input, target, weight=self.weight, reduction=self.reduction)


@described(F.multi_margin_loss)
class MultiMarginLoss(_Loss):
    """
    Example:
        >>> sg.nn.MultiMarginLoss()(sg.tensor([[0.0, 1.0]]), sg.tensor([0])).item()
        1.0
    """

    def __init__(self, p: int = 1, margin: float = 1.0, weight: Tensor | None = None, reduction: str = "mean") -> None:
        super().__init__(reduction)
        self.p = p
        self.margin = margin
        self.weight: Tensor | None
        self.register_buffer("weight", weight)

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.multi_margin_loss(
            input, target, p=self.p, margin=self.margin, weight=self.weight, reduction=self.reduction
        )


@described(F.multilabel_margin_loss)
class MultiLabelMarginLoss(_Loss):
    """
    Example:
        >>> loss = sg.nn.MultiLabelMarginLoss()
        >>> round(loss(sg.tensor([[0.1, 0.2, 0.4, 0.8]]), sg.tensor([[3, 0, -1, 1]])).item(), 4)
        0.85
    """

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.multilabel_margin_loss(input, target, reduction=self.reduction)


@described(F.hinge_embedding_loss)
class HingeEmbeddingLoss(_Loss):
    """
    Example:
        >>> sg.nn.HingeEmbeddingLoss()(sg.tensor([0.25]), sg.tensor([-1])).item()
        0.75
    """

    def __init__(self, margin: float = 1.0, reduction: str = "mean") -> None:
        super().__init__(reduction)
        self.margin = margin

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.hinge_embedding_loss(input, target, margin=self.margin, reduction=self.reduction)


@described(F.margin_ranking_loss)
class MarginRankingLoss(_Loss):
    """
    Example:
        >>> sg.nn.MarginRankingLoss()(sg.zeros(1), sg.ones(1), sg.ones(1)).item()
        1.0
    """

    def __init__(self, margin: float = 0.0, reduction: str = "mean") -> None:
        super().__init__(reduction)
        self.margin = margin

    def forward(self, input1: Tensor, input2: Tensor, target: Tensor) -> Tensor:
        return F.margin_ranking_loss(input1, input2, target, margin=self.margin, reduction=self.reduction)


@described(F.triplet_margin_loss)
class TripletMarginLoss(_Loss):
    """
    Example:
        >>> a = sg.zeros(1, 2)
        >>> sg.nn.TripletMarginLoss(p=1.0, eps=0.0)(a, a, a + 0.25).item()
        0.5
    """

    def __init__(
        self, margin: float = 1.0, p: float = 2.0, eps: float = 1e-6, swap: bool = False, reduction: str = "mean"
    ) -> None:
        super().__init__(reduction)
        self.margin = margin
        self.p = p
        self.eps = eps
        self.swap = swap

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


@described(F.cosine_embedding_loss)
class CosineEmbeddingLoss(_Loss):
    """
    Example:
        >>> x = sg.tensor([[1.0, 0.0]])
        >>> sg.nn.CosineEmbeddingLoss()(x, x, sg.tensor([-1])).item()
        1.0
    """

    def __init__(self, margin: float = 0.0, reduction: str = "mean") -> None:
        super().__init__(reduction)
        self.margin = margin

    def forward(self, input1: Tensor, input2: Tensor, target: Tensor) -> Tensor:
        return F.cosine_embedding_loss(input1, input2, target, margin=self.margin, reduction=self.reduction)


@described(F.contrastive_loss)
class ContrastiveLoss(_Loss):
    """
    Example:
        >>> x, y = sg.zeros(1, 1), sg.tensor([[0.5]])
        >>> sg.nn.ContrastiveLoss(eps=0.0)(x, y, sg.tensor([1])).item()
        0.125
    """

    def __init__(self, margin: float = 1.0, eps: float = 1e-6, reduction: str = "mean") -> None:
        super().__init__(reduction)
        self.margin = margin
        self.eps = eps

    def forward(self, input1: Tensor, input2: Tensor, target: Tensor) -> Tensor:
        return F.contrastive_loss(input1, input2, target, margin=self.margin, eps=self.eps, reduction=self.reduction)
