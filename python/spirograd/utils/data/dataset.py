"""Data sets: things with a length and items, or things to go through once."""

from __future__ import annotations

import bisect
import itertools
import math
import os
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Generic, TypeVar

import numpy as np
import numpy.typing as npt

from ... import _core
from ..._core import Generator, Tensor
from ...base.keywords import naming_keywords
from ._mapped import opened, whole

__all__ = ["ArrayDataset", "ChainDataset", "ConcatDataset", "Dataset", "IterableDataset", "StackDataset", "Subset"]
__all__ += ["TensorDataset", "random_split"]

T_co = TypeVar("T_co", covariant=True)
T = TypeVar("T")


class Dataset(Generic[T_co]):
    """Base of data sets with numbered samples: write `__getitem__` and `__len__`.

    Example:
        >>> class Squares(sg.utils.data.Dataset):
        ...     def __len__(self):
        ...         return 3
        ...     def __getitem__(self, i):
        ...         return i, i * i
        >>> (Squares() + Squares())[4]
        (1, 1)
    """

    def __getitem__(self, index: Any) -> T_co:
        raise NotImplementedError(f"{type(self).__name__} has no __getitem__()")

    def __add__(self, other: Dataset[T_co]) -> Dataset[T_co]:
        return ConcatDataset([self, other])


class IterableDataset(Dataset[T_co], Iterable[T_co]):
    """Base of data sets that are streams: write `__iter__`.

    With workers, each goes through the stream by itself: share the samples out with `get_worker_info()`.

    Example:
        >>> class Count(sg.utils.data.IterableDataset):
        ...     def __iter__(self):
        ...         return iter(range(3))
        >>> list(Count() + Count())
        [0, 1, 2, 0, 1, 2]
    """

    def __iter__(self) -> Iterator[T_co]:
        raise NotImplementedError(f"{type(self).__name__} has no __iter__()")

    def __add__(self, other: Dataset[T_co]) -> Dataset[T_co]:
        return ChainDataset([self, other])


def is_iterable(dataset: Any) -> bool:
    """Whether it is a stream, of this package or another (PyTorch's streams have a `__getitem__` that raises)."""
    return any(kind.__name__ == "IterableDataset" for kind in type(dataset).__mro__) or (
        hasattr(dataset, "__iter__") and not hasattr(dataset, "__getitem__")
    )


class TensorDataset(Dataset[tuple[Tensor, ...]]):
    """Sample i is row i of each tensor. A loader reads a whole batch of it at once.

    Args:
        tensors: of equal first size; arrays become tensors that share their memory.

    Raises:
        ValueError: first sizes differ, or there is no tensor.

    Example:
        >>> pairs = sg.utils.data.TensorDataset(sg.ones(3, 2), [0, 1, 0])
        >>> len(pairs), pairs[1]
        (3, (tensor([1., 1.]), tensor(1)))
    """

    tensors: tuple[Tensor, ...]

    def __init__(self, *tensors: Any) -> None:
        self.tensors = tuple(t if isinstance(t, Tensor) else _shared(t) for t in tensors)
        if not self.tensors or any(t.ndim == 0 for t in self.tensors):
            raise ValueError("TensorDataset: every sample is a row; give at least one tensor, of rank 1 or more")
        sizes = [len(t) for t in self.tensors]
        if len(set(sizes)) > 1:
            raise ValueError(f"TensorDataset: the tensors have {sizes} rows; give as many rows in each")

    def __getitem__(self, index: Any) -> tuple[Tensor, ...]:
        return tuple(t[index] for t in self.tensors)

    def __len__(self) -> int:
        return len(self.tensors[0])


def _shared(values: Any) -> Tensor:
    array = np.asarray(values)
    return _core.from_numpy(array) if array.flags.writeable else _core.tensor(array)


class ArrayDataset(Dataset[Any]):
    """Sample i is row i of each NumPy array. Files are mapped into memory: only the rows that are used are read.

    A loader reads a whole batch at once; its processes open the files anew. Rows are read when the file has its length
    still; nothing protects a read from a file that is cut in that moment.

    Args:
        arrays: of equal first size; a path is a .npy file, as `numpy.save` and `numpy.lib.format.open_memmap` write it.

    Raises:
        ValueError: first sizes differ, or there is no array.
        FileFormatError: a file is no .npy file; from reads, it was cut.

    Example:
        >>> import pathlib, tempfile
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "x.npy"
        >>> np.save(path, np.arange(12.0).reshape(4, 3))
        >>> rows = sg.utils.data.ArrayDataset(path, np.array([0, 1, 0, 1]))
        >>> x, y = next(iter(sg.utils.data.DataLoader(rows, batch_size=2)))
        >>> x.shape, y.tolist()
        ((2, 3), [0, 1])
    """

    def __init__(self, *arrays: Any) -> None:
        self._given = [os.fspath(a) if isinstance(a, (str, os.PathLike)) else np.asanyarray(a) for a in arrays]
        self._open()
        if not self.arrays or any(a.ndim == 0 for a in self.arrays):
            raise ValueError("ArrayDataset: every sample is a row; give at least one array, of rank 1 or more")
        if len(sizes := {len(a) for a in self.arrays}) > 1:
            raise ValueError(f"ArrayDataset: the arrays have {sorted(sizes)} rows; give as many rows in each")

    def _open(self) -> None:
        self.arrays = tuple(opened(a) if isinstance(a, str) else a for a in self._given)

    def __getitem__(self, index: Any) -> Any:
        parts = tuple(whole(a)[index].copy() if isinstance(a, np.memmap) else a[index] for a in self.arrays)
        return parts[0] if len(parts) == 1 else parts

    def __len__(self) -> int:
        return len(self.arrays[0])

    def __getstate__(self) -> Any:
        return self._given

    def __setstate__(self, state: Any) -> None:
        self._given = state
        self._open()


