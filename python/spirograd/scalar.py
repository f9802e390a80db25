"""Neurons, layers and perceptrons made of scalar Values: micrograd's, on the CPU or a GPU.

`Neuron`, `Layer` and `MLP` have micrograd's names, attributes and order of random numbers, so the same `random.seed`
gives the same weights.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from typing import Any

from ._core import Value, _neurons
from ._types import DeviceLike


class Module:
    """Something with parameters."""

    def zero_grad(self) -> None:
        for p in self.parameters():
            p.grad = 0

    def parameters(self) -> list[Value]:
        return []


class Neuron(Module):
    """b + w0 * x0 + w1 * x1 + ..., then relu.

    Args:
        nin: number of inputs; weights come from `random.uniform(-1, 1)`, the bias is 0.
        nonlin: without it the neuron is linear.
        device: where it computes; the default device otherwise.
    """

    def __init__(self, nin: int, nonlin: bool = True, device: DeviceLike | None = None) -> None:
        self.w = [Value(random.uniform(-1, 1), device=device) for _ in range(nin)]
        self.b = Value(0, device=device)
        self.nonlin = nonlin

    def __call__(self, x: Iterable[Any]) -> Value:
        x = list(x)
        if (out := _neurons(Neuron, [self], x)) is not None:
            return out[0]
        act = sum((wi * xi for wi, xi in zip(self.w, x, strict=False)), self.b)
        return act.relu() if self.nonlin else act

    def parameters(self) -> list[Value]:
        return [*self.w, self.b]

    def __repr__(self) -> str:
        return f"{'ReLU' if self.nonlin else 'Linear'}Neuron({len(self.w)})"


class Layer(Module):
    """Neurons that share their inputs. Keyword arguments go to each `Neuron`."""

    def __init__(self, nin: int, nout: int, **kwargs: Any) -> None:
        self.neurons = [Neuron(nin, **kwargs) for _ in range(nout)]

    def __call__(self, x: Iterable[Any]) -> Any:
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

    Args:
        nin: number of inputs.
        nouts: size of each layer.
        device: where it computes; the default device otherwise.

    Example:
        >>> import spirograd as sg
        >>> sg.MLP(3, [4, 4, 1])
        MLP of [Layer of [ReLUNeuron(3), ReLUNeuron(3), ReLUNeuron(3), ReLUNeuron(3)], \
Layer of [ReLUNeuron(4), ReLUNeuron(4), ReLUNeuron(4), ReLUNeuron(4)], Layer of [LinearNeuron(4)]]
    """

    def __init__(self, nin: int, nouts: Sequence[int], device: DeviceLike | None = None) -> None:
        sizes = [nin, *nouts]
        self.layers = [
            Layer(sizes[i], sizes[i + 1], nonlin=i != len(nouts) - 1, device=device) for i in range(len(nouts))
        ]

    def __call__(self, x: Any) -> Any:
        for layer in self.layers:
            x = layer(x)
        return x

    def parameters(self) -> list[Value]:
        return [p for layer in self.layers for p in layer.parameters()]

    def __repr__(self) -> str:
        return f"MLP of [{', '.join(str(layer) for layer in self.layers)}]"
