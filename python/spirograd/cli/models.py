"""The models that `train` makes and `generate` makes again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from .. import _core, nn
from .._core import Tensor
from ..base.grad_mode import no_grad

Reading = tuple[Tensor, Any]  # scores of the next character [vocabulary], and what to go on from


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


def gpt(vocabulary: int, context: int, layers: int, heads: int, width: int, dropout: float) -> nn.Module:
    """Characters -> scores of the next one: [batch, time] -> [batch, time, vocabulary]. That of examples/gpt.py."""
    from ..examples import gpt as example

    sizes = example.SMALL._replace(context=context, layers=layers, heads=heads, width=width, dropout=dropout)
    model: nn.Module = example.GPT(vocabulary, sizes)
    return model


def read(model: Any, numbers: Sequence[int], before: Any = None) -> Reading:
    """Scores of the character after these, which follow what was read `before`."""
    device = next(model.parameters()).device
    with no_grad():
        if isinstance(model, Lstm):
            x = model.characters(_core.tensor([list(numbers)], device=device))
            y, states = model.cells(x, before)
            return model.scores(y[0, -1]), states
        window = [*(before or []), *numbers][-model.context :]
        # Of one length, and the place in it a tensor, so that one plan serves every step. What is behind is not seen.
        padded = window + [0] * (model.context - len(window))
        scores = model(_core.tensor([padded], device=device))[0]
        return scores.index_select(0, _core.tensor([len(window) - 1], device=device))[0], window


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
        return gpt(len(s["vocabulary"]), s["context"], s["layers"], s["heads"], s["width"], s["dropout"])
    if s["model"] == "lstm":
        return Lstm(len(s["vocabulary"]), s["layers"], s["width"], s["dropout"])
    return {"mlp": mlp, "cnn": cnn}[s["model"]](s["side"], s["hidden"])
