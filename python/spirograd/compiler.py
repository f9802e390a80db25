"""sg.compile: calls of a function that run the plans of an earlier call again, without its Python."""

from __future__ import annotations

import functools
import gc
import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import Any, Generic, ParamSpec, TypeVar

from . import _core, tracer
from ._core import Tensor
from .base.tree import flatten
from .nn import Module

P = ParamSpec("P")
R = TypeVar("R")

_KEPT = 64  # sets of argument sizes, and recordings for each
_VARIANTS = 8  # for facts that the arguments do not show: modes, hooks, existing gradients
_ATTEMPTS = 4
_one_at_a_time = threading.Lock()
_AT_ONCE = _core._runs_at_once()


class _Slot:
    """Takes the place of a tensor among the arguments."""


def _key(x: Any, tensors: list[Tensor]) -> Any:
    """The parts of an argument that are not tensors, in a form that can be compared."""
    if isinstance(x, Tensor):
        tensors.append(x)
        return _Slot
    if isinstance(x, dict):
        return dict, tuple([(k, _key(v, tensors)) for k, v in x.items()])
    if isinstance(x, (list, tuple)):
        return type(x), tuple([_key(v, tensors) for v in x])
    try:
        hash(x)
    except TypeError:
        kind = type(x).__name__
        raise TypeError(f"compile: an argument is a {kind}, whose values may change unseen; pass a tensor") from None
    return type(x), x


class _Variant:
    """A recording, and the other facts that must be unchanged for it to be right."""

    def __init__(self, recording: _core._Recording, trace: tracer.Trace, result: Any) -> None:
        self.recording, self.trace = recording, trace
        self.leaves, self.build = flatten(result)
        self.tensors = [i for i, x in enumerate(self.leaves) if isinstance(x, Tensor)]
        self.generators = recording.generators()
        for i, outside in zip(list(self.tensors), recording.outside(), strict=True):
            if not outside:
                self.leaves[i] = None

    def run(self, arguments: list[Tensor]) -> tuple[Any] | None:
        """The result, or None if something has changed."""
        self.trace.settle()
        if not self.trace.holds():
            return None
        numbers, counts = self.trace.numbers()
        before = self.trace.before()
        replayed = self.recording.run(arguments, numbers, self.trace.changes(counts))
        if replayed is None:
            return None
        made, transactions = replayed
        self.trace.note_open(transactions, before)
        if len(self.leaves) == 1 and self.leaves[0] is None and made:
            return (self.build(made),)
        leaves = list(self.leaves)
        for i, x in zip(self.tensors, made, strict=True):
            if leaves[i] is None:
                leaves[i] = x
        return (self.build(leaves),)


class _Known:
    """The recordings for arguments of one kind."""

    def __init__(self) -> None:
        self.variants: list[_Variant] = []
        self.candidate: _Variant | None = None
        self.attempts = 0


class _Compiled(Generic[P, R]):
    """What sg.compile() returns; called like the function."""

    def __init__(self, function: Callable[P, R]) -> None:
        functools.update_wrapper(self, function)
        self._function = function
        self._known: OrderedDict[Any, _Known] = OrderedDict()

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else functools.partial(self, instance)

    def __repr__(self) -> str:
        return f"compile({self._function!r})"

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        if _AT_ONCE or tracer.current():  # a call inside a function that is being recorded is part of it
            return self._function(*args, **kwargs)
        tensors: list[Tensor] = []
        others = _key(args, tensors), _key(kwargs, tensors) if kwargs else None
        key = others, _core._signature(tensors), _core._autocast(), _core.get_float32_matmul_precision()
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = _Known()
            if len(self._known) > _KEPT:
                self._known.popitem(last=False)
        for i, variant in enumerate(known.variants):
            if result := variant.run(tensors):
                if len(self._known) > 1:
                    self._known.move_to_end(key)
                if i:
                    known.variants.insert(0, known.variants.pop(i))
                return result[0]  # type: ignore[no-any-return]
        with _one_at_a_time:
            return self._recorded(known, tensors, args, kwargs)

    def _recorded(self, known: _Known, tensors: list[Tensor], args: Any, kwargs: Any) -> R:
        """Calls the function and records it; two calls that did the same make a variant."""
        leaves, build = flatten((args, kwargs))
        trace, capture = tracer.Trace(), None
        try:
            capture = _core._Capture(tensors)
            aliases = iter(capture.arguments())
            args, kwargs = build([next(aliases) if isinstance(x, Tensor) else x for x in leaves])
            tracer.recording = trace
            result = self._function(*args, **kwargs)
            del args, kwargs, leaves, aliases
            capture.stop()
        finally:
            tracer.recording = None
            if capture is not None:
                capture.abandon()
        trace.end()
        parts, rebuild = flatten(result)
        for x in parts:
            if not isinstance(x, (Tensor, str, int, float, bool, type(None))):
                raise TypeError(f"compile: the function returns a {type(x).__name__}; return tensors and numbers")
        made = [x for x in parts if isinstance(x, Tensor)]
        recording, problem = capture.recording(made)
        if recording is None and problem:
            gc.collect()  # cycles of frames and closures hold tensors, too
            recording, problem = capture.recording(made)
        outcome = rebuild([capture.outside(x) if isinstance(x, Tensor) else x for x in parts])
        variant = None
        if recording is not None and not (problem := trace.problem()):
            variant = _Variant(recording, trace, result)
        if recording is None and not problem:
            return outcome  # type: ignore[no-any-return]  # another thread came between
        before, known.candidate = known.candidate, variant
        if variant is not None:
            if before is None:
                return outcome  # type: ignore[no-any-return]
            problem = _difference(before, variant)
            if not problem:
                variant.recording.allow_open_reports_of(before.recording)
                known.candidate, known.attempts = None, 0
                known.variants.insert(0, variant)
                del known.variants[_VARIANTS:]
                return outcome  # type: ignore[no-any-return]
        known.attempts += 1
        if known.attempts >= _ATTEMPTS:
            known.attempts = 0
            raise _core.Error(f"compile: {self._name} cannot be replayed: {problem}; {_ADVICE}")
        return outcome  # type: ignore[no-any-return]

    @property
    def _name(self) -> str:
        return f"{getattr(self._function, '__name__', 'the function')}()"


