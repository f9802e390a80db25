"""Pointwise ops beyond their rows: other names, forms in place, integers at their limits, gradients at edges, types."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import spirograd as sg
from reference.table import ALIASES, IN_PLACE, INTEGERS, ROWS
from spirograd.nn import functional as F

INF, NAN = float("inf"), float("nan")
ARITY = {row.name: row.arity for row in ROWS}


def same(got: sg.Tensor, want: Any) -> None:
    values = got.detach().numpy()
    np.testing.assert_array_equal(values, np.asarray(want, values.dtype))


@pytest.mark.parametrize("name", sorted(ALIASES))
def test_an_alias_is_the_op(name: str) -> None:
    op = ALIASES[name]
    x = sg.tensor([[0.25, 0.5], [0.75, 1.0]])
    arguments: tuple[Any, ...] = (x * 0.5,) if ARITY.get(op) == 2 else (0.3, 0.6) if op == "clamp" else ()
    for place in (sg, sg.Tensor):
        alias, original = getattr(place, name), getattr(place, op)
        np.testing.assert_array_equal(alias(x, *arguments).numpy(), original(x, *arguments).numpy())


@pytest.mark.parametrize("name", IN_PLACE)
def test_in_place_writes_what_the_op_gives(name: str, device: sg.Device) -> None:
    op = name[:-1]
    whole = name.startswith("bitwise")
    x = sg.tensor([[1, 2], [3, 4]] if whole else [[0.25, 0.5], [0.75, 1.0]], device=device)
    arguments = {"clamp": (0.3, 0.6), "clip": (0.3, 0.6), "lerp": (x * 2, 0.5), "addcmul": (x, x), "addcdiv": (x, x)}
    other = arguments.get(op, (x.T,) if ARITY.get(op) == 2 else ())
    want = getattr(x, op)(*other).numpy()
    view = x[:, :]
    assert getattr(x, name)(*other) is x
    np.testing.assert_array_equal(view.numpy(), want)


def test_operators_in_place(device: sg.Device) -> None:
    x = y = sg.tensor([7, -7, 6], device=device)
    x //= 2
    x <<= 3
    x |= 1
    x ^= 3
    x &= 0x7F
    x >>= 1
    x %= 5
    assert x is y
    same(y, (((((np.array([7, -7, 6]) // 2 << 3) | 1) ^ 3) & 0x7F) >> 1) % 5)


@pytest.mark.parametrize("dtype", INTEGERS)
def test_integer_division_is_defined_everywhere(dtype: str, device: sg.Device) -> None:
    low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
    a, b = (g.ravel() for g in np.meshgrid(*[np.array([low, low + 1, -7, -1, 0, 1, 2, 7, high], dtype)] * 2))
    x, y = sg.tensor(a, device=device), sg.tensor(b, device=device)
    with np.errstate(all="ignore"):
        down, rest, toward = np.floor_divide(a, b), np.remainder(a, b), np.fmod(a, b)
    down = np.where((a == low) & (b == -1), low, down)  # wraps around
    same(x // y, down)
    same(x % y, rest)
    same(sg.fmod(x, y), toward)
    quotient, remainder = divmod(x, y)
    same(quotient, down)
    same(remainder, rest)
    exact = [
        0 if q == 0 else -(-int(p) // int(q)) if (p < 0) != (q < 0) else int(p) // int(q)
        for p, q in zip(a, b, strict=True)
    ]
    same(sg.div(x, y, rounding_mode="trunc"), [low if e > high else e for e in exact])


@pytest.mark.parametrize("dtype", INTEGERS)
def test_shifts_beyond_the_word(dtype: str, device: sg.Device) -> None:
    width = 8 * np.dtype(dtype).itemsize
    x = sg.tensor(np.array([5, -5], dtype), device=device)
    for count in (width, width + 1, 1 << 20, -1, -width):
        same(x << count, [0, 0])
        same(x >> count, [0, -1])
    same(x << (width - 1), [np.iinfo(dtype).min] * 2)
    same(x >> (width - 1), [0, -1])
    same(x << 0, [5, -5])


def test_remainders_are_exact_for_all_sizes(device: sg.Device) -> None:
    a = np.array([1e30, -1e30, 5.3, -5.3, 3.4e38, 1e-30, 0.0, -0.0, 7.0, -7.0], np.float32)
    b = np.array([1e-30, 3e-7, 0.1, 0.1, 1.5, 1e30, 2.0, 2.0, INF, INF], np.float32)
    x, y = sg.tensor(a, device=device), sg.tensor(b, device=device)
    same(sg.fmod(x, y), np.fmod(a, b))
    same(x % y, np.remainder(a.astype(np.float64), b.astype(np.float64)).astype(np.float32))
    for p, q in ((5.0, 0.0), (INF, 2.0), (NAN, 2.0), (2.0, NAN)):
        assert np.isnan(sg.fmod(sg.tensor(p, device=device), q).item())
    same(sg.tensor([5.0, -5.0, 0.0], device=device) // 0.0, [INF, -INF, NAN])


def test_logic_and_bits_of_booleans(device: sg.Device) -> None:
    a, b = sg.tensor([False, False, True, True], device=device), sg.tensor([False, True, False, True], device=device)
    same(a & b, [False, False, False, True])
    same(a | b, [False, True, True, True])
    same(a ^ b, [False, True, True, False])
    same(~a, [True, True, False, False])
    same(sg.logical_and(sg.tensor([0.0, NAN, 2.0], device=device), 1), [False, True, True])
    assert (a & 1).dtype == sg.int64
    assert (a & b).dtype == sg.logical_not(sg.tensor(2.5, device=device)).dtype == sg.bool


def test_exact_powers(device: sg.Device) -> None:
    n = np.arange(-126, 128, dtype=np.float32)
    same(sg.exp2(sg.tensor(n, device=device)), np.exp2(n.astype(np.float64)))
    same(sg.log2(sg.exp2(sg.tensor(n, device=device))), n)
    same(sg.log10(sg.tensor(10.0 ** np.arange(11), dtype=sg.float32, device=device)), np.arange(11))


def test_rounding(device: sg.Device) -> None:
    x = sg.tensor([0.5, 1.5, 2.5, -0.5, -1.5, 8388609.0, -0.3, INF], device=device)
    same(x.round(), [0, 2, 2, -0.0, -2, 8388609, -0.0, INF])
    same(x.trunc(), [0, 1, 2, -0.0, -1, 8388609, -0.0, INF])
    assert np.signbit(x.round().numpy()).tolist() == np.signbit(x.trunc().numpy()).tolist()
    assert np.signbit(x.ceil().numpy()).tolist() == [False, False, False, True, True, False, True, False]
    same(sg.tensor([1.25, 1.35, -1234.5], dtype=sg.float64, device=device).round(decimals=-2), [0, 0, -1200])
    same(sg.tensor([5, -5], device=device).floor(), [5, -5])


def test_types_that_an_op_does_not_take(device: sg.Device) -> None:
    one, truth = sg.ones(2, device=device), sg.tensor([True], device=device)
    calls: list[Callable[[], object]] = [lambda: one & one, lambda: ~one, lambda: one << 1, truth.floor,
                                         lambda: truth % truth, truth.positive]  # fmt: skip
    for call in calls:
        with pytest.raises(TypeError, match="is not for tensors of"):
            call()
    with pytest.raises(ValueError, match="neither min nor max"):
        one.clamp()
    with pytest.raises(ValueError, match="rounding_mode 'up' is unknown"):
        sg.div(one, 2, rounding_mode="up")
    with pytest.raises(TypeError, match="alpha is no integer"):
        sg.add(sg.tensor([1]), sg.tensor([1]), alpha=1.5)


def grad_of(f: Callable[[sg.Tensor], sg.Tensor], values: list[float], device: sg.Device) -> list[float]:
    x = sg.tensor(values, device=device, requires_grad=True)
    f(x).sum().backward()
    return list(x.grad.tolist())  # type: ignore[union-attr]


def test_gradients_at_edges(device: sg.Device) -> None:
    assert grad_of(lambda x: x.clamp(-1, 2), [-2.0, -1.0, 0.0, 2.0, 3.0], device) == [0, 1, 1, 1, 0]
    assert grad_of(F.hardtanh, [-2.0, -1.0, 0.0, 1.0], device) == [0, 0, 1, 0]
    assert grad_of(F.relu6, [0.0, 3.0, 6.0], device) == [0, 1, 0]
    assert grad_of(F.elu, [0.0, 1000.0], device) == [1, 1]
    assert grad_of(F.softplus, [-1000.0, 0.0, 1000.0], device) == [0, 0.5, 1]
    assert grad_of(F.mish, [1000.0, -1000.0], device) == [1, 0]
    assert grad_of(lambda x: x.floor() + x.sign() + x.round() + x.trunc() + x.ceil(), [0.3, -2.0], device) == [0, 0]
    assert grad_of(lambda x: x.nan_to_num(), [NAN, 1.0, INF], device) == [0, 1, 0]
    assert grad_of(lambda x: sg.logaddexp(x, x.detach()), [0.0, 500.0], device) == [0.5, 0.5]
    assert grad_of(lambda x: sg.xlogy(x, 0.0), [0.0], device) == [0]
    assert grad_of(lambda x: sg.atan2(x, 0 * x.detach()), [0.0], device) == [0]
    assert grad_of(lambda x: sg.atan2(x, 1e-30), [0.0], device) == [pytest.approx(1e30, rel=1e-6)]
    assert grad_of(lambda x: sg.remainder(7.0, x), [2.0], device) == [-3]
    assert grad_of(lambda x: sg.fmod(-7.0, x), [2.0], device) == [3]


def test_second_gradients_do_not_leak(device: sg.Device) -> None:
    for f in (F.elu, F.selu, F.celu, F.softplus, F.mish):
        x = sg.tensor([500.0, 1000.0], device=device, requires_grad=True)
        (g,) = sg.autograd.grad(f(x).sum(), x, create_graph=True)
        (h,) = sg.autograd.grad(g.sum() + (x * 0).sum(), x)
        np.testing.assert_array_equal(h.numpy(), [0, 0], err_msg=f.__name__)


def test_activations_of_several_inputs(device: sg.Device) -> None:
    x = sg.tensor(np.arange(-6.0, 6.0).reshape(2, 3, 2), dtype=sg.float32, device=device, requires_grad=True)
    slope = sg.tensor([0.5, 0.25, 0.125], device=device, requires_grad=True)
    y = F.prelu(x, slope)
    values = np.arange(-6.0, 6.0).reshape(2, 3, 2)
    same(y, np.where(values > 0, values, values * slope.detach().numpy()[:, None]))
    y.sum().backward()
    assert slope.grad is not None
    same(slope.grad, np.minimum(values, 0).sum(axis=(0, 2)))
    with pytest.raises(ValueError, match="2 slopes for 3 channels"):
        F.prelu(x, sg.ones(2, device=device))
    assert F.glu(x, dim=0).shape == (1, 3, 2)
    with pytest.raises(ValueError, match="odd size 3"):
        F.glu(x, dim=1)


def test_inplace_activations(device: sg.Device) -> None:
    x = sg.tensor([-1.0, 2.0], device=device)
    assert F.relu(x, inplace=True) is x
    assert x.tolist() == [0, 2]
    leaf = sg.tensor([-1.0, 2.0], device=device, requires_grad=True)
    y = leaf * 1
    F.leaky_relu(y, 0.5, inplace=True).sum().backward()
    assert leaf.grad is not None
    assert leaf.grad.tolist() == [0.5, 1]


@pytest.mark.parametrize("dtype", ["uint8", "int8", "int16", "int32", "int64"])
def test_hardtanh_of_integers_gives_integers(dtype: str, device: sg.Device) -> None:
    x = sg.tensor([0, 1, 3], dtype=getattr(sg, dtype), device=device)
    y = sg.nn.functional.hardtanh(x, -2.7, 1.9)
    assert y.dtype == x.dtype and y.tolist() == [0, 1, 1]
    assert sg.hardtanh(x).tolist() == [0, 1, 1]


@pytest.mark.needs("float64")
def test_numbers_in_float64_have_all_digits(device: sg.Device) -> None:
    x = sg.tensor([-1.0, 2.0], dtype=sg.float64, device=device)
    assert sg.angle(x).tolist() == [math.pi, 0.0]
    log = math.log1p(0.1)
    np.testing.assert_allclose(sg.special.xlog1py(x, 0.1).tolist(), [-log, 2 * log], rtol=1e-13)
    np.testing.assert_allclose(
        sg.special.xlog1py(0.1, x + 2).tolist(), [0.1 * math.log(2), 0.1 * math.log(5)], rtol=1e-13
    )


def test_xlog1py_is_nan_where_its_second_argument_is(device: sg.Device) -> None:
    got = sg.special.xlog1py(sg.zeros(2, device=device), sg.tensor([math.nan, -1.0], device=device))
    assert math.isnan(got[0].item()) and got[1].item() == 0.0


def test_the_gradient_of_expm1_keeps_its_digits_far_below_0(device: sg.Device) -> None:
    x = sg.tensor([-60.0, -30.0, -17.0, 0.0, 1e-3, 20.0], device=device, requires_grad=True)
    sg.expm1(x).sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), np.exp(x.detach().numpy().astype(np.float64)), rtol=1e-5)
