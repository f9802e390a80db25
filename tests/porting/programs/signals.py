"""Short-time transforms, Fourier transforms and windows."""

import pytest
import torch

from checking import check, drawn

W = torch.signal.windows
WINDOWS = {
    "bartlett": {},
    "blackman": {},
    "cosine": {},
    "exponential": {"tau": 2.0},
    "gaussian": {"std": 2.0},
    "general_cosine": {"a": [0.5, 0.3, 0.2]},
    "general_hamming": {"alpha": 0.6},
    "hamming": {},
    "hann": {},
    "kaiser": {"beta": 4.0},
    "nuttall": {},
}


@pytest.mark.parametrize("window", ["hann", "hamming", "blackman", "bartlett", "kaiser"])
def test_window(window):
    for n in (0, 1, 2, 7, 8):
        check(getattr(torch, window + "_window")(n), getattr(torch, window + "_window")(n, False))


def test_parameters_of_windows():
    check(torch.kaiser_window(6, True, 3.0, dtype=torch.float64), torch.hamming_window(6, True, 0.6, 0.3))


@pytest.mark.parametrize("window", WINDOWS)
def test_window_of_signal(window):
    for n in (1, 2, 6, 7):
        check([getattr(W, window)(n, sym=sym, **WINDOWS[window]) for sym in (True, False)])


def test_the_centre_of_a_window():
    check(W.exponential(6, center=1.0, tau=2.0, sym=False))


hann = torch.hann_window(16)
OPTIONS = {
    "window": {"n_fft": 16, "window": hann},
    "hop": {"n_fft": 16, "hop_length": 5, "win_length": 12, "window": torch.hann_window(12)},
    "not centred": {"n_fft": 16, "hop_length": 5, "win_length": 12, "window": torch.hann_window(12), "center": False},
    "normalized": {"n_fft": 15, "hop_length": 3, "normalized": True, "window": torch.ones(15)},
    "two-sided": {"n_fft": 16, "onesided": False, "window": hann, "pad_mode": "constant"},
    "circular": {"n_fft": 16, "window": hann, "pad_mode": "circular"},
}


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.filterwarnings("ignore")
def test_stft(options):
    x = drawn(2, 50).requires_grad_()
    y = torch.stft(x, return_complex=True, **OPTIONS[options])
    check(y, torch.stft(x[0], return_complex=False, **OPTIONS[options]))
    y.abs().square().sum().backward()
    check(x.grad)


@pytest.mark.parametrize("options", [name for name in OPTIONS if name != "not centred"])
def test_istft(options):
    x, known = drawn(2, 50).requires_grad_(), {k: v for k, v in OPTIONS[options].items() if k != "pad_mode"}
    y = torch.stft(x, return_complex=True, **known)
    z = torch.istft(y * 2, **known)
    (z**3).sum().backward()
    check(z, x.grad, torch.istft(y.detach(), length=47, **known))


def test_stft_of_complex_numbers():
    c = torch.complex(drawn(40), drawn(40))
    spectrum = torch.stft(c, 16, window=hann, onesided=False, return_complex=True)
    check(spectrum, torch.istft(spectrum, 16, window=hann, return_complex=True, onesided=False))


def test_stft_as_a_method():
    check(drawn(2, 50).stft(16, window=hann, return_complex=True).abs())


FFT = {"plain": {}, "ortho": {"norm": "ortho"}, "larger": {"s": (4, 6)}, "forward": {"s": (2, 5), "norm": "forward"}}


@pytest.mark.parametrize("options", FFT)
@pytest.mark.parametrize("name", ["hfft2", "hfftn"])
def test_hermitian(name, options):
    both = torch.complex(drawn(24), drawn(24)).reshape(2, 3, 4)
    check(getattr(torch.fft, name)(both, **FFT[options]))


@pytest.mark.parametrize("options", FFT)
@pytest.mark.parametrize("name", ["ihfft2", "ihfftn"])
def test_inverse_hermitian(name, options):
    real = torch.sin(torch.arange(24.0)).reshape(2, 3, 4)
    check(getattr(torch.fft, name)(real, **FFT[options]))
