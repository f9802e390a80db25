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
from ..serialization._arrays import reason, shown

__all__ = ["Pretrained", "read_config", "read_weights"]

M = TypeVar("M", bound="Pretrained")
Source = str | os.PathLike[str]
# What a table of angles is stretched by.
SCALING = ("factor", "low_freq_factor", "high_freq_factor", "original_max_position_embeddings")


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
        config, weights = read_config(folder), read_weights(folder)
        where = f"{cls.__name__}: {Path(folder) / 'config.json'}"
        try:
            arguments = cls.arguments_of(config)
        except KeyError as error:
            raise FileFormatError(f"{where} has no {error}; it is that of another model") from None
        except (TypeError, AttributeError) as error:
            raise FileFormatError(f"{where} is not as transformers writes it ({reason(error)})") from None
        cls._check(arguments, weights, where)
        model = cls(**{**arguments, **changes})
        model.load_state_dict(model.own_names(weights))
        model.eval()
        return model

    @classmethod
    def largest(cls, sizes: Mapping[str, Any]) -> int:
        """How many elements its largest table has, for arguments of the constructor."""
        raise NotImplementedError

    @classmethod
    def _check(cls, arguments: Mapping[str, Any], weights: Mapping[str, Tensor], where: str) -> None:
        """Whether these are sizes of a model with as many weights: a wrong one would be made before it is found out."""
        for name, value in arguments.items():
            if name in ("bias", "tied"):
                fine = type(value) is bool
            elif value is None:
                fine = name in ("groups", "size", "scaling")
            elif name in ("eps", "dropout", "base"):
                fine = type(value) in (int, float) and 0 <= value < 1e30
            elif name == "scaling":
                fine = isinstance(value, dict)
                fine = fine and all(type(value.get(n)) in (int, float) and 0 < value[n] < 1e30 for n in SCALING)
            else:
                fine = type(value) is int and 1 <= value < 1 << 31
            if not fine:
                raise FileFormatError(f"{where} gives {shown(repr(value))} as {name}, which is none; replace the file")
        there = sum(x.numel() for x in weights.values())
        if arguments["layers"] > len(weights) or max(cls.largest(arguments), cls._in_layers(arguments)) > there:
            raise FileFormatError(f"{where} asks for a larger model than the {there:,} weights beside it; replace one")

    @staticmethod
    def _in_layers(sizes: Mapping[str, Any]) -> int:
        """How many elements one weight of all layers has."""
        width, size = sizes["width"], sizes.get("size") or 0
        return int(sizes["layers"] * width * max(width, sizes.get("inner", 4 * width), sizes["heads"] * size))

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
    except (ValueError, RecursionError) as error:
        raise FileFormatError(f"read_config: {path} is not JSON ({reason(error)})") from None
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
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise FileFormatError(f"read_weights: {path} has no weight_map of names and files") from None
    if outside := [s for s in shards if not _is_shard(s)]:
        raise FileFormatError(f"read_weights: {path} names {shown(repr(outside[0]))}, which is no weights beside it")
    if not shards:
        raise FileFormatError(f"read_weights: {path} names no weights")
    weights: dict[str, Tensor] = {}
    for shard in shards:
        weights |= read_weights(path.parent / shard)
    if missing := sorted(places.keys() - weights.keys()):
        raise FileFormatError(f"read_weights: {path} names {missing[0]}, which is not in {places[missing[0]]}")
    return weights


def _is_shard(name: Any) -> bool:
    """Whether it is the name of a file of weights in the same folder, and not of another index."""
    plain = isinstance(name, str) and name.isprintable() and len(name) < 256
    return plain and Path(name).name == name not in ("", "..") and not name.endswith(".json")
