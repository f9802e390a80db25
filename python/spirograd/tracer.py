"""What a step does in Python that the core does not see, observed while sg.compile records it.

The core records plans, and where their leaves, offsets and random numbers come from (cpp/engine/replay). This module
owns the rest: which modules were called, in which mode; which optimisers stepped, with which options; and which numbers
of theirs went into the plans, so that a replay computes them anew. `nn` and `optim` report here, and know of recordings
nothing else; `compiler` begins a trace, compares two, and asks one whether it still holds. `training.replay` decides
which steps of fit are compiled at all.

One function is recorded at a time. What other threads do meanwhile is no part of it.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterable
from typing import Any, ClassVar, Protocol

from . import _core


class _Module(Protocol):
    training: bool


class _Optimizer(Protocol):
    """What a trace asks of an optimiser."""

    _step_count: int
    _open: list[tuple[_core._Transaction, Any]]
    _has_phases: ClassVar[bool]  # whether its own steps change _replay_key()

    @property
    def _name(self) -> str: ...
    def _replay_key(self, numbers: bool) -> Any: ...
    def _settle_open(self, raises: bool = False) -> None: ...


class _Batch(Protocol):
    counts: Any
    params: list[_core.Tensor]


class _BatchOptimizer(_Optimizer, Protocol):
    """An optimiser whose updates take numbers that a replay asks for anew."""

    def _has(self, batch: Any) -> bool: ...
    def _next(self, batch: Any, counts: Any, numbers: list[float]) -> Any: ...


class Trace:
    """The modules and optimisers of one call, which report to it while it is `recording`."""

    def __init__(self) -> None:
        self.thread = threading.get_ident()
        self.modules: list[tuple[_Module, bool]] = []  # with their modes at the end
        self.steps: list[_Optimizer] = []
        self._times: Counter[_Optimizer] = Counter()  # how often each of them steps
        self._called: dict[_Module, None] = {}  # in the order of the first calls
        self._keys: dict[_Optimizer, Any] = {}
        self._before: dict[_Optimizer, Any] = {}  # the same with the values of numbers
        self._batches: list[tuple[_BatchOptimizer, _Batch]] = []  # in the order of the updates
        self._counted: list[tuple[_BatchOptimizer, _Batch]] = []  # whose counts are on the device

    def end(self) -> None:
        """Notes the modes of modules at the end."""
        self._times = Counter(self.steps)
        self.modules = [(m, m.training) for m in self._called]

    def holds(self) -> bool:
        """Whether the call would do the same now as then, apart from numbers."""
        for module, training in self.modules:
            if module.training is not training:
                return False
        for optimizer, key in self._keys.items():
            if optimizer._replay_key(False) != key:
                return False
        return all(optimizer._has(batch) for optimizer, batch in (*self._batches, *self._counted))

    def numbers(self) -> tuple[list[float], dict[_Batch, Any]]:
        """The numbers of the next steps, and the counts of the batches after them."""
        numbers: list[float] = []
        counts: dict[_Batch, Any] = {}
        for optimizer, batch in self._batches:
            counts[batch] = optimizer._next(batch, counts.get(batch, batch.counts), numbers)
        return numbers, counts

    def changes(self, counts: dict[_Batch, Any]) -> list[tuple[Any, str, Any]]:
        """What the steps change besides tensors: objects, attributes, and their values after them."""
        steps = [(optimizer, "_step_count", optimizer._step_count + n) for optimizer, n in self._times.items()]
        return [*steps, *((batch, "counts", new) for batch, new in counts.items())]

    def before(self) -> list[tuple[_Optimizer, Any]]:
        """Of each optimiser that updates, the counts before its step."""
        updating = [o for o in self.steps if any(o is other for other, _ in (*self._batches, *self._counted))]
        return [(o, [(b.params, b.counts) for other, b in self._batches if other is o]) for o in updating]

    def note_open(self, transactions: list[_core._Transaction], before: list[tuple[_Optimizer, Any]]) -> None:
        """Notes steps that may not be done; `transactions`: of all that were made, or of none."""
        if len(transactions) == len(before):
            for transaction, (optimizer, counts) in zip(transactions, before, strict=True):
                optimizer._open.append((transaction, counts))

    def settle(self) -> None:
        """Takes back the counts of steps that were not done, and raises why."""
        for optimizer in self._keys:
            optimizer._settle_open(True)

    def problem(self) -> str:
        """Why steps without Python would be wrong; "" if they would be right."""
        for optimizer, before in self._before.items():
            if not optimizer._has_phases and optimizer._replay_key(True) != before:
                return f"options or counts of {optimizer._name} change inside (call schedulers outside)"
        return ""

    def difference(self, other: Trace) -> str:
        """How two calls differ; "" if they do not."""
        if self.modules != other.modules:
            return "it calls other modules from call to call"
        if self.steps != other.steps:
            return "other optimisers step from call to call"
        return ""


recording: Trace | None = None  # the trace of the call that is recorded


def current() -> Trace | None:
    """The trace of the call that is recorded, in its thread; None in others."""
    return recording if recording is not None and recording.thread == threading.get_ident() else None


def calls(module: _Module) -> None:
    """Reports that a module is called. Each call of each module comes by: see `recording` first."""
    if trace := current():
        trace._called[module] = None


def steps(optimizer: _Optimizer) -> None:
    """Reports that an optimiser is about to step."""
    if trace := current():
        trace.steps.append(optimizer)
        if optimizer not in trace._keys:
            trace._keys[optimizer] = optimizer._replay_key(False)
            trace._before[optimizer] = optimizer._replay_key(True)


def updates(optimizer: _BatchOptimizer, batch: _Batch, on_device: bool) -> None:
    """Reports an update of a batch of parameters. Its numbers come from Python, from options and counts, or they are
    counted on the device, in tensors of the batch.
    """
    if trace := current():
        (trace._counted if on_device else trace._batches).append((optimizer, batch))


def options_of(modules: Iterable[Any]) -> list[Any]:
    """What modules may be told besides tensors and modes, which is more than a replay checks."""
    kinds = (bool, int, float, str, tuple, type(None))
    return [(id(m), [(k, v) for k, v in vars(m).items() if isinstance(v, kinds) and k != "training"]) for m in modules]
