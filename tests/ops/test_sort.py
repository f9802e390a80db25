"""Orders: stability, special values, lengths around tiles, several rows; what is summed and searched through them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import spirograd as sg
from reference.table import Array

SIZES = [1, 2, 31, 255, 256, 257, 1009, 2047, 2048, 2049, 4095, 4096, 4097, 5000]
DTYPES = ["bool", "uint8", "int8", "int16", "int32", "int64", "float16", "float32", "float64"]


def keys(shape: tuple[int, ...], dtype: str) -> Array:
    """Many equal ones; floats with both zeros, infinities and NaN of both signs."""
    random = np.random.default_rng([len(dtype), *shape])
    if dtype == "bool":
        return random.integers(0, 2, shape).astype(bool)
    if not dtype.startswith("float"):
        i = np.iinfo(dtype)
        near = random.integers(-3 if i.min else 0, 4, shape, dtype=dtype)
        far = random.integers(i.min, i.max, shape, dtype=dtype, endpoint=True)
        return np.where(random.random(shape) < 0.5, near, far)
    x = np.round(random.standard_normal(shape), 1)
    special = random.choice([0.0, -0.0, np.inf, -np.inf, np.nan, -np.nan, 1e-300, -1e-42], shape)
    return np.where(random.random(shape) < 0.2, special, x).astype(dtype)


def order_of(x: Array, descending: bool) -> Array:
    """The stable order of the last dimension, NaN the largest."""
    rank = np.unique(x, return_inverse=True)[1].reshape(x.shape)  # NaN are one value, the last
    return np.argsort(-rank if descending else rank, -1, kind="stable")


def check_order(x: Array, device: sg.Device) -> None:
    for descending in (False, True):
        values, indices = sg.tensor(x, device=device).sort(descending=descending)
        want = order_of(x, descending)
        assert indices.dtype == sg.int64
        assert np.array_equal(indices.numpy(), want), (x.dtype, x.shape, descending)
        np.testing.assert_array_equal(values.numpy(), np.take_along_axis(x, want, -1))


@pytest.mark.parametrize("size", SIZES)
def test_orders_are_stable_at_every_length(device: sg.Device, size: int) -> None:
    check_order(keys((2, size), "float32"), device)


@pytest.mark.parametrize("size", [300, 5000])
@pytest.mark.parametrize("dtype", DTYPES)
def test_orders_of_every_type(device: sg.Device, dtype: str, size: int) -> None:
    check_order(keys((size,), dtype), device)


def sort_on_gpu(ballots: str) -> None:
    device = sg.Device.gpu()
    if device.features["ballots"] != ballots:
        return
    for dtype in ("uint8", "float16", "int32", "float32", "int64"):
        for size in (4095, 4097, 20000):
            check_order(keys((size,), dtype), device)
    check_order(keys((3, 9000), "float32"), device)
    index = np.random.default_rng(1).integers(0, 5000, 20000)
    found = sg.zeros(5000, device=device).scatter_add(0, sg.tensor(index, device=device), sg.ones(20000, device=device))
    np.testing.assert_array_equal(found.numpy(), np.bincount(index, minlength=5000))


@pytest.mark.gpu
@pytest.mark.parametrize(
    ("ballots", "environment"),
    [("yes", {"LP_NATIVE_VECTOR_WIDTH": "512"}), ("no", {"SPIROGRAD_SHUFFLES": "0"})],
    ids=["ballots", "shared memory"],
)
def test_tiles_are_sorted_by_votes_and_without(
    run_python: Callable[..., str], ballots: str, environment: dict[str, str]
) -> None:
    run_python(f"import test_sort as t; t.sort_on_gpu({ballots!r})", **environment, timeout=300)


@pytest.mark.parametrize("shape", [(1000, 1), (700, 3), (129, 17), (5, 1000), (3, 4200)])
def test_rows_are_sorted_apart(device: sg.Device, shape: tuple[int, int]) -> None:
    check_order(keys(shape, "int32"), device)


@pytest.mark.parametrize("size", [600, 4500])
def test_orders_of_sorted_reversed_and_equal_keys(device: sg.Device, size: int) -> None:
    rising = np.arange(size, dtype="float32")
    for x in (rising, rising[::-1].copy(), np.zeros(size, "float32"), np.full(size, np.nan, "float32")):
        check_order(x, device)


def test_any_dimension_is_sorted(device: sg.Device) -> None:
    x = keys((3, 7, 5), "float32")
    for dim in range(-3, 3):
        y = np.moveaxis(x, dim, -1)
        want = np.moveaxis(order_of(y, False), -1, dim)
        assert np.array_equal(sg.tensor(x, device=device).argsort(dim).numpy(), want)
    view = sg.tensor(x, device=device).permute(2, 0, 1)[1:, :, ::2]
    assert np.array_equal(view.argsort(0).numpy(), view.contiguous().argsort(0).numpy())


def test_nothing_and_one_number_are_sorted(device: sg.Device) -> None:
    values, indices = sg.zeros(3, 0, device=device).sort(0)
    assert values.shape == indices.shape == (3, 0)
    values, indices = sg.tensor(2.0, device=device).sort()
    assert (values.item(), indices.item(), values.shape) == (2.0, 0, ())


@pytest.mark.parametrize(
    ("shape", "k"), [((2, 50), 7), ((3, 5000), 100), ((40000,), 5), ((20000,), 2400), ((5000,), 0)]
)
@pytest.mark.parametrize("dtype", ["float32", "int64", "uint8"])
def test_topk_chooses_the_first_of_equal_ones(device: sg.Device, dtype: str, shape: tuple[int, ...], k: int) -> None:
    x = keys(shape, dtype)
    for largest in (False, True):
        want = order_of(x, largest)[..., :k]
        values, indices = sg.tensor(x, device=device).topk(k, largest=largest)
        assert np.array_equal(indices.numpy(), want)
        np.testing.assert_array_equal(values.numpy(), np.take_along_axis(x, want, -1))
        loose = sg.tensor(x, device=device).topk(k, largest=largest, sorted=False).indices.numpy()
        assert np.array_equal(np.sort(loose), np.sort(want))


def test_gradients_of_orders_reach_what_was_chosen(device: sg.Device) -> None:
    x = np.random.default_rng(0).standard_normal((3, 5000)).astype("float32")
    weights = np.arange(1, 5001, dtype="float32")
    t = sg.tensor(x, device=device, requires_grad=True)
    (t.sort(descending=True).values * sg.tensor(weights, device=device)).sum().backward()
    want = np.zeros_like(x)
    np.put_along_axis(want, np.argsort(-x, -1, kind="stable"), np.broadcast_to(weights, x.shape), -1)
    assert np.array_equal(t.grad.numpy(), want)
    t = sg.tensor(x, device=device, requires_grad=True)
    (first,) = sg.autograd.grad((t.topk(3).values ** 3).sum(), [t], create_graph=True)
    (second,) = sg.autograd.grad(first.sum(), [t])
    top = np.argsort(-x, -1)[:, :3]
    want = np.zeros_like(x)
    np.put_along_axis(want, top, 6 * np.take_along_axis(x, top, -1), -1)
    np.testing.assert_allclose(second.numpy(), want, rtol=1e-6)


def test_kthvalue_and_its_errors(device: sg.Device) -> None:
    x = keys((4, 100), "float32")
    values, indices = sg.tensor(x, device=device).kthvalue(7, keepdim=True)
    assert np.array_equal(indices.numpy(), order_of(x, False)[:, 6:7])
    np.testing.assert_array_equal(values.numpy(), np.take_along_axis(x, indices.numpy(), -1))
    for k in (0, 101):
        with pytest.raises(ValueError, match="kthvalue: k = "):
            sg.tensor(x, device=device).kthvalue(k)
    with pytest.raises(ValueError, match="topk: k = 101 of 100"):
        sg.tensor(x, device=device).topk(101)
    with pytest.raises(IndexError):
        sg.tensor(x, device=device).sort(2)


@pytest.mark.parametrize("how", ["linear", "lower", "higher", "nearest", "midpoint"])
def test_quantiles_are_numpys(device: sg.Device, how: Any) -> None:
    x = np.random.default_rng(1).standard_normal((3, 40, 5)).astype("float32")
    q = np.array([0.0, 0.31, 1.0], "float32")
    t = sg.tensor(x, device=device)
    got = t.quantile(sg.tensor(q, device=device), 1, interpolation=how)
    np.testing.assert_allclose(got.numpy(), np.quantile(x, q, 1, method=how), rtol=1e-5, atol=1e-6)
    assert t.quantile(0.5, 1, True).shape == (3, 1, 5)
    assert t.quantile(0.5, keepdim=True).shape == (1, 1, 1)
    x[0, 3, 2] = np.nan
    for name in ("quantile", "nanquantile"):
        got = getattr(sg.tensor(x, device=device), name)(0.7, 1)
        np.testing.assert_allclose(got.numpy(), getattr(np, name)(x, 0.7, 1), rtol=1e-5, atol=1e-6)


def test_quantiles_have_gradients_by_q(device: sg.Device) -> None:
    x = sg.tensor([[1.0, 4.0, 2.0, 8.0], [np.nan, 3.0, 0.0, 1.0]], device=device)
    q = sg.tensor([0.1, 0.5, 1.0], device=device, requires_grad=True)
    (x[0].quantile(q) * sg.tensor([1.0, 10.0, 100.0], device=device)).sum().backward()
    assert q.grad is not None
    # Between neighbours in order, times three intervals; an element itself has no slope.
    np.testing.assert_allclose(q.grad.numpy(), [3 * 1.0, 10 * 3 * 2.0, 0], rtol=1e-6)
    q.grad = None
    x.nanquantile(q, 1).sum().backward()
    np.testing.assert_allclose(q.grad.numpy(), [3 * 1.0 + 2 * 1.0, 3 * 2.0, 0], rtol=1e-6)
    q.grad = None
    x.quantile(q, 1)[:, 0].sum().backward()
    np.testing.assert_allclose(q.grad.numpy(), [3 * 1.0, 3 * 2.0, 0], rtol=1e-6)
    assert not x.quantile(q, interpolation="higher").requires_grad


# ---- sums of rows ----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int64"])
@pytest.mark.parametrize(("count", "m"), [(10, 7), (1000, 5000), (2, 5000), (1, 300), (70000, 4500)])
def test_rows_are_added_exactly(device: sg.Device, dtype: str, count: int, m: int) -> None:
    random = np.random.default_rng(count)
    for width in (1, 3):
        for rows in (random.integers(0, count, m), np.full(m, count - 1), np.sort(random.permutation(m) % count)):
            values = random.integers(-8, 9, (m, width)).astype(dtype)
            want = np.zeros((count, width), dtype)
            np.add.at(want, rows, values)
            zeros = sg.zeros(count, width, dtype=getattr(sg, dtype), device=device)
            got = zeros.index_add(0, sg.tensor(rows, device=device), sg.tensor(values, device=device))
            assert np.array_equal(got.numpy(), want)


def test_sums_of_rows_are_the_same_in_every_run(device: sg.Device) -> None:
    random = np.random.default_rng(0)
    rows = sg.tensor(random.integers(0, 3, 6000), device=device)
    values = random.standard_normal(6000).astype("float32")
    runs = [sg.zeros(3, device=device).scatter_add(0, rows, sg.tensor(values, device=device)).numpy() for _ in range(3)]
    assert all(np.array_equal(runs[0].view("uint32"), run.view("uint32")) for run in runs)
    want = np.bincount(rows.numpy(), values.astype("float64"))
    np.testing.assert_allclose(runs[0], want, atol=1e-3)


# ---- places ----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("right", [False, True])
def test_values_are_searched_in_sorted_rows(device: sg.Device, right: bool) -> None:
    random = np.random.default_rng(2)
    rows, values = np.sort(random.integers(-9, 9, (3, 40))), random.integers(-12, 12, (3, 9))
    want = np.stack([np.searchsorted(r, v, "right" if right else "left") for r, v in zip(rows, values, strict=True)])
    t, v = sg.tensor(rows, device=device), sg.tensor(values, device=device)
    assert np.array_equal(sg.searchsorted(t, v, right=right).numpy(), want)
    assert np.array_equal(sg.searchsorted(t[0], v[:1], side="right" if right else "left").numpy(), want[:1])
    assert sg.searchsorted(t[0], int(rows[0, 5]), right=right, out_int32=True).dtype == sg.int32
    assert sg.searchsorted(t[0, :0], v).numpy().max() == 0
    with pytest.raises(ValueError, match="do not fit the sorted rows"):
        sg.searchsorted(t, v[:2])


@pytest.mark.parametrize("size", [0, 1, 50, 5000])
def test_distinct_values_with_inverse_and_counts(device: sg.Device, size: int) -> None:
    x = np.random.default_rng(3).integers(-4, 5, size)
    t = sg.tensor(x, device=device)
    wanted = np.unique(x, return_inverse=True, return_counts=True)
    for got, want in zip(t.unique(return_inverse=True, return_counts=True), wanted, strict=True):
        assert np.array_equal(got.numpy(), want)
    values, inverse, counts = t.unique_consecutive(return_inverse=True, return_counts=True)
    assert np.array_equal(values.numpy()[inverse.numpy()], x)
    assert np.array_equal(np.repeat(values.numpy(), counts.numpy()), x)


def test_permutations_are_the_same_on_every_device(device: sg.Device) -> None:
    sg.manual_seed(5)
    p = sg.randperm(5000, device=device)
    sg.manual_seed(5)
    assert np.array_equal(p.numpy(), sg.randperm(5000).numpy())
    assert np.array_equal(np.sort(p.numpy()), np.arange(5000))
    assert not np.array_equal(sg.randperm(5000).numpy(), p.numpy())
    with pytest.raises(ValueError, match="randperm: n is -1"):
        sg.randperm(-1)


def test_counts_of_numbers(device: sg.Device) -> None:
    x = sg.tensor([1, 4, 1], device=device)
    assert x.bincount().tolist() == [0, 2, 0, 0, 1]
    assert x.bincount(sg.tensor([0.5, 1.0, 2.0], device=device), minlength=6).tolist() == [0, 2.5, 0, 0, 1, 0]
    assert x[:0].bincount().tolist() == []
    with pytest.raises(ValueError, match="the input has -1"):
        sg.tensor([-1], device=device).bincount()
    with pytest.raises(TypeError):
        sg.tensor([0.5], device=device).bincount()


@pytest.mark.parametrize("shape", [(6, 2), (5,), (4, 2, 3), (1, 4), (33, 3), (0, 3), (3, 0)], ids=str)
@pytest.mark.parametrize("dtype", ["int64", "float32", "bool"])
def test_distinct_slices_are_those_of_numpy(shape: tuple[int, ...], dtype: str, device: sg.Device) -> None:
    x = np.random.default_rng(len(shape)).integers(0, 2, shape).astype(dtype)
    for axis in range(len(shape)):
        if shape[axis] == 0:
            continue  # NumPy has no answer
        wanted = np.unique(x, axis=axis, return_inverse=True, return_counts=True)
        got = sg.tensor(x, device=device).unique(dim=axis, return_inverse=True, return_counts=True)
        for a, b in zip(got, wanted, strict=True):
            np.testing.assert_array_equal(a.cpu().numpy(), np.asarray(b).reshape(a.shape))
        runs = sg.tensor(x, device=device).unique_consecutive(dim=axis)
        rows = np.moveaxis(x, axis, 0)
        changes = [i for i in range(len(rows)) if i == 0 or (rows[i] != rows[i - 1]).any()]
        np.testing.assert_array_equal(runs.cpu().numpy(), np.take(x, changes, axis))


def test_slices_along_a_dimension_that_is_not_there(device: sg.Device) -> None:
    with pytest.raises(IndexError, match="unique"):
        sg.zeros(2, 2, device=device).unique(dim=2)
