"""How much memory the content of a file may take."""

from __future__ import annotations

from .._core import FileFormatError

LEAST = 64 << 20  # bytes that any file may take
TIMES = 16  # or this many times its size


class Room:
    """The memory that is left; each piece is requested before it is made."""

    def __init__(self, path: str, size: int, max_bytes: int | None) -> None:
        self.path = path
        self.left = max(LEAST, TIMES * size) if max_bytes is None else max_bytes

    def take(self, count: int, what: str) -> None:
        if count > self.left:
            raise FileFormatError(
                f"load: {self.path}: {what} needs {count:,} bytes, and the file may use {self.left:,} more; if it is "
                "meant to be that large, pass max_bytes="
            )
        self.left -= count
