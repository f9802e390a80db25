"""Neurons, layers and perceptrons made of scalar Values: micrograd's, on the CPU or a GPU.

`Neuron`, `Layer` and `MLP` have micrograd's names, attributes and order of random numbers, so the same `random.seed`
gives the same weights.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from typing import Any

from ._core import Tensor, Value, _neurons, _tensor_of, _warn_at_line
from .base.types import DeviceLike


class Module:
    """Something with parameters."""

    def zero_grad(self) -> None:
        """Sets the gradient of every parameter to 0."""
        for p in self.parameters():
            p.grad = 0

    def parameters(self) -> list[Value]:
        """The Values that are learned."""
        return []


class Neuron(Module):
    """b + w0 * x0 + w1 * x1 + ..., then relu. A tensor [n, nin] gives a tensor [n, 1], as for `MLP`.

    Args:
        nin: number of inputs; weights come from `random.uniform(-1, 1)`, the bias is 0.
        nonlin: without it the neuron is linear.
        device: where it computes; the default device otherwise.
    """

    __slots__ = ("b", "nonlin", "w")  # read by `_neurons`; other attributes are free all the same

    def __init__(self, nin: int, nonlin: bool = True, device: DeviceLike | None = None) -> None:
        self.w = [Value(random.uniform(-1, 1), device=device) for _ in range(nin)]
        self.b = Value(0, device=device)
        self.nonlin = nonlin

    def __call__(self, x: Iterable[Any]) -> Any:
        if isinstance(x, Tensor):
            return _dense("Neuron", [self], x)
        x = list(x)
        if (out := _neurons(Neuron, [self], x)) is not None:
            return out[0]
        if len(self.w) != len(x):  # as in micrograd, the shorter counts
            _warn_at_line(f"Neuron: there are {len(self.w)} weights, got {len(x)} inputs; give as many")
        act = sum((wi * xi for wi, xi in zip(self.w, x, strict=False)), self.b)
        return act.relu() if self.nonlin else act

    def parameters(self) -> list[Value]:
        return [*self.w, self.b]

    def __repr__(self) -> str:
        return f"{'ReLU' if self.nonlin else 'Linear'}Neuron({len(self.w)})"


def _alike(neurons: Sequence[Neuron]) -> bool:
    """Whether one matrix product computes them all."""
    return {type(n) for n in neurons} == {Neuron} and len({(len(n.w), n.nonlin) for n in neurons}) == 1


def _dense(op: str, neurons: Sequence[Neuron], x: Tensor) -> Tensor:
    """What the neurons make of a tensor, [..., nin] -> [..., nout]."""
    if not _alike(neurons):
        raise TypeError(f"{op}: neurons of several kinds or of an own class take no tensor; give a list of Values")
    nin, nout = len(neurons[0].w), len(neurons)
    if x.shape[-1:] != (nin,):
        raise ValueError(f"{op}: there are {nin} inputs, the tensor has shape {list(x.shape)}; give [n, {nin}]")
    w = _tensor_of([w for n in neurons for w in n.w], (nout, nin), x)
    y = x @ w.T + _tensor_of([n.b for n in neurons], (nout,), x)
    return y.relu() if neurons[0].nonlin else y


class Layer(Module):
    """Neurons that share their inputs: a list of Values or numbers, or a tensor as for `MLP`.

    Keyword arguments go to each `Neuron`.
    """

    def __init__(self, nin: int, nout: int, **kwargs: Any) -> None:
        self.neurons = [Neuron(nin, **kwargs) for _ in range(nout)]

    def __call__(self, x: Iterable[Any]) -> Any:
        if isinstance(x, Tensor):
            return _dense("Layer", self.neurons, x)
        x = list(x)
        if (out := _neurons(Neuron, self.neurons, x)) is None:
            out = [n(x) for n in self.neurons]
        return out[0] if len(out) == 1 else out

    def parameters(self) -> list[Value]:
        return [p for n in self.neurons for p in n.parameters()]

    def __repr__(self) -> str:
        return f"Layer of [{', '.join(str(n) for n in self.neurons)}]"


class MLP(Module):
    """A multi-layer perceptron: relu between the layers, the last one linear.

    Called with a list of Values or numbers it is micrograd's, and gives Values. Called with a tensor [n, nin] it gives
    a tensor [n, nout], computed where the tensor is and in its type, all rows at once. The parameters are the same
    Values in both cases: what `backward()` of tensors and of Values gives them adds up in their `grad`.

    Args:
        nin: number of inputs.
        nouts: size of each layer.
        device: where it computes; the default device otherwise.

    Example:
        >>> import spirograd as sg
        >>> sg.MLP(3, [4, 4, 1])
        MLP of [Layer of [ReLUNeuron(3), ReLUNeuron(3), ReLUNeuron(3), ReLUNeuron(3)], \
Layer of [ReLUNeuron(4), ReLUNeuron(4), ReLUNeuron(4), ReLUNeuron(4)], Layer of [LinearNeuron(4)]]
        >>> model = sg.MLP(3, [4, 2])
        >>> y = model(sg.ones(5, 3))
        >>> y.shape
        (5, 2)
        >>> y.sum().backward()
        >>> model.parameters()[-1].grad
        5.0
    """

    def __init__(self, nin: int, nouts: Sequence[int], device: DeviceLike | None = None) -> None:
        sizes = [nin, *nouts]
        self.layers = [
            Layer(sizes[i], sizes[i + 1], nonlin=i != len(nouts) - 1, device=device) for i in range(len(nouts))
        ]

    def __call__(self, x: Any) -> Any:
        for layer in self.layers:
            x = _dense("MLP", layer.neurons, x) if isinstance(x, Tensor) and type(layer) is Layer else layer(x)
        return x

    def parameters(self) -> list[Value]:
        return [p for layer in self.layers for p in layer.parameters()]

    def __repr__(self) -> str:
        return f"MLP of [{', '.join(str(layer) for layer in self.layers)}]"
