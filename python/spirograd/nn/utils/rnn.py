"""Sequences of several lengths in one tensor, padded or packed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from ..._core import Tensor, argsort, full, int64, pad, stack, tensor

__all__ = ["PackedSequence", "pack_padded_sequence", "pack_sequence", "pad_packed_sequence", "pad_sequence"]
__all__ += ["unpack_sequence", "unpad_sequence"]


class PackedSequence(NamedTuple):
    """Sequences without padding, the longest first: all first steps, then all second steps, and so on.

    Args:
        data: the steps, [sum of lengths, ...].
        batch_sizes: the number of sequences that have each step, on the CPU.
        sorted_indices: the order of the sequences before packing; None if they were sorted.
        unsorted_indices: the inverse of sorted_indices.
    """

    data: Tensor
    batch_sizes: Tensor
    sorted_indices: Tensor | None = None
    unsorted_indices: Tensor | None = None

    def to(self, *args: Any, **kwargs: Any) -> PackedSequence:
        """Moves the data to another device or type."""
        data = self.data.to(*args, **kwargs)
        order = [None if x is None else x.to(data.device) for x in (self.sorted_indices, self.unsorted_indices)]
        return PackedSequence(data, self.batch_sizes, *order)

    def cpu(self) -> PackedSequence:
        """Moves the data to the CPU."""
        return self.to("cpu")

    def lengths(self) -> list[int]:
        """Returns the lengths of the sequences, the longest first."""
        sizes = self.batch_sizes.tolist()
        return [sum(size > i for size in sizes) for i in range(sizes[0])]


def _steps_and_sequences(lengths: Sequence[int], like: Tensor) -> tuple[Tensor, Tensor]:
    """The step and the sequence of each element of packed data; the lengths are in descending order."""
    pairs = [(t, b) for t in range(lengths[0]) for b, n in enumerate(lengths) if n > t]
    steps, rows = zip(*pairs, strict=True)
    return tensor(steps, dtype=int64, device=like.device), tensor(rows, dtype=int64, device=like.device)


def packed(padded: Tensor, lengths: Sequence[int]) -> Tensor:
    """Packs [time, batch, ...], the longest sequence first, without padding."""
    return padded[_steps_and_sequences(lengths, padded)]


def padded(data: Tensor, lengths: Sequence[int], padding_value: float = 0.0, total: int | None = None) -> Tensor:
    """Inverts packed(): returns [time, batch, ...]."""
    shape = (total or lengths[0], len(lengths), *data.shape[1:])
    result = full(shape, padding_value, dtype=data.dtype, device=data.device)
    result[_steps_and_sequences(lengths, data)] = data
    return result


def pack_padded_sequence(
    input: Tensor, lengths: Sequence[int] | Tensor, batch_first: bool = False, enforce_sorted: bool = True
) -> PackedSequence:
    """Packs sequences with padding after their ends. The lengths are read.

    A recurrent layer runs once for each distinct length, so that it computes only steps of sequences, also backwards in
    time.

    Args:
        input: [time, batch, ...].
        lengths: the length of each sequence, 1 or more.
        batch_first: whether input is [batch, time, ...].
        enforce_sorted: whether the lengths must be in descending order.

    Raises:
        ValueError: a length is out of range, or the lengths are not in descending order and enforce_sorted is set.

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
        raise ValueError(f"pack_padded_sequence: lengths {counts} do not descend; pass enforce_sorted=False")
    sizes = tensor([sum(n > t for n in counts) for t in range(counts[0])], dtype=int64, device="cpu")
    return PackedSequence(packed(x, counts), sizes, order, inverse)


def pad_packed_sequence(
    sequence: PackedSequence, batch_first: bool = False, padding_value: float = 0.0, total_length: int | None = None
) -> tuple[Tensor, Tensor]:
    """Returns the padded sequences and their lengths, in the order before packing.

    Args:
        sequence: the packed sequences.
        batch_first: whether the result is [batch, time, ...], not [time, batch, ...].
        padding_value: the value after the ends.
        total_length: the number of steps of the result, by default that of the longest sequence.

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
        sequences: one or more tensors.
        enforce_sorted: whether the lengths must be in descending order.

    Example:
        >>> sg.nn.utils.rnn.pack_sequence([sg.tensor([1, 2]), sg.tensor([3])]).batch_sizes.tolist()
        [2, 1]
    """
    return pack_padded_sequence(pad_sequence(sequences), [len(x) for x in sequences], enforce_sorted=enforce_sorted)


def unpack_sequence(packed_sequences: PackedSequence) -> list[Tensor]:
    """Returns the sequences, in the order before packing.

    Args:
        packed_sequences: the packed sequences.

    Example:
        >>> packed = sg.nn.utils.rnn.pack_sequence([sg.tensor([1, 2]), sg.tensor([3])])
        >>> [x.tolist() for x in sg.nn.utils.rnn.unpack_sequence(packed)]
        [[1, 2], [3]]
    """
    return unpad_sequence(*pad_packed_sequence(packed_sequences))


def pad_sequence(
    sequences: Sequence[Tensor], batch_first: bool = False, padding_value: float = 0.0, padding_side: str = "right"
) -> Tensor:
    """Stacks sequences, and pads the shorter ones.

    Args:
        sequences: tensors [time, ...] that differ only in time.
        batch_first: whether the result is [batch, time, ...], not [time, batch, ...].
        padding_value: the value of the padding.
        padding_side: "right" for padding after the ends, "left" for padding before the starts.

    Raises:
        ValueError: there are no sequences, one has no time dimension, or padding_side is unknown.

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
    """Returns the sequences that pad_sequence() has stacked.

    Args:
        padded_sequences: [time, batch, ...].
        lengths: the length of each sequence.
        batch_first: whether padded_sequences is [batch, time, ...].

    Example:
        >>> rows = sg.tensor([[1, 2, 3], [4, 0, 0]])
        >>> [x.tolist() for x in sg.nn.utils.rnn.unpad_sequence(rows, [3, 1], batch_first=True)]
        [[1, 2, 3], [4]]
    """
    rows = padded_sequences if batch_first else padded_sequences.transpose(0, 1)
    sizes = lengths.tolist() if isinstance(lengths, Tensor) else lengths
    return [row[:size] for row, size in zip(rows.unbind(0), sizes, strict=True)]
