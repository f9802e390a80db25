"""Products of float16 and bfloat16: float32 sums of the operands as they are, one rounding; each path to the units."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pytest

import spirograd as sg

HALVES = ("float16", "bfloat16")
UNIT = {"float32": 2.0**-24, "float16": 2.0**-11, "bfloat16": 2.0**-8}  # half the distance of two neighbours at 1
# m, n, k: one fragment, tiles and a bit, sides of 1 and primes, nothing to add.
SIDES = [(16, 16, 16), (64, 64, 64), (65, 63, 33), (17, 130, 66), (1, 37, 20), (33, 1, 16), (20, 20, 1), (40, 16, 0)]
# How an operand lies in memory.
LAYOUTS = {
    "rows": lambda x: x.clone(),
    "columns": lambda x: x.mT.clone().mT,
    "apart": lambda x: sg.cat([x, x], 1)[:, : x.shape[1]],
    "odd": lambda x: sg.cat([x.flatten()[:1], x.flatten()])[1:].reshape(x.shape) if x.numel() else x,
    "steps": lambda x: sg.stack([x, x], 2)[:, :, 1],
    "backwards": lambda x: x.flip(0).clone().flip(0),
}


def made(shape: tuple[int, ...], dtype: str, device: sg.Device, seed: int) -> sg.Tensor:
    x = np.random.default_rng(seed).normal(size=shape).astype(np.float32)
    return sg.tensor(x, device=device).to(getattr(sg, dtype))


def exact(x: sg.Tensor) -> npt.NDArray[np.float64]:
    return np.asarray(x.detach().cpu().double().numpy())


def assert_product(y: sg.Tensor, a: sg.Tensor, b: sg.Tensor, unit: float) -> None:
    """Within a rounding of the result, and one of float32 an addition."""
    want = exact(a) @ exact(b)
    room = unit * np.abs(want) + (a.shape[-1] + 2) * 2.0**-23 * (np.abs(exact(a)) @ np.abs(exact(b))) + 2.0**-24
    error = np.abs(exact(y) - want)
    assert y.shape == want.shape
    assert (error <= room).all(), f"{error.max()} at {np.unravel_index(np.argmax(error - room), want.shape)}"


@pytest.mark.parametrize("dtype", HALVES)
@pytest.mark.parametrize("sides", SIDES, ids=str)
def test_products_of_halves_are_rounded_once(sides: tuple[int, int, int], dtype: str, device: sg.Device) -> None:
    m, n, k = sides
    a, b = made((m, k), dtype, device, 1), made((k, n), dtype, device, 2)
    for x in (LAYOUTS["rows"](a), LAYOUTS["columns"](a)):
        for y in (LAYOUTS["rows"](b), LAYOUTS["columns"](b)):
            assert_product(x @ y, a, b, UNIT[dtype])


# One less, as many and one more than tiles have along each side: the smaller tiles; a batch that gets the larger.
EDGES = {
    1: list(itertools.product((63, 64, 65), (63, 64, 65), (31, 32, 33))),
    67: [(129, 127, 31)],
}


@pytest.mark.parametrize("dtype", ["float32", *HALVES])
@pytest.mark.parametrize("batch", EDGES)
def test_sides_at_the_edges_of_tiles(batch: int, dtype: str, device: sg.Device) -> None:
    for m, n, k in EDGES[batch]:
        a, b = made((batch, m, k), dtype, device, 1), made((k, n), dtype, device, 2).expand(batch, k, n)
        assert_product(a @ b, a, b, UNIT[dtype])


@pytest.mark.parametrize("dtype", ["float32", *HALVES])
@pytest.mark.parametrize("k", [0, 1])
def test_batches_with_nothing_or_one_product_to_add(k: int, dtype: str, device: sg.Device) -> None:
    a, b = made((3, 65, k), dtype, device, 1), made((1, k, 33), dtype, device, 2)
    assert_product(a @ b, a, b, UNIT[dtype])


@pytest.mark.parametrize("dtype", HALVES)
@pytest.mark.parametrize("layout", ["apart", "odd", "steps", "backwards"])
def test_operands_may_lie_anywhere(layout: str, dtype: str, device: sg.Device) -> None:
    a, b = made((66, 40), dtype, device, 1), made((40, 70), dtype, device, 2)
    place = LAYOUTS[layout]
    assert_product(place(a) @ b, a, b, UNIT[dtype])
    assert_product(a @ place(b), a, b, UNIT[dtype])
    assert_product(place(a.mT.clone()).mT @ place(b.mT.clone()).mT, a, b, UNIT[dtype])


@pytest.mark.parametrize("dtype", HALVES)
def test_batches_are_broadcast(dtype: str, device: sg.Device) -> None:
    for first, second in [
        ((3, 33, 17), (17, 40)),
        ((2, 1, 20, 16), (3, 16, 18)),
        ((1, 24, 16), (4, 16, 24)),
        ((3, 0, 4), (4, 5)),
    ]:
        a, b = made(first, dtype, device, 1), made(second, dtype, device, 2)
        assert_product(a @ b, a, b, UNIT[dtype])
    assert_product(
        sg.bmm(a := made((3, 17, 18), dtype, device, 1), b := made((3, 18, 19), dtype, device, 2)), a, b, UNIT[dtype]
    )


@pytest.mark.parametrize("dtype", HALVES)
def test_what_follows_a_product_is_fused_and_sees_the_rounded_result(dtype: str, device: sg.Device) -> None:
    half = getattr(sg, dtype)
    a, b, bias = made((50, 40), dtype, device, 1), made((40, 36), dtype, device, 2), made((36,), dtype, device, 3)
    product = (a @ b).clone()
    sg.synchronize()
    of_parts = [sg.relu(product + bias), product.float() * 2, product * 3 - 1]
    sg.synchronize()
    for i, f in enumerate([lambda p: sg.relu(p + bias), lambda p: p.float() * 2, lambda p: p * 3 - 1]):
        np.testing.assert_array_equal(exact(f(a @ b)), exact(of_parts[i]))
    p = a @ b
    both = [p + bias, sg.sigmoid(p)]  # two results of one product
    np.testing.assert_array_equal(exact(both[0]), exact(product + bias))
    np.testing.assert_array_equal(exact(both[1]), exact(sg.sigmoid(product)))
    into = sg.zeros(50, 72, dtype=half, device=device)
    into[:, ::2] = a @ b
    np.testing.assert_array_equal(exact(into[:, ::2]), exact(product))
    assert not exact(into[:, 1::2]).any()
    rows = sg.arange(36, device=device).flip(0)
    np.testing.assert_array_equal(exact((a @ b)[:, rows]), exact(product[:, rows]))


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", HALVES)
def test_a_product_with_bias_and_activation_is_one_kernel(dtype: str, gpu: sg.Device) -> None:
    a, b, bias = made((64, 48), dtype, gpu, 1), made((48, 32), dtype, gpu, 2), made((32,), dtype, gpu, 3)
    sg.synchronize()
    before = sg.stats()["dispatches"]
    y = sg.relu(a @ b + bias)
    sg.synchronize()
    assert sg.stats()["dispatches"] - before == 1
    del y


@pytest.mark.parametrize("dtype", HALVES)
def test_gradients_of_products_of_halves(dtype: str, device: sg.Device) -> None:
    a, b, g = (made(shape, dtype, device, seed) for seed, shape in enumerate([(34, 50), (50, 66), (34, 66)]))
    a.requires_grad_()
    b.requires_grad_()
    (a @ b).backward(g)
    assert a.grad is not None and b.grad is not None
    assert a.grad.dtype == b.grad.dtype == a.dtype
    assert_product(a.grad, g, b.mT, UNIT[dtype])
    assert_product(b.grad, a.mT, g, UNIT[dtype])


@pytest.mark.parametrize("dtype", HALVES)
def test_sums_beyond_the_range_of_the_operands(dtype: str, device: sg.Device) -> None:
    k, value = 48, 240.0
    a = sg.full((17, k), value, dtype=getattr(sg, dtype), device=device)
    b = sg.full((k, 18), value, dtype=getattr(sg, dtype), device=device)
    want = np.inf if dtype == "float16" else exact(sg.tensor(k * value * value).to(sg.bfloat16))
    assert (exact(a @ b) == want).all()
    signs = sg.tensor([1.0, -1.0] * (k // 2), device=device).to(a.dtype)
    assert (exact((a * signs) @ b) == 0).all()  # sums in between may pass 65,504
    a[3, 5], a[4, 6] = float("nan"), float("inf")
    y = exact(a @ sg.ones(k, 18, dtype=a.dtype, device=device))
    assert np.isnan(y[3]).all() and np.isinf(y[4]).all() and (np.delete(y, (3, 4), 0) == k * value).all()


EACH_PATH = """
import numpy as np, spirograd as sg
rng = np.random.default_rng(5)
for dtype in ("float16", "bfloat16"):
    worst = 0.0
    for m, n, k in [(65, 63, 33), (64, 128, 32), (200, 17, 100)]:
        a, b = (rng.normal(size=s).astype(np.float32) for s in [(m, k), (k, n)])
        for turned in (0, 1):
            x = sg.tensor(a.T.copy() if turned else a, device="gpu").to(getattr(sg, dtype))
            y = sg.tensor(b.T.copy() if turned else b, device="gpu").to(getattr(sg, dtype))
            x, y = (x.T, y.T) if turned else (x, y)
            want = x.cpu().double().numpy() @ y.cpu().double().numpy()
            error = np.abs((sg.relu(x @ y) + 1).cpu().double().numpy() - np.maximum(want, 0) - 1)
            worst = max(worst, float((error / (np.maximum(want, 0) + 1 + k**0.5)).max()))
    print(dtype, worst, sg.Device.gpu().features[dtype + " products"].split()[-1])
