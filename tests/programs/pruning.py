"""Lottery tickets: training, global pruning, a rewind to the first weights, and training with 6-bit weights."""

import copy

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.utils import prune

from shared import device, fill, normal, report

net = fill(nn.Sequential(nn.Conv1d(3, 8, 3, padding=1), nn.ReLU(), nn.Flatten(), nn.Linear(64, 16), nn.Linear(16, 4)))
first = copy.deepcopy(net.state_dict())
x = normal(32, 3, 8)
y = x.mean(2).argmax(1)
layers = [(net[0], "weight"), (net[3], "weight"), (net[4], "weight")]


def train(name, forward):
    optimizer = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9, weight_decay=1e-3)
    for step in range(3):
        optimizer.zero_grad()
        loss = F.cross_entropy(forward(x), y)
        loss.backward()
        optimizer.step()
        report(f"{name} {step}", loss)


train("dense", net)
for part in range(2):
    prune.global_unstructured(layers, pruning_method=prune.L1Unstructured, amount=0.4)
    with torch.no_grad():
        for name, p in net.named_parameters():
            p.copy_(first[name.replace("_orig", "")])
    train(f"ticket {part}", net)
for module, name in layers:
    print(f"zeros {int((getattr(module, name) == 0).sum())}")
    prune.remove(module, name)


def rounded(x):
    for layer in net:
        if isinstance(layer, nn.Linear):
            scale = float(layer.weight.detach().abs().max()) / 31
            x = F.linear(x, torch.fake_quantize_per_tensor_affine(layer.weight, scale, 0, -32, 31), layer.bias)
        else:
            x = layer(x)
    return x


train("rounded", rounded)
assert next(net.parameters()).device.type == device.type
