"""Layers of LSTM that read tokens: a model of language without a limit to what it reads."""

from __future__ import annotations

from .. import nn
from .._core import Tensor, zeros
from .decoder import Decoder

__all__ = ["LSTMDecoder"]


class LSTMStates:
    """What the layers remember of sequences: h and c, [layers, batch, width] each."""

    def __init__(self, like: Tensor, layers: int, batch: int) -> None:
        self.h, self.c = (zeros(layers, batch, like.shape[1], device=like.device) for _ in range(2))

    def clear(self) -> None:
        """Nothing was read."""
        self.h.zero_()
        self.c.zero_()

    def advance(self, count: int | Tensor) -> None:
        """All tokens that were read count.

        Raises:
            ValueError: they do not.
        """
        if isinstance(count, Tensor):
            raise ValueError("LSTMDecoder: sequences of different lengths have no common steps; read them one by one")

    def reorder(self, rows: Tensor) -> None:
        """Sequence i becomes what sequence rows[i] was."""
        self.h.copy_(self.h[:, rows])
        self.c.copy_(self.c[:, rows])


class LSTMDecoder(Decoder):
    """Tokens [batch, time] -> scores of the next one [batch, time, vocabulary].

    Args:
        vocabulary: how many tokens there are.
        width: features of a token, and of a state.
        layers: of LSTM.
        dropout: probability of a zero, in training: before, between and after the layers.

    Example:
        >>> model = sg.models.LSTMDecoder(vocabulary=65, width=16, layers=2)
        >>> model(sg.zeros(1, 5, dtype=sg.int64)).shape
        (1, 5, 65)
    """

    context = None

    def __init__(self, vocabulary: int, width: int, layers: int = 1, dropout: float = 0.0) -> None:
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, width)
        self.dropout = nn.Dropout(dropout)
        self.lstm = nn.LSTM(width, width, layers, dropout=dropout if layers > 1 else 0.0, batch_first=True)
        self.output = nn.Linear(width, vocabulary)

    def hidden(self, tokens: Tensor, cache: LSTMStates | None = None) -> Tensor:
        y: Tensor
        y, (h, c) = self.lstm(self.dropout(self.embedding(tokens)), None if cache is None else (cache.h, cache.c))
        if cache is not None:
            cache.h.copy_(h)
            cache.c.copy_(c)
        return y

    def scores(self, hidden: Tensor) -> Tensor:
        y: Tensor = self.output(self.dropout(hidden))
        return y

    def new_cache(self, batch: int, length: int) -> LSTMStates:
        return LSTMStates(self.embedding.weight, self.lstm.num_layers, batch)
