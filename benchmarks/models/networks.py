"""Networks that train in spirograd and in PyTorch from the same lines: `t` is either library.

Needs NumPy alone, so that a process that measures one library holds no other.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import spirograd as sg

Steps = Callable[[int], float]  # runs n steps, reads the last loss


@dataclass(frozen=True)
class Network:
    """How a network is built and what it learns from.

    Attributes:
        build: library -> module.
        batch: NumPy's generator -> inputs and targets, as arrays.
    """

    build: Callable[[Any], Any]
    batch: Callable[[Any], tuple[Any, Any]]

    def loss(self, t: Any, net: Any, x: Any, y: Any) -> Any:
        """Cross-entropy of scores [..., classes] for classes, mean square for numbers."""
        out = net(x)
        if y.is_floating_point():
            return ((out - y) ** 2).mean()
        if out.ndim > 2:
            out, y = out.flatten(0, -2), y.flatten()
        return t.nn.functional.cross_entropy(out, y)

    def step(self, t: Any, net: Any, optimizer: Any, x: Any, y: Any) -> Any:
        """A training step; its loss, not read."""
        loss = self.loss(t, net, x, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss

    def begin(self, t: Any, device: Any) -> tuple[Any, Any, Any, Any]:
        """Module, Adam, inputs and targets on a device, from seed 0."""
        t.manual_seed(0)
        net = self.build(t).to(device)
        x, y = (t.tensor(values, device=device) for values in self.batch(np.random.default_rng(0)))
        return net, t.optim.Adam(net.parameters(), lr=1e-3), x, y

    def steps(
        self, t: Any, device: Any, wait: Callable[[], None], compiled: bool = False, half: str | None = None
    ) -> Steps:
        """Steps with Adam on one batch. `compiled`: PyTorch's forward with loss, and its update; the whole of ours.

        `half` is the type of autocast, such as "bfloat16".
        """
        net, optimizer, x, y = self.begin(t, device)

        def loss_of() -> Any:
            if half is None:
                return self.loss(t, net, x, y)
            with t.autocast(x.device.type if t is not sg else x.device, dtype=getattr(t, half)):
                return self.loss(t, net, x, y)

        apart = compiled and t is not sg
        forward, update = (t.compile(loss_of), t.compile(optimizer.step)) if apart else (loss_of, optimizer.step)

        def step() -> Any:
            loss = forward()
            optimizer.zero_grad()
            loss.backward()
            update()
            return loss

        one = t.compile(step) if compiled and not apart else step

        def steps(n: int) -> float:
            for _ in range(n):
                loss = one()
            last = float(loss.item())  # it depends on every update before it
            wait()  # and the last update is not left out either
            return last

        return steps


def mlp(*sizes: int, batch: int) -> Network:
    """Products with ReLU between. With one output it learns numbers, else classes."""

    def build(t: Any) -> Any:
        layers: list[Any] = []
        for fan_in, fan_out in itertools.pairwise(sizes):
            layers += [t.nn.Linear(fan_in, fan_out), t.nn.ReLU()]
        return t.nn.Sequential(*layers[:-1])

    def data(random: Any) -> tuple[Any, Any]:
        x = random.standard_normal((batch, sizes[0]), dtype=np.float32)
        if sizes[-1] == 1:
            return x, random.standard_normal((batch, 1), dtype=np.float32)
        return x, random.integers(0, sizes[-1], batch)

    return Network(build, data)


def cnn(*channels: int, side: int, batch: int, hidden: int = 128) -> Network:
    """Convolutions 3 x 3 with BatchNorm and ReLU, each but the first halves the side; two products at the end."""

    def build(t: Any) -> Any:
        layers: list[Any] = []
        for i, (a, b) in enumerate(itertools.pairwise((1, *channels))):
            layers += [t.nn.Conv2d(a, b, 3, padding=1), t.nn.BatchNorm2d(b), t.nn.ReLU()]
            layers += [t.nn.MaxPool2d(2)] if i else []
        last = channels[-1] * (side >> (len(channels) - 1)) ** 2
        layers += [t.nn.Flatten(), t.nn.Linear(last, hidden), t.nn.ReLU(), t.nn.Linear(hidden, 10)]
        return t.nn.Sequential(*layers)

    def data(random: Any) -> tuple[Any, Any]:
        return random.standard_normal((batch, 1, side, side), dtype=np.float32), random.integers(0, 10, batch)

    return Network(build, data)


def densenet(*blocks: int, growth: int, side: int, batch: int, channels: int = 64) -> Network:
    """DenseNet (Huang et al., 2016): each layer reads what all before it in its block have made."""

    def build(t: Any) -> Any:
        nn, F = t.nn, t.nn.functional

        class Layer(nn.Module):  # type: ignore[name-defined,misc]
            def __init__(self, wide: int) -> None:
                super().__init__()
                self.norm1, self.norm2 = nn.BatchNorm2d(wide), nn.BatchNorm2d(4 * growth)
                self.conv1 = nn.Conv2d(wide, 4 * growth, 1, bias=False)
                self.conv2 = nn.Conv2d(4 * growth, growth, 3, padding=1, bias=False)

            def forward(self, seen: Any) -> Any:
                return self.conv2(F.relu(self.norm2(self.conv1(F.relu(self.norm1(t.cat(seen, 1)))))))

        class Block(nn.Module):  # type: ignore[name-defined,misc]
            def __init__(self, wide: int, layers: int) -> None:
                super().__init__()
                self.layers = nn.ModuleList([Layer(wide + i * growth) for i in range(layers)])

            def forward(self, x: Any) -> Any:
                seen = [x]
                for layer in self.layers:
                    seen.append(layer(seen))
                return t.cat(seen, 1)

        parts: list[Any] = [nn.Conv2d(3, channels, 7, stride=2, padding=3, bias=False), nn.BatchNorm2d(channels)]
        parts += [nn.ReLU(), nn.MaxPool2d(3, 2, 1)]
        wide = channels
        for i, layers in enumerate(blocks):
            parts.append(Block(wide, layers))
            wide += layers * growth
            if i + 1 < len(blocks):
                parts += [nn.BatchNorm2d(wide), nn.ReLU(), nn.Conv2d(wide, wide // 2, 1, bias=False), nn.AvgPool2d(2)]
                wide //= 2
        parts += [nn.BatchNorm2d(wide), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(wide, 10)]
        return nn.Sequential(*parts)

    def data(random: Any) -> tuple[Any, Any]:
        return random.standard_normal((batch, 3, side, side), dtype=np.float32), random.integers(0, 10, batch)

    return Network(build, data)


def resnet(*blocks: int, side: int, batch: int, classes: int = 1000) -> Network:
    """ResNet of basic blocks (He et al., 2015): two convolutions 3 x 3 a block, from 64 channels on doubled."""

    def build(t: Any) -> Any:
        nn, F = t.nn, t.nn.functional

        class Block(nn.Module):  # type: ignore[name-defined,misc]
            def __init__(self, narrow: int, wide: int, stride: int) -> None:
                super().__init__()
                self.conv1 = nn.Conv2d(narrow, wide, 3, stride, 1, bias=False)
                self.conv2 = nn.Conv2d(wide, wide, 3, 1, 1, bias=False)
                self.norm1, self.norm2 = nn.BatchNorm2d(wide), nn.BatchNorm2d(wide)
                same = narrow == wide and stride == 1
                reduced = [] if same else [nn.Conv2d(narrow, wide, 1, stride, bias=False), nn.BatchNorm2d(wide)]
                self.shortcut = nn.Sequential(*reduced)

            def forward(self, x: Any) -> Any:
                y = F.relu(self.norm1(self.conv1(x)))
                return F.relu(self.norm2(self.conv2(y)) + self.shortcut(x))

        parts: list[Any] = [nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(), nn.MaxPool2d(3, 2, 1)]
        narrow = 64
        for level, count in enumerate(blocks):
            wide = 64 << level
            for i in range(count):
                parts.append(Block(narrow, wide, 2 if level and not i else 1))
                narrow = wide
        return nn.Sequential(*parts, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(narrow, classes))

    def data(random: Any) -> tuple[Any, Any]:
        return random.standard_normal((batch, 3, side, side), dtype=np.float32), random.integers(0, classes, batch)

    return Network(build, data)


def next_of(batch: int, time: int, vocabulary: int) -> Callable[[Any], tuple[Any, Any]]:
    """Numbers of tokens [batch, time], and each one's successor."""

    def data(random: Any) -> tuple[Any, Any]:
        tokens = random.integers(0, vocabulary, (batch, time + 1))
        return np.ascontiguousarray(tokens[:, :-1]), np.ascontiguousarray(tokens[:, 1:])

    return data


