"""What errors say: the name of what the program called."""

from __future__ import annotations

__all__ = ["name_called"]


def name_called(error: ValueError, name: str) -> None:
    """Names what was called instead of an operation inside of it, in an error about inputs on different devices."""
    operation, found, what = str(error).partition(": inputs are on different devices")
    if found and operation.islower():
        error.args = (f"{name}{found}{what}",)
