"""A normalising flow: affine couplings with alternating masks and the density of a multivariate normal."""

import numpy as np
import torch
from torch import distributions, nn
from torch.nn.parameter import Parameter

from shared import device, fill, normal, report


class RealNVP(nn.Module):
    def __init__(self, nets, nett, mask, prior):
        super().__init__()
        self.prior = prior
        self.mask = nn.Parameter(mask, requires_grad=False)
        self.t = torch.nn.ModuleList([nett() for _ in range(len(mask))])
        self.s = torch.nn.ModuleList([nets() for _ in range(len(mask))])

    def g(self, z):
        x = z
        for i in range(len(self.t)):
            x_ = x * self.mask[i]
            s = self.s[i](x_) * (1 - self.mask[i])
            t = self.t[i](x_) * (1 - self.mask[i])
            x = x_ + (1 - self.mask[i]) * (x * torch.exp(s) + t)
        return x

    def f(self, x):
        log_det_J, z = x.new_zeros(x.shape[0]), x
        for i in reversed(range(len(self.t))):
            z_ = self.mask[i] * z
            s = self.s[i](z_) * (1 - self.mask[i])
            t = self.t[i](z_) * (1 - self.mask[i])
            z = (1 - self.mask[i]) * (z - t) * torch.exp(-s) + z_
            log_det_J -= s.sum(dim=1)
        return z, log_det_J

    def log_prob(self, x):
        z, logp = self.f(x)
        return self.prior.log_prob(z) + logp


nets = lambda: nn.Sequential(nn.Linear(2, 16), nn.LeakyReLU(), nn.Linear(16, 2), nn.Tanh())  # noqa: E731
nett = lambda: nn.Sequential(nn.Linear(2, 16), nn.LeakyReLU(), nn.Linear(16, 2))  # noqa: E731
masks = torch.from_numpy(np.array([[0, 1], [1, 0]] * 2).astype(np.float32))
prior = distributions.MultivariateNormal(torch.zeros(2, device=device), torch.eye(2, device=device))
flow = RealNVP(nets, nett, masks, prior)
fill(flow)
flow.mask = Parameter(masks.to(device), requires_grad=False)
optimizer = torch.optim.Adam([p for p in flow.parameters() if p.requires_grad is True], lr=1e-2)
angle = normal(32)
x = torch.stack([angle.cos() * (1 + angle.abs()), angle.sin()], dim=1) + 0.1 * normal(32, 2, seed=3)
for step in range(6):
    loss = -flow.log_prob(x).mean()
    optimizer.zero_grad()
    loss.backward(retain_graph=True)
    optimizer.step()
    report(step, loss)
with torch.no_grad():
    z, _ = flow.f(x)
    print("inverse", torch.allclose(flow.g(z), x, atol=1e-4))
