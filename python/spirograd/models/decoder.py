"""What models of sequences share: scores of the next token, and a cache of what was read before."""

from __future__ import annotations

import math
from abc import abstractmethod
from typing import Any

from .. import nn
from .._core import Device, Tensor, _attention_after, arange, float32, int32, is_grad_enabled, zeros
from .pretrained import Pretrained

__all__ = ["Decoder", "KeyValueCache", "attend"]


class Decoder(Pretrained):
    """Tokens -> scores of the next one: [batch, time] -> [batch, time, vocabulary].

    Attributes:
        context: how many tokens it reads at most; None: any number.
    """

    context: int | None

    @abstractmethod
    def hidden(self, tokens: Tensor, cache: Any = None) -> Tensor:
        """Features, not yet normalised, from which `scores` follow: [batch, time] -> [batch, time, width].

        Args:
            tokens: int64; with a cache, they follow what it has.
            cache: of new_cache(). It takes the tokens in; the caller says with cache.advance() how many of them count.
        """

    @abstractmethod
    def scores(self, hidden: Tensor) -> Tensor:
        """[..., width] -> [..., vocabulary]: logarithms of weights of the next token."""

    @abstractmethod
    def new_cache(self, batch: int, length: int) -> Any:
        """An empty cache for `batch` sequences of up to `length` tokens."""

    def forward(self, tokens: Tensor, cache: Any = None) -> Tensor:
        return self.scores(self.hidden(tokens, cache))


class KeyValueCache:
    """Keys and values of the tokens that were read, for each layer: what attention needs of them later.

    Its memory is of one size from the beginning, and how far it is filled is a tensor, so that reading one more token
    is the same work each time.

    Args:
        layers: of the model.
        batch: sequences.
        length: tokens of each, at most.
        heads: of keys and values.
        size: of a head.
        device: where it is.
        dtype: of keys and values.

    Attributes:
        position: int32 [batch], how many tokens of each sequence count.
        layers: [batch * length, 2 * heads * size] each: a row holds the keys of a token, then its values.
    """

    def __init__(self, layers: int, batch: int, length: int, heads: int, size: int, device: Device, dtype: Any) -> None:
        self.batch, self.length, self.heads, self.size = batch, length, heads, size
        self.position = zeros(batch, dtype=int32, device=device)
        self.rows = arange(batch, device=device).unsqueeze(1) * length
        self.layers = [zeros(batch * length, 2 * heads * size, dtype=dtype, device=device) for _ in range(layers)]

    def places(self, time: int) -> Tensor:
        """The positions of the next tokens: [batch, time]."""
        return self.position.unsqueeze(1) + arange(time, dtype=int32, device=self.position.device)

    def store(self, layer: int, both: Tensor) -> tuple[Tensor, Tensor]:
        """Takes in keys and values of the next tokens.

        Args:
            layer: whose they are.
            both: [batch, time, 2 * heads * size], keys before values.

        Returns:
            All keys and all values, [batch, heads, length, size] each. Places that are not filled hold anything finite.
        """
        memory = self.layers[layer]
        rows = self.rows + self.places(both.shape[1])
        memory[rows.flatten()] = both.flatten(0, 1).to(memory.dtype)
        keys, values = memory.reshape(self.batch, self.length, 2, self.heads, self.size).unbind(2)
        return keys.transpose(1, 2), values.transpose(1, 2)

    def clear(self) -> None:
        """Nothing counts any more."""
        self.position.zero_()

    def advance(self, count: int | Tensor) -> None:
        """The next `count` tokens that were taken in count: a number, or one for each sequence."""
        self.position.add_(count)

    def reorder(self, rows: Tensor) -> None:
        """Sequence i becomes what sequence rows[i] was."""
        self.position.copy_(self.position[rows])
        for memory in self.layers:
            sequences = memory.reshape(self.batch, -1)
            sequences.copy_(sequences[rows])


def attend(query: Tensor, both: Tensor, cache: KeyValueCache | None, layer: int, dropout: float = 0.0) -> Tensor:
    """Causal attention, where a head of keys and values may serve several of the query's.

    Args:
        query: [batch, time, heads, size].
        both: keys and values of the same tokens, [batch, time, 2 * groups * size], keys first.
        cache: what came before; takes the keys and values in.
        layer: of the cache.
        dropout: probability that a weight becomes 0; without a cache.

    Returns:
        [batch, time, heads * size].
    """
    query, scale = query.transpose(1, 2), 1 / math.sqrt(query.shape[-1])
    if cache is None:
        key, value = both.unflatten(-1, (2, -1, query.shape[-1])).permute(2, 0, 3, 1, 4).unbind(0)
        y = nn.functional.scaled_dot_product_attention(
            query, key, value, None, dropout, is_causal=True, scale=scale, enable_gqa=True
        )
    else:
        key, value = cache.store(layer, both)
        y = _attention_after(query, key.to(query.dtype), value.to(query.dtype), cache.position, scale)
    return y.transpose(1, 2).flatten(2)


_FOLDS = 8  # outputs an input, up to which each may fold the norm for itself


def product(x: Tensor, layer: nn.Module, norm: nn.Module | None = None) -> Tensor:
    """layer(norm(x)), of an embedding the product with its table: [..., inputs] -> [..., outputs].

    For one token on a GPU, that of a plain Linear is one kernel: each output folds its row of the weight, and the norm
    with it.
    """
    is_plain = type(layer) is nn.Linear and layer._hooks is None and "forward" not in vars(layer)
    if not is_plain and not isinstance(layer, nn.Embedding):
        y: Tensor = layer(x if norm is None else norm(x))
        return y
    assert isinstance(layer, (nn.Linear, nn.Embedding))
    bias = getattr(layer, "bias", None)
    outputs, inputs = layer.weight.shape
    alone = math.prod(x.shape[:-1]) == 1 and x.device.kind == "gpu" and not is_grad_enabled()
    if norm is not None and not (alone and outputs <= _FOLDS * inputs):
        x, norm = norm(x), None
    if not alone:
        return nn.functional.linear(x, layer.weight, bias)
    wide = float32 if x.element_size() == 2 else x.dtype  # half types are multiplied as float32
    rows = x.reshape(1, inputs).expand(outputs, inputs)
    y = ((rows if norm is None else norm(rows)).to(wide) * layer.weight.to(wide)).sum(-1).to(x.dtype)
    return (y if bias is None else y + bias).reshape(*x.shape[:-1], outputs)
