"""torch.torch_version: a version that is compared by its numbers."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

__all__ = ["TorchVersion"]


def _key(version: Any) -> tuple[list[int], bool, str]:
    """Numbers without zeros at the end, whether it is a release, and what is behind "+"."""
    if isinstance(version, Iterable) and not isinstance(version, str):
        version = ".".join(map(str, version))
    public, _, local = str(version).partition("+")
    found = re.match(r"v?(\d+(?:\.\d+)*)(.*)", public)
    numbers = [int(n) for n in found[1].split(".")] if found else []
    while numbers and numbers[-1] == 0:
        numbers.pop()
    return numbers, not (found and found[2]), local


class TorchVersion(str):
    """A text such as "2.1.0+cpu"; other texts and tuples of numbers are compared with it as versions."""

    def __lt__(self, other: Any) -> bool:
        return _key(self) < _key(other)

    def __le__(self, other: Any) -> bool:
        return _key(self) <= _key(other)

    def __gt__(self, other: Any) -> bool:
        return _key(self) > _key(other)

    def __ge__(self, other: Any) -> bool:
        return _key(self) >= _key(other)

    def __eq__(self, other: object) -> bool:
        return _key(self) == _key(other)

    def __ne__(self, other: object) -> bool:
        return _key(self) != _key(other)

    __hash__ = str.__hash__
