"""torch.sparse: the constructors that it had before tensors had dtypes."""

from __future__ import annotations

from collections.abc import Sequence

from ... import _core
from ..._core import Tensor
from ...sparse import SparseTensor, sparse_coo_tensor

__all__ = ["DoubleTensor", "FloatTensor", "LongTensor"]


def FloatTensor(indices: Tensor, values: Tensor, size: Sequence[int] | None = None) -> SparseTensor:
    """sparse_coo_tensor() of float32."""
    return sparse_coo_tensor(indices, values, size, dtype=_core.float32)


def DoubleTensor(indices: Tensor, values: Tensor, size: Sequence[int] | None = None) -> SparseTensor:
    """sparse_coo_tensor() of float64."""
    return sparse_coo_tensor(indices, values, size, dtype=_core.float64)


def LongTensor(indices: Tensor, values: Tensor, size: Sequence[int] | None = None) -> SparseTensor:
    """sparse_coo_tensor() of int64."""
    return sparse_coo_tensor(indices, values, size, dtype=_core.int64)
