"""DataLoader: batches of a data set, made ahead of time by workers and sent ahead to a device."""

from __future__ import annotations

import itertools
import math
import multiprocessing
import random
import time
import weakref
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, nullcontext
from types import GenericAlias
from typing import Any

import numpy as np

from ..._core import Generator, initial_seed
from ...base.keywords import naming_keywords
from ...base.tree import transform
from ...base.types import DeviceLike
from ._collate import default_collate, default_convert, gather, moved, table_of, tensors
from ._worker import End, Fetch, Stream, Worker, WorkerInfo
from .dataset import is_iterable
from .sampler import BatchSampler, RandomSampler, SequentialSampler, draw_seed

__all__ = ["DataLoader"]


def _check_workers(count: int, timeout: float, prefetch_factor: int | None, persistent: bool, context: Any) -> None:
    if count < 0:
        raise ValueError(f"DataLoader: num_workers is {count}; give 0 for none, or how many")
    if timeout < 0:
        raise ValueError(f"DataLoader: timeout is {timeout}; give seconds, or 0 to wait for ever")
    if prefetch_factor is not None and prefetch_factor < 1:
        raise ValueError(f"DataLoader: prefetch_factor is {prefetch_factor}; give 1 or more")
    options = {
        "prefetch_factor": prefetch_factor,
        "persistent_workers": persistent,
        "timeout": timeout,
        "multiprocessing_context": context,
    }
    for name, value in options.items():
        if value and count == 0:
            raise ValueError(f"DataLoader: {name} is for workers; give num_workers > 0")


