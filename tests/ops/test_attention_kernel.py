"""Attention block by block: against its formula in NumPy's float64, and what it may not do: keep a matrix of weights,
copy strided inputs, differ from run to run."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import spirograd as sg

attention = sg._core._attention
Array = np.ndarray[Any, Any]


def weights(q: Array, k: Array, scale: float, causal: bool) -> Array:
    scores = scale * (q @ np.swapaxes(k, -1, -2))
    if causal:
        scores = np.where(np.tril(np.ones(scores.shape[-2:], bool)), scores, -np.inf)
    e = np.exp(scores - scores.max(-1, keepdims=True))
    return np.asarray(e / e.sum(-1, keepdims=True))


def expected(q: Array, k: Array, v: Array, g: Array, scale: float, causal: bool) -> list[Array]:
    """The result and the gradients by query, key and value."""
    p = weights(q, k, scale, causal)
    slopes = g @ np.swapaxes(v, -1, -2)
    d = p * (slopes - (slopes * p).sum(-1, keepdims=True)) * scale
    return [p @ v, d @ k, np.swapaxes(d, -1, -2) @ q, np.swapaxes(p, -1, -2) @ g]


def arrays(q: tuple[int, ...], keys: int, e: int, seed: int = 0) -> list[Array]:
    random = np.random.default_rng(seed)
    lead, d = q[:-2], q[-1]
    return [random.standard_normal(s) for s in (q, (*lead, keys, d), (*lead, keys, e), (*q[:-1], e))]


def found(inputs: list[Array], scale: float, causal: bool, device: sg.Device, dtype: str) -> list[Array]:
    q, k, v = (sg.tensor(x.astype(dtype), device=device, requires_grad=True) for x in inputs[:3])
    out = attention(q, k, v, scale, causal)
    out.backward(sg.tensor(inputs[3].astype(dtype), device=device))
    return [out.detach().numpy(), *(x.grad.numpy() for x in (q, k, v))]


def agree(got: list[Array], want: list[Array], bound: float) -> None:
    for name, a, b in zip(("result", "query", "key", "value"), got, want, strict=True):
        assert a.shape == b.shape
        assert np.abs(a - b).max(initial=0) <= bound * max(1, np.abs(b).max(initial=0)), name


SHAPES = [  # query, keys, elements of a value
    ((2, 3, 40, 8), 40, 8),
    ((1, 2, 70, 8), 33, 8),
    ((2, 1, 33, 8), 70, 8),
    ((2, 37, 7), 19, 5),
    ((1, 1), 1, 1),
]


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize(("query", "keys", "e"), SHAPES)
def test_result_and_gradients(query: tuple[int, ...], keys: int, e: int, causal: bool, device: sg.Device) -> None:
    inputs = arrays(query, keys, e)
    agree(found(inputs, 0.3, causal, device, "float32"), expected(*inputs, 0.3, causal), 3e-6)


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize(
    ("query", "keys", "e"), [*SHAPES, ((3, 200, 64), 300, 64), ((1, 130, 128), 140, 16), ((2, 2, 2, 9, 4), 9, 4)]
)
def test_float64_on_the_cpu(query: tuple[int, ...], keys: int, e: int, causal: bool) -> None:
    inputs = arrays(query, keys, e)
    agree(found(inputs, -0.2, causal, sg.Device.cpu(), "float64"), expected(*inputs, -0.2, causal), 1e-13)


def test_long_rows_are_walked_in_blocks(device: sg.Device) -> None:
    inputs = arrays((1, 300, 8), 5000 if device.kind == "cpu" else 500, 8)
    agree(found(inputs, 0.5, True, device, "float32"), expected(*inputs, 0.5, True), 5e-6)


def test_large_scores_do_not_overflow(device: sg.Device) -> None:
    inputs = arrays((2, 20, 8), 20, 8)
    agree(found(inputs, 300.0, True, device, "float32"), expected(*inputs, 300.0, True), 1e-3)


def test_gradients_by_finite_differences() -> None:
    for causal in (False, True):
        q, k, v, _ = (sg.tensor(x, requires_grad=True) for x in arrays((2, 5, 3), 4, 2))
        f = lambda q, k, v, causal=causal: attention(q, k, v, 0.7, causal)  # noqa: E731
        assert sg.autograd.gradcheck(f, (q, k, v))
        assert sg.autograd.gradgradcheck(f, (q, k, v))


def test_second_gradients_agree_with_those_of_the_formula() -> None:
    def grads(f: Any) -> list[Array]:
        q, k, v = (sg.tensor(x.astype("f4"), requires_grad=True) for x in arrays((2, 9, 8), 9, 8)[:3])
        first = sg.autograd.grad(f(q, k, v).sin().sum(), [q, k, v], create_graph=True)
        second = sg.autograd.grad(sum((x * x).sum() for x in first), [q, k, v])
        return [x.detach().numpy() for x in (*first, *second)]

    def formula(q: sg.Tensor, k: sg.Tensor, v: sg.Tensor) -> sg.Tensor:
        return (q @ k.transpose(-2, -1) * 0.5).softmax(-1) @ v

    for a, b in zip(grads(lambda q, k, v: attention(q, k, v, 0.5, False)), grads(formula), strict=True):
        np.testing.assert_allclose(a, b, rtol=2e-4, atol=1e-5)


@pytest.mark.parametrize("wanted", [(0,), (1,), (2,), (0, 2)])
def test_only_wanted_gradients_are_made(wanted: tuple[int, ...], device: sg.Device) -> None:
    inputs = arrays((2, 3, 40, 8), 40, 8)
    leaves = [sg.tensor(x.astype("f4"), device=device, requires_grad=i in wanted) for i, x in enumerate(inputs[:3])]
    attention(*leaves, 0.3, True).backward(sg.tensor(inputs[3].astype("f4"), device=device))
    want = expected(*inputs, 0.3, True)[1:]
    for i, x in enumerate(leaves):
        if i in wanted:
            np.testing.assert_allclose(x.grad.numpy(), want[i], atol=1e-5)
        else:
            assert x.grad is None


def heads_inside(device: sg.Device) -> tuple[list[sg.Tensor], list[Array]]:
    """[batch, rows, heads, elements] seen as [batch, heads, rows, elements], as behind a projection."""
    inputs = [np.ascontiguousarray(x) for x in arrays((2, 3, 40, 8), 40, 8)]
    whole = [np.ascontiguousarray(x.swapaxes(1, 2)).astype("f4") for x in inputs]
    return [sg.tensor(x, device=device, requires_grad=True) for x in whole[:3]], inputs


def test_strided_inputs_are_not_copied(device: sg.Device) -> None:
    leaves, inputs = heads_inside(device)
    with sg.no_grad():
        out = attention(*(x.transpose(1, 2) for x in leaves), 0.3, True)
        joined = out.transpose(1, 2).reshape(2, 40, 24)
        assert [step.name for step in joined.plan()] == ["attention"]
    want = expected(*inputs, 0.3, True)
    np.testing.assert_allclose(out.numpy(), want[0], atol=1e-5)
    attention(*(x.transpose(1, 2) for x in leaves), 0.3, True).backward(
        sg.tensor(inputs[3].swapaxes(1, 2).astype("f4"), device=device).transpose(1, 2)
    )
    for x, y in zip(leaves, want[1:], strict=True):
        assert x.grad.is_contiguous()
        np.testing.assert_allclose(x.grad.numpy(), y.swapaxes(1, 2), atol=1e-5)


def test_offsets_and_odd_strides_count(device: sg.Device) -> None:
    inputs = arrays((2, 3, 40, 8), 40, 8)
    q, k, v = (sg.tensor(np.concatenate([x] * 2, -1).astype("f4"), device=device)[..., 3:11] for x in inputs[:3])
    turned = [np.concatenate([x] * 2, -1)[..., 3:11] for x in inputs[:3]]
    want = expected(*turned, inputs[3], 0.3, False)[0]
    np.testing.assert_allclose(attention(q, k, v, 0.3, False).numpy(), want, atol=1e-5)
    np.testing.assert_allclose(attention(q + 0, k + 0, v + 0, 0.3, False).numpy(), want, atol=1e-5)
    turned_last = [sg.tensor(np.swapaxes(x, -1, -2).astype("f4"), device=device).transpose(-2, -1) for x in turned]
    np.testing.assert_allclose(attention(*turned_last, 0.3, False).numpy(), want, atol=1e-5)


THIRDS = [
    (2, 5, 3, 8),
    (1, 1, 2, 16),
    (1, 7, 1, 8),
    (3, 1, 1, 24),
    (2, 33, 2, 64),
    (2, 6, 3, 5),
]  # batch, row, head, size


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 0, 1)])
@pytest.mark.parametrize("dtype", ["float32", "float16"])
@pytest.mark.parametrize("shape", THIRDS)
def test_thirds_of_one_tensor_have_its_gradient(
    shape: tuple[int, ...], dtype: str, order: tuple[int, ...], device: sg.Device
) -> None:
    b, rows, heads, size = shape
    array = np.random.default_rng(rows).standard_normal((b, rows, 3 * heads * size)).astype(dtype)
    x = sg.tensor(array, device=device, requires_grad=True)
    parts = [p.reshape(b, rows, heads, size).transpose(1, 2) for p in x.chunk(3, -1)]
    q, k, v = (parts[i] for i in order)
    thirds = np.moveaxis(array.astype(np.float64).reshape(b, rows, 3, heads, size), (2, 3), (0, 2))
    g = np.random.default_rng(9).standard_normal((b, heads, rows, size)).astype(dtype)
    attention(q, k, v, size**-0.5, True).backward(sg.tensor(g, device=device))
    want = np.empty_like(thirds)
    gradients = expected(*(thirds[i] for i in order), g.astype(np.float64), size**-0.5, True)[1:]
    for i, w in zip(order, gradients, strict=True):
        want[i] = w
    bound = 2e-5 if dtype == "float32" else 2e-2
    assert x.grad is not None
    np.testing.assert_allclose(
        x.grad.numpy().astype(np.float64).reshape(b, rows, 3, heads, size),
        np.moveaxis(want, (0, 2), (2, 3)),
        atol=bound,
    )


def test_gradients_of_thirds_are_not_put_together_by_a_kernel(device: sg.Device) -> None:
    x = sg.ones(2, 6, 48, device=device, requires_grad=True)
    q, k, v = (p.reshape(2, 6, 2, 8).transpose(1, 2) for p in x.chunk(3, -1))
    out = attention(q, k, v, 0.3, True)
    out.backward(sg.ones(2, 2, 6, 8, device=device))
    assert x.grad is not None
    assert not [step for step in x.grad.plan() if "assign" in step.name]


def test_leading_dimensions_broadcast(device: sg.Device) -> None:
    inputs = arrays((2, 3, 40, 8), 40, 8)
    k, v = inputs[1][:, :1], inputs[2][:1]
    leaves = [sg.tensor(x.astype("f4"), device=device, requires_grad=True) for x in (inputs[0], k, v)]
    out = attention(*leaves, 0.3, False)
    out.backward(sg.tensor(inputs[3].astype("f4"), device=device))
    full = [inputs[0], np.broadcast_to(k, inputs[1].shape), np.broadcast_to(v, inputs[2].shape), inputs[3]]
    want = expected(*full, 0.3, False)
    np.testing.assert_allclose(out.detach().numpy(), want[0], atol=1e-5)
    np.testing.assert_allclose(leaves[1].grad.numpy(), want[2].sum(1, keepdims=True), atol=1e-4)
    np.testing.assert_allclose(leaves[2].grad.numpy(), want[3].sum(0, keepdims=True), atol=1e-4)


@pytest.mark.parametrize(
    ("query", "keys", "e"),
    [((2, 0, 4), 3, 4), ((2, 3, 4), 0, 4), ((0, 3, 4), 3, 4), ((2, 3, 0), 3, 4), ((2, 3, 4), 3, 0)],
)
def test_empty_inputs(query: tuple[int, ...], keys: int, e: int, device: sg.Device) -> None:
    q, k, v, _ = (sg.tensor(x.astype("f4"), device=device, requires_grad=True) for x in arrays(query, keys, e))
    out = attention(q, k, v, 1.0, False)
    out.sum().backward()
    assert out.shape == (*query[:-1], e)
    want = v.detach().numpy().mean(-2, keepdims=True) if query[-1] == 0 else np.zeros(())
    np.testing.assert_allclose(out.detach().numpy(), np.broadcast_to(want, out.shape), atol=1e-6)
    assert all(x.grad.shape == x.shape for x in (q, k, v))


def test_wide_heads_take_the_formula(device: sg.Device) -> None:
    inputs = arrays((2, 9, 260), 9, 3)
    with sg.no_grad():
        q, k, v = (sg.tensor(x.astype("f4"), device=device) for x in inputs[:3])
        out = attention(q, k, v, 0.1, True)
        assert "attention" not in [step.name for step in out.plan()]
    np.testing.assert_allclose(out.numpy(), expected(*inputs, 0.1, True)[0], atol=1e-5)


@pytest.mark.gpu
def test_a_few_queries_walk_many_keys_in_parts() -> None:
    for queries, keys, d in ((1, 300, 8), (1, 520, 7), (3, 256, 8), (7, 600, 64)):
        inputs = arrays((2, queries, d), keys, d)
        with sg.no_grad():
            out = attention(*(sg.tensor(x.astype("f4"), device="gpu") for x in inputs[:3]), 0.3, False)
            assert len(out.plan()) == (1 if keys == 256 else 2)
        for causal in (False, True):
            agree(found(inputs, 0.3, causal, sg.Device("gpu"), "float32"), expected(*inputs, 0.3, causal), 5e-6)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_half_types_are_summed_in_float32(dtype: str, device: sg.Device) -> None:
    kind = getattr(sg, dtype)
    halves = [sg.tensor(x.astype("f4"), device=device).to(kind) for x in arrays((2, 40, 8), 40, 8)]
    exact = [x.to(sg.float32).numpy().astype(np.float64) for x in halves]
    q, k, v = (x.requires_grad_() for x in halves[:3])
    out = attention(q, k, v, 0.3, True)
    out.backward(halves[3])
    eps = 2.0**-11 if dtype == "float16" else 2.0**-8
    assert out.dtype == kind == q.grad.dtype
    got = [x.to(sg.float32).detach().numpy() for x in (out, q.grad, k.grad, v.grad)]
    agree(got, expected(*exact, 0.3, True), 2 * eps)  # gradients read the rounded result


def test_no_matrix_of_weights_is_kept(device: sg.Device) -> None:
    rows = 2048
    leaves = [sg.ones(1, rows, 8, device=device, requires_grad=True) for _ in range(3)]
    for _ in range(2):  # the first makes the arena
        sg.reset_stats()
        before = sg.stats()["bytes_live"]
        attention(*leaves, 0.3, True).sum().backward()
        np.testing.assert_allclose(leaves[2].grad.numpy()[0, -1], 1 / rows, rtol=1e-3)
        assert sg.stats()["bytes_peak"] - before < rows * rows  # a quarter of a matrix in float32
        for x in leaves:
            x.grad = None


def test_every_run_gives_the_same_bits(device: sg.Device) -> None:
    inputs = arrays((2, 3, 40, 8), 40, 8)
    first = found(inputs, 0.3, True, device, "float32")
    for _ in range(3):
        for a, b in zip(first, found(inputs, 0.3, True, device, "float32"), strict=True):
            np.testing.assert_array_equal(a, b)


def test_a_step_is_planned_once(device: sg.Device) -> None:
    leaves = [sg.randn(2, 3, 40, 8, device=device, requires_grad=True) for _ in range(3)]
    for step in range(4):
        if step == 2:
            sg.reset_stats()
        loss = attention(*leaves, 0.3, True).square().sum()
        grads = sg.autograd.grad(loss, leaves)
        sg.autograd.backward([sum(g.sum() for g in grads).requires_grad_()])  # nothing is left pending
        sg.synchronize()
    assert sg.stats()["plan_misses"] == 0
    assert sg.stats()["allocations"] == 0
    assert sg.stats()["fallbacks"] == 0


def test_a_result_written_in_place_is_not_used_for_gradients(device: sg.Device) -> None:
    leaves = [sg.randn(2, 40, 8, device=device, requires_grad=True) for _ in range(3)]
    out = attention(*leaves, 0.3, False)
    total = out.sum()
    with sg.no_grad():
        out.mul_(2.0)
    with pytest.raises(sg.Error, match="attention"):
        total.backward()


def test_anomalies_name_the_op(device: sg.Device) -> None:
    q, k, v = (sg.ones(2, 9, 8, device=device, requires_grad=True) for _ in range(3))
    with sg.autograd.detect_anomaly(), pytest.raises(sg.Error, match="attention"):
        attention(q * float("nan"), k, v, 1.0, False)
    with sg.autograd.detect_anomaly():
        attention(q, k, v, 1.0, False).sum().backward()


def test_mistakes_are_named() -> None:
    x = sg.ones(2, 4, 8)
    with pytest.raises(ValueError, match=r"differ in their last size, \[2, 4, 8\], \[2, 4, 7\] and \[2, 4, 8\]"):
        attention(x, sg.ones(2, 4, 7), x, 1.0, False)
    with pytest.raises(ValueError, match="not as many keys as values"):
        attention(x, x, sg.ones(2, 3, 8), 1.0, False)
    with pytest.raises(ValueError, match="two dimensions or more"):
        attention(x[0, 0], x, x, 1.0, False)
    with pytest.raises(TypeError, match="float32, float64 and float32"):
        attention(x, x.double(), x, 1.0, False)
    with pytest.raises(TypeError, match="int64"):
        attention(*[x.long()] * 3, 1.0, False)
    with pytest.raises(ValueError, match="attention"):
        attention(sg.ones(2, 4, 8), sg.ones(3, 4, 8), sg.ones(3, 4, 8), 1.0, False)


@pytest.mark.parametrize("causal", [False, True])
def test_pytorch_agrees(causal: bool, device: sg.Device) -> None:
    torch = pytest.importorskip("torch")
    inputs = [x.astype("f4") for x in arrays((2, 3, 40, 8), 33, 8)]
    q, k, v = (torch.tensor(x, requires_grad=True) for x in inputs[:3])
    out = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=causal)
    out.backward(torch.tensor(inputs[3]))
    agree(
        found(inputs, 8**-0.5, causal, device, "float32"),
        [x.detach().numpy() for x in (out, q.grad, k.grad, v.grad)],
        5e-6,
    )


# ---- after a cache ---------------------------------------------------------------------------------------------------
def after(q: Array, k: Array, v: Array, start: list[int], scale: float) -> Array:
    """Query i of sequence b sees the keys 0 to start[b] + i; a head of keys serves several of the queries."""
    k, v = (np.repeat(x, q.shape[1] // k.shape[1], 1) for x in (k, v))
    scores = scale * (q @ np.swapaxes(k, -1, -2))
    last = np.array(start)[:, None] + np.arange(q.shape[2])
    scores = np.where(np.arange(k.shape[2]) <= last[:, None, :, None], scores, -np.inf)
    e = np.exp(scores - scores.max(-1, keepdims=True))
    return np.asarray(e / e.sum(-1, keepdims=True) @ v)


@pytest.mark.parametrize(("dtype", "bound"), [("float32", 3e-6), ("float16", 3e-3), ("float64", 1e-13)])
@pytest.mark.parametrize(
    ("queries", "keys", "heads", "groups", "d"),
    [
        (1, 70, 4, 2, 8),
        (1, 33, 6, 6, 64),
        (3, 40, 4, 1, 7),
        (20, 90, 2, 2, 16),
        (1, 9, 2, 1, 130),
        (1, 600, 6, 2, 64),
        (2, 600, 4, 2, 7),
    ],
)
def test_queries_follow_a_cache(
    queries: int, keys: int, heads: int, groups: int, d: int, dtype: str, bound: float, device: sg.Device
) -> None:
    random = np.random.default_rng(1)
    q, k, v = (random.standard_normal(s) for s in ((3, heads, queries, d), *[(3, groups, keys, d)] * 2))
    q, k, v = (x.astype(dtype).astype("float64") for x in (q, k, v))
    start = [0, keys - queries, (keys - queries) // 2]
    # Strided as in a cache: [batch, keys, both, groups, d].
    both = sg.tensor(np.stack([k, v]).transpose(1, 3, 0, 2, 4).astype(dtype), device=device)
    key, value = both.unbind(2)
    got = sg._core._attention_after(
        sg.tensor(q.astype(dtype), device=device),
        key.transpose(1, 2),
        value.transpose(1, 2),
        sg.tensor(start, dtype=sg.int32, device=device),
        0.3,
    )
    want = after(q, k, v, start, 0.3)
    assert np.abs(got.numpy() - want).max() <= bound * max(1, np.abs(want).max())


def test_places_of_a_cache_that_are_not_filled_are_not_read(device: sg.Device) -> None:
    q, k = sg.ones(1, 2, 1, 8, device=device), sg.ones(1, 2, 50, 8, device=device)
    k[:, :, 5:] = 1e30
    start = sg.tensor([4], dtype=sg.int32, device=device)
    assert sg._core._attention_after(q, k, k, start, 1.0).tolist() == [[[[1.0] * 8]] * 2]


def test_a_cache_says_what_does_not_fit() -> None:
    q, k, start = sg.ones(2, 4, 1, 8), sg.ones(2, 3, 5, 8), sg.zeros(2, dtype=sg.int32)
    with pytest.raises(ValueError, match=r"attention: .* shapes \[2, 4, 1, 8\], \[2, 3, 5, 8\]"):
        sg._core._attention_after(q, k, k, start, 1.0)
    with pytest.raises(ValueError, match=r"attention: start is int64 of shape \[2\]"):
        sg._core._attention_after(q, k[:, :2], k[:, :2], start.long(), 1.0)
    with pytest.raises(ValueError, match="no gradient"):
        sg._core._attention_after(q.requires_grad_(), k[:, :2], k[:, :2], start, 1.0)
