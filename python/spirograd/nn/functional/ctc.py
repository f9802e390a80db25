"""Connectionist temporal classification: the loss of labels whose times are unknown (Graves et al., 2006)."""

from __future__ import annotations

from collections.abc import Sequence

from ..._core import Tensor, arange, cat, float32, float64, full, int64, logaddexp, pad, tensor, where
from ...base.casts import wide
from .loss import _reduced

__all__ = ["ctc_loss"]

Lengths = Tensor | Sequence[int] | int

_NEVER = -1e30  # the logarithm of a probability of 0; differences of infinities would be NaN


def _several(lengths: Sequence[int] | int) -> list[int]:
    return [lengths] if isinstance(lengths, int) else list(lengths)


def _lengths(name: str, lengths: Lengths, batch: int, longest: int, like: Tensor) -> Tensor:
    """The lengths as int64 [batch] on the device of `like`, which checks tensors; numbers are checked at once."""
    if isinstance(lengths, Tensor):
        found = lengths.to(like.device, int64).reshape(-1)
    else:
        found = tensor(_several(lengths), dtype=int64)
    if found.shape != (batch,):
        raise ValueError(
            f"ctc_loss: {name} has shape {list(found.shape)} for a batch of {batch}; give one for each sequence"
        )
    if not isinstance(lengths, Tensor):
        for length in found.tolist():
            if not 0 <= length <= longest:
                raise ValueError(f"ctc_loss: a length in {name} is {length}; use 0 to {longest}")
    # An index out of range is an IndexError at the next read.
    return arange(longest + 1, device=like.device).take(found.to(like.device))


def _in_rows(targets: Tensor, lengths: Lengths) -> Tensor:
    """Concatenated targets, [sum of lengths], as [batch, longest]."""
    counts = [int(n) for n in (lengths.reshape(-1).tolist() if isinstance(lengths, Tensor) else _several(lengths))]
    if sum(counts) != targets.shape[0]:
        raise ValueError(
            f"ctc_loss: targets has {targets.shape[0]} elements, target_lengths add up to {sum(counts)}; use the same"
        )
    longest = max(counts, default=0)
    rows = [pad(part, (0, longest - len(part))) for part in targets.split(counts)]
    return cat(rows).reshape(len(counts), longest)


@wide
def ctc_loss(
    log_probs: Tensor,
    targets: Tensor,
    input_lengths: Lengths,
    target_lengths: Lengths,
    blank: int = 0,
    reduction: str = "mean",
    zero_infinity: bool = False,
) -> Tensor:
    """Computes the negative logarithm of the probability that a sequence of outputs spells its labels.

    The probability is the sum over all spellings: an output is a label or the blank, labels may be repeated, and equal
    neighbours have a blank between them.

    Args:
        log_probs: logarithms of probabilities, [time, batch, classes] or [time, classes].
        targets: classes without blanks: [batch, longest], where each row starts with its targets, or all sequences
            concatenated, [sum of target_lengths]; then target_lengths is read.
        input_lengths: number of outputs of each sequence: a tensor [batch], or numbers.
        target_lengths: number of targets of each sequence: a tensor [batch], or numbers.
        blank: the class of the blank.
        reduction: "mean" divides each loss by its number of targets, then averages; "sum" or "none".
        zero_infinity: whether to replace infinite losses, those of sequences that are too short for their targets, by
            0. They have no gradient in either case.

    Returns:
        A scalar, or [batch] if reduction is "none".

    Raises:
        ValueError: the shapes or lengths do not fit.
        IndexError: a length in a tensor or a class is out of range; raised by the next read.

    Example:
        >>> import math
        >>> half = sg.full((2, 1, 2), 0.5).log()
        >>> loss = sg.nn.functional.ctc_loss(half, sg.tensor([[1]]), (2,), (1,))
        >>> round(math.exp(-loss.item()), 4)
        0.75
    """
    batched = log_probs.ndim == 3
    if log_probs.ndim not in (2, 3) or targets.ndim not in (1, 1 + batched) or not log_probs.is_floating_point():
        raise ValueError(
            f"ctc_loss: log_probs {list(log_probs.shape)} {log_probs.dtype.name}, targets {list(targets.shape)}; give "
            "floats [time, batch, classes] and [batch, longest], or [time, classes] and [longest]"
        )
    if log_probs.dtype != float64:
        log_probs = log_probs.to(float32)
    if not batched:
        log_probs, targets = log_probs.unsqueeze(1), targets.unsqueeze(0)
    time, batch, classes = log_probs.shape
    if not 0 <= blank < classes:
        raise ValueError(f"ctc_loss: blank is {blank} of {classes} classes; use 0 to {classes - 1}")
    if targets.ndim == 1:
        targets = _in_rows(targets, target_lengths)
    if targets.shape[0] != batch:
        raise ValueError(f"ctc_loss: log_probs has {batch} sequences, targets {targets.shape[0]}; make them equal")
    longest = targets.shape[1]
    outputs = _lengths("input_lengths", input_lengths, batch, time, log_probs)
    labels = _lengths("target_lengths", target_lengths, batch, longest, log_probs)

    # Blanks before, between and after the labels, and before them two states that cannot be reached.
    positions = arange(longest, device=log_probs.device)
    targets = where(positions < labels.unsqueeze(1), targets.to(log_probs.device, int64), blank)
    spelled = pad(targets.unsqueeze(2), (1, 0), value=blank).flatten(1)
    spelled = pad(spelled, (0, 1), value=blank)
    # Where a label differs from the one before, the blank between them may be skipped.
    other = pad(spelled[:, 2:] != spelled[:, :-2], (2, 0))
    scores = log_probs.gather(2, spelled.expand(time, *spelled.shape)).clamp(min=_NEVER)
    state = where(arange(2 * longest + 3, device=log_probs.device) == 2, 0.0, _NEVER)
    state = state.to(log_probs.dtype).expand(batch, 2 * longest + 3)
    for t, score in enumerate(scores.unbind(0)):
        stay, step, skip = state[:, 2:], state[:, 1:-1], where(other, state[:, :-2], _NEVER)
        after = logaddexp(logaddexp(stay, step), skip) + score
        state = pad(where((t < outputs).unsqueeze(1), after, stay), (2, 0), value=_NEVER)
    last = 2 * labels.unsqueeze(1) + 2
    # Without labels, the state before the last blank cannot be reached.
    ends = state.gather(1, cat([last, last - 1], 1))
    losses = -logaddexp(ends[:, 0], ends[:, 1])
    never = losses > -_NEVER / 2
    losses = where(never, 0.0 if zero_infinity else full((), float("inf"), device=losses.device), losses)
    if not batched:
        losses, labels = losses.squeeze(0), labels.squeeze(0)
    if reduction == "mean":
        losses = losses / labels.clamp(min=1)
    return _reduced("ctc_loss", losses, reduction)
