"""Soft actor-critic on a pendulum: squashed normals, two critics, a learned temperature, priorities."""

import copy
import itertools
import math
import random
from collections import deque
from contextlib import contextmanager

import numpy as np
import torch
import torch.nn.functional as F
from torch import distributions as pyd
from torch import nn

from shared import device, fill, normal, report


class TanhTransform(pyd.transforms.Transform):
    domain = pyd.constraints.real
    codomain = pyd.constraints.interval(-1.0, 1.0)
    bijective = True
    sign = +1

    def __init__(self, cache_size=1):
        super().__init__(cache_size=cache_size)

    @staticmethod
    def atanh(x):
        return 0.5 * (x.log1p() - (-x).log1p())

    def __eq__(self, other):
        return isinstance(other, TanhTransform)

    def _call(self, x):
        return x.tanh()

    def _inverse(self, y):
        return self.atanh(y)

    def log_abs_det_jacobian(self, x, y):
        return 2.0 * (math.log(2.0) - x - F.softplus(-2.0 * x))


class SquashedNormal(pyd.transformed_distribution.TransformedDistribution):
    def __init__(self, loc, scale):
        self.loc, self.scale = loc, scale
        super().__init__(pyd.Normal(loc, scale), [TanhTransform()])

    @property
    def mean(self):
        mu = self.loc
        for tr in self.transforms:
            mu = tr(mu)
        return mu

    def moved(self, noise):
        x = self.base_dist.loc + self.base_dist.scale * noise
        for transform in self.transforms:
            x = transform(x)
        return x


def mlp(*sizes, output_mod=None):
    layers = []
    for a, b in itertools.pairwise(sizes):
        layers += [nn.Linear(a, b), nn.ELU(inplace=True)]
    layers = layers[:-1] if output_mod is None else [*layers[:-1], output_mod]
    return nn.Sequential(*layers)


class Actor(nn.Module):
    def __init__(self, bounds=(-5, 2)):
        super().__init__()
        self.trunk, self.bounds, self.outputs = mlp(3, 32, 32, 2), bounds, dict()

    def forward(self, obs):
        mu, log_std = self.trunk(obs).chunk(2, dim=-1)
        log_std = torch.tanh(log_std)
        low, high = self.bounds
        log_std = low + 0.5 * (high - low) * (log_std + 1)
        self.outputs["mu"], self.outputs["std"] = mu, log_std.exp()
        return SquashedNormal(mu, log_std.exp())


class DoubleQ(nn.Module):
    def __init__(self):
        super().__init__()
        self.Q1, self.Q2 = mlp(4, 32, 32, 1), mlp(4, 32, 32, 1)

    def forward(self, obs, action):
        assert obs.size(0) == action.size(0)
        both = torch.cat([obs, action], dim=-1)
        return self.Q1(both), self.Q2(both)


class Buffer:
    def __init__(self, capacity):
        self.obs, self.next_obs = (torch.empty((capacity, 3), dtype=torch.float32, device=device) for _ in range(2))
        self.action, self.reward = (torch.empty((capacity, 1), device=device) for _ in range(2))
        self.not_done = torch.ones(capacity, 1, dtype=torch.bool, device=device)
        self.priority = torch.zeros(capacity, device=device)
        self.capacity, self.idx, self.full = capacity, 0, False

    def add(self, obs, action, reward, next_obs, done):
        self.obs[self.idx].copy_(torch.as_tensor(obs))
        self.next_obs[self.idx] = torch.as_tensor(next_obs, device=device)
        self.action[self.idx], self.reward[self.idx] = action, reward
        self.not_done[self.idx] = not done
        self.priority[self.idx] = self.priority.max().clamp(min=1.0)
        self.idx = (self.idx + 1) % self.capacity
        self.full = self.full or self.idx == 0

    def __len__(self):
        return self.capacity if self.full else self.idx

    def sample(self, points):
        p = self.priority[: len(self)] ** 0.6
        p /= p.sum()
        idx = torch.searchsorted(p.cumsum(0), torch.tensor(points, device=device).float()).clamp_(max=len(self) - 1)
        weights = (len(self) * p[idx]).pow(-0.4)
        batch = (t[idx] for t in (self.obs, self.action, self.reward, self.next_obs, self.not_done))
        return idx, weights / weights.max(), *batch


