"""Advantage actor-critic: bootstrapped returns of parallel environments and a shared body."""

import numpy as np
import torch
from torch import nn
from torch.distributions import Categorical
from torch.nn.utils import clip_grad_norm_

from shared import device, fill, integers, normal, report

num_envs, num_steps, gamma, lam = 4, 6, 0.99, 0.95


class ActorCritic(nn.Module):
    def __init__(self, inputs, outputs, hidden=24):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(inputs, hidden), nn.Tanh())
        self.critic, self.actor = nn.Linear(hidden, 1), nn.Sequential(nn.Linear(hidden, outputs), nn.Softmax(dim=-1))
        self.apply(self.init_weights)

    @staticmethod
    def init_weights(m):
        if isinstance(m, nn.Linear):
            nn.init.orthogonal_(m.weight, gain=np.sqrt(2))
            nn.init.constant_(m.bias, 0.1)

    def forward(self, x):
        h = self.body(x)
        return Categorical(self.actor(h)), self.critic(h)


def compute_gae(next_value, rewards, masks, values):
    values = [*values, next_value]
    gae, returns = 0, []
    for step in reversed(range(len(rewards))):
        delta = rewards[step] + gamma * values[step + 1] * masks[step] - values[step]
        gae = delta + gamma * lam * masks[step] * gae
        returns.insert(0, gae + values[step])
    return returns


model = fill(ActorCritic(5, 3))
optimizer = torch.optim.RMSprop(model.parameters(), lr=7e-3, alpha=0.99, eps=1e-5)
state = normal(num_envs, 5)
turn = normal(5, 5, seed=1) * 0.5
for frame in range(4):
    log_probs, values, rewards, masks, entropy = [], [], [], [], 0
    for t in range(num_steps):
        dist, value = model(state)
        action = integers(3, num_envs, seed=100 * frame + t)
        next_state = torch.tanh(state @ turn) + 0.1 * (action.float() - 1).unsqueeze(-1)
        done = (next_state[:, 0] > 0.6).float()
        log_probs.append(dist.log_prob(action))
        entropy += dist.entropy().mean()
        values.append(value)
        rewards.append(next_state[:, 1:2].detach())
        masks.append((1 - done).unsqueeze(1).to(device))
        state = torch.where(done.bool().unsqueeze(1), torch.zeros_like(state), next_state)
    with torch.no_grad():
        _, next_value = model(state)
    returns = torch.cat(compute_gae(next_value, rewards, masks, [v.detach() for v in values]))
    advantage = returns - torch.cat(values)
    actor_loss = -(torch.stack(log_probs).view(-1, 1) * advantage.detach()).mean()
    critic_loss = advantage.pow(2).mean()
    loss = actor_loss + 0.5 * critic_loss - 0.001 * entropy
    optimizer.zero_grad()
    loss.backward()
    norm = clip_grad_norm_(model.parameters(), 0.5)
    optimizer.step()
    report(frame, loss)
    report("norm", norm)
