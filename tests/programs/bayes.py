"""Bayes by backprop: a posterior for each weight, mixture priors, and the evidence lower bound."""

import math

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.distributions import Normal, kl_divergence

from shared import device, fill, normal, report


class Gaussian:
    def __init__(self, mu, rho):
        self.mu, self.rho = mu, rho

    @property
    def sigma(self):
        return torch.log1p(torch.exp(self.rho))

    def sample(self, seed):
        return self.mu + self.sigma * normal(*self.mu.shape, seed=seed)

    def log_prob(self, input):
        return (
            -math.log(math.sqrt(2 * math.pi)) - torch.log(self.sigma) - ((input - self.mu) ** 2) / (2 * self.sigma**2)
        ).sum()


class ScaleMixtureGaussian:
    def __init__(self, pi, sigma1, sigma2):
        self.pi = pi
        self.gaussian1 = Normal(torch.tensor(0.0, device=device), torch.tensor(sigma1, device=device))
        self.gaussian2 = Normal(torch.tensor(0.0, device=device), torch.tensor(sigma2, device=device))

    def log_prob(self, input):
        prob1 = torch.exp(self.gaussian1.log_prob(input))
        prob2 = torch.exp(self.gaussian2.log_prob(input))
        return (torch.log(self.pi * prob1 + (1 - self.pi) * prob2)).sum()


class BayesianLinear(nn.Module):
    def __init__(self, in_features, out_features):
        super().__init__()
        self.weight_mu = nn.Parameter(torch.Tensor(out_features, in_features).uniform_(-0.2, 0.2))
        self.weight_rho = nn.Parameter(torch.Tensor(out_features, in_features).uniform_(-5, -4))
        self.bias_mu = nn.Parameter(torch.Tensor(out_features).uniform_(-0.2, 0.2))
        self.bias_rho = nn.Parameter(torch.Tensor(out_features).uniform_(-5, -4))
        self.weight, self.bias = Gaussian(self.weight_mu, self.weight_rho), Gaussian(self.bias_mu, self.bias_rho)
        self.prior = ScaleMixtureGaussian(0.5, 1.0, math.exp(-6))
        self.log_prior = self.log_variational_posterior = 0

    def forward(self, input, seed):
        weight, bias = self.weight.sample(seed), self.bias.sample(seed + 1)
        if self.training:
            self.log_prior = self.prior.log_prob(weight) + self.prior.log_prob(bias)
            self.log_variational_posterior = self.weight.log_prob(weight) + self.bias.log_prob(bias)
        return F.linear(input, weight, bias)


class BayesianNetwork(nn.Module):
    def __init__(self):
        super().__init__()
        self.l1, self.l2 = BayesianLinear(4, 10), BayesianLinear(10, 1)

    def forward(self, x, seed):
        return self.l2(F.relu(self.l1(x, seed)), seed + 2)

    def elbo(self, x, y, samples=2, seed=0):
        total = torch.zeros(samples, device=device)
        for i in range(samples):
            likelihood = Normal(self(x, seed + 10 * i), 0.5).log_prob(y).sum()
            log_prior = self.l1.log_prior + self.l2.log_prior
            log_posterior = self.l1.log_variational_posterior + self.l2.log_variational_posterior
            total[i] = log_posterior - log_prior - likelihood
        return total.mean()


net = fill(BayesianNetwork())
for name, p in net.named_parameters():
    if "rho" in name:
        p.data.sub_(3.0)
optimizer = torch.optim.Adam(net.parameters(), lr=5e-3)
x, y = normal(20, 4), normal(20, 1, seed=2)
for step in range(5):
    net.zero_grad()
    loss = net.elbo(x, y, seed=100 * step)
    loss.backward()
    optimizer.step()
    report(step, loss)
posterior = Normal(net.l1.weight_mu, net.l1.weight.sigma)
report("kl", kl_divergence(posterior, Normal(torch.zeros_like(posterior.loc), 1.0)).sum())