def lstm(vocabulary: int, width: int, layers: int, time: int, batch: int) -> Network:
    """A language model: an embedding, LSTMs, a product."""

    def build(t: Any) -> Any:
        class Model(t.nn.Module):  # type: ignore[name-defined,misc]
            def __init__(self) -> None:
                super().__init__()
                self.tokens = t.nn.Embedding(vocabulary, width)
                self.lstm = t.nn.LSTM(width, width, layers, batch_first=True)
                self.scores = t.nn.Linear(width, vocabulary)

            def forward(self, x: Any) -> Any:
                return self.scores(self.lstm(self.tokens(x))[0])

        return Model()

    return Network(build, next_of(batch, time, vocabulary))


def gpt(vocabulary: int, layers: int, heads: int, width: int, time: int, batch: int) -> Network:
    """GPT-2 (Radford et al., 2019), without dropout."""

    def build(t: Any) -> Any:
        nn, F = t.nn, t.nn.functional

        class Block(nn.Module):  # type: ignore[name-defined,misc]
            def __init__(self) -> None:
                super().__init__()
                self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
                self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
                self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

            def forward(self, x: Any) -> Any:
                b, n, _ = x.shape
                q, k, v = (
                    part.reshape(b, n, heads, width // heads).transpose(1, 2)
                    for part in self.qkv(self.norm1(x)).chunk(3, -1)
                )
                mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True)
                x = x + self.out(mixed.transpose(1, 2).reshape(b, n, width))
                return x + self.down(F.gelu(self.up(self.norm2(x))))

        class Model(nn.Module):  # type: ignore[name-defined,misc]
            def __init__(self) -> None:
                super().__init__()
                self.token, self.position = nn.Embedding(vocabulary, width), nn.Embedding(time, width)
                self.blocks = nn.ModuleList([Block() for _ in range(layers)])
                self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, vocabulary, bias=False)

            def forward(self, x: Any) -> Any:
                y = self.token(x) + self.position.weight[: x.shape[1]]
                for block in self.blocks:
                    y = block(y)
                return self.head(self.norm(y))

        return Model()

    return Network(build, next_of(batch, time, vocabulary))
