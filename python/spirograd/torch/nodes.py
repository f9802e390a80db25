"""The nodes of a gradient graph as PyTorch shows them: each operation has a class, whose name is its own."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

from .. import _core
from .._core import Tensor

__all__ = ["Node", "node_of"]

_plain_grad_fn = vars(Tensor)["grad_fn"].__get__
_classes: dict[str, type[Node]] = {}
# Programs that draw a graph name its nodes by their ids, so a node is one object as long as somebody has it. The key is
# where it is in memory: the node itself would be kept by what it leads to.
_nodes: weakref.WeakValueDictionary[int, Node] = weakref.WeakValueDictionary()


class Node:
    """An operation of a gradient graph, or where the gradient of a leaf is added up.

    Attributes:
        metadata: a dict for anything.
    """

    __slots__ = ("__weakref__", "_node", "metadata")

    def __init__(self, node: _core.GradFn) -> None:
        self._node = node
        self.metadata: dict[Any, Any] = {}

    def name(self) -> str:
        """For example "MulBackward0"."""
        return self._node.name()

    @property
    def next_functions(self) -> tuple[tuple[Node | None, int], ...]:
        """The nodes of the arguments, and which output of theirs each argument was."""
        return tuple((None if node is None else _shown(node), number) for node, number in self._node.next_functions)

    def __getattr__(self, name: str) -> Any:
        if name == "variable" and self._node.variable is not None:
            return self._node.variable
        raise AttributeError(f"{self.name()}: there is no {name}")

    def register_hook(self, fn: Callable[..., Any]) -> Any:
        """Calls fn((), (gradient,)) when the gradient of a leaf is added up.

        Raises:
            NotImplementedError: the node is an operation.
        """
        leaf = self._node.variable
        if leaf is None:
            raise NotImplementedError(
                f"register_hook: {self.name()} is an operation; use register_hook() of its tensor"
            )
        return leaf.register_post_accumulate_grad_hook(lambda x: fn((), (x.grad,)) and None)

    def __repr__(self) -> str:
        return f"<{self.name()} object at {id(self):#x}>"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Node) and self._node == other._node

    def __hash__(self) -> int:
        return hash(self._node)


def _shown(node: _core.GradFn) -> Node:
    found = _nodes.get(hash(node))
    if found is None or found._node != node:
        name = node.name()
        if name not in _classes:
            _classes[name] = type(name, (Node,), {"__slots__": (), "__module__": "torch.autograd.graph"})
        found = _nodes[hash(node)] = _classes[name](node)
    return found


def node_of(x: Tensor) -> Node | None:
    """The operation that made a tensor, what its grad_fn is."""
    node = _plain_grad_fn(x)
    return None if node is None else _shown(node)
