"""The tasks of `train`: batches of texts or of images, and how good the model is on held-out data."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from .. import _core, datasets, distributed, nn
from .._core import Device, Tensor
from ..base.grad_mode import no_grad
from ..utils.data._mapped import whole
from . import tokens
from .options import UserError

MOST_BATCHES = 20  # of what is held back of a text that are looked at


class Task(ABC):
    """Batches for training, and an evaluation on the rest.

    Processes that train together draw the rows of all of them, from equal generators, and each takes its own.

    Attributes:
        settings: of the model and the batches; a training is resumed only if they are the same.
        order: the generator that draws the batches.
        steps_of_epoch: how many batches are as many as there are examples.
    """

    settings: dict[str, Any]
    order: np.random.Generator
    steps_of_epoch: float
    size: int  # of the batch of a process

    @property
    def joint_size(self) -> int:
        """Of the batches of all processes."""
        return self.size * distributed.get_world_size()

    def own(self, rows: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Of the rows of all processes, those of this one."""
        first = self.size * distributed.get_rank()
        return rows[first : first + self.size]

    @abstractmethod
    def batch(self) -> tuple[Tensor, ...]:
        """The next batch, on the device."""

    @abstractmethod
    def loss(self, model: nn.Module, *batch: Tensor) -> Tensor:
        """The loss of a batch."""

    @abstractmethod
    def look(self, model: nn.Module) -> dict[str, float]:
        """How good the model is on held-out data."""


class Text(Task):
    """Pieces of texts, in which each token is predicted from those before; the last tenth is held out."""

    def __init__(self, options: Mapping[str, Any], device: Device) -> None:
        sizes = ("model", "layers", "width", "dropout", "context", "batch", "seed", "optimizer", "tokens")
        self.settings = {name: options[name] for name in sizes} | {"task": "text"}
        if options["model"] == "gpt":
            self.settings["heads"] = options["heads"]
            if options["width"] % options["heads"]:
                raise UserError(f"train: --width {options['width']} is not a multiple of --heads {options['heads']}")
        tokenizer, numbers = tokens.read(
            options["data"], options["tokens"], options["vocabulary"], Path(options["out"])
        )
        self.settings |= {"vocabulary": tokenizer.vocab_size, "tokenizer": tokenizer.to_json()}
        held_back = len(numbers) // 10
        if held_back <= options["context"] + 1:
            raise UserError(
                f"train: {' '.join(options['data'])} has {len(numbers):,} tokens; with --context {options['context']} "
                f"it needs more than {10 * (options['context'] + 1):,}"
            )
        self.train, self.rest = numbers[:-held_back], numbers[-held_back:]
        self.size, self.context, self.device = options["batch"], options["context"], device
        self.steps_of_epoch = len(self.train) / (self.joint_size * self.context)
        self.order = np.random.default_rng(options["seed"])

    def batch(self) -> tuple[Tensor, ...]:
        starts = self.order.integers(0, len(self.train) - self.context, self.joint_size)
        return self.pieces(self.train, self.own(starts))

    def loss(self, model: nn.Module, *batch: Tensor) -> Tensor:
        (pieces,) = batch
        scores = model(pieces[:, :-1])
        return _core.cross_entropy(scores.flatten(0, 1).float(), pieces[:, 1:].flatten())

    def look(self, model: nn.Module) -> dict[str, float]:
        starts = np.arange(0, len(self.rest) - self.context, self.context)
        parts = [starts[i : i + self.size] for i in range(0, len(starts) - self.size + 1, self.size)]
        with no_grad():
            seen = [self.loss(model, *self.pieces(self.rest, p)).item() for p in (parts or [starts])[:MOST_BATCHES]]
        mean = sum(seen) / len(seen)
        return {"held back": mean, "perplexity": math.exp(min(mean, 700.0))}

    def pieces(self, numbers: tokens.Numbers, starts: npt.NDArray[np.int64]) -> tuple[Tensor, ...]:
        """[batch, context + 1]: what begins at these places."""
        found = whole(numbers)[starts[:, None] + np.arange(self.context + 1)]
        return (_core.tensor(found.astype(np.int64), device=self.device),)


class Digits(Task):
    """Images of handwritten digits; a fifth is held out."""

    def __init__(self, options: Mapping[str, Any], device: Device) -> None:
        try:
            images, labels = datasets.digits() if options["data"] == "digits" else datasets.mnist("test")
        except datasets.DatasetUnavailableError as error:
            raise UserError(str(error)) from None
        side = round(images.shape[1] ** 0.5)
        names = ("model", "hidden", "batch", "seed", "optimizer")
        self.settings = {name: options[name] for name in names} | {"task": "digits", "side": side}
        self.settings["data"] = options["data"]
        mixed = np.random.default_rng(0).permutation(len(images))
        self.count = len(images) * 4 // 5
        self.size, self.device = options["batch"], device
        if self.joint_size > self.count:
            raise UserError(f"train: --batch {options['batch']}: there are {self.count} images to train on")
        images = (images[mixed] - images.mean()) / images.std()
        self.images = _core.tensor(images.reshape(-1, 1, side, side), device=device)
        self.labels = _core.tensor(labels[mixed], device=device)
        self.steps_of_epoch = self.count / self.joint_size
        self.order = np.random.default_rng(options["seed"])

    def batch(self) -> tuple[Tensor, ...]:
        drawn = self.order.choice(self.count, self.joint_size, replace=False)
        rows = _core.tensor(self.own(drawn), device=self.device)
        return self.images[rows], self.labels[rows]

    def loss(self, model: nn.Module, *batch: Tensor) -> Tensor:
        images, labels = batch
        return _core.cross_entropy(model(images).float(), labels)

    def look(self, model: nn.Module) -> dict[str, float]:
        with no_grad():
            scores = model(self.images[self.count :])
            right = (scores.argmax(1) == self.labels[self.count :]).float().mean()
            return {
                "held back": _core.cross_entropy(scores, self.labels[self.count :]).item(),
                "accuracy": right.item(),
            }


TASKS: dict[str, Any] = {"text": Text, "digits": Digits}
