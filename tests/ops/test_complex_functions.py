"""Functions of complex numbers: values against NumPy's, on the cuts too, and gradients against differences."""

from __future__ import annotations

import cmath
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import spirograd as sg

Array = np.ndarray[Any, Any]
NUMPY = {
    "acos": "arccos",
    "acosh": "arccosh",
    "asin": "arcsin",
    "asinh": "arcsinh",
    "atan": "arctan",
    "atanh": "arctanh",
}
NAMES = [*NUMPY, "cos", "cosh", "exp", "exp2", "expm1", "log", "log10", "log1p", "log2", "reciprocal", "sin", "sinh"]
NAMES += ["sqrt", "square", "tan", "tanh"]
OTHERS: dict[str, Callable[[Any], Any]] = {
    "rsqrt": lambda z: 1 / cmath.sqrt(z),
    "sigmoid": lambda z: 1 / (1 + cmath.exp(-z)),
    "silu": lambda z: z / (1 + cmath.exp(-z)),
    "sinc": lambda z: cmath.sin(math.pi * z) / (math.pi * z),
    "sgn": lambda z: z / abs(z),
}
POINTS = np.array([0.5 + 0.3j, -0.7 + 1.2j, 1.1 - 0.4j, -0.2 - 0.9j, 1e-4 + 2e-4j, -3 + 0.5j, 4 - 3j, 0.6j, -1.5j])
ON_CUTS = np.array([complex(a, b) for a in (-2.5, -0.5, 0.5, 2.5) for b in (0.0, -0.0)])


def tensor(x: Array, device: Any = "cpu") -> Any:
    return sg.tensor(x, dtype=sg.complex64, device=device)


@pytest.mark.parametrize("name", NAMES)
def test_values_are_those_of_numpy(name: str, device: sg.Device) -> None:
    expected = getattr(np, NUMPY.get(name, name))(POINTS)
    z = tensor(POINTS, device)
    np.testing.assert_allclose(getattr(sg, name)(z).numpy(), expected, rtol=2e-5, atol=2e-6)
    np.testing.assert_allclose(getattr(z, name)().numpy(), expected, rtol=2e-5, atol=2e-6)
    getattr(z, f"{name}_")()
    np.testing.assert_allclose(z.numpy(), expected, rtol=2e-5, atol=2e-6)


@pytest.mark.parametrize("name", OTHERS)
def test_values_are_those_of_formulas(name: str, device: sg.Device) -> None:
    expected = [OTHERS[name](z) for z in POINTS.tolist()]
    got = getattr(tensor(POINTS, device), name)().numpy()
    np.testing.assert_allclose(got, expected, rtol=2e-5, atol=2e-6)


@pytest.mark.parametrize("name", [*NUMPY, "log", "sqrt"])
def test_the_sign_of_zero_chooses_the_side_of_a_cut(name: str) -> None:
    z = sg.tensor(ON_CUTS, dtype=sg.complex128)
    with np.errstate(all="ignore"):
        expected = getattr(np, NUMPY.get(name, name))(ON_CUTS)
    np.testing.assert_allclose(getattr(z, name)().numpy(), expected, rtol=1e-12, atol=1e-12)


def test_powers(device: sg.Device) -> None:
    z, w = tensor(POINTS, device), tensor(POINTS[::-1].copy(), device)
    for got, expected in [
        (z**w, POINTS ** POINTS[::-1]),
        (z**0, POINTS**0),
        (z ** (1 + 2j), POINTS ** (1 + 2j)),
        (2.5**z, 2.5**POINTS),
        (1j**z, 1j**POINTS),
        (z**0.5, POINTS**0.5),
        (z**-1, 1 / POINTS),
        (sg.pow(w.real.abs() + 0.5, z), (np.abs(POINTS[::-1].real) + 0.5) ** POINTS),
    ]:
        finite = np.isfinite(expected)
        np.testing.assert_allclose(got.numpy()[finite], expected[finite], rtol=5e-5, atol=5e-6)
    zero = tensor(np.zeros(3), device)
    assert (zero ** tensor(np.array([0, 1, 2 + 1j]), device)).tolist() == [1, 0, 0]


@pytest.mark.parametrize("name", [*NAMES, *OTHERS])
def test_gradients_are_those_of_differences(name: str) -> None:
    def call(pairs: sg.Tensor) -> sg.Tensor:
        return sg.view_as_real(getattr(sg.view_as_complex(pairs), name)())

    points = POINTS[[0, 1, 2, 3, 5]]
    pairs = sg.tensor(np.stack([points.real, points.imag], -1), dtype=sg.float64, requires_grad=True)
    assert sg.autograd.gradcheck(call, [pairs])
    assert sg.autograd.gradgradcheck(call, [pairs])


