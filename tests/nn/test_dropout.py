"""Dropout: shares, scaling, channels, gradients, memory; and embeddings."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import spirograd as sg
from spirograd import nn

F = nn.functional


def test_shares_and_scale(device: sg.Device) -> None:
    y = F.dropout(sg.full((100, 100), 3.0, device=device), 0.2).numpy()
    assert set(np.unique(y)) == {np.float32(0), np.float32(3.0 * (1 / 0.8))}
    assert 0.18 < (y == 0).mean() < 0.22


def test_the_gradient_is_that_of_what_was_kept(device: sg.Device) -> None:
    x = sg.rand(50, 20, device=device, requires_grad=True)
    y = F.dropout(x, 0.5)
    y.sum().backward()
    np.testing.assert_array_equal(x.grad.numpy(), np.where(y.detach().numpy() == 0, 0, 2))


def test_one_seed_gives_one_mask() -> None:
    layer, x = nn.Dropout(0.5), sg.ones(100)
    masks = []
    for seed in (1, 1, 2):
        sg.manual_seed(seed)
        masks.append(layer(x).tolist())
    assert masks[0] == masks[1] != masks[2] and layer(x).tolist() != layer(x).tolist()


@pytest.mark.parametrize(
    ("f", "shape", "spatial"),
    [
        (F.dropout1d, (40, 30, 3), 1),
        (F.dropout1d, (400, 3), 1),
        (F.dropout2d, (40, 30, 2, 3), 2),
        (F.dropout3d, (40, 30, 1, 2, 2), 3),
        (F.feature_alpha_dropout, (40, 30, 3), 1),
    ],
)
def test_channels_go_together(f: Callable[..., sg.Tensor], shape: tuple[int, ...], spatial: int) -> None:
    y = f(sg.ones(shape), 0.5, training=True).numpy()
    channels = y.reshape(*shape[: len(shape) - spatial], -1)
    assert (channels == channels[..., :1]).all() and len(np.unique(y)) == 2
    assert 0.4 < (y == y.min()).mean() < 0.6


def test_alpha_dropout_keeps_mean_and_variance() -> None:
    x = sg.randn(300, 300)
    y = F.alpha_dropout(x, 0.3, training=True)
    assert abs(y.mean().item()) < 0.02 and abs(y.std().item() - 1) < 0.02
    values, counts = np.unique(y.numpy(), return_counts=True)
    assert 0.28 < counts.max() / y.numel() < 0.32 and -1.1 < values[counts.argmax()] < -1


ALL = [F.dropout, F.alpha_dropout, F.dropout1d, F.feature_alpha_dropout]


@pytest.mark.parametrize("f", ALL, ids=lambda f: f.__name__)
def test_ends(f: Callable[..., sg.Tensor]) -> None:
    x = sg.rand(2, 3, 4, requires_grad=True)
    assert f(x, 0.5, training=False) is x and f(x, 0.0, training=True) is x
    y = f(x, 1.0, training=True)
    y.sum().backward()
    assert y.abs().sum().item() == 0 == x.grad.abs().sum().item()
    with pytest.raises(ValueError, match=r"dropout.*: p is 1\.5; use a probability"):
        f(x, 1.5)
    z = sg.ones(2, 3, 4)
    assert f(z, 0.5, training=True, inplace=True) is z and z.tolist() != sg.ones(2, 3, 4).tolist()


def test_modules() -> None:
    for kind in (nn.Dropout, nn.Dropout1d, nn.AlphaDropout, nn.FeatureAlphaDropout):
        layer, x = kind(0.5), sg.ones(4, 20, 3)
        assert layer(x).tolist() != x.tolist() and layer.eval()(x) is x
        with pytest.raises(ValueError, match=f"{kind.__name__}: p is -1"):
            kind(-1)
    with pytest.raises(ValueError, match=r"dropout2d: the input has shape \[2, 3\]"):
        nn.Dropout2d()(sg.ones(2, 3))


def test_infinity_is_dropped() -> None:
    y = F.dropout(sg.full((200,), float("inf")), 0.5).numpy()
    assert set(y) == {0.0, np.inf}


# ---- embeddings ------------------------------------------------------------------------------------------------------
def table(device: sg.Device, rows: int = 5) -> Any:
    weight = np.arange(rows * 3, dtype=np.float32).reshape(rows, 3)
    return weight, sg.tensor(weight, device=device, requires_grad=True)


def test_rows_and_gradient(device: sg.Device) -> None:
    weight, w = table(device)
    index = np.array([[4, 0, 4], [2, 4, 0]])
    y = F.embedding(sg.tensor(index, device=device), w)
    np.testing.assert_array_equal(y.detach().numpy(), weight[index])
    g = np.random.default_rng(0).normal(size=y.shape).astype(np.float32)
    y.backward(sg.tensor(g, device=device))
    want = np.zeros_like(weight)
    np.add.at(want, index, g)
    np.testing.assert_allclose(w.grad.numpy(), want, rtol=1e-6)


def test_the_gradient_has_the_same_bits_each_time(device: sg.Device) -> None:
    weight = sg.randn(7, 16, device=device, requires_grad=True)
    index, g = sg.randint(0, 7, (500,), device=device), sg.randn(500, 16, device=device)
    found = []
    for _ in range(3):
        weight.grad = None
        F.embedding(index, weight).backward(g)
        found.append(weight.grad.numpy().tobytes())
    assert len(set(found)) == 1


def test_a_padding_row_gets_no_gradient(device: sg.Device) -> None:
    weight, w = table(device)
    y = F.embedding(sg.tensor([1, 4, 4], device=device), w, padding_idx=-1)
    np.testing.assert_array_equal(y.detach().numpy(), weight[[1, 4, 4]])
    y.sum().backward()
    assert w.grad.tolist() == [[0] * 3, [1] * 3, [0] * 3, [0] * 3, [0] * 3]


def test_max_norm_shortens_the_rows_that_are_used() -> None:
    layer = nn.Embedding(3, 2, max_norm=1.0, _weight=sg.tensor([[3.0, 4.0], [0.3, 0.4], [6.0, 8.0]]))
    y = layer(sg.tensor([0, 1, 1]))
    np.testing.assert_allclose(layer.weight.detach().numpy(), [[0.6, 0.8], [0.3, 0.4], [6, 8]], rtol=1e-6)
    np.testing.assert_allclose(y.detach().numpy(), [[0.6, 0.8], [0.3, 0.4], [0.3, 0.4]], rtol=1e-6)
    y.sum().backward()
    assert layer.weight.grad.tolist() == [[1, 1], [2, 2], [0, 0]]


def test_gradient_by_frequency() -> None:
    _, w = table(sg.Device.cpu())
    F.embedding(sg.tensor([3, 1, 3, 3]), w, scale_grad_by_freq=True).sum().backward()
    np.testing.assert_allclose(w.grad.numpy()[:, 0], [0, 1, 0, 1, 0], rtol=1e-6)


@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
def test_bags_shorten_the_rows_that_are_used(mode: str) -> None:
    bag = nn.EmbeddingBag(3, 2, max_norm=1.0, mode=mode, _weight=sg.tensor([[3.0, 4.0], [0.3, 0.4], [6.0, 8.0]]))
    found = bag(sg.tensor([0, 1]), sg.tensor([0, 1]))
    np.testing.assert_allclose(bag.weight.detach().numpy(), [[0.6, 0.8], [0.3, 0.4], [6, 8]], rtol=1e-6)
    np.testing.assert_allclose(found.detach().numpy(), [[0.6, 0.8], [0.3, 0.4]], rtol=1e-6)


def test_bags_divide_gradients_by_frequency() -> None:
    _, w = table(sg.Device.cpu())
    F.embedding_bag(sg.tensor([[3, 1], [3, 3]]), w, mode="sum", scale_grad_by_freq=True).sum().backward()
    np.testing.assert_allclose(w.grad.numpy()[:, 0], [0, 1, 0, 1, 0], rtol=1e-6)
    with pytest.raises(ValueError, match="scale_grad_by_freq with mode 'max'"):
        F.embedding_bag(sg.tensor([[3, 1]]), w, mode="max", scale_grad_by_freq=True)


def test_gradients_are_dense() -> None:
    grads = []
    for sparse in (False, True):
        _, w = table(sg.Device.cpu())
        F.embedding(sg.tensor([3, 1, 3]), w, sparse=sparse).square().sum().backward()
        grads.append(w.grad.tolist())
    assert grads[0] == grads[1] and grads[1][0] == [0.0] * len(grads[1][0])


def test_errors_of_embeddings() -> None:
    _, w = table(sg.Device.cpu())
    with pytest.raises(ValueError, match="padding_idx 5 is out of range for 5 entries"):
        F.embedding(sg.tensor([0]), w, padding_idx=5)
    with pytest.raises(IndexError):
        F.embedding(sg.tensor([5]), w).tolist()
    with pytest.raises(ValueError, match="padding_idx -4 is out of range for 3 rows"):
        nn.Embedding(3, 2, padding_idx=-4)
    with pytest.raises(ValueError, match=r"_weight has shape \[2, 2\]; give \[3, 2\]"):
        nn.Embedding(3, 2, _weight=sg.ones(2, 2))
    frozen = nn.Embedding.from_pretrained(sg.ones(2, 2), padding_idx=1)
    assert not frozen.weight.requires_grad and frozen.padding_idx == 1 and frozen.weight[1].tolist() == [1, 1]


def test_embedding_as_pytorch() -> None:
    torch = pytest.importorskip("torch")
    index = np.array([[4, 0, 4], [2, 4, 1]])
    for options in (
        {}, {"padding_idx": 4}, {"padding_idx": -5}, {"max_norm": 1.0}, {"max_norm": 2.0, "norm_type": 1.0},
        {"scale_grad_by_freq": True},
    ):  # fmt: skip
        theirs = torch.nn.Embedding(5, 3, **options).double()
        ours = nn.Embedding(5, 3, **options).double()
        assert repr(ours) == repr(theirs)
        ours.load_state_dict(theirs.state_dict())
        y, t = ours(sg.tensor(index)), theirs(torch.tensor(index))
        np.testing.assert_allclose(y.detach().numpy(), t.detach().numpy(), rtol=1e-12)
        (y * y).sum().backward()
        (t * t).sum().backward()
        np.testing.assert_allclose(ours.weight.grad.numpy(), theirs.weight.grad.numpy(), rtol=1e-12)
        np.testing.assert_allclose(ours.weight.detach().numpy(), theirs.weight.detach().numpy(), rtol=1e-12)
