"""Short-time transforms and windows of PyTorch, and what they give."""

import numpy as np
import torch

rng = np.random.default_rng(0)


def T(*s):
    return torch.tensor(rng.standard_normal(s).astype(np.float32))


def show(name, v):
    if v.is_complex():
        v = torch.view_as_real(v)
    v = v.detach().double()
    print(
        name,
        tuple(v.shape),
        [float(f"{x:.4g}") + 0.0 for x in v.flatten()[:12].tolist()],
        f"{v.abs().sum().item():.5g}",
    )


for window in ("hann", "hamming", "blackman", "bartlett", "kaiser"):
    for n in (0, 1, 2, 7, 8):
        show(window, getattr(torch, window + "_window")(n))
        show(window, getattr(torch, window + "_window")(n, False))
show("beta", torch.kaiser_window(6, True, 3.0, dtype=torch.float64))
show("alpha", torch.hamming_window(6, True, 0.6, 0.3))
W = torch.signal.windows
for window, options in (
    ("bartlett", {}),
    ("blackman", {}),
    ("cosine", {}),
    ("exponential", {"tau": 2.0}),
    ("gaussian", {"std": 2.0}),
    ("general_cosine", {"a": [0.5, 0.3, 0.2]}),
    ("general_hamming", {"alpha": 0.6}),
    ("hamming", {}),
    ("hann", {}),
    ("kaiser", {"beta": 4.0}),
    ("nuttall", {}),
):
    for sym in (True, False):
        for n in (1, 2, 6, 7):
            show(window, getattr(W, window)(n, sym=sym, **options))
show("centre", W.exponential(6, center=1.0, tau=2.0, sym=False))

x = T(2, 50).requires_grad_()
hann = torch.hann_window(16)
for options in (
    {"n_fft": 16, "window": hann},
    {"n_fft": 16, "hop_length": 5, "win_length": 12, "window": torch.hann_window(12)},
    {"n_fft": 16, "hop_length": 5, "win_length": 12, "window": torch.hann_window(12), "center": False},
    {"n_fft": 15, "hop_length": 3, "normalized": True, "window": torch.ones(15)},
    {"n_fft": 16, "onesided": False, "window": hann, "pad_mode": "constant"},
    {"n_fft": 16, "window": hann, "pad_mode": "circular"},
):
    y = torch.stft(x, return_complex=True, **options)
    show("stft", y)
    show("pairs", torch.stft(x[0], return_complex=False, **options))
    x.grad = None
    y.abs().square().sum().backward()
    show("grad", x.grad)
    if options.get("center", True):
        options.pop("pad_mode", None)
        z = torch.istft(torch.stft(x, return_complex=True, **options) * 2, **options)
        show("istft", z)
        x.grad = None
        (z**3).sum().backward()
        show("grad", x.grad)
        show("length", torch.istft(y.detach(), length=47, **options))
c = torch.complex(T(40), T(40))
spectrum = torch.stft(c, 16, window=hann, onesided=False, return_complex=True)
show("complex", spectrum)
show("back", torch.istft(spectrum, 16, window=hann, return_complex=True, onesided=False))
show("method", x.stft(16, window=hann, return_complex=True).abs())
real, both = torch.sin(torch.arange(24.0)).reshape(2, 3, 4), torch.complex(T(24), T(24)).reshape(2, 3, 4)
for options in ({}, {"norm": "ortho"}, {"s": (4, 6)}, {"s": (2, 5), "norm": "forward"}):
    for name in ("hfft2", "hfftn"):
        show(f"{name} {options}", getattr(torch.fft, name)(both.detach(), **options))
    for name in ("ihfft2", "ihfftn"):
        show(f"{name} {options}", torch.view_as_real(getattr(torch.fft, name)(real, **options)) + 0.0)
