"""Every op against NumPy: devices x types x layouts, fused and unfused."""

from __future__ import annotations

import numpy as np
import pytest

import spirograd as sg
from reference.table import EVERY, FLOATS, NOT_OPS, ROWS, Array, Row, Shape, check

LAYOUTS = ("contiguous", "transposed", "sliced", "offset", "broadcast")
SAMPLES = [(row, dtype) for row in ROWS for dtype in row.dtypes]


def needs(device: sg.Device, dtype: str) -> None:
    if dtype == "float64" and device.kind == "gpu" and dict(device.features).get("shaderFloat64") == "no":
        pytest.skip(f"{device.name} has no float64")


def put(array: Array, layout: str, device: sg.Device) -> tuple[sg.Tensor, Array]:
    """A tensor of these values in memory as the layout says; broadcasting repeats the first row."""
    if layout == "transposed":
        base = sg.tensor(np.array(array.T, order="C"), device=device)
        return (base.permute(*reversed(range(array.ndim))) if array.ndim else base), array
    if layout == "sliced":
        room = np.zeros([2 * n + 3 for n in array.shape], array.dtype)
        key = tuple(slice(1, 2 * n + 1, 2) for n in array.shape)
        room[key] = array
        return sg.tensor(room, device=device)[key] if array.ndim else sg.tensor(array, device=device), array
    if layout == "offset":
        room = np.zeros((array.size + 5,), array.dtype)
        room[3 : 3 + array.size] = array.ravel()
        return sg.tensor(room, device=device)[3 : 3 + array.size].reshape(array.shape), array
    if layout == "broadcast" and array.ndim and array.shape[0] > 0:
        return sg.tensor(array[:1], device=device).expand(*array.shape), np.ascontiguousarray(
            np.broadcast_to(array[:1], array.shape)
        )
    return sg.tensor(array, device=device), array


def run(row: Row, arrays: list[Array], layout: str, device: sg.Device) -> tuple[Array, list[Array]]:
    placed = [put(a, layout, device) for a in arrays]
    return row.op(*(t for t, _ in placed)).numpy(), [a for _, a in placed]


def same_bits(a: Array, b: Array) -> bool:
    """Equal bit for bit; any NaN is like any other."""
    if a.dtype != b.dtype or a.shape != b.shape:
        return False
    if a.dtype.kind != "f":
        return np.array_equal(a, b)
    bits = np.dtype(f"u{a.dtype.itemsize}")
    nan = np.isnan(a)
    return np.array_equal(nan, np.isnan(b)) and np.array_equal(
        np.ascontiguousarray(a).view(bits)[~nan], np.ascontiguousarray(b).view(bits)[~nan]
    )


def test_every_op_has_a_row() -> None:
    core = sg._core
    ops = {*core._methods, *core._functions, *core._tensor_functions}
    rows = {row.name.split(":")[0] for row in ROWS}
    assert ops - rows - set(NOT_OPS) == set(), "ops without a row in tests/reference/table.py"
    assert set(NOT_OPS) <= ops, f"NOT_OPS names what is not there: {set(NOT_OPS) - ops}"


def test_loose_bounds_have_a_reason() -> None:
    for row in ROWS:
        assert row.ulp <= 4 or row.reason, row.name


@pytest.mark.filterwarnings("ignore:Mean of empty slice")
@pytest.mark.parametrize(("row", "dtype"), SAMPLES, ids=lambda v: v if isinstance(v, str) else v.name)
def test_forward(row: Row, dtype: str, device: sg.Device) -> None:
    needs(device, dtype)
    fallbacks = sg.stats()["fallbacks"]
    for shapes in row.shapes:
        arrays = row.inputs(shapes, dtype)
        for layout in LAYOUTS:
            got, used = run(row, arrays, layout, device)
            check(row, used, got, f" {dtype} {list(shapes)} {layout} on {device}")
    assert sg.stats()["fallbacks"] == fallbacks, f"{row.name} ran on the CPU"


@pytest.mark.gpu
@pytest.mark.filterwarnings("ignore:Mean of empty slice")
@pytest.mark.parametrize(("row", "dtype"), SAMPLES, ids=lambda v: v if isinstance(v, str) else v.name)
def test_gpu_agrees_with_cpu(row: Row, dtype: str) -> None:
    device = sg.Device.gpu()
    needs(device, dtype)
    for shapes in row.shapes:
        arrays = row.inputs(shapes, dtype, seed=1)
        on_cpu, _ = run(row, arrays, "contiguous", sg.Device.cpu())
        on_gpu, _ = run(row, arrays, "contiguous", device)
        assert on_cpu.dtype == on_gpu.dtype
        if row.pointwise or on_cpu.dtype.kind != "f":
            assert same_bits(on_gpu, on_cpu), f"{row.name} {dtype} {list(shapes)}: {on_gpu} and {on_cpu} on the CPU"
        else:
            check(row, arrays, on_gpu, f" {dtype} {list(shapes)} on {device}")


