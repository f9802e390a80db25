"""Generation token by token."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from .._core import Generator, Tensor, arange, bool, stack, tensor, where, zeros
from ..base.grad_mode import no_grad
from ..base.keywords import naming_keywords
from ..compiler import compile
from ..models import Decoder
from ..utils.sampling import sample_logits
from .reading import Reading, evaluating

__all__ = ["generate", "stream"]

_AT_ONCE = 32  # tokens that generate() reads at a time


class _Choice:
    """Draws the next tokens; remembers which ones there were, where that matters.

    Args:
        rows: the prompts.
        penalty: scores of tokens that were there are divided by it, negative ones multiplied.
        options: of sample_logits().
    """

    def __init__(self, rows: Sequence[Sequence[int]], penalty: float, **options: Any) -> None:
        self.rows, self.penalty, self.options = rows, penalty, options
        self.seen: Tensor | None = None

    def __call__(self, scores: Tensor) -> Tensor:
        if self.penalty == 1:
            return sample_logits(scores, **self.options)
        with no_grad():
            if self.seen is None:
                self.seen = zeros(*scores.shape, dtype=bool, device=scores.device)
                for i, row in enumerate(self.rows):
                    self.seen[i, tensor(sorted(set(row)), device=scores.device)] = True
            scores = scores.float()
            changed = where(scores > 0, scores / self.penalty, scores * self.penalty)
            chosen = sample_logits(where(self.seen, changed, scores), **self.options)
            self.seen[arange(len(self.rows), device=scores.device), chosen] = True
            return chosen


def _tokens(
    model: Decoder,
    rows: Sequence[Sequence[int]],
    max_new_tokens: int,
    temperature: float,
    top_k: int | None,
    top_p: float | None,
    repetition_penalty: float,
    seed: int | None,
    at_once: int,
) -> Iterator[list[int]]:
    """One token for each sequence, again and again.

    Tokens are read `at_once` at a time, when the next one is on its way; each read costs a submission.
    """
    if not repetition_penalty > 0:
        raise ValueError(f"generate: repetition_penalty is {repetition_penalty}; use a number above 0, 1 for none")
    reading = Reading("generate", model, rows, max_new_tokens)
    generator = None if seed is None else Generator(model.device).manual_seed(seed)
    choose = _Choice(
        reading.rows, repetition_penalty, temperature=temperature, top_k=top_k, top_p=top_p, generator=generator
    )
    step = compile(lambda tokens: choose(reading.read(tokens)))
    with evaluating(model):
        following: Tensor | None = None
        waiting: list[Tensor] = []
        for left in reversed(range(max_new_tokens)):
            waiting.append(choose(reading.read_all()) if following is None else following)
            following = None
            if left and not reading.full:
                following = step(waiting[-1])
                reading.filled += 1
            if following is None or len(waiting) == at_once:
                for values in [waiting[0].tolist()] if at_once == 1 else stack(waiting).tolist():
                    for row, value in zip(reading.rows, values, strict=True):
                        row.append(value)
                    yield values
                waiting = []


def _until(stop: Sequence[int], model: Decoder, prompts: Any, *options: Any) -> Iterator[Any]:
    """_tokens() without those after a token that ends a sequence."""
    rows = prompts.tolist() if isinstance(prompts, Tensor) else list(prompts)
    one = not rows or isinstance(rows[0], (int, np.integer))
    if not one:
        rows = [row.tolist() if isinstance(row, Tensor) else row for row in rows]
    last, ended = frozenset(stop), [False] * (1 if one else len(rows))
    for tokens in _tokens(model, [rows] if one else rows, *options):
        yield tokens[0] if one else [None if e else t for e, t in zip(ended, tokens, strict=True)]
        ended = [e or t in last for e, t in zip(ended, tokens, strict=True)]
        if all(ended):
            return


@naming_keywords
def stream(
    model: Decoder,
    prompts: Any,
    max_new_tokens: int,
    *,
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float | None = None,
    repetition_penalty: float = 1.0,
    stop: Sequence[int] = (),
    seed: int | None = None,
) -> Iterator[Any]:
    """Tokens that follow a prompt, each as soon as it is known.

    The model reads the prompt once and then one token at a time, on its device, where the next token is also chosen;
    from the fourth token or so each step is a replay of one plan (`sg.compile`). The model is in evaluation mode
    meanwhile.

    Args:
        model: gives scores of the next token.
        prompts: tokens, as a sequence or a tensor [time]; or several such sequences, which may differ in length.
        max_new_tokens: how many follow at most. When there are more than the model's context, it goes on with the
            later half of what it knows.
        temperature: scores are divided by it; 0 takes the likeliest token.
        top_k: only the k likeliest are drawn.
        top_p: only the likeliest are drawn that together have this probability.
        repetition_penalty: scores of tokens that were there, in the prompt too, are divided by it, negative ones
            multiplied (Keskar et al., 2019); 1 changes nothing.
        stop: tokens that end a sequence; they are handed out.
        seed: of the random numbers; None: the common stream.

    Yields:
        A token; for several prompts, a list with a token for each, None where it has ended.

    Raises:
        ValueError: a prompt is empty, or an option is out of its range.

    Example:
        >>> model = sg.models.GPT2(vocabulary=10, context=16, width=8, layers=1, heads=2)
        >>> for token in sg.generation.stream(model, [1, 2, 3], 2, temperature=0):
        ...     assert 0 <= token < 10
    """
    yield from _until(stop, model, prompts, max_new_tokens, temperature, top_k, top_p, repetition_penalty, seed, 1)


@naming_keywords
def generate(
    model: Decoder,
    prompts: Any,
    max_new_tokens: int,
    *,
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float | None = None,
    repetition_penalty: float = 1.0,
    stop: Sequence[int] = (),
    seed: int | None = None,
) -> Any:
    """Tokens that follow a prompt, all at once; faster than `stream`, because few of them are waited for.

    Args:
        model: gives scores of the next token.
        prompts: these and all others are as in `stream`, and so are the tokens.
        max_new_tokens: how many follow at most.
        temperature: scores are divided by it.
        top_k: only the k likeliest are drawn.
        top_p: only the likeliest are drawn that together have this probability.
        repetition_penalty: for tokens that were there.
        stop: tokens that end a sequence.
        seed: of the random numbers.

    Returns:
        The tokens, without the prompt; for several prompts, a list of them for each.

    Raises:
        ValueError: a prompt is empty, or an option is out of its range.

    Example:
        >>> model = sg.models.GPT2(vocabulary=10, context=16, width=8, layers=1, heads=2)
        >>> [len(row) for row in sg.generation.generate(model, [[1, 2, 3], [4]], 6, top_k=3, seed=0)]
        [6, 6]
    """
    found = list(
        _until(stop, model, prompts, max_new_tokens, temperature, top_k, top_p, repetition_penalty, seed, _AT_ONCE)
    )
    if not isinstance(found[0], list):
        return found
    return [[token for token in row if token is not None] for row in zip(*found, strict=True)]
