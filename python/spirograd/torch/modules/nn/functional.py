"""The functions of torch.nn.functional that take other arguments than spirograd's."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from .... import nn
from ...._core import Tensor, _warn_at_line, cat
from ...arguments import NEWER_LOSSES, legacy_reduction
from ..overrides import handle_torch_function, has_torch_function, has_torch_function_variadic

F = nn.functional


def _losses() -> dict[str, Callable[..., Any]]:
    found = {}
    for name in dir(F):
        function = getattr(F, name)
        if name in NEWER_LOSSES or not inspect.isroutine(function):
            continue
        if "reduction" in inspect.signature(function).parameters:
            found[name] = legacy_reduction(function)
    return found


LOSSES = _losses()
globals().update(LOSSES)


def _softmax(function: Callable[..., Tensor], name: str) -> Callable[..., Tensor]:
    def call(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Tensor:
        if dim is None:
            _warn_at_line(f"{name}: no dimension was given; pass dim=")
            dim = 0 if input.ndim in (0, 1, 3) else 1
        return function(input, dim) if dtype is None else function(input, dim, dtype=dtype)

    call.__name__ = call.__qualname__ = name
    call.__doc__ = function.__doc__
    return call


softmax, log_softmax, softmin = (_softmax(getattr(F, name), name) for name in ("softmax", "log_softmax", "softmin"))


def _written(name: str) -> Callable[..., Tensor]:
    function = getattr(F, name)

    def call(input: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        return function(input, *args, **kwargs, inplace=True)

    call.__name__ = call.__qualname__ = f"{name}_"
    call.__doc__ = f"{name} written into the input."
    return call


_ACTIVATIONS = ["celu", "elu", "hardtanh", "leaky_relu", "relu", "rrelu", "selu", "threshold"]
globals().update({f"{name}_": _written(name) for name in _ACTIVATIONS})


def upsample(
    input: Tensor, size: Any = None, scale_factor: Any = None, mode: str = "nearest", align_corners: Any = None
) -> Tensor:
    """interpolate by its old name."""
    return F.interpolate(input, size, scale_factor, mode, align_corners)


def upsample_nearest(input: Tensor, size: Any = None, scale_factor: Any = None) -> Tensor:
    """interpolate(mode="nearest")."""
    return F.interpolate(input, size, scale_factor, "nearest")


def upsample_bilinear(input: Tensor, size: Any = None, scale_factor: Any = None) -> Tensor:
    """interpolate(mode="bilinear", align_corners=True)."""
    return F.interpolate(input, size, scale_factor, "bilinear", True)


def multi_head_attention_forward(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    embed_dim_to_check: int,
    num_heads: int,
    in_proj_weight: Tensor | None,
    in_proj_bias: Tensor | None,
    bias_k: Tensor | None,
    bias_v: Tensor | None,
    add_zero_attn: bool,
    dropout_p: float,
    out_proj_weight: Tensor,
    out_proj_bias: Tensor | None,
    training: bool = True,
    key_padding_mask: Tensor | None = None,
    need_weights: bool = True,
    attn_mask: Tensor | None = None,
    use_separate_proj_weight: bool = False,
    q_proj_weight: Tensor | None = None,
    k_proj_weight: Tensor | None = None,
    v_proj_weight: Tensor | None = None,
    average_attn_weights: bool = True,
    is_causal: bool = False,
) -> tuple[Tensor, Tensor | None]:
    """What a MultiheadAttention with these parameters does; time is the first dimension."""
    layer = nn.MultiheadAttention.__new__(nn.MultiheadAttention)
    nn.Module.__init__(layer)
    layer.embed_dim, layer.kdim, layer.vdim = embed_dim_to_check, key.shape[-1], value.shape[-1]
    layer.num_heads, layer.head_dim, layer.batch_first = num_heads, embed_dim_to_check // num_heads, False
    separate = q_proj_weight, k_proj_weight, v_proj_weight
    if use_separate_proj_weight and layer.kdim == layer.vdim == embed_dim_to_check:
        in_proj_weight = cat([w for w in separate if w is not None])
    own = {
        "in_proj_weight": in_proj_weight, "in_proj_bias": in_proj_bias, "bias_k": bias_k, "bias_v": bias_v,
        "q_proj_weight": q_proj_weight, "k_proj_weight": k_proj_weight, "v_proj_weight": v_proj_weight,
        "add_zero_attn": add_zero_attn, "dropout": dropout_p, "training": training,
        "out_proj": lambda y: F.linear(y, out_proj_weight, out_proj_bias),
    }  # fmt: skip
    vars(layer).update(own)
    return layer.forward(query, key, value, key_padding_mask, need_weights, attn_mask, average_attn_weights, is_causal)


class _Reduction:
    """How losses reduce, by the old arguments."""

    @staticmethod
    def legacy_get_string(size_average: Any, reduce: Any, emit_warning: bool = True) -> str:
        """ "mean", "sum" or "none"."""
        averaged = size_average is None or size_average
        return "none" if reduce is not None and not reduce else "mean" if averaged else "sum"

    @staticmethod
    def get_enum(reduction: str) -> int:
        """0, 1 or 2 for "none", "mean" or "sum"."""
        return ("none", "mean", "sum").index(reduction)


__all__ = [*LOSSES, *(f"{name}_" for name in _ACTIVATIONS), "log_softmax", "softmax", "softmin"]
__all__ += ["_Reduction", "handle_torch_function", "has_torch_function", "has_torch_function_variadic"]
__all__ += ["multi_head_attention_forward", "upsample", "upsample_bilinear", "upsample_nearest"]
