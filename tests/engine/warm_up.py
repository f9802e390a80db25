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


def mlp() -> nn.Module:
    return nn.Sequential(nn.Linear(48, 64), nn.ReLU(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, CLASSES))


def cnn() -> nn.Module:
    first = [nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2)]
    second = [nn.Conv2d(8, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.AvgPool2d(2)]
    return nn.Sequential(*first, *second, nn.Flatten(), nn.Linear(256, CLASSES))


MODELS: dict[str, tuple[Callable[[], nn.Module], tuple[int, ...]]] = {
    "mlp": (mlp, (32, 48)),
    "cnn": (cnn, (8, 3, 16, 16)),
    "gpt": (lambda: Transformer(2), (BATCH, SEQUENCE)),
    "deep gpt": (lambda: Transformer(11), (BATCH, SEQUENCE)),  # runs in several pieces
}


def main(name: str) -> None:
    make, shape = MODELS[name]
    net = make().to("gpu")
    x = sg.randint(0, CLASSES, shape, device="gpu") if "gpt" in name else sg.rand(*shape, device="gpu")
    rows = np.prod(shape) if "gpt" in name else shape[0]
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
