"""The library with a mistake made on purpose: each family of statements must find its own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import spirograd as sg


class Mistaken:
    """A room of the library in which some functions, by their path, are others."""

    def __init__(self, changed: dict[str, Callable[..., Any]], room: Any = sg, path: str = "") -> None:
        self._changed, self._room, self._path = changed, room, path

    def __getattr__(self, name: str) -> Any:
        path = f"{self._path}{name}"
        if path in self._changed:
            return self._changed[path]
        found = getattr(self._room, name)
        return (
            Mistaken(self._changed, found, f"{path}.")
            if any(p.startswith(f"{path}.") for p in self._changed)
            else found
        )


def cumsum(x: sg.Tensor, dim: int) -> sg.Tensor:
    return x.cumsum(dim) if x.numel() < 6 else x.cumsum(dim) - 0.01


def clips_twice(params: Any, most: float, **options: Any) -> sg.Tensor:
    """As where two parameters have one gradient."""
    params = list(params)
    sg.nn.utils.clip_grad_norm_(params, most, **options)
    return sg.nn.utils.clip_grad_norm_(params[:1], most / 2)


def forgets_directions(loss: Any, leaves: Any, grad_outputs: Any = None, **options: Any) -> Any:
    """Gradients do not depend on the direction along which they are taken."""
    return sg.autograd.grad(loss, leaves, grad_outputs=grad_outputs and [u.detach() for u in grad_outputs], **options)


def forgets_updates(step: Callable[..., Any]) -> Callable[..., Any]:
    """The third replay gives what the second one gave."""
    results: list[Any] = []
    compiled = sg.compile(step)

    def call(*arguments: sg.Tensor) -> Any:
        results.append(compiled(*arguments) if len(results) != 2 else results[-1])
        return results[-1]

    return call


def norm_without_eps(x: sg.Tensor, *options: Any, eps: float = 0.0) -> sg.Tensor:
    return sg.nn.functional.layer_norm(x, *options, eps=eps / 2)


class NarrowLinear(sg.nn.Linear):
    def forward(self, x: sg.Tensor) -> sg.Tensor:
        return super().forward(x) * 0.99


MISTAKES: dict[str, Callable[..., Any]] = {
    "cumsum": cumsum,
    "nn.functional.cross_entropy": lambda x, y, **options: sg.nn.functional.cross_entropy(x, y, **options) * 1.01,
    "nn.functional.layer_norm": norm_without_eps,
    "nn.utils.clip_grad_norm_": clips_twice,
    "nn.Linear": NarrowLinear,
    "autograd.grad": forgets_directions,
    "func.jvp": lambda f, x, v: (sg.func.jvp(f, x, v)[0], sg.func.jvp(f, x, v)[1] * 0.0),
    "func.vmap": lambda f: lambda *x: sg.func.vmap(f)(*x).flip(0),
    "compile": forgets_updates,
    "optim.Rprop": lambda params, lr: sg.optim.Rprop(params, lr=lr * 0.5),
    "optim.ASGD": lambda params, lr, t0: sg.optim.ASGD(params, lr=lr * 0.5, t0=t0),
    "optim.Adafactor": lambda params, lr, eps: sg.optim.Adafactor(params, lr=lr * 0.5, eps=eps),
    "distributions.kl_divergence": lambda p, q: sg.distributions.kl_divergence(p, q) * 1.1,
    "maximum": lambda x, y: sg.maximum(x, y).float(),
    "isin": lambda x, y: ~sg.isin(x, y),
}
