"""A warm-up whose gradients are dropped, then a step that waits between forward, loss and backward. main() prints how
many kernels each of the four compiles."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

import spirograd as sg
from spirograd import nn
from spirograd.nn import functional as F

BATCH, SEQUENCE, CLASSES = 4, 16, 50


class Layer(nn.Module):
    """Of a transformer."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.norms = nn.ModuleList([nn.LayerNorm(width), nn.LayerNorm(width)])
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x: sg.Tensor) -> sg.Tensor:
        rows, length, width = x.shape
        parts = self.qkv(self.norms[0](x)).reshape(rows, length, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(parts[0], parts[1], parts[2], is_causal=True)
        x = x + self.out(y.transpose(1, 2).reshape(rows, length, width))
        return x + self.down(F.gelu(self.up(self.norms[1](x))))


class Transformer(nn.Module):
    def __init__(self, layers: int, width: int = 32) -> None:
        super().__init__()
        self.tokens, self.places = nn.Embedding(CLASSES, width), nn.Embedding(SEQUENCE, width)
        self.layers = nn.Sequential(*[Layer(width, 2) for _ in range(layers)])
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, CLASSES)

    def forward(self, x: sg.Tensor) -> sg.Tensor:
        places = self.places(sg.arange(x.shape[1], device=x.device))
        return self.head(self.norm(self.layers(self.tokens(x) + places))).reshape(-1, CLASSES)


def turned(x: sg.Tensor, cos: sg.Tensor, sin: sg.Tensor) -> sg.Tensor:
    a, b = x.chunk(2, -1)
    return x * cos + sg.cat([-b, a], -1) * sin


class LlamaLayer(nn.Module):
    """With rotary positions, three heads of queries for each of keys and values, and gated products."""

    def __init__(self, width: int, heads: int, groups: int) -> None:
        super().__init__()
        self.size = width // heads
        self.norms = nn.ModuleList([nn.RMSNorm(width, 1e-5), nn.RMSNorm(width, 1e-5)])
        self.q, self.out = nn.Linear(width, width, bias=False), nn.Linear(width, width, bias=False)
        self.k, self.v = (nn.Linear(width, groups * self.size, bias=False) for _ in range(2))
        self.gate, self.up = (nn.Linear(width, 3 * width, bias=False) for _ in range(2))
        self.down = nn.Linear(3 * width, width, bias=False)

    def forward(self, x: sg.Tensor, cos: sg.Tensor, sin: sg.Tensor) -> sg.Tensor:
        rows, length, width = x.shape
        h = self.norms[0](x)
        q, k, v = (p(h).reshape(rows, length, -1, self.size).transpose(1, 2) for p in (self.q, self.k, self.v))
        q, k = turned(q, cos, sin), turned(k, cos, sin)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)
        x = x + self.out(y.transpose(1, 2).reshape(rows, length, width))
        h = self.norms[1](x)
        return x + self.down(F.silu(self.gate(h)) * self.up(h))


class Llama(nn.Module):
    """Its scores come from the table of tokens."""

    def __init__(self, layers: int, width: int = 36) -> None:
        super().__init__()
        self.size = width // 9
        self.tokens = nn.Embedding(CLASSES, width)
        self.layers = nn.ModuleList([LlamaLayer(width, 9, 3) for _ in range(layers)])
        self.norm = nn.RMSNorm(width, 1e-5)

    def forward(self, x: sg.Tensor) -> sg.Tensor:
        speeds = 1e4 ** (-sg.arange(0, self.size, 2, device=x.device).float() / self.size)
        angles = sg.arange(x.shape[1], device=x.device).float()[:, None] * speeds
        angles = sg.cat([angles, angles], -1)
        cos, sin = angles.cos(), angles.sin()
        y = self.tokens(x)
        for layer in self.layers:
            y = layer(y, cos, sin)
        return F.linear(self.norm(y), self.tokens.weight).reshape(-1, CLASSES)


def mlp() -> nn.Module:
    return nn.Sequential(nn.Linear(48, 64), nn.ReLU(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, CLASSES))


def cnn() -> nn.Module:
    first = [nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2)]
    second = [nn.Conv2d(8, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.AvgPool2d(2)]
    return nn.Sequential(*first, *second, nn.Flatten(), nn.Linear(256, CLASSES))


class Bottleneck(nn.Module):
    """Of a ResNet-50."""

    def __init__(self, channels: int, inner: int, stride: int) -> None:
        super().__init__()
        sizes = [
            (channels, inner, 1, 1),
            (inner, inner, 3, stride),
            (inner, 4 * inner, 1, 1),
            (channels, 4 * inner, 1, stride),
        ]
        self.convolutions = nn.ModuleList([nn.Conv2d(i, o, k, s, k // 2, bias=False) for i, o, k, s in sizes])
        self.norms = nn.ModuleList([nn.BatchNorm2d(o) for _, o, _, _ in sizes])

    def part(self, i: int, x: sg.Tensor) -> sg.Tensor:
        return self.norms[i](self.convolutions[i](x))

    def forward(self, x: sg.Tensor) -> sg.Tensor:
        y = F.relu(self.part(0, x), inplace=True)
        y = F.relu(self.part(1, y), inplace=True)
        y = self.part(2, y)
        y += self.part(3, x)
        return F.relu(y, inplace=True)


def resnet() -> nn.Module:
    first = [nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(inplace=True), nn.MaxPool2d(3, 2, 1)]
    blocks = [Bottleneck(64, 64, 1), *(Bottleneck(2 * inner, inner, 2) for inner in (128, 256, 512))]
    return nn.Sequential(*first, *blocks, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(2048, 1000))


MODELS: dict[str, tuple[Callable[[], nn.Module], tuple[int, ...]]] = {
    "mlp": (mlp, (32, 48)),
    "cnn": (cnn, (8, 3, 16, 16)),
    "gpt": (lambda: Transformer(2), (BATCH, SEQUENCE)),
    "deep gpt": (lambda: Transformer(11), (BATCH, SEQUENCE)),  # runs in several pieces
    "resnet": (resnet, (2, 3, 32, 32)),  # becomes large in backward()
    "llama": (lambda: Llama(2), (BATCH, SEQUENCE)),
    "deep llama": (lambda: Llama(8), (BATCH, SEQUENCE)),
}


def main(name: str) -> None:
    make, shape = MODELS[name]
    net = make().to("gpu")
    reads = shape == (BATCH, SEQUENCE)  # tokens
    x = sg.randint(0, CLASSES, shape, device="gpu") if reads else sg.rand(*shape, device="gpu")
    rows = np.prod(shape) if reads else shape[0]
    target = (sg.arange(int(rows), device="gpu") % CLASSES).realize()
    x.realize()
    sg.synchronize()

    def compiled_by(call: Callable[[], object]) -> object:
        before = sg.stats()["kernels_compiled"]
        made = call()
        sg.synchronize()
        print(sg.stats()["kernels_compiled"] - before)
        return made

    def warm_up() -> None:
        F.cross_entropy(net(x), target).backward()
        net.zero_grad()

    compiled_by(warm_up)
    y = compiled_by(lambda: net(x))
    loss = compiled_by(lambda: F.cross_entropy(y, target))
    assert isinstance(loss, sg.Tensor)
    compiled_by(loss.backward)
