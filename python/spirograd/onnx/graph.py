"""The ONNX graph under construction: values, nodes and initialisers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
from onnx import TensorProto, helper, numpy_helper

from .. import _core
from .._core import Tensor

OPSET = 18
TYPES = {
    "bool": TensorProto.BOOL,
    "uint8": TensorProto.UINT8,
    "int8": TensorProto.INT8,
    "int16": TensorProto.INT16,
    "int32": TensorProto.INT32,
    "int64": TensorProto.INT64,
    "float16": TensorProto.FLOAT16,
    "bfloat16": TensorProto.BFLOAT16,
    "float32": TensorProto.FLOAT,
    "float64": TensorProto.DOUBLE,
}


class Value:
    """A value of the graph.

    Attributes:
        name: in the graph.
        shape, dtype: of the traced tensor; dtype is a name such as "float32".
        constant: the elements, if they do not depend on the inputs.
    """

    def __init__(self, name: str, shape: Sequence[int], dtype: str, constant: npt.NDArray[Any] | None = None) -> None:
        self.name, self.shape, self.dtype, self.constant = name, tuple(shape), dtype, constant

    @property
    def ndim(self) -> int:
        """How many dimensions there are."""
        return len(self.shape)

    def axis(self, dim: int) -> int:
        """A dimension, counted from the front."""
        return dim + self.ndim if dim < 0 else dim

    def axes(self, dims: int | Sequence[int] | None) -> list[int]:
        """Dimensions, counted from the front; None: all."""
        if dims is None:
            return list(range(self.ndim))
        return [self.axis(d) for d in ([dims] if isinstance(dims, int) else dims)]


def array_of(x: Tensor) -> npt.NDArray[Any]:
    """The elements of a tensor; bfloat16 as float32, which holds the same numbers."""
    x = x.detach().cpu()
    return np.array((x.float() if x.dtype.name == "bfloat16" else x).numpy())


class Graph:
    """Collects nodes. Values that are constant become initialisers when a node reads them."""

    def __init__(self) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.initializers: dict[str, onnx.TensorProto] = {}
        self._constants: dict[tuple[Any, ...], Value] = {}
        self._numbers: dict[str, int] = {}

    def fresh(self, stem: str) -> str:
        """A name that is not taken."""
        self._numbers[stem] = number = self._numbers.get(stem, -1) + 1
        return f"{stem}_{number}"

    def constant(self, data: Any, dtype: str, name: str | None = None) -> Value:
        """A constant; the same one again for small ones that are equal."""
        array = np.asarray(data, "float32" if dtype == "bfloat16" else dtype)
        key = (dtype, array.shape, array.tobytes()) if name is None and array.size <= 64 else None
        if key is not None and key in self._constants:
            return self._constants[key]
        value = Value(name or self.fresh("constant"), array.shape, dtype, array)
        if key is not None:
            self._constants[key] = value
        return value

    def ints(self, data: Any) -> Value:
        """A constant list of integers."""
        return self.constant(np.atleast_1d(np.asarray(data, np.int64)), "int64")

    def use(self, x: Value) -> str:
        """The name of a value that a node reads."""
        if x.constant is not None and x.name not in self.initializers:
            tensor = numpy_helper.from_array(np.array(x.constant, order="C"), x.name)
            if x.dtype == "bfloat16":
                flat = x.constant.astype(np.float32).ravel()
                tensor = helper.make_tensor(x.name, TYPES["bfloat16"], x.shape, flat.tolist())
            self.initializers[x.name] = tensor
        return x.name

    def node(
        self, op: str, inputs: Sequence[Value | None], shape: Sequence[int], dtype: str, **attributes: Any
    ) -> Value:
        """Adds a node with one result."""
        made: Value = self.nodes_of(op, inputs, [(shape, dtype)], **attributes)[0]
        return made

    def nodes_of(
        self,
        op: str,
        inputs: Sequence[Value | None],
        results: Sequence[tuple[Sequence[int], str] | None],
        **attributes: Any,
    ) -> list[Any]:
        """Adds a node with several results; None is one that nobody reads."""
        made = [None if r is None else Value(self.fresh(op), *r) for r in results]
        names = ["" if x is None else self.use(x) for x in inputs]
        while names and not names[-1]:
            names.pop()
        outputs = ["" if m is None else m.name for m in made]
        self.nodes.append(helper.make_node(op, names, outputs, name=self.fresh(f"node_{op}"), **attributes))
        return made

    # ---- what many ops need ------------------------------------------------------------------------------------------
    def cast(self, x: Value, dtype: str) -> Value:
        """The value in another type."""
        if x.dtype == dtype:
            return x
        if x.constant is not None:
            return self.constant(x.constant, dtype)
        return self.node("Cast", [x], x.shape, dtype, to=TYPES[dtype])

    def reshape(self, x: Value, shape: Sequence[int]) -> Value:
        """Other sizes. Leading ones that stay are copied from the input, so that they may be left open."""
        if x.shape == tuple(shape):
            return x
        same = 0
        while same < min(x.ndim, len(shape)) and x.shape[same] == shape[same] and shape[same] > 0:
            same += 1
        wanted = [0] * same + list(shape[same:])
        if len(wanted) - same >= 1 and 0 not in shape:
            wanted[-1 if same == 0 or len(wanted) > same else same] = -1
        return self.node(
            "Reshape", [x, self.ints(wanted) if wanted else self.constant(np.zeros(0), "int64")], shape, x.dtype
        )

    def expand(self, x: Value, shape: Sequence[int]) -> Value:
        """Broadcast to these sizes."""
        if x.shape == tuple(shape):
            return x
        lead = len(shape) - x.ndim
        wanted = [1 if i >= lead and x.shape[i - lead] == n else n for i, n in enumerate(shape)]
        return self.node("Expand", [x, self.ints(wanted)], shape, x.dtype)

    def transpose(self, x: Value, order: Sequence[int]) -> Value:
        """The dimensions in another order."""
        if list(order) == list(range(x.ndim)):
            return x
        return self.node("Transpose", [x], [x.shape[i] for i in order], x.dtype, perm=list(order))

    def slice(self, x: Value, axis: int, start: int, stop: int, step: int = 1) -> Value:
        """A part along one dimension; start and stop as in range(), within the size."""
        size = len(range(start, stop, step))
        if size == x.shape[axis] and step == 1:
            return x
        end = stop if stop >= 0 else -(1 << 62)
        shape = [*x.shape[:axis], size, *x.shape[axis + 1 :]]
        inputs = [x, self.ints(start), self.ints(end), self.ints(axis), self.ints(step)]
        return self.node("Slice", inputs, shape, x.dtype)

    def take(self, x: Value, flat: npt.NDArray[np.int64]) -> Value:
        """The elements with these numbers, counted through x."""
        one_row = self.node("Reshape", [x, self.ints(-1)], (int(np.prod(x.shape)),), x.dtype)
        return self.node("Gather", [one_row, self.constant(flat, "int64")], flat.shape, x.dtype, axis=0)


def dtype_name(dtype: Any) -> str:
    """The name of a type, of spirograd, NumPy or Python."""
    if dtype in (float, int, bool):
        return {float: "float32", int: "int64", bool: "bool"}[dtype]
    return str(getattr(dtype, "name", dtype)).removeprefix("spirograd.")


def promoted(*values: Any) -> str:
    """The type in which these are combined: tensors by their types, numbers as weak as PyTorch has them."""
    tensors = [v for v in values if isinstance(v, Value)]
    kinds = [getattr(_core, v.dtype) for v in tensors if v.ndim] or [getattr(_core, v.dtype) for v in tensors]
    found = kinds[0]
    for kind in kinds[1:]:
        found = _core.promote_types(found, kind)
    if any(isinstance(v, float) for v in values) and not found.is_floating_point:
        return "float32"
    if found.name == "bool" and any(isinstance(v, int) and not isinstance(v, bool) for v in values):
        return "int64"
    return str(found.name)
