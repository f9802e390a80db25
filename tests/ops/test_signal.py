"""Short-time Fourier transforms and windows: against NumPy, back again, gradients, errors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import spirograd as sg

windows = sg.signal.windows


@pytest.mark.parametrize("centred", [True, False])
def test_stft_is_the_transform_of_pieces(device: sg.Device, centred: bool) -> None:
    x = np.random.default_rng(0).standard_normal((2, 60)).astype(np.float32)
    window = windows.hann(12, sym=False, device=device)
    made = sg.signal.stft(
        sg.tensor(x, device=device), 16, 5, 12, window=window, center=centred, return_complex=True
    ).numpy()  # fmt: skip
    padded = np.pad(x, ((0, 0), (8, 8)), "reflect") if centred else x
    weights = np.pad(0.5 - 0.5 * np.cos(2 * np.pi * np.arange(12) / 12), 2)
    pieces = np.stack([padded[:, i : i + 16] * weights for i in range(0, padded.shape[1] - 15, 5)], -1)
    np.testing.assert_allclose(made, np.fft.rfft(pieces, axis=1), atol=1e-5)


def test_a_signal_comes_back_with_its_gradient(device: sg.Device) -> None:
    x = sg.randn(3, 64, device=device, requires_grad=True)
    window = windows.hamming(16, sym=False, device=device)
    spectrum = sg.signal.stft(x, 16, window=window, return_complex=True)
    back = sg.signal.istft(spectrum, 16, window=window)
    np.testing.assert_allclose(back.detach().cpu().numpy(), x.detach().cpu().numpy(), atol=1e-5)
    weights = sg.arange(64.0, device=device)
    (back * weights).sum().backward()
    assert x.grad is not None
    np.testing.assert_allclose(x.grad.cpu().numpy(), np.broadcast_to(np.arange(64.0), (3, 64)), rtol=1e-4, atol=1e-3)


def test_of_a_real_signal_half_of_the_frequencies_are_read(device: sg.Device) -> None:
    whole = sg.complex(sg.randn(10, 3, device=device), sg.randn(10, 3, device=device))
    got = sg.signal.istft(whole, 10, window=windows.hann(10, sym=False, device=device))
    want = sg.signal.istft(whole[:6], 10, window=windows.hann(10, sym=False, device=device))
    assert isinstance(got, sg.Tensor) and got.tolist() == want.tolist()


def test_gradients_against_differences() -> None:
    x = sg.randn(20, dtype=sg.float64, requires_grad=True)
    window = windows.hann(8, sym=False, dtype=sg.float64)
    assert sg.autograd.gradcheck(lambda y: sg.signal.stft(y, 8, window=window, return_complex=False), x)

    def back(y: sg.Tensor) -> sg.Tensor:
        return sg.signal.istft(sg.complex(y.reshape(5, 4), y.reshape(5, 4) * 2), 8, window=window)

    assert sg.autograd.gradcheck(back, x)


@pytest.mark.parametrize(
    ("make", "options"),
    [
        (windows.hann, {}),
        (windows.hamming, {}),
        (windows.blackman, {}),
        (windows.bartlett, {}),
        (windows.kaiser, {"beta": 12.0}),
    ],
)
def test_windows_are_those_of_numpy(make: Any, options: dict[str, float]) -> None:
    theirs = getattr(np, "hanning" if make is windows.hann else make.__name__)
    for n in (1, 2, 7, 16):
        wanted = theirs(n, *options.values())
        np.testing.assert_allclose(make(n, dtype=sg.float64, **options).numpy(), wanted, atol=1e-15)
        periodic = theirs(n + 1, *options.values())[:-1] if n > 1 else [1.0]
        np.testing.assert_allclose(make(n, sym=False, dtype=sg.float64, **options).numpy(), periodic, atol=1e-15)
    assert make(0, **options).shape == (0,) and make(3, **options).dtype == sg.float32


ERRORS = {
    "stft: return_complex is not given": lambda x: sg.signal.stft(x, 8),
    "stft: 4 samples to be reflected by 4": lambda x: sg.signal.stft(x[:4], 8, return_complex=True),
    "stft: 4 samples for n_fft 8": lambda x: sg.signal.stft(x[:4], 8, center=False, return_complex=True),
    "stft: win_length is 9; use 1 to n_fft, which is 8": lambda x: sg.signal.stft(
        x, 8, win_length=9, return_complex=True
    ),
    r"stft: the window has shape \[4\]; give \[8\]": lambda x: sg.signal.stft(
        x, 8, window=sg.ones(4), return_complex=True
    ),
    "stft: n_fft is 8 and hop_length 0": lambda x: sg.signal.stft(x, 8, 0, return_complex=True),
    r"istft: the input has shape \[4, 3\]; give \[n, 5, pieces\]": lambda x: sg.signal.istft(
        sg.complex(sg.ones(4, 3), sg.ones(4, 3)), 8
    ),
    "istft: the windows add up to 0 at a sample": lambda x: sg.signal.istft(
        sg.complex(sg.ones(5, 3), sg.ones(5, 3)), 8, window=windows.hann(8, sym=False), center=False
    ),
    "general_cosine: the length is -1": lambda x: windows.hann(-1),
    "gaussian: std is 0": lambda x: windows.gaussian(3, std=0),
    "exponential: center is 1.0 for a symmetric window": lambda x: windows.exponential(3, center=1.0),
}


@pytest.mark.parametrize("message", ERRORS)
def test_errors_say_what_is_wrong(message: str) -> None:
    with pytest.raises(ValueError, match=message):
        ERRORS[message](sg.arange(32.0))
