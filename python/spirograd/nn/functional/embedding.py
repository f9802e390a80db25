"""Rows of a table by number."""

from __future__ import annotations

from ... import _core
from ..._core import Tensor, where
from ...base.grad_mode import no_grad

__all__ = ["embedding"]


def embedding(
    input: Tensor,
    weight: Tensor,
    padding_idx: int | None = None,
    max_norm: float | None = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Tensor:
    """weight[input]: rows of a table by number. The gradient adds up in the order of the input, the same each time.

    Args:
        input: whole numbers, any shape [...].
        weight: [entries, n].
        padding_idx: an entry whose row gets no gradient.
        max_norm: rows that are used and longer than this are shortened to it, in place.
        norm_type: the order of that norm.
        scale_grad_by_freq: divide the gradient of a row by how often it is used.
        sparse: there are no sparse gradients.

    Returns:
        [..., n].

    Raises:
        IndexError: a number is out of range; raised where the result, or a later one, is read.
        ValueError: weight is no matrix, padding_idx is out of range, or sparse is asked for.

    Example:
        >>> sg.nn.functional.embedding(sg.tensor([2, 0]), sg.eye(3)).tolist()
        [[0.0, 0.0, 1.0], [1.0, 0.0, 0.0]]
    """
    if sparse:
        raise ValueError("embedding: there are no sparse gradients; leave sparse out")
    if padding_idx is not None and not -weight.shape[0] <= padding_idx < weight.shape[0]:
        raise ValueError(f"embedding: padding_idx {padding_idx} is out of range for {weight.shape[0]} entries")
    if max_norm is not None:
        _shorten(input, weight, max_norm, norm_type)
    rows = _core.embedding(input, weight)
    if not rows.requires_grad:
        return rows
    if scale_grad_by_freq:
        flat = input.flatten()
        used = rows.new_zeros(weight.shape[0]).index_add(0, flat, rows.new_ones(flat.shape))
        times = used[input].unsqueeze(-1)
        rows.register_hook(lambda gradient: gradient / times)
    if padding_idx is not None:  # the value of those rows stays, their gradient does not
        rows = where((input == padding_idx % weight.shape[0]).unsqueeze(-1), rows.detach(), rows)
    return rows


def _shorten(input: Tensor, weight: Tensor, max_norm: float, norm_type: float) -> None:
    with no_grad():
        length = weight.norm(norm_type, 1, keepdim=True)
        used = _core.zeros(weight.shape[0], dtype=_core.bool, device=weight.device)
        used = used.index_fill(0, input.flatten(), True).unsqueeze(1)
        weight.copy_(where(used.logical_and(length > max_norm), weight * (max_norm / (length + 1e-7)), weight))
