"""Sequences of several lengths in one tensor, padded or packed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from ..._core import Tensor, argsort, full, int64, pad, stack, tensor

__all__ = [
    "PackedSequence",
    "pack_padded_sequence",
    "pack_sequence",
    "pad_packed_sequence",
    "pad_sequence",
    "unpack_sequence",
    "unpad_sequence",
]


class PackedSequence(NamedTuple):
    """Sequences without padding, the longest first: all first steps, then all second steps, and so on.

    `data` is [sum of lengths, ...]; `batch_sizes`, on the CPU, says for each step how many sequences have it;
    `sorted_indices` is the order in which the sequences were taken (None: as they were), `unsorted_indices` its
    inverse.
    """

    data: Tensor
    batch_sizes: Tensor
    sorted_indices: Tensor | None = None
    unsorted_indices: Tensor | None = None

    def to(self, *args: Any, **kwargs: Any) -> PackedSequence:
        """The same with its data elsewhere, or of another type."""
        data = self.data.to(*args, **kwargs)
        order = [None if x is None else x.to(data.device) for x in (self.sorted_indices, self.unsorted_indices)]
        return PackedSequence(data, self.batch_sizes, *order)

    def cpu(self) -> PackedSequence:
        """The same on the CPU."""
        return self.to("cpu")

    def lengths(self) -> list[int]:
        """Of each sequence, the longest first."""
        sizes = self.batch_sizes.tolist()
        return [sum(size > i for size in sizes) for i in range(sizes[0])]


def _places(lengths: Sequence[int], like: Tensor) -> tuple[Tensor, Tensor]:
    """The steps and the sequences of packed data; lengths fall."""
    pairs = [(t, b) for t in range(lengths[0]) for b, n in enumerate(lengths) if n > t]
    steps, rows = zip(*pairs, strict=True)
    return tensor(steps, dtype=int64, device=like.device), tensor(rows, dtype=int64, device=like.device)


def packed(padded: Tensor, lengths: Sequence[int]) -> Tensor:
    """[time, batch, ...], the longest first, without padding."""
    return padded[_places(lengths, padded)]


def padded(data: Tensor, lengths: Sequence[int], padding_value: float = 0.0, total: int | None = None) -> Tensor:
    """packed() undone: [time, batch, ...]."""
    shape = (total or lengths[0], len(lengths), *data.shape[1:])
    result = full(shape, padding_value, dtype=data.dtype, device=data.device)
    result[_places(lengths, data)] = data
    return result


def pack_padded_sequence(
    input: Tensor, lengths: Sequence[int] | Tensor, batch_first: bool = False, enforce_sorted: bool = True
) -> PackedSequence:
    """Packs sequences that are padded behind their ends. The lengths are read.

    A recurrent layer runs once for each length that occurs, so that no step is computed that does not belong to a
    sequence, also backwards in time.

    Args:
        input: [time, batch, ...].
        lengths: of each sequence, 1 or more.
        batch_first: input is [batch, time, ...].
        enforce_sorted: whether the lengths must fall.

    Raises:
        ValueError: a length is out of range, or they do not fall and should.

    Example:
        >>> rows = sg.tensor([[1, 2, 3], [4, 0, 0]])
        >>> sg.nn.utils.rnn.pack_padded_sequence(rows, [3, 1], batch_first=True).data.tolist()
        [1, 4, 2, 3]
    """
    counts = [int(n) for n in (lengths.tolist() if isinstance(lengths, Tensor) else lengths)]
    x = input.transpose(0, 1) if batch_first else input
    if len(counts) != x.shape[1] or min(counts) < 1 or max(counts) > x.shape[0]:
        raise ValueError(
            f"pack_padded_sequence: lengths {counts} for {x.shape[1]} sequences of {x.shape[0]} steps; give one for "
            "each, from 1 on"
        )
    order = inverse = None
    if not enforce_sorted:
        by_length = sorted(range(len(counts)), key=lambda i: -counts[i])
        order = tensor(by_length, dtype=int64, device=input.device)
        inverse, x, counts = argsort(order), x.index_select(1, order), [counts[i] for i in by_length]
    elif counts != sorted(counts, reverse=True):
        raise ValueError(f"pack_padded_sequence: lengths {counts} do not fall; pass enforce_sorted=False")
    sizes = tensor([sum(n > t for n in counts) for t in range(counts[0])], dtype=int64, device="cpu")
    return PackedSequence(packed(x, counts), sizes, order, inverse)


def pad_packed_sequence(
    sequence: PackedSequence, batch_first: bool = False, padding_value: float = 0.0, total_length: int | None = None
) -> tuple[Tensor, Tensor]:
    """The padded sequences and their lengths, in the order before packing.

    Args:
        sequence: the packed ones.
        batch_first: the result is [batch, time, ...], not [time, batch, ...].
        padding_value: what stands behind the ends.
        total_length: the steps of the result; None: of the longest.

    Example:
        >>> rnn = sg.nn.utils.rnn
        >>> packed = rnn.pack_sequence([sg.tensor([1, 2]), sg.tensor([3])])
        >>> [x.tolist() for x in rnn.pad_packed_sequence(packed, batch_first=True)]
        [[[1, 2], [3, 0]], [2, 1]]
    """
    counts = sequence.lengths()
    result = padded(sequence.data, counts, padding_value, total_length)
    sizes = tensor(counts, dtype=int64, device="cpu")
    if sequence.unsorted_indices is not None:
        result = result.index_select(1, sequence.unsorted_indices)
        sizes = sizes.index_select(0, sequence.unsorted_indices.cpu())
    return (result.transpose(0, 1) if batch_first else result), sizes


def pack_sequence(sequences: Sequence[Tensor], enforce_sorted: bool = True) -> PackedSequence:
    """Packs sequences [time, ...].

    Args:
        sequences: one or more.
        enforce_sorted: whether the lengths must fall.

    Example:
        >>> sg.nn.utils.rnn.pack_sequence([sg.tensor([1, 2]), sg.tensor([3])]).batch_sizes.tolist()
        [2, 1]
    """
    return pack_padded_sequence(pad_sequence(sequences), [len(x) for x in sequences], enforce_sorted=enforce_sorted)


def unpack_sequence(packed_sequences: PackedSequence) -> list[Tensor]:
    """The sequences, in the order before packing.

    Args:
        packed_sequences: the packed ones.

    Example:
        >>> packed = sg.nn.utils.rnn.pack_sequence([sg.tensor([1, 2]), sg.tensor([3])])
        >>> [x.tolist() for x in sg.nn.utils.rnn.unpack_sequence(packed)]
        [[1, 2], [3]]
    """
    return unpad_sequence(*pad_packed_sequence(packed_sequences))


def pad_sequence(
    sequences: Sequence[Tensor], batch_first: bool = False, padding_value: float = 0.0, padding_side: str = "right"
) -> Tensor:
    """Sequences side by side, the shorter ones filled up.

    Args:
        sequences: tensors [time, ...] that differ in time alone.
        batch_first: the result is [batch, time, ...], not [time, batch, ...].
        padding_value: what they are filled with.
        padding_side: "right" fills up behind, "left" before.

    Raises:
        ValueError: there is no sequence, one has no time, or the side is unknown.

    Example:
        >>> a, b = sg.tensor([1, 2, 3]), sg.tensor([4])
        >>> sg.nn.utils.rnn.pad_sequence([a, b], batch_first=True).tolist()
        [[1, 2, 3], [4, 0, 0]]
    """
    rows = list(sequences)
    if not rows or min(x.ndim for x in rows) < 1:
        raise ValueError("pad_sequence: give one sequence or more, each [time, ...]")
    if padding_side not in ("left", "right"):
        raise ValueError(f"pad_sequence: padding_side '{padding_side}' is unknown; use right or left")
    longest = max(len(x) for x in rows)

    def filled(x: Tensor) -> Tensor:
        missing = longest - len(x)
        ends = (missing, 0) if padding_side == "left" else (0, missing)
        return pad(x, (0, 0) * (x.ndim - 1) + ends, value=padding_value) if missing else x

    return stack([filled(x) for x in rows], dim=0 if batch_first else 1)


def unpad_sequence(
    padded_sequences: Tensor, lengths: Sequence[int] | Tensor, batch_first: bool = False
) -> list[Tensor]:
    """The sequences that pad_sequence() put side by side.

    Args:
        padded_sequences: [time, batch, ...].
        lengths: of each sequence.
        batch_first: it is [batch, time, ...].

    Example:
        >>> rows = sg.tensor([[1, 2, 3], [4, 0, 0]])
        >>> [x.tolist() for x in sg.nn.utils.rnn.unpad_sequence(rows, [3, 1], batch_first=True)]
        [[1, 2, 3], [4]]
    """
    rows = padded_sequences if batch_first else padded_sequences.transpose(0, 1)
    sizes = lengths.tolist() if isinstance(lengths, Tensor) else lengths
    return [row[:size] for row, size in zip(rows.unbind(0), sizes, strict=True)]
