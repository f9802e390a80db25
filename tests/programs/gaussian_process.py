"""Gaussian process regression: an RBF kernel, Cholesky, the marginal likelihood in two ways, predictions."""

import math

import torch
from torch import nn
from torch.distributions import MultivariateNormal, constraints, transform_to

from shared import device, normal, report

torch.set_default_dtype(torch.float64)


class RBF(nn.Module):
    def __init__(self, lengthscale=1.0, variance=1.0):
        super().__init__()
        self.raw_lengthscale = nn.Parameter(torch.tensor(math.log(lengthscale)))
        self.raw_variance = nn.Parameter(torch.tensor(math.log(variance)))

    def forward(self, a, b):
        lengthscale = transform_to(constraints.positive)(self.raw_lengthscale)
        scaled = torch.cdist(a, b).div(lengthscale).pow(2)
        return self.raw_variance.exp() * torch.exp(-0.5 * scaled)


class GP(nn.Module):
    def __init__(self, x, y):
        super().__init__()
        self.x, self.y, self.kernel = x, y, RBF()
        self.raw_noise = nn.Parameter(torch.tensor(-2.0))

    def covariance(self):
        return self.kernel(self.x, self.x) + self.raw_noise.exp() * torch.eye(len(self.x), device=self.x.device)

    def nll(self):
        L = torch.linalg.cholesky(self.covariance())
        alpha = torch.cholesky_solve(self.y.unsqueeze(-1), L)
        quadratic = 0.5 * (self.y.unsqueeze(0) @ alpha).squeeze()
        return quadratic + L.diagonal().log().sum() + 0.5 * len(self.x) * math.log(2 * math.pi)

    def forward(self, new):
        K, Ks = self.covariance(), self.kernel(self.x, new)
        L = torch.linalg.cholesky(K)
        v = torch.linalg.solve_triangular(L, Ks, upper=False)
        mean = Ks.t() @ torch.cholesky_solve(self.y.unsqueeze(-1), L)
        return mean.squeeze(-1), (self.kernel(new, new) - v.t() @ v).diagonal()


x = torch.linspace(-2, 2, 12).unsqueeze(1).to(device)
y = torch.sin(2 * x).squeeze() + 0.1 * normal(12).double()
gp = GP(x, y).to(device)
optimizer = torch.optim.Adam(gp.parameters(), lr=0.1)
for step in range(5):
    optimizer.zero_grad()
    loss = gp.nll()
    loss.backward()
    optimizer.step()
    report(step, loss)
with torch.no_grad():
    prior = MultivariateNormal(torch.zeros(12, device=device), covariance_matrix=gp.covariance())
    report("again", -prior.log_prob(y))
    mean, variance = gp(torch.tensor([[0.3], [1.7]], device=device))
    report("mean", mean.sum())
    report("variance", variance.sum())
