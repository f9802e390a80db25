"""Reinforcement learning: an actor and a critic, with an entropy bonus and clipped ratios."""

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.distributions.categorical import Categorical

from shared import fill, integers, normal, report


class ActorCritic(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(4, 24), nn.ReLU())
        self.actor, self.critic = nn.Linear(24, 3), nn.Linear(24, 1)

    def forward(self, state):
        h = self.body(state)
        return Categorical(logits=self.actor(h)), self.critic(h).squeeze(-1)


model = fill(ActorCritic())
optimizer = torch.optim.RMSprop(model.parameters(), lr=3e-3)
states, actions, rewards = normal(24, 4), integers(3, 24), normal(24, seed=5)
returns, total = [], 0.0
for reward in rewards.tolist()[::-1]:
    total = reward + 0.99 * total
    returns.insert(0, total)
returns = torch.tensor(returns).to(states)
returns = (returns - returns.mean()) / (returns.std() + 1e-8)
with torch.no_grad():
    old, value = model(states)
    old_log, advantage = old.log_prob(actions), returns - value
for step in range(6):
    policy, value = model(states)
    ratio = torch.exp(policy.log_prob(actions) - old_log)
    clipped = torch.min(ratio * advantage, ratio.clamp(0.8, 1.2) * advantage)
    loss = -clipped.mean() + 0.5 * F.smooth_l1_loss(value, returns) - 0.01 * policy.entropy().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    report(step, loss)