class DataLoader:
    """Goes through a data set in batches.

    The data set is anything with `__getitem__` and `__len__` (an array, a list, PyTorch's data sets), or with
    `__iter__` alone. Rows of arrays, tensors and a `TensorDataset` are read a batch at a time; other data sets are
    asked for one sample after the other.

    The order depends on the generator alone, whatever the number of workers. Batch i is made by worker i % n. While it
    is made, spirograd's random numbers come from a stream that follows from the generator and i, so they are the same
    for any number of workers, threads or processes, and the program's own are not touched. `random` and `numpy.random`
    are seeded in each process; threads share them with the program, in no fixed order, and seeds that `worker_init_fn`
    gives them there do not last.

    Args:
        dataset: the samples.
        batch_size: samples in a batch; None gives samples instead of batches.
        shuffle: whether each epoch has a new random order.
        sampler: gives the indices, in place of `shuffle`.
        batch_sampler: gives lists of indices, in place of `batch_size`, `shuffle`, `sampler` and `drop_last`.
        num_workers: 0 makes batches in the caller's thread when they are asked for; more makes them ahead, in as many
            threads or processes.
        collate_fn: makes a batch of a list of samples; `default_collate` when None. It runs in the worker.
        pin_memory: accepted; uploads have their own pinned memory.
        drop_last: leaves out a last batch that is short.
        timeout: seconds to wait for a batch of a worker; 0 waits for ever.
        worker_init_fn: called with the worker's number in each worker, before its first batch. `initial_seed()` is
            the worker's seed there; after another `manual_seed()`, the worker's stream goes on from that.
        multiprocessing_context: None for threads; "spawn" (or a context of `multiprocessing`) for processes, which
            need a data set that can be pickled and a program under ``if __name__ == "__main__":``.
        generator: the stream for `shuffle` and the seeds of workers; None is the common one.
        prefetch_factor: batches that each worker makes ahead; 2 when None.
        persistent_workers: keeps the workers from one epoch to the next.
        pin_memory_device: accepted.
        in_order: accepted; batches always come in order.
        device: where the tensors of a batch go. The next batch is sent before this one is given, so that its way to
            the device overlaps with the work on this one.

    Raises:
        ValueError: arguments that contradict each other.

    Example:
        >>> loader = sg.utils.data.DataLoader(range(10), batch_size=4, num_workers=2)
        >>> [batch.tolist() for batch in loader]
        [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]]
        >>> len(loader)
        3
    """

    @naming_keywords
    def __init__(
        self,
        dataset: Any,
        batch_size: int | None = 1,
        shuffle: bool | None = None,
        sampler: Iterable[Any] | None = None,
        batch_sampler: Iterable[list[Any]] | None = None,
        num_workers: int = 0,
        collate_fn: Callable[[Any], Any] | None = None,
        pin_memory: bool = False,
        drop_last: bool = False,
        timeout: float = 0,
        worker_init_fn: Callable[[int], Any] | None = None,
        multiprocessing_context: Any = None,
        generator: Generator | None = None,
        *,
        prefetch_factor: int | None = None,
        persistent_workers: bool = False,
        pin_memory_device: str = "",
        in_order: bool = True,
        device: DeviceLike | None = None,
    ) -> None:
        self._stream = is_iterable(dataset)
        _check_workers(num_workers, timeout, prefetch_factor, persistent_workers, multiprocessing_context)
        if self._stream and (shuffle or sampler is not None or batch_sampler is not None):
            raise ValueError("DataLoader: a stream has its own order; leave out shuffle, sampler and batch_sampler")
        if sampler is not None and shuffle:
            raise ValueError("DataLoader: sampler and shuffle both give the order; leave one out")
        if batch_sampler is not None and (batch_size != 1 or shuffle or sampler is not None or drop_last):
            raise ValueError(
                "DataLoader: batch_sampler makes the batches; leave out batch_size, shuffle, sampler and drop_last"
            )
        if batch_size is None and drop_last:
            raise ValueError("DataLoader: without batches (batch_size=None) there is no last one to drop")

        if batch_sampler is not None:
            batch_size = None
        elif sampler is None and not self._stream:
            sampler = RandomSampler(dataset, generator=generator) if shuffle else SequentialSampler(dataset)
        if batch_size is not None and not self._stream:
            assert sampler is not None
            batch_sampler = BatchSampler(sampler, batch_size, drop_last)
        elif batch_size is not None and batch_size < 1:
            raise ValueError(f"DataLoader: batch_size is {batch_size}; give a positive number, or None")

        self.dataset, self.batch_size, self.drop_last = dataset, batch_size, drop_last
        self.sampler, self.batch_sampler, self.generator = sampler, batch_sampler, generator
        self.num_workers, self.timeout, self.worker_init_fn = num_workers, timeout, worker_init_fn
        self.persistent_workers, self.prefetch_factor = persistent_workers, prefetch_factor
        self.pin_memory, self.pin_memory_device = pin_memory, pin_memory_device
        self.in_order, self.device = in_order, device
        self.multiprocessing_context = multiprocessing_context
        self._batched = batch_sampler is not None or batch_size is not None
        self.collate_fn = collate_fn or (default_collate if self._batched else default_convert)
        self._crew: Crew | None = None

    __class_getitem__: Any = classmethod(GenericAlias)

    def __len__(self) -> int:
        if self._stream:
            count = len(self.dataset)
            if self.batch_size is None:
                return count
            return count // self.batch_size if self.drop_last else -(-count // self.batch_size)
        return len(self.batch_sampler if self._batched else self.sampler)  # type: ignore[arg-type]

    def __iter__(self) -> Iterator[Any]:
        seed = draw_seed(self.generator)  # also without workers, so that the generator advances in the same way
        collate = self.collate_fn  # it may be an object that is no key of a dict
        collate = gather if collate is default_collate else _same if collate is default_convert else collate
        table = table_of(self.dataset) if collate is gather else None
        fetch = Fetch(self.dataset, collate, self._stream, self._batched, self.drop_last, table)
        if self.num_workers == 0 or (table is not None and not table.on_host):
            batches = self._alone(fetch, seed)  # rows on a device are only recorded here, which is no work for a worker
        else:
            batches = self._together(fetch, seed)

        def finish(tree: Any) -> Any:
            if collate is self.collate_fn:  # values that are not tensors stay as they are
                return transform(lambda leaf: moved(leaf, self.device), tree)
            return tensors(tree, self.device, None if table is None else table.home)

        finished = map(finish, batches)
        return finished if self.device is None else _ahead(finished)

    def _tasks(self) -> Iterator[Any]:
        if self._stream:
            return itertools.repeat(self.batch_size or 1)
        return iter(self.batch_sampler if self._batched else self.sampler)  # type: ignore[arg-type]

    def _alone(self, fetch: Fetch, seed: int) -> Iterator[Any]:
        fetch, stream = fetch.restart(), Stream(initial_seed())
        for i, task in enumerate(self._tasks()):
            with stream.at((seed, i)):
                batch = fetch(task)
            if batch is End.END:
                return
            yield batch

    def _together(self, fetch: Fetch, seed: int) -> Iterator[Any]:
        with self._working(fetch, seed) as crew:
            tasks = enumerate(self._tasks())
            idle = deque(crew.workers)  # whose turn it is; without those whose stream has ended
            asked: deque[Worker] = deque()

            def ask() -> None:
                if idle and (task := next(tasks, None)) is not None:
                    worker = idle[0]
                    idle.rotate(-1)
                    worker.tasks.put((crew.epoch, (seed, task[0]), task[1]))
                    asked.append(worker)

            for _ in range(self.num_workers * (self.prefetch_factor or 2)):
                ask()
            while asked:
                worker = asked.popleft()
                batch = worker.answer(self.timeout)
                if batch is End.END and worker in idle:
                    idle.remove(worker)
                ask()
                if batch is not End.END:
                    yield batch

    @contextmanager
    def _working(self, fetch: Fetch, seed: int) -> Iterator[Crew]:
        """Workers for one epoch. Those of the loader may be busy with another one that goes on."""
        crew = self._crew
        if crew is None or crew.busy:
            context: Any = self.multiprocessing_context
            if isinstance(context, str):
                context = multiprocessing.get_context(context)
            crew = Crew(fetch, self.num_workers, seed, self.worker_init_fn, context, self.timeout)
            if self.persistent_workers and self._crew is None:
                self._crew = crew
                weakref.finalize(self, crew.close).atexit = False
        crew.begin()
        try:
            yield crew
        except GeneratorExit:  # the caller stopped early
            raise
        except BaseException:
            if crew is self._crew:
                self._crew = None
            raise
        finally:
            crew.rest()
            if crew is not self._crew:
                crew.close()


