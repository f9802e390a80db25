"""Generative: a variational autoencoder with torch.distributions."""

import torch
from torch import nn, optim
from torch.distributions import Bernoulli, Independent, Normal, kl_divergence

from shared import fill, normal, report


class VAE(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(20, 32), nn.Tanh(), nn.Linear(32, 8))
        self.decoder = nn.Sequential(nn.Linear(4, 32), nn.Tanh(), nn.Linear(32, 20))

    def forward(self, x, noise):
        mean, log_std = self.encoder(x).chunk(2, dim=-1)
        posterior = Independent(Normal(mean, log_std.exp()), 1)
        z = mean + log_std.exp() * noise
        prior = Independent(Normal(torch.zeros_like(mean), torch.ones_like(mean)), 1)
        likelihood = Independent(Bernoulli(logits=self.decoder(z)), 1)
        return -(likelihood.log_prob(x) - kl_divergence(posterior, prior)).mean(), posterior.entropy().mean()


model = fill(VAE())
optimizer = optim.Adam(model.parameters(), lr=1e-2)
x = (normal(16, 20, seed=3) > 0).float()
for step in range(6):
    loss, entropy = model(x, normal(16, 4, seed=10 + step))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    report(step, loss)
    report("entropy", entropy)
