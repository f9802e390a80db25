"""Recurrent layers as one node for each layer, in place of one for each step."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._core import Error, Tensor
from ..nn import GRU, LSTM, RNN
from ..nn._recurrence import Rnn
from ..nn.recurrent import RNNBase
from .graph import Graph, Value, array_of
from .tracer import Tracer

# The order of gates: ONNX has input, output, forget, cell and update, reset, new.
_ORDER = {"LSTM": (0, 3, 1, 2), "GRU": (1, 0, 2), "RNN": (0,)}
KINDS = (GRU, LSTM, RNN)  # that have nodes of their own

__all__ = ["KINDS", "forward_of"]


def forward_of(layer: RNNBase, tracer: Tracer) -> Any:
    """A forward() for the layer that computes as before and writes nodes."""
    inside = type(layer).forward

    def forward(input: Tensor, hx: Any = None) -> Any:
        if not isinstance(input, Tensor):
            raise Error(f"onnx.export: {type(layer).__name__} of a packed sequence has no ONNX form; pad the sequences")
        with tracer.looking_away():
            output, ends = inside(layer, input, hx)
        given = () if hx is None else hx if isinstance(hx, tuple) else (hx,)
        if tracer.depends((input, given)):
            y, lasts = _nodes(tracer.graph, layer, tracer.value(input), [tracer.value(h) for h in given])
            for x, value in zip((output, *(ends if isinstance(ends, tuple) else (ends,))), (y, *lasts), strict=True):
                tracer.bind(x, value)
        return output, ends

    return forward


def _nodes(graph: Graph, layer: RNNBase, x: Value, states: list[Value]) -> tuple[Value, list[Value]]:
    """The output and the last states."""
    kind, hidden, ways = type(layer).__name__, layer.hidden_size, 1 + layer.bidirectional
    projected: int = getattr(layer, "proj_size", 0)
    out = projected or hidden
    batched = x.ndim == 3
    if not batched:
        x = graph.reshape(x, [x.shape[0], 1, x.shape[1]])
        states = [graph.reshape(s, [s.shape[0], 1, s.shape[1]]) for s in states]
    if batched and layer.batch_first:
        x = graph.transpose(x, [1, 0, 2])
    time, batch = x.shape[:2]
    ends: list[list[Value]] = [[] for _ in range(2 if kind == "LSTM" else 1)]
    for number, suffixes in enumerate(layer._suffixes):
        of_layer = [graph.slice(s, 0, number * ways, (number + 1) * ways) for s in states]
        weights = [_stacked(graph, layer, name, suffixes) for name in ("weight_ih", "weight_hh")]
        down: Value | None = None
        if projected:
            weights[1], down, up = _projection(graph, layer, suffixes)
            if of_layer:
                of_layer[0] = graph.node("MatMul", [of_layer[0], up], (ways, batch, hidden), x.dtype)
        bias = _biases(graph, layer, suffixes) if layer.bias else None
        options: dict[str, Any] = {"hidden_size": hidden, "direction": "bidirectional" if ways == 2 else "forward"}
        if kind == "GRU":
            options["linear_before_reset"] = 1
        if isinstance(layer._kind, Rnn):
            options["activations"] = [layer._kind.nonlinearity.capitalize()] * ways
        results: list[Any] = [((time, ways, batch, hidden), x.dtype)] + [((ways, batch, hidden), x.dtype)] * len(ends)
        made = list(graph.nodes_of(kind, [x, *weights, bias, None, *of_layer], results, **options))
        if down is not None:
            made[0] = graph.node("MatMul", [made[0], down], (time, ways, batch, out), x.dtype)
            made[1] = graph.node("MatMul", [made[1], down], (ways, batch, out), x.dtype)
        x = graph.reshape(graph.transpose(made[0], [0, 2, 1, 3]), [time, batch, ways * out])
        for column, end in zip(ends, made[1:], strict=True):
            column.append(end)
    count = layer.num_layers * ways
    lasts = [c[0] if len(c) == 1 else graph.node("Concat", c, (count, *c[0].shape[1:]), x.dtype, axis=0) for c in ends]
    if not batched:
        return graph.reshape(x, [time, ways * out]), [graph.reshape(h, [count, h.shape[2]]) for h in lasts]
    return graph.transpose(x, [1, 0, 2]) if layer.batch_first else x, lasts


def _rows(layer: RNNBase, name: str) -> Any:
    """A parameter with its gates in ONNX's order."""
    parameter = array_of(getattr(layer, name))
    gates = parameter.reshape(-1, layer.hidden_size, *parameter.shape[1:])
    return gates[list(_ORDER[type(layer).__name__])].reshape(parameter.shape)


def _stacked(graph: Graph, layer: RNNBase, name: str, suffixes: list[str]) -> Value:
    dtype = str(getattr(layer, name + suffixes[0]).dtype.name)
    return graph.constant(np.stack([_rows(layer, name + s) for s in suffixes]), dtype)


def _projection(graph: Graph, layer: RNNBase, suffixes: list[str]) -> tuple[Value, Value, Value]:
    """An LSTM with a projection as one without: the weights of states that are not projected, and the projection.

    ONNX's LSTM has no projection. The third value makes a state that has the given projection.
    """
    dtype = str(getattr(layer, "weight_hr" + suffixes[0]).dtype.name)
    downs = [array_of(getattr(layer, "weight_hr" + s)) for s in suffixes]
    if any(np.linalg.matrix_rank(d) < len(d) for d in downs):
        raise Error("onnx.export: the rows of weight_hr of an LSTM depend on each other; no state has any projection")
    products = [_rows(layer, "weight_hh" + s) @ d for s, d in zip(suffixes, downs, strict=True)]
    ups = [np.linalg.pinv(d).T for d in downs]
    made = [np.stack(products), np.stack([d.T for d in downs]), np.stack(ups)]
    recurrent, down, up = (graph.constant(m.astype(downs[0].dtype), dtype) for m in made)
    return recurrent, down, up


def _biases(graph: Graph, layer: RNNBase, suffixes: list[str]) -> Value:
    dtype = str(getattr(layer, f"bias_ih{suffixes[0]}").dtype.name)
    both = [np.concatenate([_rows(layer, f"{name}{s}") for name in ("bias_ih", "bias_hh")]) for s in suffixes]
    return graph.constant(np.stack(both), dtype)
