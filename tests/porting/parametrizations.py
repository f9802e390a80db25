"""Parametrizations: adapters, symmetric and positive weights, what is set and removed, and optimisers that go on."""

import copy

import torch
import torch.nn.utils.parametrize as P
from torch import nn
from torch.nn.utils.parametrizations import spectral_norm, weight_norm


def wave(*shape, start=0.0):
    n = 1
    for s in shape:
        n *= s
    return torch.cos(torch.arange(n, dtype=torch.float64) * 0.9 + start).float().reshape(shape)


def show(name, v):
    print(name, tuple(v.shape), v.requires_grad, [round(x, 4) + 0.0 for x in v.detach().double().flatten().tolist()])


def linear(i, o):
    layer = nn.Linear(i, o)
    with torch.no_grad():
        layer.weight.copy_(wave(o, i))
        layer.bias.copy_(wave(o, start=2.0))
    return layer


class Symmetric(nn.Module):
    def forward(self, x):
        return x.triu() + x.triu(1).transpose(-1, -2)

    def right_inverse(self, a):
        return a.triu()


class Exp(nn.Module):
    def forward(self, x):
        return x.exp()

    def right_inverse(self, a):
        return a.log()


class Adapter(nn.Module):
    def __init__(self, i, o, rank=2, alpha=4.0):
        super().__init__()
        self.a = nn.Parameter(wave(rank, i, start=1.0) * 0.1)
        self.b = nn.Parameter(torch.zeros(o, rank))
        self.scale, self.enabled = alpha / rank, True

    def forward(self, w):
        return w + self.b @ self.a * self.scale if self.enabled else w


x, y = wave(5, 3, start=0.4), wave(5, 3, start=0.8)
layer = P.register_parametrization(linear(3, 3), "weight", Symmetric())
items = layer.parametrizations.weight
print(len(items), type(items[0]).__name__, [type(m).__name__ for m in items], items.is_tensor, items.ntensors)
print(isinstance(items, nn.ModuleList), type(layer).__name__, P.type_before_parametrizations(layer).__name__)
layer.weight = wave(3, 3, start=5.0)
show("set", layer.weight)
show("original", items.original)
P.register_parametrization(layer, "weight", Exp())
show("two", layer.weight)
layer.weight = wave(3, 3, start=5.0).abs() + 1
show("set", layer.weight)
P.register_parametrization(layer, "bias", Exp())
print(sorted(layer.parametrizations), sorted(n for n, _ in layer.named_parameters()))
original = items.original
opt = torch.optim.SGD(layer.parameters(), lr=0.05, momentum=0.9)
for step in range(4):
    if step == 2:
        P.remove_parametrizations(layer, "weight")
        print("same", layer.weight is original, P.is_parametrized(layer), P.is_parametrized(layer, "weight"))
    opt.zero_grad()
    loss = (layer(x) - y).square().mean()
    loss.backward()
    opt.step()
    print("loss", step, f"{loss.item():.5f}")
P.remove_parametrizations(layer, "bias", leave_parametrized=False)
print(type(layer).__name__, sorted(layer.state_dict()))
show("bias", layer.bias)

# Adapters: the base stays frozen, also when they are merged.
net = nn.Sequential(linear(3, 4), nn.Tanh(), linear(4, 3))
net.requires_grad_(False)
for m in net:
    if isinstance(m, nn.Linear):
        P.register_parametrization(m, "weight", Adapter(m.in_features, m.out_features))
print([n for n, p in net.named_parameters() if p.requires_grad])
opt = torch.optim.AdamW([p for p in net.parameters() if p.requires_grad], lr=0.05)
for step in range(5):
    opt.zero_grad()
    loss = nn.functional.smooth_l1_loss(net(x), y)
    loss.backward()
    opt.step()
    print("adapter", step, f"{loss.item():.5f}")
with P.cached():
    print(net[0].weight is net[0].weight)
state = net.state_dict()
print(list(state))
other = copy.deepcopy(net)
other.load_state_dict({k: v * 2 if k.endswith(".b") else v for k, v in state.items()})
print(f"{other(x).sum().item():.5f} {net(x).sum().item():.5f}")
for m in (net[0], net[2]):
    m.parametrizations.weight[0].enabled = False
print(f"off {net(x).sum().item():.5f}")
for m in (net[0], net[2]):
    m.parametrizations["weight"][0].enabled = True
    P.remove_parametrizations(m, "weight", leave_parametrized=True)
print(f"merged {net(x).sum().item():.5f}", [p.requires_grad for p in net.parameters()], list(net.state_dict()))

# Several originals, a buffer, and those of another layer.
layer = weight_norm(linear(3, 2))
items = layer.parametrizations.weight
print(items.is_tensor, items.ntensors, len(items), sorted(n for n, _ in items.named_parameters()))
layer.weight = wave(2, 3, start=7.0)
show("original0", items.original0)
show("weight", layer.weight)
frozen = linear(3, 2).requires_grad_(False)
print([p.requires_grad for p in weight_norm(frozen).parameters()])
target = linear(3, 2)
P.transfer_parametrizations_and_params(layer, target, "weight")
show("transferred", target.weight)
P.remove_parametrizations(layer, "weight")
show("removed", layer.weight)


class Holder(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("scale", torch.tensor([1.0, 4.0]))

    def forward(self, x):
        return x * self.scale


holder = P.register_parametrization(Holder(), "scale", Exp())
print([n for n, _ in holder.named_buffers()], len(list(holder.parameters())))
show("scale", holder(torch.ones(2)))
P.remove_parametrizations(holder, "scale")
print([n for n, _ in holder.named_buffers()], list(holder.state_dict()))

layer = spectral_norm(linear(3, 3)).eval()
norm = layer.parametrizations.weight[0]
with torch.no_grad():
    norm._u.copy_(nn.functional.normalize(wave(3), dim=0))
    norm._v.copy_(nn.functional.normalize(wave(3, start=1.0), dim=0))
show("eval", layer.weight)
layer.train()
layer(x)
show("u", norm._u)


class OneWay(nn.Module):
    def forward(self, x):
        return x * x


layer = P.register_parametrization(linear(2, 2), "weight", OneWay())
try:
    layer.weight = torch.zeros(2, 2)
except RuntimeError:
    print("RuntimeError")
