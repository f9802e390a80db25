"""Attention and its gradients by the formula, in NumPy's float64."""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


def attention_and_gradients(
    q: Array,
    k: Array,
    v: Array,
    g: Array,
    scale: float,
    causal: bool = False,
    mask: Array | None = None,
    kept: Array | float = 1.0,
) -> list[Array]:
    """The result and the gradients by query, key and value.

    Args:
        q: [batch, heads, queries, d].
        k: [batch, sources, keys, d], where a source serves heads / sources heads.
        v: [batch, sources, keys, e].
        g: the gradient of the result.
        scale: of the products.
        causal: query i sees keys 0 to i.
        mask: bool, True where a key takes part, or numbers that are added.
        kept: what the weights are multiplied by.
    """
    serves = q.shape[1] // k.shape[1]
    keys, values = np.repeat(k, serves, 1), np.repeat(v, serves, 1)
    scores = scale * (q @ np.swapaxes(keys, -1, -2))
    if causal:
        scores = np.where(np.tril(np.ones(scores.shape[-2:], bool)), scores, -np.inf)
    if mask is not None:
        scores = np.where(mask, scores, -np.inf) if mask.dtype == bool else scores + mask
    with np.errstate(invalid="ignore"):
        e = np.nan_to_num(np.exp(scores - scores.max(-1, keepdims=True)))
    total = e.sum(-1, keepdims=True)
    p = np.divide(e, total, out=np.zeros_like(e), where=total > 0)
    slopes = kept * (g @ np.swapaxes(values, -1, -2))
    d = p * (slopes - (slopes * p).sum(-1, keepdims=True)) * scale
    shared = (k.shape[0], k.shape[1], serves, k.shape[2], -1)
    to_key = (np.swapaxes(d, -1, -2) @ q).reshape(shared).sum(2)
    to_value = (np.swapaxes(kept * p, -1, -2) @ g).reshape(shared).sum(2)
    return [(kept * p) @ values, d @ keys, to_key, to_value]


def arrays(queries: int, keys: int, d: int = 8, e: int = 8, heads: int = 4, sources: int = 4) -> list[Array]:
    """Query, key, value and a gradient of the result that float32 holds exactly."""
    random = np.random.default_rng(queries + keys)
    shapes = (2, heads, queries, d), (2, sources, keys, d), (2, sources, keys, e), (2, heads, queries, e)
    return [random.standard_normal(s).astype("f4").astype("f8") for s in shapes]


def agree(got: list[Array], want: list[Array], bound: float) -> None:
    """Whether results and gradients differ by no more than `bound` of the largest one, or of 1."""
    for name, a, b in zip(("result", "query", "key", "value"), got, want, strict=True):
        assert a.shape == b.shape
        assert np.abs(a - b).max() <= bound * max(1, np.abs(b).max()), name
