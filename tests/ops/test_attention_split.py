"""float32 attention that is large enough for matrix units: products of numbers split into halves where a GPU has such
units, float32 arithmetic elsewhere; the same errors from both, against NumPy's float64."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import spirograd as sg
from reference.attention import agree, arrays, attention_and_gradients

pytestmark = pytest.mark.gpu
attention = sg._core._attention
Array = np.ndarray[Any, Any]
BOUND = 4e-6  # of the largest number: float32 arithmetic needs 2e-6
LARGE: dict[str, int] = {"queries": 530, "keys": 515, "d": 64, "e": 64}  # 2 x 4 heads: more than 2^27 multiplications


def found(inputs: list[Array], device: sg.Device, causal: bool = False, **options: Any) -> list[Array]:
    q, k, v = (sg.tensor(x.astype("f4"), device=device, requires_grad=True) for x in inputs[:3])
    out = attention(q, k, v, 0.1, causal, **options)
    out.backward(sg.tensor(inputs[3].astype("f4"), device=device))
    return [x.detach().numpy() for x in (out, q.grad, k.grad, v.grad)]


def rounded(inputs: list[Array]) -> list[Array]:
    return [x.astype("f4").astype("f8") for x in inputs]


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize(("d", "e"), [(64, 64), (128, 128), (40, 72), (96, 8)])
def test_heads_of_all_sizes_have_the_digits_of_float32(d: int, e: int, causal: bool, gpu: sg.Device) -> None:
    inputs = arrays(1030, 777, d, e) if causal else arrays(777, 530, d, e)
    agree(found(inputs, gpu, causal), attention_and_gradients(*inputs, 0.1, causal=causal), BOUND)


def test_heads_that_share_keys(gpu: sg.Device) -> None:
    inputs = arrays(**LARGE, heads=6, sources=2)
    agree(found(inputs, gpu), attention_and_gradients(*inputs, 0.1), BOUND)


def test_masks(gpu: sg.Device) -> None:
    inputs, random = arrays(**LARGE), np.random.default_rng(1)
    taking_part = random.random((2, 1, LARGE["queries"], LARGE["keys"])) < 0.6
    taking_part[:, :, 7] = False
    for mask in (taking_part, random.standard_normal((LARGE["queries"], LARGE["keys"])).astype("f4")):
        got = found(inputs, gpu, mask=sg.tensor(mask, device=gpu))
        agree(got, attention_and_gradients(*inputs, 0.1, mask=mask), BOUND)


def test_dropout_draws_as_on_the_cpu(gpu: sg.Device) -> None:
    inputs = arrays(**LARGE)
    each = []
    for device in (gpu, sg.Device("cpu")):
        sg.manual_seed(5)
        each.append(found(inputs, device, mask=None, dropout=0.25))
    agree(each[0], each[1], BOUND)


def test_strided_heads_and_rows_at_any_place(gpu: sg.Device) -> None:
    """Heads inside rows, as after a split of one projection; rows that no unit of 16 bytes begins."""
    inputs = [np.swapaxes(np.ascontiguousarray(np.swapaxes(x, 1, 2)), 1, 2) for x in arrays(**LARGE)]
    shifted = [np.concatenate([x[..., :1], x, x[..., :2]], -1) for x in inputs]
    q, k, v, g = (sg.tensor(x.astype("f4"), device=gpu)[..., 1:-2] for x in shifted)
    leaves = [x.requires_grad_() for x in (q, k, v)]
    out = attention(*leaves, 0.1, False)
    got = [out, *sg.autograd.grad(out, leaves, g)]
    agree([x.detach().numpy() for x in got], attention_and_gradients(*inputs, 0.1), BOUND)


def test_small_and_large_numbers(gpu: sg.Device) -> None:
    """Each head's matrices are scaled by powers of two of their own."""
    inputs = arrays(**LARGE)
    inputs[0] *= 1e-9
    inputs[1] *= 1e9
    inputs[2] *= 1e12
    inputs[3][:, 1] *= 1e-12
    q, k, v, g = inputs = rounded(inputs)
    got, want = found(inputs, gpu), attention_and_gradients(q, k, v, g, 0.1)
    for head in range(4):
        for a, b in zip(got, want, strict=True):
            assert np.abs(a[:, head] - b[:, head]).max() <= BOUND * np.abs(b[:, head]).max()


