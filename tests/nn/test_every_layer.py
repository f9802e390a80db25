"""Each layer of nn: it trains on its device alone, has gradients of differences, and moves to PyTorch and back."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import spirograd as sg
from spirograd import nn
from test_layers import LAYERS

Make = Callable[[Any], Any]

# A layer that the same call makes here and in PyTorch, and the shapes of its inputs, or whole numbers: places, words.
MORE: list[tuple[Make, list[Any]]] = [
    (lambda n: n.Conv1d(2, 4, 3, stride=2, groups=2), [(2, 2, 7)]),
    (lambda n: n.Conv2d(2, 4, 3, padding=1, dilation=2, padding_mode="reflect"), [(2, 2, 6, 5)]),
    (lambda n: n.Conv3d(2, 3, 2, padding=1), [(1, 2, 3, 4, 3)]),
    (lambda n: n.ConvTranspose1d(2, 3, 3, stride=2, output_padding=1), [(2, 2, 4)]),
    (lambda n: n.ConvTranspose2d(2, 4, 3, stride=2, padding=1, groups=2), [(2, 2, 4, 3)]),
    (lambda n: n.ConvTranspose3d(2, 4, 2, stride=(2, 1, 3), padding=1, output_padding=(1, 0, 2)), [(1, 2, 3, 3, 2)]),
    (lambda n: n.ConvTranspose3d(2, 4, 2, dilation=2, groups=2, bias=False), [(2, 2, 2, 3, 2)]),
    (lambda n: n.Unfold(2, padding=1), [(1, 2, 3, 4)]),
    (lambda n: n.Fold((3, 4), 2), [(1, 8, 6)]),
    (lambda n: n.MaxPool1d(2), [(2, 3, 7)]),
    (lambda n: n.MaxPool2d(3, 2, 1), [(2, 3, 6, 5)]),
    (lambda n: n.AvgPool1d(3, 2, 1), [(2, 3, 7)]),
    (lambda n: n.AvgPool2d(2, ceil_mode=True), [(2, 3, 5, 5)]),
    (lambda n: n.MaxPool3d((2, 3, 2), 2, (0, 1, 1), ceil_mode=True), [(1, 2, 5, 4, 5)]),
    (lambda n: n.MaxUnpool1d(2), [(2, 3), np.array([[1, 3, 4], [0, 2, 5]])]),
    (lambda n: n.MaxUnpool2d((2, 1), padding=(1, 0)), [(1, 2, 2), np.array([[[1, 2], [0, 3]]])]),
    (lambda n: n.MaxUnpool3d(2, 1), [(1, 1, 2, 1, 2), np.array([[[[[2, 9]], [[0, 11]]]]])]),
    (lambda n: n.AvgPool3d((2, 3, 2), 2, (0, 1, 1), True, False), [(2, 1, 5, 4, 5)]),
    (lambda n: n.AvgPool3d(2, divisor_override=5), [(2, 2, 3, 4)]),
    (lambda n: n.AdaptiveAvgPool3d((2, None, 3)), [(1, 2, 5, 2, 7)]),
    (lambda n: n.AdaptiveAvgPool1d(3), [(2, 3, 7)]),
    (lambda n: n.AdaptiveAvgPool2d((2, 3)), [(2, 3, 5, 7)]),
    (lambda n: n.AdaptiveMaxPool1d(3), [(2, 3, 7)]),
    (lambda n: n.AdaptiveMaxPool2d((2, 3)), [(2, 3, 5, 7)]),
    (lambda n: n.AdaptiveMaxPool3d((2, 3, 1)), [(1, 2, 3, 5, 4)]),
    (lambda n: n.LPPool1d(2, 2), [(2, 3, 6)]),
    (lambda n: n.LPPool2d(2, (2, 3), ceil_mode=True), [(2, 3, 5, 7)]),
    (lambda n: n.LPPool3d(4, 2), [(1, 2, 4, 4, 5)]),
    (lambda n: n.CircularPad1d(2), [(2, 3, 4)]),
    (lambda n: n.CircularPad2d((1, 2, 0, 1)), [(1, 2, 3, 4)]),
    (lambda n: n.CircularPad3d(1), [(1, 2, 2, 3, 2)]),
    (lambda n: n.ConstantPad1d((1, -1), 0.5), [(2, 3, 4)]),
    (lambda n: n.ConstantPad2d(1, 0.5), [(1, 2, 3, 4)]),
    (lambda n: n.ConstantPad3d(1, 0.5), [(1, 2, 2, 3, 2)]),
    (lambda n: n.ReflectionPad1d((2, 0)), [(2, 3, 4)]),
    (lambda n: n.ReflectionPad2d((1, 2, 0, 1)), [(2, 3, 4)]),
    (lambda n: n.ReflectionPad3d(1), [(1, 2, 2, 3, 2)]),
    (lambda n: n.ReplicationPad1d(2), [(2, 3, 4)]),
    (lambda n: n.ReplicationPad2d((1, 2, 0, 1)), [(1, 2, 3, 4)]),
    (lambda n: n.ReplicationPad3d(1), [(1, 2, 2, 3, 2)]),
    (lambda n: n.ZeroPad1d(2), [(2, 3, 4)]),
    (lambda n: n.ZeroPad2d((1, 2, 0, -1)), [(1, 2, 3, 4)]),
    (lambda n: n.ZeroPad3d(1), [(1, 2, 2, 3, 2)]),
    (lambda n: n.CosineSimilarity(), [(3, 4)] * 2),
    (lambda n: n.PairwiseDistance(3.0, keepdim=True), [(3, 4)] * 2),
    (lambda n: n.Embedding(5, 3), ["words"]),
    (lambda n: n.EmbeddingBag(5, 3), ["words"]),
    (lambda n: n.RNN(3, 4, num_layers=2, bidirectional=True), [(3, 2, 3)]),
    (lambda n: n.LSTM(3, 4, batch_first=True), [(2, 3, 3)]),
    (lambda n: n.LSTM(3, 4, 2, bidirectional=True, proj_size=2), [(3, 2, 3)]),
    (lambda n: n.GRU(3, 4), [(3, 2, 3)]),
    (lambda n: n.RNNCell(3, 4), [(2, 3)]),
    (lambda n: n.LSTMCell(3, 4), [(2, 3)]),
    (lambda n: n.GRUCell(3, 4), [(2, 3)]),
    (lambda n: n.MultiheadAttention(4, 2), [(3, 2, 4)] * 3),
    (lambda n: n.TransformerEncoderLayer(4, 2, 8, dropout=0.0), [(3, 2, 4)]),
    (lambda n: n.TransformerEncoder(n.TransformerEncoderLayer(4, 2, 8, dropout=0.0), 2), [(3, 2, 4)]),
    (lambda n: n.TransformerDecoderLayer(4, 2, 8, dropout=0.0), [(3, 2, 4)] * 2),
    (lambda n: n.TransformerDecoder(n.TransformerDecoderLayer(4, 2, 8, dropout=0.0), 2), [(3, 2, 4)] * 2),
    (lambda n: n.Transformer(4, 2, 1, 2, 8, dropout=0.0, activation="gelu"), [(3, 2, 4)] * 2),
]
OURS: list[tuple[Make, list[Any]]] = [
    (lambda n: n.FractionalMaxPool2d(2, 1), [(1, 2, 4, 5)]),  # one window, whose place is not drawn
    (lambda n: n.FractionalMaxPool3d(2, 1), [(1, 2, 3, 2, 4)]),
    (lambda n: n.RoPE(4), [(2, 3, 4)]),
    (lambda n: n.SinusoidalPositionalEncoding(4), [(2, 3, 4)]),
    (lambda n: n.SyncBatchNorm(3), [(4, 3, 2)]),  # on the CPU, too
    (lambda n: n.TransformerBlock(4, 2, 8), [(2, 3, 4)]),
]
ALL = [(layer.make, list(layer.shapes)) for layer in LAYERS] + MORE + OURS
NO_LAYERS = {"Layer", "MLP", "Module", "ModuleDict", "ModuleList", "Neuron", "ParameterDict", "ParameterList"}
NO_LAYERS |= {"RNNCellBase", "Sequential", "TensorModule"}
# Its gradient is PyTorch's, which is not the derivative: tests/porting/programs/uncommon_layers.py.
NO_LAYERS |= {"CrossMapLRN2d"}


def name_of(make: Make) -> str:
    return type(make(nn)).__name__


def named(cases: list[tuple[Make, list[Any]]]) -> Any:
    return pytest.mark.parametrize(("make", "shapes"), cases, ids=[name_of(make) for make, _ in cases])


def inputs_of(shapes: list[Any], dtype: Any, device: Any = "cpu") -> list[sg.Tensor]:
    random = np.random.default_rng(3)
    words = sg.tensor([[1, 0, 4], [2, 1, 1]], device=device)

    def made(shape: Any) -> sg.Tensor:
        if isinstance(shape, np.ndarray):
            return sg.tensor(shape, device=device)
        return words if shape == "words" else sg.tensor(random.normal(size=shape), dtype=dtype, device=device)

    return [made(shape) for shape in shapes]


def first(made: Any) -> sg.Tensor:
    return made[0] if isinstance(made, tuple) else made


def test_no_layer_is_left_out() -> None:
    public = {k for k, v in vars(nn).items() if isinstance(v, type) and issubclass(v, nn.Module)}
    layers = {k for k in public - NO_LAYERS if not k.endswith("Loss") and not k.startswith("Lazy")}
    assert layers == {name_of(make) for make, _ in ALL}


def train_all(device: str) -> dict[str, int]:
    """Three steps of each layer; by name the work that ran on another device than its tensors'."""
    found = {}
    for make, shapes in ALL:
        sg.manual_seed(0)
        layer = make(nn).to(device)
        xs = inputs_of(shapes, sg.float32, device)
        leaves = list(layer.parameters()) or [x.requires_grad_() for x in xs if x.is_floating_point()]
        optimizer = sg.optim.SGD(leaves, lr=1e-3)
        sg.reset_stats()
        for _ in range(3):
            optimizer.zero_grad()
            y = first(layer(*xs))
            (y * y).mean().backward()
            optimizer.step()
        assert all(np.isfinite(p.detach().cpu().numpy()).all() for p in leaves), name_of(make)
        assert any(p.grad is not None for p in leaves), name_of(make)
        found[name_of(make)] = sg.stats()["fallbacks"]
    return found


