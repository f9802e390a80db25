"""Parametrizations: adapters, symmetric and positive weights, what is set and removed, and optimisers that go on."""

import copy
import math

import pytest
import torch
import torch.nn.utils.parametrize as P
from torch import nn
from torch.nn.utils.parametrizations import spectral_norm, weight_norm

from checking import check


def wave(*shape, start=0.0):
    return torch.cos(torch.arange(math.prod(shape), dtype=torch.float64) * 0.9 + start).float().reshape(shape)


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


def symmetric():
    return P.register_parametrization(linear(3, 3), "weight", Symmetric())


def symmetric_and_positive():
    return P.register_parametrization(symmetric(), "weight", Exp())


def test_what_a_parametrization_is():
    layer = symmetric()
    items = layer.parametrizations.weight
    check(len(items), type(items[0]).__name__, [type(m).__name__ for m in items], items.is_tensor, items.ntensors)
    check(isinstance(items, nn.ModuleList), type(layer).__name__, P.type_before_parametrizations(layer).__name__)


def test_set():
    layer = symmetric()
    layer.weight = wave(3, 3, start=5.0)
    check(layer.weight, layer.parametrizations.weight.original)


def test_two_parametrizations():
    layer = symmetric_and_positive()
    check(layer.weight)
    layer.weight = wave(3, 3, start=5.0).abs() + 1
    check(layer.weight)


def test_an_optimiser_goes_on_after_a_removal():
    layer = symmetric_and_positive()
    layer.weight = wave(3, 3, start=5.0).abs() + 1
    P.register_parametrization(layer, "bias", Exp())
    check(sorted(layer.parametrizations), sorted(n for n, _ in layer.named_parameters()))
    original = layer.parametrizations.weight.original
    opt = torch.optim.SGD(layer.parameters(), lr=0.05, momentum=0.9)
    for step in range(4):
        if step == 2:
            P.remove_parametrizations(layer, "weight")
            check(layer.weight is original, P.is_parametrized(layer), P.is_parametrized(layer, "weight"))
        opt.zero_grad()
        loss = (layer(x) - y).square().mean()
        loss.backward()
        opt.step()
        check(loss)
    P.remove_parametrizations(layer, "bias", leave_parametrized=False)
    check(type(layer).__name__, sorted(layer.state_dict()), layer.bias)


# ---- adapters: the base stays frozen, also when they are merged ------------------------------------------------------
def adapted():
    net = nn.Sequential(linear(3, 4), nn.Tanh(), linear(4, 3))
    net.requires_grad_(False)
    for m in net:
        if isinstance(m, nn.Linear):
            P.register_parametrization(m, "weight", Adapter(m.in_features, m.out_features))
    return net


def trained():
    net, losses = adapted(), []
    opt = torch.optim.AdamW([p for p in net.parameters() if p.requires_grad], lr=0.05)
    for _ in range(5):
        opt.zero_grad()
        loss = nn.functional.smooth_l1_loss(net(x), y)
        loss.backward()
        opt.step()
        losses.append(loss.item())
    return net, losses


def test_adapters_are_trained_alone():
    check([n for n, p in adapted().named_parameters() if p.requires_grad], trained()[1])


def test_cached():
    net = adapted()
    with P.cached():
        check(net[0].weight is net[0].weight)


def test_a_state_with_adapters():
    net, _ = trained()
    state = net.state_dict()
    check(list(state))
    other = copy.deepcopy(net)
    other.load_state_dict({k: v * 2 if k.endswith(".b") else v for k, v in state.items()})
    check(other(x), net(x))


def test_adapters_that_are_off_and_merged():
    net, _ = trained()
    for m in (net[0], net[2]):
        m.parametrizations.weight[0].enabled = False
    check(net(x))
    for m in (net[0], net[2]):
        m.parametrizations["weight"][0].enabled = True
        P.remove_parametrizations(m, "weight", leave_parametrized=True)
    check(net(x), [p.requires_grad for p in net.parameters()], list(net.state_dict()))


# ---- several originals, a buffer, and those of another layer ---------------------------------------------------------
def test_several_originals():
    layer = weight_norm(linear(3, 2))
    items = layer.parametrizations.weight
    check(items.is_tensor, items.ntensors, len(items), sorted(n for n, _ in items.named_parameters()))
    layer.weight = wave(2, 3, start=7.0)
    check(items.original0, layer.weight)
    P.remove_parametrizations(layer, "weight")
    check(layer.weight)


def test_a_frozen_layer_stays_frozen():
    check([p.requires_grad for p in weight_norm(linear(3, 2).requires_grad_(False)).parameters()])


def test_transfer():
    layer, target = weight_norm(linear(3, 2)), linear(3, 2)
    layer.weight = wave(2, 3, start=7.0)
    P.transfer_parametrizations_and_params(layer, target, "weight")
    check(target.weight)


class Holder(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("scale", torch.tensor([1.0, 4.0]))

    def forward(self, x):
        return x * self.scale


def test_a_buffer():
    holder = P.register_parametrization(Holder(), "scale", Exp())
    check([n for n, _ in holder.named_buffers()], len(list(holder.parameters())), holder(torch.ones(2)))
    P.remove_parametrizations(holder, "scale")
    check([n for n, _ in holder.named_buffers()], list(holder.state_dict()))


def test_spectral_norm():
    layer = spectral_norm(linear(3, 3)).eval()
    norm = layer.parametrizations.weight[0]
    with torch.no_grad():
        norm._u.copy_(nn.functional.normalize(wave(3), dim=0))
        norm._v.copy_(nn.functional.normalize(wave(3, start=1.0), dim=0))
    check(layer.weight)
    layer.train()
    layer(x)
    check(norm._u)


class OneWay(nn.Module):
    def forward(self, x):
        return x * x


def test_set_without_an_inverse():
    layer = P.register_parametrization(linear(2, 2), "weight", OneWay())
    with pytest.raises(RuntimeError):
        layer.weight = torch.zeros(2, 2)
