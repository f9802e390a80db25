"""A node of a graph: one call, one input, or the result."""

from __future__ import annotations

import builtins
from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

__all__ = ["Argument", "Node", "Target", "map_aggregate", "map_arg"]

Target: TypeAlias = "str | Callable[..., Any]"
Argument: TypeAlias = Any  # a Node, a number, a string, a type, None, or a list, tuple, dict or slice of those


def map_aggregate(value: Argument, fn: Callable[[Any], Any]) -> Any:
    """A value with each leaf of its lists, tuples, dicts and slices sent through a function.

    Example:
        >>> sg.fx.node.map_aggregate([1, (2,)], lambda v: v + 1)
        [2, (3,)]
    """
    if isinstance(value, tuple):
        parts = [map_aggregate(v, fn) for v in value]
        return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
    if isinstance(value, list):
        return [map_aggregate(v, fn) for v in value]
    if isinstance(value, dict):
        return {k: map_aggregate(v, fn) for k, v in value.items()}
    if isinstance(value, slice):
        return slice(*(map_aggregate(v, fn) for v in (value.start, value.stop, value.step)))
    return fn(value)


def map_arg(value: Argument, fn: Callable[[Node], Any]) -> Any:
    """A value with each of its nodes sent through a function.

    Example:
        >>> graph = sg.fx.Graph()
        >>> sg.fx.map_arg([graph.placeholder("x"), 2], lambda node: node.name)
        ['x', 2]
    """
    return map_aggregate(value, lambda v: fn(v) if isinstance(v, Node) else v)


def target_name(target: Target) -> str:
    """What a function is called: with its module, unless that is Python's own."""
    if isinstance(target, str):
        return target
    name = str(getattr(target, "__qualname__", None) or getattr(target, "__name__", repr(target)))
    module = str(getattr(target, "__module__", None) or "").removeprefix("_")  # operator.add lives in _operator
    if module == "builtins" or getattr(builtins, name, None) is target:
        return str(name)
    return f"{module}.{name}" if module else str(name)


class Node:
    """One step of a graph, made by the graph's methods.

    Attributes:
        graph: the Graph that it belongs to.
        op: placeholder, get_attr, call_function, call_module, call_method or output.
        target: of a placeholder its name; a dotted name of the module; the function; the name of the method.
        args, kwargs: what it is called with, nodes among them.
        name: unique in the graph.
        users: the nodes that take its value, as keys.
        meta: anything that passes attach to it.
    """

    def __init__(
        self, graph: Any, name: str, op: str, target: Target, args: tuple[Argument, ...], kwargs: dict[str, Argument]
    ) -> None:
        self.graph, self.name, self.op, self.target = graph, name, op, target
        self.type: Any = None
        self.users: dict[Node, None] = {}
        self.meta: dict[str, Any] = {}
        self._args: tuple[Argument, ...] = ()
        self._kwargs: dict[str, Argument] = {}
        self._prev = self._next = self
        self._erased = False
        self._set(args, kwargs)

    def _set(self, args: tuple[Argument, ...], kwargs: dict[str, Argument]) -> None:
        for node in self.all_input_nodes:
            node.users.pop(self, None)
        self._args, self._kwargs = tuple(args), dict(kwargs)
        for node in self.all_input_nodes:
            node.users[self] = None

    @property
    def args(self) -> tuple[Argument, ...]:
        """What it is called with, by place; may be set."""
        return self._args

    @args.setter
    def args(self, value: tuple[Argument, ...]) -> None:
        self._set(value, self._kwargs)

    @property
    def kwargs(self) -> dict[str, Argument]:
        """What it is called with, by name; may be set."""
        return self._kwargs

    @kwargs.setter
    def kwargs(self, value: dict[str, Argument]) -> None:
        self._set(self._args, value)

    def update_arg(self, idx: int, arg: Argument) -> None:
        """Sets one of args."""
        args = list(self._args)
        args[idx] = arg
        self.args = tuple(args)

    def update_kwarg(self, key: str, arg: Argument) -> None:
        """Sets one of kwargs."""
        self.kwargs = {**self._kwargs, key: arg}

    @property
    def all_input_nodes(self) -> list[Node]:
        """The nodes among its arguments, each once."""
        found: dict[Node, None] = {}
        map_arg((self._args, self._kwargs), lambda node: found.setdefault(node))
        return list(found)

    @property
    def next(self) -> Node:
        """The node behind it; behind the last one the graph's root."""
        return self._next

    @property
    def prev(self) -> Node:
        """The node before it."""
        return self._prev

    def _remove(self) -> None:
        self._prev._next, self._next._prev = self._next, self._prev

    def prepend(self, x: Node) -> None:
        """Moves a node of the graph before this one."""
        if x is self:
            return
        x._remove()
        x._prev, x._next = self._prev, self
        self._prev._next = x
        self._prev = x

    def append(self, x: Node) -> None:
        """Moves a node of the graph behind this one."""
        if x is not self:
            self._next.prepend(x) if self._next is not x else None

    def replace_all_uses_with(
        self, replace_with: Node, delete_user_cb: Callable[[Node], bool] = lambda user: True
    ) -> list[Node]:
        """Lets all users, or those for which a function says so, take another node. Returns the users that changed."""
        changed = [user for user in self.users if delete_user_cb(user)]
        for user in changed:
            user.replace_input_with(self, replace_with)
        return changed

    def replace_input_with(self, old_input: Node, new_input: Node) -> None:
        """Takes another node in place of an argument."""

        def swapped(node: Node) -> Node:
            return new_input if node is old_input else node

        self._set(map_arg(self._args, swapped), map_arg(self._kwargs, swapped))

    def is_impure(self) -> bool:
        """Whether it must stay without users: inputs, the result, and methods that write."""
        if self.op in ("placeholder", "output"):
            return True
        name = self.target if isinstance(self.target, str) else str(getattr(self.target, "__name__", ""))
        writes = name.endswith("_") and not name.endswith("__")
        return self.op in ("call_method", "call_function") and (writes or name.startswith("_assert"))

    def format_node(self) -> str:
        """The node as a line of text."""
        if self.op == "placeholder":
            default = f"(default={self._args[0]!r})" if self._args else ""
            return f"%{self.name} : [num_users={len(self.users)}] = placeholder[target={self.target}]{default}"
        shown = map_arg((self._args, self._kwargs), lambda node: _Shown(f"%{node.name}"))
        if self.op == "output":
            return f"return {shown[0][0]}"
        head = f"%{self.name} : [num_users={len(self.users)}] = {self.op}[target={target_name(self.target)}]"
        return head if self.op == "get_attr" else f"{head}(args = {shown[0]}, kwargs = {shown[1]})"

    def __repr__(self) -> str:
        return self.name

    def __iter__(self) -> Iterator[Any]:
        raise TypeError(f"{self.name}: a node cannot be iterated over; its value is known when the graph runs")


class _Shown(str):
    def __repr__(self) -> str:
        return str(self)
