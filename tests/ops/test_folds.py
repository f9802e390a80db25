"""Rows that the threads of a workgroup fold together: widths, ways and types, with and without subgroup operations."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import spirograd as sg

Array = npt.NDArray[Any]

WIDTHS = (1, 3, 4, 8, 15, 33, 64, 129, 513, 4000, 9001)
ROWS = 5


def fold_everything(shuffles: str = "yes") -> None:
    """Compares rows of whole numbers, whose folds are exact in any order, with NumPy."""
    device = sg.Device.gpu()
    if device.features["shuffles"] != shuffles:
        assert shuffles == "yes", "SPIROGRAD_SHUFFLES=0 turns them off"
        pytest.skip("the device has no subgroup operations for it")
    rng = np.random.default_rng(5)
    for width in WIDTHS:
        whole = rng.integers(-50, 50, (ROWS, width))
        for dtype in ("float32", "int32", "int64", "float64"):
            if dtype == "float64" and device.features.get("shaderFloat64") != "yes":
                continue
            a = whole.astype(dtype)
            x = sg.tensor(a, device=device)
            np.testing.assert_array_equal(x.sum(1).numpy(), a.sum(1), f"sum of {ROWS} x {width} {dtype}")
            np.testing.assert_array_equal(x.amax(1).numpy(), a.max(1), f"amax of {ROWS} x {width} {dtype}")
        truth = whole > 48
        b = sg.tensor(truth, device=device)
        np.testing.assert_array_equal(b.any(1).numpy(), truth.any(1), f"any of {ROWS} x {width}")
        np.testing.assert_array_equal((~b).all(1).numpy(), ~truth.any(1), f"all of {ROWS} x {width}")
        x = sg.tensor(whole.astype("float32"), device=device)
        y = (x - x.amax(1, keepdim=True)) * (x.sum(1, keepdim=True) + x.amin(1, keepdim=True))  # several in a kernel
        a = whole.astype("float32")
        expected = (a - a.max(1, keepdims=True)) * (a.sum(1, keepdims=True) + a.min(1, keepdims=True))
        np.testing.assert_array_equal(y.numpy(), expected, f"{ROWS} x {width}")


@pytest.mark.gpu
def test_rows_of_any_width_fold() -> None:
    fold_everything()


def same_every_time(fold: Callable[[], sg.Tensor], said: str) -> Array:
    """What the fold gives, of three times."""
    found = [fold().numpy() for _ in range(3)]
    assert len({values.tobytes() for values in found}) == 1, said
    return found[0]


def fold_rounded() -> None:
    """Sums that round are added in another order than NumPy's: within the bound of a sum of float32, and the same bits
    every time."""
    device = sg.Device.gpu()
    for width in WIDTHS:
        a = np.random.default_rng(width).normal(size=(ROWS, width)).astype(np.float32)
        x, exact, bound = sg.tensor(a, device=device), a.astype(np.float64), (8 + np.log2(width)) * 2.0**-23
        found = same_every_time(partial(x.sum, 1), f"sum of {width}")
        assert (np.abs(found - exact.sum(1)) <= bound * np.abs(exact).sum(1)).all(), f"sum of {width}"
        e = np.exp(exact - exact.max(1, keepdims=True))
        found = same_every_time(partial(x.softmax, 1), f"softmax of {width}")
        np.testing.assert_allclose(found, e / e.sum(1, keepdims=True), rtol=2 * bound, err_msg=f"softmax of {width}")
        norm = (exact - exact.mean(1, keepdims=True)) / np.sqrt(exact.var(1, keepdims=True) + 1e-5)
        found = same_every_time(partial(sg.nn.functional.layer_norm, x, (width,)), f"layer norm of {width}")
        np.testing.assert_allclose(found, norm, rtol=4 * bound, atol=8 * bound, err_msg=f"layer norm of {width}")


@pytest.mark.gpu
def test_rows_fold_through_shared_memory_where_threads_cannot_exchange_values(run_python: Callable[..., str]) -> None:
    code = "import test_folds as t; t.fold_everything(shuffles='no'); t.fold_rounded()"
    run_python(code, SPIROGRAD_SHUFFLES="0", timeout=300)


@pytest.mark.gpu
def test_sums_that_round_are_within_their_bound() -> None:
    fold_rounded()


@pytest.mark.gpu
@pytest.mark.parametrize("width", [64, 777])
def test_all_threads_see_the_same_zero(width: int) -> None:
    """Of 0 and -0 either may be the largest, but not one here and the other there."""
    signs = np.where(np.random.default_rng(1).random((6, width)) < 0.5, 0.0, -0.0).astype(np.float32)
    x = sg.tensor(signs, device=sg.Device.gpu())
    y = sg.ones(6, width, device=x.device) / x.amax(1, keepdim=True)
    assert all(len(set(row)) == 1 for row in y.tolist())


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("width", [32, 64, 100, 1000, 1024])
def test_short_rows_fold_to_the_same_bits_wherever_they_lie(width: int, dtype: str) -> None:
    """One loop folds many, also where rows lie apart or are read several times; longer ones are as each alone."""
    x = sg.tensor(np.random.default_rng(2).normal(size=(70, width + 3)).astype(dtype))[:, 1 : width + 1]
    behind = x.clone()
    for fold in ("sum", "mean", "amax", "amin", "prod"):
        expected = getattr(behind, fold)(1).tolist()
        assert getattr(x, fold)(1).tolist() == expected, fold
        assert getattr(behind * 1, fold)(1).tolist() == expected, fold
        again, stored = x[3].expand(70, width), x[3].expand(70, width).clone()
        assert getattr(again, fold)(1).tolist() == getattr(stored, fold)(1).tolist() == expected[3:4] * 70, fold
        if width > 64 or fold in ("amax", "amin"):
            assert expected == [getattr(row, fold)().item() for row in behind], fold
    sums = behind.sum(1).tolist()
    x[5, width - 1] = float("nan")
    assert [i for i, y in enumerate(x.amax(1).isnan().tolist()) if y] == [5]
    x[:, 0] = x.sum(1)  # written over what is read
    assert x[6:, 0].tolist() == sums[6:]
