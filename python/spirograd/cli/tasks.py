"""The tasks of `train`: batches of a text or of images, and how good the model is on held-out data."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from .. import _core, datasets, nn
from .._core import Device, Tensor
from ..base.grad_mode import no_grad
from .options import UserError

MOST_BATCHES = 20  # of the text held back that are looked at


class Task(ABC):
    """Batches for training, and an evaluation on the rest.

    Attributes:
        settings: of the model and the batches; a training is resumed only if they are the same.
        order: the generator that draws the batches.
    """

    settings: dict[str, Any]
    order: np.random.Generator

    @abstractmethod
    def loss(self, model: nn.Module) -> Tensor:
        """The loss of the next batch."""

    @abstractmethod
    def look(self, model: nn.Module) -> dict[str, float]:
        """How good the model is on held-out data."""


class Text(Task):
    """Pieces of a text, in which each character is predicted from those before; the last tenth is held out."""

    def __init__(self, options: Mapping[str, Any], device: Device) -> None:
        path = options["data"]
        try:
            text = datasets.tiny_shakespeare() if path == "shakespeare" else Path(path).read_text(encoding="utf-8")
        except UnicodeDecodeError as error:
            raise UserError(f"train: {path} is not text in UTF-8 ({error.reason} at byte {error.start})") from None
        vocabulary = "".join(sorted(set(text)))
        names = ("model", "layers", "width", "dropout", "context", "batch", "seed")
        self.settings = {name: options[name] for name in names} | {"task": "text", "vocabulary": vocabulary}
        if options["model"] == "gpt":
            self.settings["heads"] = options["heads"]
            if options["width"] % options["heads"]:
                raise UserError(f"train: --width {options['width']} is not a multiple of --heads {options['heads']}")
        numbers = {character: i for i, character in enumerate(vocabulary)}
        held_back = len(text) // 10
        if held_back <= options["context"] + 1:
            raise UserError(
                f"train: {path} has {len(text):,} characters; with --context {options['context']} it needs more than "
                f"{10 * (options['context'] + 1):,}"
            )
        tokens = _core.tensor(np.array([numbers[c] for c in text]), device=device)
        self.train, self.rest = tokens[:-held_back], tokens[-held_back:]
        self.batch, self.context, self.device = options["batch"], options["context"], device
        self.order = np.random.default_rng(options["seed"])

    def loss(self, model: nn.Module) -> Tensor:
        starts = self.order.integers(0, self.train.shape[0] - self.context, self.batch)
        return self.loss_at(model, self.train, starts)

    def look(self, model: nn.Module) -> dict[str, float]:
        starts = np.arange(0, self.rest.shape[0] - self.context, self.context)
        parts = [starts[i : i + self.batch] for i in range(0, len(starts) - self.batch + 1, self.batch)]
        with no_grad():
            losses = [self.loss_at(model, self.rest, part).item() for part in (parts or [starts])[:MOST_BATCHES]]
            return {"held back": sum(losses) / len(losses)}

    def loss_at(self, model: nn.Module, tokens: Tensor, starts: npt.NDArray[np.int64]) -> Tensor:
        """The loss of the pieces that begin at these places."""
        places = _core.tensor(starts, device=self.device).unsqueeze(1) + _core.arange(
            self.context + 1, device=self.device
        )
        pieces = tokens[places]
        scores = model(pieces[:, :-1])
        return _core.cross_entropy(scores.flatten(0, 1), pieces[:, 1:].flatten())


class Digits(Task):
    """Images of handwritten digits; a fifth is held out."""

    def __init__(self, options: Mapping[str, Any], device: Device) -> None:
        try:
            images, labels = datasets.digits() if options["data"] == "digits" else datasets.mnist("test")
        except datasets.DatasetUnavailableError as error:
            raise UserError(str(error)) from None
        side = round(images.shape[1] ** 0.5)
        names = ("model", "hidden", "batch", "seed")
        self.settings = {name: options[name] for name in names} | {"task": "digits", "side": side}
        self.settings["data"] = options["data"]
        mixed = np.random.default_rng(0).permutation(len(images))
        self.count = len(images) * 4 // 5
        if options["batch"] > self.count:
            raise UserError(f"train: --batch {options['batch']}: there are {self.count} images to train on")
        images = (images[mixed] - images.mean()) / images.std()
        self.images = _core.tensor(images.reshape(-1, 1, side, side), device=device)
        self.labels = _core.tensor(labels[mixed], device=device)
        self.batch, self.device = options["batch"], device
        self.order = np.random.default_rng(options["seed"])

    def loss(self, model: nn.Module) -> Tensor:
        rows = _core.tensor(self.order.choice(self.count, self.batch, replace=False), device=self.device)
        return _core.cross_entropy(model(self.images[rows]), self.labels[rows])

    def look(self, model: nn.Module) -> dict[str, float]:
        with no_grad():
            scores = model(self.images[self.count :])
            right = (scores.argmax(1) == self.labels[self.count :]).float().mean()
            return {
                "held back": _core.cross_entropy(scores, self.labels[self.count :]).item(),
                "accuracy": right.item(),
            }


TASKS: dict[str, Any] = {"text": Text, "digits": Digits}
