"""Weights in few bits for inference: whole numbers in groups, each with a scale."""

from __future__ import annotations

import math
from typing import TypeVar

from .. import nn
from .._core import Tensor, cat, int8, is_grad_enabled, uint8, where
from ..base.grad_mode import no_grad
from ..base.keywords import naming_keywords

__all__ = ["QuantizedLinear", "quantize"]

M = TypeVar("M", bound=nn.Module)


class QuantizedLinear(nn.Module):
    """A linear layer whose weight is stored as integers of 8 or 4 bits, with a scale for each group of inputs.

    A single token is multiplied with the numbers as they lie in memory. For several, the weight is widened first.

    Args:
        layer: whose weight is rounded, to the nearest of the numbers.
        bits: 8 or 4; two numbers of 4 bits share a byte.
        group: inputs that share a scale.

    Raises:
        ValueError: other bits, or inputs that are not a multiple of the group; 4 bits need an even group.

    Example:
        >>> layer = sg.nn.Linear(64, 3)
        >>> small = sg.models.QuantizedLinear(layer, bits=8, group=32)
        >>> small.weight.dtype, small.scale.shape
        (spirograd.int8, (3, 2))
        >>> sg.allclose(small(sg.ones(1, 64)), layer(sg.ones(1, 64)), atol=0.05)
        True
    """

    weight: Tensor
    scale: Tensor
    bias: Tensor | None

    def __init__(self, layer: nn.Linear, bits: int = 8, group: int = 64) -> None:
        super().__init__()
        inputs = layer.weight.shape[1]
        if bits not in (4, 8):
            raise ValueError(f"quantize: bits is {bits}; use 8 or 4")
        if group < 1 or inputs % group or (bits == 4 and group % 2):
            raise ValueError(
                f"quantize: {inputs} inputs in groups of {group}; use a group that divides them, even for 4"
            )
        self.bits, self.group = bits, group
        most = 2 ** (bits - 1) - 1
        with no_grad():
            weight = layer.weight.detach().float().unflatten(-1, (-1, group))
            scale = weight.abs().amax(-1) / most
            whole = (weight / where(scale == 0, 1.0, scale).unsqueeze(-1)).round()
            if bits == 8:
                packed = whole.to(int8)
            else:  # the first half of a group in the low bits, the second in the high ones
                low, high = (whole + 8).to(uint8).chunk(2, -1)
                packed = low + high * 16
            self.register_buffer("weight", packed.flatten(1))
            self.register_buffer("scale", scale)
            self.register_buffer("bias", None if layer.bias is None else layer.bias.detach().clone())

    def _parts(self) -> list[Tensor]:
        """The numbers in halves of groups (4 bits) or in whole groups: [outputs, groups, elements] each."""
        packed = self.weight.unflatten(-1, (self.scale.shape[1], -1))
        if self.bits == 8:
            return [packed.float()]
        return [(packed & 15).float() - 8, (packed >> 4).float() - 8]

    def forward(self, input: Tensor) -> Tensor:
        """[..., inputs] -> [..., outputs]."""
        parts, scale = self._parts(), self.scale.unsqueeze(-1)
        if math.prod(input.shape[:-1]) != 1 or is_grad_enabled():
            weight = (cat(parts, -1) * scale).flatten(1).to(input.dtype)
            return nn.functional.linear(input, weight, None if self.bias is None else self.bias.to(input.dtype))
        each = input.float().reshape(1, self.scale.shape[1], -1).chunk(len(parts), -1)
        products = [a * b for a, b in zip(parts, each, strict=True)]
        y = ((products[0] if len(products) == 1 else products[0] + products[1]) * scale).sum((1, 2))
        y = y if self.bias is None else y + self.bias
        return y.to(input.dtype).reshape(*input.shape[:-1], self.scale.shape[0])

    def extra_repr(self) -> str:
        return f"bits={self.bits}, group={self.group}"


@naming_keywords
def quantize(model: M, bits: int = 8, group: int = 64) -> M:
    """Replaces all linear layers of a model by `QuantizedLinear`, in place; for inference.

    Args:
        model: embeddings, norms and convolutions stay as they are.
        bits: 8 or 4.
        group: inputs that share a scale.

    Returns:
        The model.

    Raises:
        ValueError: other bits, or a layer whose inputs are not a multiple of the group; then nothing is replaced.

    Example:
        >>> model = sg.models.GPT2(vocabulary=65, context=32, width=32, layers=1, heads=2)
        >>> sg.models.quantize(model, bits=4, group=32).h[0].mlp.c_fc
        QuantizedLinear(bits=4, group=32)
    """
    made = [
        (parent, name, QuantizedLinear(child, bits, group))
        for parent in list(model.modules())
        for name, child in parent.named_children()
        if isinstance(child, nn.Linear)
    ]
    for parent, name, layer in made:
        parent.register_module(name, layer)
    return model
