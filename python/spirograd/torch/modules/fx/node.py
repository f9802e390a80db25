"""torch.fx.node: names in annotations."""

from __future__ import annotations

from typing import Any

from . import Node

__all__ = ["Argument", "Node", "Target"]

Argument = Target = Any