@naming_keywords
class Subset(Dataset[T_co]):
    """The samples of a data set at some indices.

    Example:
        >>> list(sg.utils.data.Subset("abcd", [3, 0]))
        ['d', 'a']
    """

    def __init__(self, dataset: Any, indices: Sequence[int]) -> None:
        self.dataset, self.indices = dataset, indices

    def __getitem__(self, index: Any) -> T_co:
        if isinstance(index, list):
            return self.dataset[[self.indices[i] for i in index]]  # type: ignore[no-any-return]
        return self.dataset[self.indices[index]]  # type: ignore[no-any-return]

    def __getitems__(self, indices: list[int]) -> list[T_co]:
        rows = [self.indices[i] for i in indices]
        if callable(many := getattr(self.dataset, "__getitems__", None)):
            return many(rows)  # type: ignore[no-any-return]
        return [self.dataset[i] for i in rows]

    def __len__(self) -> int:
        return len(self.indices)


@naming_keywords
class ConcatDataset(Dataset[T_co]):
    """Data sets one after the other.

    Raises:
        ValueError: there is none, or one is a stream.

    Example:
        >>> sg.utils.data.ConcatDataset(["ab", "cde"])[-1]
        'e'
    """

    cumulative_sizes: list[int]

    def __init__(self, datasets: Iterable[Any]) -> None:
        self.datasets = list(datasets)
        if not self.datasets:
            raise ValueError("ConcatDataset: there is no data set; give at least one")
        if any(is_iterable(d) for d in self.datasets):
            raise ValueError("ConcatDataset: a stream has no numbered samples; use ChainDataset")
        self.cumulative_sizes = list(itertools.accumulate(len(d) for d in self.datasets))

    def __getitem__(self, index: int) -> T_co:
        count = len(self)
        if not -count <= index < count:
            raise IndexError(f"ConcatDataset: index {index} is out of range for {count} samples")
        index %= count
        which = bisect.bisect_right(self.cumulative_sizes, index)
        before = self.cumulative_sizes[which - 1] if which else 0
        return self.datasets[which][index - before]  # type: ignore[no-any-return]

    def __len__(self) -> int:
        return self.cumulative_sizes[-1]


class ChainDataset(IterableDataset[T_co]):
    """Streams one after the other.

    Example:
        >>> list(sg.utils.data.ChainDataset([range(2), range(3)]))
        [0, 1, 0, 1, 2]
    """

    def __init__(self, datasets: Iterable[Any]) -> None:
        self.datasets = list(datasets)

    def __iter__(self) -> Iterator[T_co]:
        return itertools.chain.from_iterable(self.datasets)

    def __len__(self) -> int:
        return sum(len(d) for d in self.datasets)


class StackDataset(Dataset[Any]):
    """Sample i holds sample i of each data set: a tuple, or a dict when they are given by name.

    Raises:
        ValueError: lengths differ, or both or neither of positions and names are given.

    Example:
        >>> sg.utils.data.StackDataset(image=[10, 20], text="ab")[1]
        {'image': 20, 'text': 'b'}
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if bool(args) == bool(kwargs):
            raise ValueError("StackDataset: give data sets either by position or by name")
        self.datasets: tuple[Any, ...] | dict[str, Any] = args or kwargs
        sizes = [len(d) for d in args or kwargs.values()]
        if len(set(sizes)) > 1:
            raise ValueError(f"StackDataset: the data sets have {sizes} samples; give as many in each")
        self._length = sizes[0]

    def __getitem__(self, index: Any) -> Any:
        if isinstance(self.datasets, dict):
            return {name: d[index] for name, d in self.datasets.items()}
        return tuple(d[index] for d in self.datasets)

    def __len__(self) -> int:
        return self._length


@naming_keywords
def random_split(dataset: Any, lengths: Sequence[float], generator: Generator | None = None) -> list[Subset[Any]]:
    """Shares the samples out at random.

    Args:
        dataset: what has a length.
        lengths: how many samples each part gets, or fractions that sum to 1 (what rounding leaves over goes to the
            first parts, one each).
        generator: the stream to take from; None is the common one.

    Raises:
        ValueError: the lengths do not sum to that of the data set, or a fraction is outside 0 to 1.

    Example:
        >>> train, test = sg.utils.data.random_split(range(10), [0.8, 0.2], sg.Generator().manual_seed(0))
        >>> len(train), len(test), sorted([*train, *test]) == list(range(10))
        (8, 2, True)
    """
    count = len(dataset)
    sizes = list(lengths)
    if any(size < 0 for size in sizes):
        raise ValueError(f"random_split: lengths are {sizes}; none may be negative")
    if math.isclose(sum(sizes), 1):
        parts = [math.floor(count * fraction) for fraction in sizes]
        for i in range(count - sum(parts)):
            parts[i % len(parts)] += 1
    elif sum(sizes) == count and all(float(size).is_integer() for size in sizes):
        parts = [int(size) for size in sizes]
    else:
        raise ValueError(
            f"random_split: lengths {sizes} sum to {sum(sizes)}, the data set has {count}; give counts or fractions"
        )
    order = permutation(count, generator).tolist()
    ends = itertools.accumulate(parts)
    return [Subset(dataset, order[end - part : end]) for part, end in zip(parts, ends, strict=True)]


def permutation(count: int, generator: Generator | None) -> npt.NDArray[np.int64]:
    """0 to count - 1 in random order."""
    where = "cpu" if generator is None else generator.device
    order = _core.randperm(count, generator=generator, device=where).numpy()
    return np.asarray(order, np.int64)
