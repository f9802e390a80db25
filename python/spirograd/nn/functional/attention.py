"""Attention: averages of values, weighted by the similarity of their keys to a query."""

from __future__ import annotations

import math

from ... import _core
from ..._core import Device, Tensor, _attention, arange, where
from ...base.casts import narrow
from .activation import softmax

__all__ = ["scaled_dot_product_attention"]


@narrow
def scaled_dot_product_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Tensor:
    """Computes softmax(query @ key.mT * scale) @ value (Vaswani et al., 2017).

    Args:
        query: [..., targets, n].
        key: [..., sources, n].
        value: [..., sources, m].
        attn_mask: a tensor that broadcasts to [..., targets, sources]: bool, True for a visible source, or numbers to
            add to the products. A target without visible sources gets zeros.
        dropout_p: probability of dropping a weight; pass 0 in evaluation.
        is_causal: whether target i sees only the sources 0 to i; attn_mask is None then.
        scale: the scale of the products, by default 1 / sqrt(n).
        enable_gqa: whether key and value may have fewer heads (dimension -3), each for a group of heads of the query.

    Returns:
        [..., targets, m].

    Raises:
        ValueError: the shapes do not fit, both attn_mask and is_causal are given, or dropout_p is not a probability.

    Example:
        >>> q, k, v = sg.randn(2, 5, 8), sg.randn(2, 6, 8), sg.randn(2, 6, 4)
        >>> sg.nn.functional.scaled_dot_product_attention(q, k, v).shape
        (2, 5, 4)
    """
    op = "scaled_dot_product_attention"
    if attn_mask is not None and is_causal:
        raise ValueError(f"{op}: both attn_mask and is_causal are given; put the triangle into the mask")
    shapes = f"query {list(query.shape)}, key {list(key.shape)}, value {list(value.shape)}"
    if min(query.ndim, key.ndim, value.ndim) < 2:
        raise ValueError(f"{op}: {shapes}; use two dimensions or more")
    if query.shape[-1] != key.shape[-1] or key.shape[-2] != value.shape[-2]:
        raise ValueError(f"{op}: {shapes}; use [..., targets, n], [..., sources, n] and [..., sources, m]")
    if not 0 <= dropout_p <= 1:
        raise ValueError(f"{op}: dropout_p is {dropout_p}; use a probability between 0 and 1")
    _check_heads(query, key, value, enable_gqa)
    scale = 1 / math.sqrt(max(query.shape[-1], 1)) if scale is None else scale
    if dropout_p != 1:
        return _attention(query, key, value, scale, is_causal, attn_mask, dropout_p)
    return _attention(query, key, value, scale, is_causal, attn_mask) * 0


def attention_weights(query: Tensor, key: Tensor, scale: float, mask: Tensor | None) -> Tensor:
    """The weights softmax(query @ key.mT * scale) with a mask: [..., targets, sources]."""
    scores = (query * scale) @ key.mT
    if mask is None:
        return softmax(scores, -1)
    scores = where(mask, scores, -math.inf) if mask.dtype == _core.bool else scores + mask
    nothing = scores.amax(-1, keepdim=True) == -math.inf
    weights: Tensor = where(nothing, 0.0, softmax(where(nothing, 0.0, scores), -1))
    return weights


def triangle(targets: int, sources: int, device: Device) -> Tensor:
    """A mask [targets, sources] that is True where the source does not come after the target."""
    return arange(sources, device=device) <= arange(targets, device=device).unsqueeze(1)


def _check_heads(query: Tensor, key: Tensor, value: Tensor, enable_gqa: bool) -> None:
    heads, *own = (x.shape[-3] if x.ndim > 2 else 1 for x in (query, key, value))
    for name, n in zip(("key", "value"), own, strict=True):
        if n != heads and (heads % n if enable_gqa and n else n != 1 and heads != 1):
            raise ValueError(
                f"scaled_dot_product_attention: {heads} heads of the query for {n} of {name}; "
                + ("use a multiple" if enable_gqa else "use the same number, or enable_gqa")
            )
