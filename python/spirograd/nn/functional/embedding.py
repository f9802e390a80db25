"""Rows of a table by index."""

from __future__ import annotations

from ... import _core
from ..._core import Tensor, where
from ...base.grad_mode import no_grad
from .._arguments import described, same_type

__all__ = ["embedding", "embedding_bag"]


_TABLE = """
Args:
    weight: the table, [rows, dim].
    padding_idx: a row that gets no gradient.
    max_norm: used rows with a larger norm are scaled down to it, in place.
    norm_type: the order of that norm.
    scale_grad_by_freq: whether to divide the gradient of a row by the number of its uses.
    sparse: accepted for compatibility with PyTorch; the gradient is dense.
"""


@described(_TABLE)
def embedding(
    input: Tensor,
    weight: Tensor,
    padding_idx: int | None = None,
    max_norm: float | None = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Tensor:
    """Selects rows of a table: weight[input]. The gradient is summed in the order of the input, so it is reproducible.

    Args:
        input: integers, of any shape [...].

    Returns:
        [..., dim].

    Raises:
        IndexError: an index is out of range; raised by the next read of a result.
        ValueError: weight is not a matrix, or padding_idx is out of range.

    Example:
        >>> sg.nn.functional.embedding(sg.tensor([2, 0]), sg.eye(3)).tolist()
        [[0.0, 0.0, 1.0], [1.0, 0.0, 0.0]]
    """
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
    if padding_idx is not None:  # these rows keep their values, and lose their gradient
        rows = where((input == padding_idx % weight.shape[0]).unsqueeze(-1), rows.detach(), rows)
    return rows


def _shorten(input: Tensor, weight: Tensor, max_norm: float, norm_type: float) -> None:
    with no_grad():
        length = weight.norm(norm_type, 1, keepdim=True)
        used = _core.zeros(weight.shape[0], dtype=_core.bool, device=weight.device)
        used = used.index_fill(0, input.flatten(), True).unsqueeze(1)
        weight.copy_(where(used.logical_and(length > max_norm), weight * (max_norm / (length + 1e-7)), weight))


@described(_TABLE)
def embedding_bag(
    input: Tensor,
    weight: Tensor,
    offsets: Tensor | None = None,
    max_norm: float | None = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
    mode: str = "mean",
    sparse: bool = False,
    per_sample_weights: Tensor | None = None,
    include_last_offset: bool = False,
    padding_idx: int | None = None,
) -> Tensor:
    """Computes sums, means or maxima of rows of a table, one result for each bag of indices. An empty bag gives zeros.

    Args:
        input: integers, [bags, n], or [n] with offsets.
        offsets: the start of each bag in an input of one dimension, [bags].
        scale_grad_by_freq: whether to divide the gradient of a row by the number of its uses; not for "max".
        mode: "mean", "sum" or "max".
        per_sample_weights: factors of the rows, in the shape of input; for "sum" only.
        include_last_offset: whether the last offset is the number of indices.
        padding_idx: a row that bags leave out.

    Returns:
        [bags, dim].

    Raises:
        ValueError: mode is unknown or does not allow an option, or the offsets do not fit the input.

    Example:
        >>> table = sg.tensor([[1.0], [10.0], [100.0]])
        >>> sg.nn.functional.embedding_bag(sg.tensor([0, 1, 2]), table, sg.tensor([0, 2]), mode="sum").tolist()
        [[11.0], [100.0]]
    """
    if mode not in ("mean", "sum", "max"):
        raise ValueError(f"embedding_bag: mode '{mode}' is unknown; use mean, sum or max")
    if scale_grad_by_freq and mode == "max":
        raise ValueError("embedding_bag: scale_grad_by_freq with mode 'max'; use mean or sum")
    if (offsets is None) != (input.ndim == 2):
        raise ValueError(f"embedding_bag: input {list(input.shape)}; give [bags, n], or [n] and offsets")
    if per_sample_weights is not None and mode != "sum":
        raise ValueError(f"embedding_bag: per_sample_weights with mode '{mode}'; use sum")
    same_type("embedding_bag", weight, per_sample_weights)
    flat = input.reshape(-1)
    positions = _core.arange(flat.shape[0], device=input.device)
    if offsets is None:
        count, bags = input.shape[0], positions // max(input.shape[1], 1)
    else:
        starts = offsets[:-1] if include_last_offset else offsets
        count, bags = starts.shape[0], _core.searchsorted(starts.contiguous(), positions, right=True) - 1
    rows = embedding(flat, weight, padding_idx, max_norm, norm_type, scale_grad_by_freq, sparse)
    kept = _core.ones_like(flat, dtype=weight.dtype)
    if padding_idx is not None:
        kept = where(flat == padding_idx % weight.shape[0], 0.0, kept)
    sizes = _core.zeros(count, dtype=weight.dtype, device=weight.device).index_add(0, bags, kept).unsqueeze(-1)
    zeros = _core.zeros((count, weight.shape[1]), dtype=weight.dtype, device=weight.device)
    if mode == "max":
        lowest = where(kept.unsqueeze(-1) > 0, rows, -float("inf"))
        index = bags.unsqueeze(-1).expand(rows.shape)
        largest = zeros.scatter_reduce(0, index, lowest, "amax", include_self=False)
        return where(sizes > 0, largest, 0.0)
    factor = kept if per_sample_weights is None else kept * per_sample_weights.reshape(-1)
    total = zeros.index_add(0, bags, where(kept.unsqueeze(-1) > 0, rows * factor.unsqueeze(-1), 0.0))
    return total if mode == "sum" else total / sizes.clamp(min=1.0)
