"""Sequences that a model reads: all of them at once, then token by token."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence

from .. import nn
from .._core import Tensor, arange, tensor
from ..base.grad_mode import no_grad
from ..models import Decoder

__all__ = ["Reading", "evaluating"]

_ROUND = 64  # lengths of caches are multiples of it, so that similar requests share plans


@contextlib.contextmanager
def evaluating(model: nn.Module) -> Iterator[None]:
    """The model is in evaluation mode; afterwards each module is as it was."""
    training = [module for module in model.modules() if module.training]
    model.eval()
    try:
        yield
    finally:
        for module in training:
            module.training = True


class Reading:
    """What a model has read of some sequences.

    A cache that is full is emptied, and the later half of it is read again: the model goes on with what it saw last.

    Args:
        op: for messages.
        model: gives the scores.
        rows: the sequences; each has at least one token.
        most: how many tokens follow at most.

    Raises:
        ValueError: a sequence is empty, or there is none.
    """

    def __init__(self, op: str, model: Decoder, rows: Sequence[Sequence[int]], most: int) -> None:
        if most < 1:
            raise ValueError(f"{op}: max_new_tokens is {most}; use 1 or more")
        if not rows or not all(len(row) for row in rows):
            raise ValueError(f"{op}: a prompt has no tokens; give at least one")
        self.model = model
        self.rows = [[int(token) for token in row] for row in rows]
        needed = -(-(max(map(len, rows)) + most) // _ROUND) * _ROUND
        self.length = min(needed, model.context or needed)
        self.cache = model.new_cache(len(rows), self.length)
        self.filled = 0  # of the longest sequence

    @property
    def full(self) -> bool:
        """There is no room for one more token."""
        return self.filled >= self.length

    def read_all(self) -> Tensor:
        """The scores of what follows the sequences: [batch, vocabulary]."""
        longest = max(map(len, self.rows))
        kept = longest if longest <= self.length else max(1, self.length // 2)
        rows = [row[-kept:] for row in self.rows]
        sizes = [len(row) for row in rows]
        self.filled = max(sizes)
        device = self.model.device
        padded = tensor([row + [0] * (self.filled - len(row)) for row in rows], device=device)
        with no_grad():
            self.cache.clear()
            hidden = self.model.hidden(padded, self.cache)
            if min(sizes) == self.filled:
                self.cache.advance(self.filled)
                return self.model.scores(hidden[:, -1])
            counts = tensor(sizes, device=device)
            self.cache.advance(counts)
            return self.model.scores(hidden[arange(len(rows), device=device), counts - 1])

    def read(self, tokens: Tensor) -> Tensor:
        """The scores of what follows one more token of each sequence: [batch] -> [batch, vocabulary]."""
        with no_grad():
            hidden = self.model.hidden(tokens.unsqueeze(1), self.cache)
            self.cache.advance(1)
            return self.model.scores(hidden[:, 0])
