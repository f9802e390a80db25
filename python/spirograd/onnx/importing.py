"""load: an ONNX model as a module."""

from __future__ import annotations

import os
from collections.abc import Collection
from typing import Any

import numpy as np
import onnx

from .. import _core
from .._core import Error, FileFormatError, Tensor
from ..base.keywords import naming_keywords
from ..nn import Module, Parameter
from ..serialization._arrays import reason, shown
from .functions import FUNCTIONS, Node, from_array


class OnnxModule(Module):
    """An ONNX graph that computes with tensors of spirograd, on any device, with gradients.

    Floating initialisers are parameters and others are buffers, under their names with "_" for "." and "/"; "_" is
    added while a module or another initialiser has that name. Values that only say how, such as sizes and axes, stay on
    the host.

    Attributes:
        inputs, outputs: their names.
    """

    def __init__(self, model: onnx.ModelProto) -> None:
        super().__init__()
        graph = model.graph
        tensors = {t.name: from_array(t) for t in graph.initializer}
        if len(tensors) != len(graph.initializer) or "" in tensors:
            raise FileFormatError("onnx.load: two initialisers have one name, or one has none; export the model again")
        self.inputs = [x.name for x in graph.input if x.name not in tensors]
        self.outputs = [x.name for x in graph.output]
        self._nodes = [Node(node) for node in graph.node]
        unknown = sorted({n.op for n in self._nodes} - set(FUNCTIONS))
        if unknown:
            raise Error(
                f"onnx.load: {shown(', '.join(unknown), 200)} are not known here; export the model without them"
            )
        self._check_names(tensors)
        read_as_data = {name for node in self._nodes for name in node.data_inputs()}
        self._constants: dict[str, Any] = {name: t for name, t in tensors.items() if name not in read_as_data}
        self._names: dict[str, str] = {}
        for name in (name for name in tensors if name in read_as_data):  # in the order of the file
            attribute = name.replace(".", "_").replace("/", "_")
            while hasattr(self, attribute):
                attribute += "_"
            self._names[name] = attribute
            value = _core.tensor(np.array(tensors[name], order="C"))
            if value.is_floating_point():
                self.register_parameter(attribute, Parameter(value))
            else:
                self.register_buffer(attribute, value)

    def _check_names(self, initialisers: Collection[str]) -> None:
        """Whether each value is made once, before it is read."""
        known = {"", *self.inputs, *initialisers}
        if len(known) != 1 + len(self.inputs) + len(initialisers):
            raise FileFormatError("onnx.load: a name of an input stands for two values, or for none; export it again")
        for node in self._nodes:
            if unknown := [name for name in node.inputs if name not in known]:
                raise FileFormatError(
                    f"onnx.load: {shown(node.op)} reads {shown(unknown[0])}, which nothing makes before it"
                )
            known.update(node.outputs)
        if unknown := [name for name in self.outputs if name not in known or not name]:
            raise FileFormatError(f"onnx.load: the output {shown(unknown[0])} is one that nothing makes")

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


@naming_keywords
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
        if not model.graph.node and not model.graph.output:
            raise ValueError("it has no graph")
        return OnnxModule(model).eval()
    except (FileNotFoundError, Error):
        raise
    except Exception as error:  # protobuf's errors, and those of its helpers, have no common base
        raise FileFormatError(f"onnx.load: {os.fspath(path)} is no ONNX model ({reason(error)})") from None


def _as_tensor(x: Any) -> Tensor:
    return x if isinstance(x, Tensor) else _core.tensor(np.asarray(x))
