"""Workers of a loader: threads, each of which makes batches itself or asks a process of its own for them.

A worker answers in the order of its tasks, so batch i is made by worker i % n and taken from there. Each batch draws
its random numbers from a part of the epoch's stream of its own, so they do not depend on who makes it.
"""

from __future__ import annotations

import contextlib
import copy
import enum
import itertools
import math
import os
import pickle
import queue
import random
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ... import _core
from ..._core import Generator, Tensor
from ...base.tree import transform
from ._collate import Table, table_of


@dataclass(frozen=True)
class WorkerInfo:
    """Describes a worker.

    Attributes:
        id: its number, from 0.
        num_workers: how many there are.
        seed: differs between workers and epochs, and is the same for the same generator.
        dataset: the worker's data set: a copy in a process, the one of the loader in a thread.
    """

    id: int
    num_workers: int
    seed: int
    dataset: Any = field(repr=False)


_here = threading.local()


def get_worker_info() -> WorkerInfo | None:
    """The worker of a loader that runs this code; None in the main thread.

    Example:
        >>> sg.utils.data.get_worker_info() is None
        True
    """
    return getattr(_here, "info", None)


# A batch: the seed of its epoch, and its number.
Position = tuple[int, int]
# How far the streams of two batches are apart, in blocks of four words: a batch may draw 2**38 numbers.
_APART = 1 << 36


class Stream:
    """The common random numbers of a thread while it makes batches.

    Args:
        seed: what initial_seed() is there.
    """

    def __init__(self, seed: int) -> None:
        self._own = Generator().manual_seed(seed)
        self._arrays: np.random.Generator | None = None

    @contextlib.contextmanager
    def at(self, position: Position | None) -> Iterator[None]:
        """Draws from the part of a batch; None goes on where the stream is."""
        if position is not None:
            self._own._go_to(position[0], (position[1] + 1) * _APART)
            self._arrays = None
        before = getattr(_here, "stream", None)
        _here.stream, self._position = self, position
        generator_before = _core._generator_of_thread(self._own)
        try:
            yield
        finally:
            _here.stream = before
            _core._generator_of_thread(generator_before)

    def initial_seed(self) -> int:
        """The seed that was last set."""
        return self._own.initial_seed()

    def for_arrays(self) -> np.random.Generator:
        """One of NumPy's generators that follows from the position, or else from the seed."""
        if self._arrays is None:
            self._arrays = np.random.default_rng(self._position or self.initial_seed())
        return self._arrays


def stream_of_thread() -> Stream | None:
    """That of the loader for which this thread makes a batch."""
    return getattr(_here, "stream", None)


class End(enum.Enum):
    """Marks the end of a stream."""

    END = 0


@dataclass
class Fetch:
    """Makes the batch of a task: a list of indices, one index, or for a stream how many samples."""

    dataset: Any
    collate: Callable[[Any], Any]
    stream: bool
    batched: bool
    drop_last: bool
    table: Table | None
    items: Any = None

    def restart(self) -> Fetch:
        """One for a new epoch."""
        fresh = copy.copy(self)
        fresh.items = None
        return fresh

    def __reduce__(self) -> Any:
        """A process has the table of its own copy of the data set."""
        return _sent, (self.dataset, self.collate, self.stream, self.batched, self.drop_last, self.table is not None)

    def __call__(self, task: Any) -> Any:
        if self.table is not None:
            return self.table.take(task)
        if self.stream:
            if self.items is None:
                self.items = iter(self.dataset)
            samples = list(itertools.islice(self.items, task))
            if not samples or (self.drop_last and len(samples) < task):
                return End.END
            return self.collate(samples if self.batched else samples[0])
        if not self.batched:
            return self.collate(self.dataset[task])
        if callable(many := getattr(self.dataset, "__getitems__", None)):
            return self.collate(many(task))
        return self.collate([self.dataset[i] for i in task])


def _sent(
    dataset: Any, collate: Callable[[Any], Any], stream: bool, batched: bool, drop_last: bool, by_table: bool
) -> Fetch:
    return Fetch(dataset, collate, stream, batched, drop_last, table_of(dataset) if by_table else None)


