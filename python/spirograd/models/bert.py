"""BERT (Devlin et al., 2019): an encoder that reads a text in both directions, and guesses tokens that are masked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from .. import _core, nn
from .._core import Tensor, arange, zeros_like
from .pretrained import Pretrained

__all__ = ["Bert"]

F = nn.functional


class _Embeddings(nn.Module):
    def __init__(self, vocabulary: int, context: int, kinds: int, width: int, eps: float, dropout: float) -> None:
        super().__init__()
        self.word_embeddings = nn.Embedding(vocabulary, width)
        self.position_embeddings = nn.Embedding(context, width)
        self.token_type_embeddings = nn.Embedding(kinds, width)
        self.LayerNorm, self.dropout = nn.LayerNorm(width, eps), nn.Dropout(dropout)

    def forward(self, tokens: Tensor, kinds: Tensor) -> Tensor:
        places = arange(tokens.shape[1], device=tokens.device)
        x = self.word_embeddings(tokens) + self.position_embeddings(places) + self.token_type_embeddings(kinds)
        y: Tensor = self.dropout(self.LayerNorm(x))
        return y


class _Attention(nn.Module):
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.query, self.key, self.value = (nn.Linear(width, width) for _ in range(3))

    def forward(self, x: Tensor, mask: Tensor | None) -> Tensor:
        query, key, value = (
            p(x).unflatten(-1, (self.heads, -1)).transpose(1, 2) for p in (self.query, self.key, self.value)
        )
        return F.scaled_dot_product_attention(query, key, value, mask).transpose(1, 2).flatten(2)


class _Added(nn.Module):
    """A product that is added to the input of the part before it, then normalised."""

    def __init__(self, inputs: int, width: int, eps: float, dropout: float) -> None:
        super().__init__()
        self.dense, self.dropout = nn.Linear(inputs, width), nn.Dropout(dropout)
        self.LayerNorm = nn.LayerNorm(width, eps)

    def forward(self, x: Tensor, before: Tensor) -> Tensor:
        y: Tensor = self.LayerNorm(self.dropout(self.dense(x)) + before)
        return y


class _Layer(nn.Module):
    def __init__(self, width: int, inner: int, heads: int, eps: float, dropout: float) -> None:
        super().__init__()
        output = _Added(width, width, eps, dropout)
        self.attention = nn.ModuleDict({"self": _Attention(width, heads), "output": output})
        self.intermediate = nn.ModuleDict({"dense": nn.Linear(width, inner)})
        self.output = _Added(inner, width, eps, dropout)

    def forward(self, x: Tensor, mask: Tensor | None) -> Tensor:
        x = self.attention["output"](self.attention["self"](x, mask), x)
        y: Tensor = self.output(F.gelu(self.intermediate["dense"](x)), x)
        return y


class Bert(Pretrained):
    """Tokens [batch, time] -> scores of the token in each place [batch, time, vocabulary].

    `features` gives what other tasks read: [batch, time, width].

    Args:
        vocabulary: how many tokens there are.
        width: features of a token.
        inner: features between the products of a layer.
        layers: of attention and products.
        heads: of attention.
        context: how many tokens it reads at most.
        kinds: of parts of a text.
        eps: of the norms.
        dropout: probability of a zero, in training.

    Raises:
        ValueError: width is not a multiple of heads.

    Example:
        >>> model = sg.models.Bert(100, width=16, inner=32, layers=2, heads=2, context=8)
        >>> model(sg.zeros(1, 5, dtype=sg.int64)).shape
        (1, 5, 100)
    """

    published: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "bert-base-uncased": {},
        "bert-large-uncased": {"width": 1024, "inner": 4096, "layers": 24, "heads": 16},
        "bert-base-cased": {"vocabulary": 28996},
    }

    def __init__(
        self,
        vocabulary: int = 30522,
        width: int = 768,
        inner: int = 3072,
        layers: int = 12,
        heads: int = 12,
        context: int = 512,
        kinds: int = 2,
        eps: float = 1e-12,
        dropout: float = 0.1,
    ) -> None:
        super().__init__()
        if width % heads:
            raise ValueError(f"Bert: width {width} is not a multiple of heads {heads}")
        self.embeddings = _Embeddings(vocabulary, context, kinds, width, eps, dropout)
        self.layers = nn.ModuleList([_Layer(width, inner, heads, eps, dropout) for _ in range(layers)])
        self.transform = nn.Linear(width, width)
        self.norm = nn.LayerNorm(width, eps)
        self.bias = nn.Parameter(_core.zeros(vocabulary))
        for parameter in self.parameters():
            if parameter.ndim > 1:
                nn.init.normal_(parameter, std=0.02)

    def features(self, tokens: Tensor, mask: Tensor | None = None, kinds: Tensor | None = None) -> Tensor:
        """[batch, time] -> [batch, time, width].

        Args:
            tokens: int64.
            mask: bool or numbers, true where there is a token; None: everywhere.
            kinds: int64, to which part of the text a token belongs; None: to part 0.
        """
        seen = None if mask is None else mask.bool().unsqueeze(1).unsqueeze(1)
        x: Tensor = self.embeddings(tokens, zeros_like(tokens) if kinds is None else kinds)
        for layer in self.layers:
            x = layer(x, seen)
        return x

    def forward(self, tokens: Tensor, mask: Tensor | None = None, kinds: Tensor | None = None) -> Tensor:
        x = self.norm(F.gelu(self.transform(self.features(tokens, mask, kinds))))
        return F.linear(x, self.embeddings.word_embeddings.weight, self.bias)

    @classmethod
    def largest(cls, sizes: Mapping[str, Any]) -> int:
        return int(sizes["width"] * max(sizes["vocabulary"], sizes["context"], sizes["kinds"]))

    @classmethod
    def arguments_of(cls, config: Mapping[str, Any]) -> dict[str, Any]:
        if (activation := config.get("hidden_act", "gelu")) != "gelu":
            raise ValueError(f"Bert: hidden_act is {activation}; only gelu is there")
        names = {"vocabulary": "vocab_size", "width": "hidden_size", "inner": "intermediate_size"}
        names |= {"layers": "num_hidden_layers", "heads": "num_attention_heads", "context": "max_position_embeddings"}
        names |= {"kinds": "type_vocab_size", "eps": "layer_norm_eps", "dropout": "hidden_dropout_prob"}
        return {own: config[name] for own, name in names.items()}

    def own_names(self, weights: dict[str, Tensor]) -> dict[str, Tensor]:
        """Without what only other tasks need; old files call the weight and the bias of a norm gamma and beta."""
        head = "cls.predictions."
        moved = {
            "encoder.layer.": "layers.",
            f"{head}transform.dense.": "transform.",
            f"{head}transform.LayerNorm.": "norm.",
            f"{head}bias": "bias",
        }
        left_out = ("bert.pooler.", "pooler.", "cls.seq_relationship.", f"{head}decoder.")
        kept = {}
        for name, x in weights.items():
            if name.startswith(left_out) or name.endswith("position_ids"):
                continue
            name = name.replace("LayerNorm.gamma", "LayerNorm.weight").replace("LayerNorm.beta", "LayerNorm.bias")
            for theirs, own in moved.items():
                name = name.replace(theirs, own)
            kept[name.removeprefix("bert.")] = x
        return kept
