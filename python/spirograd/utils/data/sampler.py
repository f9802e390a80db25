"""Samplers: the order in which samples are taken."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Sequence, Sized
from typing import Generic, TypeVar

from ... import _core, distributed
from ..._core import Generator
from ...base.keywords import naming_keywords
from ...distributed import environment
from .dataset import permutation

__all__ = ["BatchSampler", "DistributedSampler", "RandomSampler", "Sampler", "SequentialSampler", "SubsetRandomSampler"]
__all__ += ["WeightedRandomSampler"]

T_co = TypeVar("T_co", covariant=True)


class Sampler(Generic[T_co]):
    """Base of samplers: write `__iter__`, which gives indices (or lists of them, for whole batches).

    Example:
        >>> class Odd(sg.utils.data.Sampler):
        ...     def __iter__(self):
        ...         return iter([1, 3])
        >>> [x.tolist() for x in sg.utils.data.DataLoader(range(10, 14), sampler=Odd())]
        [[11], [13]]
    """

    def __iter__(self) -> Iterator[T_co]:
        raise NotImplementedError(f"{type(self).__name__} has no __iter__()")


class SequentialSampler(Sampler[int]):
    """First to last.

    Example:
        >>> list(sg.utils.data.SequentialSampler("abc"))
        [0, 1, 2]
    """

    def __init__(self, data_source: Sized) -> None:
        self.data_source = data_source

    def __iter__(self) -> Iterator[int]:
        return iter(range(len(self.data_source)))

    def __len__(self) -> int:
        return len(self.data_source)


def draw_seed(generator: Generator | None) -> int:
    """A number from the generator, or from the common stream."""
    where = "cpu" if generator is None else generator.device
    return int(_core.randint(0, 1 << 62, (), generator=generator, device=where).item())


@naming_keywords
class RandomSampler(Sampler[int]):
    """All samples in random order, or samples drawn one by one.

    Args:
        data_source: what has a length.
        replacement: whether a sample may be drawn again before all others were.
        num_samples: how many to give; the length when None.
        generator: the stream to take from; None takes a seed from the common one for each epoch.

    Raises:
        ValueError: `num_samples` is not positive, or there are no samples.

    Example:
        >>> order = list(sg.utils.data.RandomSampler(range(5), generator=sg.Generator().manual_seed(0)))
        >>> sorted(order)
        [0, 1, 2, 3, 4]
    """

    def __init__(
        self,
        data_source: Sized,
        replacement: bool = False,
        num_samples: int | None = None,
        generator: Generator | None = None,
    ) -> None:
        if num_samples is not None and num_samples <= 0:
            raise ValueError(f"RandomSampler: num_samples is {num_samples}; give a positive number or None")
        self.data_source, self.replacement, self.generator = data_source, replacement, generator
        self._num_samples = num_samples
        if self.num_samples == 0:
            raise ValueError("RandomSampler: the data set is empty; give one that has samples")

    @property
    def num_samples(self) -> int:
        """How many indices one epoch gives."""
        return len(self.data_source) if self._num_samples is None else self._num_samples

    def __iter__(self) -> Iterator[int]:
        generator = self.generator or Generator().manual_seed(draw_seed(None))
        count, wanted = len(self.data_source), self.num_samples
        if count == 0 and wanted:
            raise ValueError(f"RandomSampler: {wanted} samples cannot be drawn from an empty data set")
        while wanted > 0:
            if self.replacement:
                some = min(wanted, 1 << 16)
                order = _core.randint(0, count, (some,), generator=generator, device=generator.device).tolist()
            else:
                order = permutation(count, generator)[:wanted].tolist()
            yield from order
            wanted -= len(order)

    def __len__(self) -> int:
        return self.num_samples


@naming_keywords
class SubsetRandomSampler(Sampler[int]):
    """Some indices, in random order.

    Example:
        >>> sorted(sg.utils.data.SubsetRandomSampler([3, 5, 8]))
        [3, 5, 8]
    """

    def __init__(self, indices: Sequence[int], generator: Generator | None = None) -> None:
        self.indices, self.generator = indices, generator

    def __iter__(self) -> Iterator[int]:
        return (self.indices[i] for i in permutation(len(self.indices), self.generator).tolist())

    def __len__(self) -> int:
        return len(self.indices)


@naming_keywords
class WeightedRandomSampler(Sampler[int]):
    """Indices drawn by their weights, which need not sum to 1.

    Args:
        weights: one for each sample.
        num_samples: how many to give.
        replacement: whether an index may come again.
        generator: the stream to take from; None is the common one.

    Raises:
        ValueError: `num_samples` is not positive; in iteration also as `multinomial` does.

    Example:
        >>> list(sg.utils.data.WeightedRandomSampler([0, 0, 1], 4))
        [2, 2, 2, 2]
    """

    def __init__(
        self,
        weights: Sequence[float],
        num_samples: int,
        replacement: bool = True,
        generator: Generator | None = None,
    ) -> None:
        if num_samples <= 0:
            raise ValueError(f"WeightedRandomSampler: num_samples is {num_samples}; give a positive number")
        self.weights = _core.as_tensor(weights, dtype=_core.float64, device="cpu")
        self.num_samples, self.replacement, self.generator = num_samples, replacement, generator

    def __iter__(self) -> Iterator[int]:
        drawn = _core.multinomial(self.weights, self.num_samples, self.replacement, generator=self.generator)
        return iter(drawn.tolist())

    def __len__(self) -> int:
        return self.num_samples


@naming_keywords
class BatchSampler(Sampler[list[int]]):
    """Lists of the next `batch_size` indices of another sampler; `drop_last` leaves a short last one out.

    Raises:
        ValueError: `batch_size` is not a positive number.

    Example:
        >>> list(sg.utils.data.BatchSampler(range(5), 2, drop_last=False))
        [[0, 1], [2, 3], [4]]
    """

    def __init__(self, sampler: Iterable[int], batch_size: int, drop_last: bool = False) -> None:
        if not isinstance(batch_size, int) or isinstance(batch_size, bool) or batch_size <= 0:
            raise ValueError(f"BatchSampler: batch_size is {batch_size!r}; give a positive number")
        self.sampler, self.batch_size, self.drop_last = sampler, batch_size, drop_last

    def __iter__(self) -> Iterator[list[int]]:
        indices = iter(self.sampler)
        while batch := list(itertools.islice(indices, self.batch_size)):
            if len(batch) == self.batch_size or not self.drop_last:
                yield batch

    def __len__(self) -> int:
        count = len(self.sampler)  # type: ignore[arg-type]
        return count // self.batch_size if self.drop_last else -(-count // self.batch_size)


@naming_keywords
class DistributedSampler(Sampler[int]):
    """The part of one process among several: every num_replicas-th index, equally many in each process.

    Call `set_epoch` before each epoch, or all epochs have the same order.

    Args:
        dataset: what has a length.
        num_replicas: how many processes; None: those of `sg.distributed`, or, before it is initialised, what a launcher
            says (``WORLD_SIZE``), else 1.
        rank: which of them this is; None: as `sg.distributed` or the launcher (``RANK``) says, else 0.
        shuffle: whether the order is random.
        seed: the same in all processes.
        drop_last: leaves samples out so that shares are equal; otherwise some come twice.

    Raises:
        ValueError: `rank` is not among the processes.

    Example:
        >>> list(sg.utils.data.DistributedSampler(range(5), num_replicas=2, rank=1, shuffle=False))
        [1, 3, 0]
    """

    def __init__(
        self,
        dataset: Sized,
        num_replicas: int | None = None,
        rank: int | None = None,
        shuffle: bool = True,
        seed: int = 0,
        drop_last: bool = False,
    ) -> None:
        started = distributed.is_initialized()
        size = distributed.get_world_size() if started else environment.world_size() or 1
        replicas = size if num_replicas is None else num_replicas
        self.rank = (distributed.get_rank() if started else environment.rank() or 0) if rank is None else rank
        if not 0 <= self.rank < replicas:
            raise ValueError(f"DistributedSampler: rank is {self.rank}; it is from 0 to {replicas - 1}")
        self.dataset, self.num_replicas = dataset, replicas
        self.shuffle, self.seed, self.drop_last = shuffle, seed, drop_last
        self.epoch = 0

    @property
    def num_samples(self) -> int:
        """How many indices this process gives."""
        return len(self)

    @property
    def total_size(self) -> int:
        """How many indices all processes give together."""
        return len(self) * self.num_replicas

    def __iter__(self) -> Iterator[int]:
        count, total = len(self.dataset), self.total_size
        order: Sequence[int] = range(count)
        if self.shuffle:
            order = permutation(count, Generator().manual_seed(self.seed + self.epoch)).tolist()
        return (order[i % count] for i in range(self.rank, total, self.num_replicas))

    def __len__(self) -> int:
        count = len(self.dataset)
        return count // self.num_replicas if self.drop_last else math.ceil(count / self.num_replicas)

    def set_epoch(self, epoch: int) -> None:
        """Chooses the order of an epoch, the same in all processes."""
        self.epoch = epoch
