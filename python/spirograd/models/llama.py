"""Llama (Touvron et al., 2023) and its kin: norms without means, rotary positions, grouped queries, gated products."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, ClassVar

from .. import nn
from .._core import Tensor, arange, cat
from .decoder import Decoder, KeyValueCache, attend, product

__all__ = ["Llama"]

F = nn.functional


def rotate(x: Tensor, angles: Tensor) -> Tensor:
    """Turns feature i and feature i + size / 2 of each head by an angle (Su et al., 2021).

    Args:
        x: [batch, time, heads, size].
        angles: [batch or 1, time, 1, size / 2].
    """
    a, b = x.float().chunk(2, -1)
    cos, sin = angles.cos(), angles.sin()
    return cat([a * cos - b * sin, b * cos + a * sin], -1).to(x.dtype)


class _Attention(nn.Module):
    def __init__(self, width: int, heads: int, groups: int, size: int, bias: bool) -> None:
        super().__init__()
        self.size = size
        self.q_proj = nn.Linear(width, heads * size, bias=bias)
        self.k_proj = nn.Linear(width, groups * size, bias=bias)
        self.v_proj = nn.Linear(width, groups * size, bias=bias)
        self.o_proj = nn.Linear(heads * size, width, bias=False)

    def forward(self, x: Tensor, norm: nn.Module, angles: Tensor, cache: KeyValueCache | None, layer: int) -> Tensor:
        query, key = (
            rotate(product(x, p, norm).unflatten(-1, (-1, self.size)), angles) for p in (self.q_proj, self.k_proj)
        )
        both = cat([key.flatten(2), product(x, self.v_proj, norm)], -1)
        return product(attend(query, both, cache, layer), self.o_proj)


class _Products(nn.Module):
    """SwiGLU (Shazeer, 2020)."""

    def __init__(self, width: int, inner: int) -> None:
        super().__init__()
        self.gate_proj = nn.Linear(width, inner, bias=False)
        self.up_proj = nn.Linear(width, inner, bias=False)
        self.down_proj = nn.Linear(inner, width, bias=False)

    def forward(self, x: Tensor, norm: nn.Module) -> Tensor:
        return product(F.silu(product(x, self.gate_proj, norm)) * product(x, self.up_proj, norm), self.down_proj)


class _Block(nn.Module):
    def __init__(self, width: int, inner: int, heads: int, groups: int, size: int, eps: float, bias: bool) -> None:
        super().__init__()
        self.input_layernorm = nn.RMSNorm(width, eps)
        self.self_attn = _Attention(width, heads, groups, size, bias)
        self.post_attention_layernorm = nn.RMSNorm(width, eps)
        self.mlp = _Products(width, inner)

    def forward(self, x: Tensor, angles: Tensor, cache: KeyValueCache | None, layer: int) -> Tensor:
        x = x + self.self_attn(x, self.input_layernorm, angles, cache, layer)
        y: Tensor = x + self.mlp(x, self.post_attention_layernorm)
        return y


class Llama(Decoder):
    """Tokens [batch, time] -> scores of the next one [batch, time, vocabulary]. Qwen2's and Mistral's are of this kind.

    Args:
        vocabulary: how many tokens there are.
        width: features of a token.
        inner: features between the products of a layer.
        layers: of attention and products.
        heads: of attention.
        groups: heads of keys and values; None: as many.
        size: of a head; None: width / heads.
        context: how many tokens it reads at most.
        base: pair i of the features of a head turns by base ** (-2 * i / size) a token.
        scaling: slower turns for long contexts, as Llama 3.1 has them: factor, low_freq_factor, high_freq_factor and
            original_max_position_embeddings; None: none.
        eps: of the norms.
        bias: whether queries, keys and values have one.
        tied: the scores come from the table of tokens.

    Raises:
        ValueError: heads is not a multiple of groups.

    Example:
        >>> model = sg.models.Llama(65, width=16, inner=32, layers=2, heads=4, groups=2)
        >>> model(sg.zeros(1, 5, dtype=sg.int64)).shape
        (1, 5, 65)
    """

    published: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "llama-2-7b": {"eps": 1e-5},
        "llama-2-13b": {"width": 5120, "inner": 13824, "layers": 40, "heads": 40, "eps": 1e-5},
        "llama-3-8b": {"vocabulary": 128256, "inner": 14336, "groups": 8, "context": 8192, "base": 5e5, "eps": 1e-5},
        "tinyllama-1.1b": {"width": 2048, "inner": 5632, "layers": 22, "groups": 4, "context": 2048, "eps": 1e-5},
    }

    def __init__(
        self,
        vocabulary: int = 32000,
        width: int = 4096,
        inner: int = 11008,
        layers: int = 32,
        heads: int = 32,
        groups: int | None = None,
        size: int | None = None,
        context: int = 4096,
        base: float = 10000.0,
        scaling: Mapping[str, float] | None = None,
        eps: float = 1e-6,
        bias: bool = False,
        tied: bool = False,
    ) -> None:
        super().__init__()
        self.groups, self.size = groups or heads, size or width // heads
        if heads % self.groups:
            raise ValueError(f"Llama: heads {heads} is not a multiple of groups {groups}")
        self.context, self.base, self.scaling = context, base, scaling
        self.embed_tokens = nn.Embedding(vocabulary, width)
        blocks = [_Block(width, inner, heads, self.groups, self.size, eps, bias) for _ in range(layers)]
        self.layers = nn.ModuleList(blocks)
        self.norm = nn.RMSNorm(width, eps)
        self.lm_head = None if tied else nn.Linear(width, vocabulary, bias=False)
        for parameter in self.parameters():
            if parameter.ndim > 1:
                nn.init.normal_(parameter, std=0.02)

    def hidden(self, tokens: Tensor, cache: KeyValueCache | None = None) -> Tensor:
        time = tokens.shape[1]
        places = cache.places(time) if cache else arange(time, device=tokens.device).unsqueeze(0)
        angles = (places.unsqueeze(-1).float() * self._speeds(tokens.device)).unsqueeze(2)
        x: Tensor = self.embed_tokens(tokens)
        for layer, block in enumerate(self.layers):
            x = block(x, angles, cache, layer)
        return x

    def scores(self, hidden: Tensor) -> Tensor:
        return product(hidden, self.embed_tokens if self.lm_head is None else self.lm_head, self.norm)

    def new_cache(self, batch: int, length: int) -> KeyValueCache:
        table = self.embed_tokens.weight
        return KeyValueCache(len(self.layers), batch, length, self.groups, self.size, table.device, table.dtype)

    def _speeds(self, device: Any) -> Tensor:
        """By how much each pair of features turns a token: [size / 2]."""
        half = self.size // 2
        speeds = (arange(half, device=device).float() * (-math.log(self.base) / half)).exp()
        if self.scaling is None:
            return speeds
        s = self.scaling
        turns = speeds * (s["original_max_position_embeddings"] / (2 * math.pi))  # in the context of the training
        fast = (turns - s["low_freq_factor"]) / (s["high_freq_factor"] - s["low_freq_factor"])
        return (speeds / s["factor"]).lerp(speeds, fast.clamp(0, 1))

    @classmethod
    def largest(cls, sizes: Mapping[str, Any]) -> int:
        return int(sizes["width"] * sizes["vocabulary"])

    @classmethod
    def arguments_of(cls, config: Mapping[str, Any]) -> dict[str, Any]:
        scaling = config.get("rope_scaling") or config.get("rope_parameters") or {}
        kind = scaling.get("rope_type", scaling.get("type", "default"))
        if kind not in ("default", "llama3"):
            raise ValueError(f"Llama: positions of rope_type {kind}; only default and llama3 are there")
        if (activation := config.get("hidden_act", "silu")) != "silu":
            raise ValueError(f"Llama: hidden_act is {activation}; only silu is there")
        if config.get("attention_bias") or config.get("mlp_bias"):
            raise ValueError("Llama: only the queries, keys and values of qwen2 are products with a bias")
        names = {"vocabulary": "vocab_size", "width": "hidden_size", "inner": "intermediate_size"}
        names |= {"layers": "num_hidden_layers", "heads": "num_attention_heads", "context": "max_position_embeddings"}
        found = {own: config[name] for own, name in (names | {"eps": "rms_norm_eps"}).items()}
        found |= {"groups": config.get("num_key_value_heads"), "size": config.get("head_dim")}
        found["base"] = scaling.get("rope_theta", config.get("rope_theta", 10000.0))
        found["scaling"] = scaling if kind == "llama3" else None
        found["context"] = min(found["context"], config.get("sliding_window") or found["context"])
        found["bias"] = config.get("model_type") == "qwen2"
        return found | {"tied": config.get("tie_word_embeddings", False)}

    def own_names(self, weights: dict[str, Tensor]) -> dict[str, Tensor]:
        """Without the hub's prefix, its angles, and the second name of a table for both ends."""
        left_out = ("rotary_emb.inv_freq", "lm_head.weight") if self.lm_head is None else ("rotary_emb.inv_freq",)
        return {n.removeprefix("model."): x for n, x in weights.items() if not n.endswith(left_out)}