FUSED = [(row, dtype) for row, dtype in SAMPLES if row.pointwise and dtype in (*FLOATS, "int32")]


@pytest.mark.parametrize(("row", "dtype"), FUSED, ids=lambda v: v if isinstance(v, str) else v.name)
def test_fused_is_unfused(row: Row, dtype: str, device: sg.Device, monkeypatch: pytest.MonkeyPatch) -> None:
    needs(device, dtype)
    for shapes in row.shapes[:2]:
        results = []
        for fuse in ("1", "0"):
            monkeypatch.setenv("SPIROGRAD_FUSE", fuse)
            tensors = [sg.tensor(a, device=device) for a in row.inputs(shapes, dtype, seed=2)]
            y = row.op(*(t * 1 + 0 for t in tensors))
            z = y if y.dtype == sg.bool else y * 3 - y
            results.append((y.numpy(), z.numpy(), sg.where(z == z, z, 0).numpy()))
        for fused, unfused in zip(*results, strict=True):
            assert same_bits(fused, unfused), f"{row.name} {dtype} {list(shapes)}: fused {fused}, unfused {unfused}"


def test_result_types(device: sg.Device) -> None:
    made = {d: sg.tensor(np.ones(2, d), device=device) for d in EVERY}
    assert (made["int32"] + made["int64"]).dtype == sg.int64
    assert (made["int64"] + made["float32"]).dtype == sg.float32
    assert (made["int32"] / made["int32"]).dtype == sg.float32
    assert (made["int32"] * 2).dtype == sg.int32
    assert (made["int32"] * 2.0).dtype == sg.float32
    assert (made["float32"] * 2.0).dtype == sg.float32
    assert (made["bool"] + 1).dtype == sg.int64
    assert (made["float32"] < 2).dtype == sg.bool
    assert made["bool"].sum().dtype == made["int32"].sum().dtype == sg.int64
    assert made["int64"].mean().dtype == sg.exp(made["int32"]).dtype == sg.float32
    assert (made["float64"] + made["float32"]).dtype == sg.float64


# Sizes at the limits of a dispatch: 65,535 workgroups along one axis.
MANY: list[tuple[str, Shape]] = [("rows", (70_001, 3)), ("columns", (3, 70_001)), ("batches", (70_001, 2, 2))]


@pytest.mark.parametrize(("name", "shape"), MANY, ids=[m[0] for m in MANY])
def test_more_groups_than_one_axis_has(name: str, shape: Shape, device: sg.Device) -> None:
    array = np.random.default_rng(3).uniform(-1, 1, shape).astype(np.float32)
    x = sg.tensor(array, device=device)
    exact = array.astype(np.float64)
    np.testing.assert_allclose(x.sum(dim=-1).numpy(), exact.sum(-1), atol=1e-3 if name == "columns" else 1e-6)
    np.testing.assert_allclose(x.sum(dim=0).numpy(), exact.sum(0), rtol=1e-4, atol=2e-3)
    np.testing.assert_array_equal(x.amax(dim=0).numpy(), array.max(0))
    np.testing.assert_allclose(x.softmax(-1).sum(dim=-1).numpy(), np.ones(shape[:-1]), rtol=1e-5)
    np.testing.assert_array_equal((x.transpose(0, 1).contiguous() * 2).numpy(), array.swapaxes(0, 1) * 2)
    if name == "batches":
        np.testing.assert_allclose((x @ x).numpy(), exact @ exact, atol=1e-6)
    if name == "rows":
        tall = (x @ sg.tensor(np.eye(3, dtype=np.float32), device=device)).numpy()
        np.testing.assert_array_equal(tall, array)


def test_pointwise_beyond_one_axis_of_groups(device: sg.Device) -> None:
    n = 65_536 * 256 + 7
    x = sg.arange(n, dtype=sg.int32, device=device)
    y = (x * 2 + 1).numpy()
    assert y[0] == 1 and y[-1] == 2 * (n - 1) + 1
    assert np.array_equal(y, np.arange(n, dtype=np.int32) * 2 + 1)
