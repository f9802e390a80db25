"""Weights under autocast: converted once for each value, with gradients that no half type rounds."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import spirograd as sg

sys.path.append(str(Path(__file__).resolve().parents[2] / "benchmarks"))
from models import networks

F = sg.nn.functional
HALF = sg.float16
NETWORKS = {
    "mlp": networks.mlp(40, 32, 48, 5, batch=8),
    "gpt": networks.gpt(17, 2, 2, 16, time=8, batch=3),
}


def exact(x: sg.Tensor | None) -> npt.NDArray[np.float64]:
    assert x is not None
    return np.asarray(x.detach().double().cpu().numpy())


def like_half(x: sg.Tensor) -> npt.NDArray[np.float64]:
    return exact(x.detach().to(HALF))


def kernels(run: Callable[[], Any]) -> list[Any]:
    """What a function launches."""
    sg.synchronize()
    with sg.profiler.profile() as profile:
        kept = run()
        sg.synchronize()
    del kept
    return [e for e in profile.events() if e.category == "kernel"]


def training(name: str, device: sg.Device, parts: int) -> Callable[[sg.dtype | None], None]:
    """Steps of a network, each over some batches, in a half type or in float32; two have been done."""
    network = NETWORKS[name]
    net = network.build(sg).to(device=device)
    optimizer = sg.optim.AdamW(net.parameters(), lr=1e-3)
    x, y = (sg.tensor(v, device=device) for v in network.batch(np.random.default_rng(0)))

    def step(half: sg.dtype | None) -> None:
        optimizer.zero_grad()
        for _ in range(parts):
            with sg.autocast(device.kind, half or HALF, enabled=half is not None):
                out = net(x)
                loss = F.cross_entropy(out.reshape(-1, out.shape[-1]), y.reshape(-1))
            loss.backward()
        optimizer.step()

    for half in (None, HALF, None, HALF):
        step(half)
    return step


def converted(name: str) -> int:
    """Elements of the matrices that products read: all but embeddings."""
    net = NETWORKS[name].build(sg)
    tables = {id(m.weight) for m in net.modules() if isinstance(m, sg.nn.Embedding)}
    return sum(p.numel() for p in net.parameters() if p.ndim > 1 and id(p) not in tables)


@pytest.mark.gpu
@pytest.mark.parametrize("parts", [1, 3])
@pytest.mark.parametrize("name", NETWORKS)
def test_a_step_converts_each_weight_once_and_no_gradient(name: str, parts: int, gpu: sg.Device) -> None:
    """Whether the step runs over one batch or adds up the gradients of several."""
    step = training(name, gpu, parts)
    strict, half = (kernels(lambda t=t: step(t)) for t in (None, HALF))
    casts = [k for k in half if set(k.name.split("_")) == {"cast"}]
    images = parts if name == "mlp" else 0  # a GPT's first product reads what an embedding made
    across = 2 * 3 * 8 * 16 if name == "gpt" and parts > 1 else 0  # the last head's input, where a large step is cut
    assert sum(k.bytes for k in casts) <= 6 * (converted(name) + images * 8 * 40 + across)
    assert len(half) <= len(strict) + 1 + images  # one launch for all weights


@pytest.mark.gpu
def test_a_step_leaves_no_half_values_behind(gpu: sg.Device) -> None:
    live = []
    for half in (None, HALF):
        step = training("gpt", gpu, 1)
        for _ in range(2):
            step(half)
            sg.synchronize()
            live.append(sg.stats()["bytes_live"])
        del step
    assert live[3] == live[2]
    assert live[2] - live[0] < converted("gpt")  # halves of all matrices take twice as much


@pytest.mark.parametrize("times", [1, 2])
@pytest.mark.parametrize("kind", ["linear", "conv", "transposed conv"])
def test_gradients_of_weights_are_not_rounded(kind: str, times: int, device: sg.Device) -> None:
    """Against float64, with the inputs that were rounded; several uses are added up in float32."""
    sg.manual_seed(1)
    layer: Any = {
        "linear": lambda: sg.nn.Linear(24, 20),
        "conv": lambda: sg.nn.Conv2d(16, 20, 3, padding=1),
        "transposed conv": lambda: sg.nn.ConvTranspose2d(16, 20, 3, stride=2),
    }[kind]()
    x = sg.randn(32, 24) if kind == "linear" else sg.randn(2, 16, 6, 7)
    layer, x = layer.to(device), x.to(HALF).to(device)
    with sg.autocast(device.kind, HALF):
        outs = [layer(x * (i + 1)) for i in range(times)]
    upstream = [sg.randn_like(y) for y in outs]
    for y, g in zip(outs, upstream, strict=True):
        y.backward(g)
    double = type(layer)(
        *((24, 20) if kind == "linear" else (16, 20, 3)),
        **({} if kind == "linear" else {"padding": 1} if kind == "conv" else {"stride": 2}),
    ).to(dtype=sg.float64)
    with sg.no_grad():
        double.weight.copy_(sg.tensor(like_half(layer.weight)))
    for i, g in enumerate(upstream):
        double(sg.tensor(exact(x * (i + 1)))).backward(sg.tensor(exact(g)))
    for name, p in layer.named_parameters():
        want = exact(dict(double.named_parameters())[name].grad)
        assert p.grad.dtype == sg.float32
        assert np.abs(exact(p.grad) - want).max() <= 2.0**-20 * np.abs(want).max() * 8, name
        assert np.abs(like_half(p.grad) - want).max() > 2.0**-15 * np.abs(want).max(), name  # a half shows


def write_in_place(w: sg.Tensor) -> None:
    with sg.no_grad():
        w.mul_(2)


def write_as_data(w: sg.Tensor) -> None:
    w.data.copy_(w.detach() * 2)


def replace_data(w: sg.Tensor) -> None:
    w.data = w.detach() * 2


def write_a_part(w: sg.Tensor) -> None:
    with sg.no_grad():
        w[3:].mul_(2)


def step_on(w: sg.Tensor) -> None:
    w.grad = -w.detach()
    sg.optim.SGD([w], lr=1.0).step()


@pytest.mark.parametrize("change", [write_in_place, write_as_data, replace_data, write_a_part, step_on])
def test_changed_weights_are_converted_again(change: Callable[[sg.Tensor], None], device: sg.Device) -> None:
    layer, x = sg.nn.Linear(16, 16, bias=False).to(device), sg.randn(4, 16).to(device)

    def result() -> npt.NDArray[np.float64]:
        with sg.no_grad(), sg.autocast(device.kind, HALF):
            return exact(layer(x))

    def right() -> npt.NDArray[np.float64]:
        return exact(x.to(HALF) @ layer.weight.detach().to(HALF).T)

    for _ in range(2):
        np.testing.assert_array_equal(result(), right())
    before = exact(layer.weight)
    change(layer.weight)
    assert not np.array_equal(exact(layer.weight), before)
    for _ in range(2):
        np.testing.assert_array_equal(result(), right())


def test_weights_that_numpy_sees_are_converted_each_time() -> None:
    layer, x = sg.nn.Linear(16, 16, bias=False), sg.ones(1, 16)
    seen = layer.weight.detach().numpy()
    for value in (1.0, 2.0):
        seen[:] = value
        with sg.autocast("cpu", HALF):
            assert layer(x).tolist() == [[16 * value] * 16]


def test_what_numpy_wrote_between_two_steps_is_seen() -> None:
    layer, x = sg.nn.Linear(16, 16, bias=False), sg.ones(1, 16)
    for value in (1.0, 2.0):
        layer.weight.detach().numpy()[:] = value
        for _ in range(2):
            with sg.autocast("cpu", HALF):
                assert layer(x).tolist() == [[16 * value] * 16]


@pytest.mark.gpu
def test_inference_converts_nothing_twice(gpu: sg.Device) -> None:
    layer, x = sg.nn.Linear(64, 64, bias=False).to(gpu), sg.randn(4, 64, device=gpu).to(HALF)

    def run() -> Any:
        with sg.no_grad(), sg.autocast(gpu.kind, HALF):
            return layer(x)

    assert [k.name for k in kernels(run)] == ["cast", "matmul"]
    assert [k.name for k in kernels(run)] == ["matmul"]


def test_a_recorded_function_sees_changed_weights(device: sg.Device) -> None:
    layer, x = sg.nn.Linear(16, 16, bias=False).to(device), sg.randn(4, 16).to(device)

    def run(x: sg.Tensor) -> sg.Tensor:
        with sg.no_grad(), sg.autocast(device.kind, HALF):
            return layer(x)

    compiled = sg.compile(run)
    run(x)
    for factor in (1.0, 2.0, 3.0, 4.0):
        with sg.no_grad():
            layer.weight.fill_(factor)
        for _ in range(2):
            np.testing.assert_array_equal(exact(compiled(x)), exact(x.to(HALF) @ layer.weight.detach().to(HALF).T))


def test_who_looks_at_a_half_gradient_sees_the_half_type(device: sg.Device) -> None:
    seen: list[sg.dtype] = []
    w, x = sg.randn(16, 16).to(device).requires_grad_(), sg.randn(4, 16).to(device).to(HALF)
    half = w.to(HALF)
    half.retain_grad()
    (x @ half).sum().backward()
    half = w.to(HALF)
    half.register_hook(lambda g: seen.append(g.dtype))
    (x @ half).sum().backward()
    half = w.to(HALF)
    (g,) = sg.autograd.grad((x @ half).sum(), [half])
    assert [*seen, g.dtype] == [HALF, HALF]
    assert w.grad is not None and w.grad.dtype == sg.float32


def test_gradients_of_unrounded_gradients(device: sg.Device) -> None:
    """The gradient of a sum of squares of a gradient, against float64."""
    rng = np.random.default_rng(2)
    values = [sg.tensor(rng.normal(size=s).astype(np.float32)).to(HALF).float() for s in ((8, 16), (16, 16))]

    def penalty(dtype: sg.dtype, place: Any) -> npt.NDArray[np.float64]:
        x, w = (v.to(place).double() if dtype == sg.float64 else v.to(place) for v in values)
        x, w = x.requires_grad_(), w.requires_grad_()
        y = x.to(dtype) @ w.to(dtype)
        (g,) = sg.autograd.grad(y.square().sum(), [w], create_graph=True)
        g.square().sum().backward()
        return exact(x.grad)

    want, got = penalty(sg.float64, "cpu"), penalty(HALF, device)
    assert np.abs(got - want).max() < 2.0**-8 * np.abs(want).max()