@pytest.mark.parametrize("name", ["abs", "sgn", "angle", "sinc", "tanh", "asin", "sigmoid", "exp2"])
def test_gradients_at_zero_are_finite(name: str) -> None:
    z = sg.tensor([0j, 1 + 1j], dtype=sg.complex128).requires_grad_()
    y = getattr(z, name)()
    (g,) = sg.autograd.grad((y if isinstance(y, sg.Tensor) else sg.view_as_real(y)).sum(), z)
    assert bool(g.isfinite().all())


def test_gradients_of_complex_leaves(device: sg.Device) -> None:
    z, w = (tensor(POINTS[i : i + 3], device).requires_grad_() for i in (0, 3))
    x = sg.ones(3, device=device, requires_grad=True)
    gz, gx, none = sg.autograd.grad((z * x).abs().sum(), [z, x, w], allow_unused=True)
    np.testing.assert_allclose(gz.numpy(), z.detach().numpy() / abs(z.detach().numpy()), rtol=1e-5)
    np.testing.assert_allclose(gx.tolist(), abs(POINTS[:3]), rtol=1e-5)
    assert none is None
    assert sg.autograd.grad(x.sum(), [w], materialize_grads=True)[0].tolist() == [0, 0, 0]
    start = tensor(np.array([1, 1j, 2.0]), device)
    (g,) = sg.autograd.grad(z * w, z, grad_outputs=start)
    np.testing.assert_allclose(g.numpy(), np.array([1, 1j, 2]) * POINTS[3:6].conj(), rtol=1e-5)
    (g,) = sg.autograd.grad((z * z * z).abs().sum(), z, create_graph=True)
    (h,) = sg.autograd.grad(g.abs().sum(), z)  # g is 3 |z|^2 sgn(z)
    np.testing.assert_allclose(h.numpy(), 6 * POINTS[:3], rtol=1e-4)
    with pytest.raises(ValueError, match=r"grad: complex tensors need a gradient"):
        sg.autograd.grad((z * z).sum(), z)


def test_grad_is_written_and_dropped(device: sg.Device) -> None:
    z = tensor(POINTS[:3], device).requires_grad_()
    (z * 2).backward(tensor(np.array([1, 1j, 0]), device))
    assert z.grad.tolist() == [2, 2j, 0]
    sg.autograd.backward([z * 1], [sg.ones(3, device=device)])
    assert z.grad.tolist() == [3, 1 + 2j, 1]
    z.grad.zero_()
    assert z.grad.tolist() == [0, 0, 0]
    z.grad = None
    assert z.grad is None and z.real.grad is None
    z.grad = tensor(np.ones(3), device)
    assert z.grad.tolist() == [1, 1, 1]
    with pytest.raises(ValueError, match=r"backward: complex tensors need a gradient"):
        (z * 2).backward()


def test_places_products_and_lists(device: sg.Device) -> None:
    a, b = POINTS[:4], POINTS[4:8]
    z, w = tensor(a, device), tensor(b, device)
    at = sg.tensor([1, 1], device=device)
    added = a.copy()
    np.add.at(added, [1, 1], b[:2])
    m, n = a.reshape(2, 2), b.reshape(2, 2)
    tz, tw = z.reshape(2, 2), w.reshape(2, 2)
    for got, expected in [
        (z.scatter(0, sg.tensor([3, 0], device=device), w[:2]), [b[1], a[1], a[2], b[0]]),
        (z.index_add(0, at, w[:2]), added),
        (z.scatter_add(0, at, w[:2]), added),
        (z.index_fill(0, at, 1j), [a[0], 1j, a[2], a[3]]),
        (z.masked_scatter(sg.tensor([True, False, True, False], device=device), w), [b[0], a[1], b[1], a[3]]),
        (sg.tensordot(tz, tw, 1), m @ n),
        (sg.tensordot(tz, tw, dims=([0], [1])), np.tensordot(m, n, ([0], [1]))),
        (sg.addmm(tz, tz, tw, beta=2, alpha=1j), 2 * m + 1j * m @ n),
        (sg.addmv(z[:2], tz, w[:2]), a[:2] + m @ b[:2]),
        (sg.block_diag(tz, tw)[0], [*m[0], 0, 0]),
        (sg.meshgrid(z, w, indexing="ij")[1][0], b),
        (z.cumprod(0), np.cumprod(a)),
        (sg.lerp(z, w, 0.25), a + 0.25 * (b - a)),
        (sg.addcmul(z, z, w, value=0.5), a + 0.5 * a * b),
        (sg.addcdiv(z, z, w, value=0.5), a + 0.5 * a / b),
        (tz.trace(), np.trace(m)),
        (sg.logsumexp(tz, 1), np.log(np.exp(m).sum(1))),
        (sg.logsumexp(tz, (0, 1), True), [[np.log(np.exp(m).sum())]]),
        (sg.nn.functional.pad(z, (1, 0), value=2j), [2j, *a]),
    ]:
        np.testing.assert_allclose(got.numpy(), np.asarray(expected), rtol=1e-4, atol=1e-5)
    assert sg.randn(1000, dtype=sg.complex64).normal_().abs().square().mean().item() == pytest.approx(1, abs=0.2)