@contextmanager
def frozen(*modules):
    before = [[p.requires_grad for p in m.parameters()] for m in modules]
    for m in modules:
        m.requires_grad_(False)
    yield
    for m, flags in zip(modules, before, strict=False):
        for p, flag in zip(m.parameters(), flags, strict=False):
            p.requires_grad_(flag)


def soft_update_params(net, target_net, tau):
    for param, target_param in zip(net.parameters(), target_net.parameters(), strict=False):
        target_param.data.lerp_(param.data, tau)


class Pendulum:
    def reset(self):
        self.theta, self.speed = math.pi, 0.1
        return self.state()

    def state(self):
        return np.array([math.cos(self.theta), math.sin(self.theta), self.speed], dtype=np.float32)

    def step(self, u):
        u = float(np.clip(2 * u, -2, 2))
        angle = (self.theta + math.pi) % (2 * math.pi) - math.pi
        cost = angle**2 + 0.1 * self.speed**2 + 0.001 * u**2
        self.speed = float(np.clip(self.speed + (15 * math.sin(self.theta) + 3.0 * u) * 0.05, -8, 8))
        self.theta += self.speed * 0.05
        return self.state(), -cost, False, {}


random.seed(1)
np.random.seed(1)
torch.manual_seed(1)
actor, critic = fill(Actor(), 1), fill(DoubleQ(), 2)
target = copy.deepcopy(critic)
target.load_state_dict(critic.state_dict())
target.eval()
log_alpha = torch.tensor(np.log(0.1), dtype=torch.float32, device=device)
log_alpha.requires_grad = True
optimizers = [
    torch.optim.Adam(actor.parameters(), lr=3e-3, betas=(0.9, 0.999)),
    torch.optim.Adam(critic.parameters(), lr=3e-3),
    torch.optim.Adam([log_alpha], lr=1e-2),
]
env, buffer, rewards = Pendulum(), Buffer(48), deque(maxlen=10)
obs = env.reset()
for _ in range(64):
    action = 2 * random.random() - 1
    next_obs, reward, done, info = env.step(action)
    buffer.add(obs, action, reward, next_obs, done)
    rewards.append(reward)
    obs = next_obs
print("buffer", len(buffer), buffer.idx, f"{np.mean(rewards):.4f}")

for step in range(6):
    points = np.random.RandomState(step).rand(16)
    idx, weights, obs, action, reward, next_obs, not_done = buffer.sample(points)
    with torch.no_grad():
        dist = actor(next_obs)
        next_action = dist.moved(normal(16, 1, seed=step))
        log_prob = dist.log_prob(next_action).sum(-1, keepdim=True)
        target_v = torch.min(*target(next_obs, next_action)) - log_alpha.exp() * log_prob
        target_q = reward + not_done * 0.99 * target_v
    q1, q2 = critic(obs, action)
    errors = [F.smooth_l1_loss(q, target_q, reduction="none", beta=0.5).squeeze(1) for q in (q1, q2)]
    critic_loss = sum((weights * e).mean() for e in errors)
    optimizers[1].zero_grad(set_to_none=True)
    critic_loss.backward()
    optimizers[1].step()
    buffer.priority.index_put_((idx,), (q1 - target_q).detach().abs().squeeze(1) + 1e-3)

    with frozen(critic):
        dist = actor(obs)
        action = dist.moved(normal(16, 1, seed=100 + step))
        log_prob = dist.log_prob(action).sum(-1, keepdim=True)
        actor_loss = (log_alpha.exp().detach() * log_prob - torch.min(*critic(obs, action))).mean()
        optimizers[0].zero_grad()
        actor_loss.backward()
        optimizers[0].step()
    alpha_loss = (log_alpha.exp() * (-log_prob + 1.0).detach()).mean()
    optimizers[2].zero_grad()
    alpha_loss.backward()
    optimizers[2].step()
    if step % 2 == 1:
        soft_update_params(critic, target, 0.05)
    report(step, critic_loss)
    report("actor", actor_loss)
report("alpha", log_alpha.exp())
report("mean", actor(obs).mean.abs().mean())
report("entropy", pyd.Normal(actor.outputs["mu"], actor.outputs["std"]).entropy().mean())
apart = pyd.kl_divergence(
    pyd.Independent(actor(obs).base_dist, 1), pyd.Independent(pyd.Normal(0.0, torch.ones(16, 1).to(device)), 1)
)
report("divergence", apart.mean())
report("priority", buffer.priority.sum())
