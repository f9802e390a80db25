"""Products of vectors, and matrices made of them, on every device."""

from __future__ import annotations

from .. import _core
from .._complex import conj
from .._core import Tensor
from ._norms import vector_norm

__all__ = ["addr", "adjoint", "cdist", "dist", "renorm", "trace"]  # those of `spirograd` itself


def cross(input: Tensor, other: Tensor, dim: int = -1) -> Tensor:
    """The vector product along a dimension of size 3: [..., 3], [..., 3] -> [..., 3].

    Args:
        input, other: shapes that broadcast.
        dim: the dimension.

    Raises:
        ValueError: it has another size.

    Example:
        >>> sg.linalg.cross(sg.tensor([1.0, 0.0, 0.0]), sg.tensor([0.0, 1.0, 0.0])).tolist()
        [0.0, 0.0, 1.0]
    """
    if input.shape[dim] != 3 or other.shape[dim] != 3:
        raise ValueError(
            f"cross: shapes {list(input.shape)} and {list(other.shape)} have no dimension of size 3; name one by dim="
        )
    a, b = input.unbind(dim), other.unbind(dim)
    return _core.stack([a[i - 2] * b[i - 1] - a[i - 1] * b[i - 2] for i in range(3)], dim)


def vecdot(x: Tensor, y: Tensor, *, dim: int = -1) -> Tensor:
    """The scalar products of vectors along a dimension, of complex ones with the first conjugated: [..., n] -> [...].

    Example:
        >>> sg.linalg.vecdot(sg.tensor([1.0, 2.0]), sg.tensor([3.0, 4.0])).item()
        11.0
    """
    return (conj(x) * y).sum(dim)


def vander(x: Tensor, *, N: int | None = None) -> Tensor:
    """Powers of x, growing: [..., n] -> [..., n, N], N = n if it is None.

    Example:
        >>> sg.linalg.vander(sg.tensor([1, 2, 3])).tolist()
        [[1, 1, 1], [1, 2, 4], [1, 3, 9]]
    """
    x = x if x.ndim else x.reshape(1)
    return x.unsqueeze(-1) ** _core.arange(x.shape[-1] if N is None else N, device=x.device)


def diagonal(A: Tensor, *, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Tensor:
    """The diagonals of matrices, a view: [..., m, n] -> [..., k].

    Example:
        >>> sg.linalg.diagonal(sg.arange(8).reshape(2, 2, 2)).tolist()
        [[0, 3], [4, 7]]
    """
    return A.diagonal(offset, dim1, dim2)


def trace(input: Tensor) -> Tensor:
    """The sum of the diagonal of a matrix: [m, n] -> [].

    Raises:
        ValueError: it is no matrix.

    Example:
        >>> sg.trace(sg.eye(3)).item()
        3.0
    """
    if input.ndim != 2:
        raise ValueError(f"trace: the input has shape {list(input.shape)}; give a matrix")
    return input.diagonal().sum()


def adjoint(input: Tensor) -> Tensor:
    """The last two dimensions exchanged, and complex numbers conjugated: [..., m, n] -> [..., n, m].

    Example:
        >>> sg.adjoint(sg.ones(2, 3)).shape
        (3, 2)
    """
    return conj(input.transpose(-2, -1))


def cdist(x1: Tensor, x2: Tensor, p: float = 2.0, compute_mode: str | None = None) -> Tensor:
    """Distances between rows: [..., n, d], [..., m, d] -> [..., n, m].

    Args:
        x1, x2: points.
        p: the order of the norm.
        compute_mode: without an effect: distances are always those of differences.

    Example:
        >>> sg.cdist(sg.zeros(1, 2), sg.tensor([[3.0, 4.0], [0.0, 1.0]])).tolist()
        [[5.0, 1.0]]
    """
    return vector_norm(x1.unsqueeze(-2) - x2.unsqueeze(-3), p, -1)


def dist(input: Tensor, other: Tensor, p: float = 2) -> Tensor:
    """The p-norm of input - other, as of one vector.

    Example:
        >>> sg.dist(sg.tensor([3.0, 0.0]), sg.tensor([0.0, 4.0])).item()
        5.0
    """
    return vector_norm(input - other, p)


def addr(input: Tensor, vec1: Tensor, vec2: Tensor, *, beta: float = 1, alpha: float = 1) -> Tensor:
    """beta * input + alpha * outer(vec1, vec2): [n, m], [n], [m] -> [n, m]; with beta = 0 whatever the input is.

    Example:
        >>> sg.addr(sg.zeros(2, 2), sg.tensor([1.0, 2.0]), sg.tensor([3.0, 4.0])).tolist()
        [[3.0, 4.0], [6.0, 8.0]]
    """
    product = _core.outer(vec1, vec2)
    if input.dtype == product.dtype == _core.bool:
        return (product & bool(alpha)) | (input & bool(beta))
    product = alpha * product
    return product + beta * input if beta else product.expand(_core.broadcast_shapes(input.shape, product.shape))


def renorm(input: Tensor, p: float, dim: int, maxnorm: float) -> Tensor:
    """Slices along dim scaled down to a p-norm of at most maxnorm.

    Example:
        >>> sg.renorm(sg.tensor([[3.0, 4.0], [0.3, 0.4]]), 2, 0, 1.0)
        tensor([[0.6000, 0.8000],
                [0.3000, 0.4000]])
    """
    others = [i for i in range(input.ndim) if i != dim % input.ndim]
    norm = vector_norm(input, p, others, keepdim=True)
    return input * _core.where(norm > maxnorm, maxnorm / (norm + 1e-7), 1.0)
