"""export: a module as an ONNX model."""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import onnx
from onnx import helper

from .._core import Tensor
from ..base.grad_mode import enable_grad
from ..base.keywords import naming_keywords
from ..base.tree import flatten
from ..nn import Module
from .graph import OPSET, TYPES, Graph, Value
from .recurrent import KINDS, forward_of
from .tracer import Tracer

LARGEST = 1 << 31  # bytes of a model in one file
_one_at_a_time = threading.Lock()  # recurrent layers have another forward() meanwhile


@naming_keywords
def export(
    model: Module,
    args: Any,
    path: str | os.PathLike[str] | None = None,
    *,
    input_names: Sequence[str] | None = None,
    output_names: Sequence[str] | None = None,
    dynamic_axes: Mapping[str, Mapping[int, str]] | None = None,
    kwargs: Mapping[str, Any] | None = None,
) -> onnx.ModelProto:
    """Writes a model as ONNX (opset 18), for onnxruntime and others.

    The forward pass runs once, in eval mode, and its calls are followed, whatever Python it runs: an `if` is decided by
    the example, a loop is unrolled. LSTM, GRU and RNN are one node for each layer.

    Args:
        model: a module of tensors.
        args: an example of its inputs: a tensor, or a tuple of tensors and other arguments, which become constants.
        path: the file; None writes none. Models of 2 GiB and more have their weights in a second file beside it.
        input_names, output_names: in the model; input_0, output_0 and so on when None.
        dynamic_axes: sizes that stay open, by input and dimension: {"input_0": {0: "batch"}}. The model must not depend
            on them, other than by the leading size of a reshape: sizes that Python computed with are constants.
        kwargs: more arguments, by name.

    Returns:
        The model, as `onnx.ModelProto`.

    Raises:
        ImportError: the package onnx is not installed.
        Error: an operation has no ONNX form, or cannot be followed.
        ValueError: there are more or fewer names than inputs or outputs.

    Example:
        >>> net = sg.nn.Sequential(sg.nn.Linear(2, 8), sg.nn.ReLU(), sg.nn.Linear(8, 3))
        >>> model = sg.onnx.export(net, sg.zeros(1, 2), dynamic_axes={"input_0": {0: "batch"}})
        >>> [node.op_type for node in model.graph.node]  # the last one names the output
        ['MatMul', 'Add', 'Relu', 'MatMul', 'Add', 'Identity']
    """
    given = args if isinstance(args, tuple) else (args,)
    leaves, build = flatten((given, dict(kwargs or {})))
    tensors = [x for x in leaves if isinstance(x, Tensor)]
    names = _names("input", input_names, len(tensors))
    modes = [(m, m.training) for m in model.modules()]
    model.eval()
    try:
        with enable_grad():
            # Floating inputs have a history, by which the tracer notices what it was not told of.
            copies = [x.detach().clone() for x in tensors]
            copies = [x.requires_grad_().clone() if x.is_floating_point() else x for x in copies]
            passed = iter(copies)
            given, named = build([next(passed) if isinstance(x, Tensor) else x for x in leaves])
            graph = Graph()
            tracer = Tracer(graph, dict(zip(names, copies, strict=True)), _tensors_of(model))
            output = _run(model, tracer, given, named)
    finally:
        for module, mode in modes:
            module.training = mode
    results = [x for x in flatten(output)[0] if isinstance(x, Tensor)]
    outputs = _names("output", output_names, len(results))
    for name, x in zip(outputs, results, strict=True):
        value = tracer.value(x)
        made = graph.node("Identity", [value], value.shape, value.dtype)
        graph.nodes[-1].output[0] = made.name = name
    made_of = [Value(name, x.shape, x.dtype.name) for name, x in zip(names, tensors, strict=True)]
    open_sizes = dynamic_axes or {}
    proto = helper.make_model(
        helper.make_graph(
            graph.nodes,
            type(model).__name__,
            [_info(v, open_sizes.get(v.name, {})) for v in made_of],
            [
                _info(Value(n, x.shape, x.dtype.name), None if open_sizes else {})
                for n, x in zip(outputs, results, strict=True)
            ],
            list(graph.initializers.values()),
        ),
        opset_imports=[helper.make_opsetid("", OPSET)],
        producer_name="spirograd",
        ir_version=9,
    )
    if path is not None:
        _write(proto, Path(path))
    return proto


def _run(model: Module, tracer: Tracer, args: Any, kwargs: Any) -> Any:
    """The forward pass, followed; recurrent layers write their own nodes."""
    layers = [m for m in model.modules() if type(m) in KINDS and "forward" not in vars(m)]
    for layer in layers:
        layer.__dict__["forward"] = forward_of(layer, tracer)  # type: ignore[arg-type]
    try:
        with _one_at_a_time, tracer.following():
            return model(*args, **kwargs)
    finally:
        for layer in layers:
            del layer.__dict__["forward"]


def _tensors_of(model: Module) -> dict[int, str]:
    found = [*model.named_parameters(), *model.named_buffers()]
    return {id(tensor): name for name, tensor in found}


def _names(kind: str, names: Sequence[str] | None, count: int) -> list[str]:
    if names is None:
        return [f"{kind}_{i}" for i in range(count)]
    if len(names) != count:
        raise ValueError(f"onnx.export: {kind}_names has {len(names)} names, the model {count} {kind}s; give one each")
    return list(names)


def _info(value: Value, open_sizes: Mapping[int, str] | None) -> onnx.ValueInfoProto:
    """Type and sizes; None: no size is known."""
    shape = [None] * value.ndim if open_sizes is None else [open_sizes.get(i, n) for i, n in enumerate(value.shape)]
    return helper.make_tensor_value_info(value.name, TYPES[value.dtype], shape)


def _write(proto: onnx.ModelProto, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    if proto.ByteSize() < LARGEST:
        onnx.save(proto, os.fspath(path))
    else:
        onnx.save(proto, os.fspath(path), save_as_external_data=True, location=f"{path.name}.data")
