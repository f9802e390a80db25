"""The models that `train` makes and `generate` makes again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from .. import _core, nn
from .._core import Tensor
from .._grad_mode import no_grad

Reading = tuple[Tensor, Any]  # scores of the next character [vocabulary], and what to go on from


class Gpt(nn.Module):
    """Characters -> scores of the next one: [batch, time] -> [batch, time, vocabulary]. Blocks of causal attention."""

    def __init__(self, vocabulary: int, context: int, layers: int, heads: int, width: int, dropout: float) -> None:
        super().__init__()
        self.context = context
        self.characters = nn.Embedding(vocabulary, width)
        self.positions = nn.Embedding(context, width)
        self.blocks = nn.Sequential(*(nn.TransformerBlock(width, heads, dropout=dropout) for _ in range(layers)))
        self.norm = nn.LayerNorm(width)
        self.scores = nn.Linear(width, vocabulary)
        for table in (self.characters, self.positions):
            nn.init.normal_(table.weight, std=0.02)

    def forward(self, x: Tensor) -> Tensor:
        x = self.characters(x) + self.positions.weight[: x.shape[1]]
        scores: Tensor = self.scores(self.norm(self.blocks(x)))
        return scores

    def read(self, numbers: Sequence[int], before: Any = None) -> Reading:
        """Scores of what follows these characters. The window has one length, so that one plan serves every step."""
        window = [*(before or []), *numbers][-self.context :]
        padded = window + [0] * (self.context - len(window))
        with no_grad():
            return self(_core.tensor([padded], device=self.scores.weight.device))[0, len(window) - 1], window


class Lstm(nn.Module):
    """Characters -> scores of the next one: [batch, time] -> [batch, time, vocabulary]. Layers of LSTM."""

    def __init__(self, vocabulary: int, layers: int, width: int, dropout: float) -> None:
        super().__init__()
        self.characters = nn.Embedding(vocabulary, width)
        self.cells = nn.LSTM(width, width, layers, dropout=dropout if layers > 1 else 0.0, batch_first=True)
        self.scores = nn.Linear(width, vocabulary)

    def forward(self, x: Tensor) -> Tensor:
        scores: Tensor = self.scores(self.cells(self.characters(x))[0])
        return scores

    def read(self, numbers: Sequence[int], before: Any = None) -> Reading:
        """Scores of what follows these characters, and the state of the cells."""
        with no_grad():
            x = self.characters(_core.tensor([list(numbers)], device=self.scores.weight.device))
            y, state = self.cells(x, before)
            return self.scores(y[0, -1]), state


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
        return Gpt(len(s["vocabulary"]), s["context"], s["layers"], s["heads"], s["width"], s["dropout"])
    if s["model"] == "lstm":
        return Lstm(len(s["vocabulary"]), s["layers"], s["width"], s["dropout"])
    return {"mlp": mlp, "cnn": cnn}[s["model"]](s["side"], s["hidden"])
