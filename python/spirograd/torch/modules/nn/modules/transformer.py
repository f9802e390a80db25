"""torch.nn.modules.transformer: what other people's transformers import of it."""

from __future__ import annotations

import copy
from collections.abc import Callable

from ....._core import Tensor
from .....nn import Module, ModuleList, functional

__all__ = ["_get_activation_fn", "_get_clones"]


def _get_clones(module: Module, N: int) -> ModuleList:
    return ModuleList([copy.deepcopy(module) for _ in range(N)])


def _get_activation_fn(activation: str) -> Callable[[Tensor], Tensor]:
    if activation not in ("relu", "gelu"):
        raise RuntimeError(f"_get_activation_fn: {activation!r} is not there; use 'relu' or 'gelu'")
    return functional.relu if activation == "relu" else functional.gelu
