"""Pooling as layers: gradients, ties, NaN, errors, and PyTorch's results."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import spirograd as sg
from spirograd.autograd import gradcheck, gradgradcheck
from spirograd.nn import functional as F

LAYERS: list[tuple[str, dict[str, Any], tuple[int, ...]]] = [
    ("MaxPool1d", {"kernel_size": 3, "stride": 2, "padding": 1, "ceil_mode": True}, (2, 3, 10)),
    ("MaxPool2d", {"kernel_size": 2}, (2, 3, 7, 8)),
    ("MaxPool2d", {"kernel_size": 3, "stride": 2, "padding": 1}, (3, 9, 8)),
    ("MaxPool2d", {"kernel_size": (2, 3), "stride": 1, "dilation": (1, 2)}, (2, 3, 7, 8)),
    ("AvgPool1d", {"kernel_size": 3, "stride": 2, "padding": 1}, (2, 3, 10)),
    ("AvgPool2d", {"kernel_size": 3, "stride": 2, "padding": 1, "ceil_mode": True}, (2, 3, 8, 9)),
    ("AvgPool2d", {"kernel_size": 2, "padding": 1, "count_include_pad": False}, (2, 3, 7, 8)),
    ("AvgPool2d", {"kernel_size": (3, 2), "stride": (1, 2), "divisor_override": 5}, (2, 3, 7, 8)),
    ("AdaptiveAvgPool1d", {"output_size": 4}, (2, 3, 10)),
    ("AdaptiveAvgPool2d", {"output_size": (3, None)}, (2, 3, 7, 8)),
    ("AdaptiveAvgPool2d", {"output_size": (2, 4)}, (2, 3, 6, 8)),
    ("AdaptiveAvgPool2d", {"output_size": 1}, (2, 3, 6, 8)),
    ("AdaptiveMaxPool1d", {"output_size": 4}, (2, 3, 10)),
    ("AdaptiveMaxPool2d", {"output_size": (3, 5)}, (2, 3, 7, 8)),
    ("LPPool1d", {"norm_type": 2, "kernel_size": 3, "stride": 2}, (2, 3, 9)),
    ("LPPool2d", {"norm_type": 4.0, "kernel_size": (2, 3)}, (2, 3, 6, 7)),
]


def random(*shape: int, seed: int = 0, dtype: str = "float64") -> np.ndarray[Any, Any]:
    return np.random.default_rng(seed).normal(size=shape).astype(dtype)


@pytest.mark.parametrize(("name", "options", "shape"), LAYERS, ids=lambda v: v if isinstance(v, str) else None)
def test_gradients_of_any_order(name: str, options: dict[str, Any], shape: tuple[int, ...]) -> None:
    x = sg.tensor(random(*shape[-3:]), requires_grad=True)
    layer = getattr(sg.nn, name)(**options)
    assert gradcheck(layer, (x,))
    assert gradgradcheck(layer, (x,))


def test_the_first_of_equal_elements_has_the_gradient(device: sg.Device) -> None:
    x = sg.zeros(1, 1, 4, 6, device=device, requires_grad=True)
    values, indices = F.max_pool2d(x, 2, return_indices=True)
    assert indices.cpu().tolist() == [[[[0, 2, 4], [12, 14, 16]]]]
    values.sum().backward()
    want = np.zeros((1, 1, 4, 6), np.float32)
    want[:, :, ::2, ::2] = 1
    np.testing.assert_array_equal(x.grad.cpu().numpy(), want)


def test_windows_that_overlap_add_their_gradients(device: sg.Device) -> None:
    x = sg.tensor(np.float32([[[0, 1, 5, 2, 3, 0, 0]]]), device=device, requires_grad=True)
    F.max_pool1d(x, 3, 1, 1).sum().backward()
    assert x.grad.cpu().tolist() == [[[0, 1, 3, 0, 2, 1, 0]]]
    x.grad = None
    F.avg_pool1d(x, 3, 1, 1).sum().backward()
    np.testing.assert_allclose(x.grad.cpu().numpy()[0, 0] * 3, [2, 3, 3, 3, 3, 3, 2], rtol=1e-6)


def test_nan_is_the_largest(device: sg.Device) -> None:
    x = sg.tensor(np.float32([[1, np.nan, 3, 2, 5, 4]]), device=device)
    got = F.max_pool1d(x, 2).cpu().numpy()
    np.testing.assert_array_equal(got, np.float32([[np.nan, 3, 5]]))


def test_a_nan_has_the_gradient_of_its_window(device: sg.Device) -> None:
    x = sg.tensor(np.float32([[3, 4, 1, np.nan, np.nan, 2]]), device=device, requires_grad=True)
    values, indices = F.max_pool1d(x, 2, return_indices=True)
    assert indices.cpu().tolist() == [[1, 3, 4]]
    values.sum().backward()
    assert x.grad.cpu().tolist() == [[0, 1, 0, 1, 1, 0]]


@pytest.mark.parametrize(
    ("dims", "shape", "size"), [(1, (2, 3, 7), (7,)), (2, (3, 5, 6), (5, 6)), (3, (2, 4, 5, 5), (4, 5, 5))]
)
def test_unpooled_elements_are_where_they_were(dims: int, shape: Any, size: Any, device: sg.Device) -> None:
    x = sg.tensor(random(*shape, dtype="float32"), device=device).requires_grad_()
    values, places = getattr(F, f"max_pool{dims}d")(x, 2, return_indices=True)
    back = getattr(F, f"max_unpool{dims}d")(values, places, 2, output_size=size)
    assert back.shape == x.shape
    flat, index = x.detach().flatten(-dims).cpu().numpy(), places.flatten(-dims).cpu().numpy()
    want = np.zeros_like(flat)
    np.put_along_axis(want, index, np.take_along_axis(flat, index, -1), -1)
    np.testing.assert_array_equal(back.detach().flatten(-dims).cpu().numpy(), want)
    (back * back).sum().backward()
    np.testing.assert_array_equal(x.grad.flatten(-dims).cpu().numpy(), 2 * want)


def test_unpooling_says_what_does_not_fit(device: sg.Device) -> None:
    x, places = sg.ones(1, 2, device=device), sg.tensor([[1, 2]], device=device)
    assert F.max_unpool1d(x, places, 3, 2).shape == (1, 5)
    assert F.max_unpool1d(x, places, 3, 2, output_size=(1, 6)).tolist() == [[0, 1, 1, 0, 0, 0]]
    with pytest.raises(ValueError, match=r"output_size is \[7\], the windows make \[5\]; stay within"):
        F.max_unpool1d(x, places, 3, 2, output_size=[7])
    with pytest.raises(ValueError, match=r"max_unpool2d: input \[1, 2\], indices \[1, 2\]"):
        F.max_unpool2d(x, places, 2)
    with pytest.raises(IndexError, match="4 out of range"):
        F.max_unpool1d(x, places + 2, 2).tolist()


@pytest.mark.parametrize("name", ["MaxPool1d", "AvgPool1d", "MaxPool2d", "AvgPool2d"])
def test_with_ceil_mode_a_window_may_be_larger_than_the_input(name: str, device: sg.Device) -> None:
    x = sg.tensor([[[1.0, 2.0]]], device=device)
    x = x if name.endswith("1d") else x.unsqueeze(2)
    want = 2.0 if "Max" in name else 1.5
    for kernel in (3, 4) if name.endswith("1d") else ((1, 3), (2, 3)):
        assert getattr(sg.nn, name)(kernel, ceil_mode=True)(x).flatten().tolist() == [want]
        with pytest.raises(ValueError, match="use a smaller kernel"):
            getattr(sg.nn, name)(kernel)(x)


def test_padding_is_never_the_largest(device: sg.Device) -> None:
    x = sg.tensor(np.full((1, 2, 3, 3), -7, np.float32), device=device)
    assert (F.max_pool2d(x, 3, 2, 1) == -7).all().item()
    assert F.max_pool2d(x.to(sg.int32), 3, 2, 1).amax().item() == -7


@pytest.mark.needs("float16")
def test_narrow_types(device: sg.Device) -> None:
    x = sg.tensor(random(2, 3, 6, 6), dtype=sg.float16, device=device)
    wide = x.cpu().to(sg.float64)
    assert F.max_pool2d(x, 2).dtype == F.avg_pool2d(x, 2).dtype == sg.float16
    assert (F.max_pool2d(x, 2).cpu().to(sg.float64) == F.max_pool2d(wide, 2)).all().item()
    np.testing.assert_allclose(
        F.avg_pool2d(x, 3).cpu().to(sg.float64).numpy(), F.avg_pool2d(wide, 3).numpy(), rtol=1e-3, atol=1e-3
    )


def test_errors_name_the_values() -> None:
    x = sg.ones(1, 1, 4, 4)
    with pytest.raises(ValueError, match=r"max_pool2d: a kernel of \[5, 5\] on input \[1, 1, 4, 4\]"):
        F.max_pool2d(x, 5)
    with pytest.raises(ValueError, match=r"avg_pool2d: padding \[2, 2\] for a kernel of \[3, 3\]"):
        F.avg_pool2d(x, 3, padding=2)
    with pytest.raises(ValueError, match="stride"):
        F.max_pool2d(x, 2, 0)
    with pytest.raises(ValueError, match="avg_pool2d: divisor_override 0"):
        F.avg_pool2d(x, 2, divisor_override=0)
    with pytest.raises(ValueError, match="max_pool1d: input of shape"):
        F.max_pool1d(x, 2)
    with pytest.raises(ValueError, match="adaptive_avg_pool2d: output_size"):
        F.adaptive_avg_pool2d(x, 0)


@pytest.mark.parametrize(("name", "options", "shape"), LAYERS, ids=lambda v: v if isinstance(v, str) else None)
def test_layers_are_pytorchs(name: str, options: dict[str, Any], shape: tuple[int, ...]) -> None:
    torch = pytest.importorskip("torch")
    theirs, ours = getattr(torch.nn, name)(**options), getattr(sg.nn, name)(**options)
    assert repr(ours) == repr(theirs)
    x = random(*shape)
    t, seen = sg.tensor(x, requires_grad=True), torch.tensor(x, requires_grad=True)
    y, want = ours(t), theirs(seen)
    g = random(*want.shape, seed=2)
    y.backward(sg.tensor(g))
    want.backward(torch.tensor(g))
    np.testing.assert_allclose(y.detach().numpy(), want.detach().numpy(), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(t.grad.numpy(), seen.grad.numpy(), rtol=1e-12, atol=1e-12)
    if "Max" in name:
        places = getattr(sg.nn, name)(**options, return_indices=True)(t)[1]
        np.testing.assert_array_equal(
            places.numpy(), getattr(torch.nn, name)(**options, return_indices=True)(seen)[1].numpy()
        )


@pytest.mark.parametrize(
    "options", [{}, {"stride": 1, "dilation": (2, 1, 2)}, {"padding": 1, "ceil_mode": True}], ids=str
)
def test_places_in_volumes_are_pytorchs(options: dict[str, Any]) -> None:
    torch = pytest.importorskip("torch")
    x = np.round(random(2, 3, 6, 5, 7))  # with equal elements
    ours, theirs = (
        lib.nn.functional.max_pool3d(lib.tensor(x), 2, return_indices=True, **options) for lib in (sg, torch)
    )
    for a, b in zip(ours, theirs, strict=True):
        np.testing.assert_array_equal(a.numpy(), b.numpy())


def test_places_in_volumes(device: sg.Device) -> None:
    x = sg.tensor(random(1, 2, 4, 4, 6, dtype="float32"), device=device)
    values, places = F.max_pool3d(x, 2, return_indices=True)
    np.testing.assert_array_equal(
        x.flatten(2).gather(2, places.flatten(2)).cpu().numpy(), values.flatten(2).cpu().numpy()
    )
    for wrong in (lambda: F.max_pool3d(x, (2, 2)), lambda: F.avg_pool3d(x[0, 0], 2)):
        with pytest.raises(ValueError, match="pool3d: "):
            wrong()


def test_an_empty_sum_of_powers_has_no_gradient(device: sg.Device) -> None:
    x = sg.tensor(np.float32([[0, 0, 3, 4]]), device=device, requires_grad=True)
    y = F.lp_pool1d(x, 2, 2)
    y.sum().backward()
    np.testing.assert_allclose(y.detach().cpu().numpy(), [[0, 5]], rtol=1e-6)
    np.testing.assert_allclose(x.grad.cpu().numpy(), [[0, 0, 0.6, 0.8]], rtol=1e-6)


def test_places_of_the_largest_count_through_the_volume(device: sg.Device) -> None:
    x = sg.tensor(random(2, 3, 5, 4, 7, dtype="float32"), device=device)
    values, places = F.adaptive_max_pool3d(x, (2, 3, 2), return_indices=True)
    assert values.shape == places.shape == (2, 3, 2, 3, 2)
    flat = x.flatten(2).gather(2, places.flatten(2)).reshape(values.shape)
    np.testing.assert_array_equal(flat.cpu().numpy(), values.cpu().numpy())
    np.testing.assert_array_equal(values.amax((2, 3, 4)).cpu().numpy(), x.amax((2, 3, 4)).cpu().numpy())


@pytest.mark.parametrize(("shape", "size"), [((1, 2, 7), 3), ((1, 1, 3, 5), (5, 2)), ((1, 1, 3, 2, 5), (2, 3, 4))])
def test_gradients_of_adaptive_means(shape: tuple[int, ...], size: Any) -> None:
    x = sg.tensor(random(*shape), requires_grad=True)
    pool = getattr(F, f"adaptive_avg_pool{len(shape) - 2}d")
    assert gradgradcheck(lambda x: pool(x, size) ** 2, [x])