@dataclass
class Raised:
    """An error in place of a batch."""

    error: BaseException


class RemoteTraceback(Exception):
    """Where in a worker process an error was raised; the cause of the error that the caller sees."""

    def __str__(self) -> str:
        return f'\n"""\n{self.args[0]}"""'


class Worker:
    """A thread with its tasks and its results. Threads never keep a program alive."""

    def __init__(self, fetch: Fetch, info: WorkerInfo, init: Callable[[int], Any] | None, context: Any) -> None:
        self.info = info
        self.tasks: queue.SimpleQueue[tuple[int, Position, Any] | None] = queue.SimpleQueue()
        self.answers: queue.SimpleQueue[tuple[int, Any]] = queue.SimpleQueue()
        self.epoch = 0  # tasks of another epoch are not begun
        self.process = Process(fetch, info, init, context) if context is not None else None
        self.begun = threading.Event()  # a thread has called worker_init_fn
        make = self.process or Local(fetch, info, init)
        threading.Thread(target=self._serve, args=(make,), name=f"DataLoader {info.id}", daemon=True).start()

    def _serve(self, make: Local | Process) -> None:
        begun = 0
        failed: Raised | None = None
        if isinstance(make, Local):
            try:
                make.begin()
            except BaseException as error:
                failed = Raised(error)
        self.begun.set()
        try:
            while (next_task := self.tasks.get()) is not None:
                epoch, position, task = next_task
                if epoch != self.epoch:
                    continue
                try:
                    fresh, begun = epoch != begun, epoch
                    answer = failed or make(task, position, fresh)
                except BaseException as error:  # every error is passed to the caller
                    answer = Raised(error)
                self.answers.put((epoch, answer))
        finally:
            make.close()

    def answer(self, timeout: float | None) -> Any:
        """The next answer of this epoch; raises what the worker raised."""
        while True:
            try:
                epoch, value = self._next(timeout)
            except queue.Empty:
                if self.process is not None:
                    self.process.end()
                raise RuntimeError(
                    f"DataLoader: worker {self.info.id} gave no batch within {timeout} seconds; "
                    "raise timeout=, or find out what the data set waits for"
                ) from None
            if epoch != self.epoch:
                continue
            if isinstance(value, Raised):
                try:
                    raise value.error
                finally:
                    del value  # no cycle through the traceback
            return value

    def _next(self, timeout: float | None) -> tuple[int, Any]:
        """On Windows, Ctrl-C does not end the wait for a lock, and comes between two."""
        if os.name != "nt":
            return self.answers.get(timeout=timeout or None)
        end = time.monotonic() + (timeout or math.inf)
        while True:
            with contextlib.suppress(queue.Empty):
                return self.answers.get(timeout=max(min(0.1, end - time.monotonic()), 0))
            if time.monotonic() >= end:
                raise queue.Empty

    def close(self) -> None:
        """The thread ends after the batch that it is making; it is not waited for."""
        self.epoch = -1
        self.tasks.put(None)


class Local:
    """Makes batches in the worker's thread."""

    def __init__(self, fetch: Fetch, info: WorkerInfo, init: Callable[[int], Any] | None) -> None:
        self._given, self._info, self._init = fetch, info, init
        self._fetch = fetch.restart()
        self._stream = Stream(info.seed)
        self._seeded = False  # by worker_init_fn

    def begin(self) -> None:
        """Calls worker_init_fn."""
        _here.info = self._info
        if self._init is not None:
            with self._stream.at(None):
                self._init(self._info.id)
            self._seeded = self._stream.initial_seed() != self._info.seed

    def __call__(self, task: Any, position: Position, fresh: bool) -> Any:
        if fresh:
            self._fetch = self._given.restart()
        with self._stream.at(None if self._seeded else position):
            return self._fetch(task)

    def close(self) -> None:
        """Has nothing to release."""


class Started:
    """What a process is sent first. It remembers the process, which on Windows runs before the rest is pickled."""

    def __init__(self) -> None:
        self._process: Any = None

    def __reduce__(self) -> Any:
        from multiprocessing.context import get_spawning_popen

        self._process = get_spawning_popen()
        return Started, ()

    def end(self) -> None:
        """Ends the process if the rest could not be pickled: it would take what the next one is sent."""
        if os.name == "nt" and self._process is not None:
            self._process.terminate()
            self._process.wait()


