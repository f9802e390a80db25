"""Fourier transforms against NumPy's: lengths of every kind, dimensions, norms, gradients."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import spirograd as sg

Array = np.ndarray[Any, Any]
random = np.random.default_rng(0)
# One product; two and three; prime factors that are products, and some that need a convolution.
LENGTHS = [1, 2, 3, 8, 60, 64, 65, 96, 127, 131, 256, 254, 263, 526, 1000, 4096, 4757]


def numbers(*shape: int) -> Array:
    return np.asarray(random.normal(size=shape) + 1j * random.normal(size=shape))


def put(x: Array, device: Any = "cpu", wide: bool = True) -> Any:
    if x.dtype.kind == "c":
        return sg.tensor(x, dtype=sg.complex128 if wide else sg.complex64, device=device)
    return sg.tensor(x, dtype=sg.float64 if wide else sg.float32, device=device)


def assert_near(got: Any, want: Array, bound: float) -> None:
    assert tuple(got.shape) == want.shape
    values = got.cpu().numpy() if isinstance(got, sg.Tensor) else got.numpy()
    assert np.abs(values - want).max() <= bound * np.abs(want).max()


@pytest.mark.parametrize("n", LENGTHS)
def test_each_length_on_the_cpu(n: int) -> None:
    z = numbers(2, n)
    for x, wide, bound in [(z, True, 1e-14), (z, False, 1e-6), (z.real, True, 1e-14), (z.real, False, 1e-6)]:
        assert_near(sg.fft.fft(put(x, wide=wide)), np.fft.fft(x), bound)
        assert_near(sg.fft.ifft(put(x, wide=wide)), np.fft.ifft(x), bound)
    assert_near(sg.fft.irfft(sg.fft.rfft(put(z.real)), n), z.real, 1e-14)


@pytest.mark.gpu
@pytest.mark.parametrize("n", [1, 6, 64, 96, 131, 263, 1000])
def test_each_length_on_the_gpu(n: int) -> None:
    z = numbers(2, n)
    assert_near(sg.fft.fft(put(z, "gpu", False)), np.fft.fft(z), 1e-6)
    assert_near(sg.fft.irfft(sg.fft.rfft(put(z.real, "gpu", False)), n), z.real, 2e-6)


CALLS: list[tuple[str, dict[str, Any]]] = [
    ("fft", {"n": 7, "dim": 0, "norm": "ortho"}),
    ("fft", {"n": 3, "norm": "forward"}),
    ("ifft", {"n": 3, "norm": "forward"}),
    ("ifft", {"dim": -2, "norm": "ortho"}),
    ("rfft", {"dim": 0}),
    ("rfft", {"n": 9, "norm": "ortho"}),
    ("rfft", {"n": 5, "norm": "forward"}),
    ("irfft", {}),
    ("irfft", {"n": 5}),
    ("irfft", {"n": 4, "dim": 0, "norm": "ortho"}),
    ("irfft", {"n": 1}),
    ("hfft", {}),
    ("hfft", {"n": 6, "norm": "forward"}),
    ("ihfft", {}),
    ("ihfft", {"n": 4, "norm": "ortho"}),
    ("fft2", {}),
    ("ifft2", {"s": (4, 3)}),
    ("rfft2", {"norm": "ortho"}),
    ("irfft2", {}),
    ("irfft2", {"s": (6, 5), "norm": "forward"}),
    ("fftn", {}),
    ("fftn", {"s": (3, 8)}),
    ("ifftn", {"dim": (1,), "norm": "forward"}),
    ("rfftn", {"dim": (1, 0)}),
    ("irfftn", {"s": (6, 4)}),
]


@pytest.mark.parametrize(("name", "options"), CALLS)
def test_each_function_is_that_of_numpy(name: str, options: dict[str, Any], device: sg.Device) -> None:
    z = numbers(2, 5, 6)[0] if "s" in options or name.endswith(("2", "n")) else numbers(5, 6)
    x = z.real if name in ("rfft", "ihfft", "rfft2", "rfftn") else z
    theirs = {{"dim": "axes" if isinstance(v, tuple) else "axis"}.get(k, k): v for k, v in options.items()}
    if "s" in options:
        theirs.setdefault("axes", (-2, -1))
    want = getattr(np.fft, name)(x, **theirs)
    wide = device.kind == "cpu"
    assert_near(getattr(sg.fft, name)(put(x, device, wide), **options), want, 1e-13 if wide else 2e-6)


def test_frequencies_and_shifts_are_those_of_numpy() -> None:
    for n in (1, 4, 7):
        np.testing.assert_allclose(sg.fft.fftfreq(n, 0.5).numpy(), np.fft.fftfreq(n, 0.5), rtol=1e-6)
        np.testing.assert_allclose(sg.fft.rfftfreq(n, 0.5).numpy(), np.fft.rfftfreq(n, 0.5), rtol=1e-6)
        x = numbers(n, 3)
        for name in ("fftshift", "ifftshift"):
            for dim in (None, 0, (1,)):
                want = getattr(np.fft, name)(x, dim)
                assert_near(getattr(sg.fft, name)(put(x), dim), want, 0)
                assert_near(getattr(sg.fft, name)(put(x.real), dim), want.real, 0)


@pytest.mark.parametrize("n", [5, 66, 263])
def test_gradients_are_those_of_differences(n: int) -> None:
    places = sg.tensor(random.permutation(n)[:6])
    base = sg.tensor(random.normal(size=(n, 2)))

    def whole(some: sg.Tensor) -> sg.Tensor:
        return base.index_add(0, places[: len(some)], some)

    def call(some: sg.Tensor) -> sg.Tensor:
        z = sg.view_as_complex(whole(some))
        parts = [sg.view_as_real(f(z)) for f in (sg.fft.fft, sg.fft.ifft)]
        return sg.cat([*parts, sg.view_as_real(sg.fft.rfft(z.real * z.imag))])[::7]

    some = sg.tensor(random.normal(size=(3, 2))).requires_grad_()
    assert sg.autograd.gradcheck(call, [some])
    assert sg.autograd.gradgradcheck(call, [some])
    assert sg.autograd.gradcheck(lambda x: sg.fft.irfft(sg.view_as_complex(whole(x))).square()[::7], [some])


def test_the_energy_is_kept_and_its_gradient_goes_back(device: sg.Device) -> None:
    x = sg.tensor(random.normal(size=(3, 100)).astype(np.float32), device=device).requires_grad_()
    energy = sg.fft.fft(x, norm="ortho").abs().square().sum()
    np.testing.assert_allclose(energy.item(), x.detach().square().sum().item(), rtol=1e-5)
    energy.backward()
    np.testing.assert_allclose(x.grad.cpu().numpy(), 2 * x.detach().cpu().numpy(), atol=1e-5)


def test_views_and_writes(device: sg.Device) -> None:
    x = random.normal(size=(6, 96)).astype(np.float32)
    base = sg.tensor(x, device=device)
    for ours, theirs in [(base.T, x.T), (base[1::2, 5:], x[1::2, 5:]), (base[:1].expand(4, 96), x[[0] * 4])]:
        assert_near(sg.fft.fft(ours), np.fft.fft(theirs), 1e-6)
    y = sg.fft.fft(base)
    base.zero_()
    assert_near(y, np.fft.fft(x), 1e-6)


def test_half_types_and_autocast_are_computed_in_float32() -> None:
    x = sg.randn(2, 64)
    assert sg.fft.fft(x.half()).dtype is sg.complex64 and sg.fft.fft(sg.ones(4, dtype=sg.int64)).real[0].item() == 4
    with sg.autocast("cpu"):
        inside = sg.fft.fft(x)
        assert (x @ x.T).dtype == sg.bfloat16
    assert sg.allclose(inside, sg.fft.fft(x), rtol=0, atol=0)


@pytest.mark.parametrize(
    ("wrong", "error", "words"),
    [
        (
            lambda x: sg.fft.fft(x, norm="both"),
            ValueError,
            "fft: norm 'both' is unknown; use backward, ortho or forward",
        ),
        (lambda x: sg.fft.fft(x, n=0), ValueError, "fft: a transform of 0 elements"),
        (lambda x: sg.fft.fft(x, dim=2), IndexError, "fft: dim is 2 for 2 dimension"),
        (lambda x: sg.fft.fft(sg.tensor(1.0)), IndexError, "fft: dim is -1 for 0 dimension"),
        (lambda x: sg.fft.rfft(sg.fft.fft(x)), TypeError, "rfft: input is complex; use fft()"),
        (lambda x: sg.fft.irfft(x[:, :1]), ValueError, "irfft: a transform of 0 elements"),
        (lambda x: sg.fft.fftn(x, s=(2,), dim=(0, 1)), ValueError, "fftn: s has 1 sizes for 2 dimension"),
        (lambda x: sg.fft.fftn(x, dim=(1, -1)), ValueError, r"fftn: dim is \[1, -1\]; name each dimension once"),
        (lambda x: sg.fft.rfftn(x, dim=()), ValueError, "rfftn: no dimension is named"),
        (lambda x: sg.fft.fft([1.0]), TypeError, "fft: input is a list; give a tensor"),
    ],
)
def test_what_is_wrong_is_said(wrong: Callable[[sg.Tensor], Any], error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        wrong(sg.ones(2, 3))
