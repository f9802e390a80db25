"""What attention does inside its kernels besides the softmax: masks, dropout, heads that share keys; against the
formula in NumPy's float64, forward and backward."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import spirograd as sg
from reference.attention import agree, arrays, attention_and_gradients

attention = sg._core._attention
Array = np.ndarray[Any, Any]


def found(inputs: list[Array], device: sg.Device, **options: Any) -> list[Array]:
    q, k, v = (sg.tensor(x.astype("f4"), device=device, requires_grad=True) for x in inputs[:3])
    out = attention(q, k, v, 0.3, options.pop("causal", False), **options)
    out.backward(sg.tensor(inputs[3].astype("f4"), device=device))
    return [x.detach().numpy() for x in (out, q.grad, k.grad, v.grad)]


def masks(queries: int, keys: int) -> dict[str, Array]:
    random = np.random.default_rng(1)
    taking_part = random.random((queries, keys)) < 0.6
    taking_part[queries // 2] = False  # a query without a key
    slopes = -(2.0 ** -np.arange(1, 5))[:, None, None] * np.abs(np.arange(queries)[:, None] - np.arange(keys))
    return {
        "bool": taking_part,
        "bool of each": random.random((2, 4, queries, keys)) < 0.8,
        "bool of keys": random.random((2, 1, 1, keys)) < 0.7,
        "numbers": random.standard_normal((2, 1, queries, keys)).astype("f4"),
        "numbers of distance": slopes.astype("f4"),
        "minus infinity": np.where(taking_part, 0.5, -np.inf).astype("f4"),
    }


@pytest.mark.parametrize("name", masks(2, 2))
def test_masks_are_applied_in_the_kernel(name: str, device: sg.Device) -> None:
    for queries, keys in ((37, 50), (16, 16)):
        inputs, mask = arrays(queries, keys), masks(queries, keys)[name]
        with sg.no_grad():
            tensors = [sg.tensor(x.astype("f4"), device=device) for x in inputs[:3]]
            steps = attention(*tensors, 0.3, False, sg.tensor(mask, device=device)).plan()
            assert [step.name for step in steps] == ["attention"]
        got = found(inputs, device, mask=sg.tensor(mask, device=device))
        agree(got, attention_and_gradients(*inputs, 0.3, mask=mask), 5e-6)


def test_a_mask_may_be_strided_and_beside_the_triangle(device: sg.Device) -> None:
    inputs, random = arrays(20, 20), np.random.default_rng(3)
    mask = random.standard_normal((20, 20)).astype("f4")
    given = sg.tensor(np.concatenate([mask.T, mask.T], 1), device=device)[:, :20].mT
    agree(
        found(inputs, device, mask=given, causal=True),
        attention_and_gradients(*inputs, 0.3, causal=True, mask=mask),
        5e-6,
    )


def test_the_lowest_number_as_a_mask_leaves_an_average(device: sg.Device) -> None:
    """As in PyTorch: a row of the lowest number is not a row of minus infinities."""
    inputs = arrays(5, 9)
    mask = np.zeros((5, 9), "f4")
    mask[2] = np.finfo("f4").min
    q, k, v = (sg.tensor(x.astype("f4"), device=device) for x in inputs[:3])
    out = attention(q, k, v, 0.3, False, sg.tensor(mask, device=device)).numpy()
    np.testing.assert_allclose(out[:, :, 2], inputs[2].mean(2), atol=1e-5)


def test_a_mask_gets_its_gradient() -> None:
    inputs = [sg.tensor(x[:1, :1, :4], requires_grad=True) for x in arrays(4, 4)[:3]]
    mask = sg.randn(4, 4, dtype=sg.float64).requires_grad_()
    assert sg.autograd.gradcheck(lambda *x: attention(*x[:3], 0.7, False, x[3]), (*inputs, mask))


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize(("heads", "sources"), [(4, 2), (6, 1), (3, 3)])
def test_heads_share_keys(heads: int, sources: int, causal: bool, device: sg.Device) -> None:
    inputs = arrays(18, 33, heads=heads, sources=sources)
    agree(found(inputs, device, causal=causal), attention_and_gradients(*inputs, 0.3, causal=causal), 5e-6)


EDGES = [(q, k) for q in (15, 16, 17, 63, 64, 65) for k in (15, 17, 64) if q < 60 or k > 20]


@pytest.mark.parametrize(("queries", "keys"), EDGES)
def test_sizes_at_the_edges_of_tiles(queries: int, keys: int, device: sg.Device) -> None:
    inputs = arrays(queries, keys, 9, 17, 2, 1)
    agree(found(inputs, device), attention_and_gradients(*inputs, 0.3), 5e-6)


@pytest.mark.parametrize(("d", "e"), [(1, 1), (3, 4), (33, 31), (128, 64), (200, 256)])
def test_sizes_of_heads(d: int, e: int, device: sg.Device) -> None:
    inputs = arrays(19, 35, d, e, 2, 1)
    agree(found(inputs, device), attention_and_gradients(*inputs, 0.3), 1e-5)


# ---- dropout ---------------------------------------------------------------------------------------------------------
def kept(queries: int, keys: int, p: float, device: sg.Device, heads: int = 4) -> Array:
    """Which weights stay, drawn from seed 5: all scores are 0, and the values are the unit vectors."""
    sg.manual_seed(5)
    zeros = [sg.zeros(2, heads, n, 8, device=device) for n in (queries, keys)]
    units = sg.eye(keys, device=device).expand(2, heads, keys, keys)
    weights = attention(*zeros, units, 1.0, False, None, p).numpy() * keys
    np.testing.assert_allclose(weights[weights > 0], 1 / (1 - p), rtol=1e-4)
    return np.asarray(weights > 0)


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("p", [0.1, 0.5])
def test_dropout_is_the_same_forward_and_backward(p: float, causal: bool, device: sg.Device) -> None:
    inputs = arrays(37, 50, sources=2)
    stays = kept(37, 50, p, device) / (1 - p)
    sg.manual_seed(5)
    got = found(inputs, device, causal=causal, dropout=p)
    agree(got, attention_and_gradients(*inputs, 0.3, causal=causal, kept=stays), 2e-5)


@pytest.mark.gpu
def test_dropout_draws_the_same_on_every_device() -> None:
    for queries, keys in ((37, 50), (5, 200)):
        on_cpu, on_gpu = (kept(queries, keys, 0.3, device) for device in (sg.Device.cpu(), sg.Device("gpu")))
        np.testing.assert_array_equal(on_cpu, on_gpu)


def test_dropout_takes_its_share_of_each_row_and_head(device: sg.Device) -> None:
    stays = kept(64, 256, 0.25, device)
    n = stays.size
    assert abs(stays.mean() - 0.75) < 5 * np.sqrt(0.75 * 0.25 / n)
    for axis, count in ((0, 2), (1, 4), (2, 64), (3, 256)):
        means = stays.mean(tuple(a for a in range(4) if a != axis))
        assert np.abs(means - 0.75).max() < 5 * np.sqrt(0.75 * 0.25 * count / n)
    centred = stays - 0.75
    for shift in (1, 2, 8, 16, 32):  # neighbours do not depend on each other
        assert abs((centred[..., shift:] * centred[..., :-shift]).mean()) < 5 * 0.75 * 0.25 / np.sqrt(n)
    assert abs((centred[:, :, 1:] * centred[:, :, :-1]).mean()) < 5 * 0.75 * 0.25 / np.sqrt(n)


def test_dropout_differs_from_call_to_call_and_not_from_seed_to_seed(device: sg.Device) -> None:
    x = sg.ones(1, 2, 20, 8, device=device)
    sg.manual_seed(1)
    first, second = (attention(x, x, x, 1.0, False, None, 0.5).numpy() for _ in range(2))
    sg.manual_seed(1)
    again = attention(x, x, x, 1.0, False, None, 0.5).numpy()
    assert (first != second).any()
    np.testing.assert_array_equal(first, again)


def test_dropout_and_its_formula_agree_in_second_gradients(device: sg.Device) -> None:
    def second(created: bool) -> list[Array]:
        sg.manual_seed(5)
        leaves = [sg.tensor(x.astype("f4"), device=device, requires_grad=True) for x in arrays(9, 12, sources=2)[:3]]
        mask = sg.tensor(masks(9, 12)["bool"], device=device)
        out = attention(*leaves, 0.3, False, mask, 0.5)
        first = sg.autograd.grad(out.sin().sum(), leaves, create_graph=created)
        return [x.detach().numpy() for x in first]

    for a, b in zip(second(False), second(True), strict=True):  # the kernel, and ordinary ops
        np.testing.assert_allclose(a, b, atol=2e-5)


def test_second_gradients_with_options() -> None:
    q, k, v = (sg.tensor(x[:1, :2, :4], requires_grad=True) for x in arrays(4, 4, sources=2)[:3])
    k, v = (x[:, :1].detach().requires_grad_() for x in (k, v))
    mask = sg.tensor(masks(4, 4)["bool"][:, :4])

    def f(*x: sg.Tensor) -> sg.Tensor:
        sg.manual_seed(2)
        return attention(*x, 0.7, False, mask, 0.3)

    assert sg.autograd.gradcheck(f, (q, k, v))
    assert sg.autograd.gradgradcheck(f, (q, k, v))


def test_mistakes_are_named() -> None:
    x = sg.ones(2, 4, 8)
    with pytest.raises(
        ValueError, match=r"attention: the mask has shape \[3, 4\]; use one that broadcasts to \[2, 4, 4\]"
    ):
        attention(x, x, x, 1.0, False, sg.ones(3, 4))
    with pytest.raises(ValueError, match="attention: dropout is 1"):
        attention(x, x, x, 1.0, False, None, 1.0)
