"""Narrow types: conversions against NumPy, and every pointwise op equal to the wide op, rounded once."""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import spirograd as sg
from reference.table import ROWS, Array, Row

WIDE = {"float16": "float32", "bfloat16": "float32", "int8": "int32", "uint8": "int32", "int16": "int32"}
HALVES = ("float16", "bfloat16")
FLOAT_EDGES = [0.0, -0.0, 1.0, 65504, 65519.9, 65520, 2.0**-24, 2.0**-25, 1.5 * 2.0**-25, 6e-5, np.inf, -np.inf, np.nan]


def wide_values(x: sg.Tensor) -> Array:
    return x.to(WIDE[x.dtype.name]).numpy()


def floats() -> Array:
    random = np.random.default_rng(0)
    spread = random.standard_normal(2000) * 10.0 ** random.integers(-9, 6, 2000)
    return np.concatenate([spread, FLOAT_EDGES]).astype(np.float32)


@pytest.mark.filterwarnings("ignore:overflow encountered")
def test_float32_to_float16_rounds_as_numpy_does(device: sg.Device) -> None:
    x = floats()
    assert np.array_equal(sg.tensor(x, device=device).half().numpy(), x.astype(np.float16), equal_nan=True)


def test_every_float16_becomes_the_same_float32(device: sg.Device) -> None:
    every = np.arange(1 << 16, dtype=np.uint16).view(np.float16)
    assert np.array_equal(sg.tensor(every, device=device).float().numpy(), every.astype(np.float32), equal_nan=True)


def test_bfloat16_keeps_the_upper_half_of_the_bits_rounded_to_even(device: sg.Device) -> None:
    x = floats()
    bits = x.view(np.uint32).astype(np.uint64)
    want = ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16 << 16).astype(np.uint32).view(np.float32)
    want[np.isnan(x)] = np.nan
    assert np.array_equal(sg.tensor(x, device=device).bfloat16().float().numpy(), want, equal_nan=True)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16"])
def test_integers_wrap_around_as_numpy_does(dtype: str, device: sg.Device) -> None:
    x = np.random.default_rng(0).integers(-(1 << 31), 1 << 31, 1000).astype(np.int32)
    got = sg.tensor(x, device=device).to(dtype)
    assert np.array_equal(got.numpy(), x.astype(dtype))
    assert np.array_equal((got + got * got).numpy(), x.astype(dtype) + x.astype(dtype) * x.astype(dtype))


@pytest.mark.parametrize(("a", "b", "want"), [
    ("uint8", "int8", "int16"), ("float16", "bfloat16", "float32"), ("int64", "float16", "float16"),
    ("bool", "uint8", "uint8"), ("int8", "int16", "int16"), ("uint8", "int32", "int32"),
    ("bfloat16", "float32", "float32"), ("int64", "bfloat16", "bfloat16"), ("float16", "float64", "float64"),
])  # fmt: skip
def test_two_types_meet_in(a: str, b: str, want: str) -> None:
    assert (sg.ones(2, dtype=a) + sg.ones(2, dtype=b)).dtype.name == want
    assert (sg.ones(2, dtype=b) + sg.ones(2, dtype=a)).dtype.name == want


@pytest.mark.parametrize("dtype", WIDE)
def test_numbers_do_not_widen(dtype: str) -> None:
    x = sg.ones(3, dtype=dtype)
    assert (x + 1).dtype == x.dtype
    assert (x * True).dtype == x.dtype
    assert (x + 1.0).dtype.name == (dtype if dtype in HALVES else "float32")
    assert x.sum().dtype.name == (dtype if dtype in HALVES else "int64")


POINTWISE = [(row, dtype) for row in ROWS if row.pointwise for dtype in WIDE if WIDE[dtype] in row.dtypes]


