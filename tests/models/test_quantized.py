"""Weights in few bits: as near as rounding allows, the same for one token and for several, smaller in memory."""

from __future__ import annotations

import numpy as np
import pytest

import spirograd as sg
from spirograd.generation import generate
from spirograd.models import GPT2, Llama, QuantizedLinear, ViT, quantize


def rounded(weight: np.ndarray, bits: int, group: int) -> np.ndarray:
    """The weight that the numbers stand for."""
    groups = weight.reshape(len(weight), -1, group).astype(np.float32)
    scale = np.abs(groups).max(-1, keepdims=True) / np.float32(2 ** (bits - 1) - 1)
    return np.asarray(np.rint(groups / np.where(scale == 0, 1, scale)) * scale).reshape(weight.shape)


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize(("bits", "group"), [(8, 32), (8, 3), (4, 32), (4, 6)])
@pytest.mark.parametrize("shape", [(96,), (1, 96), (1, 1, 96), (5, 96), (2, 3, 96)])
def test_products_are_those_of_the_rounded_weight(
    shape: tuple[int, ...], bits: int, group: int, bias: bool, device: sg.Device
) -> None:
    sg.manual_seed(0)
    layer = sg.nn.Linear(96, 7, bias=bias).to(device)
    with sg.no_grad():
        layer.weight[2] = 0
        small = QuantizedLinear(layer, bits, group)
        x = sg.randn(shape, device=device)
        want = x.numpy() @ rounded(layer.weight.detach().numpy(), bits, group).T
        want = want + layer.bias.detach().numpy() if layer.bias is not None else want
        assert np.abs(small(x).numpy() - want).max() < 2e-6 * 96


@pytest.mark.parametrize(("bits", "share"), [(8, 0.01), (4, 0.15)])
def test_the_error_of_a_weight_is_half_a_step(bits: int, share: float) -> None:
    layer = sg.nn.Linear(256, 16)
    small = QuantizedLinear(layer, bits)
    with sg.no_grad():
        back = small(sg.eye(256)).T - layer.bias.unsqueeze(1)
        steps = (back - layer.weight).abs() / small.scale.repeat_interleave(64, 1)
        assert steps.max().item() < 0.501
        assert ((back - layer.weight).norm() / layer.weight.norm()).item() < share


@pytest.mark.parametrize("bits", [8, 4])
@pytest.mark.parametrize("kind", [GPT2, Llama])
def test_decoders_draw_with_few_bits(kind: type, bits: int, device: sg.Device) -> None:
    sg.manual_seed(0)
    sizes = {"width": 32, "layers": 2, "heads": 4, "context": 64}
    model = (GPT2(31, **sizes) if kind is GPT2 else Llama(31, inner=64, groups=2, **sizes)).to(device).eval()
    with sg.no_grad():
        for parameter in model.parameters():
            parameter.mul_(8 if parameter.ndim > 1 else 1)
    before = sum(p.nbytes for p in model.state_dict().values())
    quantize(model, bits, group=16)
    after = sum(p.nbytes for p in model.state_dict().values())
    assert after < before * (0.55 if bits == 8 else 0.4)
    tokens = [1, 2, 3, *generate(model, [1, 2, 3], 20, temperature=0)]
    with sg.no_grad():
        for i in range(3, len(tokens)):
            assert tokens[i] == model(sg.tensor([tokens[:i]], device=device))[0, -1].argmax().item(), i


@pytest.mark.gpu
@pytest.mark.parametrize("bits", [8, 4])
def test_one_token_reads_the_numbers_in_the_kernel_of_the_product(bits: int, gpu: sg.Device) -> None:
    layer = QuantizedLinear(sg.nn.Linear(128, 40).to(gpu), bits)
    with sg.no_grad():
        assert len(layer(sg.ones(1, 128, device=gpu).realize()).plan()) == 1


def test_the_state_of_a_quantized_model_is_kept() -> None:
    def made() -> sg.nn.Module:
        return quantize(ViT(3, side=8, patch=4, width=16, inner=32, layers=1, heads=2), 4, group=8)

    one, other = made(), made()
    assert not [m for m in one.modules() if isinstance(m, sg.nn.Linear)]
    other.load_state_dict(one.state_dict())
    x = sg.randn(1, 3, 8, 8)
    with sg.no_grad():
        assert sg.equal(one(x), other(x))


def test_mistakes_are_named_and_nothing_is_replaced() -> None:
    model = sg.nn.Sequential(sg.nn.Linear(64, 64), sg.nn.Linear(64, 30), sg.nn.Linear(30, 2))
    for bits, group, words in (
        (3, 64, "bits is 3"),
        (8, 64, "30 inputs in groups of 64"),
        (4, 5, "64 inputs in groups"),
    ):
        with pytest.raises(ValueError, match=words):
            quantize(model, bits, group)
    assert all(isinstance(m, sg.nn.Linear) for m in model)
