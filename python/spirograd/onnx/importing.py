"""load: an ONNX model as a module."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import onnx

from .. import _core
from .._core import Error, FileFormatError, Tensor
from ..nn import Module, Parameter
from .functions import FUNCTIONS, Node, from_array


class OnnxModule(Module):
    """An ONNX graph that computes with tensors of spirograd, on any device, with gradients.

    Floating initialisers are parameters and others are buffers, under their names with "_" for ".". Values that only
    say how, such as sizes and axes, stay on the host.

    Attributes:
        inputs, outputs: their names.
    """

    def __init__(self, model: onnx.ModelProto) -> None:
        super().__init__()
        graph = model.graph
        tensors = {t.name: from_array(t) for t in graph.initializer}
        self.inputs = [x.name for x in graph.input if x.name not in tensors]
        self.outputs = [x.name for x in graph.output]
        self._nodes = [Node(node) for node in graph.node]
        unknown = sorted({n.op for n in self._nodes} - set(FUNCTIONS))
        if unknown:
            raise Error(f"onnx.load: {', '.join(unknown)} are not known here; export the model without them")
        read_as_data = {name for node in self._nodes for name in node.data_inputs()}
        self._constants: dict[str, Any] = {name: t for name, t in tensors.items() if name not in read_as_data}
        self._names: dict[str, str] = {}
        for name in read_as_data & set(tensors):
            attribute = self._names[name] = name.replace(".", "_").replace("/", "_")
            value = _core.tensor(np.array(tensors[name], order="C"))
            if value.is_floating_point():
                self.register_parameter(attribute, Parameter(value))
            else:
                self.register_buffer(attribute, value)

    def forward(self, *inputs: Tensor) -> Any:
        """What the graph computes: a tensor, or a tuple of several."""
        if len(inputs) != len(self.inputs):
            raise TypeError(f"OnnxModule: {len(inputs)} inputs; the model has {', '.join(self.inputs)}")
        values: dict[str, Any] = {"": None, **self._constants}
        values |= {name: getattr(self, attribute) for name, attribute in self._names.items()}
        values |= dict(zip(self.inputs, inputs, strict=True))
        for node in self._nodes:
            made = FUNCTIONS[node.op](node, *(values[name] for name in node.inputs))
            values |= zip(node.outputs, made if isinstance(made, (tuple, list)) else (made,), strict=False)
        outputs = tuple(_as_tensor(values[name]) for name in self.outputs)
        return outputs[0] if len(outputs) == 1 else outputs

    def extra_repr(self) -> str:
        return f"{len(self._nodes)} nodes, inputs {', '.join(self.inputs)}"


def load(path: str | os.PathLike[str] | onnx.ModelProto) -> OnnxModule:
    """Reads an ONNX model.

    Args:
        path: a file, or a model that was read.

    Returns:
        A module of the same function, in eval mode. It can be trained further.

    Raises:
        ImportError: the package onnx is not installed.
        FileFormatError: the file is no ONNX model.
        Error: an operator is not known here.
    """
    if isinstance(path, onnx.ModelProto):
        return OnnxModule(path).eval()
    try:
        model = onnx.load(os.fspath(path))
    except FileNotFoundError:
        raise
    except Exception as error:  # protobuf's errors have no common base
        reason = str(error).partition("\n")[0][:200]
        raise FileFormatError(f"onnx.load: {os.fspath(path)} is no ONNX model ({reason})") from None
    if not model.graph.node and not model.graph.output:
        raise FileFormatError(f"onnx.load: {os.fspath(path)} is no ONNX model (it has no graph)")
    return OnnxModule(model).eval()


def _as_tensor(x: Any) -> Tensor:
    return x if isinstance(x, Tensor) else _core.tensor(np.asarray(x))