def test_every_layer_trains_on_its_device_alone(device: sg.Device, run_python: Callable[..., str]) -> None:
    code = f"import json, test_every_layer as t; print(json.dumps(t.train_all({device.kind!r})))"
    found = json.loads(run_python(code, timeout=600, SPIROGRAD_STRICT="1").splitlines()[-1])
    assert found == {name_of(make): 0 for make, _ in ALL}


@named(MORE + OURS)
def test_gradients_are_those_of_differences(make: Make, shapes: list[Any]) -> None:
    sg.manual_seed(0)
    layer = make(nn).double()
    xs = inputs_of(shapes, sg.float64)
    names = [name for name, _ in layer.named_parameters()]
    free = [x.requires_grad_() for x in xs if x.is_floating_point()]

    def call(*values: sg.Tensor) -> sg.Tensor:
        given = iter(values)
        inputs = [next(given) if x.is_floating_point() else x for x in xs]
        for name, value in zip(names, given, strict=True):
            owner, _, last = name.rpartition(".")
            vars(layer.get_submodule(owner))[last] = value
        return first(layer(*inputs))

    assert sg.autograd.gradcheck(call, [*free, *layer.parameters()], atol=1e-5, rtol=1e-5)


@named(MORE)
def test_weights_move_to_pytorch_and_back(make: Make, shapes: list[Any]) -> None:
    torch = pytest.importorskip("torch")
    ours, theirs = make(nn).double(), make(torch.nn).double()
    assert repr(ours) == repr(theirs).replace("NonDynamicallyQuantizable", "")
    theirs.load_state_dict({k: torch.tensor(v.numpy()) for k, v in ours.state_dict().items()})
    again = make(nn).double()
    again.load_state_dict(theirs.state_dict())
    xs = inputs_of(shapes, sg.float64)
    want = first(theirs(*(torch.tensor(x.numpy()) for x in xs))).detach().numpy()
    for layer in (ours, again):
        np.testing.assert_allclose(first(layer(*xs)).detach().numpy(), want, rtol=1e-12, atol=1e-12)


TRAINED = [(make, shapes) for make, shapes in ALL if list(make(nn).parameters())]


@named(TRAINED)
def test_replayed_steps_of_fit_have_the_bits_of_others(make: Make, shapes: list[Any]) -> None:
    results = []
    for compiled in (True, False):
        sg.manual_seed(0)
        layer = make(nn)
        xs = tuple(inputs_of(shapes, sg.float32))
        history = sg.fit(
            layer,
            xs,
            sg.zeros(len(xs[0])),
            loss=lambda output, target: first(output).square().mean(),
            optimizer="adam",
            epochs=5,
            verbose=0,
            compile=compiled,
        )
        results.append((history.metrics["loss"], [v.tolist() for v in layer.state_dict().values()]))
    assert results[0] == results[1]
