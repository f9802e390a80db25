"""Loss layers. Each calls its function with its options."""

from __future__ import annotations

from typing import Any

from .._core import Tensor
from . import functional as F
from ._of_function import OfFunction, layer_of

__all__ = ["BCELoss", "BCEWithLogitsLoss", "CTCLoss", "ContrastiveLoss", "CosineEmbeddingLoss", "CrossEntropyLoss"]
__all__ += ["FocalLoss", "GaussianNLLLoss", "HingeEmbeddingLoss", "HingeLoss", "HuberLoss", "KLDivLoss", "L1Loss"]
__all__ += ["MSELoss", "MarginRankingLoss", "MultiLabelMarginLoss", "MultiLabelSoftMarginLoss", "MultiMarginLoss"]
__all__ += ["NLLLoss", "PoissonNLLLoss", "SmoothL1Loss", "SoftMarginLoss", "TripletMarginLoss"]


class _Loss(OfFunction):
    """The base of all losses. Options that are tensors are buffers, which move with the module."""

    def __init__(self, reduction: str = "mean") -> None:
        super().__init__()
        self.reduction = reduction

    def _loss(self, *tensors: Any) -> Tensor:
        loss: Tensor = getattr(F, self._function)(*tensors, **self._named_options())
        return loss


class _LossOfTarget(_Loss):
    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        loss: Tensor = getattr(F, self._function)(input, target, **self._named_options())
        return loss


@layer_of(F.cross_entropy)
class CrossEntropyLoss(_LossOfTarget):
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
        self.ignore_index, self.label_smoothing = ignore_index, label_smoothing


@layer_of(F.ctc_loss)
class CTCLoss(_Loss):
    """
    Example:
        >>> loss = sg.nn.CTCLoss(zero_infinity=True)
        >>> round(loss(sg.zeros(1, 1, 2), sg.tensor([[1, 1]]), (1,), (2,)).item(), 4)
        0.0
    """

    def __init__(self, blank: int = 0, reduction: str = "mean", zero_infinity: bool = False) -> None:
        super().__init__(reduction)
        self.blank, self.zero_infinity = blank, zero_infinity

    def forward(self, log_probs: Tensor, targets: Tensor, input_lengths: Any, target_lengths: Any) -> Tensor:
        """Computes the loss; functional.ctc_loss() describes the arguments."""
        return self._loss(log_probs, targets, input_lengths, target_lengths)


@layer_of(F.nll_loss)
class NLLLoss(_LossOfTarget):
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


@layer_of(F.mse_loss)
class MSELoss(_LossOfTarget):
    """
    Example:
        >>> sg.nn.MSELoss()(sg.zeros(2), sg.ones(2)).item()
        1.0
    """


@layer_of(F.l1_loss)
class L1Loss(_LossOfTarget):
    """
    Example:
        >>> sg.nn.L1Loss()(sg.zeros(2), sg.ones(2)).item()
        1.0
    """


@layer_of(F.smooth_l1_loss)
class SmoothL1Loss(_LossOfTarget):
    """
    Example:
        >>> sg.nn.SmoothL1Loss()(sg.zeros(1), sg.ones(1)).item()
        0.5
    """

    def __init__(self, reduction: str = "mean", beta: float = 1.0) -> None:
        super().__init__(reduction)
        self.beta = beta


@layer_of(F.huber_loss)
class HuberLoss(_LossOfTarget):
    """
    Example:
        >>> sg.nn.HuberLoss(delta=2.0)(sg.zeros(1), sg.tensor([3.0])).item()
        4.0
    """

    def __init__(self, reduction: str = "mean", delta: float = 1.0) -> None:
        super().__init__(reduction)
        self.delta = delta


@layer_of(F.gaussian_nll_loss)
class GaussianNLLLoss(_Loss):
    """
    Example:
        >>> sg.nn.GaussianNLLLoss()(sg.zeros(2), sg.ones(2), sg.ones(2)).item()
        0.5
    """

    def __init__(self, full: bool = False, eps: float = 1e-6, reduction: str = "mean") -> None:
        super().__init__(reduction)
        self.full, self.eps = full, eps

    def forward(self, input: Tensor, target: Tensor, var: Tensor) -> Tensor:
        return self._loss(input, target, var)


@layer_of(F.poisson_nll_loss)
class PoissonNLLLoss(_Loss):
    """
    Example:
        >>> sg.nn.PoissonNLLLoss()(sg.zeros(1), sg.tensor([3.0])).item()
        1.0
    """

    def __init__(self, log_input: bool = True, full: bool = False, eps: float = 1e-8, reduction: str = "mean") -> None:
        super().__init__(reduction)
        self.log_input, self.full, self.eps = log_input, full, eps

    def forward(self, log_input: Tensor, target: Tensor) -> Tensor:
        return self._loss(log_input, target)


