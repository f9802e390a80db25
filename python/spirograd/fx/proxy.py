"""What a program computes with while it is traced: operations on it become nodes."""

from __future__ import annotations

import dis
import operator
import sys
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NoReturn

from .._core import Tensor
from ..nn import Module
from ..nn.module import call_of_module
from .graph import Graph
from .node import Argument, Node, Target, map_aggregate

__all__ = ["GraphAppendingTracer", "Proxy", "TraceError", "TracerBase"]


class TraceError(ValueError):
    """The program asks for a value that is known only when it runs."""


class TracerBase:
    """Makes nodes of calls.

    Attributes:
        graph: where they go.
    """

    graph: Graph

    def create_node(
        self,
        kind: str,
        target: Target,
        args: tuple[Argument, ...],
        kwargs: dict[str, Argument],
        name: str | None = None,
        type_expr: Any = None,
    ) -> Node:
        """A node of these arguments; a tracer of one's own may note more about it."""
        return self.graph.create_node(kind, target, args, kwargs, name, type_expr)

    def proxy(self, node: Node) -> Proxy:
        """What stands for a node's value."""
        return Proxy(node, self)

    def create_proxy(
        self,
        kind: str,
        target: Target,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        name: str | None = None,
        type_expr: Any = None,
    ) -> Proxy:
        """A node of what the program passed, and what stands for its value."""
        made = [self.create_arg(a) for a in args], {k: self.create_arg(v) for k, v in kwargs.items()}
        return self.proxy(self.create_node(kind, target, tuple(made[0]), made[1], name, type_expr))

    def call_module(self, m: Module, forward: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """What a call of a module gives: what its forward() does."""
        return forward(*args, **kwargs)

    def create_arg(self, a: Any) -> Argument:
        """What a node keeps of a value."""
        return map_aggregate(a, self._leaf)

    def _leaf(self, value: Any) -> Argument:
        return value.node if isinstance(value, Proxy) else value


class GraphAppendingTracer(TracerBase):
    """Makes nodes at the end of a graph, for proxies that passes make themselves."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph


class Proxy:
    """Stands for a value that is known when the graph runs.

    Args:
        node: the node that computes it.
        tracer: makes nodes of what is done with it; None: at the end of the node's graph.

    Example:
        >>> graph = sg.fx.Graph()
        >>> y = sg.fx.Proxy(graph.placeholder("x")) + 1
        >>> y.node.op, len(graph.nodes)
        ('call_function', 2)
    """

    def __init__(self, node: Node, tracer: TracerBase | None = None) -> None:
        self.tracer = tracer or GraphAppendingTracer(node.graph)
        self.node = node

    def __getattr__(self, name: str) -> Attribute:
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        return Attribute(self, name)

    def __call__(self, *args: Any, **kwargs: Any) -> Proxy:
        return self.tracer.create_proxy("call_method", "__call__", (self, *args), kwargs)

    @classmethod
    def __spirograd_function__(cls, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A node for a function of the core, or a method of a tensor, that got a proxy."""
        proxy = is_traced(args, kwargs)
        assert proxy is not None
        if function is call_of_module:
            return proxy.tracer.call_module(args[0], partial(function.__wrapped__, args[0]), args[1:], kwargs)
        name = str(getattr(function, "__name__", ""))
        if getattr(Tensor, name, None) is function:
            return proxy.tracer.create_proxy("call_method", name, args, kwargs)
        return proxy.tracer.create_proxy("call_function", function, args, kwargs)

    def _refuse(self, what: str) -> NoReturn:
        raise TraceError(
            f"{self.node.name}: {what} is known only when the graph runs; pass what decides it as concrete_args, or "
            "move the code into a function marked with fx.wrap()"
        )

    def __bool__(self) -> bool:
        self._refuse("whether it is true, which an if or a while asks,")

    def __iter__(self) -> Iterator[Any]:
        # `a, b = x` names as many values as the program takes apart.
        frame = sys._getframe(1)
        code, at = frame.f_code.co_code, frame.f_lasti
        count = _unpacked(code, at)
        if count:
            return iter([operator.getitem(self, i) for i in range(count)])
        self._refuse("how many elements it has, which a loop asks,")

    def __len__(self) -> int:
        self._refuse("its length")

    def __int__(self) -> int:
        self._refuse("its number")

    def __float__(self) -> float:
        self._refuse("its number")

    def __index__(self) -> int:
        self._refuse("its number")

    def __repr__(self) -> str:
        return f"Proxy({self.node.name})"


def _unpacked(code: bytes, at: int) -> int:
    """Into how many values the instruction at a place takes a sequence apart; 0: it does something else."""
    name = dis.opname[code[at]]
    return code[at + 1] if name.startswith("UNPACK_SEQUENCE") else 0


class Attribute(Proxy):
    """An attribute of a proxy: a method if it is called, else a value."""

    def __init__(self, root: Proxy, attr: str) -> None:
        self.root, self.attr, self.tracer = root, attr, root.tracer
        self._node: Node | None = None

    @property
    def node(self) -> Node:  # type: ignore[override]
        """Made when the value is taken."""
        if self._node is None:
            self._node = self.tracer.create_proxy("call_function", getattr, (self.root, self.attr), {}).node
        return self._node

    def __call__(self, *args: Any, **kwargs: Any) -> Proxy:
        return self.tracer.create_proxy("call_method", self.attr, (self.root, *args), kwargs)


def is_traced(*values: Any) -> Proxy | None:
    """A proxy among values and inside of their lists, tuples and dicts."""
    found: list[Proxy] = []
    map_aggregate(values, lambda v: found.append(v) if isinstance(v, Proxy) else None)
    return found[0] if found else None


def _operator(name: str, turned: bool) -> Callable[[Any, Any], Proxy]:
    target = getattr(operator, name)

    def call(self: Proxy, other: Any) -> Proxy:
        return self.tracer.create_proxy("call_function", target, (other, self) if turned else (self, other), {})

    return call


_TURNED = ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", "lshift", "rshift", "and_", "or_", "xor")
for _name in _TURNED:
    setattr(Proxy, f"__{_name.rstrip('_')}__", _operator(_name, False))
    setattr(Proxy, f"__r{_name.rstrip('_')}__", _operator(_name, True))
for _name in ("lt", "le", "gt", "ge", "eq", "ne", "getitem"):
    setattr(Proxy, f"__{_name}__", _operator(_name, False))
Proxy.__hash__ = object.__hash__  # type: ignore[method-assign]


def _unary(name: str) -> Callable[[Any], Proxy]:
    target = abs if name == "abs" else getattr(operator, name)
    return lambda self: self.tracer.create_proxy("call_function", target, (self,), {})


for _name in ("neg", "pos", "invert", "abs"):
    setattr(Proxy, f"__{_name}__", _unary(_name))
