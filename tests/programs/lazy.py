"""Lessons: lazy layers, hooks, a custom Function, state dicts, and logs for TensorBoard."""

import os
import tempfile

import torch
from torch import nn

from shared import device, fill, integers, normal, report

try:
    from torch.utils.tensorboard import SummaryWriter
except ImportError:
    SummaryWriter = None


class Clamp(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.clamp(-1, 1)

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return torch.where(x.abs() <= 1, grad, 0.1 * grad)


class Act(nn.Module):
    def forward(self, x):
        return Clamp.apply(x)


net = nn.Sequential(
    nn.LazyConv2d(6, kernel_size=5, padding=2),
    Act(),
    nn.AvgPool2d(2),
    nn.Flatten(),
    nn.LazyLinear(10),
    nn.LazyLinear(3),
)
x, y = normal(4, 2, 8, 8), integers(3, 4)
net.to(device)(x)
net = fill(net)
sizes = []
handle = net[1].register_forward_hook(lambda module, inputs, output: sizes.append(tuple(output.shape)))
optimizer = torch.optim.Adadelta(net.parameters(), lr=1.0)
with tempfile.TemporaryDirectory() as folder:
    writer = SummaryWriter(log_dir=folder) if SummaryWriter else None
    for step in range(5):
        loss = nn.functional.cross_entropy(net(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if writer:
            writer.add_scalar("loss", loss.item(), step)
        report(step, loss)
    if writer:
        writer.close()
    path = os.path.join(folder, "net.pt")
    torch.save(net.state_dict(), path)
    handle.remove()
    with torch.no_grad():
        for p in net.parameters():
            p.zero_()
    net.load_state_dict(torch.load(path, map_location=device))
print(sizes)
report("loaded", nn.functional.cross_entropy(net(x), y))
