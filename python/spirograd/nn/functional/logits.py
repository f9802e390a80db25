"""A linear layer and its cross entropy as one."""

from __future__ import annotations

from dataclasses import dataclass

from ..._core import Tensor, _linear_cross_entropy, dtype, promote_types
from ...base.casts import wide
from .linear import linear
from .loss import cross_entropy

__all__ = ["LinearCrossEntropyOptions", "linear_cross_entropy"]


@dataclass(frozen=True)
class LinearCrossEntropyOptions:
    """How PyTorch computes in pieces: accepted. The pieces are chosen here by the sizes.

    Args:
        allow_retain_graph: whether backward() may be called again; it always may here.
        batch_chunk_size: the number of rows of the input in a piece; without effect.
        chunking_method: how PyTorch chooses the pieces; without effect.
        acc_policy: how PyTorch adds up the pieces; without effect.
        acc_dtype: the type in which PyTorch adds them up; without effect: sums are of float32 or wider here.
    """

    allow_retain_graph: bool = False
    batch_chunk_size: int | None = None
    chunking_method: str | None = "auto"
    acc_policy: str = "auto"
    acc_dtype: dtype | None = None


def linear_cross_entropy(
    input: Tensor,
    linear_weight: Tensor,
    target: Tensor,
    *,
    linear_bias: Tensor | None = None,
    weight: Tensor | None = None,
    reduction: str = "mean",
    ignore_index: int | None = None,
    label_smoothing: float = 0.0,
    options: LinearCrossEntropyOptions | None = None,
) -> Tensor:
    """cross_entropy(linear(input, linear_weight, linear_bias), target).

    Of many classes, the logits are computed in slices of rows, each with its gradients, and never all there at once.

    Args:
        input: [n, features], or [features].
        linear_weight: [classes, features]; or [classes, d1, ..., features], for logits [n, classes, d1, ...].
        target: classes [n, d1, ...], or probabilities shaped as the logits.
        linear_bias: [classes, d1, ...], or None.
        weight: of each class, [classes].
        reduction: "mean", "sum" or "none".
        ignore_index: a class that costs nothing; None is -100.
        label_smoothing: how much of the target goes to all classes, 0 to 1.
        options: how PyTorch computes in pieces; without effect: slices are chosen by the sizes.

    Raises:
        ValueError: the shapes do not fit.

    Example:
        >>> x, w = sg.zeros(2, 3), sg.zeros(4, 3)
        >>> round(sg.nn.functional.linear_cross_entropy(x, w, sg.tensor([0, 3])).item(), 4)
        1.3863
    """
    if input.ndim not in (1, 2) or linear_weight.ndim < 2:
        raise ValueError(
            f"linear_cross_entropy: input {list(input.shape)} and weight {list(linear_weight.shape)}; "
            "give [n, features] and [classes, ..., features]"
        )
    ignored = -100 if ignore_index is None else ignore_index
    if weight is None:
        loss = _linear_cross_entropy(input, linear_weight, linear_bias, target, ignored, reduction, label_smoothing)
        if loss is not None:
            return loss.to(_loss_type(input, linear_weight))
    sizes = linear_weight.shape[:-1]
    bias = None if linear_bias is None else linear_bias.reshape(-1)
    logits = linear(input, linear_weight.reshape(-1, linear_weight.shape[-1]), bias)
    return cross_entropy(
        logits.unflatten(-1, sizes), target, weight, ignored, reduction, label_smoothing=label_smoothing
    )


@wide
def _loss_type(input: Tensor, weight: Tensor) -> dtype:
    return promote_types(input.dtype, weight.dtype)
