"""A module whose forward() is the code of a graph."""

from __future__ import annotations

import copy
import linecache
from typing import Any

from ..nn import Module
from ..nn._attributes import OF_PYTORCH
from .graph import Graph
from .node import Node

__all__ = ["GraphModule"]


class GraphModule(Module):
    """A module whose forward() is the code of a graph.

    Args:
        root: where the modules and tensors that the graph names are, or a dict of dotted names.
        graph: the graph.
        class_name: what the module calls itself.

    Example:
        >>> traced = sg.fx.symbolic_trace(sg.nn.Sequential(sg.nn.Linear(2, 3), sg.nn.ReLU()))
        >>> traced(sg.ones(1, 2)).shape
        (1, 3)
    """

    _count = 0

    def __new__(cls, *args: Any, **kwargs: Any) -> GraphModule:
        # A class of its own: each graph has a forward() of its own.
        base = next(c for c in cls.__mro__ if not c.__dict__.get("_is_single", False))
        single = type(base.__name__, (base,), {"_is_single": True})
        return super().__new__(single)

    def __init__(self, root: Module | dict[str, Any], graph: Graph, class_name: str = "GraphModule") -> None:
        super().__init__()
        type(self).__name__ = class_name
        if isinstance(root, Module):
            self.training = root.training
        for node in graph.nodes:
            if node.op in ("call_module", "get_attr"):
                copy_attr(root, self, str(node.target))
        self.graph = graph

    @property
    def graph(self) -> Graph:
        """The graph; setting it compiles its code."""
        return self._graph

    @graph.setter
    def graph(self, graph: Graph) -> None:
        self._graph = graph
        graph.owning_module = self
        self.recompile()

    def recompile(self) -> Any:
        """Makes forward() of the graph again, after it was changed."""
        made = self._graph.python_code("self")
        self._code = made.src
        GraphModule._count += 1
        name = f"<graph of {type(self).__name__} {GraphModule._count}>"
        linecache.cache[name] = (len(made.src), None, made.src.splitlines(True), name)  # for tracebacks
        space = dict(made.globals)
        exec(compile(made.src, name, "exec"), space)
        type(self).forward = space["forward"]  # type: ignore[method-assign]
        return made

    @property
    def code(self) -> str:
        """The text of forward()."""
        return self._code

    def print_readable(self) -> str:
        """Prints the code, and returns it."""
        text = f"class {type(self).__name__}(Module):\n" + "".join(f"    {line}\n" for line in self._code.splitlines())
        print(text)
        return text

    def add_submodule(self, target: str, m: Module) -> bool:
        """Adds a module under a dotted name. Returns whether its owner is there."""
        path, _, name = target.rpartition(".")
        owner: Any = self
        for part in filter(None, path.split(".")):
            if not hasattr(owner, part):
                owner.add_module(part, Module())
            owner = getattr(owner, part)
            if not isinstance(owner, Module):
                return False
        owner.add_module(name, m)
        return True

    def delete_submodule(self, target: str) -> bool:
        """Takes a module away. Returns whether it was there."""
        path, _, name = target.rpartition(".")
        try:
            owner = self.get_submodule(path)
        except AttributeError:
            return False
        if not isinstance(getattr(owner, name, None), Module):
            return False
        delattr(owner, name)
        return True

    def delete_all_unused_submodules(self) -> None:
        """Takes the modules away that the graph does not call."""
        used = [str(n.target) for n in self._graph.nodes if n.op in ("call_module", "get_attr")]
        for name, _ in list(self.named_modules()):
            kept = any(u == name or u.startswith(f"{name}.") or name.startswith(f"{u}.") for u in used)
            if name and not kept:
                self.delete_submodule(name)

    def __deepcopy__(self, memo: dict[int, Any]) -> GraphModule:
        root = {str(n.target): copy.deepcopy(_at(self, str(n.target)), memo) for n in self._named()}
        made = GraphModule(root, copy.deepcopy(self._graph), type(self).__name__)
        made.train(self.training)
        return made

    def _named(self) -> list[Node]:
        return [n for n in self._graph.nodes if n.op in ("call_module", "get_attr")]

    def __reduce_ex__(self, protocol: Any) -> Any:
        base = next(c for c in type(self).__mro__ if not c.__dict__.get("_is_single", False))
        kept = {name: value for name, value in vars(self).items() if name not in ("_graph", "_code", *OF_PYTORCH)}
        return _rebuilt, (base, type(self).__name__, self._graph, kept)


def _rebuilt(base: type[GraphModule], name: str, graph: Graph, kept: dict[str, Any]) -> GraphModule:
    """The module that pickle stored; forward() is made of the graph again."""
    made = GraphModule.__new__(base)
    Module.__init__(made)
    vars(made).update(kept)
    type(made).__name__ = name
    made.graph = graph
    return made


def copy_attr(root: Module | dict[str, Any], to: Module, target: str) -> None:
    """Puts what a dotted name means at the same place in another module."""
    *path, name = target.split(".")
    owner = to
    for i, part in enumerate(path):
        if not hasattr(owner, part):
            owner.add_module(part, _shell(_at(root, ".".join(path[: i + 1]))))
        owner = getattr(owner, part)
    if hasattr(owner, name) and not isinstance(root, Module):
        return
    value, source = _at(root, target), _at(root, ".".join(path)) if path else root
    if isinstance(source, Module) and name in dict(source.named_buffers(recurse=False)):
        owner.register_buffer(name, value)
    else:
        setattr(owner, name, value)


def _at(root: Module | dict[str, Any], target: str) -> Any:
    if isinstance(root, dict):
        return root[target] if target in root else Module()
    value: Any = root
    for part in filter(None, target.split(".")):
        value = getattr(value, part)
    return value


def _shell(module: Any) -> Module:
    """A module without what another one holds, in its mode."""
    made = Module()
    made.training = getattr(module, "training", True)
    return made