def test_rows_and_columns_that_are_far_apart(gpu: sg.Device) -> None:
    """No power of two brings them into the range of halves together: small ones have all their digits nevertheless."""
    inputs = arrays(**LARGE)
    inputs[0][0, 0] *= 1e-30  # a whole head: small, not far apart
    inputs[1][0, 1, 5] *= 1e15
    inputs[1][0, 1, 5, 1:] = 0
    inputs[0][0, 1, :, 0] = 0
    inputs[2][1, 2, :, 3] *= 1e-12
    inputs = rounded(inputs)
    got, want = found(inputs, gpu), attention_and_gradients(*inputs, 0.1)
    agree([x / max(1, np.abs(y).max()) for x, y in zip(got, want, strict=True)],
          [y / max(1, np.abs(y).max()) for y in want], BOUND)  # fmt: skip
    small, exact = got[0][1, 2, :, 3], want[0][1, 2, :, 3]
    assert np.abs(small - exact).max() <= BOUND * np.abs(exact).max()


def test_infinities_stay_in_their_head(gpu: sg.Device) -> None:
    inputs = arrays(**LARGE)
    clean = found(inputs, gpu)
    inputs[1][0, 1, 9, 3] = np.inf
    inputs[2][1, 0, 9, 3] = np.nan
    for a, b in zip(found(inputs, gpu), clean, strict=True):
        assert np.isnan(a[0, 1]).any() or np.isnan(a[1, 0]).any()
        for batch, head in ((0, 0), (0, 2), (0, 3), (1, 1), (1, 2), (1, 3)):
            np.testing.assert_array_equal(a[batch, head], b[batch, head])


def test_every_run_gives_the_same_bits(gpu: sg.Device) -> None:
    inputs = arrays(**LARGE)
    for a, b in zip(found(inputs, gpu), found(inputs, gpu), strict=True):
        np.testing.assert_array_equal(a, b)


EACH_PATH = """
import numpy as np, spirograd as sg
from reference.attention import arrays, attention_and_gradients
inputs = arrays(530, 515, 64, 64)
q, k, v = (sg.tensor(x.astype("f4"), device="gpu", requires_grad=True) for x in inputs[:3])
out = sg._core._attention(q, k, v, 0.1, False)
names = [step.name for step in out.plan()]
out.backward(sg.tensor(inputs[3].astype("f4"), device="gpu"))
got = [x.detach().numpy() for x in (out, q.grad, k.grad, v.grad)]
want = attention_and_gradients(*inputs, 0.1)
print(max(np.linalg.norm(a - b) / np.linalg.norm(b) for a, b in zip(got, want)), "attention_split" in names,
      sg.Device.gpu().features["float16 products"].split()[-1])
"""


def test_halves_are_no_less_exact_than_float32_arithmetic(run_python: Callable[..., str]) -> None:
    errors = {}
    for path in ("none", "cm2"):
        error, split, of_products = run_python(EACH_PATH, SPIROGRAD_MATRIX=path).split()
        errors[path] = float(error)
        assert (split == "True") == (of_products == "cm2"), path
    assert errors["cm2"] <= 1.1 * errors["none"]


def test_gradients_of_a_few_rows_may_be_nothing_but_rounding(gpu: sg.Device) -> None:
    """As the gradient of the first query of a causal attention, which becomes that of an attention before."""
    inputs = arrays(**LARGE)
    inputs[3][:, :, 0] *= 1e-9
    inputs = rounded(inputs)
    agree(found(inputs, gpu, causal=True), attention_and_gradients(*inputs, 0.1, causal=True), BOUND)
    inputs[3][:, 2, 0] *= 2.0**70  # now most rows are small: none loses digits
    got, want = found(inputs, gpu), attention_and_gradients(*inputs, 0.1)
    small, exact = got[1][:, 2, 1:], want[1][:, 2, 1:]
    assert np.abs(small - exact).max() <= BOUND * np.abs(exact).max()
