"""A batch norm in evaluation as part of the layer before it."""

from __future__ import annotations

import copy
from typing import Any

from ..._core import Tensor
from ...base.docstrings import described_by
from ..parameter import Parameter

__all__ = ["fuse_conv_bn_eval", "fuse_conv_bn_weights", "fuse_linear_bn_eval", "fuse_linear_bn_weights"]


_WEIGHTS = """Weight and bias of a {layer} that does what it and a batch norm do.

Args:
    {kind}_w: the weight of a {layer}.
    {kind}_b: its bias, [outputs], or None.
    bn_rm: the running mean of the norm, [outputs].
    bn_rv: the running variance of the norm, [outputs].
    bn_eps: what the norm adds to the variance.
    bn_w: the weight of the norm, [outputs], or None for ones.
    bn_b: the bias of the norm, [outputs], or None for zeros.
    transpose: whether the convolution is a transposed one, whose weight is [inputs, outputs, ...].
"""
_LAYERS = """A copy of a {layer} that does what it and a batch norm do, both in evaluation.

Args:
    {kind}: a {layer}.
    bn: the batch norm, of its outputs.
    transpose: whether the convolution is a transposed one.

Raises:
    AssertionError: one of them is in training, or the norm keeps no statistics.
"""


def _scaled(w: Tensor, dim: int, b: Tensor | None, mean: Tensor, var: Tensor, eps: float, rest: Any) -> Any:
    scale, shift = rest
    factor = (var + eps).rsqrt() * (1 if scale is None else scale)
    bias = factor * ((0 if b is None else b) - mean) + (0 if shift is None else shift)
    grads = w.requires_grad, b.requires_grad if b is not None else w.requires_grad
    sizes = [-1 if d == dim else 1 for d in range(w.ndim)]
    weight = w * factor.reshape(sizes).to(w.dtype)
    return Parameter(weight.detach(), grads[0]), Parameter(bias.to(w.dtype).detach(), grads[1])


@described_by(_WEIGHTS, kind="conv", layer="convolution")
def fuse_conv_bn_weights(
    conv_w: Tensor, conv_b: Tensor | None, bn_rm: Tensor, bn_rv: Tensor, bn_eps: float, bn_w: Tensor | None,
    bn_b: Tensor | None, transpose: bool = False,
) -> tuple[Parameter, Parameter]:  # fmt: skip
    """"""
    made: tuple[Parameter, Parameter] = _scaled(conv_w, int(transpose), conv_b, bn_rm, bn_rv, bn_eps, (bn_w, bn_b))
    return made


@described_by(_WEIGHTS, kind="linear", layer="linear layer")
def fuse_linear_bn_weights(
    linear_w: Tensor, linear_b: Tensor | None, bn_rm: Tensor, bn_rv: Tensor, bn_eps: float, bn_w: Tensor | None,
    bn_b: Tensor | None,
) -> tuple[Parameter, Parameter]:  # fmt: skip
    """"""
    made: tuple[Parameter, Parameter] = _scaled(linear_w, 0, linear_b, bn_rm, bn_rv, bn_eps, (bn_w, bn_b))
    return made


def _fused(layer: Any, norm: Any, dim: int) -> Any:
    if layer.training or norm.training:
        raise AssertionError("fuse_conv_bn_eval: fusing is for evaluation; call eval() of both first")
    if norm.running_mean is None or norm.running_var is None:
        raise AssertionError("fuse_conv_bn_eval: the norm keeps no statistics; use track_running_stats=True")
    fused = copy.deepcopy(layer)
    rest = (norm.weight, norm.bias)
    fused.weight, fused.bias = _scaled(
        layer.weight, dim, layer.bias, norm.running_mean, norm.running_var, norm.eps, rest
    )
    return fused


@described_by(_LAYERS, kind="conv", layer="convolution")
def fuse_conv_bn_eval(conv: Any, bn: Any, transpose: bool = False) -> Any:
    """"""
    return _fused(conv, bn, int(transpose))


@described_by(_LAYERS, kind="linear", layer="linear layer")
def fuse_linear_bn_eval(linear: Any, bn: Any) -> Any:
    """"""
    return _fused(linear, bn, 0)
