"""Diffusion: noise prediction by a small U-Net with group norm, an average of weights, mixed losses."""

import copy
import math

import torch
import torch.nn as nn
import torch.nn.functional as F

from shared import device, fill, integers, normal, report


def embedded(t, dim=16):
    frequency = torch.exp(torch.arange(dim // 2, device=t.device) * -(math.log(1000) / (dim // 2 - 1)))
    angle = t[:, None].float() * frequency[None]
    return torch.cat([angle.sin(), angle.cos()], dim=-1)


class Block(nn.Module):
    def __init__(self, inside, outside):
        super().__init__()
        self.conv = nn.Conv2d(inside, outside, 3, padding=1)
        self.norm = nn.GroupNorm(4, outside)
        self.time = nn.Linear(16, outside)

    def forward(self, x, t):
        return F.silu(self.norm(self.conv(x)) + self.time(t)[:, :, None, None])


class UNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.down1, self.down2 = Block(1, 8), Block(8, 16)
        self.up = nn.ConvTranspose2d(16, 8, 2, stride=2)
        self.last, self.out = Block(16, 8), nn.Conv2d(8, 1, 1)

    def forward(self, x, t):
        t = embedded(t)
        a = self.down1(x, t)
        b = self.down2(F.avg_pool2d(a, 2), t)
        return self.out(self.last(torch.cat([self.up(b), a], dim=1), t))


betas = torch.linspace(1e-4, 0.02, 50, device=device)
alphas = torch.cumprod(1 - betas, dim=0)
model = fill(UNet())
average = copy.deepcopy(model)
optimizer = torch.optim.NAdam(model.parameters(), lr=2e-3)
images = normal(6, 1, 8, 8)
for step in range(5):
    t, noise = integers(50, 6, seed=step), normal(6, 1, 8, 8, seed=30 + step)
    keep = alphas.gather(0, t).view(-1, 1, 1, 1)
    guess = model(keep.sqrt() * images + (1 - keep).sqrt() * noise, t)
    loss = F.mse_loss(guess, noise) + 0.1 * F.huber_loss(guess, noise)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    with torch.no_grad():
        for slow, fast in zip(average.parameters(), model.parameters()):  # noqa: B905
            slow.mul_(0.9).add_(fast, alpha=0.1)
    report(step, loss)
report("average", sum(p.abs().sum() for p in average.parameters()))
