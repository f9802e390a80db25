"""Barriers of real plans: a training step, softmax, random graphs, views written in place, rows cut in pieces.

On any device the work gives the same bits with a barrier between any two kernels. In the proxy lane
(SPIROGRAD_VALIDATION=sync SPIROGRAD_PROXY=1), where results are garbage on purpose, the layer must have nothing to
say, and must speak up for each kind of work as soon as the barriers are dropped.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import spirograd as sg
from test_fuzz import Graph

Array = np.ndarray[Any, Any]
Run = Callable[..., str]
VALIDATION = os.environ.get("SPIROGRAD_VALIDATION", "")
PROXY = os.environ.get("SPIROGRAD_PROXY", "0") == "1"
needs_values = pytest.mark.skipif(PROXY, reason="the proxy lane computes garbage on purpose")
proxy_lane = pytest.mark.skipif(
    not (PROXY and VALIDATION == "sync"), reason="needs SPIROGRAD_VALIDATION=sync SPIROGRAD_PROXY=1"
)


def guarded(device: sg.Device) -> bool:
    """Whether GPU-assisted validation runs on a software driver.

    Layer 1.4.363 branches around each access; lavapipe 26.1 then reads a uniform address even where no lane takes the
    branch, and dies of a null pointer: in checked indices and in some kernels over one element.
    """
    return VALIDATION == "gpu" and device.type == "software"


def uniform(seed: int, *shape: int) -> Array:
    return np.random.default_rng(seed).uniform(-1, 1, shape).astype(np.float32)


def train(device: sg.Device, loss_of: Callable[[sg.Tensor], sg.Tensor]) -> list[Array]:
    """Three steps of Adam on 20-64-48-10."""
    net = sg.nn.Sequential(
        sg.nn.Linear(20, 64), sg.nn.ReLU(), sg.nn.Linear(64, 48), sg.nn.Tanh(), sg.nn.Linear(48, 10)
    ).to(device)
    opt = sg.optim.Adam(net.parameters(), lr=1e-2)
    x = sg.tensor(uniform(1, 32, 20), device=device)
    losses = []
    for _ in range(3):
        loss = loss_of(net(x))
        opt.zero_grad()
        loss.backward()
        opt.step()
        losses.append(loss)
    return [t.detach().numpy() for t in (*losses, *net.parameters())]


def regression(device: sg.Device) -> list[Array]:
    y = sg.tensor(uniform(2, 32, 10), device=device)
    return train(device, lambda out: (out - y).square().mean())


def classification(device: sg.Device) -> list[Array]:
    y = sg.tensor(np.arange(32) % 10, device=device)
    return train(device, lambda out: sg.nn.functional.cross_entropy(out, y))


def softmax(device: sg.Device) -> list[Array]:
    x = sg.tensor(uniform(3, 64, 1000), device=device, requires_grad=True)
    y = x.softmax(1)
    (y * x.log_softmax(0)).sum().backward()
    assert x.grad is not None
    return [y.detach().numpy(), x.grad.numpy()]


def random_graphs(device: sg.Device) -> list[Array]:
    count = 4 if guarded(device) else 20
    return [(Graph(seed, device).root.x * 1.0).numpy() for seed in range(1000, 1000 + count)]


def views(device: sg.Device) -> list[Array]:
    """Writes into parts of a buffer that earlier and later kernels of the same plan read."""
    x = sg.tensor(uniform(4, 64, 64), device=device)
    before = x @ x
    x[1:] = x[:-1]  # overlaps itself
    x[:, 3] = before[:, 5]
    x.T[2].mul_(3.0)
    x[::2].add_(x[1::2])
    middle = (x * 2).sum(1)
    x[10:20, 10:20] = middle[10:20]
    return [t.numpy() for t in (before, middle, x, x @ x)]


def pieces(device: sg.Device) -> list[Array]:
    """A few long rows: each is cut in pieces, whose partial results a second kernel folds."""
    x = sg.tensor(uniform(5, 3, 200_000), device=device)
    centred = x - x.mean(1, keepdim=True)
    return [t.numpy() for t in (centred.square().sum(), centred.amax(1), (centred @ centred.T))]


WORK = {f.__name__: f for f in (regression, classification, softmax, random_graphs, views, pieces)}


DROPPED = """
import os
import spirograd as sg
import test_barriers
try:
    test_barriers.digest({name!r}, "gpu")
except sg.Error as error:
    print(error, flush=True)
os._exit(0)  # there is work in flight that nobody needs
"""


def digest(name: str, kind: str) -> str:
    """The bits of all results of one kind of work."""
    sg.manual_seed(0)
    total = hashlib.sha256()
    for array in WORK[name](sg.Device(kind)):
        total.update(np.ascontiguousarray(array).tobytes())
    return total.hexdigest()


def possible(name: str, device: sg.Device) -> None:
    if name == "classification" and guarded(device):
        pytest.skip("a checked index under the layer's guards crashes the software driver")


@pytest.mark.gpu
@pytest.mark.parametrize("name", WORK)
def test_nothing_is_reported(name: str, gpu: sg.Device) -> None:
    possible(name, gpu)
    WORK[name](gpu)
    sg.synchronize(gpu)  # raises what a validation layer said


@needs_values
@pytest.mark.gpu
@pytest.mark.parametrize("name", WORK)
def test_barriers_everywhere_give_equal_bits(name: str, gpu: sg.Device, run_python: Run) -> None:
    possible(name, gpu)
    code = f"import test_barriers; print(test_barriers.digest({name!r}, 'gpu'))"
    assert run_python(code, SPIROGRAD_BARRIER="all").strip() == digest(name, "gpu")


@needs_values
@pytest.mark.gpu
@pytest.mark.parametrize("name", WORK)
def test_another_order_between_barriers_gives_equal_bits(name: str, gpu: sg.Device, run_python: Run) -> None:
    """Without a barrier that is needed, a kernel would come before what it reads."""
    possible(name, gpu)
    code = f"import test_barriers; print(test_barriers.digest({name!r}, 'gpu'))"
    assert run_python(code, SPIROGRAD_BARRIER="reverse").strip() == digest(name, "gpu")


@proxy_lane
@pytest.mark.gpu
@pytest.mark.parametrize("name", WORK)
def test_dropped_barriers_are_reported(name: str, gpu: sg.Device, run_python: Run) -> None:
    said = run_python(DROPPED.format(name=name), SPIROGRAD_BARRIER="drop")
    assert said.startswith("validation: "), said
    assert "_AFTER_WRITE hazard detected" in said, said
