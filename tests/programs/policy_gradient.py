"""REINFORCE with a baseline, on a pole that NumPy balances; what is drawn comes from random numbers of NumPy."""

import argparse
from itertools import count

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim
from torch.distributions import Categorical

from shared import device, fill

parser = argparse.ArgumentParser()
parser.add_argument("--gamma", type=float, default=0.99, metavar="G")
parser.add_argument("--seed", type=int, default=543, metavar="N")
args = parser.parse_args([])
torch.manual_seed(args.seed)
random = np.random.RandomState(args.seed)


class CartPole:
    def reset(self):
        self.s = random.uniform(-0.05, 0.05, 4)
        return self.s.astype(np.float32)

    def step(self, action):
        x, v, angle, w = self.s
        force = 10.0 if action == 1 else -10.0
        temp = (force + 0.05 * w * w * np.sin(angle)) / 1.1
        wa = (9.8 * np.sin(angle) - np.cos(angle) * temp) / (0.5 * (4 / 3 - 0.1 * np.cos(angle) ** 2 / 1.1))
        a = temp - 0.05 * wa * np.cos(angle) / 1.1
        self.s = np.array([x + 0.02 * v, v + 0.02 * a, angle + 0.02 * w, w + 0.02 * wa])
        done = bool(abs(self.s[0]) > 2.4 or abs(self.s[2]) > 0.2095)
        return self.s.astype(np.float32), 1.0, done, {}


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.affine1 = nn.Linear(4, 16)
        self.dropout = nn.Dropout(p=0.0)
        self.affine2 = nn.Linear(16, 2)
        self.saved_log_probs, self.rewards = [], []

    def forward(self, x):
        return F.softmax(self.affine2(F.relu(self.dropout(self.affine1(x)))), dim=1)


policy = fill(Policy())
optimizer = optim.Adam(policy.parameters(), lr=1e-2)
eps = np.finfo(np.float32).eps.item()


def select_action(state):
    state = torch.from_numpy(state).float().unsqueeze(0).to(device)
    m = Categorical(policy(state))
    action = torch.tensor([int(random.rand() > m.probs[0, 0].item())], device=device)  # in place of m.sample()
    policy.saved_log_probs.append(m.log_prob(action))
    return action.item()


def finish_episode():
    R, policy_loss, returns = 0, [], []
    for r in policy.rewards[::-1]:
        R = r + args.gamma * R
        returns.insert(0, R)
    returns = torch.tensor(returns, device=device)
    returns = (returns - returns.mean()) / (returns.std() + eps)
    for log_prob, R in zip(policy.saved_log_probs, returns, strict=True):
        policy_loss.append(-log_prob * R)
    optimizer.zero_grad()
    policy_loss = torch.cat(policy_loss).sum()
    policy_loss.backward()
    optimizer.step()
    del policy.rewards[:]
    del policy.saved_log_probs[:]
    return policy_loss


env = CartPole()
for i_episode in range(4):
    state = env.reset()
    for t in count(1):
        state, reward, done, _ = env.step(select_action(state))
        policy.rewards.append(reward)
        if done or t == 40:
            break
    print(f"episode {i_episode} length {t} loss {finish_episode().item():.6g}")
