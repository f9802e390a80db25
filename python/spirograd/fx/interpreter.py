"""Runs a graph node by node, for programs that look at values or change what a node does."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .. import nn
from .graph import Graph
from .graph_module import GraphModule
from .node import Argument, Node, Target, map_arg
from .proxy import Proxy
from .tracer import Tracer

__all__ = ["Interpreter", "Transformer"]


class Interpreter:
    """Runs a graph node by node; a class of one's own may change what a kind of node does.

    Args:
        module: a GraphModule, or the module that a graph's names are of.
        garbage_collect_values: whether values are forgotten once all their users ran.
        graph: the graph; None: the module's.

    Example:
        >>> traced = sg.fx.symbolic_trace(lambda x: x * 2)
        >>> sg.fx.Interpreter(traced).run(sg.ones(1)).tolist()
        [2.0]
    """

    def __init__(self, module: nn.Module, garbage_collect_values: bool = True, graph: Graph | None = None) -> None:
        found = graph if graph is not None else getattr(module, "graph", None)
        if not isinstance(found, Graph):
            raise TypeError(f"Interpreter: {type(module).__name__} has no graph; trace it with fx.symbolic_trace()")
        self.module, self.graph, self.garbage_collect_values = module, found, garbage_collect_values
        self.env: dict[Node, Any] = {}
        self.args_iter: Iterator[Any] = iter(())

    def run(self, *args: Any, initial_env: dict[Node, Any] | None = None, enable_io_processing: bool = True) -> Any:
        """The graph's result for these arguments.

        Args:
            initial_env: values of nodes that are not run.
            enable_io_processing: accepted.
        """
        self.env = dict(initial_env or {})
        self.args_iter = iter(args)
        left = {node: len(node.users) for node in self.graph.nodes}
        for node in self.graph.nodes:
            if node in self.env:
                continue
            self.env[node] = self.run_node(node)
            if node.op == "output":
                return self.env[node]
            for used in node.all_input_nodes if self.garbage_collect_values else ():
                left[used] -= 1
                if not left[used]:
                    self.env.pop(used, None)
        return None

    def run_node(self, n: Node) -> Any:
        """A node's value."""
        args, kwargs = self.fetch_args_kwargs_from_env(n)
        return getattr(self, n.op)(n.target, args, kwargs)

    def fetch_args_kwargs_from_env(self, n: Node) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The values of a node's arguments."""
        return self.map_nodes_to_values(n.args, n), self.map_nodes_to_values(n.kwargs, n)

    def map_nodes_to_values(self, args: Argument, n: Node) -> Any:
        """A value with each of its nodes replaced by what it gave."""
        return map_arg(args, lambda node: self.env[node])

    def fetch_attr(self, target: str) -> Any:
        """What a dotted name of the module means."""
        value: Any = self.module
        for part in target.split("."):
            value = getattr(value, part)
        return value

    def placeholder(self, target: Target, args: tuple[Argument, ...], kwargs: dict[str, Any]) -> Any:
        """The next argument."""
        if str(target).startswith("*"):
            return list(self.args_iter)
        try:
            return next(self.args_iter)
        except StopIteration:
            if args:
                return args[0]
            raise RuntimeError(f"Interpreter: there is no argument for {target}; pass one to run()") from None

    def get_attr(self, target: Target, args: tuple[Argument, ...], kwargs: dict[str, Any]) -> Any:
        """A parameter, buffer or other attribute."""
        return self.fetch_attr(str(target))

    def call_function(self, target: Target, args: tuple[Argument, ...], kwargs: dict[str, Any]) -> Any:
        """What a function gives."""
        assert not isinstance(target, str)
        return target(*args, **kwargs)

    def call_method(self, target: Target, args: tuple[Argument, ...], kwargs: dict[str, Any]) -> Any:
        """What a method of the first argument gives."""
        return getattr(args[0], str(target))(*args[1:], **kwargs)

    def call_module(self, target: Target, args: tuple[Argument, ...], kwargs: dict[str, Any]) -> Any:
        """What a module gives."""
        return self.fetch_attr(str(target))(*args, **kwargs)

    def output(self, target: Target, args: tuple[Argument, ...], kwargs: dict[str, Any]) -> Any:
        """The result."""
        return args[0]


class Transformer(Interpreter):
    """Makes a graph of a graph: what its methods do with proxies becomes the new one.

    Args:
        module: a GraphModule.

    Example:
        >>> class Minus(sg.fx.Transformer):
        ...     def call_function(self, target, args, kwargs):
        ...         return -super().call_function(target, args, kwargs)
        >>> Minus(sg.fx.symbolic_trace(lambda x: x * 2)).transform()(sg.ones(1)).tolist()
        [-2.0]
    """

    def __init__(self, module: GraphModule) -> None:
        super().__init__(module)
        self.new_graph = Graph()
        self.tracer = Tracer()
        self.tracer.graph, self.tracer.root = self.new_graph, module

    def placeholder(self, target: Target, args: tuple[Argument, ...], kwargs: dict[str, Any]) -> Any:
        """An argument of the new graph."""
        return Proxy(self.new_graph.placeholder(str(target), default_value=args[0] if args else ...), self.tracer)

    def get_attr(self, target: Target, args: tuple[Argument, ...], kwargs: dict[str, Any]) -> Any:
        """The same attribute."""
        return self.tracer.create_proxy("get_attr", target, args, kwargs)

    def call_function(self, target: Target, args: tuple[Argument, ...], kwargs: dict[str, Any]) -> Any:
        """The same call."""
        return self.tracer.create_proxy("call_function", target, args, kwargs)

    def call_method(self, target: Target, args: tuple[Argument, ...], kwargs: dict[str, Any]) -> Any:
        """The same call."""
        return self.tracer.create_proxy("call_method", target, args, kwargs)

    def call_module(self, target: Target, args: tuple[Argument, ...], kwargs: dict[str, Any]) -> Any:
        """The same call."""
        return self.tracer.create_proxy("call_module", target, args, kwargs)

    def transform(self) -> GraphModule:
        """The new module."""
        result = self.run()
        self.new_graph.output(self.tracer.create_arg(result))
        return GraphModule(self.module, self.new_graph, type(self.module).__name__)
