"""Diffusion after Karras: preconditioning, an EMA of weights, guidance, Heun's steps, thresholds."""

import contextlib
import itertools
import math

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn

from shared import device, fill, integers, normal, report


class Fourier(nn.Module):
    def __init__(self, channels, scale=4):
        super().__init__()
        self.register_buffer("freqs", torch.linspace(0.1, 1, channels // 2) * scale)

    def forward(self, x):
        x = x.ger((2 * np.pi * self.freqs).to(x.dtype))
        return torch.cat([x.cos(), x.sin()], dim=1)


class Conv2d(nn.Module):
    def __init__(self, cin, cout, kernel, up=False, down=False, resample_filter=(1, 1)):
        super().__init__()
        self.cin, self.cout, self.up, self.down = cin, cout, up, down
        self.weight = nn.Parameter(torch.empty(cout, cin, kernel, kernel)) if kernel else None
        self.bias = nn.Parameter(torch.zeros(cout)) if kernel else None
        f = torch.as_tensor(resample_filter, dtype=torch.float32)
        f = f.ger(f).unsqueeze(0).unsqueeze(1) / f.sum().square()
        self.register_buffer("resample_filter", f if up or down else None)

    def forward(self, x):
        w = self.weight.to(x.dtype) if self.weight is not None else None
        f = self.resample_filter.to(x.dtype) if self.resample_filter is not None else None
        if self.up:
            x = F.conv_transpose2d(x, f.mul(4).tile([self.cin, 1, 1, 1]), groups=self.cin, stride=2)
        if self.down:
            x = F.conv2d(x, f.tile([self.cin, 1, 1, 1]), groups=self.cin, stride=2)
        if w is not None:
            x = F.conv2d(x, w, padding=w.shape[-1] // 2)
        return x if self.bias is None else x.add_(self.bias.to(x.dtype).reshape(1, -1, 1, 1))


class AttentionOp(torch.autograd.Function):
    @staticmethod
    def forward(ctx, q, k):
        w = torch.einsum("ncq,nck->nqk", q.to(torch.float32), (k / np.sqrt(k.shape[1])).to(torch.float32))
        w = w.softmax(dim=2).to(q.dtype)
        ctx.save_for_backward(q, k, w)
        return w

    @staticmethod
    def backward(ctx, dw):
        q, k, w = ctx.saved_tensors
        db = torch._softmax_backward_data(
            grad_output=dw.to(torch.float32), output=w.to(torch.float32), dim=2, input_dtype=torch.float32
        )
        dq = torch.einsum("nck,nqk->ncq", k.to(torch.float32), db).to(q.dtype) / np.sqrt(k.shape[1])
        dk = torch.einsum("ncq,nqk->nck", q.to(torch.float32), db).to(k.dtype) / np.sqrt(k.shape[1])
        return dq, dk


class UNetBlock(nn.Module):
    def __init__(self, cin, cout, emb, up=False, down=False, attention=False):
        super().__init__()
        self.norm0, self.norm1 = nn.GroupNorm(4, cin), nn.GroupNorm(4, cout, eps=1e-6)
        self.conv0, self.conv1 = Conv2d(cin, cout, 3, up, down), Conv2d(cout, cout, 3)
        self.affine = nn.Linear(emb, 2 * cout)
        self.skip = Conv2d(cin, cout, 1 if cin != cout else 0, up, down) if up or down or cin != cout else None
        self.qkv = Conv2d(cout, 3 * cout, 1) if attention else None
        self.proj = Conv2d(cout, cout, 1) if attention else None

    def forward(self, x, emb):
        orig = x
        x = self.conv0(F.silu(self.norm0(x)))
        scale, shift = self.affine(emb).unsqueeze(2).unsqueeze(3).to(x.dtype).chunk(chunks=2, dim=1)
        x = F.silu(torch.addcmul(shift, self.norm1(x), scale + 1))
        x = self.conv1(F.dropout(x, p=0.0, training=self.training))
        x = x.add_(self.skip(orig) if self.skip is not None else orig)
        x = x * math.sqrt(0.5)
        if self.qkv is not None:
            q, k, v = self.qkv(x).reshape(x.shape[0], x.shape[1], 3, -1).unbind(2)
            a = torch.einsum("nqk,nck->ncq", AttentionOp.apply(q, k), v)
            x = self.proj(a.reshape(*x.shape)).add_(x)
        return x


class Net(nn.Module):
    def __init__(self, channels=4, width=8, labels=3):
        super().__init__()
        self.map_noise, self.map_label = Fourier(16), nn.Linear(labels, 16, bias=False)
        self.map_layer0, self.map_layer1 = nn.Linear(16, 16), nn.Linear(16, 16)
        self.enc = nn.ModuleDict(
            {"conv": Conv2d(channels, width, 3), "down": UNetBlock(width, 2 * width, 16, down=True)}
        )
        self.enc["mid"] = UNetBlock(2 * width, 2 * width, 16, attention=True)
        self.dec = nn.ModuleDict(
            {"up": UNetBlock(4 * width, width, 16, up=True), "last": UNetBlock(2 * width, width, 16)}
        )
        self.out_norm, self.out_conv = nn.GroupNorm(4, width), Conv2d(width, channels, 3)

    def forward(self, x, noise, labels):
        emb = self.map_noise(noise) + self.map_label(labels)
        emb = F.silu(self.map_layer1(F.silu(self.map_layer0(emb))))
        skips = []
        for block in self.enc.values():
            x = block(x, emb) if isinstance(block, UNetBlock) else block(x)
            skips.append(x)
        for name, block in self.dec.items():
            x = torch.cat([x, skips.pop() if name == "up" else skips[0]], dim=1)
            x = block(x, emb)
        return self.out_conv(F.silu(self.out_norm(x)))


class Precond(nn.Module):
    def __init__(self, sigma_data=0.5):
        super().__init__()
        self.sigma_data, self.model, self.sigma_min, self.sigma_max = sigma_data, Net(), 0.02, 20.0

    def forward(self, x, sigma, class_labels=None):
        x, sigma = x.to(torch.float32), sigma.to(torch.float32).reshape(-1, 1, 1, 1)
        labels = torch.zeros([1, 3], device=x.device) if class_labels is None else class_labels.to(torch.float32)
        c_skip = self.sigma_data**2 / (sigma**2 + self.sigma_data**2)
        c_out = sigma * self.sigma_data / (sigma**2 + self.sigma_data**2).sqrt()
        c_in = 1 / (self.sigma_data**2 + sigma**2).sqrt()
        c_noise = sigma.log() / 4
        f = self.model(c_in * x, c_noise.flatten(), labels)
        return c_skip * x + c_out * f.to(torch.float32)

    def round_sigma(self, sigma):
        return torch.as_tensor(sigma)


def latents(n, seed):
    image = torch.zeros(n, 1, 16, 16, device=device)
    for i, shift in enumerate(integers(8, n, seed=seed).tolist()):
        image[i, :, shift : shift + 8, 4 : 4 + shift + 1] = 1.0
    return F.pixel_unshuffle(image, 2) - 0.5


@torch.no_grad()
def sample(net, x, labels, steps=4, rho=7, guidance=1.5):
    index = torch.arange(steps, dtype=torch.float64, device="cpu")
    inv = 1 / rho
    t = (net.sigma_max**inv + index / (steps - 1) * (net.sigma_min**inv - net.sigma_max**inv)) ** rho
    t = torch.cat([net.round_sigma(t), torch.zeros_like(t[:1])]).to(torch.float32).to(device)
    x = x * t[0]
    for i, (now, then) in enumerate(itertools.pairwise(t)):

        def slope(x, s):
            d = net(x, s.expand(x.shape[0]), labels)
            d = torch.lerp(net(x, s.expand(x.shape[0])), d, guidance)
            bound = torch.quantile(d.abs().flatten(1), 0.95, dim=1).clamp_(min=0.5).view(-1, 1, 1, 1)
            return (x - d.clamp(-bound, bound) / bound * 0.5) / s

        d = slope(x, now)
        stepped = x + (then - now) * d
        if i < steps - 1:
            stepped = x + (then - now) * (0.5 * d + 0.5 * slope(stepped, then))
        x = stepped
    return x


net = fill(Precond()).train().requires_grad_(True)
ema = AveragedModel(net, multi_avg_fn=get_ema_multi_avg_fn(0.9), use_buffers=False)
optimizer = torch.optim.Adam(net.parameters(), lr=2e-2, betas=(0.9, 0.999), eps=1e-8)
print("parameters", sum(p.numel() for p in net.parameters() if p.requires_grad), "of the EMA", len(ema.state_dict()))
for step in range(5):
    optimizer.zero_grad(set_to_none=True)
    for round_idx in range(2):
        with net.no_sync() if hasattr(net, "no_sync") and round_idx == 0 else contextlib.nullcontext():
            x0, seed = latents(6, 2 * step + round_idx), 2 * step + round_idx
            labels = F.one_hot(integers(3, 6, seed=seed), 3)
            labels = torch.where(torch.arange(6, device=device)[:, None] == 0, torch.zeros_like(labels), labels)
            sigma = (normal(6, 1, 1, 1, seed=seed) * 1.2 - 1.2).exp()
            weight = (sigma**2 + 0.25) / (sigma * 0.5) ** 2
            denoised = net(x0 + normal(*x0.shape, seed=50 + seed) * sigma, sigma, labels)
            loss = weight * (denoised - x0) ** 2
            loss.sum().mul(1 / 6).backward()
    for group in optimizer.param_groups:
        group["lr"] = 2e-2 * min((step + 1) / 3, 1)
    for param in net.parameters():
        if param.grad is not None:
            torch.nan_to_num(param.grad, nan=0, posinf=1e5, neginf=-1e5, out=param.grad)
    optimizer.step()
    ema.update_parameters(net)
    report(step, loss.mean())
ema.eval()
made = sample(ema.module, normal(3, 4, 8, 8, seed=70), torch.eye(3, device=device)[[0, 1, 2]])
image = F.pixel_shuffle(made + 0.5, 2).mul_(255).add_(0.5).clamp_(0, 255).to("cpu", torch.uint8)
print("image", tuple(image.shape), image.dtype, int(ema.n_averaged))
report("mean", made.mean())
report("spread", torch.std(made, unbiased=False))