class _CompiledModule(Module):
    """A module whose calls are replayed. The module itself is `_orig_mod`; parameters are those of it."""

    def __init__(self, module: Module) -> None:
        super().__init__()
        self._orig_mod = module
        self._compiled: _Compiled[..., Any] = _Compiled(module)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return self._compiled(*args, **kwargs)


_ADVICE = "pass what changes as an argument, as a tensor, and return what is needed outside"


def _difference(a: _Variant, b: _Variant) -> str:
    if not all(x is y or (not isinstance(x, Tensor) and x == y) for x, y in zip(a.leaves, b.leaves, strict=False)):
        return "a number that it returns changes from call to call"
    return a.trace.difference(b.trace) or a.recording.difference(b.recording)


def compile(function: Callable[P, R]) -> Callable[P, R]:
    """A function that does the same with less Python: from the third call or so it only hands the plans of an earlier
    call, with the tensors of this one, to the device.

    The first calls run the function and record what it does; two that did the same make a recording. Each later call
    whose arguments have the same shapes, types, devices and other values replays it: forward, backward and the steps of
    optimisers, with the learning rate of now, fresh random numbers, and the present values of parameters, buffers and
    optimiser states. Bits are those of the function itself. After it, .grad of each parameter is what the function
    would have left there. Results are new tensors, without a gradient.

    Other arguments, train() or eval(), parameters that are frozen or thawed, gradients that are there or not: each is
    recorded for itself. Python inside runs while recording only: what it prints or counts happens in the first calls,
    numbers that it takes from elsewhere keep their values, and another tensor bound to a name outside goes unnoticed
    (one written in place is seen). Options of optimisers are seen; schedulers are called outside.

    Args:
        function: takes and returns tensors, in any nesting of lists, tuples and dicts. Numbers and everything else
            among its arguments are part of the recording: pass a number that changes as a tensor.

    Returns:
        The compiled function; of a module, a module with the same parameters. `@sg.compile` does the same as a
        decorator.

    Raises:
        Error: when called: the function reads a value (item(), numpy(), an if on a tensor), or what it does changes
            from call to call in a way that a replay cannot follow, or it stores a tensor that it made outside the call.
        ValueError: when called: an argument wants a gradient.
        TypeError: when called: an argument cannot be compared (a NumPy array), or a result is no tensor or number.

    Example:
        >>> net = sg.nn.Linear(4, 2)
        >>> opt = sg.optim.Adam(net.parameters(), lr=0.1)
        >>> @sg.compile
        ... def step(x, y):
        ...     loss = sg.nn.functional.cross_entropy(net(x), y)
        ...     opt.zero_grad()
        ...     loss.backward()
        ...     opt.step()
        ...     return loss
        >>> x, y = sg.randn(8, 4), sg.randint(0, 2, (8,))
        >>> losses = [step(x, y) for _ in range(20)]
        >>> losses[-1].item() < losses[0].item()
        True
    """
    if not callable(function):
        raise TypeError(f"compile: a {type(function).__name__} cannot be called; pass a function")
    if isinstance(function, Module):
        return _CompiledModule(function)
    return _Compiled(function)
