"""Beam search: the likeliest sequences, as far as a few candidates at a time find them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from .._core import Tensor, tensor
from ..base.grad_mode import no_grad
from ..base.keywords import naming_keywords
from ..compiler import compile
from ..models import Decoder
from .reading import Reading, evaluating

__all__ = ["Hypothesis", "beam_search"]


class Hypothesis(NamedTuple):
    """Tokens that follow a prompt, and how likely they are."""

    tokens: list[int]
    score: float  # the sum of the logarithms of their probabilities, divided by their count ** length_penalty


@naming_keywords
def beam_search(
    model: Decoder,
    prompt: Any,
    max_new_tokens: int,
    *,
    beams: int = 4,
    length_penalty: float = 1.0,
    stop: Sequence[int] = (),
) -> list[Hypothesis]:
    """The likeliest sequences that follow a prompt, of those that `beams` candidates at a time lead to.

    Args:
        model: gives scores of the next token.
        prompt: tokens, as a sequence or a tensor [time].
        max_new_tokens: how many follow at most; with the prompt, they fit into the model's context.
        beams: how many sequences are continued at a time, and how many are returned.
        length_penalty: above 0, it makes up for the smaller probability of longer sequences.
        stop: tokens that end a sequence.

    Returns:
        The best ones, best first.

    Raises:
        ValueError: the prompt is empty or too long, or beams is below 1.

    Example:
        >>> model = sg.models.GPT2(vocabulary=10, context=16, width=8, layers=1, heads=2)
        >>> best = sg.generation.beam_search(model, [1, 2], 3, beams=2)
        >>> len(best), best[0].score >= best[1].score
        (2, True)
    """
    if beams < 1:
        raise ValueError(f"beam_search: beams is {beams}; use 1 or more")
    prompt = prompt.tolist() if isinstance(prompt, Tensor) else list(prompt)
    if model.context is not None and len(prompt) + max_new_tokens > model.context:
        raise ValueError(
            f"beam_search: {len(prompt)} tokens and {max_new_tokens} more; the model's context is {model.context}"
        )
    reading = Reading("beam_search", model, [prompt] * beams, max_new_tokens)
    device, last = model.device, frozenset(stop)

    def likeliest(scores: Tensor, sums: Tensor) -> tuple[Tensor, Tensor]:
        """Of all ways to go on: the sums of the best, and where each is in [beams, vocabulary]. Enough for those that
        end and as many that do not."""
        with no_grad():
            sums = (scores.float().log_softmax(-1) + sums.unsqueeze(1)).flatten()
            values, places = sums.topk(min(beams * (1 + len(last)), sums.shape[0]))
            return values, places

    @compile
    def step(tokens: Tensor, parents: Tensor, sums: Tensor) -> tuple[Tensor, Tensor]:
        with no_grad():
            reading.cache.reorder(parents)
        return likeliest(reading.read(tokens), sums)

    with evaluating(model):
        scores = reading.read_all()
        # In the beginning all beams are equal, and one of them counts.
        found = likeliest(scores, tensor([0.0] + [float("-inf")] * (beams - 1), device=device))
        going: list[tuple[float, list[int]]] = [(0.0, [])] * beams
        ended: list[Hypothesis] = []
        for length in range(1, max_new_tokens + 1):
            after: list[tuple[float, list[int]]] = []
            parents: list[int] = []
            for total, place in zip(found[0].tolist(), found[1].tolist(), strict=True):
                parent, token = divmod(place, scores.shape[1])
                tokens = [*going[parent][1], token]
                if total == float("-inf"):
                    continue
                if token in last or length == max_new_tokens:
                    ended.append(Hypothesis(tokens, total / length**length_penalty))
                elif len(after) < beams:
                    after.append((total, tokens))
                    parents.append(parent)
            ended = sorted(ended, key=lambda h: -h.score)[:beams]
            reach = (max_new_tokens if length_penalty > 0 else length + 1) ** length_penalty
            if not after or (len(ended) == beams and after[0][0] / reach <= ended[-1].score):
                break
            fill = beams - len(after)
            going = after + [(float("-inf"), after[0][1])] * fill
            found = step(
                tensor([tokens[-1] for _, tokens in going], device=device),
                tensor(parents + [parents[0]] * fill, device=device),
                tensor([total for total, _ in going], device=device),
            )
    return ended
