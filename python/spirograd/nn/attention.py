"""The layer MultiheadAttention."""

from __future__ import annotations

import math

from .. import _core
from .._core import Tensor, cat, empty, pad, where
from ..base.types import DeviceLike, DTypeLike
from . import init
from ._arguments import described
from .functional import dropout as dropped
from .functional import linear, scaled_dot_product_attention
from .functional.attention import attention_weights, triangle
from .linear import Linear
from .module import Module
from .parameter import Parameter

__all__ = ["MultiheadAttention"]


@described()
class MultiheadAttention(Module):
    """Computes attention in several heads, each on a part of the features (Vaswani et al., 2017).

    Args:
        embed_dim: number of features of the query and of the result.
        num_heads: number of heads; each gets an equal part of the features.
        dropout: probability of dropping a weight of the attention, in training.
        bias: whether the products have a bias.
        add_bias_kv: whether to add a source whose key and value are the parameters bias_k and bias_v.
        add_zero_attn: whether to add a source whose key and value are zeros.
        kdim: number of features of the keys, by default embed_dim.
        vdim: number of features of the values, by default embed_dim.
        batch_first: whether tensors are [batch, time, features], not [time, batch, features].

    Raises:
        ValueError: embed_dim is not a multiple of num_heads, or a shape does not fit.

    Example:
        >>> x = sg.ones(2, 5, 8)
        >>> y, weights = sg.nn.MultiheadAttention(8, 2, batch_first=True)(x, x, x)
        >>> y.shape, weights.shape
        ((2, 5, 8), (2, 5, 5))
    """

    _shown = ""

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        dropout: float = 0.0,
        bias: bool = True,
        add_bias_kv: bool = False,
        add_zero_attn: bool = False,
        kdim: int | None = None,
        vdim: int | None = None,
        batch_first: bool = False,
        device: DeviceLike | None = None,
        dtype: DTypeLike | None = None,
    ) -> None:
        super().__init__()
        if embed_dim < 1 or num_heads < 1 or embed_dim % num_heads:
            raise ValueError(f"MultiheadAttention: embed_dim {embed_dim} is not a multiple of num_heads {num_heads}")
        self.embed_dim, self.num_heads = embed_dim, num_heads
        self.head_dim = embed_dim // num_heads
        self.dropout, self.batch_first = dropout, batch_first
        self.kdim = embed_dim if kdim is None else kdim
        self.vdim = embed_dim if vdim is None else vdim

        def made(*shape: int) -> Parameter:
            return Parameter(empty(shape, device=device, dtype=dtype))

        if self.kdim == self.vdim == embed_dim:
            self.in_proj_weight = made(3 * embed_dim, embed_dim)
        else:
            self.q_proj_weight = made(embed_dim, embed_dim)
            self.k_proj_weight = made(embed_dim, self.kdim)
            self.v_proj_weight = made(embed_dim, self.vdim)
        self.in_proj_bias = made(3 * embed_dim) if bias else None
        self.bias_k = made(1, 1, embed_dim) if add_bias_kv else None
        self.bias_v = made(1, 1, embed_dim) if add_bias_kv else None
        self.add_zero_attn = add_zero_attn
        self.out_proj = Linear(embed_dim, embed_dim, bias=bias, device=device, dtype=dtype)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draws new initial values."""
        for name, parameter in self.named_parameters(recurse=False):
            if name.endswith("weight"):
                init.xavier_uniform_(parameter)
            elif name in ("bias_k", "bias_v"):
                init.xavier_normal_(parameter)
            else:
                init.zeros_(parameter)
        self.out_proj.reset_parameters()
        if self.out_proj.bias is not None:
            init.zeros_(self.out_proj.bias)

    def forward(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        key_padding_mask: Tensor | None = None,
        need_weights: bool = True,
        attn_mask: Tensor | None = None,
        average_attn_weights: bool = True,
        is_causal: bool = False,
    ) -> tuple[Tensor, Tensor | None]:
        """Returns the result and the weights.

        Args:
            query: [targets, batch, embed_dim], [batch, targets, embed_dim] with batch_first, or without a batch.
            key: [sources, batch, kdim], in the layout of query.
            value: [sources, batch, vdim], in the layout of query.
            key_padding_mask: [batch, sources]: bool, True for a masked source, or numbers to add to the scores.
            need_weights: whether to return the weights; without them, the call is faster.
            attn_mask: [targets, sources] or [batch * num_heads, targets, sources]: bool, True for a masked source, or
                numbers to add to the scores.
            average_attn_weights: whether to average the weights over the heads to [batch, targets, sources]; else they
                are [batch, num_heads, targets, sources].
            is_causal: whether target i sees only the sources 0 to i. With attn_mask, it states that the mask is causal.

        Raises:
            ValueError: a shape does not fit.
        """
        if query.ndim not in (2, 3) or not query.ndim == key.ndim == value.ndim:
            raise ValueError(
                f"MultiheadAttention: query {list(query.shape)}, key {list(key.shape)}, value {list(value.shape)}; "
                "use 3 dimensions, or 2 without a batch"
            )
        batched, time = query.ndim == 3, 1 if query.ndim == 3 and self.batch_first else 0
        for name, x, size in (("query", query, self.embed_dim), ("key", key, self.kdim), ("value", value, self.vdim)):
            if x.shape[-1] != size:
                raise ValueError(f"MultiheadAttention: {name} has shape {list(x.shape)}, its last size must be {size}")
        heads = [self._heads(x, time) for x in self._projected(query, key, value)]
        batch, targets, sources = heads[0].shape[0], heads[0].shape[2], heads[1].shape[2]
        mask = self._mask(attn_mask, key_padding_mask, is_causal, need_weights, (batch, targets, sources), query)
        if more := int(self.bias_k is not None) + self.add_zero_attn:
            if is_causal and mask is None:
                mask = triangle(targets, sources, query.device)
            heads[1:] = self._with_more(*heads[1:])
            mask = mask if mask is None else pad(mask, (0, more), value=1 if mask.dtype == _core.bool else 0)
        probability = self.dropout if self.training else 0.0
        weights: Tensor | None = None
        if need_weights:
            if is_causal and mask is None:
                mask = triangle(targets, sources, query.device)
            weights = attention_weights(heads[0], heads[1], 1 / math.sqrt(self.head_dim), mask)
            weights = dropped(weights, probability)
            y = weights @ heads[2]
        else:
            y = scaled_dot_product_attention(
                heads[0], heads[1], heads[2], mask, probability, is_causal and mask is None
            )
        y = y.permute(0, 2, 1, 3) if time else y.permute(2, 0, 1, 3)
        y = self.out_proj(y.reshape(*y.shape[:2], self.embed_dim))
        if weights is not None:
            weights = weights.mean(1) if average_attn_weights else weights
            weights = weights if batched else weights.squeeze(0)
        return (y if batched else y.squeeze(1)), weights

    def _projected(self, query: Tensor, key: Tensor, value: Tensor) -> list[Tensor]:
        """The products with the three weights; equal inputs share a product."""
        n, bias = self.embed_dim, self.in_proj_bias
        biases = [None] * 3 if bias is None else [bias[:n], bias[n : 2 * n], bias[2 * n :]]
        if self.kdim == self.vdim == n:
            if query is key is value:
                return list(linear(query, self.in_proj_weight, bias).chunk(3, -1))
            if key is value:
                rest = linear(key, self.in_proj_weight[n:], None if bias is None else bias[n:]).chunk(2, -1)
                return [linear(query, self.in_proj_weight[:n], biases[0]), *rest]
            weights = [self.in_proj_weight[:n], self.in_proj_weight[n : 2 * n], self.in_proj_weight[2 * n :]]
        else:
            weights = [self.q_proj_weight, self.k_proj_weight, self.v_proj_weight]
        return [linear(x, w, b) for x, w, b in zip((query, key, value), weights, biases, strict=True)]

    def _heads(self, x: Tensor, time: int) -> Tensor:
        """The input as [batch, heads, time, features of a head]."""
        x = x.unsqueeze(1) if x.ndim == 2 else x
        x = x.reshape(*x.shape[:2], self.num_heads, self.head_dim)
        return x.permute(0, 2, 1, 3) if time else x.permute(1, 2, 0, 3)

    def _with_more(self, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
        """The keys and values of the heads, with those of the added sources."""
        batch, heads, _, features = key.shape
        keys, values = [key], [value]
        if self.bias_k is not None and self.bias_v is not None:
            for parts, own in ((keys, self.bias_k), (values, self.bias_v)):
                parts.append(own.reshape(1, heads, 1, features).expand(batch, -1, -1, -1).to(key.dtype))
        if self.add_zero_attn:
            for parts in (keys, values):
                parts.append(key.new_zeros(batch, heads, 1, features))
        return cat(keys, 2), cat(values, 2)

    def _mask(
        self,
        mask: Tensor | None,
        padding: Tensor | None,
        is_causal: bool,
        need_weights: bool,
        sizes: tuple[int, int, int],
        query: Tensor,
    ) -> Tensor | None:
        """Both masks as one: numbers to add to the scores, or a bool that is True for visible sources."""
        batch, targets, sources = sizes
        if is_causal and padding is None and (mask is None or not need_weights):
            return None
        if mask is not None:
            shapes = (targets, sources), (batch * self.num_heads, targets, sources)
            if tuple(mask.shape) not in shapes:
                raise ValueError(
                    f"MultiheadAttention: attn_mask has shape {list(mask.shape)}; use {list(shapes[0])} or "
                    f"{list(shapes[1])}"
                )
            if mask.ndim == 3:
                mask = mask.reshape(batch, self.num_heads, targets, sources)
        if padding is not None:
            if tuple(padding.shape) not in ((batch, sources), (sources,)):
                raise ValueError(
                    f"MultiheadAttention: key_padding_mask has shape {list(padding.shape)}; use {[batch, sources]}"
                )
            padding = padding.reshape(batch, 1, 1, sources)
        if is_causal and mask is None:
            mask = ~triangle(targets, sources, query.device)
        found = [m for m in (mask, padding) if m is not None]
        if not found:
            return None
        if all(m.dtype == _core.bool for m in found):
            return ~found[0] if len(found) == 1 else ~(found[0] | found[1])
        added = [where(m, -math.inf, 0.0).to(query.dtype) if m.dtype == _core.bool else m for m in found]
        return added[0] if len(added) == 1 else added[0] + added[1]