"""
AT_MOST = {"none": ["arithmetic"], "cm1": ["arithmetic", "cm1"], "cm2": ["arithmetic", "cm1", "cm2"]}


@pytest.mark.gpu
@pytest.mark.parametrize("path", ["none", "cm1", "cm2"])
def test_each_path_to_the_matrix_units_multiplies(path: str, run_python: Callable[..., str]) -> None:
    """A device takes the best path that it has, at most this one."""
    for line in run_python(EACH_PATH, SPIROGRAD_MATRIX=path).splitlines():
        dtype, worst, taken = line.split()
        assert float(worst) < 2 * UNIT[dtype], line
        assert taken in AT_MOST[path], line


@pytest.mark.gpu
def test_an_unknown_path_is_an_error(run_python: Callable[..., str]) -> None:
    code = """
import spirograd as sg
try:
    sg.ones(2, device="gpu").numpy()
except sg.DeviceUnavailableError as error:
    print(error)
"""
    out = run_python(code, SPIROGRAD_MATRIX="cm3")
    assert out == "gpu:0: SPIROGRAD_MATRIX: 'cm3' is not a path; use cm2, cm1 or none\n"


@pytest.mark.gpu
def test_a_device_says_which_path_it_takes(run_python: Callable[..., str]) -> None:
    code = "import os\nos.dup2(1, 2)\nimport spirograd as sg\nsg.ones(2, device='gpu').numpy()"
    out = run_python(code, SPIROGRAD_DEBUG="1", SPIROGRAD_MATRIX="none")
    assert "products of float16 by float32 arithmetic, of bfloat16 by float32 arithmetic" in out


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", ["float32", *HALVES])
def test_a_large_product_leaves_what_its_threads_would_compute_slowly(dtype: str, gpu: sg.Device) -> None:
    def names(f: Callable[[sg.Tensor, sg.Tensor], sg.Tensor], m: int) -> list[str]:
        a, b = made((m, 16), dtype, gpu, 1), made((16, 1030), dtype, gpu, 2)
        other = made((m, 1030), dtype, gpu, 3)
        sg.synchronize()
        y = f(a @ b, other)
        plan = y.plan()
        np.testing.assert_allclose(exact(y), exact(f((a @ b).clone(), other)), rtol=4 * UNIT[dtype], atol=1e-6)
        return ["one at a time" if "product_cm2.glsl" in step.source else step.name for step in plan]

    for m in (40, 1030):
        alone = names(lambda p, _: p, m)
        slow = alone == ["one at a time"] and m > 1024
        assert len(names(lambda p, _: sg.relu(p), m)) == 1
        assert len(names(lambda p, _: sg.tanh(p), m)) == 1 + slow
        assert len(names(lambda p, other: p + other, m)) == 1 + slow
        assert len(names(lambda p, _: sg.exp(p) * sg.erf(p), m)) == 1 + (m > 1024)