@layer_of(F.binary_cross_entropy)
class BCELoss(_LossOfTarget):
    """
    Example:
        >>> sg.nn.BCELoss()(sg.tensor([0.0, 1.0]), sg.tensor([0.0, 0.0])).item()
        50.0
    """

    def __init__(self, weight: Tensor | None = None, reduction: str = "mean") -> None:
        super().__init__(reduction)
        self.weight: Tensor | None
        self.register_buffer("weight", weight)


@layer_of(F.binary_cross_entropy_with_logits)
class BCEWithLogitsLoss(_LossOfTarget):
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


@layer_of(F.kl_div)
class KLDivLoss(_LossOfTarget):
    """
    Example:
        >>> p = sg.tensor([[0.5, 0.5]])
        >>> sg.nn.KLDivLoss(reduction="batchmean")(p.log(), p).item()
        0.0
    """

    def __init__(self, reduction: str = "mean", log_target: bool = False) -> None:
        super().__init__(reduction)
        self.log_target = log_target


@layer_of(F.focal_loss)
class FocalLoss(_LossOfTarget):
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


@layer_of(F.hinge_loss)
class HingeLoss(_LossOfTarget):
    """
    Example:
        >>> sg.nn.HingeLoss()(sg.tensor([2.0, -0.5]), sg.tensor([1.0, 1.0])).item()
        0.75
    """

    def __init__(self, margin: float = 1.0, reduction: str = "mean") -> None:
        super().__init__(reduction)
        self.margin = margin


@layer_of(F.soft_margin_loss)
class SoftMarginLoss(_LossOfTarget):
    """
    Example:
        >>> round(sg.nn.SoftMarginLoss()(sg.zeros(1), sg.ones(1)).item(), 4)
        0.6931
    """


@layer_of(F.multilabel_soft_margin_loss)
class MultiLabelSoftMarginLoss(_LossOfTarget):
    """
    Example:
        >>> round(sg.nn.MultiLabelSoftMarginLoss()(sg.zeros(4, 3), sg.ones(4, 3)).item(), 4)
        0.6931
    """

    def __init__(self, weight: Tensor | None = None, reduction: str = "mean") -> None:
        super().__init__(reduction)
        self.weight: Tensor | None
        self.register_buffer("weight", weight)


@layer_of(F.multi_margin_loss)
class MultiMarginLoss(_LossOfTarget):
    """
    Example:
        >>> sg.nn.MultiMarginLoss()(sg.tensor([[0.0, 1.0]]), sg.tensor([0])).item()
        1.0
    """

    def __init__(self, p: int = 1, margin: float = 1.0, weight: Tensor | None = None, reduction: str = "mean") -> None:
        super().__init__(reduction)
        self.p, self.margin = p, margin
        self.weight: Tensor | None
        self.register_buffer("weight", weight)


@layer_of(F.multilabel_margin_loss)
class MultiLabelMarginLoss(_LossOfTarget):
    """
    Example:
        >>> loss = sg.nn.MultiLabelMarginLoss()
        >>> round(loss(sg.tensor([[0.1, 0.2, 0.4, 0.8]]), sg.tensor([[3, 0, -1, 1]])).item(), 4)
        0.85
    """


@layer_of(F.hinge_embedding_loss)
class HingeEmbeddingLoss(_LossOfTarget):
    """
    Example:
        >>> sg.nn.HingeEmbeddingLoss()(sg.tensor([0.25]), sg.tensor([-1])).item()
        0.75
    """

    def __init__(self, margin: float = 1.0, reduction: str = "mean") -> None:
        super().__init__(reduction)
        self.margin = margin


@layer_of(F.margin_ranking_loss)
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
        return self._loss(input1, input2, target)


@layer_of(F.triplet_margin_loss)
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
        self.margin, self.p, self.eps, self.swap = margin, p, eps, swap

    def forward(self, anchor: Tensor, positive: Tensor, negative: Tensor) -> Tensor:
        return self._loss(anchor, positive, negative)


@layer_of(F.cosine_embedding_loss)
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
        return self._loss(input1, input2, target)


@layer_of(F.contrastive_loss)
class ContrastiveLoss(_Loss):
    """
    Example:
        >>> x, y = sg.zeros(1, 1), sg.tensor([[0.5]])
        >>> sg.nn.ContrastiveLoss(eps=0.0)(x, y, sg.tensor([1])).item()
        0.125
    """

    def __init__(self, margin: float = 1.0, eps: float = 1e-6, reduction: str = "mean") -> None:
        super().__init__(reduction)
        self.margin, self.eps = margin, eps

    def forward(self, input1: Tensor, input2: Tensor, target: Tensor) -> Tensor:
        return self._loss(input1, input2, target)
