"""What Value has beyond micrograd: more functions, devices."""

from __future__ import annotations

import math
import random
from collections.abc import Callable

import numpy as np
import pytest

import spirograd as sg
from reference import scalar
from reference.scalar import Engine, difference, ulps

# ---- beyond micrograd ------------------------------------------------------------------------------------------------
POINTS = {"log": [0.1, 1.0, 7.5], "sqrt": [0.1, 1.0, 7.5], "abs": [-2.5, 3.0]}


@pytest.mark.parametrize("name", sorted(scalar.FUNCTIONS))
def test_functions(ours: Engine, name: str) -> None:
    value, _ = scalar.FUNCTIONS[name]
    for x in POINTS.get(name, [-2.5, -0.3, 0.0, 0.7, 3.0]):
        v = ours.Value(x)
        y = getattr(v, name)()
        (y * 3).backward()
        want = value(x)
        assert ulps(y.data, want, ours.coarse) <= scalar.GPU_ULPS["function"] or abs(want) < 1e-300
        slope = 3 * difference(value, [x], 0)
        assert v.grad == pytest.approx(slope, rel=1e-7 * max(1, ours.coarse / 1e5), abs=1e-8)
        assert name in y._op and y._prev == {v}


def test_functions_of_special_numbers(ours: Engine) -> None:
    """As for tensors: what has no value is a NaN or an infinity, not an error."""
    inf = math.inf
    V = ours.Value
    assert V(-inf).exp().data == 0 and V(1000.0).exp().data == inf and V(0.0).log().data == -inf
    assert math.isnan(V(-1.0).log().data) and math.isnan(V(-1.0).sqrt().data) and math.isnan(V(inf).sin().data)
    assert (V(inf).tanh().data, V(-inf).sigmoid().data, V(-1000.0).sigmoid().data) == (1, 0, 0)
    zero = V(0.0)
    abs(zero).backward()
    assert zero.grad == 0


def test_abs_is_pythons_too(ours: Engine) -> None:
    v = ours.Value(-2.5)
    y = abs(v)
    y.backward()
    assert (y.data, v.grad) == (2.5, -1)


def test_power_of_values(ours: Engine) -> None:
    a, b = ours.Value(2.5), ours.Value(1.5)
    y = a**b
    y.backward()
    assert y._prev == {a, b}
    assert y.data == pytest.approx(2.5**1.5, rel=1e-14 * ours.coarse)
    assert a.grad == pytest.approx(1.5 * 2.5**0.5, rel=1e-12 * ours.coarse)
    assert b.grad == pytest.approx(2.5**1.5 * math.log(2.5), rel=1e-12 * ours.coarse)
    x = ours.Value(3.0)
    z = 2.0**x
    z.backward()
    assert z.data == pytest.approx(8, rel=1e-14 * ours.coarse)
    assert x.grad == pytest.approx(8 * math.log(2), rel=1e-12 * ours.coarse)
    c = ours.Value(2.0)
    (c**c).backward()
    assert c.grad == pytest.approx(4 * math.log(2) + 4, rel=1e-12 * ours.coarse)


def test_numpy_exponents(ours: Engine) -> None:
    a = ours.Value(3.0)
    assert [(a**k).data for k in (np.int64(2), np.float64(2.0), np.float32(2.0))] == [9, 9, 9]


def test_label_argument(ours: Engine) -> None:
    assert ours.Value(1.0).label == "" and ours.Value(1.0, label="a").label == "a"


def test_gradients_are_the_same_bits_every_time(ours: Engine) -> None:
    def run() -> list[float]:
        draw = random.Random(3)
        xs = [ours.Value(draw.uniform(-1, 1)) for _ in range(50)]
        ys = [(a * b + a).relu() - a / (b * b + 1) for a in xs for b in xs]
        sum(ys).backward()
        return [x.grad for x in xs]

    assert run() == run()


def test_gradients_are_the_same_bits_in_every_process(run_python: Callable[..., str]) -> None:
    code = """
import random, spirograd as sg
random.seed(1)
xs = [sg.Value(random.uniform(-1, 1)) for _ in range(30)]
sum(a * b / (a * a + 1.1) for a in xs for b in xs).backward()
print([x.grad.hex() for x in xs])
"""
    assert len({run_python(code, PYTHONHASHSEED=seed) for seed in ("0", "1", "2")}) == 1


