"""torch._tensor_str: how tensors are printed."""

from __future__ import annotations

from types import SimpleNamespace

from ... import set_printoptions as ours
from ..._core import Tensor

__all__ = ["PRINT_OPTS", "_tensor_str", "set_printoptions"]

PRINT_OPTS = SimpleNamespace(precision=4, threshold=1000, edgeitems=3, linewidth=80, sci_mode=None)


def set_printoptions(
    precision: int | None = None,
    threshold: float | None = None,
    edgeitems: int | None = None,
    linewidth: int | None = None,
    profile: str | None = None,
    sci_mode: bool | None = None,
) -> None:
    """spirograd's set_printoptions(), to which an unknown profile is none."""
    known = profile if profile in ("default", "short", "full") else None
    ours(precision, threshold, edgeitems, linewidth, known, sci_mode)


def _tensor_str(self: Tensor, indent: int) -> str:
    text = repr(self.detach()).removeprefix("tensor(").removesuffix(")")
    return text.replace("\n", "\n" + " " * max(indent - len("tensor("), 0))
