"""Attention whose scores a function changes, and whose mask a function says.

Functions get tensors of indices that broadcast over [batch, heads, queries, keys]. With a mask alone, the fused kernel
of scaled_dot_product_attention() runs; a function of scores is computed on the whole matrix of scores.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

from .. import _core
from .._core import Tensor
from . import functional as F

__all__ = ["_DEFAULT_SPARSE_BLOCK_SIZE", "AuxOutput", "AuxRequest", "BlockMask", "and_masks", "create_block_mask"]
__all__ += ["create_mask", "flex_attention", "noop_mask", "or_masks"]

Mask = Callable[[Tensor, Tensor, Tensor, Tensor], Tensor]
_DEFAULT_SPARSE_BLOCK_SIZE = 128


class AuxRequest(NamedTuple):
    """What flex_attention() gives beside the result: the same as AuxOutput, where it is True."""

    lse: bool = False
    max_scores: bool = False


class AuxOutput(NamedTuple):
    """Beside the result: the logarithm of each query's sum of exp(score), and its largest score; or None."""

    lse: Tensor | None = None
    max_scores: Tensor | None = None


def noop_mask(batch: Tensor, head: Tensor, token_q: Tensor, token_kv: Tensor) -> Tensor:
    """Every query sees every key."""
    return _core.ones((), dtype=_core.bool, device=token_q.device)


def and_masks(*mask_mods: Mask) -> Mask:
    """A mask of what all of these allow."""
    return _joined(mask_mods, lambda a, b: a & b, True)


def or_masks(*mask_mods: Mask) -> Mask:
    """A mask of what one of these allows."""
    return _joined(mask_mods, lambda a, b: a | b, False)


def _joined(masks: tuple[Mask, ...], join: Callable[[Any, Any], Any], start: bool) -> Mask:
    for mask in masks:
        if not callable(mask):
            raise RuntimeError(f"and_masks: {mask!r} is no function; give functions of (batch, head, query, key)")

    def mask_mod(b: Tensor, h: Tensor, q: Tensor, kv: Tensor) -> Tensor:
        result = _core.full((), start, dtype=_core.bool, device=q.device)
        for mask in masks:
            result = join(result, mask(b, h, q, kv))
        return result

    return mask_mod


def _indices(sizes: tuple[int, ...], device: Any) -> list[Tensor]:
    """Of each dimension, so that they broadcast over all."""
    shapes = [[-1 if i == d else 1 for i in range(len(sizes))] for d in range(len(sizes))]
    return [_core.arange(n, device=device).reshape(shape) for n, shape in zip(sizes, shapes, strict=True)]


def create_mask(
    mod_fn: Callable[..., Tensor], B: int | None, H: int | None, Q_LEN: int, KV_LEN: int, device: Any = None
) -> Tensor:
    """[B, H, Q_LEN, KV_LEN]: a mask, or what a function of scores makes of zeros.

    Args:
        mod_fn: of (batch, head, query, key), or of (score, batch, head, query, key).
        B, H: None: one for all.
    """
    sizes = (B or 1, H or 1, Q_LEN, KV_LEN)
    at = _indices(sizes, device)
    of_scores = mod_fn.__code__.co_argcount == 5 if hasattr(mod_fn, "__code__") else False
    made = mod_fn(_core.zeros(sizes, device=device), *at) if of_scores else mod_fn(*at)
    return made.expand(sizes)


def _sides(size: int | tuple[int, int]) -> tuple[int, int]:
    return (size, size) if isinstance(size, int) else (size[0], size[1])


