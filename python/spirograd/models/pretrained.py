"""Published models: their sizes by name, and their weights from files with the names that the hubs use."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, TypeVar

from .. import nn
from .._core import FileFormatError, Tensor
from ..serialization import load

__all__ = ["Pretrained", "read_config", "read_weights"]

M = TypeVar("M", bound="Pretrained")
Source = str | os.PathLike[str]


class Pretrained(nn.Module):
    """A model whose sizes and weights are published.

    Attributes:
        published: arguments of the constructor, by the name of the model.
    """

    published: ClassVar[Mapping[str, Mapping[str, Any]]] = {}

    @classmethod
    def named(cls: type[M], name: str, **changes: Any) -> M:
        """The model of a published size, with random weights.

        Args:
            name: one of `published`.
            changes: arguments of the constructor that are to be others.

        Raises:
            ValueError: the name is unknown.

        Example:
            >>> sg.models.ResNet.named("resnet18", classes=10).fc
            Linear(in_features=512, out_features=10, bias=True)
        """
        if name not in cls.published:
            raise ValueError(f"{cls.__name__}: {name!r} is not a published size; use {', '.join(cls.published)}")
        return cls(**{**cls.published[name], **changes})

    @classmethod
    def arguments_of(cls, config: Mapping[str, Any]) -> dict[str, Any]:
        """The constructor's arguments for the `config.json` of a hub.

        Raises:
            ValueError: the file asks for what this model does not have.
        """
        raise ValueError(f"{cls.__name__}: has no config.json; use {cls.__name__}.named() and load_pretrained()")

    @classmethod
    def from_pretrained(cls: type[M], folder: Source, **changes: Any) -> M:
        """The model of a folder in the layout of the hubs: `config.json` and the weights. It is in evaluation mode.

        Args:
            folder: holds config.json and what `read_weights` reads.
            changes: arguments of the constructor that are to be others.

        Raises:
            FileFormatError: a file is damaged.
            ValueError: the weights are those of another model.
        """
        model = cls(**{**cls.arguments_of(read_config(folder)), **changes})
        model.load_pretrained(folder)
        model.eval()
        return model

    def load_pretrained(self, source: Source) -> None:
        """Loads weights by the names that the hubs use.

        Args:
            source: what `read_weights` reads.

        Raises:
            FileFormatError: a file is damaged.
            ValueError: names or shapes differ from those of the module.
        """
        self.load_state_dict(self.own_names(read_weights(source)))

    def own_names(self, weights: dict[str, Tensor]) -> dict[str, Tensor]:
        """Published weights with the names and layouts of this module's state_dict()."""
        return weights

    @property
    def device(self) -> Any:
        """Where the parameters are."""
        return next(self.parameters()).device


def read_config(folder: Source) -> dict[str, Any]:
    """The `config.json` of a folder.

    Raises:
        FileFormatError: it holds no object of JSON.
    """
    path = Path(folder) / "config.json"
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise FileFormatError(f"read_config: {path} is not JSON ({error})") from None
    if not isinstance(found, dict):
        raise FileFormatError(f"read_config: {path} holds a {type(found).__name__}; an object is expected")
    return found


def read_weights(source: Source) -> dict[str, Tensor]:
    """Tensors by name, on the CPU.

    Args:
        source: a file of `sg.load`; an index (`model.safetensors.index.json`), whose shards lie beside it; or a folder
            with one of model.safetensors, its index, pytorch_model.bin, its index.

    Raises:
        FileFormatError: a file is damaged or missing, or holds something else.
    """
    path = Path(source)
    if path.is_dir():
        names = [n + i for n in ("model.safetensors", "pytorch_model.bin") for i in ("", ".index.json")]
        path = next((path / n for n in names if (path / n).is_file()), path)
        if path.is_dir():
            raise FileFormatError(f"read_weights: {path} has none of {', '.join(names)}")
    if path.suffix != ".json":
        found = load(path, map_location="cpu")
        if not isinstance(found, dict) or not all(isinstance(x, Tensor) for x in found.values()):
            raise FileFormatError(f"read_weights: {path} holds no dict of tensors")
        return found
    try:
        places = json.loads(path.read_text(encoding="utf-8"))["weight_map"]
        shards = sorted(set(places.values()))
    except (ValueError, KeyError, TypeError, AttributeError):
        raise FileFormatError(f"read_weights: {path} has no weight_map of names and files") from None
    if outside := [s for s in shards if not isinstance(s, str) or Path(s).name != s]:
        raise FileFormatError(f"read_weights: {path} names {outside[0]!r}, which is not a file beside it")
    weights: dict[str, Tensor] = {}
    for shard in shards:
        weights |= read_weights(path.parent / shard)
    if missing := sorted(places.keys() - weights.keys()):
        raise FileFormatError(f"read_weights: {path} names {missing[0]}, which is not in {places[missing[0]]}")
    return weights