@pytest.mark.parametrize(("row", "dtype"), POINTWISE, ids=lambda v: v if isinstance(v, str) else v.name)
def test_a_narrow_op_is_the_wide_op_rounded(row: Row, dtype: str, device: sg.Device) -> None:
    for shapes in row.shapes[:5]:
        arrays = row.inputs(shapes, WIDE[dtype])
        narrow = [sg.tensor(a, device=device).to(dtype) for a in arrays]
        got, wide = row.op(*narrow), row.op(*(t.to(WIDE[dtype]) for t in narrow))
        want = wide if wide.dtype.name in ("bool", "float32") and dtype not in HALVES else wide.to(got.dtype)
        assert got.shape == wide.shape
        if got.dtype.name in WIDE:
            assert np.array_equal(wide_values(got), wide_values(want), equal_nan=True)
        else:
            assert np.array_equal(got.numpy(), want.numpy(), equal_nan=True)


@pytest.mark.parametrize("dtype", HALVES)
def test_sums_of_halves_are_rounded_once(dtype: str, device: sg.Device) -> None:
    a = sg.tensor(np.random.default_rng(1).standard_normal((37, 200)).astype(np.float32), device=device).to(dtype)
    assert np.array_equal(wide_values(a.sum(1)), wide_values(a.float().sum(1).to(dtype)))


@pytest.mark.parametrize("dtype", HALVES)
def test_gradients_of_halves_are_halves(dtype: str, device: sg.Device) -> None:
    x = sg.tensor([1.0, 2.0, 3.0], dtype=dtype, device=device, requires_grad=True)
    (x * x).sum().backward()
    assert x.grad is not None and x.grad.dtype.name == dtype
    assert x.grad.tolist() == [2.0, 4.0, 6.0]


@pytest.mark.parametrize("dtype", WIDE)
def test_views_and_writes_in_place_of_narrow_types(dtype: str, device: sg.Device) -> None:
    x = sg.arange(24, device=device).to(dtype).reshape(4, 6)
    y = x.T[1:4, ::2]
    assert wide_values(y).tolist() == np.arange(24).reshape(4, 6).T[1:4, ::2].tolist()
    x[1:3, 1:5] = 7
    want = np.arange(24).reshape(4, 6)
    want[1:3, 1:5] = 7
    assert wide_values(x).tolist() == want.tolist()


def test_a_sum_that_halves_do_not_hold_is_infinite_only_where_it_is_stored(device: sg.Device) -> None:
    ones, twos = sg.ones(1, 65536, dtype=sg.float16, device=device), sg.full((65536, 1), 2.0, device=device).half()
    assert (ones @ twos).item() == float("inf")
    assert (ones.float() @ twos.float()).item() == 131072
    assert (ones @ (twos / 4)).item() == 32768
    assert (ones * 0.5).sum().item() == 32768 and ones.sum().item() == float("inf")
    there_and_back = sg.tensor([[60000.0] * 50 + [-60000.0] * 50], dtype=sg.float16, device=device)
    assert there_and_back.sum().item() == 0 and (there_and_back @ sg.ones_like(there_and_back).T).item() == 0
    assert there_and_back.expand(3, 100).sum(1).tolist() == there_and_back.T.expand(100, 3).sum(0).tolist() == [0] * 3


