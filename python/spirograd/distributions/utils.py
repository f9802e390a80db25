"""What distributions are built from; the names of torch.distributions.utils."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .. import _core, linalg
from .._core import Tensor
from ..base.dtypes import finfo
from ..base.grad_mode import enable_grad
from ..base.types import DTypeLike
from .distribution import sum_rightmost as _sum_rightmost
from .distribution import together

__all__ = ["_standard_normal", "_sum_rightmost", "broadcast_all", "clamp_probs", "lazy_property", "logits_to_probs"]
__all__ += ["probs_to_logits", "tril_matrix_to_vec", "vec_to_tril_matrix"]


def _standard_normal(shape: Sequence[int], dtype: DTypeLike, device: Any) -> Tensor:
    return _core.randn(tuple(shape), dtype=dtype, device=device)


def broadcast_all(*values: Any) -> tuple[Tensor, ...]:
    """Tensors and numbers as tensors of one shape.

    Raises:
        ValueError: shapes that do not broadcast, or a value that is neither.

    Example:
        >>> [x.shape for x in sg.distributions.utils.broadcast_all(1.0, sg.zeros(2))]
        [(2,), (2,)]
    """
    return tuple(_core.broadcast_tensors(*together(*values)))


def clamp_probs(probs: Tensor) -> Tensor:
    """Probabilities that are neither 0 nor 1, so that their logarithms are finite."""
    eps = finfo(probs.dtype).eps
    return probs.clamp(eps, 1 - eps)


def logits_to_probs(logits: Tensor, is_binary: bool = False) -> Tensor:
    """Probabilities of logits: those of a coin, or of the classes along the last dimension."""
    return logits.sigmoid() if is_binary else _core.softmax(logits, -1)


def probs_to_logits(probs: Tensor, is_binary: bool = False) -> Tensor:
    """Logits of probabilities: log-odds of a coin, or logarithms."""
    inside = clamp_probs(probs)
    return inside.log() - (-inside).log1p() if is_binary else inside.log()


class lazy_property:
    """A property that is computed once, with gradients, and kept on the object."""

    def __init__(self, wrapped: Callable[[Any], Any]) -> None:
        self.wrapped = wrapped
        self.__doc__ = wrapped.__doc__

    def __get__(self, instance: Any, objtype: type | None = None) -> Any:
        if instance is None:
            return self
        with enable_grad():
            value = self.wrapped(instance)
        setattr(instance, self.wrapped.__name__, value)
        return value


def _below(size: int, diagonal: int) -> Tensor:
    rows, columns = _core.tril_indices(size, size, diagonal)
    return rows * size + columns


def vec_to_tril_matrix(vec: Tensor, diag: int = 0) -> Tensor:
    """[..., elements] -> [..., n, n]: the elements row by row in a lower triangle, zeros above it.

    Args:
        vec: the elements.
        diag: the last diagonal of the triangle.

    Raises:
        ValueError: no triangle has so many elements.

    Example:
        >>> sg.distributions.utils.vec_to_tril_matrix(sg.tensor([1.0, 2.0, 3.0])).tolist()
        [[1.0, 0.0], [2.0, 3.0]]
    """
    sides = -(1 + 2 * diag) + ((1 + 2 * diag) ** 2 + 8 * vec.shape[-1] + 4 * abs(diag) * (diag + 1)) ** 0.5
    size = round(sides / 2)
    if _below(size, diag).numel() != vec.shape[-1]:
        raise ValueError(f"vec_to_tril_matrix: {vec.shape[-1]} elements fill no triangle; check their number")
    flat = _core.zeros((*vec.shape[:-1], size * size), dtype=vec.dtype, device=vec.device)
    place = _below(size, diag).to(vec.device).expand(vec.shape)
    return flat.scatter(-1, place, vec).reshape(*vec.shape[:-1], size, size)


def tril_matrix_to_vec(mat: Tensor, diag: int = 0) -> Tensor:
    """[..., n, n] -> [..., elements]: the lower triangle, row by row.

    Raises:
        ValueError: there is no such diagonal.
    """
    size = mat.shape[-1]
    if not -size <= diag < size:
        raise ValueError(f"tril_matrix_to_vec: diagonal {diag} of a matrix of {size} rows; use -{size} to {size - 1}")
    return mat.reshape(*mat.shape[:-2], size * size).index_select(-1, _below(size, diag).to(mat.device))


def _precision_to_scale_tril(P: Tensor) -> Tensor:
    """The lower factor L of the covariance inverse(P) = L L^T."""
    factor = linalg.cholesky(P.flip((-2, -1)))
    upright = factor.flip((-2, -1)).mT
    identity = _core.eye(P.shape[-1], dtype=P.dtype, device=P.device)
    return linalg.solve_triangular(upright, identity.expand(P.shape), upper=False)


def _clipped_sigmoid(x: Tensor) -> Tensor:
    """The sigmoid, neither 0 nor 1."""
    limits = finfo(x.dtype)
    return x.sigmoid().clamp(limits.tiny, 1.0 - limits.eps)