class BlockMask:
    """A mask that knows which blocks of queries and keys it touches.

    Attributes:
        kv_num_blocks: [B, H, rows of blocks]: how many blocks of keys are seen in part.
        kv_indices: [B, H, rows, columns]: which; the first of each row count.
        full_kv_num_blocks, full_kv_indices: the same of blocks that are seen whole, without asking the mask; or None.
        BLOCK_SIZE: queries and keys of a block.
        mask_mod: the function.
        seq_lengths: queries and keys.
    """

    def __init__(
        self,
        seq_lengths: tuple[int, int],
        kv_num_blocks: Tensor,
        kv_indices: Tensor,
        full_kv_num_blocks: Tensor | None,
        full_kv_indices: Tensor | None,
        BLOCK_SIZE: tuple[int, int],
        mask_mod: Mask,
    ) -> None:
        self.seq_lengths, self.BLOCK_SIZE, self.mask_mod = seq_lengths, BLOCK_SIZE, mask_mod
        self.kv_num_blocks, self.kv_indices = kv_num_blocks, kv_indices
        self.full_kv_num_blocks, self.full_kv_indices = full_kv_num_blocks, full_kv_indices

    @classmethod
    def from_kv_blocks(
        cls,
        kv_num_blocks: Tensor,
        kv_indices: Tensor,
        full_kv_num_blocks: Tensor | None = None,
        full_kv_indices: Tensor | None = None,
        BLOCK_SIZE: int | tuple[int, int] = _DEFAULT_SPARSE_BLOCK_SIZE,
        mask_mod: Mask | None = None,
        seq_lengths: tuple[int, int] | None = None,
        compute_q_blocks: bool = True,
    ) -> BlockMask:
        """A mask of the blocks that are listed.

        Raises:
            RuntimeError: indices without the dimensions of blocks.
        """
        if kv_indices.ndim < 2:
            raise RuntimeError(f"from_kv_blocks: indices of shape {tuple(kv_indices.shape)}; give [..., rows, columns]")
        sides = _sides(BLOCK_SIZE)
        lengths = seq_lengths or (kv_indices.shape[-2] * sides[0], kv_indices.shape[-1] * sides[1])
        full = (full_kv_num_blocks, full_kv_indices)
        return cls(lengths, kv_num_blocks, kv_indices, *full, sides, mask_mod or noop_mask)

    @property
    def shape(self) -> tuple[int, ...]:
        """[B, H, queries, keys]."""
        return (*self.kv_num_blocks.shape[:-1], *self.seq_lengths)

    @property
    def q_num_blocks(self) -> Tensor:
        """How many blocks of queries see some of these keys; [B, H, columns of blocks]."""
        return self._blocks(self.kv_num_blocks, self.kv_indices).sum(-2).int()

    @property
    def q_indices(self) -> Tensor:
        """The blocks of queries that see some of these keys; [B, H, columns, rows]."""
        return _ordered(self._blocks(self.kv_num_blocks, self.kv_indices).transpose(-2, -1))[1]

    def _blocks(self, count: Tensor | None, indices: Tensor | None) -> Tensor:
        """[B, H, rows, columns]: whether a block is listed."""
        if count is None or indices is None:
            return _core.zeros(tuple(self.kv_indices.shape), dtype=_core.bool, device=self.kv_indices.device)
        listed = _core.arange(indices.shape[-1], device=indices.device) < count.unsqueeze(-1)
        none = _core.zeros(tuple(indices.shape), device=indices.device)
        return none.scatter_add(-1, indices.long(), listed.float()) > 0

    def to_dense(self) -> Tensor:
        """[B, H, rows, columns]: 1 for blocks that are seen, in part or whole."""
        some = self._blocks(self.kv_num_blocks, self.kv_indices)
        return (some | self._blocks(self.full_kv_num_blocks, self.full_kv_indices)).int()

    def sparsity(self) -> float:
        """How many per cent of queries and keys are in no block that is seen."""
        seen = int(self.to_dense().sum()) * self.BLOCK_SIZE[0] * self.BLOCK_SIZE[1]
        return 100 * (1 - seen / math.prod(self.shape))

    def numel(self) -> int:
        """How many pairs of a query and a key there are."""
        return math.prod(self.shape)

    def to(self, device: Any) -> BlockMask:
        """The same on another device."""

        def moved(t: Tensor | None) -> Tensor | None:
            return t if t is None else t.to(device)

        some = self.kv_num_blocks.to(device), self.kv_indices.to(device)
        full = moved(self.full_kv_num_blocks), moved(self.full_kv_indices)
        return BlockMask(self.seq_lengths, *some, *full, self.BLOCK_SIZE, self.mask_mod)

    def whole(self, device: Any) -> Tensor:
        """[B, H, queries, keys]: the mask itself."""

        def of_elements(blocks: Tensor) -> Tensor:
            rows = blocks.repeat_interleave(self.BLOCK_SIZE[0], -2).repeat_interleave(self.BLOCK_SIZE[1], -1)
            return rows[..., : self.seq_lengths[0], : self.seq_lengths[1]].to(device)

        asked = self.mask_mod(*_indices(self.shape, device))
        some = of_elements(self._blocks(self.kv_num_blocks, self.kv_indices)) & asked
        if self.full_kv_num_blocks is None:
            return some
        return some | of_elements(self._blocks(self.full_kv_num_blocks, self.full_kv_indices))

    def __repr__(self) -> str:
        return f"BlockMask(shape={self.shape}, sparsity={self.sparsity():.2f}%)"


