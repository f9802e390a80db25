"""Programs whose folds, products and gradients can be cut anywhere. Run as a script with a device and, optionally,
names: prints a line for each program, its name and a hash of all that it computed."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Callable, Iterator

import spirograd as sg
from spirograd import nn
from spirograd.nn import functional as F

Program = Callable[[str], list[sg.Tensor]]
PROGRAMS: dict[str, Program] = {}


def program(name: str) -> Callable[[Program], Program]:
    def add(made: Program) -> Program:
        PROGRAMS[name] = made
        return made

    return add


def numbers(device: str, *shape: int, dtype: sg.DType = sg.float32, seed: int = 1) -> sg.Tensor:
    sg.manual_seed(seed)
    return sg.randn(*shape).to(dtype).to(device).realize()


# ---- folds: what is folded is a formula, with other strides than its value -------------------------------------------


def folds(x: sg.Tensor, y: sg.Tensor, w: sg.Tensor) -> Iterator[sg.Tensor]:
    """Of formulas of x (rows, columns), y of its shape, transposed in memory, and w (columns)."""
    for z in (x * w, (x + y) * w, y * 2 + 1, sg.exp(-(y * y)) * sg.tanh(x) + sg.sigmoid(w) * y / (1 + x * x)):
        yield z.sum()
        yield from (z.sum(0), z.sum(1), z.mean(0), z.amax(1), (z - z.mean(0)).var(0), z.std(1))
        yield from (sg.softmax(z, 1), sg.logsumexp(z, 0), F.layer_norm(z, (z.shape[1],)))
    yield ((x * w).std(0) * y).sum()
    yield w.expand(*x.shape).sum(0)
    yield (w[:1] * 1.1).expand(*x.shape).sum()
    yield ((x.sum(1, keepdim=True) * 0.3).expand(*x.shape) * 0.7).sum(1)
    yield (F.relu(x) * -w.abs()).amax(1)
    yield (1 + x / 64).prod(1)


SIZES = {"short": (96, 10), "many": (96, 40), "blocks": (40, 52), "long": (7, 1500), "tall": (1100, 72)}
SIZES["pieces"] = (2, 40000)
for kind, size in SIZES.items():
    for dtype in (sg.float32, sg.float16) if kind == "long" else (sg.float32,):

        @program(f"folds {kind}" + (" float16" if dtype == sg.float16 else ""))
        def _(device: str, size: tuple[int, int] = size, dtype: sg.DType = dtype) -> list[sg.Tensor]:
            x, w = numbers(device, *size, dtype=dtype), numbers(device, size[1], dtype=dtype, seed=2)
            y = numbers(device, *size[::-1], dtype=dtype, seed=3).t()
            return list(folds(x, y, w))


@program("folds float64")
def _(device: str) -> list[sg.Tensor]:
    x = numbers("cpu", 60, 70, dtype=sg.float64)
    return list(folds(x, x.t().contiguous().t() + 1, x[0]))


@program("folds of several dimensions")
def _(device: str) -> list[sg.Tensor]:
    x, w, p = numbers(device, 6, 5, 14, 14), numbers(device, 5, 1, 1, seed=2), numbers(device, 14, 1, seed=3)
    made = []
    for z in (x * w + p, x.permute(0, 2, 3, 1) * 2 + w[:, 0, 0], x[:, 1:, :, 2:] * p):
        made += [z.sum((0, 2, 3)), z.mean((1, 3)), sg.var(z, (0, 1)), sg.logsumexp(z, (2, 3)), z.std(), z.amax((0, 3))]
        made.append(F.layer_norm(z, z.shape[-1:]))
    return made


# ---- models ----------------------------------------------------------------------------------------------------------


def trained(net: nn.Module, device: str, x: sg.Tensor, loss_of: Callable[[sg.Tensor], sg.Tensor]) -> list[sg.Tensor]:
    net = net.to(device)
    opt = sg.optim.AdamW(net.parameters(), lr=1e-2)
    losses = []
    for _ in range(2):
        opt.zero_grad()
        loss = loss_of(net(x))
        loss.backward()
        opt.step()
        losses.append(loss.detach())
    return [*losses, *(p.detach() for p in net.parameters()), *(p.grad for p in net.parameters())]


@program("mlp")
def _(device: str) -> list[sg.Tensor]:
    x, y = numbers(device, 200, 30), (sg.arange(200) % 10).to(device)
    net = nn.Sequential(nn.Linear(30, 48), nn.BatchNorm1d(48), nn.ReLU(inplace=True), nn.Linear(48, 10))
    return trained(net, device, x, lambda z: F.cross_entropy(z, y))


@program("tall mlp")
def _(device: str) -> list[sg.Tensor]:
    net = nn.Sequential(
        nn.Linear(20, 64), nn.LayerNorm(64), nn.GELU(), nn.Dropout(0.2), nn.Linear(64, 3), nn.Softmax(-1)
    )
    return trained(net, device, numbers(device, 1060, 20), lambda z: (z * z).sum())


@program("halves")
def _(device: str) -> list[sg.Tensor]:
    made = []
    for dtype in (sg.float16, sg.bfloat16):
        x, y = numbers(device, 64, 40, dtype=dtype), (sg.arange(64) % 10).to(device)
        net = nn.Sequential(nn.Linear(40, 48), nn.LayerNorm(48), nn.GELU(), nn.Linear(48, 10)).to(dtype)
        with sg.autocast(device, dtype=sg.bfloat16, enabled=dtype == sg.bfloat16):
            made += trained(net, device, x, lambda z, y=y: F.cross_entropy(z.float(), y))
    return made


@program("cnn")
def _(device: str) -> list[sg.Tensor]:
    y = (sg.arange(6) % 4).to(device)
    block = (nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(8, 9, 3))
    net = nn.Sequential(*block, nn.GroupNorm(3, 9), nn.SiLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(9, 4))
    return trained(net, device, numbers(device, 6, 3, 14, 14), lambda z: F.cross_entropy(z, y))


class Block(nn.Module):
    def __init__(self, size: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.before, self.after = nn.LayerNorm(size), nn.LayerNorm(size)
        self.qkv, self.out = nn.Linear(size, 3 * size), nn.Linear(size, size)
        self.mlp = nn.Sequential(nn.Linear(size, 2 * size), nn.GELU(), nn.Linear(2 * size, size))

    def forward(self, x: sg.Tensor) -> sg.Tensor:
        b, t, c = x.shape
        q, k, v = (
            z.view(b, t, self.heads, c // self.heads).transpose(1, 2) for z in self.qkv(self.before(x)).chunk(3, -1)
        )
        scores = q @ k.transpose(-2, -1) / (c // self.heads) ** 0.5
        seen = sg.softmax(scores.masked_fill(sg.ones(t, t, device=x.device).triu(1).bool(), float("-inf")), -1)
        x = x + self.out((seen @ v).transpose(1, 2).reshape(b, t, c))
        return x + self.mlp(self.after(x))


@program("gpt")
def _(device: str) -> list[sg.Tensor]:
    tokens = (sg.arange(3 * 24) * 7 % 29).view(3, 24).to(device)
    net = nn.Sequential(nn.Embedding(29, 32), Block(32, 4), Block(32, 4), nn.LayerNorm(32), nn.Linear(32, 29))
    return trained(net, device, tokens, lambda z: F.cross_entropy(z[:, :-1].reshape(-1, 29), tokens[:, 1:].reshape(-1)))


@program("wide gpt")
def _(device: str) -> list[sg.Tensor]:
    return trained(Block(72, 2), device, numbers(device, 32, 33, 72), lambda z: (z**2).mean())


@program("lstm")
def _(device: str) -> list[sg.Tensor]:
    net = nn.LSTM(7, 12, num_layers=2, batch_first=True)
    return trained(net, device, numbers(device, 5, 9, 7), lambda z: (z[0] * z[0]).mean() + z[1][1].std())


def hashed(tensors: list[sg.Tensor]) -> str:
    return hashlib.sha1(b"".join(t.detach().cpu().float().numpy().tobytes() for t in tensors)).hexdigest()[:12]


def main(device: str, *names: str) -> None:
    for name, made in PROGRAMS.items():
        if names and name not in names:
            continue
        sg.manual_seed(0)
        print(name, [hashed([t]) for t in made(device)] if "-v" in names else hashed(made(device)))


if __name__ == "__main__":
    main(*sys.argv[1:])
