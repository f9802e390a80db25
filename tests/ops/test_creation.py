"""Functions that make tensors: values, types, devices, and whose memory they use."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import spirograd as sg


def test_like_and_new(device: sg.Device) -> None:
    x = sg.zeros(2, 3, dtype=sg.int32, device=device)
    for y, value in [
        (sg.full_like(x, 7), 7), (x.new_full((2, 3), 7), 7), (x.new_ones(2, 3), 1), (x.new_zeros((2, 3)), 0),
        (x.new_tensor([[1] * 3] * 2), 1), (sg.zeros_like(x), 0),
    ]:  # fmt: skip
        assert y.dtype == sg.int32 and y.device == device and y.tolist() == [[value] * 3] * 2
    for y in (sg.empty(2, 3, device=device), sg.empty_like(x), x.new_empty(2, 3)):
        assert y.shape == (2, 3) and y.device == device
        assert y.fill_(4).tolist() == [[4] * 3] * 2
    assert sg.full_like(x, 2.5, dtype=sg.float32).tolist() == [[2.5] * 3] * 2
    assert x.new_ones(2, dtype=sg.bool).tolist() == [True, True]
    assert sg.full_like(x, sg.tensor(3)).tolist() == [[3] * 3] * 2
    with pytest.raises(ValueError, match=r"empty: negative size in shape \[2, -1\]"):
        sg.empty(2, -1)
    with pytest.raises(TypeError, match="full_like: a number is needed, got str"):
        sg.full_like(x, "a")


def test_sizes_are_ints_or_one_sequence_of_them() -> None:
    for make in (sg.zeros, sg.ones, sg.empty, sg.zeros(1).new_zeros):
        shapes = [make(2, 3).shape, make((2, 3)).shape, make([2, 3]).shape, make(np.array([2, 3])).shape]
        assert shapes == [(2, 3)] * 4


@pytest.mark.parametrize("bounds", [(0, 1, 5), (3, 3, 1), (-2.5, 10, 100), (1, 0, 3), (0, 1, 0), (0.1, 0.9, 2)])
def test_linspace(bounds: tuple[float, float, int], device: sg.Device) -> None:
    want = np.linspace(*bounds)
    for dtype, tolerance in ((sg.float32, 2e-6), (sg.float64, 1e-15)):
        x = sg.linspace(*bounds, dtype=dtype, device=device).numpy()
        np.testing.assert_allclose(x, want, rtol=tolerance, atol=tolerance)
        if len(want) > 1:
            assert x[0] == x.dtype.type(bounds[0]) and x[-1] == x.dtype.type(bounds[1])


def test_spaced_errors() -> None:
    with pytest.raises(ValueError, match="linspace: -1 steps; use 0 or more"):
        sg.linspace(0, 1, -1)
    with pytest.raises(ValueError, match="logspace: a bound is not finite"):
        sg.logspace(0, float("inf"), 3)
    with pytest.raises(ValueError, match=r"eye: negative size \[2, -3\]"):
        sg.eye(2, -3)


def test_logspace_and_eye(device: sg.Device) -> None:
    np.testing.assert_allclose(sg.logspace(-1, 2, 7, device=device).numpy(), np.logspace(-1, 2, 7), rtol=2e-6)
    assert sg.logspace(0, 4, 5, base=2, device=device).tolist() == [1, 2, 4, 8, 16]
    assert sg.logspace(2, 0, 4, dtype=sg.int64, device=device).tolist() == [100, 21, 4, 1]
    assert sg.eye(2, device=device).tolist() == [[1, 0], [0, 1]]
    assert sg.eye(2, 3, dtype=sg.bool, device=device).tolist() == [[True, False, False], [False, True, False]]
    assert sg.eye(0).shape == (0, 0)


@pytest.mark.parametrize("make", [sg.as_tensor, sg.asarray])
def test_arrays_share_their_memory(make: Any) -> None:
    array = np.arange(6.0)
    x = make(array[::2])
    array[2] = 9
    assert x.dtype == sg.float64 and x.tolist() == [0, 9, 4]
    assert make(array, dtype=sg.float32).dtype == sg.float32
    for copied in (array[::-1], array.astype(">f8"), np.broadcast_to(np.float32(1), (2,))):
        np.testing.assert_array_equal(make(copied).numpy(), copied)
    assert make([1, 2]).dtype == sg.int64 and make(2.5).dtype == sg.float32 and make(np.float64(1)).dtype == sg.float64


def test_as_tensor_of_tensors(device: sg.Device) -> None:
    x = sg.ones(2, device=device)
    assert sg.as_tensor(x) is x and sg.as_tensor(x, dtype=sg.float32, device=device) is x
    assert sg.as_tensor(x, dtype=sg.int32).dtype == sg.int32 and sg.as_tensor(x, device="cpu").device == "cpu"
    y = sg.asarray(x)
    y += 1
    assert x.tolist() == [2, 2]
    z = sg.asarray(x, copy=True)
    z += 1
    assert x.tolist() == [2, 2] and z.device == device
    assert sg.asarray(x, requires_grad=True).requires_grad and not x.requires_grad


def test_asarray_copies_only_when_it_may() -> None:
    array = np.ones(2)
    x = sg.asarray(array, copy=True)
    array[:] = 5
    assert x.tolist() == [1, 1] and sg.asarray(array, copy=False).tolist() == [5, 5]
    for data, arguments in [([1, 2], {}), (array, {"dtype": sg.float32}), (sg.ones(2), {"dtype": sg.int64})]:
        with pytest.raises(ValueError, match="copy; use copy=None"):
            sg.asarray(data, copy=False, **arguments)


f16, f32, f64, i32, i64 = np.float16, np.float32, np.float64, np.int32, np.int64


@pytest.mark.parametrize(
    ("data", "dtype"),
    [
        ([True, 3.5], "float32"),
        ([3.5, True], "float32"),
        ([1, 2.5], "float32"),
        ([[1, 2], [3.0, True]], "float32"),
        ([f32(1), 2.5], "float32"),
        ([f32(1), 2], "float32"),
        ([i64(1), 2.5], "float32"),
        ([f16(1), 1], "float16"),
        ([f16(1), 1.5], "float32"),
        ([f64(1), 2.5], "float64"),
        ([2.5, f64(1)], "float64"),
        ([f32(1), f64(2)], "float64"),
        ([np.bool_(True), 1.5], "float32"),
        ([np.array(1.5), 2.5], "float64"),
        ([i32(1), 2], "int64"),
        ([i32(1)], "int32"),
        ([True, 2], "int64"),
        ([], "float32"),
        ([[], []], "float32"),
    ],
)
@pytest.mark.parametrize("make", [sg.tensor, sg.as_tensor, sg.asarray])
def test_a_list_has_the_type_that_its_numbers_share(make: Any, data: list[Any], dtype: str) -> None:
    assert make(data).dtype.name == dtype


def test_python_floats_have_the_default_type() -> None:
    before = sg.get_default_dtype()
    sg.set_default_dtype(sg.float64)
    try:
        assert sg.tensor([True, 3.5]).dtype == sg.float64 and sg.tensor([f32(1), 2.5]).dtype == sg.float64
    finally:
        sg.set_default_dtype(before)


def test_a_list_with_tensors_has_the_type_that_all_share() -> None:
    assert sg.tensor([sg.tensor(1), 2.5]).dtype == sg.float32
    assert sg.tensor([sg.tensor(1.0, dtype=sg.float64), 2.5]).dtype == sg.float64


def test_an_integer_beyond_int64_in_a_list_is_an_error() -> None:
    with pytest.raises(OverflowError, match="does not fit into int64"):
        sg.tensor([2**63, -1])
    assert sg.tensor([float(2**63), -1]).tolist() == [2.0**63, -1.0]
