"""A linear layer and its cross entropy as one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ...._core import Tensor
from ....nn import Linear, Module, functional

__all__ = ["LinearCrossEntropyLoss", "LinearCrossEntropyOptions", "linear_cross_entropy"]


@dataclass(frozen=True)
class LinearCrossEntropyOptions:
    """How PyTorch computes in pieces: accepted. The logits are computed as a whole here."""

    allow_retain_graph: bool = False
    batch_chunk_size: int | None = None
    chunking_method: str | None = "auto"
    acc_policy: str = "auto"


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

    Args:
        input: [n, features], or [features].
        linear_weight: [classes, features]; or [classes, d1, ..., features], for logits [n, classes, d1, ...].
        target: classes [n, d1, ...], or probabilities shaped as the logits.
        linear_bias: [classes, d1, ...], or None.
        weight: of each class, [classes].
        reduction: "mean", "sum" or "none".
        ignore_index: a class that costs nothing; None is -100.
        label_smoothing: how much of the target goes to all classes, 0 to 1.
        options: without a meaning here.

    Raises:
        ValueError: the shapes do not fit.
    """
    if input.ndim not in (1, 2) or linear_weight.ndim < 2:
        raise ValueError(
            f"linear_cross_entropy: input {list(input.shape)} and weight {list(linear_weight.shape)}; "
            "give [n, features] and [classes, ..., features]"
        )
    sizes = linear_weight.shape[:-1]
    bias = None if linear_bias is None else linear_bias.reshape(-1)
    logits = functional.linear(input, linear_weight.reshape(-1, linear_weight.shape[-1]), bias)
    ignored = -100 if ignore_index is None else ignore_index
    return functional.cross_entropy(
        logits.unflatten(-1, sizes), target, weight, ignored, reduction, label_smoothing=label_smoothing
    )


class LinearCrossEntropyLoss(Module):
    """linear_cross_entropy() with a weight of its own, [num_classes, *out_features, in_features].

    Args:
        in_features: of the input.
        num_classes: of the target.
        out_features: d1, ... of the logits [n, num_classes, d1, ...].
        bias: whether there is one.
        device, dtype: of the weight.
        reduction, weight, ignore_index, label_smoothing, options: as in linear_cross_entropy().
    """

    weight: Tensor | None

    def __init__(
        self,
        in_features: int,
        num_classes: int,
        *,
        out_features: Sequence[int] = (),
        bias: bool = False,
        device: Any = None,
        dtype: Any = None,
        weight: Tensor | None = None,
        **options: Any,
    ) -> None:
        super().__init__()
        self.sizes, self.options = (num_classes, *out_features), options
        count = num_classes
        for size in out_features:
            count *= size
        self.linear = Linear(in_features, count, bias=bias, device=device, dtype=dtype)
        self.register_buffer("weight", weight)

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        weight = self.linear.weight.reshape(*self.sizes, -1)
        return linear_cross_entropy(
            input, weight, target, linear_bias=self.linear.bias, weight=self.weight, **self.options
        )
