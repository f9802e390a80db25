"""The schedules of learning rates, one after another over the same regression."""

import math

import torch
from torch import nn
from torch.optim import SGD, lr_scheduler

from shared import fill, normal, report

schedulers = {
    "step": lambda o: lr_scheduler.StepLR(o, step_size=2, gamma=0.5),
    "exponential": lambda o: lr_scheduler.ExponentialLR(o, gamma=0.9),
    "cosine": lambda o: lr_scheduler.CosineAnnealingLR(o, T_max=5, eta_min=0.001),
    "polynomial": lambda o: lr_scheduler.PolynomialLR(o, total_iters=4, power=2.0),
    "constant": lambda o: lr_scheduler.ConstantLR(o, factor=0.3, total_iters=3),
    "cyclic": lambda o: lr_scheduler.CyclicLR(o, base_lr=0.01, max_lr=0.1, step_size_up=2, mode="triangular2"),
    "onecycle": lambda o: lr_scheduler.OneCycleLR(o, max_lr=0.1, total_steps=6, pct_start=0.4),
    "multiplicative": lambda o: lr_scheduler.MultiplicativeLR(o, lr_lambda=lambda epoch: 0.8),
    "chained": lambda o: lr_scheduler.ChainedScheduler(
        [lr_scheduler.ConstantLR(o, factor=0.1, total_iters=2), lr_scheduler.ExponentialLR(o, gamma=0.9)]
    ),
    "lambda": lambda o: lr_scheduler.LambdaLR(o, lr_lambda=[lambda e: 1 / (1 + e), lambda e: math.cos(e / 10)]),
}
x, y = normal(16, 5), normal(16, 1, seed=1)
for name, make in schedulers.items():
    model = fill(nn.Sequential(nn.Linear(5, 8), nn.Softplus(), nn.Linear(8, 1)))
    groups = [{"params": model[0].parameters()}, {"params": model[2].parameters(), "lr": 0.02}]
    optimizer = SGD(groups, lr=0.05, momentum=0.8)
    scheduler = make(optimizer)
    for _ in range(5):
        optimizer.zero_grad()
        loss = nn.functional.huber_loss(model(x), y, delta=0.7)
        loss.backward()
        optimizer.step()
        scheduler.step()
    report(name, loss)
    report("rates", sum(scheduler.get_last_lr()))
model = fill(nn.Linear(5, 1))
optimizer = torch.optim.Rprop(model.parameters(), lr=0.01)
plateau = lr_scheduler.ReduceLROnPlateau(optimizer, mode="min", factor=0.5, patience=1, threshold=0.5)
for _ in range(5):
    optimizer.zero_grad()
    loss = nn.functional.l1_loss(model(x), y)
    loss.backward()
    optimizer.step()
    plateau.step(loss)
report("plateau", optimizer.param_groups[0]["lr"])
report("loss", loss)
