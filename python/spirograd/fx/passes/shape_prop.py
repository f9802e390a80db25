"""Shapes and types of the values in a graph."""

from __future__ import annotations

from typing import Any, NamedTuple

from ..._core import Tensor
from ..interpreter import Interpreter
from ..node import Node

__all__ = ["ShapeProp", "TensorMetadata"]


class TensorMetadata(NamedTuple):
    """What is known of a tensor."""

    shape: tuple[int, ...]
    dtype: Any
    requires_grad: bool
    stride: tuple[int, ...]


def _described(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return type(value)(map(_described, value))
    if not isinstance(value, Tensor):
        return None
    return TensorMetadata(value.shape, value.dtype, value.requires_grad, tuple(value.stride()))


class ShapeProp(Interpreter):
    """Runs a graph, and writes of each node's value `meta["tensor_meta"]` and `meta["type"]`.

    Example:
        >>> from spirograd.fx.passes.shape_prop import ShapeProp
        >>> traced = sg.fx.symbolic_trace(sg.nn.Linear(3, 2))
        >>> _ = ShapeProp(traced).propagate(sg.ones(5, 3))
        >>> [node.meta["tensor_meta"].shape for node in traced.graph.nodes][-1]
        (5, 2)
    """

    def run_node(self, n: Node) -> Any:
        """The value of a node."""
        value = super().run_node(n)
        described = _described(value)
        if described is not None:
            n.meta["tensor_meta"] = described
        n.meta["type"] = type(value)
        return value

    def propagate(self, *args: Any) -> Any:
        """run(), by another name."""
        return self.run(*args)
