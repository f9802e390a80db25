"""The table of ops, and what an entry is given."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..graph import Graph, Value, promoted

IGNORED = {
    *("dim", "ndimension", "numel", "nelement", "size", "stride", "element_size", "is_floating_point", "is_contiguous"),
    *("is_complex", "is_signed", "is_same_size", "storage_offset", "get_device", "data_ptr", "requires_grad_"),
    *(
        "_record_function",
        "_set_grad_enabled",
        "is_grad_enabled",
        "_submit",
        "realize",
        "graph",
        "plan",
        "register_hook",
    ),
    *("shape", "dtype", "device", "ndim", "itemsize", "nbytes", "is_cpu", "is_cuda", "is_leaf", "grad_fn", "grad"),
    *("retains_grad", "_version", "requires_grad"),
    *(
        "__len__",
        "__bool__",
        "__int__",
        "__float__",
        "__index__",
        "__contains__",
        "__repr__",
    ),
}
FRESH = {"empty", "zeros", "ones", "full", "empty_like", "zeros_like", "ones_like", "full_like"}
FRESH |= {"new_empty", "new_zeros", "new_ones", "new_full", "arange", "eye"}
VIEWS = {
    *(
        "__getitem__",
        "reshape",
        "view",
        "flatten",
        "unflatten",
        "squeeze",
        "unsqueeze",
        "transpose",
        "permute",
        "T",
        "mT",
    ),
    *("t", "swapaxes", "swapdims", "movedim", "moveaxis", "expand", "expand_as", "broadcast_to", "narrow", "select"),
    *("chunk", "split", "unbind", "unfold", "diagonal", "detach", "data", "view_as", "expand_dims", "permute_dims"),
}


class Call:
    """What is known of a call besides its arguments.

    Attributes:
        graph: where nodes go.
        name: of the op.
        result: what it gave.
        args, kwargs: its arguments with tensors.
    """

    def __init__(self, graph: Graph, name: str, result: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self.graph, self.name, self.result, self.args, self.kwargs = graph, name, result, args, kwargs

    @property
    def shape(self) -> tuple[int, ...]:
        """Of the result."""
        return tuple(self.result.shape)

    @property
    def dtype(self) -> str:
        """Of the result."""
        return str(self.result.dtype.name)

    def value(self, x: Any, dtype: str) -> Value:
        """A value or a number, in this type."""
        if isinstance(x, Value):
            return self.graph.cast(x, dtype)
        if dtype not in ("bfloat16", "float16", "float32", "float64") and isinstance(x, float):
            x = int(x)
        return self.graph.constant(x, dtype)

    def node(
        self, op: str, *inputs: Value | None, shape: Any = None, dtype: str | None = None, **attributes: Any
    ) -> Value:
        """A node; the result is that of the call unless said otherwise."""
        shape = self.shape if shape is None else shape
        return self.graph.node(op, inputs, shape, dtype or self.dtype, **attributes)

    def same(self, op: str, x: Value, **attributes: Any) -> Value:
        """A node whose result is like x."""
        return self.graph.node(op, [x], x.shape, x.dtype, **attributes)

    def binary(self, op: str, a: Any, b: Any, dtype: str | None = None) -> Value:
        """A node of two values or numbers that are broadcast together."""
        like = dtype or promoted(a, b)
        x, y = self.value(a, like), self.value(b, like)
        shape = np.broadcast_shapes(x.shape, y.shape)
        result = "bool" if op in COMPARISONS or like == "bool" else like
        return self.graph.node(op, [x, y], shape, result)


Operation = Callable[..., Any]
OPERATIONS: dict[str, Operation] = {}
COMPARISONS = {"Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual"}


def op(*names: str) -> Callable[[Operation], Operation]:
    """Registers an entry."""

    def put(entry: Operation) -> Operation:
        for name in names:
            OPERATIONS[name] = entry
        return entry

    return put


def given(dim: Any) -> Any:
    """Dimensions; an empty list means None."""
    return None if dim is None or (isinstance(dim, (tuple, list)) and not dim) else dim
