"""Running sums, products and extremes: sizes around the tiles, rows of every length, gradients of any order."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import spirograd as sg
from reference.table import Array
from test_ops import needs

# Rows that share a tile, that fill one, that cross several; few long and many short ones.
SHAPES = [((1,), 0), ((5,), 0), ((4097,), 0), ((70_000,), 0), ((2, 5000), 1), ((1000, 7), 1), ((1000, 7), 0),
          ((2, 3, 700), 2), ((2, 700, 3), 1), ((1100, 5), 0), ((1050, 1030), 1)]  # fmt: skip


def values(shape: tuple[int, ...], dtype: str) -> Array:
    random = np.random.default_rng(len(shape) + sum(shape))
    x = random.standard_normal(shape) if dtype.startswith("f") else random.integers(-4, 5, shape)
    return x.astype(dtype)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int64"])
@pytest.mark.parametrize(("shape", "dim"), SHAPES, ids=str)
def test_running_sums_and_extremes_at_every_size(
    shape: tuple[int, ...], dim: int, dtype: str, device: sg.Device
) -> None:
    needs(device, dtype)
    x = values(shape, dtype)
    t = sg.tensor(x, device=device)
    total = t.cumsum(dim).numpy()
    wide = x.astype(np.float64 if x.dtype.kind == "f" else np.int64)
    bound = 8 * np.finfo(x.dtype).eps * np.abs(wide).cumsum(dim) if x.dtype.kind == "f" else 0
    assert total.dtype == (x.dtype if x.dtype.kind == "f" else np.int64)
    assert (np.abs(total - wide.cumsum(dim)) <= bound).all()
    for extreme, oracle in ((sg.cummax, np.maximum), (sg.cummin, np.minimum)):
        best, index = (r.numpy() for r in extreme(t, dim))
        assert np.array_equal(best, oracle.accumulate(x, axis=dim))
        assert index.dtype == np.int64
        assert np.array_equal(np.take_along_axis(x, index, dim), best)
        if x.dtype.kind == "i":  # of equal ones the last
            here = np.broadcast_to(np.arange(shape[dim]).reshape([-1 if d == dim else 1 for d in range(x.ndim)]), shape)
            last = np.maximum.accumulate(np.where(x == best, here, -1), axis=dim)
            assert np.array_equal(index, last)


@pytest.mark.parametrize("n", [64, 255, 256, 257, 1000])
def test_running_sums_on_a_cpu_restart_every_64_elements(n: int) -> None:
    x = values((3, n), "float64")
    want = x.copy()
    for row in want:
        for first in range(0, n, 64):
            row[first : first + 64] = row[first : first + 64].cumsum()
            if first:
                row[first : first + 64] += row[first - 1]
    assert np.array_equal(sg.tensor(x).cumsum(1).numpy(), want)


@pytest.mark.parametrize(("shape", "dim"), [((4097,), 0), ((2, 9000), 1), ((300, 7), 1)], ids=str)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_running_products_and_logarithms_across_tiles(
    shape: tuple[int, ...], dim: int, dtype: str, device: sg.Device
) -> None:
    needs(device, dtype)
    x = 1 + values(shape, dtype) / 100
    t = sg.tensor(x, device=device)
    eps = np.finfo(x.dtype).eps
    steps = np.arange(1, shape[dim] + 1)
    assert (np.abs(t.cumprod(dim).numpy() / np.cumprod(x.astype(np.float64), dim) - 1) <= 2 * eps * steps).all()
    want = np.logaddexp.accumulate(x.astype(np.float64), axis=dim)
    assert (np.abs(t.logcumsumexp(dim).numpy() - want) <= 8 * eps * np.log2(steps + 1) * (1 + np.abs(want))).all()


def test_narrow_types_and_asked_for_types(device: sg.Device) -> None:
    assert sg.ones(3, dtype=sg.float16, device=device).cumsum(0).dtype == sg.float16
    assert sg.tensor([200, 100], dtype=sg.uint8, device=device).cumsum(0).tolist() == [200, 300]
    assert sg.tensor([True, False, True], device=device).cumsum(0).tolist() == [1, 1, 2]
    assert sg.tensor([1, 2], device=device).cumsum(0, dtype=sg.float32).dtype == sg.float32
    assert sg.tensor([1, 2], device=device).cumprod(0, dtype=sg.int32).dtype == sg.int32
    assert sg.tensor([True, False], device=device).cummax(0).values.tolist() == [True, True]


def test_nan_wins_and_stays(device: sg.Device) -> None:
    x = sg.tensor([1.0, np.nan, 3.0, np.nan, 5.0], device=device)
    for result in (x.cummax(0), x.cummin(0)):
        assert np.array_equal(result.values.numpy(), [1, np.nan, np.nan, np.nan, np.nan], equal_nan=True)
        assert result.indices.tolist() == [0, 1, 1, 3, 3]
    assert np.array_equal(x.cumsum(0).numpy(), [1, np.nan, np.nan, np.nan, np.nan], equal_nan=True)


def test_infinities_in_logarithms(device: sg.Device) -> None:
    x = sg.tensor([-np.inf, -np.inf, 0.0, np.inf, 1.0], device=device)
    assert x.logcumsumexp(0).tolist() == [-np.inf, -np.inf, 0.0, np.inf, np.inf]
    y = sg.tensor([-np.inf, 0.0, 0.0], device=device, requires_grad=True)
    y.logcumsumexp(0)[1:].sum().backward()
    assert y.grad is not None
    np.testing.assert_allclose(y.grad.numpy(), [0.0, 1.5, 0.5])


def test_empty_and_0d(device: sg.Device) -> None:
    assert sg.zeros(0, 3, device=device).cumsum(0).shape == (0, 3)
    assert sg.zeros(3, 0, device=device).cummax(0).indices.shape == (3, 0)
    assert sg.tensor(2.0, device=device).cumsum(0).item() == 2.0
    assert sg.tensor(2.0, device=device).cummin(-1).indices.item() == 0
    with pytest.raises(IndexError):
        sg.ones(2, device=device).cumsum(1)


SCANS: list[Callable[[sg.Tensor], sg.Tensor]] = [
    lambda x: x.cumsum(1), lambda x: x.cumprod(1), lambda x: x.logcumsumexp(1),
    lambda x: x.cumsum(0), lambda x: x.cumprod(0),
]  # fmt: skip


@pytest.mark.parametrize("scan", SCANS)
@pytest.mark.parametrize("zeros", [0, 1, 2])
def test_gradients_of_gradients_also_at_zeros(scan: Callable[[sg.Tensor], sg.Tensor], zeros: int) -> None:
    x = values((3, 5), "float64")
    x[1, [1, 3][:zeros]] = 0
    x[2, 0] = 0 if zeros else 1
    t = sg.tensor(x, requires_grad=True)
    assert sg.autograd.gradcheck(scan, (t,))
    assert sg.autograd.gradgradcheck(scan, (t,))


def test_gradients_agree_with_torch(device: sg.Device) -> None:
    torch = pytest.importorskip("torch")
    for name in ("cumsum", "cumprod", "logcumsumexp", "cummax", "cummin"):
        x = values((4, 6), "float32")
        a = sg.tensor(x, device=device, requires_grad=True)
        b = torch.tensor(x, requires_grad=True)
        for t, lib in ((a, sg), (b, torch)):
            y = getattr(lib, name)(t, 1)
            y = y if name not in ("cummax", "cummin") else y.values
            (y * y).sum().backward()
        np.testing.assert_allclose(a.grad.numpy(), b.grad.numpy(), rtol=1e-4, atol=1e-5, err_msg=name)


def test_a_scan_is_one_submission_and_fuses_around_it(device: sg.Device) -> None:
    x = sg.ones(70_000, device=device)
    x.numpy()
    y = (x * 2).cumsum(0)[-1]
    assert (y + 1).item() == 140_001.0