def _ordered(blocks: Tensor) -> tuple[Tensor, Tensor]:
    """How many blocks of each row there are, and their columns first."""
    order = _core.argsort(blocks.int(), dim=-1, descending=True, stable=True)
    return blocks.sum(-1).int(), order.int()


def create_block_mask(
    mask_mod: Mask,
    B: int | None,
    H: int | None,
    Q_LEN: int,
    KV_LEN: int,
    device: Any = None,
    BLOCK_SIZE: int | tuple[int, int] = _DEFAULT_SPARSE_BLOCK_SIZE,
    _compile: bool = False,
) -> BlockMask:
    """The blocks that a function touches.

    Args:
        mask_mod: of indices (batch, head, query, key), whether that query sees that key.
        B, H: None: one mask for all.
        device: where flex_attention() will run; None: the GPU, if there is one.
    """
    device = device or ("gpu" if _core.Device.is_gpu_available() else "cpu")
    sides = _sides(BLOCK_SIZE)
    mask = create_mask(mask_mod, B, H, Q_LEN, KV_LEN, device)
    rows, columns = -(-Q_LEN // sides[0]), -(-KV_LEN // sides[1])
    padded = F.pad(mask.float(), (0, columns * sides[1] - KV_LEN, 0, rows * sides[0] - Q_LEN))
    seen = padded.reshape(*mask.shape[:2], rows, sides[0], columns, sides[1]).sum((3, 5))
    full = seen == sides[0] * sides[1]
    partial, whole = _ordered((seen > 0) & ~full), _ordered(full)
    return BlockMask((Q_LEN, KV_LEN), *partial, *whole, sides, mask_mod)


def flex_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    score_mod: Callable[..., Tensor] | None = None,
    block_mask: BlockMask | None = None,
    scale: float | None = None,
    enable_gqa: bool = False,
    return_lse: bool = False,
    kernel_options: Any = None,
    *,
    return_aux: AuxRequest | None = None,
) -> Any:
    """Attention with functions of scores and masks.

    Args:
        query: [batch, heads, queries, elements].
        key, value: [batch, heads, keys, elements].
        score_mod: of (score, batch, head, query, key); the scores that are used instead.
        block_mask: which keys a query sees; a query that sees none gives zeros.
        scale: of scores; None: 1 / sqrt(elements).
        enable_gqa: fewer heads of keys and values than of queries.
        return_lse: also give the logarithm of each query's sum of exp(score).
        kernel_options: accepted.
        return_aux: also give an AuxOutput of what is asked for.

    Raises:
        ValueError: shapes that do not fit.
    """
    if query.ndim != 4 or key.ndim != 4 or value.ndim != 4:
        raise ValueError("flex_attention: query, key and value need 4 dimensions, [batch, heads, length, elements]")
    if query.shape[1] != key.shape[1] and not enable_gqa:
        raise ValueError(
            f"flex_attention: {query.shape[1]} heads of queries and {key.shape[1]} of keys; use enable_gqa=True"
        )
    mask = block_mask.whole(query.device) if block_mask is not None else None
    if score_mod is None and not return_lse and return_aux is None:
        out = F.scaled_dot_product_attention(query, key, value, attn_mask=mask, scale=scale, enable_gqa=enable_gqa)
        return out if mask is None else _core.where(mask.any(-1, keepdim=True), out, 0)
    groups = query.shape[1] // key.shape[1]
    key, value = (t.repeat_interleave(groups, 1) if groups > 1 else t for t in (key, value))
    scores = (query @ key.transpose(-2, -1)).float() * (query.shape[-1] ** -0.5 if scale is None else scale)
    if score_mod is not None:
        scores = score_mod(scores, *_indices(tuple(scores.shape), query.device)).expand(scores.shape)
    if mask is not None:
        scores = _core.where(mask, scores, float("-inf"))
    lse = scores.logsumexp(-1)
    weights = (scores - lse.unsqueeze(-1)).exp()
    if mask is not None:
        weights = _core.where(mask, weights, 0)
    out = weights.to(query.dtype) @ value
    if return_aux is not None:
        return out, AuxOutput(lse if return_aux.lse else None, scores.amax(-1) if return_aux.max_scores else None)
    return (out, lse) if return_lse else out
