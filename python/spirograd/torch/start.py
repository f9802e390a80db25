"""How processes that Python starts anew find spirograd under the name torch."""

from __future__ import annotations

import sys
from pathlib import Path

__all__ = ["stand_in"]

_FOLDER = str(Path(__file__).parent / "stand_in")


def stand_in() -> None:
    """Puts a folder on sys.path, which such processes inherit, whose torch.py calls install()."""
    if _FOLDER not in sys.path:
        sys.path.insert(1, _FOLDER)  # before an installed PyTorch