class Crew:
    """The workers of a loader."""

    def __init__(
        self, fetch: Fetch, count: int, seed: int, init: Callable[[int], Any] | None, context: Any, timeout: float
    ) -> None:
        self.busy = False
        self.epoch = 0
        self.workers: list[Worker] = []
        shares = init is not None and context is None
        try:
            with _kept_streams() if shares else nullcontext():
                for i in range(count):
                    self.workers.append(Worker(fetch, WorkerInfo(i, count, seed + i, fetch.dataset), init, context))
                if shares:
                    self._wait(timeout)
        except BaseException:
            self.close()
            raise

    def _wait(self, timeout: float) -> None:
        """Until worker_init_fn has returned in all. A worker that takes too long raises where its batch is missed."""
        end = time.monotonic() + (timeout or math.inf)
        for worker in self.workers:
            while not worker.begun.wait(0.1) and time.monotonic() < end:  # so that Ctrl-C comes through on Windows
                pass

    def begin(self) -> None:
        """Begins a new epoch."""
        self.busy = True
        self.epoch += 1
        for worker in self.workers:
            worker.epoch = self.epoch

    def rest(self) -> None:
        """Cancels requests that were not begun."""
        self.busy = False
        for worker in self.workers:
            worker.epoch = 0

    def close(self) -> None:
        """Ends the workers, which finish their present batches."""
        for worker in self.workers:
            worker.close()


@contextmanager
def _kept_streams() -> Iterator[None]:
    """`random` and `numpy.random` belong to the process: threads that seed them do so for everybody. They go on as if
    nothing had happened."""
    python, arrays = random.getstate(), np.random.get_state()
    try:
        yield
    finally:
        random.setstate(python)
        np.random.set_state(arrays)


def _same(sample: Any) -> Any:
    return sample


def _ahead(batches: Iterator[Any]) -> Iterator[Any]:
    """Gives each batch once the next one is being copied."""
    waiting: deque[Any] = deque()
    for batch in batches:
        waiting.append(batch)
        if len(waiting) > 1:
            yield waiting.popleft()
    yield from waiting
