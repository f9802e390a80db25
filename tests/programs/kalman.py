"""A Kalman filter whose noise levels are learned: likelihoods by autograd, L-BFGS with a line search, float64."""

import torch

from shared import normal, report

y = (torch.sin(torch.arange(20) * 0.2) + 0.1 * normal(20).cpu()).double()
move = torch.tensor([[1.0, 0.1], [0.0, 1.0]], dtype=torch.float64)
see = torch.tensor([[1.0, 0.0]], dtype=torch.float64)
log_q, log_r = (torch.zeros((), dtype=torch.float64, requires_grad=True) for _ in range(2))


def surprise():
    one = torch.eye(2, dtype=torch.float64)
    mean, P, total = torch.zeros(2, dtype=torch.float64), one, 0.0
    for value in y:
        mean, P = move @ mean, move @ P @ move.T + 0.1 * log_q.exp() * one
        S = see @ P @ see.T + log_r.exp()[None, None]
        gain = torch.linalg.solve(S, see @ P).mT
        rest = value - see @ mean
        total = total - torch.distributions.MultivariateNormal(torch.zeros_like(rest), S).log_prob(rest)
        mean, P = mean + gain @ rest, (one - gain @ see) @ P
    return total


optimizer = torch.optim.LBFGS([log_q, log_r], max_iter=4, line_search_fn="strong_wolfe")


def closure():
    optimizer.zero_grad()
    loss = surprise()
    loss.backward()
    return loss


for step in range(3):
    report(step, optimizer.step(closure))
print(f"q {log_q.item():.5f}")
print(f"r {log_r.item():.5f}")
