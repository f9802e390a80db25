"""A recurrent world model with discrete latents (as in Dreamer): straight-through draws, KL balancing, a GRU cell."""

from typing import NamedTuple

import torch
import torch.distributions as D
import torch.nn.functional as F
from torch import nn

from shared import device, fill, normal, report


class State(NamedTuple):
    deter: torch.Tensor
    logits: torch.Tensor
    stoch: torch.Tensor

    def flat(self):
        return torch.cat([self.deter, self.stoch.flatten(-2)], -1)


class RSSM(nn.Module):
    def __init__(self, obs=6, action=2, deter=12, groups=3, classes=4):
        super().__init__()
        self.groups, self.classes, self.deter = groups, classes, deter
        self.inp = nn.Sequential(nn.Linear(groups * classes + action, deter), nn.LayerNorm(deter), nn.SiLU())
        self.cell = nn.GRUCell(deter, deter)
        self.prior = nn.Linear(deter, groups * classes)
        self.post = nn.Sequential(nn.Linear(deter + obs, deter), nn.SiLU(), nn.Linear(deter, groups * classes))
        self.decoder = nn.Linear(deter + groups * classes, obs)
        self.reward = nn.Linear(deter + groups * classes, 11)
        self.register_buffer("bins", torch.linspace(-2, 2, 11))

    def initial(self, n):
        zero = self.bins.new_zeros
        shape = (n, self.groups, self.classes)
        return State(zero(n, self.deter), zero(shape), zero(shape))

    def dist(self, logits):
        logits = logits.unflatten(-1, (self.groups, self.classes))
        probs = 0.99 * logits.softmax(-1) + 0.01 / self.classes
        return D.Independent(D.OneHotCategorical(logits=probs.log()), 1)

    def most_likely(self, dist):
        """A draw with the gradient of its probabilities; here the mode, so that no random number matters."""
        probs = dist.base_dist.probs
        hard = F.one_hot(probs.argmax(-1), self.classes).float()
        return hard + probs - probs.detach()

    def step(self, state: State, action, obs: torch.Tensor | None = None):
        deter = self.cell(self.inp(torch.cat([state.stoch.flatten(1), action], 1)), state.deter)
        prior = self.dist(self.prior(deter))
        post = prior if obs is None else self.dist(self.post(torch.cat((deter, obs), dim=-1)))
        return prior, post, State(deter, post.base_dist.logits, self.most_likely(post))


def symlog(x):
    return torch.sign(x) * torch.log1p(x.abs())


def two_hot(x, bins):
    x = symlog(x).clamp(bins[0], bins[-1])
    above = torch.searchsorted(bins, x.contiguous()).clamp(1, len(bins) - 1)
    low, high = bins[above - 1], bins[above]
    weight = ((x - low) / (high - low)).unsqueeze(-1)
    n = len(bins)
    return F.one_hot(above - 1, n) * (1 - weight) + F.one_hot(above, n) * weight


def kl_balanced(post, prior, balance=0.8, free=0.1):
    fixed = lambda d: D.Independent(D.OneHotCategorical(logits=d.base_dist.logits.detach()), 1)  # noqa: E731
    left = D.kl_divergence(fixed(post), prior).clamp(min=free)
    right = D.kl.kl_divergence(post, fixed(prior)).clamp(min=free)
    return (balance * left + (1 - balance) * right).mean()


model = RSSM().to(device)
fill(model)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2, eps=1e-5)
time, batch = 6, 5
observations, actions = normal(time, batch, 6), torch.tanh(normal(time, batch, 2, seed=2))
rewards = normal(time, batch, seed=3) * 3
for update in range(4):
    state, loss, kls = model.initial(batch), 0, []
    flats = []
    for t in range(time):
        prior, post, state = model.step(state, actions[t], observations[t])
        kls.append(kl_balanced(post, prior))
        flats.append(state.flat())
    features = torch.stack(flats)
    picture = D.Independent(D.Normal(model.decoder(features), 1.0), 1).log_prob(observations)
    reward = -(two_hot(rewards, model.bins) * model.reward(features).log_softmax(-1)).sum(-1)
    loss = -picture.mean() + reward.mean() + torch.stack(kls).mean()
    optimizer.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_value_(model.parameters(), 1.0)
    optimizer.step()
    report(update, loss)
    report("kl", torch.stack(kls).mean())
# Imagined returns: lambda-returns from the end, then a draw of each latent.
with torch.no_grad():
    values, state = [], State(*[x.detach() for x in state])
    for t in range(4):
        _, _, state = model.step(state, actions[t])
        values.append((model.reward(state.flat()).softmax(-1) * model.bins).sum(-1))
    returns = values[-1]
    for v in reversed(values[:-1]):
        returns = v + 0.9 * (0.05 * v + 0.95 * returns)
    report("return", returns.mean())
    draws = D.OneHotCategoricalStraightThrough(logits=state.logits).rsample()
    print("latent", tuple(draws.shape), bool((draws.sum(-1) == 1).all()))
