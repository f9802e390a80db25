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
    found.nn = types.SimpleNamespace(**vars(torch.nn), TransformerBlock=block(torch))  # type: ignore[attr-defined]
    return found


def block(torch: Any) -> Any:
    """spirograd.nn.TransformerBlock, of which PyTorch has all parts."""

    class TransformerBlock(torch.nn.TransformerEncoderLayer):  # type: ignore[name-defined,misc]
        def __init__(self, width: int, heads: int, dropout: float) -> None:
            super().__init__(width, heads, 4 * width, dropout, "gelu", batch_first=True, norm_first=True)

        def forward(self, x: Any) -> Any:
            mask = torch.nn.Transformer.generate_square_subsequent_mask(x.shape[1], device=x.device)
            return super().forward(x, mask, is_causal=True)

    return TransformerBlock
