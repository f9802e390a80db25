"""Runs a module's forward() once with proxies, and keeps what it calls."""

from __future__ import annotations

import builtins
import inspect
import sys
from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

from .. import _core
from .._core import Tensor
from ..nn import Module, Parameter, Sequential
from ..nn.module import call_of_module
from .graph import Graph
from .graph_module import GraphModule
from .node import Argument, Node
from .proxy import Proxy, TracerBase

__all__ = ["Tracer", "symbolic_trace", "wrap"]

_named_leaves: list[tuple[dict[str, Any], str]] = []  # globals, and names in them; the first trace looks them up

F = TypeVar("F", bound="str | Callable[..., Any]")


def wrap(fn_or_name: F) -> F:
    """Makes a function of the calling module a leaf: traces keep its call, not what it does.

    Args:
        fn_or_name: the function, or its name, which need not be defined yet.

    Example:
        >>> @sg.fx.wrap
        ... def halved(x):
        ...     return x * 0.5 if x.sum().item() > 1 else x
        >>> callable(halved)
        True
    """
    name = fn_or_name if isinstance(fn_or_name, str) else str(getattr(fn_or_name, "__name__", ""))
    _named_leaves.append((sys._getframe(1).f_globals, name))
    return fn_or_name if isinstance(fn_or_name, str) else _core._Overridable(fn_or_name)  # type: ignore[return-value]


class Tracer(TracerBase):
    """Traces a module or a function; a class of one's own may decide what is a leaf.

    Args:
        autowrap_modules, autowrap_functions, param_shapes_constant: accepted.

    Attributes:
        root: the module that is traced.

    Example:
        >>> graph = sg.fx.Tracer().trace(sg.nn.Sequential(sg.nn.Linear(2, 2), sg.nn.ReLU()))
        >>> [str(node.target) for node in graph.nodes if node.op == "call_module"]
        ['0', '1']
    """

    def __init__(
        self, autowrap_modules: Any = (), autowrap_functions: Any = (), param_shapes_constant: bool = False
    ) -> None:
        self.root: Module = Module()

    def is_leaf_module(self, m: Module, module_qualified_name: str) -> bool:
        """Whether a call of a module is one node; else its forward() is traced. Layers of the library are leaves."""
        return type(m).__module__.startswith(("spirograd.nn", "torch.nn")) and not isinstance(m, Sequential)

    def path_of_module(self, mod: Module) -> str:
        """The dotted name of a module of the root.

        Raises:
            NameError: the root does not have it.
        """
        for name, module in self.root.named_modules():
            if module is mod:
                return name
        raise NameError(f"{type(mod).__name__}: it is no submodule of the module that is traced; assign it to one")

    def call_module(self, m: Module, forward: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """What a call of a module gives: a proxy of a leaf, else what its forward() does."""
        name = self.path_of_module(m)
        if self.is_leaf_module(m, name):
            return self.create_proxy("call_module", name, args, kwargs)
        return forward(*args, **kwargs)

    def _leaf(self, value: Any) -> Argument:
        if isinstance(value, Proxy):
            return value.node
        if not isinstance(value, Tensor):
            return value
        named = self.root.named_parameters() if isinstance(value, Parameter) else self.root.named_buffers()
        for name, tensor in named:
            if tensor is value:
                return self._attribute(name)
        for name, tensor in vars(self.root).items():
            if tensor is value:
                return self._attribute(name)
        name = f"_tensor_constant{len(self._constants)}"
        self._constants[name] = value
        setattr(self.root, name, value)
        return self._attribute(name)

    def _attribute(self, name: str) -> Node:
        return self.create_node("get_attr", name, (), {})

    def trace(self, root: Module | Callable[..., Any], concrete_args: dict[str, Any] | None = None) -> Graph:
        """The graph of a module's forward(), or of a function.

        Args:
            root: the module, or the function.
            concrete_args: values of arguments that are no inputs of the graph.

        Raises:
            TraceError: the program decides by a value of its input.
        """
        function: Callable[..., Any]
        if isinstance(root, Module):
            self.root, function = root, root.forward
        else:
            self.root, function = Module(), root
        self._constants: dict[str, Tensor] = {}
        self.graph = Graph(self.root, type(self))
        args, kwargs = self._inputs(function, concrete_args or {})
        for names, name in _named_leaves:
            found = names.get(name, getattr(builtins, name, None))
            if found is not None and not isinstance(found, _core._Overridable):
                names[name] = _core._Overridable(found)
        with _core._Mode(interceptor=self._intercept):
            result = function(*args, **kwargs)
        self.create_node("output", "output", (self.create_arg(result),), {})
        return self.graph

    def _inputs(self, function: Callable[..., Any], concrete: dict[str, Any]) -> tuple[list[Any], dict[str, Any]]:
        args: list[Any] = []
        kwargs: dict[str, Any] = {}
        for name, parameter in inspect.signature(function).parameters.items():
            default = () if parameter.default is parameter.empty else (parameter.default,)
            if name in concrete:
                value = self._fixed(name, default, concrete[name])
            elif parameter.kind is parameter.VAR_POSITIONAL:
                args.append(self.create_proxy("placeholder", f"*{name}", (), {}, name))
                continue
            elif parameter.kind is parameter.VAR_KEYWORD:
                continue
            else:
                value = self.create_proxy("placeholder", name, default, {})
            if parameter.kind is parameter.KEYWORD_ONLY:
                kwargs[name] = value
            else:
                args.append(value)
        return args, kwargs

    def _fixed(self, name: str, default: tuple[Any, ...], value: Any) -> Any:
        """The value of an argument that the graph takes for given, and checks."""
        given = self.create_proxy("placeholder", f"{name}_1", default, {})
        message = f"{name} has been specialized to have value {value} but got another value"
        if value is None:
            self.create_proxy("call_function", _assert_is_none, (given, message), {})
        else:
            self.create_proxy("call_function", _assert, (given == value, message), {})
        return value

    # ---- seeing calls ------------------------------------------------------------------------------------------------
    def _intercept(self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A call without proxies, which is made, unless it is that of a module. Those with proxies ask these."""
        if function is not call_of_module:
            return function(*args, **kwargs)
        with _core._Mode(interceptor=self._intercept):
            return self.call_module(args[0], partial(function.__wrapped__, args[0]), args[1:], kwargs)


def _assert(condition: Any, message: str) -> None:
    if not condition:
        raise AssertionError(message)


def _assert_is_none(value: Any, message: str) -> None:
    if value is not None:
        raise AssertionError(message)


def symbolic_trace(root: Module | Callable[..., Any], concrete_args: dict[str, Any] | None = None) -> GraphModule:
    """A module that does what another one does, with its code as a graph that can be looked at and changed.

    Args:
        root: the module, or a function.
        concrete_args: values of arguments that are no inputs of the graph.

    Raises:
        TraceError: the program decides by a value of its input.

    Example:
        >>> sg.fx.symbolic_trace(lambda x: x * 2 + 1)(sg.ones(2)).tolist()
        [3.0, 3.0]
    """
    tracer = Tracer()
    graph = tracer.trace(root, concrete_args)
    name = type(root).__name__ if isinstance(root, Module) else getattr(root, "__name__", "function")
    return GraphModule(tracer.root, graph, name)
