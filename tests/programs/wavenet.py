"""Audio: a WaveNet of dilated causal convolutions, trained on waveforms and on a multi-resolution STFT loss."""

import math

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.utils import weight_norm

from shared import device, fill, normal, report


class CausalConv1d(nn.Conv1d):
    def __init__(self, in_channels, out_channels, kernel_size, dilation=1, **kwargs):
        self.left = (kernel_size - 1) * dilation
        super().__init__(in_channels, out_channels, kernel_size, dilation=dilation, **kwargs)

    def forward(self, x):
        return super().forward(F.pad(x, (self.left, 0)))


class ResidualBlock(nn.Module):
    def __init__(self, channels, skip, dilation):
        super().__init__()
        self.dilated = CausalConv1d(channels, 2 * channels, 2, dilation=dilation)
        self.res = nn.Conv1d(channels, channels, 1)
        self.skip = nn.Conv1d(channels, skip, 1)

    def forward(self, x):
        gate, signal = self.dilated(x).chunk(2, dim=1)
        z = torch.tanh(signal) * torch.sigmoid(gate)
        return x + self.res(z), self.skip(z)


class WaveNet(nn.Module):
    def __init__(self, channels=8, skip=12, layers=5):
        super().__init__()
        self.register_buffer("scale", torch.tensor(1 / math.sqrt(layers)))
        self.inp = CausalConv1d(1, channels, 2)
        self.blocks = nn.ModuleList(ResidualBlock(channels, skip, 2**i) for i in range(layers))
        self.out = nn.Sequential(nn.ReLU(), nn.Conv1d(skip, skip, 1), nn.ReLU(), nn.Conv1d(skip, 1, 1))

    def forward(self, x):
        h = self.inp(x)
        total = 0.0
        for block in self.blocks:
            h, skip = block(h)
            total = total + skip
        return self.out(total * self.scale)


class STFTLoss(nn.Module):
    """Spectral convergence and log magnitudes (Yamamoto et al., 2020)."""

    def __init__(self, n_fft, hop, win):
        super().__init__()
        self.n_fft, self.hop, self.win = n_fft, hop, win
        self.register_buffer("window", torch.hann_window(win))

    def magnitude(self, x):
        spectrum = torch.stft(x, self.n_fft, self.hop, self.win, self.window, return_complex=True)
        return torch.sqrt(torch.clamp(spectrum.real**2 + spectrum.imag**2, min=1e-2)).transpose(2, 1)

    def forward(self, x, y):
        x, y = self.magnitude(x), self.magnitude(y)
        convergence = torch.norm(y - x, p="fro") / torch.norm(y, p="fro")
        return convergence + F.l1_loss(torch.log(y), torch.log(x))


class MultiResolutionSTFTLoss(nn.Module):
    def __init__(self, settings=((64, 16, 48), (32, 8, 32), (128, 32, 100))):
        super().__init__()
        self.losses = nn.ModuleList([STFTLoss(*s) for s in settings])

    def forward(self, x, y):
        return torch.stack([loss(x, y) for loss in self.losses]).mean()


model = WaveNet().to(device)
fill(model)
for block in model.blocks:
    weight_norm(block.res)
spectral = MultiResolutionSTFTLoss().to(device)
optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3, betas=(0.8, 0.99))
scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.9)
time = torch.arange(400, device=device) / 100
wave = torch.stack([torch.sin(2 * math.pi * f * time) * torch.exp(-time / 3) for f in (3.0, 7.0, 11.0)]).unsqueeze(1)
noisy = wave + 0.1 * normal(3, 1, 400, seed=4)
for step in range(5):
    predicted = model(noisy[..., :-1])
    target = noisy[..., 1:]
    loss = F.l1_loss(predicted, target) + 0.5 * spectral(predicted.squeeze(1), target.squeeze(1))
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    scheduler.step()
    report(step, loss)
    print("norm", f"{norm.item():.5g}")
# Griffin and Lim's iterations from magnitudes alone.
window = torch.hann_window(64, device=device)
magnitude = torch.stft(wave[0, 0], 64, 16, window=window, return_complex=True).abs()
phase = torch.zeros_like(magnitude)
for _ in range(3):
    guess = torch.istft(torch.polar(magnitude, phase), 64, 16, window=window, length=400)
    phase = torch.angle(torch.stft(guess, 64, 16, window=window, return_complex=True) + 1.0)
report("guess", guess.square().mean())