def test_a_tensor_without_dimensions_wraps_to_the_type_of_the_others(device: sg.Device) -> None:
    """Values stored from PyTorch 2.13."""
    a = sg.tensor(-6, dtype=sg.int16, device=device)
    b = sg.tensor([0, 1, 2], dtype=sg.uint8, device=device)
    assert sg.maximum(a, b).tolist() == [250, 250, 250] and sg.minimum(b, a).tolist() == [0, 1, 2]
    assert (a > b).tolist() == [True, True, True] and (b == a).tolist() == [False] * 3
    assert (a // b.clamp(1)).tolist() == [250, 250, 125] and (a * b).tolist() == [0, 250, 244]
    assert (a / (b + 1)).tolist() == [-6.0, -3.0, -2.0]
    assert sg.clamp(b, a, sg.tensor(300, dtype=sg.int32, device=device)).tolist() == [44, 44, 44]


def test_a_product_of_float64_and_float32_warns_once_a_line(device: sg.Device) -> None:
    wide, layer = sg.ones(4, 3, dtype=sg.float64, device=device), sg.nn.Linear(3, 2).to(device)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("default")
        for _ in range(3):
            assert layer(wide).dtype == sg.float64
        sg.nn.Conv1d(3, 2, 1, device=device)(wide[..., None])
    assert [(w.filename, w.lineno - told[0].lineno) for w in told] == [(__file__, 0), (__file__, 1)]
    assert re.search(r"float64 and float32 are computed in float64.*\.float\(\)", str(told[0].message))


F = sg.nn.functional
MIXED: dict[str, Callable[[sg.Tensor], sg.Tensor]] = {  # float64 data in a float32 net, which PyTorch refuses
    "layer_norm": lambda x: sg.nn.LayerNorm(5)(x),
    "group_norm": lambda x: sg.nn.GroupNorm(2, 4)(x),
    "batch_norm": lambda x: sg.nn.BatchNorm2d(4)(x),
    "batch_norm of running values": lambda x: sg.nn.BatchNorm2d(4, affine=False)(x),
    "batch_norm in evaluation": lambda x: sg.nn.BatchNorm2d(4).eval()(x),
    "instance_norm": lambda x: sg.nn.InstanceNorm2d(4, affine=True)(x),
    "prelu": lambda x: sg.nn.PReLU()(x),
    "grid_sample": lambda x: F.grid_sample(x, sg.zeros(2, 5, 5, 2)),
    "binary_cross_entropy": lambda x: F.binary_cross_entropy(x, x.float()),
    "embedding_bag": lambda x: F.embedding_bag(x[0, 0].long(), sg.ones(5, 5), mode="sum", per_sample_weights=x[0, 0]),
}


@pytest.mark.parametrize("name", MIXED)
def test_parameters_of_another_type_than_the_input_warn_or_raise(name: str) -> None:
    x = sg.full((2, 4, 5, 5), 0.5, dtype=sg.float64)
    with pytest.warns(UserWarning, match=f"^{name.split()[0]}: float.. and float.. are computed in float64"):
        MIXED[name](x)
    sg._core._allow_mixed_types(False)
    try:
        with pytest.raises(
            TypeError, match=f"^{name.split()[0]}: the inputs should have the same dtype, but got float"
        ):
            MIXED[name](x)
        MIXED[name](x.float())
    finally:
        sg._core._allow_mixed_types(True)


def test_half_inputs_meet_float32_parameters() -> None:
    sg._core._allow_mixed_types(False)
    try:
        x = sg.ones(2, 4, 5, 5, dtype=sg.float16)
        for layer in (
            sg.nn.LayerNorm(5),
            sg.nn.GroupNorm(2, 4),
            sg.nn.BatchNorm2d(4),
            sg.nn.InstanceNorm2d(4, affine=True),
        ):
            assert layer(x).dtype == sg.float16
        with pytest.raises(TypeError, match=r"layer_norm: .* got float32 and float16"):
            sg.nn.LayerNorm(5).half()(x.float())
    finally:
        sg._core._allow_mixed_types(True)


@pytest.mark.filterwarnings("error")
def test_other_products_of_two_types_are_quiet(device: sg.Device) -> None:
    x = sg.ones(2, 2, device=device)
    assert (x @ x.half()).dtype == (x.long() @ x).dtype == sg.float32
    assert (x.double() @ x.double() * x).dtype == sg.float64


@pytest.mark.parametrize(
    "divide",
    [
        lambda x: x // 0,
        lambda x: x % 0,
        lambda x: divmod(x, 0),
        lambda x: x.fmod(0),
        lambda x: x.div(0, rounding_mode="trunc"),
        lambda x: x.floor_divide_(0),
    ],
)
def test_integers_have_no_quotient_by_the_number_0(divide: Any, device: sg.Device) -> None:
    x = sg.tensor([1, 2], device=device)
    with pytest.raises(ValueError, match="integers are divided by 0"):
        divide(x)
    assert x.tolist() == [1, 2] and (x // sg.tensor([0, 2], device=device)).tolist() == [0, 1]
    assert (x // 0.0).tolist() == [math.inf, math.inf]
