"""A graph of calls, in the order in which they run; its text and its checks."""

from __future__ import annotations

import builtins
import keyword
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from .. import nn
from .node import Argument, Node, Target, map_aggregate, map_arg, target_name
from .text import PythonCode, code_of

__all__ = ["Graph", "NodeList"]


class NodeList:
    """The nodes of a graph in order; some may be erased while they are walked."""

    def __init__(self, graph: Graph, backwards: bool = False) -> None:
        self._graph, self._backwards = graph, backwards

    def __iter__(self) -> Iterator[Node]:
        root = self._graph._root
        node = root._prev if self._backwards else root._next
        while node is not root:
            if not node._erased:
                yield node
            node = node._prev if self._backwards else node._next

    def __reversed__(self) -> Iterator[Node]:
        return iter(NodeList(self._graph, not self._backwards))

    def __len__(self) -> int:
        return sum(1 for _ in self)


class Graph:
    """Calls in the order in which they run, ending with an output.

    Args:
        owning_module: where the names of its nodes are.
        tracer_cls: what made it.

    Example:
        >>> graph = sg.fx.Graph()
        >>> x = graph.placeholder("x")
        >>> _ = graph.output(graph.call_function(sg.neg, (x,)))
        >>> sg.fx.GraphModule(sg.nn.Module(), graph)(sg.ones(1)).tolist()
        [-1.0]
    """

    def __init__(self, owning_module: nn.Module | None = None, tracer_cls: type | None = None) -> None:
        self.owning_module, self._tracer_cls = owning_module, tracer_cls
        self._names: dict[str, int] = {}
        self._root = Node(self, "", "root", "", (), {})
        self._insert_before = self._root

    @property
    def nodes(self) -> NodeList:
        """The nodes in order; `reversed` walks them backwards."""
        return NodeList(self)

    def find_nodes(self, *, op: str, target: Target | None = None, sort: bool = True) -> list[Node]:
        """The nodes of a kind, and of a target if one is given."""
        return [n for n in self.nodes if n.op == op and (target is None or n.target == target)]

    @property
    def output_node_args(self) -> Argument:
        """What the graph returns."""
        return self.output_node().args[0]

    def output_node(self) -> Node:
        """The node of the result.

        Raises:
            RuntimeError: there is none.
        """
        for node in reversed(self.nodes):
            if node.op == "output":
                return node
        raise RuntimeError("output_node: the graph has no output; call graph.output(value)")

    # ---- making nodes ------------------------------------------------------------------------------------------------
    def _unique(self, candidate: str) -> str:
        name = re.sub(r"\W+", "_", candidate) or "value"
        if name[0].isdigit():
            name = f"_{name}"
        match = re.match(r"(.*)_(\d+)$", name)
        base, number = (match[1], int(match[2])) if match else (name, 0)
        while name in self._names or keyword.iskeyword(name) or hasattr(builtins, name):
            number += 1
            name = f"{base}_{number}"
        self._names[name] = 1
        return name

    def create_node(
        self,
        op: str,
        target: Target,
        args: tuple[Argument, ...] | None = None,
        kwargs: dict[str, Argument] | None = None,
        name: str | None = None,
        type_expr: Any = None,
    ) -> Node:
        """A node at the place where nodes are inserted: the end, unless inserting_before() says otherwise.

        Raises:
            ValueError: there is no such op.
        """
        if op not in ("placeholder", "get_attr", "call_function", "call_module", "call_method", "output"):
            raise ValueError(
                f"create_node: op '{op}' is unknown; use placeholder, get_attr, call_function, call_module, "
                "call_method or output"
            )
        candidate = name or (target if isinstance(target, str) else str(getattr(target, "__name__", "call")))
        if not name and op != "placeholder":
            candidate = re.sub(r"(?<=[a-z0-9])([A-Z])", r"_\1", candidate).lower()
        node = Node(self, self._unique(candidate), op, target, args or (), kwargs or {})
        node.type = type_expr
        self._insert_before.prepend(node)
        return node

    def placeholder(self, name: str, type_expr: Any = None, default_value: Any = ...) -> Node:
        """An argument of the graph."""
        args = () if default_value is ... else (default_value,)
        return self.create_node("placeholder", name, args, type_expr=type_expr)

    def get_attr(self, qualified_name: str, type_expr: Any = None) -> Node:
        """A parameter, buffer or other attribute, by its dotted name."""
        return self.create_node("get_attr", qualified_name, type_expr=type_expr)

    def call_module(
        self,
        module_name: str,
        args: tuple[Argument, ...] | None = None,
        kwargs: dict[str, Argument] | None = None,
        type_expr: Any = None,
    ) -> Node:
        """A call of a module, by its dotted name."""
        return self.create_node("call_module", module_name, args, kwargs, type_expr=type_expr)

    def call_method(
        self,
        method_name: str,
        args: tuple[Argument, ...] | None = None,
        kwargs: dict[str, Argument] | None = None,
        type_expr: Any = None,
    ) -> Node:
        """A call of a method of the first argument."""
        return self.create_node("call_method", method_name, args, kwargs, type_expr=type_expr)

    def call_function(
        self,
        the_function: Callable[..., Any],
        args: tuple[Argument, ...] | None = None,
        kwargs: dict[str, Argument] | None = None,
        type_expr: Any = None,
        name: str | None = None,
    ) -> Node:
        """A call of a function."""
        return self.create_node("call_function", the_function, args, kwargs, name, type_expr)

    def output(self, result: Argument, type_expr: Any = None) -> Node:
        """What the graph returns."""
        return self.create_node("output", "output", (result,), type_expr=type_expr)

    # ---- changing ----------------------------------------------------------------------------------------------------
    def erase_node(self, to_erase: Node) -> None:
        """Takes a node away.

        Raises:
            RuntimeError: others take its value.
        """
        if to_erase.users:
            users = list(to_erase.users)
            raise RuntimeError(f"erase_node: {to_erase} has users {users}; let them take another node first")
        to_erase._set((), {})
        to_erase._remove()
        to_erase._erased = True

    @contextmanager
    def inserting_before(self, n: Node | None = None) -> Iterator[None]:
        """In a `with`: new nodes come before this one, or first of all."""
        before, self._insert_before = self._insert_before, n or self._root._next
        try:
            yield
        finally:
            self._insert_before = before

    @contextmanager
    def inserting_after(self, n: Node | None = None) -> Iterator[None]:
        """In a `with`: new nodes come behind this one, or last of all."""
        before, self._insert_before = self._insert_before, n._next if n else self._root
        try:
            yield
        finally:
            self._insert_before = before

    def node_copy(self, node: Node, arg_transform: Callable[[Node], Argument] = lambda node: node) -> Node:
        """A copy of another graph's node, with its nodes sent through a function."""
        made = self.create_node(
            node.op,
            node.target,
            map_arg(node.args, arg_transform),
            map_arg(node.kwargs, arg_transform),
            node.name,
            node.type,
        )
        made.meta = dict(node.meta)
        return made

    def graph_copy(self, g: Graph, val_map: dict[Node, Any], return_output_node: bool = False) -> Any:
        """Copies another graph's nodes here, and returns what its result is now.

        Args:
            g: the other graph.
            val_map: what stands for its nodes; the copies are added.
            return_output_node: give its output node as well.
        """
        for node in g.nodes:
            if node in val_map:
                continue
            if node.op == "output":
                result = map_arg(node.args[0], lambda n: val_map[n])
                return (result, node) if return_output_node else result
            val_map[node] = self.node_copy(node, lambda n: val_map[n])
        return None

    def __deepcopy__(self, memo: dict[int, Any] | None = None) -> Graph:
        made = Graph()
        result = made.graph_copy(self, {})
        made.output(result)
        return made

    def __reduce__(self) -> Any:
        at = {node: _At(i) for i, node in enumerate(self.nodes)}

        def kept(value: Argument) -> Any:
            return map_arg(value, at.__getitem__)

        rows = [(n.op, n.target, kept(n.args), kept(n.kwargs), n.name, n.type) for n in at]
        return _rebuilt, (rows,)

    def eliminate_dead_code(self, is_impure_node: Callable[[Node], bool] | None = None) -> bool:
        """Erases nodes whose values nobody takes. Returns whether there were any."""
        before = len(self.nodes)
        for node in reversed(self.nodes):
            if not node.users and not (is_impure_node or Node.is_impure)(node):
                self.erase_node(node)
        return len(self.nodes) < before

    # ---- looking -----------------------------------------------------------------------------------------------------
    def lint(self) -> None:
        """Checks that nodes take values of nodes before them, and that what they name is there.

        Raises:
            RuntimeError: something is not.
        """
        seen: set[Node] = set()
        for node in self.nodes:
            for taken in node.all_input_nodes:
                if taken not in seen:
                    raise RuntimeError(f"lint: {node} takes {taken}, which is not before it in the graph")
            seen.add(node)
            if self.owning_module is not None and node.op in ("call_module", "get_attr"):
                owner: Any = self.owning_module
                for part in str(node.target).split("."):
                    if not hasattr(owner, part):
                        kind = type(owner).__name__
                        raise RuntimeError(f"lint: {node} names {node.target}, and {kind} has no {part}")
                    owner = getattr(owner, part)

    def python_code(self, root_module: str = "self", verbose: bool = False) -> PythonCode:
        """The graph as a function's text, and the globals that it needs."""
        return code_of(self.nodes, root_module, self._names)

    def print_tabular(self) -> None:
        """Prints a table of the nodes."""
        rows: list[tuple[str, ...]] = [("opcode", "name", "target", "args", "kwargs")]
        rows += [(n.op, n.name, target_name(n.target), str(n.args), str(n.kwargs)) for n in self.nodes]
        widths = [max(len(row[i]) for row in rows) for i in range(5)]
        rows.insert(1, tuple("-" * w for w in widths))
        print("\n".join("  ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True)).rstrip() for row in rows))

    def __str__(self) -> str:
        nodes = [n for n in self.nodes if n.op != "placeholder"]
        inputs = ", ".join(f"%{n.name}" for n in self.nodes if n.op == "placeholder")
        return "\n    ".join([f"graph({inputs}):", *(n.format_node() for n in nodes)])


class _At(int):
    """Stands in a pickle for a node: its place."""


def _rebuilt(rows: list[tuple[Any, ...]]) -> Graph:
    """The graph that pickle stored."""
    graph = Graph()
    nodes: list[Node] = []
    for op, target, args, kwargs, name, kind in rows:
        args, kwargs = map_aggregate((args, kwargs), lambda v: nodes[v] if isinstance(v, _At) else v)
        nodes.append(graph.create_node(op, target, args, kwargs, name, kind))
    return graph
