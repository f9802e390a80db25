"""The models that `train` makes, and `generate` and `chat` make again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from .. import nn
from .._core import Device
from ..models import GPT2, LSTMDecoder
from ..text import Tokenizer, from_json
from ..utils import checkpoints
from .options import UserError


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
    if s["model"] in ("mlp", "cnn"):
        return {"mlp": mlp, "cnn": cnn}[s["model"]](s["side"], s["hidden"])
    if s["model"] == "gpt":
        return GPT2(s["vocabulary"], s["context"], s["width"], s["layers"], s["heads"], s["dropout"])
    return LSTMDecoder(s["vocabulary"], s["width"], s["layers"], s["dropout"])


def read(command: str, source: str, device: Device) -> tuple[Any, Tokenizer]:
    """The language model of a training, in evaluation, and its tokenizer.

    Args:
        command: in errors.
        source: the folder of checkpoints, or one of them; of `train text` or of an example.
        device: of the model.

    Raises:
        UserError: there is none, or it is of something else.
    """
    found = checkpoints.peek(source)
    if found is None:
        raise UserError(f"{command}: {source} has no checkpoint; give a folder of `train text` or of an example")
    settings = found.extra
    if not isinstance(settings, dict) or "tokenizer" not in settings:
        raise UserError(f"{command}: {found.path} is no checkpoint of a language model")
    model = make(settings).to(device).eval()
    checkpoints.restore(found.path, model=model)
    return model, from_json(settings["tokenizer"])
