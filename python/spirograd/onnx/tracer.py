"""Follows the calls of a forward pass and writes what they do into a graph."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from .. import _core
from .._core import Error, Tensor
from ..base.tree import flatten
from .graph import Graph, Value, array_of
from .operations import FRESH, IGNORED, OPERATIONS, VIEWS, Call

UNFOLLOWED = "compute it from the inputs with functions of spirograd, or outside the model"


class Tracer:
    """Sees every call. Calls whose arguments do not depend on the inputs make constants.

    Args:
        graph: where nodes go.
        inputs: tensors, with the values that they are in the graph.
        names: names of parameters and buffers, by id.
    """

    def __init__(self, graph: Graph, inputs: dict[str, Tensor], names: dict[int, str]) -> None:
        self.graph, self.names = graph, names
        self._values: dict[int, Value] = {}
        self._kept: list[Any] = []  # so that no id is used twice
        self._constants: dict[int, Value] = {}
        self._fresh: dict[int, Callable[[], Tensor]] = {}  # memory that may be written: how it was made
        self._base: dict[int, int] = {}  # of views
        self._stale: dict[int, str] = {}  # what a write into a view, or into what it is a view of, made wrong
        self._inputs = {x.grad_fn for x in inputs.values() if x.grad_fn is not None}
        for name, x in inputs.items():
            self.bind(x, Value(name, x.shape, x.dtype.name))

    @contextmanager
    def following(self) -> Iterator[None]:
        """Follows the calls inside."""
        with _core._Mode(interceptor=self):
            yield

    @contextmanager
    def looking_away(self) -> Iterator[None]:
        """Follows no call inside."""
        with _core._Mode(alone=True):
            yield

    def bind(self, x: Tensor, value: Value) -> None:
        """Notes that a tensor is this value."""
        self._kept.append(x)
        self._values[id(x)] = value

    def depends(self, tree: Any) -> bool:
        """Whether there is a tensor in it that depends on the inputs."""
        return any(isinstance(x, Tensor) and id(x) in self._values for x in _leaves(tree))

    def value(self, x: Tensor) -> Value:
        """What a tensor is in the graph."""
        if id(x) in self._stale:
            raise Error(
                f"onnx.export: {self._stale[id(x)]} wrote into a part of a tensor that is read afterwards; write with "
                "x[...] = value, or make a new tensor"
            )
        if (found := self._values.get(id(x))) is not None:
            return found
        if (known := self._constants.get(id(x))) is not None:
            return known
        if x.grad_fn is not None and id(x) not in self.names and self._history(x):
            raise Error(
                f"onnx.export: a tensor {list(x.shape)} was made in a way that cannot be followed; {UNFOLLOWED}"
            )
        value = self.graph.constant(array_of(x), x.dtype.name, self.names.get(id(x)))
        if id(x) in self.names:
            self._kept.append(x)
            self._constants[id(x)] = value
        return value

    def _history(self, x: Tensor) -> bool:
        """Whether an input has a part in the tensor."""
        seen: set[Any] = set()
        todo = [x.grad_fn]
        while todo:
            fn = todo.pop()
            if fn in self._inputs:
                return True
            if fn is not None and fn not in seen:
                seen.add(fn)
                todo += [following for following, _ in fn.next_functions]
        return False

    def converted(self, tree: Any) -> Any:
        """Arguments with values in place of tensors."""
        if isinstance(tree, Tensor):
            return self.value(tree)
        if isinstance(tree, (tuple, list)):
            return (
                type(tree)(map(self.converted, tree))
                if not hasattr(tree, "_fields")
                else tuple(map(self.converted, tree))
            )
        if isinstance(tree, dict):
            return {k: self.converted(v) for k, v in tree.items()}
        return tree

    def __call__(self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if isinstance(function, _core._Overridable):  # its calls show what it does
            with self.following():
                return function.__wrapped__(*args, **kwargs)
        result = function(*args, **kwargs)
        if result is not NotImplemented:
            self._note(function.__name__, args, kwargs, result)
        return result

    def _note(self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any) -> None:
        """Writes what a call did."""
        if name in IGNORED:
            return
        written = _written(name)
        if not self.depends((args, kwargs)):
            if name in FRESH:
                self._kept.append(result)
                self._fresh[id(result)] = lambda: _again(name, args, kwargs)
            elif written is not None and args and id(args[0]) in self._fresh:
                copy = args[0].detach().clone()
                self._fresh[id(args[0])] = lambda: copy
            return
        if name not in OPERATIONS and (written is None or written not in OPERATIONS):
            raise Error(f"onnx.export: {name} has no ONNX form here; {UNFOLLOWED}")
        if written is not None and name not in OPERATIONS:
            self._write(written, args, kwargs)
            return
        if name == "__setitem__":
            self._write(name, args, kwargs)
            return
        call = Call(self.graph, name, result, args, kwargs)
        made = OPERATIONS[name](call, *self.converted(args), **self.converted(kwargs))
        tensors = [x for x in _leaves(result) if isinstance(x, Tensor)]
        values = made if isinstance(made, (list, tuple)) else [made]
        for x, value in zip(tensors, values, strict=True):
            if value is not None:
                self.bind(x, value)
                if name in VIEWS and isinstance(args[0], Tensor) and x is not args[0]:
                    self._base[id(x)] = id(args[0])

    def _write(self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """A write into args[0]: from now on it is another value."""
        target = args[0]
        if id(target) not in self._values:
            if id(target) not in self._fresh:
                raise Error(f"onnx.export: {name} writes into a tensor that was made outside the model; {UNFOLLOWED}")
            before = self._fresh[id(target)]()
            self.bind(target, self.graph.constant(array_of(before), target.dtype.name))
        self._stale.pop(id(target), None)
        call = Call(self.graph, name, target, args, kwargs)
        value = OPERATIONS[name](call, *self.converted(args), **self.converted(kwargs))
        value = self.graph.cast(self.graph.expand(value, target.shape), target.dtype.name)
        self.bind(target, value)
        for view, base in self._base.items():
            if base == id(target):
                self._stale[view] = name
        if (base_of := self._base.get(id(target))) is not None:
            self._stale[base_of] = name


def _leaves(tree: Any) -> list[Any]:
    if isinstance(tree, slice):
        return [tree.start, tree.stop, tree.step]
    return flatten(tree)[0]


def _written(name: str) -> str | None:
    """The op that a name in place stands for: add of add_, __add__ of __iadd__."""
    if name == "__setitem__":
        return name
    if name.startswith("__i") and name not in ("__invert__",):
        return f"__{name[3:]}"
    return name[:-1] if name.endswith("_") and not name.endswith("__") else None


def _again(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The call once more."""
    return (getattr(_core, name, None) or getattr(Tensor, name))(*args, **kwargs)
