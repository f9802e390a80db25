"""Sound: mel filters, a generator with weight norms, discriminators of periods, phases, Griffin-Lim."""

import math

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.nn import Conv1d, Conv2d, ConvTranspose1d
from torch.nn.utils import remove_weight_norm, spectral_norm, weight_norm

from shared import device, fill, normal, report

RATE, FFT, HOP, MELS, SLOPE = 4000, 64, 16, 10, 0.1


def mel_filters():
    def hz_to_mel(f):
        return 2595.0 * math.log10(1.0 + f / 700.0)

    freqs = torch.linspace(0, RATE // 2, FFT // 2 + 1)
    points = torch.linspace(hz_to_mel(20.0), hz_to_mel(RATE / 2), MELS + 2)
    points = 700.0 * (10.0 ** (points / 2595.0) - 1.0)
    slopes = points.unsqueeze(0) - freqs.unsqueeze(1)
    width = points[1:] - points[:-1]
    down, up = (-1.0 * slopes[:, :-2]) / width[:-1], slopes[:, 2:] / width[1:]
    return torch.max(torch.zeros(1), torch.min(down, up)).t().contiguous().to(device)


basis, window = mel_filters(), torch.hann_window(FFT, periodic=True).to(device)


def spectrum(y):
    pad = (FFT - HOP) // 2
    y = F.pad(y.unsqueeze(1), (pad, pad), mode="reflect").squeeze(1)
    return torch.stft(
        y,
        FFT,
        hop_length=HOP,
        win_length=FFT,
        window=window,
        center=False,
        normalized=False,
        onesided=True,
        return_complex=True,
    )


def mel(y):
    spec = spectrum(y)
    magnitude = torch.sqrt(spec.real.pow(2) + spec.imag.pow(2) + 1e-9)
    return torch.log(torch.clamp(torch.matmul(basis, magnitude), min=1e-5))


class ResBlock(nn.Module):
    def __init__(self, channels, kernel=3, dilation=(1, 3)):
        super().__init__()
        self.convs = nn.ModuleList(
            weight_norm(Conv1d(channels, channels, kernel, 1, dilation=d, padding=(kernel * d - d) // 2))
            for d in dilation
        )

    def forward(self, x):
        for c in self.convs:
            x = c(F.leaky_relu(x, SLOPE)) + x
        return x


class Generator(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv_pre = weight_norm(Conv1d(MELS, 16, 7, 1, padding=3))
        self.ups = nn.ModuleList(weight_norm(ConvTranspose1d(16 // 2**i, 8 // 2**i, 8, 4, padding=2)) for i in range(2))
        self.resblocks = nn.ModuleList(ResBlock(8 // 2**i, k) for i in range(2) for k in (3, 5))
        self.conv_post = weight_norm(Conv1d(4, 1, 7, 1, padding=3))

    def forward(self, x):
        x = self.conv_pre(x)
        for i, up in enumerate(self.ups):
            x = up(F.leaky_relu(x, SLOPE))
            xs = None
            for j in range(2):
                xs = self.resblocks[i * 2 + j](x) if xs is None else xs.add(self.resblocks[i * 2 + j](x))
            x = xs / 2
        return torch.tanh(self.conv_post(F.leaky_relu(x)))

    def remove_weight_norm(self):
        for layer in [*self.ups, self.conv_pre, self.conv_post, *(c for b in self.resblocks for c in b.convs)]:
            remove_weight_norm(layer)


class Period(nn.Module):
    def __init__(self, period, use_spectral_norm=False):
        super().__init__()
        self.period = period
        norm_f = weight_norm if not use_spectral_norm else spectral_norm
        self.convs = nn.ModuleList([norm_f(Conv2d(a, b, (5, 1), (3, 1), padding=(2, 0))) for a, b in ((1, 6), (6, 8))])
        self.conv_post = norm_f(Conv2d(8, 1, (3, 1), 1, padding=(1, 0)))

    def forward(self, x):
        fmap, (b, c, t) = [], x.shape
        if t % self.period != 0:
            n_pad = self.period - (t % self.period)
            x = F.pad(x, (0, n_pad), "reflect")
            t = t + n_pad
        x = x.view(b, c, t // self.period, self.period)
        for conv in self.convs:
            x = F.leaky_relu(conv(x), SLOPE)
            fmap.append(x)
        x = self.conv_post(x)
        fmap.append(x)
        return torch.flatten(x, 1, -1), fmap


def sounds(n, seed):
    t = torch.arange(512, device=device, dtype=torch.float64) / RATE
    random = np.random.RandomState(seed)
    base = torch.from_numpy(random.uniform(100, 400, (n, 1))).to(device)
    y = torch.sin(2 * math.pi * base * t) * 0.5 + 0.25 * torch.sin(2 * math.pi * 2.5 * base * t).sign()
    return (y * torch.logspace(0, -1, 512, dtype=torch.float64, device=device)).float()


generator, periods = fill(Generator(), 1), fill(nn.ModuleList([Period(2), Period(3, True)]), 2)
with torch.no_grad():
    for name, parameter in [*generator.named_parameters(), *periods.named_parameters()]:
        if name.endswith("weight_g"):
            parameter.data.copy_(parameter.abs() + 0.5)
        if isinstance(periods[1].convs[0], Conv2d) and name.endswith("_u"):
            parameter.zero_()
    for m in periods[1].modules():
        if isinstance(m, Conv2d):
            for buffer in (m.weight_u, m.weight_v):
                buffer.copy_(F.normalize(torch.ones_like(buffer), dim=0))
optim_g = torch.optim.AdamW(generator.parameters(), 2e-3, betas=[0.8, 0.99])
optim_d = torch.optim.AdamW(periods.parameters(), 2e-3, betas=[0.8, 0.99])
schedulers = [torch.optim.lr_scheduler.ExponentialLR(o, gamma=0.9, last_epoch=-1) for o in (optim_g, optim_d)]
print("generator", [n for n, _ in generator.named_parameters()][:3], len(periods.state_dict()))
for step in range(4):
    y = sounds(3, step)
    y_mel = mel(y)
    y_hat = generator(y_mel)[:, :, : y.size(1)]
    optim_d.zero_grad()
    loss_d = 0
    for d in periods:
        (real, _), (fake, _) = d(y.unsqueeze(1)), d(y_hat.detach())
        loss_d += torch.mean((1 - real) ** 2) + torch.mean(fake**2)
    loss_d.backward()
    optim_d.step()

    optim_g.zero_grad()
    loss_mel = F.l1_loss(y_mel, mel(y_hat.squeeze(1))) * 5
    target, made = spectrum(y), spectrum(y_hat.squeeze(1))
    loss_phase = ((target * made.conj()) / (target.abs() * made.abs() + 1e-4)).real.mean().neg()
    loss_fm, loss_gen = 0, 0
    for d in periods:
        (_, fmap_r), (fake, fmap_g) = d(y.unsqueeze(1)), d(y_hat)
        loss_gen += torch.mean((1 - fake) ** 2)
        for r, g in zip(fmap_r, fmap_g, strict=False):
            loss_fm += torch.mean(torch.abs(r.detach() - g))
    loss_g = loss_gen + 2 * loss_fm + loss_mel + loss_phase
    loss_g.backward()
    optim_g.step()
    for scheduler in schedulers:
        scheduler.step()
    report(step, loss_d)
    report("generator", loss_g)
    report("phase", 1 + loss_phase)

generator.eval()
before = generator(y_mel)
generator.remove_weight_norm()
with torch.no_grad():
    print("same", torch.allclose(before, generator(y_mel), atol=1e-5), "weight_g" in str(list(generator.state_dict())))
    # Griffin-Lim: a sound of these magnitudes
    magnitude = torch.stft(y[:1], FFT, HOP, window=window, return_complex=True).abs()
    angles = torch.polar(torch.ones_like(magnitude), normal(*magnitude.shape, seed=3))
    previous = torch.zeros_like(angles)
    for _ in range(4):
        inverse = torch.istft(magnitude * angles, FFT, HOP, window=window, length=512)
        rebuilt = torch.stft(inverse, FFT, HOP, window=window, return_complex=True)
        angles = rebuilt - previous.mul_(0.5)
        angles = angles.div(angles.abs().add(1e-16))
        previous = rebuilt
    report("griffin", (rebuilt.abs() - magnitude).norm() / magnitude.norm())
    # a phase vocoder: the same sound, slower
    steps = torch.arange(0, rebuilt.size(-1) - 1, 0.8, device=device)
    first, second = rebuilt[..., steps.long()], rebuilt[..., (steps + 1).long().clamp(max=rebuilt.size(-1) - 1)]
    turned = second.angle() - first.angle()
    turned = turned - 2 * math.pi * torch.round(turned / (2 * math.pi))
    phase = torch.cat([rebuilt[..., :1].angle(), turned[..., :-1]], dim=-1).cumsum(-1)
    slower = torch.polar(torch.lerp(first.abs(), second.abs(), steps.frac()), phase)
    out = torch.istft(slower, FFT, HOP, window=window)
    print("slower", out.shape[-1], f"{out.abs().max().item():.4f}")
    energy = F.avg_pool1d(out.pow(2).unsqueeze(1), 32, 16).squeeze(1)
    report("energy", torch.nn.functional.unfold(energy[:, None, None], (1, 4)).mean(1).max())
