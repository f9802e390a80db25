"""set_float32_matmul_precision: products of float32 matrices as scaled halves, on devices that have matrix units."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import numpy.typing as npt
import pytest

import spirograd as sg

Array = npt.NDArray[np.float64]
# Tiles, and one less and more along each side; sides that are too short for units; nothing to add, and one product.
SIDES = [(16, 16, 16), (64, 64, 32), (63, 65, 31), (65, 63, 33), (129, 20, 100), (15, 40, 40), (20, 20, 1), (17, 18, 0)]


@pytest.fixture(autouse=True)
def highest_afterwards() -> Iterator[None]:
    yield
    sg.set_float32_matmul_precision("highest")


def has_units(device: sg.Device) -> bool:
    return device.kind == "gpu" and "matrix units" in device.features["float16 products"]


def factors(kind: str, m: int, n: int, k: int) -> tuple[Array, Array]:
    rng = np.random.default_rng(m + n + k)
    a, b = rng.normal(size=(m, k)), rng.normal(size=(k, n))
    if kind == "rows":
        a *= 10.0 ** rng.uniform(-20, 20, size=(m, 1))
        b *= 10.0 ** rng.uniform(-15, 15, size=(1, n))
    if kind == "cancelling":
        a[:, k // 2 : k // 2 * 2] = -a[:, : k // 2] * (1 + 1e-4 * rng.normal(size=(m, k // 2)))
        b[k // 2 : k // 2 * 2] = b[: k // 2]
    return a.astype(np.float32).astype(np.float64), b.astype(np.float32).astype(np.float64)


def error(y: sg.Tensor, a: Array, b: Array) -> float:
    """The largest, in parts of the sum of the magnitudes."""
    room = np.abs(a) @ np.abs(b)
    return float((np.abs(y.detach().cpu().double().numpy() - a @ b) / np.where(room > 0, room, 1)).max(initial=0))


def on(device: sg.Device, x: Array) -> sg.Tensor:
    return sg.tensor(x.astype(np.float32), device=device)


@pytest.mark.parametrize("kind", ["random", "rows", "cancelling"])
@pytest.mark.parametrize("sides", SIDES, ids=str)
def test_high_is_about_as_exact_as_strict(sides: tuple[int, int, int], kind: str, device: sg.Device) -> None:
    a, b = factors(kind, *sides)
    x, y = on(device, a), on(device, b)
    strict = error(x @ y, a, b)
    sg.set_float32_matmul_precision("high")
    for p, q in ((x, y), (x.mT.clone().mT, y.mT.clone().mT)):
        got = p @ q
        assert error(got, a, b) <= 4 * max(strict, 2.0**-24)
        np.testing.assert_array_equal(got.numpy(), (p @ q).numpy())
    sg.set_float32_matmul_precision("medium")
    assert error(x @ y, a, b) <= 2.0**-10


def test_a_device_without_units_stays_strict_and_others_do_not(device: sg.Device) -> None:
    a, b = (on(device, x) for x in factors("random", 40, 40, 40))
    strict = (a @ b).numpy()
    sg.set_float32_matmul_precision("medium")
    assert np.array_equal((a @ b).numpy(), strict) != has_units(device)
    sg.set_float32_matmul_precision("highest")
    np.testing.assert_array_equal((a @ b).numpy(), strict)


@pytest.mark.parametrize("precision", ["high", "medium"])
def test_infinities_and_nan_are_those_of_strict_products(precision: str, device: sg.Device) -> None:
    a, b = factors("random", 33, 34, 35)
    a[3, 4], a[5, 6], b[7, 8], b[9, 8], a[11] = np.inf, np.nan, -np.inf, np.inf, 0
    b[4, 5] = 1e-37  # less than its column's halves hold
    with np.errstate(invalid="ignore"):
        want = a @ b
        sg.set_float32_matmul_precision(precision)
        got = (on(device, a) @ on(device, b)).numpy()
        np.testing.assert_array_equal(np.isnan(got), np.isnan(want))
        np.testing.assert_array_equal(np.where(np.isinf(got), got, 0), np.where(np.isinf(want), want, 0))
    finite = np.isfinite(want)
    assert np.abs(got[finite] - want[finite]).max() < 0.1


@pytest.mark.parametrize("large", [1e30, 8e37])
def test_results_within_the_range_of_float32(large: float, device: sg.Device) -> None:
    """Whatever the powers of rows and columns are."""
    a, b = np.full((16, 16), large), np.full((16, 16), 1 / large)
    sg.set_float32_matmul_precision("high")
    got = (on(device, a) @ on(device, b)).numpy()
    np.testing.assert_allclose(got, 16, rtol=1e-5)
    assert np.isinf((on(device, a) @ on(device, a)).numpy()).all()


def test_batches_are_broadcast(device: sg.Device) -> None:
    rng = np.random.default_rng(1)
    sg.set_float32_matmul_precision("high")
    for first, second in [((3, 33, 17), (17, 40)), ((2, 1, 20, 16), (3, 16, 18))]:
        a, b = rng.normal(size=first).astype(np.float32), rng.normal(size=second).astype(np.float32)
        want = a.astype(np.float64) @ b.astype(np.float64)
        y = sg.tensor(a, device=device) @ sg.tensor(b, device=device)
        np.testing.assert_allclose(y.numpy(), want, rtol=0, atol=2e-5)


def test_operands_may_lie_anywhere(device: sg.Device) -> None:
    rng = np.random.default_rng(1)
    sg.set_float32_matmul_precision("high")
    wide = sg.tensor(rng.normal(size=(41, 2, 43)).astype(np.float32), device=device)
    a, b = wide[1:, 1, 2::2], wide[:21, 0, 3:23].flip(0)[1:]  # odd beginnings, a step of 2, backwards
    want = a.cpu().double().numpy()[:, :20] @ b.cpu().double().numpy()
    np.testing.assert_allclose((a[:, :20] @ b).numpy(), want, rtol=0, atol=2e-5)


@pytest.mark.parametrize("precision", ["high", "medium"])
def test_gradients_follow_and_epilogues_are_fused(precision: str, device: sg.Device) -> None:
    a, b = factors("random", 34, 50, 66)
    sg.set_float32_matmul_precision(precision)
    x, y = on(device, a).requires_grad_(), on(device, b).requires_grad_()
    g = np.random.default_rng(3).normal(size=(34, 50)).astype(np.float32).astype(np.float64)
    z = sg.relu(x @ y + 1)
    z.backward(on(device, g))
    masked = g * (z.detach().cpu().numpy() > 0)
    bound = 2.0**-21 if precision == "high" else 2.0**-9
    assert x.grad is not None and y.grad is not None
    assert error(x.grad, masked, b.T) < bound
    assert error(y.grad, a.T, masked) < bound


@pytest.mark.gpu
def test_operands_are_split_in_a_launch_each(gpu: sg.Device) -> None:
    a, b = (on(gpu, x) for x in factors("random", 64, 64, 64))
    sg.synchronize()
    for precision in ("highest", "high", "medium"):
        sg.set_float32_matmul_precision(precision)
        before = sg.stats()["dispatches"]
        y = sg.relu(a @ b + 1)
        sg.synchronize()
        assert sg.stats()["dispatches"] - before == (3 if precision != "highest" and has_units(gpu) else 1)
        del y


EACH_PATH = """
import numpy as np, spirograd as sg
rng = np.random.default_rng(5)
a, b = (rng.normal(size=s).astype(np.float32) for s in [(65, 33), (33, 63)])
x, y = (sg.tensor(v, device="gpu") for v in (a, b))
room = np.abs(a).astype("f8") @ np.abs(b).astype("f8")
for precision in ("highest", "high", "medium"):
    sg.set_float32_matmul_precision(precision)
    product = x @ y
    path = [p for p in ("cm1", "cm2") if f"product_{p}.glsl" in product.plan()[-1].source]
    print(precision, (np.abs(product.numpy() - a.astype("f8") @ b.astype("f8")) / room).max(), *path)
