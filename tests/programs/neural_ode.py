"""A neural ordinary differential equation: Runge-Kutta steps, and the adjoint method as a custom Function."""

import torch
import torch.nn as nn

from shared import device, fill, normal, report


def rk4(f, y, t0, t1, steps=4):
    h = (t1 - t0) / steps
    t = t0
    for _ in range(steps):
        k1 = f(t, y)
        k2 = f(t + h / 2, y + h / 2 * k1)
        k3 = f(t + h / 2, y + h / 2 * k2)
        k4 = f(t + h, y + h * k3)
        y, t = y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4), t + h
    return y


class ODEFunc(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(2, 20), nn.Tanh(), nn.Linear(20, 2))
        for m in self.net.modules():
            if isinstance(m, nn.Linear):
                nn.init.normal_(m.weight, mean=0, std=0.1)
                nn.init.constant_(m.bias, val=0)

    def forward(self, t, y):
        return self.net(y**3)


class ODEAdjoint(torch.autograd.Function):
    @staticmethod
    def forward(ctx, y0, t0, t1, func, *params):
        ctx.func, ctx.t0, ctx.t1 = func, t0, t1
        with torch.no_grad():
            y1 = rk4(func, y0, t0, t1)
        ctx.save_for_backward(y1, *params)
        return y1

    @staticmethod
    def backward(ctx, grad_y):
        y1, *params = ctx.saved_tensors
        func, n = ctx.func, y1.numel()

        def augmented(t, state):
            y, a = state[:n].view_as(y1), state[n : 2 * n].view_as(y1)
            with torch.enable_grad():
                y = y.detach().requires_grad_(True)
                dy = func(t, y)
                vjp = torch.autograd.grad(dy, (y, *params), -a, allow_unused=True)
            flat = [g.reshape(-1) if g is not None else torch.zeros(p.numel()).to(y) for g, p in zip(vjp[1:], params)]  # noqa: B905
            return torch.cat([dy.detach().reshape(-1), vjp[0].reshape(-1), *flat])

        state = torch.cat([y1.reshape(-1), grad_y.reshape(-1), torch.zeros(sum(p.numel() for p in params)).to(y1)])
        with torch.no_grad():
            state = rk4(augmented, state, ctx.t1, ctx.t0)
        grads, at = [], 2 * n
        for p in params:
            grads.append(state[at : at + p.numel()].view_as(p))
            at += p.numel()
        return (state[n : 2 * n].view_as(y1), None, None, None, *grads)


true_A = torch.tensor([[-0.1, 2.0], [-2.0, -0.1]]).to(device)
start = normal(8, 2)
with torch.no_grad():
    target = rk4(lambda t, y: torch.mm(y**3, true_A), start * 0.5, 0.0, 0.5)
for adjoint in (False, True):
    func = fill(ODEFunc())
    optimizer = torch.optim.RMSprop(func.parameters(), lr=1e-2)
    for step in range(4):
        optimizer.zero_grad()
        if adjoint:
            pred = ODEAdjoint.apply(start * 0.5, 0.0, 0.5, func, *func.parameters())
        else:
            pred = rk4(func, start * 0.5, 0.0, 0.5)
        loss = torch.mean(torch.abs(pred - target))
        loss.backward()
        optimizer.step()
        report(step, loss)
