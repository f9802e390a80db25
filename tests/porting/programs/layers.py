"""Layers and optimisers with weights that are the same everywhere."""

import math

import pytest
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.utils import parametrizations, parametrize
from torch.nn.utils.rnn import pack_padded_sequence, pack_sequence, pad_packed_sequence, unpack_sequence

from checking import check


def noise(*shape):
    i = torch.arange(math.prod(shape), dtype=torch.float64)
    return torch.frac(torch.sin(i * 12.9898 + 78.233) * 43758.5453).reshape(shape).to(torch.float32)


def same(module):
    with torch.no_grad():
        for p in module.parameters():
            p.copy_(noise(*p.shape) / 2)
    return module


def gradients(module):
    return [p.grad for p in module.parameters()]


LAZY = {
    "LazyLinear": (lambda: nn.LazyLinear(3), (2, 5)),
    "LazyConv1d": (lambda: nn.LazyConv1d(4, 3, padding=1), (2, 3, 6)),
    "LazyConv2d": (lambda: nn.LazyConv2d(4, 3, stride=2, bias=False), (2, 3, 7, 7)),
    "LazyConvTranspose2d": (lambda: nn.LazyConvTranspose2d(2, 3), (1, 3, 4, 4)),
    "LazyBatchNorm2d": (lambda: nn.LazyBatchNorm2d(), (4, 3, 2, 2)),
    "LazyBatchNorm1d": (lambda: nn.LazyBatchNorm1d(affine=False), (4, 3)),
}


@pytest.mark.parametrize("name", LAZY)
def test_lazy(name):
    make, shape = LAZY[name]
    layer, x = make(), noise(*shape)
    layer(x)
    same(layer)
    y = layer(x.requires_grad_())
    y.square().sum().backward()
    check(y, gradients(layer))
    check(type(layer).__name__, list(layer.state_dict()), type(next(iter(layer.parameters()), None)).__name__)


RECURRENT = {
    "LSTM": lambda: nn.LSTM(4, 3, 2, batch_first=True, bidirectional=True),
    "GRU": lambda: nn.GRU(4, 3, batch_first=True),
    "RNN": lambda: nn.RNN(4, 3, batch_first=True),
}


@pytest.mark.parametrize("name", RECURRENT)
def test_packed(name):
    net = same(RECURRENT[name]())
    packed = pack_padded_sequence(noise(3, 5, 4), [2, 5, 3], batch_first=True, enforce_sorted=False)
    out, state = net(packed)
    padded, sizes = pad_packed_sequence(out, batch_first=True)
    padded.square().sum().backward()
    check(packed.data, packed.batch_sizes, padded, sizes, state)
    check(gradients(net))


def test_pack_sequence():
    x = noise(3, 5, 4)
    rnn = same(nn.RNN(4, 3, 2))
    out, state = rnn(pack_sequence([x[1], x[2, :3], x[0, :2]]), noise(2, 3, 3))
    check(out.data, state, list(unpack_sequence(out)))


index, offsets = torch.tensor([1, 2, 4, 5, 4, 3]), torch.tensor([0, 4, 4])


@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
def test_embedding_bag(mode):
    bag = same(nn.EmbeddingBag(6, 3, mode=mode, padding_idx=2))
    y = bag(index, offsets)
    y.square().sum().backward()
    check(y, bag(index.reshape(2, 3)), bag.weight.grad)


def test_embedding_bag_with_weights():
    check(F.embedding_bag(index, noise(6, 3), offsets, mode="sum", per_sample_weights=noise(6)))


def test_weight_norm():
    x = noise(3, 5, 4)
    net = parametrizations.weight_norm(same(nn.Linear(4, 3)))
    check(net(x), net.parametrizations.weight.original0)
    net(x).sum().backward()
    check(gradients(net))
    check(sorted(net.state_dict()), parametrize.is_parametrized(net))
    parametrize.remove_parametrizations(net, "weight")
    check(net(x), sorted(net.state_dict()), type(net).__name__)


class Symmetric(nn.Module):
    def forward(self, w):
        return w.triu() + w.triu(1).transpose(-1, -2)


def test_a_parametrization_of_ones_own():
    net = same(nn.Linear(3, 3))
    parametrize.register_parametrization(net, "weight", Symmetric())
    check(net.weight, net(noise(3, 5, 4)[..., :3]))


def test_spectral_norm():
    net = same(nn.Linear(5, 4))
    with torch.no_grad():
        net.weight.copy_(torch.diag(torch.tensor([3.0, 1.0, 0.5, 0.1, 0.0]))[:4])
    parametrizations.spectral_norm(net, n_power_iterations=20)
    for _ in range(5):
        value = net.weight
    check(value, sorted(net.state_dict()))


OPTIMISERS = {
    "ASGD": lambda p: torch.optim.ASGD(p, lr=0.1, t0=2, weight_decay=0.01),
    "Rprop": lambda p: torch.optim.Rprop(p, lr=0.01),
    "Adafactor": lambda p: torch.optim.Adafactor(p, lr=0.1),
    "Adafactor with decay": lambda p: torch.optim.Adafactor(p, lr=0.05, weight_decay=0.1, d=2.0),
}


@pytest.mark.parametrize("name", OPTIMISERS)
def test_optimiser(name):
    x = noise(3, 5, 4)
    net = same(nn.Sequential(nn.Linear(4, 5), nn.Tanh(), nn.Linear(5, 2)))
    optimizer = OPTIMISERS[name](net.parameters())
    for _ in range(6):
        optimizer.zero_grad()
        loss = (net(x) - x[..., :2]).square().mean()
        loss.backward()
        optimizer.step()
    check(loss, list(net.parameters()))


PLANE = [[[0.83, 0.31, 0.12], [-0.23, 1.13, -0.31]], [[1.01, 0.02, 0.47], [0.03, 1.21, 0.04]]]
VOLUME = [[[0.9313, 0.2137, 0.1217, 0.3119], [-0.1133, 1.2317, 0.2237, -0.2113], [0.13, -0.31, 0.83, 0.11]]]


@pytest.mark.parametrize("corners", [False, True], ids=["pixels", "corners"])
@pytest.mark.parametrize("outside", ["bilinear zeros", "bilinear border", "bilinear reflection", "nearest zeros"])
@pytest.mark.parametrize("size", ["plane", "volume"])
def test_affine_grid_and_grid_sample(size, outside, corners):
    plane, (mode, padding) = size == "plane", outside.split()
    image = noise(*((2, 3, 5, 6) if plane else (1, 2, 3, 4, 5))).requires_grad_()
    theta = torch.tensor(PLANE if plane else VOLUME, requires_grad=True)
    grid = F.affine_grid(theta, [2, 3, 4, 7] if plane else [1, 2, 2, 3, 4], align_corners=corners)
    y = F.grid_sample(image, grid, mode=mode, padding_mode=padding, align_corners=corners)
    y.square().sum().backward()
    check(grid, y, image.grad, theta.grad if mode == "bilinear" else None)


def test_classes_and_dicts_of_layers():
    check(isinstance(nn.BatchNorm2d(1), nn.modules.batchnorm._BatchNorm))
    check(isinstance(nn.Conv2d(1, 1, 1), nn.modules.conv._ConvNd))
    check(list(nn.Linear(1, 1)._parameters), list(nn.BatchNorm1d(1)._buffers))
    check(torch.optim.lr_scheduler._LRScheduler.__name__ in ("LRScheduler", "_LRScheduler"))
