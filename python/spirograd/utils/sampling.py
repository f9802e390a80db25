"""Choosing the next class from the scores of a model."""

from __future__ import annotations

from .._core import Generator, Tensor, rand
from ..base.grad_mode import no_grad

__all__ = ["sample_logits"]


def sample_logits(
    logits: Tensor,
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float | None = None,
    generator: Generator | None = None,
) -> Tensor:
    """Draws classes by their scores: [..., classes] -> [...]. Nothing is read back from the device.

    Args:
        logits: logarithms of weights.
        temperature: the scores are divided by it; small ones make likely classes likelier, 0 takes the likeliest.
        top_k: only the k likeliest are drawn.
        top_p: only the likeliest are drawn that together have this probability, and at least one (Holtzman et al.,
            2020, "The Curious Case of Neural Text Degeneration"); applied after top_k.
        generator: the stream of random numbers; None is the common one.

    Returns:
        int64 numbers of classes.

    Raises:
        ValueError: no classes, a negative temperature, a top_k below 1, a top_p outside (0, 1].

    Example:
        >>> sg.utils.sampling.sample_logits(sg.tensor([0.0, 5.0, 1.0]), temperature=0).item()
        1
        >>> sg.utils.sampling.sample_logits(sg.tensor([[0.0, 9.0], [9.0, 0.0]]), top_k=1).tolist()
        [1, 0]
    """
    if logits.ndim == 0 or logits.shape[-1] == 0:
        raise ValueError(f"sample_logits: logits of shape {tuple(logits.shape)} have no classes")
    if not temperature >= 0:
        raise ValueError(f"sample_logits: temperature is {temperature}; use 0 or more")
    if top_k is not None and top_k < 1:
        raise ValueError(f"sample_logits: top_k is {top_k}; use 1 or more, or None")
    if top_p is not None and not 0 < top_p <= 1:
        raise ValueError(f"sample_logits: top_p is {top_p}; use a number above 0, up to 1, or None")
    with no_grad():
        logits = logits.detach().float()
        if temperature == 0:
            return logits.argmax(-1)
        shape = logits.shape
        scores = logits.reshape(-1, shape[-1]) / temperature
        if top_k is None and top_p is None:
            return _draw(scores, generator).reshape(shape[:-1])
        if top_k is not None and top_k < shape[-1]:
            scores, classes = scores.topk(top_k)
        else:
            scores, classes = scores.sort(-1, descending=True)
        if top_p is not None:
            share = scores.softmax(-1)
            before = share.cumsum(-1) - share
            scores = scores.masked_fill((before >= top_p) & (before > 0), float("-inf"))
        chosen: Tensor = classes.gather(-1, _draw(scores, generator).unsqueeze(-1))
        return chosen.reshape(shape[:-1])


def _draw(scores: Tensor, generator: Generator | None) -> Tensor:
    """The highest score after adding Gumbel noise to each: [rows, classes] -> [rows]. One kernel."""
    even = rand(scores.shape, generator=generator, device=scores.device)
    return (scores - (-even.log()).log()).argmax(-1)
