"""Batches from samples. They stay NumPy arrays until the loader's own thread makes tensors of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ... import _core
from ..._core import Tensor
from ...base.keywords import naming_keywords
from ...base.tree import transform
from ...base.types import DeviceLike
from ._mapped import whole
from .dataset import ArrayDataset, Subset, TensorDataset

own: dict[Any, Callable[[Sequence[Any]], Any]] = {}  # how samples of other classes are collated


@naming_keywords
def default_collate(batch: Sequence[Any]) -> Any:
    """A batch of a list of samples.

    Tensors, arrays and numbers are stacked (float numbers as float64, ints as int64), texts and bytes stay as they are;
    dicts, named tuples, tuples and lists are collated item by item, and tuples become lists.

    Args:
        batch: the samples, all alike.

    Raises:
        TypeError: a sample is of a kind that cannot be stacked.
        ValueError: the batch is empty, or samples differ in shape or length.

    Example:
        >>> sg.utils.data.default_collate([(1, "a"), (2, "b")])
        [tensor([1, 2]), ('a', 'b')]
    """
    return tensors(gather(batch))


def default_convert(data: Any) -> Any:
    """The same with tensors in place of arrays; what a loader does with samples when it makes no batches.

    Example:
        >>> import numpy as np
        >>> sg.utils.data.default_convert({"x": np.zeros(2), "name": "a"})
        {'x': tensor([0., 0.], dtype=spirograd.float64), 'name': 'a'}
    """
    return tensors(data)


def gather(batch: Sequence[Any]) -> Any:
    """default_collate, but with arrays where it has tensors; tensors are stacked where they are."""
    if len(batch) == 0:
        raise ValueError("default_collate: the batch has no samples; give at least one")
    first = batch[0]
    for kind, collate in own.items():
        if isinstance(first, kind):
            return collate(batch)
    if isinstance(first, Tensor):
        return _core.stack(list(batch))
    if _is_array(first):
        arrays = [np.asarray(sample) for sample in batch]
        if arrays[0].dtype.kind not in "biufV":  # V: bfloat16
            raise TypeError(f"default_collate: arrays of {arrays[0].dtype} cannot become tensors; give collate_fn")
        if len({a.shape for a in arrays}) > 1:
            shapes = list(dict.fromkeys(a.shape for a in arrays))
            raise ValueError(f"default_collate: samples have shapes {shapes}; pad them, or give collate_fn")
        return np.stack(arrays)
    if isinstance(first, float):
        return np.array(batch, np.float64)
    if isinstance(first, int):
        return np.array(batch)
    if isinstance(first, (str, bytes)):
        return batch
    if isinstance(first, Mapping):
        return {key: gather([sample[key] for sample in batch]) for key in first}
    if isinstance(first, Sequence):
        lengths = {len(sample) for sample in batch}
        if len(lengths) > 1:
            raise ValueError(f"default_collate: samples have {sorted(lengths)} parts; give the same number in each")
        parts = [gather(part) for part in zip(*batch, strict=True)]
        return type(first)(*parts) if hasattr(first, "_fields") else parts
    raise TypeError(
        f"default_collate: samples hold {type(first).__name__}, which cannot be stacked; give tensors, arrays, "
        "numbers, texts, tuples, lists or dicts of them, or collate_fn"
    )


def _is_array(x: Any) -> bool:
    """NumPy's arrays and numbers, and the tensors of others."""
    return hasattr(x, "__array__") and not isinstance(x, (Tensor, str, bytes, type))


def tensors(tree: Any, device: DeviceLike | None = None, home: DeviceLike | None = None) -> Any:
    """Tensors in place of arrays, and all tensors on the device. If there is none, arrays become tensors at home."""
    place = home if device is None else device

    def made(leaf: Any) -> Any:
        if _is_array(leaf):
            array = np.asarray(leaf)
            return _core.tensor(array, device=place) if array.dtype.kind in "biufV" else leaf
        return moved(leaf, device)

    return transform(made, tree)


def moved(leaf: Any, device: DeviceLike | None) -> Any:
    """A tensor on the device; other values unchanged."""
    return leaf.to(device, non_blocking=True) if isinstance(leaf, Tensor) and device is not None else leaf


class Table:
    """Tensors that are read by rows: a batch is one indexed read of each. Those on the CPU are read as arrays."""

    def __init__(self, columns: Sequence[Tensor | npt.NDArray[Any]], rows: npt.NDArray[np.int64] | None, alone: bool):
        self.home = "cpu" if any(isinstance(c, Tensor) for c in columns) else None  # of what is read as arrays
        self._columns = [_readable(c) for c in columns]
        self._rows, self._alone = rows, alone

    @property
    def on_host(self) -> bool:
        """Whether everything is read from the CPU."""
        return not any(isinstance(c, Tensor) for c in self._columns)

    def take(self, indices: Any) -> Any:
        """The batch of these samples, with arrays for what is read from the CPU."""
        index = np.asarray(indices, np.int64)
        if self._rows is not None:
            index = self._rows[index]
        parts = [c[index] if isinstance(c, Tensor) else whole(c).take(index, 0) for c in self._columns]
        return parts[0] if self._alone else parts


def _readable(column: Tensor | npt.NDArray[Any]) -> Tensor | npt.NDArray[Any]:
    if not isinstance(column, Tensor) or column.device.kind == "gpu":
        return column
    if column.dtype == _core.bfloat16 or column.requires_grad:  # what arrays may not have
        return column
    return np.asarray(column.detach().numpy())


def table_of(dataset: Any) -> Table | None:
    """What a batch can be read from at once: an array or a tensor, a data set of these, or a Subset of them."""
    rows: npt.NDArray[np.int64] | None = None
    while isinstance(dataset, Subset) and _unchanged(dataset, Subset):
        own = np.asarray(dataset.indices, np.int64)
        rows = own if rows is None else own[rows]
        dataset = dataset.dataset
    if isinstance(dataset, TensorDataset) and _unchanged(dataset, TensorDataset):
        return Table(dataset.tensors, rows, alone=False)
    if isinstance(dataset, ArrayDataset) and _unchanged(dataset, ArrayDataset):
        return Table(dataset.arrays, rows, alone=len(dataset.arrays) == 1)
    if isinstance(dataset, Tensor) or (isinstance(dataset, np.ndarray) and dataset.dtype.kind in "biuf"):
        return Table((dataset,), rows, alone=True)
    return None


def _unchanged(dataset: Any, base: type[Any]) -> bool:
    """Whether a subclass reads its samples as the base does."""
    return all(
        getattr(type(dataset), name, None) is getattr(base, name, None) for name in ("__getitem__", "__getitems__")
    )
