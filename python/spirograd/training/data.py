"""The data of fit and evaluate: rows of arrays on the model's device, or batches of a loader."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sized
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from .. import _core
from .._core import Generator, Tensor, tensor
from ..nn import Module
from ..scalar import Module as ScalarModule


class Batch(NamedTuple):
    """The arguments of a step."""

    inputs: tuple[Tensor, ...]
    target: Tensor
    weight: Tensor | None = None  # of the rows
    share: Tensor | None = None  # as in Selection


class Selection(NamedTuple):
    """A batch that is still to be made: these rows of inputs and target, and of the weights, if there are any. `share`:
    how much it counts among the batches of all processes."""

    inputs: tuple[Tensor, ...]
    target: Tensor
    weight: Tensor | None
    rows: Tensor | None  # None: all
    share: Tensor | None = None  # None: the same as the others

    def batch(self) -> Batch:
        """The rows."""
        if self.rows is None:
            return Batch(*self[:3], self.share)
        rows = self.rows
        weight = None if self.weight is None else self.weight.index_select(0, rows)
        inputs = tuple(t.index_select(0, rows) for t in self.inputs)
        return Batch(inputs, self.target.index_select(0, rows), weight, self.share)


class Rows:
    """Inputs and targets on a device, of which batches are rows; `weight`: of the rows."""

    def __init__(self, inputs: tuple[Tensor, ...], target: Tensor, batch_size: int) -> None:
        self.inputs, self.target, self.batch_size = inputs, target, batch_size
        self.weight: Tensor | None = None
        self.shuffle = False
        self.seed: int | None = None
        self.rank, self.processes = 0, 1

    def steps(self) -> int:
        """How many batches an epoch has."""
        return -(-self.target.shape[0] // (self.batch_size * self.processes))

    def batches(self, epoch: int | None) -> Iterator[Selection]:
        """The batches of an epoch; None: in order."""
        order = self.order(epoch) if self.shuffle and epoch is not None else None
        count, joint = self.target.shape[0], self.batch_size * self.processes
        for first in range(0, count, joint):
            some, share = self._own(first, min(first + joint, count))
            if some.start == some.stop or (epoch is not None and count - first < self.processes):
                continue  # all processes learn from the same number of batches
            if order is not None:
                yield Selection(self.inputs, self.target, self.weight, order[some], share)
            else:
                weight = None if self.weight is None else self.weight[some]
                yield Selection(tuple(t[some] for t in self.inputs), self.target[some], weight, None, share)

    def _own(self, first: int, last: int) -> tuple[slice, Tensor | None]:
        """This process's part of the rows of a joint batch, and how much it counts; parts differ by a row at most."""
        rows = last - first
        begin, end = (first + rows * i // self.processes for i in (self.rank, self.rank + 1))
        if rows % self.processes == 0:
            return slice(begin, end), None
        share = _core.full((), (end - begin) * self.processes / rows, device=self.target.device)
        return slice(begin, end), share

    def order(self, epoch: int) -> Tensor:
        """The rows in the order of this epoch."""
        generator = None if self.seed is None else Generator().manual_seed(self.seed + (epoch << 32))
        order = _core.randperm(self.target.shape[0], generator=generator, device=self.target.device)
        _core._submit([[order]])  # computed separately, so that the first step of an epoch is like the others
        return order

    def split(self, share: float, shuffle: bool, seed: int | None) -> tuple[Rows, Rows]:
        """The rows to learn from, and the rows held back for validation."""
        rows = self.target.shape[0]
        count = round(rows * share)
        if not 0 < count < rows:
            raise ValueError(f"fit: validation_split {share} of {rows} rows leaves {rows - count} and {count}")
        self.seed = seed
        order = self.order(0) if shuffle else _core.arange(rows, device=self.target.device)
        parts = (order[: rows - count], order[rows - count :])
        first, second = (Selection(self.inputs, self.target, self.weight, part).batch() for part in parts)
        learned, held = (Rows(b.inputs, b.target, self.batch_size) for b in (first, second))
        learned.weight = first.weight
        return learned, held


class Batches:
    """Batches that a loader makes."""

    def __init__(self, op: str, loader: Iterable[Any], place: Destination) -> None:
        self.op, self.loader, self.place = op, loader, place
        self.joint = False  # whether other processes have loaders of their own

    def steps(self) -> int | None:
        """How many batches an epoch has; None where that is unknown."""
        return len(self.loader) if isinstance(self.loader, Sized) else None

    def batches(self, epoch: int | None) -> Iterator[Selection]:
        """The batches of the loader, on the model's device; of an epoch, if several processes share it out."""
        sampler = getattr(self.loader, "sampler", None)
        if self.joint and epoch is not None and sampler is not None and hasattr(sampler, "set_epoch"):
            sampler.set_epoch(epoch)
        for batch in self.loader:
            if not isinstance(batch, (tuple, list)) or len(batch) < 2:
                raise ValueError(f"{self.op}: a batch is a {type(batch).__name__}; give (inputs, target)")
            *inputs, target = batch
            if len(inputs) == 1 and isinstance(inputs[0], (tuple, list)):
                inputs = list(inputs[0])
            yield Selection(tuple(map(self.place.put, inputs)), self.place.put(target), None, None)


Data: TypeAlias = Rows | Batches


class Destination:
    """The device and the floating type of a model."""

    def __init__(self, device: Any, dtype: Any) -> None:
        self.device, self.dtype = device, dtype

    def put(self, value: Any) -> Tensor:
        """The value as a tensor on that device."""
        if isinstance(value, Tensor):
            return value.detach().to(self.device, self.dtype if value.dtype.is_floating_point else value.dtype)
        array = np.asarray(value.numpy() if hasattr(value, "numpy") else value)
        return tensor(array, device=self.device, dtype=self.dtype if array.dtype.kind == "f" else None)


def destination_of(op: str, model: Any) -> Destination:
    """The device and type of a model."""
    if isinstance(model, ScalarModule):
        raise TypeError(
            f"{op}: {type(model).__name__} is a model of scalar values; use modules of tensors, sg.nn.Sequential(...)"
        )
    if not isinstance(model, Module):
        raise TypeError(f"{op}: model is a {type(model).__name__}; pass an sg.nn.Module")
    for parameter in model.parameters():
        return Destination(parameter.device, parameter.dtype)
    return Destination(_core.get_default_device(), _core.float32)


def data_of(op: str, x: Any, y: Any, place: Destination, batch_size: int) -> Data:
    """Rows of x and y, or, without y, the batches that x gives."""
    if batch_size < 1:
        raise ValueError(f"{op}: batch_size is {batch_size}; use 1 or more")
    if y is None:
        if isinstance(x, (Tensor, np.ndarray)):
            raise ValueError(f"{op}: x has no target; give y, or an iterable of batches (inputs, target)")
        if not isinstance(x, Iterable):
            raise TypeError(f"{op}: x is a {type(x).__name__}; give arrays x and y, or an iterable of batches")
        return Batches(op, x, place)
    inputs = tuple(place.put(value) for value in (x if isinstance(x, tuple) else (x,)))
    target = place.put(y)
    sizes = [t.shape[0] if t.ndim else 0 for t in (*inputs, target)]
    if len(set(sizes)) > 1:
        raise ValueError(f"{op}: x has {', '.join(map(str, sizes[:-1]))} rows, y has {sizes[-1]}; give the same number")
    if sizes[0] == 0:
        raise ValueError(f"{op}: there are no rows; give at least one")
    return Rows(inputs, target, batch_size)


def inputs_of(op: str, x: Any, place: Destination, batch_size: int) -> Iterator[tuple[Tensor, ...]]:
    """Batches of inputs without targets: rows of x, or what x gives."""
    if batch_size < 1:
        raise ValueError(f"{op}: batch_size is {batch_size}; use 1 or more")
    if hasattr(x, "shape") or isinstance(x, tuple):
        whole = tuple(place.put(value) for value in (x if isinstance(x, tuple) else (x,)))
        rows = whole[0].shape[0] if whole[0].ndim else 0
        return (tuple(t[i : i + batch_size] for t in whole) for i in range(0, rows, batch_size))
    if not isinstance(x, Iterable):
        raise TypeError(f"{op}: x is a {type(x).__name__}; give an array, or an iterable of batches")
    return (tuple(map(place.put, batch if isinstance(batch, (tuple, list)) else (batch,))) for batch in x)


def held_back(
    data: Data, validation_data: Any, share: float, place: Destination, batch_size: int, shuffle: bool, seed: int | None
) -> tuple[Data, Data | None]:
    """The data for training, and those for validation after each epoch."""
    if share:
        if not 0 < share < 1:
            raise ValueError(f"fit: validation_split is {share}; use 0 to 1, the share of the rows")
        if validation_data is not None:
            raise ValueError("fit: both validation_data and validation_split are given; give one")
        if not isinstance(data, Rows):
            raise ValueError("fit: validation_split needs x and y; give validation_data beside a loader")
        return data.split(share, shuffle, seed)
    if validation_data is None:
        return data, None
    if isinstance(validation_data, (Tensor, np.ndarray)):
        kind = type(validation_data).__name__
        raise ValueError(f"fit: validation_data is a {kind} without a target; give (x, y), or an iterable of batches")
    pair = validation_data if isinstance(validation_data, tuple) else (validation_data, None)
    if len(pair) != 2:
        raise ValueError(f"fit: validation_data has {len(pair)} parts; give (x, y), or an iterable of batches")
    return data, data_of("fit", *pair, place, batch_size)
