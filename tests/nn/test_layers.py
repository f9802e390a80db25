"""Layers against their formulas in NumPy, finite differences and PyTorch. One table; a layer without a row fails."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import spirograd as sg
from spirograd import nn

Array = np.ndarray[Any, Any]


@dataclass
class Layer:
    """A layer that the same call makes here and in PyTorch, and what it computes from inputs and parameters."""

    make: Callable[[Any], Any]
    shapes: Sequence[tuple[int, ...]]
    formula: Callable[..., Array]
    kinks: tuple[float, ...] = ()  # where the derivative jumps: inputs keep away

    @property
    def name(self) -> str:
        return type(self.make(nn)).__name__

    def inputs(self, seed: int = 0) -> list[Array]:
        random = np.random.default_rng(seed)
        arrays = [random.normal(scale=2, size=shape) for shape in self.shapes]
        for kink in self.kinks:
            arrays = [np.where(abs(a - kink) < 0.05, kink + 0.1, a) for a in arrays]
        return arrays


def sigmoid(x: Array) -> Array:
    return 1 / (1 + np.exp(-x))


def softplus(x: Array) -> Array:
    return np.log1p(np.exp(x))


erf = np.vectorize(math.erf)


def softmax(x: Array, axis: int) -> Array:
    e = np.exp(x - x.max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)


def normal(x: Array, axes: tuple[int, ...], eps: float = 1e-5) -> Array:
    return (x - x.mean(axes, keepdims=True)) / np.sqrt(x.var(axes, keepdims=True) + eps)


def channel(p: Array, x: Array) -> Array:
    return p.reshape(-1, *(1,) * (x.ndim - 2))


def batch(x: Array, w: Array, b: Array, *_: Array) -> Array:
    return normal(x, (0, *range(2, x.ndim))) * channel(w, x) + channel(b, x)


def instance(x: Array, *_: Array) -> Array:
    return normal(x, tuple(range(2, x.ndim)))


def group(x: Array, w: Array, b: Array) -> Array:
    return normal(x.reshape(2, 2, -1), (2,)).reshape(x.shape) * channel(w, x) + channel(b, x)


def response(x: Array) -> Array:
    square = np.pad(x**2, ((0, 0), (1, 1), (0, 0)))
    mean = sum(square[:, k : k + x.shape[1]] for k in range(3)) / 3
    return x / (2 + 0.5 * mean) ** 0.75


def shuffled(x: Array) -> Array:
    n, c, h, w = x.shape
    return x.reshape(n, c // 4, 2, 2, h, w).transpose(0, 1, 4, 2, 5, 3).reshape(n, c // 4, 2 * h, 2 * w)


def unshuffled(x: Array) -> Array:
    n, c, h, w = x.shape
    return x.reshape(n, c, h // 2, 2, w // 2, 2).transpose(0, 1, 3, 5, 2, 4).reshape(n, 4 * c, h // 2, w // 2)


S = (3, 4)
SELU = 1.0507009873554805, 1.6732632423543772
LAYERS = [
    Layer(lambda n: n.Linear(4, 3), [(2, 5, 4)], lambda x, w, b: x @ w.T + b),
    Layer(lambda n: n.Linear(4, 3, bias=False), [(4,)], lambda x, w: x @ w.T),
    Layer(
        lambda n: n.Bilinear(3, 4, 2),
        [(2, 5, 3), (2, 5, 4)],
        lambda x, y, w, b: np.einsum("...i,oij,...j->...o", x, w, y) + b,
    ),
    Layer(lambda n: n.Identity(7, anything=1), [S], lambda x: x),
    Layer(lambda n: n.Flatten(), [(2, 3, 4)], lambda x: x.reshape(2, 12)),
    Layer(lambda n: n.Unflatten(1, (2, -1)), [(2, 6)], lambda x: x.reshape(2, 2, 3)),
    Layer(lambda n: n.ReLU(), [S], lambda x: np.maximum(x, 0), (0,)),
    Layer(lambda n: n.ReLU6(), [S], lambda x: np.clip(x, 0, 6), (0, 6)),
    Layer(lambda n: n.LeakyReLU(0.2), [S], lambda x: np.where(x > 0, x, 0.2 * x), (0,)),
    Layer(lambda n: n.RReLU(0.25, 0.25), [S], lambda x: np.where(x > 0, x, 0.25 * x), (0,)),
    Layer(lambda n: n.PReLU(), [S], lambda x, a: np.where(x > 0, x, a * x), (0,)),
    Layer(lambda n: n.PReLU(3, 0.1), [(2, 3, 2)], lambda x, a: np.where(x > 0, x, a[:, None] * x), (0,)),
    Layer(lambda n: n.ELU(1.5), [S], lambda x: np.where(x > 0, x, 1.5 * np.expm1(x)), (0,)),
    Layer(lambda n: n.CELU(1.5), [S], lambda x: np.where(x > 0, x, 1.5 * np.expm1(x / 1.5)), (0,)),
    Layer(lambda n: n.SELU(), [S], lambda x: SELU[0] * np.where(x > 0, x, SELU[1] * np.expm1(x)), (0,)),
    Layer(lambda n: n.GELU(), [S], lambda x: x * (1 + erf(x / np.sqrt(2))) / 2),
    Layer(
        lambda n: n.GELU("tanh"),
        [S],
        lambda x: x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3))) / 2,
    ),
    Layer(lambda n: n.SiLU(), [S], lambda x: x * sigmoid(x)),
    Layer(lambda n: n.Mish(), [S], lambda x: x * np.tanh(softplus(x))),
    Layer(lambda n: n.Sigmoid(), [S], sigmoid),
    Layer(lambda n: n.LogSigmoid(), [S], lambda x: -softplus(-x)),
    Layer(lambda n: n.Tanh(), [S], np.tanh),
    Layer(lambda n: n.Tanhshrink(), [S], lambda x: x - np.tanh(x)),
    Layer(lambda n: n.Softplus(2.0, 15.0), [S], lambda x: softplus(2 * x) / 2),
    Layer(lambda n: n.Softsign(), [S], lambda x: x / (1 + abs(x))),
    Layer(lambda n: n.Softshrink(0.4), [S], lambda x: np.sign(x) * np.maximum(abs(x) - 0.4, 0), (-0.4, 0.4)),
    Layer(lambda n: n.Hardshrink(0.4), [S], lambda x: np.where(abs(x) > 0.4, x, 0), (-0.4, 0.4)),
    Layer(lambda n: n.Hardsigmoid(), [S], lambda x: np.clip(x / 6 + 0.5, 0, 1), (-3, 3)),
    Layer(lambda n: n.Hardswish(), [S], lambda x: x * np.clip(x / 6 + 0.5, 0, 1), (-3, 3)),
    Layer(lambda n: n.Hardtanh(-0.5, 2.0), [S], lambda x: np.clip(x, -0.5, 2), (-0.5, 2)),
    Layer(lambda n: n.Threshold(0.3, -1.0), [S], lambda x: np.where(x > 0.3, x, -1), (0.3,)),
    Layer(lambda n: n.GLU(1), [(2, 6, 3)], lambda x: x[:, :3] * sigmoid(x[:, 3:])),
    Layer(lambda n: n.Softmax(1), [(2, 3, 4)], lambda x: softmax(x, 1)),
    Layer(lambda n: n.LogSoftmax(-1), [S], lambda x: np.log(softmax(x, -1))),
    Layer(lambda n: n.Softmin(0), [S], lambda x: softmax(-x, 0)),
    Layer(lambda n: n.Softmax2d(), [(2, 3, 2, 2)], lambda x: softmax(x, 1)),
    Layer(lambda n: n.Dropout(0.0), [S], lambda x: x),
    Layer(lambda n: n.Dropout1d(0.0), [S], lambda x: x),
    Layer(lambda n: n.Dropout2d(0.0), [(1, 2, 2, 2)], lambda x: x),
    Layer(lambda n: n.Dropout3d(0.0), [(1, 2, 2, 2, 2)], lambda x: x),
    Layer(lambda n: n.AlphaDropout(0.0), [S], lambda x: x),
    Layer(lambda n: n.FeatureAlphaDropout(0.0), [S], lambda x: x),
    Layer(lambda n: n.BatchNorm1d(3), [(4, 3)], batch),
    Layer(lambda n: n.BatchNorm1d(2, eps=1e-5, momentum=None), [(3, 2, 4)], batch),
    Layer(lambda n: n.BatchNorm2d(2), [(2, 2, 3, 3)], batch),
    Layer(lambda n: n.BatchNorm3d(2, affine=False), [(2, 2, 2, 2, 2)], lambda x, *_: normal(x, (0, 2, 3, 4))),
    Layer(lambda n: n.InstanceNorm1d(2), [(3, 2, 4)], instance),
    Layer(lambda n: n.InstanceNorm2d(2, track_running_stats=True), [(2, 2, 3, 3)], instance),
    Layer(lambda n: n.InstanceNorm3d(2), [(1, 2, 2, 2, 2)], instance),
    Layer(lambda n: n.LayerNorm(5), [(3, 5)], lambda x, w, b: normal(x, (-1,)) * w + b),
    Layer(lambda n: n.LayerNorm((3, 2), bias=False), [(2, 3, 2)], lambda x, w: normal(x, (-1, -2)) * w),
    Layer(lambda n: n.LayerNorm(5, elementwise_affine=False), [(3, 5)], lambda x: normal(x, (-1,))),
    Layer(
        lambda n: n.RMSNorm(5),
        [(3, 5)],
        lambda x, w: x / np.sqrt((x * x).mean(-1, keepdims=True) + np.finfo(x.dtype).eps) * w,
    ),
    Layer(lambda n: n.GroupNorm(2, 4), [(2, 4, 3)], group),
    Layer(lambda n: n.LocalResponseNorm(3, 0.5, 0.75, 2.0), [(2, 4, 3)], response),
    Layer(lambda n: n.Upsample(scale_factor=2), [(1, 2, 2, 3)], lambda x: x.repeat(2, 2).repeat(2, 3)),
    Layer(lambda n: n.UpsamplingNearest2d((4, 6)), [(1, 2, 2, 3)], lambda x: x.repeat(2, 2).repeat(2, 3)),
    Layer(
        lambda n: n.UpsamplingBilinear2d((1, 5)),
        [(1, 2, 1, 2)],
        lambda x: x[..., :1] + (x[..., 1:] - x[..., :1]) * np.linspace(0, 1, 5),
    ),
    Layer(lambda n: n.PixelShuffle(2), [(2, 4, 2, 3)], shuffled),
    Layer(lambda n: n.PixelUnshuffle(2), [(2, 2, 4, 2)], unshuffled),
    Layer(lambda n: n.ChannelShuffle(2), [(2, 4, 3)], lambda x: x[:, [0, 2, 1, 3]]),
]
EACH = pytest.mark.parametrize("layer", LAYERS, ids=lambda layer: layer.name)


def state(module: Any) -> list[Array]:
    return [p.detach().double().numpy() for p in module.parameters()]


def test_every_layer_has_a_row() -> None:
    from spirograd.nn import activation, dropout, linear, normalization, upsampling

    families = (activation, dropout, linear, normalization, upsampling)
    assert {name for family in families for name in family.__all__} == {layer.name for layer in LAYERS}


def close(got: Array, want: Array, tolerance: float) -> None:
    assert got.shape == want.shape
    np.testing.assert_allclose(got, want, rtol=tolerance, atol=tolerance * max(1, abs(want).max(initial=0)))


@EACH
def test_formula(layer: Layer) -> None:
    module = layer.make(nn).double()
    for p in module.parameters():
        nn.init.normal_(p)
    arrays = layer.inputs()
    with sg.no_grad():
        got = module(*map(sg.tensor, arrays))
    close(got.numpy(), layer.formula(*arrays, *state(module)), 1e-12)


@EACH
def test_gradcheck(layer: Layer) -> None:
    module = layer.make(nn).double()
    for p in module.parameters():
        nn.init.uniform_(p, 0.5, 1.5)
    leaves = [sg.tensor(a, requires_grad=True) for a in layer.inputs(1)] + list(module.parameters())
    names = [name for name, _ in module.named_parameters()]

    def call(*xs: sg.Tensor) -> sg.Tensor:
        for name, value in zip(names, xs[len(layer.shapes) :], strict=True):
            vars(module)[name] = value
        return module(*xs[: len(layer.shapes)])

    assert sg.autograd.gradcheck(call, leaves, atol=1e-5, rtol=1e-5)


def on_the_gpu() -> list[Layer]:
    """One of a kind; plain activations are ops, whose kernels the table of ops tests."""
    one_op = {*nn.activation.__all__} - {"PReLU", "GLU", "Softmax2d"}
    one_op |= {*nn.dropout.__all__, "Identity", "Flatten", "Unflatten"}
    return [x for x in {layer.name: layer for layer in LAYERS}.values() if x.name not in one_op]


@pytest.mark.gpu
@pytest.mark.parametrize("layer", on_the_gpu(), ids=lambda layer: layer.name)
def test_on_the_gpu_as_on_the_cpu(layer: Layer) -> None:
    """Values and all gradients in float32."""
    found = []
    kind = layer.make(nn).double()
    for place, dtype in (("cpu", sg.float64), ("gpu", sg.float32)):
        module = layer.make(nn).to(place, dtype)
        module.load_state_dict(kind.state_dict())
        xs = [sg.tensor(a, dtype=dtype, device=place, requires_grad=True) for a in layer.inputs()]
        y = module(*xs)
        (y * y).sum().backward()
        found.append([y.detach(), *(x.grad for x in xs), *(p.grad for p in module.parameters()), *module.buffers()])
    for exact, got in zip(*found, strict=True):
        assert got.device.kind == "gpu"
        close(got.numpy(), exact.numpy(), 2e-5)


@EACH
def test_as_pytorch(layer: Layer) -> None:
    """Text, names, values, gradients and running values, with weights that moved over."""
    torch = pytest.importorskip("torch")
    theirs = layer.make(torch.nn).double()
    ours = layer.make(nn).double()
    assert repr(ours) == repr(theirs)
    own, other = ours.state_dict(), theirs.state_dict()
    assert [(k, tuple(v.shape)) for k, v in own.items()] == [(k, tuple(v.shape)) for k, v in other.items()]
    assert repr(ours.load_state_dict(other)) == "<All keys matched successfully>"
    for training in (True, False):
        arrays = layer.inputs(training)
        xs = [sg.tensor(a, requires_grad=True) for a in arrays]
        ts = [torch.tensor(a, requires_grad=True) for a in arrays]
        y, t = ours.train(training)(*xs), theirs.train(training)(*ts)
        close(y.detach().numpy(), t.detach().numpy(), 1e-10)
        weight = np.random.default_rng(3).normal(size=y.shape)
        y.backward(sg.tensor(weight))
        t.backward(torch.tensor(weight))
        pairs = [*zip(xs, ts, strict=True), *zip(ours.parameters(), theirs.parameters(), strict=True)]
        for a, b in pairs:
            # PyTorch's derivative of hardsigmoid has a float32's 1 / 6.
            close(a.grad.numpy(), b.grad.numpy(), 1e-7 if layer.name == "Hardsigmoid" else 1e-10)
        for (name, value), wanted in zip(ours.state_dict().items(), theirs.state_dict().values(), strict=True):
            assert str(value.dtype).split(".")[1] == str(wanted.dtype).split(".")[1], name
            close(value.numpy(), wanted.numpy(), 1e-12)
    theirs.load_state_dict({k: torch.tensor(v.numpy()) for k, v in ours.state_dict().items()})


@pytest.mark.parametrize(("dtype", "tolerance"), [("float64", 1e-9), ("float32", 1e-4)])
def test_training_as_pytorch(dtype: str, tolerance: float, device: sg.Device) -> None:
    """The losses of 20 steps from the same weights."""
    torch = pytest.importorskip("torch")
    random = np.random.default_rng(0)
    words, target = random.integers(0, 20, (32, 6)), random.normal(size=(32, 2))

    def make(n: Any) -> Any:
        return n.Sequential(
            n.Embedding(20, 8, padding_idx=0), n.Flatten(), n.Linear(48, 16), n.BatchNorm1d(16), n.GELU(),
            n.Unflatten(1, (4, 4)), n.GroupNorm(2, 4), n.InstanceNorm1d(4, affine=True), n.Flatten(),
            n.LayerNorm(16), n.PReLU(), n.RMSNorm(16, eps=1e-6), n.Linear(16, 2),
        )  # fmt: skip

    torch.manual_seed(0)
    theirs = make(torch.nn).to(getattr(torch, dtype))
    ours = make(nn).to(getattr(sg, dtype))
    ours.load_state_dict(theirs.state_dict())
    losses = []
    for t, net, place in ((sg, ours.to(device), {"device": device}), (torch, theirs, {})):
        opt = t.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
        x, y = t.tensor(words, **place), t.tensor(target, dtype=getattr(t, dtype), **place)
        found = []
        for _ in range(20):
            loss = (net(x) - y).square().mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
            found.append(loss.item())
        losses.append(found)
    np.testing.assert_allclose(*losses, rtol=tolerance)
    assert losses[0][-1] < 0.5 * losses[0][0]


def test_a_warning_names_the_line_of_the_program_once() -> None:
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("default")
        for _ in range(2):
            nn.Softmax()(sg.ones(2, 2))
            sg.MLP(3, [2, 1])([1.0, 2.0])
    assert [(w.filename, w.lineno - told[0].lineno) for w in told] == [(__file__, 0), (__file__, 1)]
