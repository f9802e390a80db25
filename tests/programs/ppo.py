"""Proximal policy optimisation with continuous actions: minibatches, a clipped value loss, annealed rates."""

from dataclasses import dataclass

import numpy as np
import torch
import torch.nn as nn
import torch.optim as optim
from torch.distributions.normal import Normal

from shared import device, fill, normal, report


@dataclass
class Args:
    learning_rate: float = 3e-3
    minibatch_size: int = 16
    update_epochs: int = 2
    clip_coef: float = 0.2
    ent_coef: float = 0.01
    vf_coef: float = 0.5
    max_grad_norm: float = 0.5
    torch_deterministic: bool = True


def layer_init(layer, std=np.sqrt(2), bias_const=0.0):  # noqa: B008
    torch.nn.init.orthogonal_(layer.weight, std)
    torch.nn.init.constant_(layer.bias, bias_const)
    return layer


class Agent(nn.Module):
    def __init__(self, inputs=4, actions=2):
        super().__init__()
        self.critic = nn.Sequential(layer_init(nn.Linear(inputs, 32)), nn.Tanh(), layer_init(nn.Linear(32, 1), std=1.0))
        self.actor_mean = nn.Sequential(
            layer_init(nn.Linear(inputs, 32)), nn.Tanh(), layer_init(nn.Linear(32, actions), std=0.01)
        )
        self.actor_logstd = nn.Parameter(torch.zeros(1, actions))

    def get_action_and_value(self, x, action):
        action_mean = self.actor_mean(x)
        action_std = torch.exp(self.actor_logstd.expand_as(action_mean))
        probs = Normal(action_mean, action_std)
        return probs.log_prob(action).sum(1), probs.entropy().sum(1), self.critic(x)


args = Args()
torch.backends.cudnn.deterministic = args.torch_deterministic
agent = fill(Agent())
optimizer = optim.Adam(agent.parameters(), lr=args.learning_rate, eps=1e-5)
b_obs, b_actions, b_advantages, b_returns = normal(32, 4), normal(32, 2, seed=1), normal(32, seed=2), normal(32, seed=3)
with torch.no_grad():
    b_logprobs, _, b_values = agent.get_action_and_value(b_obs, b_actions)
    b_logprobs, b_values = b_logprobs + 0.1 * normal(32, seed=4), b_values.view(-1)
b_inds, random = np.arange(32), np.random.RandomState(5)
for epoch in range(args.update_epochs):
    optimizer.param_groups[0]["lr"] = (1.0 - epoch / args.update_epochs) * args.learning_rate
    random.shuffle(b_inds)
    for start in range(0, 32, args.minibatch_size):
        mb_inds = b_inds[start : start + args.minibatch_size]
        newlogprob, entropy, newvalue = agent.get_action_and_value(b_obs[mb_inds], b_actions[mb_inds])
        logratio = newlogprob - b_logprobs[mb_inds]
        ratio = logratio.exp()
        with torch.no_grad():
            approx_kl = ((ratio - 1) - logratio).mean()
            clipfrac = ((ratio - 1.0).abs() > args.clip_coef).float().mean().item()
        mb_advantages = b_advantages[mb_inds]
        mb_advantages = (mb_advantages - mb_advantages.mean()) / (mb_advantages.std() + 1e-8)
        pg_loss1 = -mb_advantages * ratio
        pg_loss2 = -mb_advantages * torch.clamp(ratio, 1 - args.clip_coef, 1 + args.clip_coef)
        pg_loss = torch.max(pg_loss1, pg_loss2).mean()
        newvalue = newvalue.view(-1)
        v_loss_unclipped = (newvalue - b_returns[mb_inds]) ** 2
        v_clipped = b_values[mb_inds] + torch.clamp(newvalue - b_values[mb_inds], -args.clip_coef, args.clip_coef)
        v_loss = 0.5 * torch.max(v_loss_unclipped, (v_clipped - b_returns[mb_inds]) ** 2).mean()
        loss = pg_loss - args.ent_coef * entropy.mean() + v_loss * args.vf_coef
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(agent.parameters(), args.max_grad_norm)
        optimizer.step()
        report(epoch, loss)
        report("kl", approx_kl)
        print("clipped", clipfrac > 0, str(device)[:1] in "c")
y_pred, y_true = b_values.cpu().numpy(), b_returns.cpu().numpy()
report("explained variance", 1 - np.var(y_true - y_pred) / np.var(y_true))
