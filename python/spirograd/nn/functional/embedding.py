"""Rows of a table by number."""

from __future__ import annotations

from ... import _core
from ..._core import Tensor, where
from ...base.grad_mode import no_grad

__all__ = ["embedding", "embedding_bag"]


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
        sparse: accepted; the gradient is dense.

    Returns:
        [..., n].

    Raises:
        IndexError: a number is out of range; raised where the result, or a later one, is read.
        ValueError: weight is no matrix, or padding_idx is out of range.

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
    if padding_idx is not None:  # the value of those rows stays, their gradient does not
        rows = where((input == padding_idx % weight.shape[0]).unsqueeze(-1), rows.detach(), rows)
    return rows


def _shorten(input: Tensor, weight: Tensor, max_norm: float, norm_type: float) -> None:
    with no_grad():
        length = weight.norm(norm_type, 1, keepdim=True)
        used = _core.zeros(weight.shape[0], dtype=_core.bool, device=weight.device)
        used = used.index_fill(0, input.flatten(), True).unsqueeze(1)
        weight.copy_(where(used.logical_and(length > max_norm), weight * (max_norm / (length + 1e-7)), weight))


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
    """Sums, means or maxima of rows of a table: one result for each bag of numbers. An empty bag gives zeros.

    Args:
        input: [bags, n] whole numbers; or [n], with offsets.
        weight: [entries, dim].
        offsets: [bags], where each bag begins in an input of one dimension.
        max_norm: rows that are used and longer than this are shortened to it, in place.
        norm_type: the order of that norm.
        scale_grad_by_freq: divide the gradient of a row by how often it is used; not for "max".
        mode: "mean", "sum" or "max".
        sparse: accepted; the gradient is dense.
        per_sample_weights: factors of the rows, shaped as the input; for "sum" alone.
        include_last_offset: offsets end with the number of indices.
        padding_idx: an entry that is left out.

    Returns:
        [bags, dim].

    Raises:
        ValueError: another mode, one that an option does not go with, or offsets that do not go with the input.

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
    flat = input.reshape(-1)
    places = _core.arange(flat.shape[0], device=input.device)
    if offsets is None:
        count, bags = input.shape[0], places // max(input.shape[1], 1)
    else:
        starts = offsets[:-1] if include_last_offset else offsets
        count, bags = starts.shape[0], _core.searchsorted(starts.contiguous(), places, right=True) - 1
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
        return where(sizes > 0, largest, 0.0)  # type: ignore[no-any-return]
    factor = kept if per_sample_weights is None else kept * per_sample_weights.reshape(-1)
    total = zeros.index_add(0, bags, where(kept.unsqueeze(-1) > 0, rows * factor.unsqueeze(-1), 0.0))
    return total if mode == "sum" else total / sizes.clamp(min=1.0)
