"""The models that `train` makes and `generate` makes again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from .. import _core, nn
from .._core import Tensor
from ..models import GPT2, Decoder


class States:
    """What an LSTM remembers of sequences: h and c, [layers, batch, width] each."""

    def __init__(self, like: Tensor, layers: int, batch: int) -> None:
        self.h, self.c = (_core.zeros(layers, batch, like.shape[1], device=like.device) for _ in range(2))

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
            raise ValueError("Lstm: sequences of different lengths have no common steps; read them one by one")

    def reorder(self, rows: Tensor) -> None:
        """Sequence i becomes what sequence rows[i] was."""
        self.h.copy_(self.h[:, rows])
        self.c.copy_(self.c[:, rows])


class Lstm(Decoder):
    """Characters -> scores of the next one: [batch, time] -> [batch, time, vocabulary]. Layers of LSTM."""

    context = None

    def __init__(self, vocabulary: int, layers: int, width: int, dropout: float) -> None:
        super().__init__()
        self.characters = nn.Embedding(vocabulary, width)
        self.cells = nn.LSTM(width, width, layers, dropout=dropout if layers > 1 else 0.0, batch_first=True)
        self.last = nn.Linear(width, vocabulary)

    def hidden(self, tokens: Tensor, cache: States | None = None) -> Tensor:
        y: Tensor
        y, (h, c) = self.cells(self.characters(tokens), None if cache is None else (cache.h, cache.c))
        if cache is not None:
            cache.h.copy_(h)
            cache.c.copy_(c)
        return y

    def scores(self, hidden: Tensor) -> Tensor:
        y: Tensor = self.last(hidden)
        return y

    def new_cache(self, batch: int, length: int) -> States:
        return States(self.characters.weight, self.cells.num_layers, batch)


def mlp(side: int, hidden: Sequence[int]) -> nn.Module:
    """Grey images -> scores of 10 classes: [batch, 1, side, side] -> [batch, 10]."""
    layers: list[nn.Module] = [nn.Flatten()]
    for fan_in, fan_out in pairwise([side * side, *hidden]):
        layers += [nn.Linear(fan_in, fan_out), nn.ReLU()]
    return nn.Sequential(*layers, nn.Linear([side * side, *hidden][-1], 10))


def cnn(side: int, hidden: Sequence[int]) -> nn.Module:
    """The same with convolutions: each halves the sides."""
    layers: list[nn.Module] = []
    for channels_in, channels in pairwise([1, *hidden]):
        layers += [nn.Conv2d(channels_in, channels, 3, padding=1), nn.BatchNorm2d(channels), nn.ReLU()]
        if side > 1:
            layers.append(nn.MaxPool2d(2))
            side //= 2
    return nn.Sequential(*layers, nn.Flatten(), nn.Linear([1, *hidden][-1] * side * side, 10))


def make(settings: Mapping[str, Any]) -> nn.Module:
    """The model of these settings; each knows those that it needs."""
    s = settings
    if s["model"] == "gpt":
        return GPT2(len(s["vocabulary"]), s["context"], s["width"], s["layers"], s["heads"], s["dropout"])
    if s["model"] == "lstm":
        return Lstm(len(s["vocabulary"]), s["layers"], s["width"], s["dropout"])
    return {"mlp": mlp, "cnn": cnn}[s["model"]](s["side"], s["hidden"])
