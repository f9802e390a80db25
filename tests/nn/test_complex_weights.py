"""Modules with complex parameters and buffers: a Fourier layer trains as PyTorch's does."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import spirograd as sg

random = np.random.default_rng(0)
WEIGHT = (random.normal(size=(2, 3, 4)) + 1j * random.normal(size=(2, 3, 4))).astype(np.complex64)
X = random.normal(size=(5, 2, 16)).astype(np.float32)


def spectral(library: Any, device: Any) -> Any:
    """The layer of a Fourier neural operator, as its program writes it."""

    class Spectral(library.nn.Module):  # type: ignore[name-defined, misc]
        def __init__(self) -> None:
            super().__init__()
            self.weights = library.nn.Parameter(library.tensor(WEIGHT, dtype=library.cfloat))
            self.register_buffer("turn", library.polar(library.ones(4), library.arange(4.0)))

        def forward(self, x: Any) -> Any:
            modes = library.fft.rfft(x)
            out = library.zeros(len(x), 3, modes.size(-1), dtype=library.cfloat, device=x.device)
            out[:, :, :4] = library.einsum("bix,iox->box", modes[:, :, :4], self.weights * self.turn)
            return library.fft.irfft(out, n=x.size(-1))

    return Spectral().to(device)


def losses(library: Any, device: Any = "cpu") -> list[float]:
    net = spectral(library, device)
    optimizer = library.optim.Adam(net.parameters(), lr=0.05)
    x = library.tensor(X).to(device)
    out = []
    for _ in range(6):
        optimizer.zero_grad()
        loss = (net(x) - x.sum(1, keepdim=True)).square().mean()
        loss.backward()
        optimizer.step()
        out.append(loss.item())
    return out


def test_a_fourier_layer_trains(device: sg.Device) -> None:
    found = losses(sg, device)
    assert found == sorted(found, reverse=True) and found[-1] < 0.8 * found[0]
    np.testing.assert_allclose(found, losses(sg), rtol=1e-4)


def test_it_trains_as_in_pytorch() -> None:
    torch = pytest.importorskip("torch")
    np.testing.assert_allclose(losses(sg), losses(torch), rtol=1e-4)


def test_the_parts_are_parameters_and_buffers(tmp_path: Path) -> None:
    net = spectral(sg, "cpu")
    assert [name for name, _ in net.named_parameters()] == ["weights.real", "weights.imag"]
    assert [name for name, _ in net.named_buffers()] == ["turn.real", "turn.imag"]
    assert list(net.state_dict()) == ["weights.real", "weights.imag", "turn.real", "turn.imag"]
    assert net.weights.requires_grad and not net.turn.requires_grad and net.weights.dtype is sg.complex64
    other = spectral(sg, "cpu")
    with sg.no_grad():
        for p in [*other.parameters(), *other.buffers()]:
            p.zero_()
    assert not other.weights.abs().any() and not other.turn.abs().any()
    sg.save(net.state_dict(), tmp_path / "weights.spg")
    other.load_state_dict(sg.load(tmp_path / "weights.spg"))
    assert other.weights.tolist() == net.weights.tolist() and other.turn.tolist() == net.turn.tolist()
    copied = copy.deepcopy(net).double()
    assert copied.weights.dtype is sg.complex128 and net.weights.dtype is sg.complex64
    frozen = sg.nn.Parameter(sg.complex(sg.ones(2), sg.ones(2)), requires_grad=False)
    assert not frozen.requires_grad
    del copied.weights
    assert list(copied.parameters()) == []


@pytest.mark.parametrize("name", ["SGD", "Adam"])
def test_an_optimiser_takes_a_complex_tensor_itself(name: str, device: sg.Device) -> None:
    z = sg.tensor(WEIGHT, dtype=sg.complex64, device=device).requires_grad_()
    parts = [sg.tensor(x.copy(), device=device, requires_grad=True) for x in (WEIGHT.real, WEIGHT.imag)]
    for given, values in (([z], lambda: z), (parts, lambda: sg.complex(*parts))):
        optimizer = getattr(sg.optim, name)(given, lr=0.1)
        for _ in range(2):
            optimizer.zero_grad()
            (values() * (1 + 2j)).abs().square().sum().backward()
            optimizer.step()
    np.testing.assert_allclose(z.detach().cpu().numpy(), sg.complex(*parts).detach().cpu().numpy(), rtol=1e-6)
    assert abs(z.detach().cpu().numpy() - WEIGHT).max() > 0.05


@pytest.mark.parametrize("order", [1.0, 2.0, float("inf")])
def test_gradients_of_complex_tensors_are_clipped_by_their_size(order: float, device: sg.Device) -> None:
    z = sg.tensor(WEIGHT, dtype=sg.complex64, device=device).requires_grad_()
    z.grad = z.detach().clone()
    norm = sg.nn.utils.clip_grad_norm_([z], 0.5, order)
    expected = np.linalg.norm(WEIGHT.flatten(), order)
    np.testing.assert_allclose(norm.item(), expected, rtol=1e-5)
    np.testing.assert_allclose(z.grad.cpu().numpy(), WEIGHT * (0.5 / expected), rtol=1e-4)
