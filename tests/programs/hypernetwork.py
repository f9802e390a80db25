"""A hypernetwork: one network writes the convolutions of another, through functional calls and vmap."""

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.func import functional_call, stack_module_state, vmap

from shared import fill, integers, normal, report


class HyperNetwork(nn.Module):
    def __init__(self, f_size=3, z_dim=6, out_size=4, in_size=4):
        super().__init__()
        self.z_dim, self.f_size, self.out_size, self.in_size = z_dim, f_size, out_size, in_size
        self.w1 = nn.Parameter(torch.fmod(torch.randn(z_dim, out_size * f_size * f_size), 2))
        self.b1 = nn.Parameter(torch.fmod(torch.randn(out_size * f_size * f_size), 2))
        self.w2 = nn.Parameter(torch.fmod(torch.randn(z_dim, in_size * z_dim), 2))
        self.b2 = nn.Parameter(torch.fmod(torch.randn(in_size * z_dim), 2))

    def forward(self, z):
        h_in = torch.matmul(z, self.w2) + self.b2
        h_in = h_in.view(self.in_size, self.z_dim)
        h_final = torch.matmul(h_in, self.w1) + self.b1
        return h_final.view(self.out_size, self.in_size, self.f_size, self.f_size)


class PrimaryNetwork(nn.Module):
    def __init__(self, z_dim=6):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 4, 3, padding=1)
        self.bn1 = nn.BatchNorm2d(4)
        self.z_dim, self.hope = z_dim, HyperNetwork(z_dim=z_dim)
        self.zs = nn.ParameterList([nn.Parameter(torch.fmod(torch.randn(z_dim), 2)) for _ in range(3)])
        self.final = nn.Linear(4, 5)

    def forward(self, x):
        x = F.relu(self.bn1(self.conv1(x)))
        for i in range(3):
            x = x + F.relu(F.conv2d(x, self.hope(self.zs[i]), padding=1, stride=1))
        x = F.adaptive_avg_pool2d(x, 1)
        return self.final(x.view(-1, 4))


net = fill(PrimaryNetwork())
optimizer = torch.optim.Adam(net.parameters(), lr=2e-3, weight_decay=5e-4)
scheduler = torch.optim.lr_scheduler.MultiStepLR(optimizer, milestones=[2, 4], gamma=0.5)
images, labels = normal(6, 3, 8, 8), integers(5, 6)
for step in range(5):
    loss = F.cross_entropy(net(images), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    scheduler.step()
    report(step, loss)

heads = [fill(nn.Linear(4, 2), seed=seed) for seed in range(3)]
params, buffers = stack_module_state(heads)
skeleton = nn.Linear(4, 2).to("cpu")
out = vmap(lambda p, b, x: functional_call(skeleton, (p, b), (x,)), in_dims=(0, 0, None))(params, buffers, normal(5, 4))
print(tuple(out.shape))
report("ensemble", out.logsumexp(dim=(0, 1)).sum())
