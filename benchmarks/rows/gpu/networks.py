"""Small networks as micrograd has them, on one sample: of scalar Values, and of tensors."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import spirograd as sg
from harness.common import Result
from models.networks import mlp
from rows.gpu.section import Bench, Section, dashed, parameters

Works = dict[str, Callable[[], float]]

NETWORKS = {"small": (10, 20, 20, 1), "medium": (50, 100, 100, 1), "large": (200, 400, 400, 1)}
RATE = 1e-9  # thousands of steps on one sample neither diverge nor arrive


def inputs(count: int) -> list[float]:
    return [0.1 * (i % 10) - 0.4 for i in range(count)]


def scalar_works(sizes: Sequence[int], device: Any) -> Works:
    """Reads what a lazy engine could skip: the output, and with backward a gradient."""
    random.seed(1337)
    model = sg.MLP(sizes[0], list(sizes[1:]), device=device)
    x, weights = inputs(sizes[0]), model.parameters()

    def forward() -> float:
        return float(model(x).data)

    def backward() -> float:
        y = model(x)
        y.backward()
        return float(y.data + 0.0 * weights[0].grad)

    def step() -> float:
        loss = (model(x) - 1) ** 2
        model.zero_grad()
        loss.backward()
        for p in weights:
            p.data -= RATE * p.grad
        return float(loss.data)

    return {"forward": forward, "forward + backward": backward, "training step": step}


def tensor_works(sizes: Sequence[int], device: Any) -> Works:
    """Reads the same. All gradients and parameters are held by the network, so a read runs them all."""
    sg.manual_seed(1337)
    net = mlp(*sizes, batch=1).build(sg).to(device)
    optimizer = sg.optim.SGD(net.parameters(), lr=RATE)
    x, first = sg.tensor([inputs(sizes[0])], device=device), next(net.parameters())

    def forward() -> float:
        return float(net(x).item())

    def backward() -> float:
        y = net(x).sum()
        optimizer.zero_grad()
        y.backward()
        slope = first.grad[0, 0]
        return float(y.item() + 0.0 * slope.item())

    def step() -> float:
        loss = ((net(x) - 1) ** 2).sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return float(loss.item())  # waits for the update too: it is in the same submission

    return {"forward": forward, "forward + backward": backward, "training step": step}


def run(place: Bench) -> Iterator[Result]:
    for name, sizes in NETWORKS.items():
        if place.quick and name == "large":
            continue
        for kind, make in (("Values", scalar_works), ("tensors", tensor_works)):
            for what, work in make(sizes, place.device).items():
                if not math.isfinite(work()):
                    raise ArithmeticError(f"benchmark: {what} of {kind} {sizes} is not finite")
                facts = {"size": parameters(sizes), "kind": kind, "what": what}
                yield place.time(f"{name} MLP {dashed(sizes)}", f"{kind}, {what}", work, **facts)


NETWORK = Section("Neural Network", "one sample; building the graph, and reading the result, included", run)
