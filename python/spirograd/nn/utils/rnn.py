"""Sequences of several lengths in one tensor."""

from __future__ import annotations

from collections.abc import Sequence

from ..._core import Tensor, pad, stack

__all__ = ["pad_sequence", "unpad_sequence"]


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
