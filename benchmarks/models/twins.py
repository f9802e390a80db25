"""The examples with PyTorch in the place of spirograd: the same source, another import."""

from __future__ import annotations

import types
from pathlib import Path
from typing import Any

from harness import anchors

IMPORTS = {
    "import spirograd as sg\n": "import torch as sg\n",
    "from spirograd import datasets, nn\n": "from torch import nn\n",
}


def torch_on(device: Any) -> anchors.Torch:
    """PyTorch on the same kind of device.

    Raises:
        OSError: it has none.
    """
    torch = anchors.Torch(device.kind == "gpu")
    if torch.device is None:
        raise OSError("train_real: PyTorch has no GPU here; --anchors none trains without it")
    return torch


def in_torch(example: Any, torch: Any) -> Any:
    """A module of spirograd.examples as PyTorch runs it."""
    source = Path(example.__file__).read_text(encoding="utf-8")
    for ours, theirs in IMPORTS.items():
        if source.count(ours) != 1:
            raise ImportError(f"train_real: {example.__name__} has no line {ours!r}")
        source = source.replace(ours, theirs)
    found = types.ModuleType(f"{example.__name__} in torch")
    exec(compile(source, found.__name__, "exec"), vars(found))
    found.gpt = gpt(torch)  # type: ignore[attr-defined]
    return found


def gpt(torch: Any) -> Any:
    """spirograd.models.GPT2 of PyTorch's parts, with the same names of weights."""
    nn, functional = torch.nn, torch.nn.functional

    class Attention(nn.Module):  # type: ignore[name-defined,misc]
        def __init__(self, width: int, heads: int, dropout: float) -> None:
            super().__init__()
            self.heads = heads
            self.c_attn, self.c_proj = nn.Linear(width, 3 * width), nn.Linear(width, width)
            self.dropout = nn.Dropout(dropout)

        def forward(self, x: Any) -> Any:
            parts = [y.unflatten(-1, (self.heads, -1)).transpose(1, 2) for y in self.c_attn(x).chunk(3, -1)]
            y = functional.scaled_dot_product_attention(*parts, is_causal=True)
            return self.dropout(self.c_proj(y.transpose(1, 2).flatten(2)))

    class Products(nn.Module):  # type: ignore[name-defined,misc]
        def __init__(self, width: int, dropout: float) -> None:
            super().__init__()
            self.c_fc, self.c_proj = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
            self.dropout = nn.Dropout(dropout)

        def forward(self, x: Any) -> Any:
            return self.dropout(self.c_proj(functional.gelu(self.c_fc(x), approximate="tanh")))

    class Block(nn.Module):  # type: ignore[name-defined,misc]
        def __init__(self, width: int, heads: int, dropout: float) -> None:
            super().__init__()
            self.ln_1, self.attn = nn.LayerNorm(width), Attention(width, heads, dropout)
            self.ln_2, self.mlp = nn.LayerNorm(width), Products(width, dropout)

        def forward(self, x: Any) -> Any:
            x = x + self.attn(self.ln_1(x))
            return x + self.mlp(self.ln_2(x))

    class GPT(nn.Module):  # type: ignore[name-defined,misc]
        def __init__(self, vocabulary: int, s: Any) -> None:
            super().__init__()
            self.wte, self.wpe = nn.Embedding(vocabulary, s.width), nn.Embedding(s.context, s.width)
            self.dropout = nn.Dropout(s.dropout)
            self.h = nn.ModuleList([Block(s.width, s.heads, s.dropout) for _ in range(s.layers)])
            self.ln_f = nn.LayerNorm(s.width)

        def forward(self, x: Any) -> Any:
            y = self.dropout(self.wte(x) + self.wpe.weight[: x.shape[1]])
            for block in self.h:
                y = block(y)
            return functional.linear(self.ln_f(y), self.wte.weight)

    return GPT
