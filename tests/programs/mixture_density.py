"""A mixture density network (Bishop, 1994) for an ambiguous function, survival times, and heavy tails."""

import torch
from torch import nn
from torch.distributions import Categorical, Independent, MixtureSameFamily, Normal, StudentT, Weibull, kl_divergence
from torch.utils.data import DataLoader, TensorDataset

from shared import device, fill, normal, report


class MDN(nn.Module):
    def __init__(self, in_dim, out_dim, components, hidden=20):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(in_dim, hidden), nn.Tanh(), nn.Linear(hidden, hidden), nn.ELU())
        self.pi = nn.Linear(hidden, components)
        self.mu = nn.Linear(hidden, components * out_dim)
        self.log_sigma = nn.Linear(hidden, components * out_dim)
        self.components, self.out_dim = components, out_dim

    def forward(self, x):
        h = self.trunk(x)
        shape = (-1, self.components, self.out_dim)
        mix = Categorical(logits=self.pi(h))
        sigma = self.log_sigma(h).view(shape).clamp(-5, 3).exp()
        return MixtureSameFamily(mix, Independent(Normal(self.mu(h).view(shape), sigma), 1))


class Lifetime(nn.Module):
    """Survival times with censoring: the share above a time counts where nothing more is known."""

    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(1, 8), nn.Softplus(), nn.Linear(8, 2))

    def forward(self, x):
        scale, shape = nn.functional.softplus(self.net(x)).add(0.1).unbind(-1)
        return Weibull(scale, shape)


def survival_loss(law, time, seen):
    alive = torch.log1p(-law.cdf(time).clamp(max=1 - 1e-6))
    return -torch.where(seen, law.log_prob(time), alive).mean()


y = torch.linspace(-1, 1, 64, device=device).unsqueeze(1)
x = y + 0.4 * torch.sin(6 * y) + 0.02 * normal(64, 1, seed=2)
loader = DataLoader(TensorDataset(x, torch.cat([y, y**2], 1)), batch_size=32, shuffle=False)
net = MDN(1, 2, 3).to(device)
fill(net)
optimizer = torch.optim.RMSprop(net.parameters(), lr=3e-3, momentum=0.5)
for epoch in range(3):
    total = 0.0
    for bx, by in loader:
        optimizer.zero_grad()
        law = net(bx)
        loss = -law.log_prob(by).mean()
        loss.backward()
        optimizer.step()
        total += loss.item() * len(bx)
    report(epoch, total / len(x))
with torch.no_grad():
    law = net(x)
    report("mean", law.mean.square().mean())
    report("variance", law.variance.mean())
    print(tuple(law.sample((2,)).shape), law.batch_shape == torch.Size([64]), law.event_shape == torch.Size([2]))
    first = net(x).component_distribution
    report("kl", kl_divergence(first, Independent(Normal(torch.zeros_like(first.mean), 1.0), 1)).mean())

life = Lifetime().to(device)
fill(life)
optimizer = torch.optim.Adam(life.parameters(), lr=2e-2)
time, seen = (1.5 + normal(64, seed=5)).abs() + 0.05, normal(64, seed=6) > -0.5
for step in range(4):
    loss = survival_loss(life(x), time, seen)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    report(step, loss)
report("median", life(x).icdf(torch.tensor(0.5, device=device)).mean())

offset = torch.zeros(1, device=device, requires_grad=True)
log_df = torch.tensor([1.0], device=device, requires_grad=True)
robust = torch.optim.SGD([{"params": [offset], "lr": 0.5}, {"params": [log_df], "lr": 0.1}])
samples = torch.cat([1 + 0.1 * normal(40, seed=8), torch.full((3,), 9.0, device=device)])
for step in range(4):
    loss = -StudentT(log_df.exp() + 1, offset, 0.5).log_prob(samples).mean()
    robust.zero_grad()
    loss.backward()
    robust.step()
    report(f"robust {step}", loss)
