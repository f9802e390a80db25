"""Blocks whose writes to tensors are all made, or none."""

from __future__ import annotations

from collections.abc import Iterable
from types import TracebackType

from .. import _core
from .._core import Tensor

__all__ = ["Whole"]


class Whole:
    """A block that records writes to tensors. An error or an interrupt inside takes them back.

    What else it changes comes last in the block: nothing interrupts two assignments without a call between them.

    Args:
        tensors: what is written.
    """

    def __init__(self, tensors: Iterable[Tensor]) -> None:
        self._tensors = [list(tensors)]

    def __enter__(self) -> None:
        _core._begin_whole(self._tensors)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            _core._end_whole(self._tensors)
        else:
            _core._take_back(self._tensors)
