"""Python's collector frees cycles that lead through gradient graphs: tensors, hooks, closures, functions."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable
from typing import Any

import pytest

import spirograd as sg
from spirograd.utils.checkpoint import checkpoint

N = 1 << 14


pytestmark = pytest.mark.usefixtures("no_collector")


def leaf() -> sg.Tensor:
    return sg.ones(N, requires_grad=True).realize().requires_grad_()


def hook_of_a_leaf() -> Any:
    x = leaf()
    x.register_hook(lambda g: g * x.detach())
    return x


def hook_after_accumulation() -> Any:
    x = leaf()
    x.register_post_accumulate_grad_hook(lambda p: x.sum())
    (x * 2).sum().backward()
    return x


def hook_of_a_result() -> Any:
    y = leaf() * 2
    y.register_hook(lambda g: g * y.detach())
    return y


def hook_that_knows_what_came_later() -> Any:
    y = leaf() * 2
    z = (y + y * y).exp()
    y.register_hook(lambda g: print(z))
    return z


def hook_whose_handle_is_kept() -> Any:
    class Watcher:
        def __init__(self) -> None:
            self.x = leaf()
            self.handle = self.x.register_hook(self.see)

        def see(self, g: sg.Tensor) -> None:
            self.seen = g

    watcher = Watcher()
    (watcher.x * 2).sum().backward()
    return watcher


def grad_fn_in_a_hook() -> Any:
    y = leaf() * 2
    functions = [y.grad_fn]
    y.register_hook(lambda g: functions.clear())
    weak = weakref.ref(y)
    del y
    return functions, weak


def module_that_keeps_its_result() -> Any:
    class Keeps(sg.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = sg.nn.Linear(128, 128)

        def forward(self, x: sg.Tensor) -> sg.Tensor:
            self.out = checkpoint(lambda v: self.inner(v).tanh(), x)
            return self.out

    net = Keeps()
    net(sg.ones(4, 128, requires_grad=True)).sum().item()
    return net


def function_that_keeps_its_result() -> Any:
    class Double(sg.autograd.Function):
        @staticmethod
        def forward(ctx: Any, box: list[Any], x: sg.Tensor) -> sg.Tensor:
            ctx.box = box
            return x * 2

        @staticmethod
        def backward(ctx: Any, g: sg.Tensor) -> tuple[None, sg.Tensor]:
            return None, g * 2

    class Box(list[Any]):
        pass

    box = Box()
    box.append(Double.apply(box, leaf()))
    return box


def hooks_of_a_module() -> Any:
    net = sg.nn.Linear(128, 128)
    net.register_forward_hook(lambda module, args, output: setattr(net, "seen", output))
    net.register_full_backward_hook(lambda module, before, after: setattr(net, "grads", after))
    net(sg.ones(4, 128, requires_grad=True)).sum().backward()
    return net


CYCLES: dict[str, Callable[[], Any]] = {
    name: make
    for name, make in globals().items()
    if callable(make) and name.startswith(("hook_", "hooks_", "grad_fn_", "module_", "function_"))
}


@pytest.mark.parametrize("name", CYCLES)
def test_a_cycle_is_collected(name: str) -> None:
    def live() -> int:
        sg.synchronize()
        return int(sg.stats()["bytes_live"])

    CYCLES[name]()
    gc.collect()
    before = live()
    thing = CYCLES[name]()
    held = live() - before
    end = thing[1] if isinstance(thing, tuple) else weakref.ref(thing)
    gc.collect()
    assert live() - before == held > 0, "what is held is not collected"
    del thing
    gc.collect()
    assert live() <= before, f"{live() - before} of {held} bytes stay"
    assert end() is None


def test_what_is_in_use_is_not_collected() -> None:
    x = leaf()
    seen: list[float] = []

    def keep(factor: float) -> sg.Tensor:
        y = x * factor
        y.register_hook(lambda g: seen.append(g.sum().item() * y.sum().item()))
        return y.sum()  # y itself has no name from here on

    losses = [keep(2.0), keep(3.0)]
    total = losses[0] + losses[1]
    del losses
    for _ in range(3):
        gc.collect()
    total.backward()
    assert sorted(seen) == [2.0 * N * N, 3.0 * N * N]
    assert x.grad is not None and x.grad[0].item() == 5


def test_a_collected_graph_says_so() -> None:
    """A finaliser that outlives the objects of its cycle can still ask for the gradient."""
    x = leaf()
    x.register_hook(lambda g: g * 2)
    out: list[str] = []

    class Last:
        def __init__(self) -> None:
            self.me = self
            self.y = x * 3

        def __del__(self) -> None:
            self.y.sum().backward()
            out.append("done")

    Last()
    gc.collect()
    assert out == ["done"] and x.grad is not None and x.grad[0].item() == 6
