"""torch.nn.attention.flex_attention: scores and masks that are functions."""

import numpy as np
import torch
from torch.nn.attention.flex_attention import (
    BlockMask,
    and_masks,
    create_block_mask,
    create_mask,
    flex_attention,
    or_masks,
)

from checking import check, drawn

documents = torch.tensor(np.repeat(np.arange(4), 50))
slopes = torch.tensor([0.5, 0.25, 0.125, 0.0625])


def causal(b, h, q_idx, kv_idx):
    return q_idx >= kv_idx


def alibi(score, b, h, q_idx, kv_idx):
    return score + slopes[h] * (kv_idx - q_idx)


def heads(count=4):
    return drawn(2, count, 200, 16)


def causal_mask():
    return create_block_mask(causal, None, None, 200, 200, device="cpu")


def test_block_mask():
    mask = causal_mask()
    check(mask.shape, mask.BLOCK_SIZE, mask.kv_num_blocks, mask.kv_indices, mask.to_dense())
    check(mask.full_kv_num_blocks, round(mask.sparsity(), 2))


near = or_masks(lambda b, h, q, kv: q - kv <= 64, lambda b, h, q, kv: documents[q] == documents[kv])


def test_masks_together():
    small = create_block_mask(and_masks(causal, near), 2, 4, 200, 200, device="cpu", BLOCK_SIZE=(64, 32))
    check(small.kv_num_blocks[0, 0], small.full_kv_num_blocks[0, 0])
    check(flex_attention(heads(), heads(), heads(), block_mask=small))


def test_causal():
    check(flex_attention(heads(), heads(), heads(), block_mask=causal_mask()))


def test_scores_by_head():
    check(*flex_attention(heads(), heads(), heads(), score_mod=alibi, return_lse=True))


def test_capped_scores():
    cap = {"score_mod": lambda s, *i: 20 * torch.tanh(s / 20), "scale": 0.3}
    check(flex_attention(heads(), heads(), heads(), block_mask=causal_mask(), **cap))


def test_groups():
    q, *few = heads(), heads(2), heads(2)
    check(flex_attention(q, *few, block_mask=causal_mask(), enable_gqa=True))
    check(flex_attention(q, *few, score_mod=alibi, enable_gqa=True))


def test_rows_without_keys():
    late = create_block_mask(lambda b, h, q, kv: (q >= kv) & (q >= 10), None, None, 200, 200, device="cpu")
    check(flex_attention(heads(), heads(), heads(), block_mask=late))


def test_create_mask():
    check(create_mask(causal, 1, 1, 8, 8, device="cpu"))


def test_blocks_that_are_listed():
    count, which = torch.tensor([[[1, 2]]], dtype=torch.int32), torch.tensor([[[[0, 1], [1, 0]]]], dtype=torch.int32)
    listed = BlockMask.from_kv_blocks(count, which, BLOCK_SIZE=100, mask_mod=causal)
    check(listed.shape, listed.to_dense(), listed.q_num_blocks, listed.q_indices)
