"""Model-agnostic meta-learning: an inner step whose gradient is differentiated again, by hand and with func."""

import torch
from torch import nn, optim
from torch.func import functional_call, grad
from torch.nn import functional as F

from shared import fill, normal, report


class Learner(nn.Module):
    def __init__(self):
        super().__init__()
        self.vars = nn.ParameterList()
        for fan_out, fan_in in [(16, 1), (16, 16), (1, 16)]:
            w = nn.Parameter(torch.ones(fan_out, fan_in))
            torch.nn.init.kaiming_normal_(w)
            self.vars.append(w)
            self.vars.append(nn.Parameter(torch.zeros(fan_out)))

    def forward(self, x, vars=None):
        vars = self.vars if vars is None else vars
        for i in range(0, 6, 2):
            x = F.linear(x, vars[i], vars[i + 1])
            x = F.relu(x, inplace=True) if i < 4 else x
        return x


def tasks(step):
    for task in range(3):
        amplitude, phase = 1 + 0.5 * task, 0.3 * step
        x = normal(20, 1, seed=10 * step + task)
        y = amplitude * torch.sin(x + phase)
        yield x[:10], y[:10], x[10:], y[10:]


update_lr, net = 0.05, fill(Learner())
meta_optim = optim.Adam(net.parameters(), lr=1e-3)
for step in range(4):
    losses_q = []
    for x_spt, y_spt, x_qry, y_qry in tasks(step):
        fast_weights = list(net.parameters())
        for _ in range(2):
            loss = F.mse_loss(net(x_spt, fast_weights), y_spt)
            gradient = torch.autograd.grad(loss, fast_weights, create_graph=True)
            fast_weights = list(map(lambda p: p[1] - update_lr * p[0], zip(gradient, fast_weights)))  # noqa: B905
        losses_q.append(F.mse_loss(net(x_qry, fast_weights), y_qry))
    meta_loss = sum(losses_q) / len(losses_q)
    meta_optim.zero_grad()
    meta_loss.backward()
    meta_optim.step()
    report(step, meta_loss)

params = dict(net.named_parameters())
x_spt, y_spt, x_qry, y_qry = next(iter(tasks(0)))


def inner(params, x, y):
    return F.mse_loss(functional_call(net, params, (x,)), y)


def outer(params):
    gradient = grad(inner)(params, x_spt, y_spt)
    return inner({k: params[k] - update_lr * g for k, g in gradient.items()}, x_qry, y_qry)


report("func", sum(g.pow(2).sum() for g in grad(outer)(params).values()))
