"""Runs a module's forward() once with proxies, and keeps what it calls."""

from __future__ import annotations

import functools
import inspect
import sys
import threading
import types
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, TypeVar

from .._core import Tensor
from ..nn import Module, Parameter, Sequential
from .graph import Graph
from .graph_module import GraphModule
from .node import Argument, Node
from .proxy import Proxy, TracerBase, is_traced

__all__ = ["Tracer", "symbolic_trace", "wrap"]

_WATCHED = ("spirograd", "spirograd.nn.functional", "spirograd.linalg", "spirograd.special", "spirograd.fft")
_wrapped: dict[int, tuple[dict[str, Any], set[str]]] = {}  # globals, by their place, and names in them

_here = threading.local()  # .tracer: the one that runs in this thread
_one_at_a_time = threading.RLock()  # traces of other threads wait: each takes the library as it finds it

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
    frame = inspect.currentframe()
    assert frame is not None and frame.f_back is not None
    name = fn_or_name if isinstance(fn_or_name, str) else str(getattr(fn_or_name, "__name__", ""))
    _wrapped.setdefault(id(frame.f_back.f_globals), (frame.f_back.f_globals, set()))[1].add(name)
    return fn_or_name


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
        with self._watching(function):
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
    @contextmanager
    def _watching(self, function: Callable[..., Any]) -> Iterator[None]:
        """While the program runs, functions of the library look for proxies first."""
        before = _tracer()

        def called(module: Module, *args: Any, **kwargs: Any) -> Any:
            if _tracer() is not self:  # another thread
                return call(module, *args, **kwargs)
            return self.call_module(module, lambda *a, **k: call(module, *a, **k), args, kwargs)

        with _one_at_a_time, ExitStack() as undo:
            call = Module.__call__
            _here.tracer = self
            undo.callback(lambda: setattr(_here, "tracer", before))
            setattr(Module, "__call__", called)  # noqa: B010
            undo.callback(lambda: setattr(Module, "__call__", call))
            for module in self._modules():
                kind = type(module)
                module.__class__ = _watched(kind)  # type: ignore[arg-type]
                undo.callback(lambda module=module, kind=kind: setattr(module, "__class__", kind))  # type: ignore[misc]
            for names in self._globals(function):
                leaves = _wrapped.get(id(names), (names, set()))[1]
                for name, value in list(names.items()):
                    if name in leaves or _is_of_the_library(value):
                        names[name] = self._traced(value)
                        undo.callback(names.__setitem__, name, value)
            yield

    @staticmethod
    def _modules() -> list[types.ModuleType]:
        """Those in which programs look functions up: the library's, and those that stand in for PyTorch's."""
        return [m for name, m in list(sys.modules.items()) if name in _WATCHED or _stands_in(name, m)]

    def _globals(self, function: Callable[..., Any]) -> list[dict[str, Any]]:
        """The globals of the code that is traced."""
        functions = [function, *(type(m).forward for m in self.root.modules())]
        spaces = {id(g): g for f in functions if (g := getattr(inspect.unwrap(f), "__globals__", None))}
        spaces.update({key: g for key, (g, _) in _wrapped.items()})
        return list(spaces.values())

    def _traced(self, function: Any) -> Any:
        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            proxy = is_traced(args, kwargs)
            if proxy is None:
                return function(*args, **kwargs)
            return proxy.tracer.create_proxy("call_function", function, args, kwargs)

        return call

    def _named(self, module: types.ModuleType, name: str, function: Any) -> Any:
        path = module.__name__.replace("spirograd", "sg", 1)
        self.graph._qualified.setdefault(function, f"{path}.{name}")
        return self._traced(function)


def _assert(condition: Any, message: str) -> None:
    if not condition:
        raise AssertionError(message)


def _assert_is_none(value: Any, message: str) -> None:
    if value is not None:
        raise AssertionError(message)


def _is_of_the_library(value: Any) -> bool:
    if not isinstance(value, (types.FunctionType, types.BuiltinFunctionType)):
        return False
    module = str(getattr(value, "__module__", None) or "")
    return module.startswith(("spirograd", "torch")) and not module.startswith("spirograd.fx")


def _stands_in(name: str, module: Any) -> bool:
    return name.split(".")[0] == "torch" and type(module).__module__.startswith("spirograd.")


def _tracer() -> Tracer | None:
    found: Tracer | None = getattr(_here, "tracer", None)
    return found


@functools.cache
def _watched(kind: type[types.ModuleType]) -> type[types.ModuleType]:
    """A class of modules whose functions look for proxies first."""

    class Watched(kind):  # type: ignore[misc, valid-type]
        def __getattribute__(self, name: str) -> Any:
            value = super().__getattribute__(name)
            return _look(self, name, value)

        def __getattr__(self, name: str) -> Any:
            found = getattr(super(), "__getattr__", None)
            if found is None:
                raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
            return _look(self, name, found(name))

    return Watched


def _look(module: types.ModuleType, name: str, value: Any) -> Any:
    tracer = _tracer()
    if tracer is None or name.startswith("__") or not _is_of_the_library(value):
        return value
    return tracer._named(module, name, value)


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
