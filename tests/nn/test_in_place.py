"""Activations and dropout with inplace=True write into their input, also while gradients are recorded."""

from __future__ import annotations

import numpy as np
import pytest

import spirograd as sg
from spirograd import nn

ACTIVATIONS = {
    "ReLU": nn.ReLU(inplace=True),
    "ReLU6": nn.ReLU6(inplace=True),
    "LeakyReLU": nn.LeakyReLU(0.1, inplace=True),
    "ELU": nn.ELU(inplace=True),
    "CELU": nn.CELU(inplace=True),
    "SELU": nn.SELU(inplace=True),
    "SiLU": nn.SiLU(inplace=True),
    "Mish": nn.Mish(inplace=True),
    "Hardswish": nn.Hardswish(inplace=True),
    "Hardsigmoid": nn.Hardsigmoid(inplace=True),
    "Hardtanh": nn.Hardtanh(inplace=True),
    "Threshold": nn.Threshold(0.1, 20.0, inplace=True),
    "RReLU": nn.RReLU(0.3, 0.3, inplace=True),
    "Dropout": nn.Dropout(1.0, inplace=True),
    "AlphaDropout": nn.AlphaDropout(1.0, inplace=True),
}


@pytest.mark.parametrize("name", ACTIVATIONS)
@pytest.mark.parametrize("grad", [False, True])
def test_the_input_is_the_result(device: sg.Device, name: str, grad: bool) -> None:
    module = ACTIVATIONS[name]
    module.inplace = False
    x = sg.tensor([-2.0, -0.5, 0.25, 3.0], device=device, requires_grad=True)
    expected = module(x * 1)
    expected.sum().backward()
    slope, x.grad = x.grad.cpu().numpy(), None
    module.inplace = True
    with sg.set_grad_enabled(grad):
        h = x * 1
        assert module(h) is h
    np.testing.assert_array_equal(h.detach().cpu().numpy(), expected.detach().cpu().numpy())
    if grad:
        h.sum().backward()
        np.testing.assert_array_equal(x.grad.cpu().numpy(), slope)


def test_what_was_kept_of_the_input_sees_it() -> None:
    """Features for a style loss: each is what the next layer made of it."""
    h = sg.tensor([-1.0, 2.0], requires_grad=True) * 1
    kept = []
    for layer in (nn.ReLU(inplace=True), nn.Hardtanh(inplace=True)):
        kept.append(h)
        h = layer(h)
    assert [k.tolist() for k in kept] == [[0.0, 1.0], [0.0, 1.0]]


def test_a_leaf_with_a_gradient_is_refused() -> None:
    with pytest.raises((RuntimeError, ValueError), match="leaf"):
        nn.ReLU(inplace=True)(sg.ones(2, requires_grad=True))


def test_compile_of_a_module_is_a_module() -> None:
    net = nn.Sequential(nn.Linear(3, 2), nn.Dropout(0.5))
    compiled = sg.compile(net)
    assert isinstance(compiled, nn.Module) and list(compiled.parameters()) == list(net.parameters())
    assert list(compiled.state_dict()) == ["_orig_mod.0.weight", "_orig_mod.0.bias"]
    compiled.eval()
    assert not net.training
    with sg.no_grad():
        x = sg.ones(4, 3)
        for _ in range(4):
            np.testing.assert_array_equal(compiled(x).numpy(), net(x).numpy())
