"""Attention against its formula in NumPy, its masks and gradients, and PyTorch where it is there."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import spirograd as sg
from spirograd import nn

F = nn.functional
Array = npt.NDArray[Any]


def softmax(x: Array) -> Array:
    with np.errstate(invalid="ignore"):
        y = np.exp(x - x.max(-1, keepdims=True))
    return np.nan_to_num(y / y.sum(-1, keepdims=True))


def formula(q: Array, k: Array, v: Array, mask: Array | float = 0.0, scale: float | None = None) -> Array:
    scale = 1 / math.sqrt(q.shape[-1]) if scale is None else scale
    if isinstance(mask, np.ndarray) and mask.dtype == bool:
        mask = np.where(mask, 0.0, -np.inf)
    out: Array = softmax(q @ np.swapaxes(k, -1, -2) * scale + mask) @ v
    return out


def inputs(targets: int = 5, sources: int = 7, heads: int = 2, dtype: str = "float64") -> list[Array]:
    random = np.random.default_rng(0)
    shapes = (2, 4, targets, 6), (2, heads, sources, 6), (2, heads, sources, 3)
    return [random.normal(size=shape).astype(dtype) for shape in shapes]


def masks() -> dict[str, Array]:
    random = np.random.default_rng(1)
    taking_part = random.random((5, 7)) < 0.6
    taking_part[2] = False  # a target without a source
    return {
        "bool": taking_part,
        "of each head": random.random((2, 4, 5, 7)) < 0.8,
        "of sources": np.array([True, False, True, True, True, False, True]),
        "numbers": random.normal(size=(2, 1, 5, 7)),
        "no numbers": np.where(taking_part, 0.5, -np.inf),
    }


def test_the_formula(device: sg.Device) -> None:
    q, k, v = inputs(heads=4, dtype="float32")
    tensors = [sg.tensor(a, device=device) for a in (q, k, v)]
    np.testing.assert_allclose(F.scaled_dot_product_attention(*tensors).numpy(), formula(q, k, v), atol=2e-6)
    got = F.scaled_dot_product_attention(*tensors, scale=0.3)
    np.testing.assert_allclose(got.numpy(), formula(q, k, v, scale=0.3), atol=2e-6)


def test_causal_targets_see_no_later_source(device: sg.Device) -> None:
    for targets, sources in ((5, 5), (5, 7), (7, 5)):
        q, k, v = inputs(targets, sources, heads=4, dtype="float32")
        got = F.scaled_dot_product_attention(*(sg.tensor(a, device=device) for a in (q, k, v)), is_causal=True)
        want = formula(q, k, v, np.tril(np.ones((targets, sources), bool)))
        np.testing.assert_allclose(got.numpy(), want, atol=2e-6)


@pytest.mark.parametrize("name", masks())
def test_masks(name: str) -> None:
    q, k, v = inputs(heads=4)
    mask = masks()[name]
    tensors = [sg.tensor(a, requires_grad=True) for a in (q, k, v)]
    got = F.scaled_dot_product_attention(*tensors, attn_mask=sg.tensor(mask))
    np.testing.assert_allclose(got.detach().numpy(), formula(q, k, v, mask), atol=1e-12)
    got.sum().backward()
    assert all(np.isfinite(t.grad.numpy()).all() for t in tensors if t.grad is not None)


def test_a_mask_on_the_device(device: sg.Device) -> None:
    q, k, v = inputs(heads=4, dtype="float32")
    mask = masks()["bool"]
    tensors = [sg.tensor(a, device=device, requires_grad=True) for a in (q, k, v)]
    got = F.scaled_dot_product_attention(*tensors, attn_mask=sg.tensor(mask, device=device))
    np.testing.assert_allclose(got.detach().numpy(), formula(q, k, v, mask), atol=2e-6)
    got.sum().backward()
    assert np.abs(tensors[0].grad.numpy()[:, :, 2]).max() == 0  # of the target without a source
    assert np.isfinite(tensors[1].grad.numpy()).all()


def test_groups_of_heads_share_keys_and_values() -> None:
    q, k, v = inputs(heads=2)
    got = F.scaled_dot_product_attention(*(sg.tensor(a) for a in (q, k, v)), enable_gqa=True)
    want = formula(q, k.repeat(2, 1), v.repeat(2, 1))
    np.testing.assert_allclose(got.numpy(), want, atol=1e-12)


@pytest.mark.parametrize("masked", [False, True])
def test_gradients(masked: bool) -> None:
    q, k, v = (a[:1, :1, :3, :2] for a in inputs(heads=4))
    mask = sg.tensor([[True, False, True], [True, True, False], [False, True, True]]) if masked else None
    tensors = [sg.tensor(a.copy(), requires_grad=True) for a in (q, k, v)]

    def f(*x: sg.Tensor) -> sg.Tensor:
        return F.scaled_dot_product_attention(*x, attn_mask=mask, is_causal=not masked)

    assert sg.autograd.gradcheck(f, tensors)
    assert sg.autograd.gradgradcheck(f, tensors)


def test_dropout_takes_weights_away_and_scales_the_rest() -> None:
    q, k = sg.zeros(1, 1, 4), sg.zeros(1, 4000, 4)
    v = sg.ones(1, 4000, 1)
    got = F.scaled_dot_product_attention(q, k, v, dropout_p=0.25).item()
    assert got != 1.0 and abs(got - 1) < 0.05


def test_wrong_shapes_are_explained() -> None:
    q, k, v = sg.ones(5, 6), sg.ones(7, 6), sg.ones(7, 3)
    f = F.scaled_dot_product_attention
    for call in (
        lambda: f(q, sg.ones(7, 5), v),
        lambda: f(q, k, sg.ones(6, 3)),
        lambda: f(sg.ones(6), k, v),
        lambda: f(q, k, v, sg.ones(5, 7), is_causal=True),
        lambda: f(q, k, v, dropout_p=1.5),
        lambda: f(sg.ones(3, 5, 6), sg.ones(2, 7, 6), sg.ones(2, 7, 6), enable_gqa=True),
    ):
        with pytest.raises(ValueError, match=r"scaled_dot_product_attention: "):
            call()


# ---- the module ------------------------------------------------------------------------------------------------------


def many(batch_first: bool, *shape: int, seed: int = 0) -> Array:
    values = np.random.default_rng(seed).normal(size=shape)
    return values if batch_first else values.swapaxes(0, 1)


def heads_formula(
    layer: nn.MultiheadAttention, q: Array, k: Array, v: Array, mask: Array | float = 0.0
) -> tuple[Array, Array]:
    """Result and weights [batch, heads, targets, sources] of [batch, time, features]."""
    w = {name: p.detach().numpy() for name, p in layer.named_parameters()}
    n, h = layer.embed_dim, layer.num_heads
    weights = np.split(w["in_proj_weight"], 3) if "in_proj_weight" in w else [w[f"{x}_proj_weight"] for x in "qkv"]
    biases = np.split(w.get("in_proj_bias", np.zeros(3 * n)), 3)

    def split(x: Array) -> Array:
        return x.reshape(*x.shape[:2], h, n // h).swapaxes(1, 2)

    q, k, v = (split(x @ a.T + b) for x, a, b in zip((q, k, v), weights, biases, strict=True))
    if isinstance(mask, np.ndarray) and mask.dtype == bool:
        mask = np.where(mask, -np.inf, 0.0)
    attention = softmax(q @ k.swapaxes(-1, -2) / math.sqrt(n // h) + mask)
    y = (attention @ v).swapaxes(1, 2).reshape(q.shape[0], q.shape[2], n)
    return y @ w["out_proj.weight"].T + w.get("out_proj.bias", 0.0), attention


@pytest.mark.parametrize("options", [{}, {"batch_first": True}, {"kdim": 3, "vdim": 5, "bias": False}])
def test_heads_are_those_of_the_formula(options: dict[str, Any]) -> None:
    layer = nn.MultiheadAttention(8, 2, **options, dtype=sg.float64)
    with sg.no_grad():
        for p in layer.parameters():
            p.copy_(sg.tensor(np.random.default_rng(p.numel()).normal(size=p.shape)))
    first = layer.batch_first
    arrays = [many(True, 3, t, n, seed=n) for t, n in ((4, 8), (6, layer.kdim), (6, layer.vdim))]
    given = [sg.tensor(a if first else a.swapaxes(0, 1).copy()) for a in arrays]
    want, weights = heads_formula(layer, *arrays)
    got, averages = layer(*given)
    assert got.shape == ((3, 4, 8) if first else (4, 3, 8))
    np.testing.assert_allclose(got.detach().numpy() if first else got.detach().numpy().swapaxes(0, 1), want, atol=1e-12)
    np.testing.assert_allclose(averages.detach().numpy(), weights.mean(1), atol=1e-12)
    each = layer(*given, average_attn_weights=False)[1]
    np.testing.assert_allclose(each.detach().numpy(), weights, atol=1e-12)
    none = layer(*given, need_weights=False)
    assert none[1] is None
    np.testing.assert_allclose(none[0].detach().numpy(), got.detach().numpy(), atol=1e-12)


def test_one_two_or_three_products_give_the_same() -> None:
    layer = nn.MultiheadAttention(8, 2, batch_first=True, dtype=sg.float64)
    x = sg.tensor(many(True, 3, 4, 8))
    y = x.clone()
    for other in ((x, y, y), (x, y, x.clone())):
        np.testing.assert_allclose(layer(*other)[0].detach().numpy(), layer(x, x, x)[0].detach().numpy(), atol=1e-12)
    alone = layer(x[0], x[0], x[0])
    assert alone[0].shape == (4, 8) and alone[1].shape == (4, 4)
    np.testing.assert_allclose(alone[0].detach().numpy(), layer(x, x, x)[0][0].detach().numpy(), atol=1e-12)


def test_masks_of_the_module_leave_out() -> None:
    layer = nn.MultiheadAttention(8, 2, batch_first=True, dtype=sg.float64)
    array = many(True, 3, 5, 8)
    x = sg.tensor(array)
    random = np.random.default_rng(2)
    out = random.random((5, 5)) < 0.4
    out[:, 0] = False
    padding = np.array([[False] * 5, [False, False, True, True, True], [False, True, False, False, True]])
    wide = padding[:, None, None, :]
    per_head = random.random((6, 5, 5)) < 0.4
    per_head[:, :, 0] = False
    causal = ~np.tril(np.ones((5, 5), bool))
    for given, mask in [
        ({"attn_mask": out}, out),
        ({"key_padding_mask": padding}, wide),
        ({"attn_mask": out, "key_padding_mask": padding}, out | wide),
        ({"attn_mask": np.where(out, -1.0, 0.5), "key_padding_mask": padding}, np.where(out, -1, 0.5) - 1e300 * wide),
        ({"attn_mask": per_head}, per_head.reshape(3, 2, 5, 5)),
        ({"attn_mask": causal, "is_causal": True}, causal),
        ({"is_causal": True}, causal),
        ({"is_causal": True, "key_padding_mask": padding}, causal | wide),
    ]:
        tensors = {name: sg.tensor(m) if isinstance(m, np.ndarray) else m for name, m in given.items()}
        want, weights = heads_formula(layer, array, array, array, mask)
        for need in (True, False):
            got = layer(x, x, x, need_weights=need, **tensors)[0]
            np.testing.assert_allclose(got.detach().numpy(), want, atol=1e-12, err_msg=str(list(given)))
        np.testing.assert_allclose(layer(x, x, x, **tensors)[1].detach().numpy(), weights.mean(1), atol=1e-12)


def test_dropout_of_the_module_ends_with_training() -> None:
    layer = nn.MultiheadAttention(8, 2, dropout=0.5, dtype=sg.float64)
    x = sg.tensor(many(False, 3, 5, 8))
    assert not np.allclose(layer(x, x, x)[0].detach().numpy(), layer(x, x, x)[0].detach().numpy())
    layer.eval()
    np.testing.assert_array_equal(layer(x, x, x)[0].detach().numpy(), layer(x, x, x)[0].detach().numpy())


def test_parameters_have_the_names_and_values_of_pytorch() -> None:
    layer = nn.MultiheadAttention(32, 2)
    assert list(layer.state_dict()) == ["in_proj_weight", "in_proj_bias", "out_proj.weight", "out_proj.bias"]
    assert list(nn.MultiheadAttention(32, 2, kdim=3, bias=False).state_dict()) == [
        "q_proj_weight",
        "k_proj_weight",
        "v_proj_weight",
        "out_proj.weight",
    ]
    bound = math.sqrt(6 / (32 + 96))
    weight = layer.in_proj_weight.detach().numpy()
    assert 0.9 * bound < np.abs(weight).max() <= bound
    assert layer.in_proj_bias.abs().max().item() == layer.out_proj.bias.abs().max().item() == 0
    assert 0.9 / math.sqrt(32) < layer.out_proj.weight.abs().max().item() <= 1 / math.sqrt(32)


@pytest.mark.parametrize("mask", [None, "causal", "bool", "numbers"])
def test_further_sources_take_part(mask: str | None, device: sg.Device) -> None:
    sg.manual_seed(0)
    layer = nn.MultiheadAttention(8, 2, add_bias_kv=True, add_zero_attn=True, batch_first=True, device=device)
    x = sg.randn(3, 5, 8, device=device)
    given = {"bool": sg.tensor(np.tri(5) == 0), "numbers": sg.randn(5, 5)}.get(str(mask))
    options: dict[str, Any] = {"attn_mask": None if given is None else given.to(device), "is_causal": mask == "causal"}
    y, weights = layer(x, x, x, **options)
    assert weights.shape == (3, 5, 7) and sg.allclose(weights.sum(-1), sg.ones(3, 5, device=device))
    assert (weights[..., 5:] > 0).all()
    without = layer(x, x, x, need_weights=False, **options)[0]
    np.testing.assert_allclose(without.detach().cpu().numpy(), y.detach().cpu().numpy(), atol=1e-5)
    y.sum().backward()
    assert layer.bias_k.grad is not None and layer.bias_v.grad is not None


def test_wrong_uses_are_explained() -> None:
    layer = nn.MultiheadAttention(8, 2)
    x = sg.ones(5, 3, 8)
    for call, text in [
        (lambda: nn.MultiheadAttention(8, 3), "not a multiple"),
        (lambda: layer(x, x, sg.ones(5, 3, 7)), "value .* must be 8"),
        (lambda: layer(x, x[0], x), "3 dimensions, or 2"),
        (lambda: layer(x, x, x, attn_mask=sg.ones(4, 5)), "attn_mask has shape"),
        (lambda: layer(x, x, x, key_padding_mask=sg.ones(5, 3)), "key_padding_mask has shape"),
    ]:
        with pytest.raises(ValueError, match=text):
            call()


@pytest.mark.parametrize("options", [{}, {"kdim": 3, "vdim": 5}, {"bias": False, "batch_first": True}])
def test_as_in_pytorch(options: dict[str, Any]) -> None:
    torch = pytest.importorskip("torch")
    theirs = torch.nn.MultiheadAttention(8, 2, **options).double()
    ours = nn.MultiheadAttention(8, 2, **options, dtype=sg.float64)
    assert list(ours.state_dict()) == list(theirs.state_dict())
    ours.load_state_dict({key: sg.tensor(value.numpy()) for key, value in theirs.state_dict().items()})
    arrays = [many(ours.batch_first, 3, t, n, seed=n) for t, n in ((4, 8), (6, ours.kdim), (6, ours.vdim))]
    results = []
    for library, layer in ((torch, theirs), (sg, ours)):
        tensors = [library.tensor(a.copy(), requires_grad=True) for a in arrays]
        mask = library.tensor(np.eye(4, 6) * -2)
        padding = library.tensor(np.array([[0, 0, 0, 0, 0, -3.0]] * 3))
        out, weights = layer(*tensors, attn_mask=mask, key_padding_mask=padding)
        out.sin().sum().backward()
        results.append([out, weights, *(t.grad for t in tensors), *(p.grad for p in layer.parameters())])
    for want, got in zip(*results, strict=True):
        np.testing.assert_allclose(got.detach().numpy(), want.detach().numpy(), atol=1e-12, rtol=1e-10)
