"""NaN, infinities, signed zeros, huge and tiny numbers, integers at their limits: as in docs/numerics.md."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import spirograd as sg
from reference.pointwise import erf, erfc, sigmoid
from reference.table import ulps

INF, NAN = float("inf"), float("nan")
SPECIAL = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    INF,
    -INF,
    NAN,
    0.5,
    -0.5,
    2.0,
    3.0,
    -3.0,
    1e30,
    -1e30,
    1e-30,
    3.4e38,
    88.8,
    -104.5,
    750,
]

UNARY: list[tuple[str, Callable[..., np.ndarray]]] = [  # type: ignore[type-arg]
    ("neg", np.negative),
    ("abs", np.abs),
    ("square", np.square),
    ("sqrt", np.sqrt),
    ("exp", np.exp),
    ("log", np.log),
    ("tanh", np.tanh),
    ("sigmoid", lambda x: np.where(np.isnan(x), x, sigmoid(np.where(np.isnan(x), 0, x)))),
    ("relu", lambda x: np.where(np.isnan(x), x, np.maximum(x, 0))),
    ("sin", np.sin),
    ("cos", np.cos),
    ("exp2", np.exp2),
    ("expm1", np.expm1),
    ("log1p", np.log1p),
    ("log2", np.log2),
    ("log10", np.log10),
    ("rsqrt", lambda x: 1 / np.sqrt(x)),
    ("reciprocal", lambda x: 1 / x),
    ("tan", np.tan),
    ("asin", np.arcsin),
    ("acos", np.arccos),
    ("atan", np.arctan),
    ("sinh", np.sinh),
    ("cosh", np.cosh),
    ("asinh", np.arcsinh),
    ("acosh", np.arccosh),
    ("atanh", np.arctanh),
    ("erf", erf),
    ("erfc", erfc),
    ("floor", np.floor),
    ("ceil", np.ceil),
    ("round", np.round),
    ("trunc", np.trunc),
    ("sign", np.sign),
]
BINARY: list[tuple[str, Callable[..., np.ndarray]]] = [  # type: ignore[type-arg]
    ("add", np.add),
    ("sub", np.subtract),
    ("mul", np.multiply),
    ("div", np.divide),
    ("pow", np.power),
    ("maximum", np.maximum),
    ("minimum", np.minimum),
    ("atan2", np.arctan2),
    ("hypot", np.hypot),
    ("logaddexp", np.logaddexp),
    ("fmod", np.fmod),
]
COMPARE = [("lt", np.less), ("le", np.less_equal), ("gt", np.greater), ("ge", np.greater_equal), ("eq", np.equal),
           ("ne", np.not_equal)]  # fmt: skip


def close(got: np.ndarray, want: np.ndarray, name: str, inputs: list[np.ndarray]) -> None:  # type: ignore[type-arg]
    """Within 4 units in the last place, denormals as zero; infinities and NaN in the same places."""
    with np.errstate(all="ignore"):
        distance = ulps(got, want.astype(np.float64))
        rounded = want.astype(got.dtype)
    bad = ~((distance <= 4) | (np.isnan(got) & np.isnan(rounded)) | (got == rounded))
    shown = [(*(float(x[i]) for x in inputs), float(got[i]), float(rounded[i])) for i in np.flatnonzero(bad)]
    assert not shown, f"{name}: (inputs, result, NumPy) {shown}"


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("name", "oracle"), UNARY, ids=[u[0] for u in UNARY])
def test_unary(name: str, oracle: Callable[..., np.ndarray], dtype: str, device: sg.Device) -> None:  # type: ignore[type-arg]
    x = np.array(SPECIAL, dtype)
    with np.errstate(all="ignore"):
        want = oracle(x.astype(np.longdouble))
    close(getattr(sg, name)(sg.tensor(x, device=device)).numpy(), want, name, [x])


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("name", "oracle"), BINARY, ids=[b[0] for b in BINARY])
def test_binary(name: str, oracle: Callable[..., np.ndarray], dtype: str, device: sg.Device) -> None:  # type: ignore[type-arg]
    grid = np.array(SPECIAL, dtype)
    a, b = (g.ravel() for g in np.meshgrid(grid, grid))
    with np.errstate(all="ignore"):
        want = oracle(a.astype(np.longdouble), b.astype(np.longdouble))
    got = getattr(sg, name)(sg.tensor(a, device=device), sg.tensor(b, device=device)).numpy()
    close(got, want, name, [a, b])


@pytest.mark.parametrize(("name", "oracle"), COMPARE, ids=[c[0] for c in COMPARE])
def test_comparisons_with_nan(name: str, oracle: Callable[..., np.ndarray], device: sg.Device) -> None:  # type: ignore[type-arg]
    a, b = (g.ravel() for g in np.meshgrid(np.array(SPECIAL, "float32"), np.array(SPECIAL, "float32")))
    got = getattr(sg, name)(sg.tensor(a, device=device), sg.tensor(b, device=device)).numpy()
    np.testing.assert_array_equal(got, oracle(a, b))


def test_signs_of_zeros(device: sg.Device) -> None:
    x = sg.tensor([0.0, -0.0], device=device)
    assert np.signbit((-x).numpy()).tolist() == [True, False]
    assert np.signbit(sg.tanh(x).numpy()).tolist() == [False, True]
    assert np.signbit(sg.sqrt(x).numpy()).tolist() == [False, True]
    odd = "sin tan asin atan sinh asinh atanh expm1 log1p erf floor ceil round trunc"
    for name in odd.split():
        assert np.signbit(getattr(sg, name)(x).numpy()).tolist() == [False, True], name
    assert np.signbit(sg.abs(x).numpy()).tolist() == [False, False]
    assert (1 / x).tolist() == [INF, -INF]


def test_nothing_is_simplified_away(device: sg.Device) -> None:
    x = sg.tensor([INF, NAN, 1.0, -0.0], device=device)
    np.testing.assert_array_equal((x - x).numpy(), np.array([NAN, NAN, 0, 0], "float32"))
    np.testing.assert_array_equal((x * 0).numpy(), np.array([NAN, NAN, 0, 0], "float32"))
    np.testing.assert_array_equal((x == x).numpy(), [True, False, True, True])
    np.testing.assert_array_equal((x / x).numpy(), np.array([NAN, NAN, 1, NAN], "float32"))
    assert ((x + 1e30) - 1e30).tolist()[2] == 0.0


def test_powers(device: sg.Device) -> None:
    x = sg.tensor([-2.0, -2.0, 0.0, 0.0, NAN, 1.0, -8.0, -INF], device=device)
    y = sg.tensor([3.0, 0.5, 0.0, -1.0, 0.0, NAN, 1 / 3, 3.0], device=device)
    np.testing.assert_array_equal((x**y).numpy(), np.array([-8, NAN, 1, INF, 1, 1, NAN, -INF], "float32"))
    i = sg.tensor([2, -3, 0], device=device)
    assert (i**3).tolist() == [8, -27, 0]
    assert (i**0).tolist() == [1, 1, 1]
    with pytest.raises(ValueError, match="negative power"):
        i**-1


@pytest.mark.parametrize("dtype", ["int32", "int64"])
def test_integers_wrap_around(dtype: str, device: sg.Device) -> None:
    info = np.iinfo(dtype)
    a = np.array([info.max, info.min, info.max, 123456789, -1], dtype)
    b = np.array([1, -1, info.max, 987654321, info.min], dtype)
    x, y = sg.tensor(a, device=device), sg.tensor(b, device=device)
    with np.errstate(all="ignore"):
        for got, want in ((x + y, a + b), (x - y, a - b), (x * y, a * b), (-x, -a), (sg.abs(x), np.abs(a))):
            np.testing.assert_array_equal(got.numpy(), want)


def test_casts_truncate(device: sg.Device) -> None:
    x = sg.tensor([1.9, -1.9, 0.0, -0.5, 1e10, NAN, INF], device=device)
    low = np.iinfo(np.int32).min
    assert x.int().tolist() == [1, -1, 0, 0, low, low, low]
    assert x.long().tolist()[:5] == [1, -1, 0, 0, 10**10]
    assert x.bool().tolist() == [True, True, False, True, True, True, True]
    big = sg.tensor([2**53 + 1, -(2**62)], device=device)
    assert big.double().tolist() == [float(2**53), -float(2**62)]


def test_reductions_carry_nan_and_infinities(device: sg.Device) -> None:
    x = sg.tensor([[1.0, NAN, 3.0], [INF, 1.0, -INF], [-INF, -INF, -INF], [1.0, 2.0, INF]], device=device)
    np.testing.assert_array_equal(x.amax(dim=1).numpy(), np.array([NAN, INF, -INF, INF], "float32"))
    np.testing.assert_array_equal(x.amin(dim=1).numpy(), np.array([NAN, -INF, -INF, 1], "float32"))
    np.testing.assert_array_equal(x.sum(dim=1).numpy(), np.array([NAN, NAN, -INF, INF], "float32"))
    long = np.ones(100_000, "float32")
    long[77_777] = NAN
    assert np.isnan(sg.tensor(long, device=device).amax().item())
    assert np.isnan(sg.tensor(long, device=device).sum().item())


def test_softmax_of_extremes(device: sg.Device) -> None:
    x = sg.tensor([[1000.0, 0.0, -1000.0], [-1e30, -1e30, -1e30], [-INF, 0.0, -INF]], device=device)
    third = np.float32(1) / np.float32(3)
    np.testing.assert_allclose(x.softmax(1).numpy(), [[1, 0, 0], [third] * 3, [0, 1, 0]], rtol=1e-6)
    np.testing.assert_allclose(x.log_softmax(1).numpy()[0], [0, -1000, -2000])
    loss = sg.cross_entropy(x[:1], sg.tensor([2], device=device))
    assert loss.item() == 2000


def test_empty_reductions(device: sg.Device) -> None:
    x = sg.zeros(0, 3, device=device)
    assert x.sum().item() == 0
    assert x.sum(dim=0).tolist() == [0, 0, 0]
    assert np.isnan(x.mean().item())
    with pytest.raises(ValueError, match="no elements"):
        x.amax()
    with pytest.raises(ValueError, match="no elements"):
        x.amin(dim=0)
    assert x.amax(dim=1).shape == (0,)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_what_is_finite(dtype: str, device: sg.Device) -> None:
    x = np.array([*SPECIAL, np.finfo(dtype).max, -np.finfo(dtype).max], dtype)
    t = sg.tensor(x, device=device)
    for name in ("isnan", "isinf", "isfinite"):
        np.testing.assert_array_equal(getattr(sg, name)(t).numpy(), getattr(np, name)(x), name)
    np.testing.assert_array_equal(t.nan_to_num().numpy(), np.nan_to_num(x))
    np.testing.assert_array_equal(t.nan_to_num(1.0, 2.0, 3.0).numpy(), np.nan_to_num(x, False, 1.0, 2.0, 3.0))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_quotients_rounded_down(dtype: str, device: sg.Device) -> None:
    values = np.array([0.0, -0.0, 1.0, -1.0, 0.5, -3.0, 7.0, INF, -INF, NAN], dtype)
    a, b = (g.ravel() for g in np.meshgrid(values, values))
    x, y = sg.tensor(a, device=device), sg.tensor(b, device=device)
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal((x // y).numpy(), np.floor_divide(a, b))
        np.testing.assert_array_equal((x % y).numpy(), np.remainder(a, b))


CHOICES: dict[str, Callable[[sg.Tensor], sg.Tensor]] = {
    "max": lambda x: x.max(),
    "min": lambda x: x.min(),
    "max, dim": lambda x: x.max(0)[0],
    "min, dim": lambda x: x.min(0)[0],
    "amax": lambda x: x.amax(0),
    "amin": lambda x: x.amin(0),
    "maximum": lambda x: sg.maximum(x, sg.zeros_like(x))[2],
    "minimum": lambda x: sg.minimum(sg.zeros_like(x), x)[2],
    "clamp": lambda x: x.clamp(-1, 1)[2],
    "sign": lambda x: x.sign()[2],
    "relu": lambda x: x.relu()[2],
    "argmax": lambda x: x[x.argmax()],
    "argmin": lambda x: x[x.argmin()],
    "topk": lambda x: x.topk(1)[0],
    "sort": lambda x: x.sort()[0][-1],
    "median": lambda x: x.median(),
    "median, dim": lambda x: x.median(0)[0],
    "cummax": lambda x: x.cummax(0)[0][-1],
    "cummin": lambda x: x.cummin(0)[0][-1],
    "quantile": lambda x: x.quantile(0.5),
    "sum": lambda x: x.sum(),
    "prod": lambda x: x.prod(),
    "max_pool1d": lambda x: sg.nn.functional.max_pool1d(x[None], 3)[0, 0],
}


@pytest.mark.parametrize("name", CHOICES)
def test_nan_is_carried_by_what_chooses(name: str, device: sg.Device) -> None:
    x = sg.tensor([1.0, -2.0, np.nan, 3.0, 0.5], device=device)
    assert np.isnan(CHOICES[name](x).numpy()).all()


def test_sums_into_places_end_with_nan(device: sg.Device) -> None:
    places = sg.tensor([0, 0, 1, 1, 1] * 100, device=device)
    values = sg.tensor([1.0, np.nan, np.inf, -np.inf, 2.0] * 100, device=device)
    zeros = sg.zeros(3, device=device)
    for out in (
        zeros.scatter_add(0, places, values),
        zeros.index_add(0, places, values),
        zeros.index_put((places,), values, accumulate=True),
        *(zeros.scatter_reduce(0, places, values, how) for how in ("sum", "prod", "mean", "amax", "amin")),
    ):
        got = out.numpy()
        assert np.isnan(got[0]) and not np.isfinite(got[1]) and got[2] == 0


def test_denormals_are_themselves_or_zero(device: sg.Device) -> None:
    tiny = np.float32([1e-45, -1e-40, 1.1e-38, 2e-38])
    x = sg.tensor(tiny, device=device)
    exact = [(x * 1, tiny), (x + 0, tiny), (x.abs(), abs(tiny)), (x * 0.5, tiny / 2), (-x, -tiny)]
    for got, want in exact:
        assert all(g == w or g == 0 for g, w in zip(got.numpy(), want, strict=True))
    for f in (sg.exp, sg.log, sg.sqrt, sg.tanh, sg.sigmoid, sg.sin, sg.erf):
        assert not np.isnan(f(x.abs()).numpy()).any()
