"""torch._tensor_str: how tensors are printed."""

from __future__ import annotations

from types import SimpleNamespace

from ..._core import Tensor

__all__ = ["PRINT_OPTS", "_tensor_str"]

PRINT_OPTS = SimpleNamespace(precision=4, threshold=1000, edgeitems=3, linewidth=80, sci_mode=None)


def _tensor_str(self: Tensor, indent: int) -> str:
    text = repr(self.detach()).removeprefix("tensor(").removesuffix(")")
    return text.replace("\n", "\n" + " " * max(indent - len("tensor("), 0))