print("units", *[p for p in ("cm1", "cm2") if p in sg.Device.gpu().features["float16 products"]])
"""


@pytest.mark.gpu
@pytest.mark.parametrize("path", ["none", "cm1", "cm2"])
def test_each_path_to_the_matrix_units(path: str, run_python: Callable[..., str]) -> None:
    *lines, (_, *units) = (line.split() for line in run_python(EACH_PATH, SPIROGRAD_MATRIX=path).splitlines())
    assert units in ([], [path]) or path == "cm2"
    for precision, worst, *taken in lines:
        assert float(worst) < {"highest": 2.0**-22, "high": 2.0**-21, "medium": 2.0**-10}[precision]
        assert taken == ([] if precision == "highest" else units), precision


@pytest.mark.gpu
def test_halves_are_written_only_where_a_kernel_reads_them(gpu: sg.Device) -> None:
    """The lane limits fakes shared memory that holds no tile of two halves an operand."""
    a, b = (on(gpu, x) for x in factors("random", 64, 64, 64))
    for precision in ("high", "medium"):
        sg.set_float32_matmul_precision(precision)
        kernels = (a @ b).plan()
        assert len(kernels) == (3 if "#define SCALED" in kernels[-1].source else 1)


def test_long_sums_are_cut(device: sg.Device) -> None:
    a, b = factors("random", 32, 48, 4096)
    sg.set_float32_matmul_precision("high")
    assert error(on(device, a) @ on(device, b), a, b) < 2.0**-22


def test_words() -> None:
    assert sg.get_float32_matmul_precision() == "highest"
    sg.set_float32_matmul_precision("high")
    assert sg.get_float32_matmul_precision() == "high"
    with pytest.raises(ValueError, match="set_float32_matmul_precision: 'low' is unknown; use highest, high or medium"):
        sg.set_float32_matmul_precision("low")
    assert sg.get_float32_matmul_precision() == "high"