# ---- devices ---------------------------------------------------------------------------------------------------------
def test_device(ours: Engine) -> None:
    a, device = ours.Value(2.0), sg.device(ours.name)
    assert a.device == device and (a * 2).device == device and sg.Value(1.0).device == sg.get_default_device()
    assert sg.Value(1.0, device="cpu").device == "cpu"
    assert a.to(device) is a and a.to(ours.name).data == 2 and a.cpu().device == "cpu"


@pytest.mark.gpu
def test_moving_keeps_the_graph() -> None:
    gpu = scalar.engine("gpu")
    a = sg.Value(3.0)
    there = (a * 2).to("gpu")
    b = gpu.Value(5.0)
    back = (there * b).cpu()
    y = back * 10 + a
    assert [v.device.kind for v in (there, back, y)] == ["gpu", "cpu", "cpu"]
    assert y.data == 303
    y.backward()
    assert (a.grad, b.grad, there.grad, back.grad) == (101, 60, 50, 10)
    y.backward()
    assert a.grad > 2 * 101, "and accumulates"


@pytest.mark.gpu
def test_gradients_come_back_from_the_gpu() -> None:
    """The root lies on the GPU, leaves on the CPU; gradients are read in either order."""
    for read_first in ("there", "here", "none"):
        here = sg.Value(3.0)
        there = here.to("gpu")
        y = there * there + there * 2
        y.backward()
        if read_first != "none":
            _ = (there if read_first == "there" else here).grad
        assert (here.grad, there.grad, y.data) == (8, 8, 15)


@pytest.mark.gpu
def test_devices_do_not_mix() -> None:
    a, b = sg.Value(1.0), scalar.engine("gpu").Value(1.0)
    for call in (lambda: a + b, lambda: b * a, lambda: a - b, lambda: a / b, lambda: a**b, lambda: sum([a, b])):
        with pytest.raises(
            ValueError, match=r"operands on different devices, (cpu and gpu:0|gpu:0 and cpu); move one with \.to\(\)"
        ):
            call()
    assert (a + b.cpu()).data == 2


def test_default_device_is_followed(ours: Engine) -> None:
    sg.set_default_device(ours.name)
    device = sg.device(ours.name)
    a = sg.Value(2.0)
    assert a.device == device and (a + 1).data == 3
    assert sg.MLP(2, [1]).parameters()[0].device == device


@pytest.mark.gpu
def test_a_tape_may_go_with_what_was_written() -> None:
    """Leaves whose gradients were written and which nobody holds: they are the last of a tape that is being sent."""
    gpu = scalar.engine("gpu")
    x = gpu.Value(3.0)
    y = x * 2
    assert y.data == 6
    for _ in range(50):
        for _ in range(20):
            gpu.Value(1.0).grad = 5
        y.backward()
    assert x.grad == 2 * 50


@pytest.mark.gpu
def test_gradients_go_through_two_tapes_and_back_to_the_cpu() -> None:
    x = sg.Value(2.0)
    moved = x.to("gpu")
    twice = moved + moved
    assert twice.data == 4  # a read: what follows is another tape
    y = moved + twice
    y.backward()
    assert x.grad == 3


def test_values_are_written_rounded_and_compared_as_numbers(device: sg.Device) -> None:
    a, b = sg.Value(2.125, device=device), sg.Value(-3, device=device)
    assert f"{a:.2f} {b:3d}" == "2.12  -3" and f"{a}" == str(a) and round(a, 1) == 2.1 and round(a) == 2
    assert b < a > 2 and a >= 2.125 and a < 3 and sorted([a, b]) == [b, a] and max(a, b) is a and not a < float("nan")
    assert a != sg.Value(2.125, device=device), "equal is what is the same node"
    assert repr(a) == "Value(data=2.125, grad=0" + (")" if device.kind == "cpu" else f", device='{device}')")
    with pytest.raises(TypeError, match="'<' not supported"):
        _ = a < "3"


def test_inputs_that_are_too_few_are_told() -> None:
    with pytest.warns(UserWarning, match="Neuron: there are 3 weights, got 2 inputs; give as many"):
        sg.MLP(3, [4, 1])([1.0, 2.0])
