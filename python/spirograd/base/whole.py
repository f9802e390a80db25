"""Blocks whose writes to tensors are all made, or none."""

from __future__ import annotations

from collections.abc import Iterable
from types import TracebackType
from typing import Any

from .. import _core
from .stand_in import StandIn

__all__ = ["Whole"]


class Whole:
    """A block that records writes to tensors. An error or an interrupt inside takes them back.

    What else it changes comes last in the block: nothing interrupts two assignments without a call between them.

    Args:
        tensors: what is written; complex ones, too.
    """

    def __init__(self, tensors: Iterable[Any]) -> None:
        self._tensors = [[part for t in tensors for part in (t.parts() if isinstance(t, StandIn) else (t,))]]

    def __enter__(self) -> None:
        _core._begin_whole(self._tensors)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            _core._end_whole(self._tensors)
        else:
            _core._take_back(self._tensors)