class Process:
    """Makes batches in a process; a call sends the task and waits for the answer."""

    def __init__(self, fetch: Fetch, info: WorkerInfo, init: Callable[[int], Any] | None, context: Any) -> None:
        self._pipe, theirs = context.Pipe()
        name = f"DataLoader {info.id}"
        self._id = info.id
        started = Started()
        # The pipe comes last: nothing is lost when the data set cannot be pickled.
        arguments = (started, fetch, info, init, theirs)
        self._process = context.Process(target=_main, args=arguments, name=name, daemon=True)
        try:
            self._process.start()
        except (pickle.PicklingError, AttributeError, TypeError) as error:
            started.end()
            raise TypeError(
                f"DataLoader: what worker processes need cannot be pickled ({error}); define the data set, collate_fn "
                "and worker_init_fn at the top level of a module, or use threads (multiprocessing_context=None)"
            ) from error
        theirs.close()

    def __call__(self, task: Any, position: Position, fresh: bool) -> Any:
        from multiprocessing.connection import wait

        try:
            self._pipe.send((task, position, fresh))
            # On Windows the pipe stays open when a process ends before it took its end.
            if self._pipe not in wait([self._pipe, self._process.sentinel]):
                raise EOFError
            answer, trace = self._pipe.recv()
        except (EOFError, OSError):
            self._process.join(1)
            raise RuntimeError(
                f"DataLoader: worker process {self._id} ended with exit code {self._process.exitcode} before its batch "
                "was made (negative: the signal that killed it; -9 is often too little memory)"
            ) from None
        if isinstance(answer, Raised):
            answer.error.__cause__ = RemoteTraceback(trace)
        return answer

    def end(self) -> None:
        """Ends the process at once, whatever it does."""
        self._process.terminate()

    def close(self) -> None:
        """Ends the process and waits for it."""
        with contextlib.suppress(OSError):
            self._pipe.send(None)
        self._process.join()
        self._pipe.close()


def _main(_: Started, fetch: Fetch, info: WorkerInfo, init: Callable[[int], Any] | None, pipe: Any) -> None:
    """A worker process. Its own defaults are the CPU; Ctrl-C is for the program that started it."""
    import multiprocessing
    import signal
    from multiprocessing.connection import wait

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _core.set_default_device("cpu")
    _core.manual_seed(info.seed)
    random.seed(info.seed)
    np.random.seed(info.seed % (1 << 32))
    parent = multiprocessing.parent_process()
    assert parent is not None
    make, begun = Local(fetch, WorkerInfo(info.id, info.num_workers, info.seed, fetch.dataset), init), False
    # A parent that was killed sends nothing.
    while pipe in wait([pipe, parent.sentinel]):
        trace = ""
        try:
            if (message := pipe.recv()) is None:
                return
            if not begun:
                make.begin()
                begun = True
            answer = transform(_host, make(*message))
        except EOFError:
            return
        except BaseException as error:
            trace = traceback.format_exc()
            answer = Raised(_plain(error))
        try:
            reply = pickle.dumps((answer, trace), pickle.HIGHEST_PROTOCOL)
        except Exception as error:
            text = f"DataLoader: the batch cannot be pickled ({error}); return tensors, arrays and plain values"
            reply = pickle.dumps((Raised(TypeError(text)), traceback.format_exc()))
        try:
            pipe.send_bytes(reply)
        except OSError:
            return


def _host(leaf: Any) -> Any:
    if isinstance(leaf, Tensor) and leaf.device.kind == "gpu":
        raise ValueError(
            f"DataLoader: a worker process made a tensor on {leaf.device}; keep the data of worker processes on the "
            "CPU, or use threads (multiprocessing_context=None)"
        )
    return leaf


def _plain(error: BaseException) -> BaseException:
    """The error itself if it can be pickled, else one with the same text."""
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        return RuntimeError(f"{type(error).__name__}: {error}")
    return error
