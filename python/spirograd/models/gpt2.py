"""GPT-2 (Radford et al., 2019): norms before each part, learned positions, one table of tokens for both ends."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, ClassVar

from .. import nn
from .._core import Tensor, arange
from .decoder import Decoder, KeyValueCache, attend, product

__all__ = ["GPT2"]

F = nn.functional


class _Attention(nn.Module):
    def __init__(self, width: int, heads: int, dropout: float) -> None:
        super().__init__()
        self.heads = heads
        self.c_attn = nn.Linear(width, 3 * width)
        self.c_proj = nn.Linear(width, width)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor, norm: nn.Module, cache: KeyValueCache | None, layer: int) -> Tensor:
        width = x.shape[-1]
        made = product(x, self.c_attn, norm)  # queries, keys, values
        query = made[..., :width].unflatten(-1, (self.heads, -1))
        p = self.dropout.p if self.training else 0.0
        return self.dropout(product(attend(query, made[..., width:], cache, layer, p), self.c_proj))


class _Products(nn.Module):
    def __init__(self, width: int, dropout: float) -> None:
        super().__init__()
        self.c_fc = nn.Linear(width, 4 * width)
        self.c_proj = nn.Linear(4 * width, width)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor, norm: nn.Module) -> Tensor:
        return self.dropout(product(F.gelu(product(x, self.c_fc, norm), approximate="tanh"), self.c_proj))


class _Block(nn.Module):
    def __init__(self, width: int, heads: int, dropout: float) -> None:
        super().__init__()
        self.ln_1, self.attn = nn.LayerNorm(width), _Attention(width, heads, dropout)
        self.ln_2, self.mlp = nn.LayerNorm(width), _Products(width, dropout)

    def forward(self, x: Tensor, cache: KeyValueCache | None, layer: int) -> Tensor:
        x = x + self.attn(x, self.ln_1, cache, layer)
        y: Tensor = x + self.mlp(x, self.ln_2)
        return y


class GPT2(Decoder):
    """Tokens [batch, time] -> scores of the next one [batch, time, vocabulary].

    Initial values are those of the paper: normal with deviation 0.02, smaller where a part adds to its input.

    Args:
        vocabulary: how many tokens there are.
        context: how many it reads at most.
        width: features of a token.
        layers: of attention and products.
        heads: of attention.
        dropout: probability of a zero, in training: after the embedding, of the weights of attention and in each part.

    Raises:
        ValueError: width is not a multiple of heads; or later, there are more tokens than the context holds.

    Example:
        >>> model = sg.models.GPT2(vocabulary=65, context=32, width=16, layers=2, heads=2)
        >>> model(sg.zeros(1, 5, dtype=sg.int64)).shape
        (1, 5, 65)
    """

    published: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "gpt2": {"width": 768, "layers": 12, "heads": 12},
        "gpt2-medium": {"width": 1024, "layers": 24, "heads": 16},
        "gpt2-large": {"width": 1280, "layers": 36, "heads": 20},
        "gpt2-xl": {"width": 1600, "layers": 48, "heads": 25},
    }

    def __init__(
        self,
        vocabulary: int = 50257,
        context: int = 1024,
        width: int = 768,
        layers: int = 12,
        heads: int = 12,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        if width % heads:
            raise ValueError(f"GPT2: width {width} is not a multiple of heads {heads}")
        self.context, self.heads = context, heads
        self.wte = nn.Embedding(vocabulary, width)
        self.wpe = nn.Embedding(context, width)
        self.dropout = nn.Dropout(dropout)
        self.h = nn.ModuleList([_Block(width, heads, dropout) for _ in range(layers)])
        self.ln_f = nn.LayerNorm(width)
        for name, parameter in self.named_parameters():
            if parameter.ndim > 1:
                nn.init.normal_(parameter, std=0.02 / math.sqrt(2 * layers) if "c_proj" in name else 0.02)
            elif name.endswith("bias"):
                nn.init.zeros_(parameter)

    def hidden(self, tokens: Tensor, cache: KeyValueCache | None = None) -> Tensor:
        time, most = tokens.shape[1], self.wpe.num_embeddings
        if time > most:
            raise ValueError(f"GPT2: {time} tokens; it reads {most} at most")
        places = cache.places(time) if cache else arange(time, device=tokens.device)
        x: Tensor = self.dropout(self.wte(tokens) + self.wpe(places))
        for layer, block in enumerate(self.h):
            x = block(x, cache, layer)
        return x

    def scores(self, hidden: Tensor) -> Tensor:
        return product(hidden, self.wte, self.ln_f)

    def new_cache(self, batch: int, length: int) -> KeyValueCache:
        table = self.wte.weight
        size = table.shape[1] // self.heads
        return KeyValueCache(len(self.h), batch, length, self.heads, size, table.device, table.dtype)

    @classmethod
    def largest(cls, sizes: Mapping[str, Any]) -> int:
        return int(sizes["width"] * max(sizes["vocabulary"], sizes["context"]))

    @classmethod
    def arguments_of(cls, config: Mapping[str, Any]) -> dict[str, Any]:
        if (activation := config.get("activation_function", "gelu_new")) not in ("gelu_new", "gelu_pytorch_tanh"):
            raise ValueError(f"GPT2: activation_function is {activation}; only gelu_new is there")
        if (inner := config.get("n_inner")) not in (None, 4 * config["n_embd"]):
            raise ValueError(f"GPT2: n_inner is {inner}; only 4 * n_embd is there")
        names = {"vocabulary": "vocab_size", "context": "n_positions", "width": "n_embd", "layers": "n_layer"}
        return {own: config[name] for own, name in (names | {"heads": "n_head"}).items()}

    def own_names(self, weights: dict[str, Tensor]) -> dict[str, Tensor]:
        """The hub's products are [inputs, outputs]; its masks and its second name of the table are left out."""
        kept = {}
        for name, x in weights.items():
            name = name.removeprefix("transformer.")
            if name != "lm_head.weight" and not name.endswith((".attn.bias", ".attn.masked_bias")):
                kept[name] = x.T.contiguous() if ".c_" in name and x.ndim == 2 else x
        return kept
