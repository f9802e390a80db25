"""The memory of a tensor, as programs for PyTorch ask for it: where it is and how large."""

from __future__ import annotations

from typing import Any

from .._core import Device, Tensor

__all__ = ["Storage"]


class Storage:
    """The memory that a tensor is a view of, up to its last element. Views of one memory have one address.

    Attributes:
        device: where it is.
    """

    def __init__(self, tensor: Tensor) -> None:
        self._tensor = tensor
        self.device: Device = tensor.device

    def data_ptr(self) -> int:
        """The address of its first byte; 0 for no elements."""
        t = self._tensor
        return t.data_ptr() - t.storage_offset() * t.itemsize if t.numel() else 0

    def size(self) -> int:
        """How many elements there are."""
        t = self._tensor
        if not t.numel():
            return 0
        steps = zip(t.shape, t.stride(), strict=True)
        return t.storage_offset() + sum((n - 1) * abs(step) for n, step in steps) + 1

    def nbytes(self) -> int:
        """How many bytes there are."""
        return self.size() * self._tensor.itemsize

    def __len__(self) -> int:
        return self.size()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Storage) and self.data_ptr() == other.data_ptr()

    def __hash__(self) -> int:
        return hash(self.data_ptr())

    def untyped(self) -> Storage:
        """The memory itself."""
        return self

    def resize_(self, size: int) -> Any:
        """Raises NotImplementedError: memory belongs to the engine."""
        raise NotImplementedError("resize_: memory cannot be resized; make another tensor")
