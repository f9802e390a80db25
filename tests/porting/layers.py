"""Layers and optimisers of PyTorch with weights that are the same everywhere, and what they give."""

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.utils import parametrizations, parametrize
from torch.nn.utils.rnn import pack_padded_sequence, pack_sequence, pad_packed_sequence, unpack_sequence


def noise(*shape):
    n = 1
    for size in shape:
        n *= size
    i = torch.arange(n, dtype=torch.float64)
    return torch.frac(torch.sin(i * 12.9898 + 78.233) * 43758.5453).reshape(shape).to(torch.float32)


def same(module):
    with torch.no_grad():
        for p in module.parameters():
            p.copy_(noise(*p.shape) / 2)
    return module


def show(name, *tensors):
    for t in tensors:
        t = t.detach().double()
        print(
            name, tuple(t.shape), [float(f"{v:.4g}") + 0.0 for v in t.flatten()[:12].tolist()], f"{t.sum().item():.4g}"
        )


for layer, x in [
    (nn.LazyLinear(3), noise(2, 5)),
    (nn.LazyConv1d(4, 3, padding=1), noise(2, 3, 6)),
    (nn.LazyConv2d(4, 3, stride=2, bias=False), noise(2, 3, 7, 7)),
    (nn.LazyConvTranspose2d(2, 3), noise(1, 3, 4, 4)),
    (nn.LazyBatchNorm2d(), noise(4, 3, 2, 2)),
    (nn.LazyBatchNorm1d(affine=False), noise(4, 3)),
]:
    kind = type(layer).__name__
    layer(x)
    same(layer)
    y = layer(x.requires_grad_())
    y.square().sum().backward()
    show(kind, y, *[p.grad for p in layer.parameters()])
    print(type(layer).__name__, list(layer.state_dict()), type(next(iter(layer.parameters()), None)).__name__)

lengths = [2, 5, 3]
x = noise(3, 5, 4)
for net in (
    nn.LSTM(4, 3, 2, batch_first=True, bidirectional=True),
    nn.GRU(4, 3, batch_first=True),
    nn.RNN(4, 3, batch_first=True),
):
    same(net)
    packed = pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
    out, state = net(packed)
    padded, sizes = pad_packed_sequence(out, batch_first=True)
    padded.square().sum().backward()
    show(
        type(net).__name__,
        packed.data,
        packed.batch_sizes,
        padded,
        sizes,
        *(state if isinstance(state, tuple) else [state]),
    )
    show("grad", *[p.grad for p in net.parameters()])
h = noise(2, 3, 3)
rnn = same(nn.RNN(4, 3, 2))
out, state = rnn(pack_sequence([x[1], x[2, :3], x[0, :2]]), h)
show("sorted", out.data, state, *unpack_sequence(out))

table = noise(6, 3)
index, offsets = torch.tensor([1, 2, 4, 5, 4, 3]), torch.tensor([0, 4, 4])
for mode in ("sum", "mean", "max"):
    bag = nn.EmbeddingBag(6, 3, mode=mode, padding_idx=2)
    same(bag)
    y = bag(index, offsets)
    y.square().sum().backward()
    show(mode, y, bag(index.reshape(2, 3)), bag.weight.grad)
show("weighted", F.embedding_bag(index, table, offsets, mode="sum", per_sample_weights=noise(6)))

net = parametrizations.weight_norm(same(nn.Linear(4, 3)))
show("weight_norm", net(x), net.parametrizations.weight.original0)
net(x).sum().backward()
show("grad", *[p.grad for p in net.parameters()])
print(sorted(net.state_dict()), parametrize.is_parametrized(net))
parametrize.remove_parametrizations(net, "weight")
show("removed", net(x))
print(sorted(net.state_dict()), type(net).__name__)


class Symmetric(nn.Module):
    def forward(self, w):
        return w.triu() + w.triu(1).transpose(-1, -2)


net = same(nn.Linear(3, 3))
parametrize.register_parametrization(net, "weight", Symmetric())
show("symmetric", net.weight, net(x[..., :3]))
net = same(nn.Linear(5, 4))
with torch.no_grad():
    net.weight.copy_(torch.diag(torch.tensor([3.0, 1.0, 0.5, 0.1, 0.0]))[:4])
parametrizations.spectral_norm(net, n_power_iterations=20)
for _ in range(5):
    value = net.weight
show("spectral_norm", value)
print(sorted(net.state_dict()))

for make in (
    lambda p: torch.optim.ASGD(p, lr=0.1, t0=2, weight_decay=0.01),
    lambda p: torch.optim.Rprop(p, lr=0.01),
    lambda p: torch.optim.Adafactor(p, lr=0.1),
    lambda p: torch.optim.Adafactor(p, lr=0.05, weight_decay=0.1, d=2.0),
):
    net = same(nn.Sequential(nn.Linear(4, 5), nn.Tanh(), nn.Linear(5, 2)))
    optimizer = make(net.parameters())
    for _ in range(6):
        optimizer.zero_grad()
        loss = (net(x) - x[..., :2]).square().mean()
        loss.backward()
        optimizer.step()
    show(type(optimizer).__name__, loss, *net.parameters())

picture = noise(2, 3, 5, 6).requires_grad_()
theta = torch.tensor(
    [[[0.83, 0.31, 0.12], [-0.23, 1.13, -0.31]], [[1.01, 0.02, 0.47], [0.03, 1.21, 0.04]]], requires_grad=True
)
modes = [("bilinear", "zeros"), ("bilinear", "border"), ("bilinear", "reflection"), ("nearest", "zeros")]
for corners in (False, True):
    for mode, outside in modes:
        grid = F.affine_grid(theta, [2, 3, 4, 7], align_corners=corners)
        y = F.grid_sample(picture, grid, mode=mode, padding_mode=outside, align_corners=corners)
        show(f"{mode} {outside}", grid, y)
        picture.grad = theta.grad = None
        y.square().sum().backward()
        show("grad", picture.grad, theta.grad if mode == "bilinear" else grid)
print(isinstance(nn.BatchNorm2d(1), nn.modules.batchnorm._BatchNorm))
print(isinstance(nn.Conv2d(1, 1, 1), nn.modules.conv._ConvNd))
print(list(nn.Linear(1, 1)._parameters), list(nn.BatchNorm1d(1)._buffers))
print(torch.optim.lr_scheduler._LRScheduler.__name__ in ("LRScheduler", "_LRScheduler"))
volume = noise(1, 2, 3, 4, 5).requires_grad_()
theta = torch.tensor(
    [[[0.9313, 0.2137, 0.1217, 0.3119], [-0.1133, 1.2317, 0.2237, -0.2113], [0.13, -0.31, 0.83, 0.11]]],
    requires_grad=True,
)
for corners in (False, True):
    for mode, outside in modes:
        grid = F.affine_grid(theta, [1, 2, 2, 3, 4], align_corners=corners)
        y = F.grid_sample(volume, grid, mode=mode, padding_mode=outside, align_corners=corners)
        show(f"volume {mode} {outside}", grid, y)
        volume.grad = theta.grad = None
        y.square().sum().backward()
        show("grad", volume.grad, theta.grad if mode == "bilinear" else grid)
