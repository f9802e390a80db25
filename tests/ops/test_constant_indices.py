"""Indices that nothing was computed for yet: constants and ranges, which a kernel makes while it reads by them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import spirograd as sg
from spirograd.nn import functional as F

X = np.random.default_rng(1).normal(size=(7, 5)).astype(np.float32)
# Each gives one index of that shape, below 5.
INDICES: dict[str, Callable[..., sg.Tensor]] = {
    "zeros": lambda shape, **to: sg.zeros(shape, dtype=sg.int64, **to),
    "ones": lambda shape, **to: sg.ones(shape, dtype=sg.int64, **to),
    "full": lambda shape, **to: sg.full(shape, 4, dtype=sg.int64, **to),
    "a scalar": lambda shape, **to: sg.full((), 3, dtype=sg.int64, **to).expand(shape),
    "a sum": lambda shape, **to: sg.full(shape, 1, dtype=sg.int64, **to) + 2,
    "a range": lambda shape, **to: sg.arange(int(np.prod(shape)), **to).reshape(shape) % 5,
}
READS: dict[str, Callable[[sg.Tensor, Callable[..., sg.Tensor]], sg.Tensor]] = {
    "x[i]": lambda x, i: x[i((4,))],
    "x[i] of a 0-d index": lambda x, i: x[i(())],
    "x[:, i]": lambda x, i: x[:, i((3,))],
    "x[i, i]": lambda x, i: x[i((6,)), i((6,))],
    "x[i, i, None]": lambda x, i: x[i((2, 3)), i((2, 3)), None],
    "take": lambda x, i: x.take(i((4,))),
    "gather along 0": lambda x, i: x.gather(0, i((2, 5))),
    "gather along 1": lambda x, i: x.gather(1, i((7, 2))),
    "gather of one column": lambda x, i: x[:, :1].gather(0, i((6, 1))),
    "index_select": lambda x, i: x.index_select(1, i((3,))),
    "embedding": lambda x, i: F.embedding(i((2, 3)), x),
    "nll_loss": lambda x, i: F.nll_loss(x, i((7,))),
    "cross_entropy": lambda x, i: F.cross_entropy(x, i((7,))),
    "scatter": lambda x, i: x.scatter(0, i((1, 5)), 2.0),
    "index_add": lambda x, i: x.index_add(0, i((3,)), x[:3] + 1),
    "index_put": lambda x, i: x.index_put((i((1,)),), x[:1] * 2),
    "flat and turned": lambda x, i: x.T.flip(0)[i((4,))] * 2 + 1,
    "twice": lambda x, i: x[i((4,))][i((2,)) % 4],
}
OF_ALL_TYPES = ["x[i]", "take", "gather along 0", "embedding"]


@pytest.mark.parametrize("read", READS)
@pytest.mark.parametrize("made", INDICES)
def test_an_index_that_was_not_computed_reads_what_one_in_memory_does(made: str, read: str, device: sg.Device) -> None:
    results = []
    for waits in (False, True):
        x = sg.tensor(X, device=device, requires_grad=True)

        def index(shape: tuple[int, ...], waits: bool = waits) -> sg.Tensor:
            i = INDICES[made](shape, device=device)
            return i if waits else sg.tensor(i.numpy(), device=device)

        y = READS[read](x, index)
        weights = sg.tensor(np.arange(1, y.numel() + 1, dtype=np.float32).reshape(y.shape), device=device)
        (y * weights).sum().backward()
        assert x.grad is not None
        results.append((y.detach().numpy(), x.grad.numpy()))
    for got, want in zip(results[1], results[0], strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("read", OF_ALL_TYPES)
def test_of_halves_and_whole_numbers(read: str, device: sg.Device) -> None:
    for dtype in (sg.float16, sg.bfloat16, sg.int64, sg.bool):
        x = sg.tensor(X, device=device).to(dtype)
        got = READS[read](x, lambda shape: sg.full(shape, 4, dtype=sg.int64, device=device))
        want = READS[read](x, lambda shape: sg.tensor(np.full(shape, 4), device=device))
        assert (got == want).all()


def test_a_constant_index_out_of_range_is_an_error(device: sg.Device) -> None:
    x = sg.arange(10, device=device)
    with pytest.raises(IndexError, match="10"):
        x.take(sg.full((4,), 10, dtype=sg.int64, device=device)).numpy()


def test_ctc_loss_with_lengths_that_were_not_computed(device: sg.Device) -> None:
    numbers = np.random.default_rng(2)
    scores = sg.tensor(numbers.normal(size=(6, 2, 5)).astype(np.float32), device=device).log_softmax(-1)
    targets = sg.tensor(numbers.integers(1, 5, (2, 3)), device=device)
    lengths = [sg.full((2,), n, dtype=sg.int64, device=device) for n in (6, 3)]
    got = F.ctc_loss(scores, targets, *lengths)
    want = F.ctc_loss(scores, targets, *(sg.tensor(n.numpy(), device=device) for n in lengths))
    assert abs(got.item() - want.item()) < 1e-5
