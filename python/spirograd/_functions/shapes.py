"""Tensors made of the elements of others."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

from .. import _core, linalg
from .._core import Tensor
from ..base.overridable import open_functions

__all__ = ["column_stack", "combinations", "diagflat", "dsplit", "unravel_index", "vander"]
__all__ += ["empty_permuted", "empty_strided", "frombuffer"]


def unravel_index(indices: Tensor, shape: int | Sequence[int]) -> tuple[Tensor, ...]:
    """The index of each dimension of a shape, for indices into its elements in C order.

    Args:
        indices: whole numbers, below the number of elements; negative ones count from the end.
        shape: sizes, or one.

    Raises:
        TypeError: indices are no whole numbers.

    Example:
        >>> row, column = sg.unravel_index(sg.tensor([1, 5]), (2, 3))
        >>> row.tolist(), column.tolist()
        ([0, 1], [1, 2])
    """
    if indices.is_floating_point() or indices.dtype == _core.bool:
        raise TypeError(f"unravel_index: indices are {indices.dtype}; give whole numbers")
    sizes = [shape] if isinstance(shape, int) else [int(n) for n in shape]
    indices, found = indices.to(_core.int64), []
    for n in reversed(sizes):
        found.append(indices % n)
        indices = indices // n
    return tuple(reversed(found))


def diagflat(input: Tensor, offset: int = 0) -> Tensor:
    """A matrix with the elements of the input on a diagonal: [...] -> [n, n].

    Example:
        >>> sg.diagflat(sg.tensor([[1, 2]])).tolist()
        [[1, 0], [0, 2]]
    """
    return _core.diag(input.flatten(), offset)


def dsplit(input: Tensor, indices_or_sections: int | Sequence[int]) -> tuple[Tensor, ...]:
    """Parts along the third dimension: so many, or between these places.

    Example:
        >>> [part.shape for part in sg.dsplit(sg.zeros(1, 2, 4), [1])]
        [(1, 2, 1), (1, 2, 3)]
    """
    return tuple(_core.tensor_split(input, indices_or_sections, 2))


def column_stack(tensors: Sequence[Tensor]) -> Tensor:
    """Vectors [n] and matrices [n, m] side by side, vectors as columns.

    Example:
        >>> sg.column_stack([sg.tensor([1, 2]), sg.tensor([3, 4])]).tolist()
        [[1, 3], [2, 4]]
    """
    return _core.hstack([x.reshape(-1, 1) if x.ndim < 2 else x for x in tensors])


def combinations(input: Tensor, r: int = 2, with_replacement: bool = False) -> Tensor:
    """All choices of r elements of a vector: [n] -> [choices, r].

    Example:
        >>> sg.combinations(sg.tensor([1, 2, 3])).tolist()
        [[1, 2], [1, 3], [2, 3]]
    """
    choose = itertools.combinations_with_replacement if with_replacement else itertools.combinations
    chosen = list(choose(range(input.shape[0]), r))
    return input[_core.tensor(chosen, dtype=_core.int64, device=input.device).reshape(-1, r)]


def vander(x: Tensor, N: int | None = None, increasing: bool = False) -> Tensor:
    """Powers of the elements of a vector, in columns: [n] -> [n, N], N = n if it is None.

    Example:
        >>> sg.vander(sg.tensor([2, 3])).tolist()
        [[2, 1], [3, 1]]
    """
    powers = linalg.vander(x, N=N)
    return powers if increasing else powers.flip(-1)


def empty_strided(size: Sequence[int], stride: Sequence[int], **options: Any) -> Tensor:
    """A tensor with any values, whose dimensions have these steps in memory.

    Args:
        size: of each dimension.
        stride: elements from one index of it to the next.
        options: dtype, device and requires_grad, as of empty().

    Example:
        >>> sg.empty_strided((2, 3), (1, 2)).stride()
        (1, 2)
    """
    count = 1 + sum((n - 1) * step for n, step in zip(size, stride, strict=True))
    return _core.empty(count, **options).as_strided(size, stride)


def empty_permuted(size: Sequence[int], physical_layout: Sequence[int], **options: Any) -> Tensor:
    """A tensor with any values, whose dimensions are in memory in this order, from the outermost on.

    Args:
        size: of each dimension.
        physical_layout: the dimensions.
        options: dtype, device and requires_grad, as of empty().

    Example:
        >>> sg.empty_permuted((2, 3), (1, 0)).stride()
        (1, 2)
    """
    order = list(physical_layout)
    made = _core.empty([size[d] for d in order], **options)
    return made.permute([order.index(d) for d in range(len(order))])


def frombuffer(buffer: Any, *, dtype: Any, count: int = -1, offset: int = 0) -> Tensor:
    """The elements in a buffer of bytes, copied: [count].

    Args:
        buffer: bytes, or what has them.
        dtype: of the elements.
        count: how many; -1: all.
        offset: bytes that come before.

    Example:
        >>> sg.frombuffer(bytes([1, 0, 2, 0]), dtype=sg.int16).tolist()
        [1, 2]
    """
    import numpy as np

    kind = _core.promote_types(dtype, dtype)
    return _core.tensor(np.frombuffer(buffer, kind.name, count, offset).copy())


open_functions(__name__)
