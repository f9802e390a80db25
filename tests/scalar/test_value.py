"""micrograd's Value: names, nodes, numbers, gradients, errors.

What micrograd has is tested on micrograd itself too (engine "micrograd"), so that these tests state what it does; what
goes beyond is tested on ours alone.
"""

from __future__ import annotations

import gc
import math
import random
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import spirograd as sg
from reference import scalar
from reference.scalar import Engine, bits, difference, shown


# ---- the example that everybody knows --------------------------------------------------------------------------------
def readme(a: Any, b: Any) -> Any:
    c = a + b
    d = a * b + b**3
    c += c + 1
    c += 1 + c + (-a)
    d += d * 2 + (b + a).relu()
    d += 3 * d + (b - a).relu()
    e = c - d
    f = e**2
    g = f / 2.0
    return g + 10.0 / f


def test_readme(engine: Engine) -> None:
    a, b = engine.Value(-4.0), engine.Value(2.0)
    g = readme(a, b)
    assert f"{g.data:.4f}" == "24.7041"
    g.backward()
    assert (f"{a.grad:.4f}", f"{b.grad:.4f}") == ("138.8338", "645.5773")


# ---- nodes -----------------------------------------------------------------------------------------------------------
NODES: list[tuple[str, Callable[[Any, Any], Any], str]] = [
    ("leaf", lambda a, b: a, "a"),
    ("add", lambda a, b: a + b, "+(a, b)"),
    ("add_itself", lambda a, b: a + a, "+(a)"),
    ("add_float", lambda a, b: a + 2.0, "+(2.0, a)"),
    ("add_int", lambda a, b: a + 2, "+(2, a)"),
    ("radd", lambda a, b: 2 + a, "+(2, a)"),
    ("mul", lambda a, b: a * b, "*(a, b)"),
    ("mul_float", lambda a, b: a * 0.5, "*(0.5, a)"),
    ("rmul", lambda a, b: 3 * a, "*(3, a)"),
    ("neg", lambda a, b: -a, "*(-1, a)"),
    ("sub", lambda a, b: a - b, "+(*(-1, b), a)"),
    ("sub_float", lambda a, b: a - 2.0, "+(-2.0, a)"),
    ("rsub", lambda a, b: 2 - a, "+(*(-1, a), 2)"),
    ("div", lambda a, b: a / b, "*(**-1(b), a)"),
    ("div_int", lambda a, b: a / 2, "*(0.5, a)"),
    ("rdiv", lambda a, b: 2 / a, "*(**-1(a), 2)"),
    ("pow_int", lambda a, b: a**3, "**3(a)"),
    ("pow_float", lambda a, b: a**2.0, "**2.0(a)"),
    ("pow_negative", lambda a, b: a**-2, "**-2(a)"),
    ("relu", lambda a, b: a.relu(), "ReLU(a)"),
    ("sum", lambda a, b: sum([a, b]), "+(+(0, a), b)"),
    ("sum_from", lambda a, b: sum([a, a], b), "+(+(a, b), a)"),
    ("nested", lambda a, b: (a * b + 1).relu() ** 2, "**2(ReLU(+(*(a, b), 1)))"),
]


@pytest.mark.parametrize(("make", "text"), [n[1:] for n in NODES], ids=[n[0] for n in NODES])
def test_nodes(engine: Engine, make: Callable[[Any, Any], Any], text: str) -> None:
    a, b = engine.Value(-4.0), engine.Value(2.0)
    made = make(a, b)
    assert shown(made, a=a, b=b) == text
    with_numbers = make(-4.0, 2.0) if "relu" not in make.__code__.co_names else made.data
    assert made.data == with_numbers
    assert made.grad == 0


def test_prev_has_the_operands_themselves(engine: Engine) -> None:
    a, b = engine.Value(1.0), engine.Value(2.0)
    c = a * b
    assert c._prev == {a, b} and a._prev == set() and (a + a)._prev == {a}
    assert {id(v) for v in c._prev} == {id(a), id(b)}
    assert a._op == "" and c._op == "*"


def test_prev_is_the_same_every_time(engine: Engine) -> None:
    """Also for numbers that became nodes, and for nodes to which nobody else has a reference."""
    a = engine.Value(3.0)
    y = -(a - 2) / a
    for _ in range(2):
        assert y._prev == y._prev
        todo, seen = [y], set()
        while todo:
            v = todo.pop()
            seen.add(v)
            todo += [c for c in v._prev if c not in seen]
        # a, -2, a - 2, -1, -(a - 2), a ** -1, y
        assert len(seen) == 7
        (inner,) = (c for c in y._prev if c._op == "*")
        if not hasattr(inner, "note"):
            assert getattr(inner, "label", "") == ""
        inner.label, inner.grad = "inner", 5.0
        del inner, todo, seen, v
        gc.collect()
        (inner,) = (c for c in y._prev if c._op == "*")
        assert (inner.label, inner.grad) == ("inner", 5.0)
        inner.label, inner.grad = "", 0


def test_numbers_that_became_nodes_have_gradients(engine: Engine) -> None:
    a = engine.Value(3.0)
    y = a * 2 + 7.0
    y.backward()
    (seven,) = (c for c in y._prev if not c._op)
    (product,) = (c for c in y._prev if c._op)
    (two,) = (c for c in product._prev if c is not a)
    assert (seven.data, seven.grad, two.data, two.grad) == (7.0, 1, 2, 3.0)
    two.data = 5
    y.backward()
    assert y.data == 13.0
    assert (a.grad, two.grad, product.grad) == (12.0, 9.0, 2), "interior gradients accumulate too"


def test_nodes_made_by_hand(host: Engine) -> None:
    a, b = host.Value(1.0), host.Value(2.0)
    c = host.Value(7.5, (a, b), "max")
    assert (c.data, c.grad, c._op, c._prev) == (7.5, 0, "max", {a, b})
    assert host.Value(1.0, _children=[a], _op="f")._prev == {a}
    assert host.Value(1.0, (a, a), "f")._prev == {a}
    (c * 2).backward()
    assert (c.grad, a.grad, b.grad) == (2, 0, 0), "without a function nothing goes further"


def tanh_by_hand(make: Callable[..., Any], x: Any) -> Any:
    t = math.tanh(x.data)
    out = make(t, (x,), "tanh")

    def backward() -> None:
        x.grad += (1 - t * t) * out.grad

    out._backward = backward
    return out


def test_gradient_functions_by_hand(host: Engine) -> None:
    x = host.Value(0.5)
    y = tanh_by_hand(host.Value, x * 2)
    z = y * y + tanh_by_hand(host.Value, y + x)
    assert "tanh(+(" in shown(z)
    z.backward()

    def f(v: float) -> float:
        t = math.tanh(2 * v)
        return t * t + math.tanh(t + v)

    slope = (f(0.5 + 1e-6) - f(0.5 - 1e-6)) / 2e-6
    assert z.data == pytest.approx(f(0.5), rel=1e-12)
    assert x.grad == pytest.approx(slope, rel=1e-8)


def test_a_gradient_function_may_be_replaced(host: Engine) -> None:
    a = host.Value(2.0)
    b = a * 3
    calls = []
    b._backward = lambda: calls.append(b.grad)
    (b + 1).backward()
    assert calls == [1] and a.grad == 0


def test_errors_of_a_gradient_function_get_through(host: Engine) -> None:
    a = host.Value(1.0)
    b = host.Value(2.0, (a,), "f")

    def broken() -> None:
        raise KeyError("mine")

    b._backward = broken
    with pytest.raises(KeyError, match="mine"):
        (b * 2).backward()
    b._backward = lambda: None
    (b * 2).backward()
    assert b.grad in (2, 4)


def test_backward_of_one_node(host: Engine) -> None:
    """By hand, as in the lecture: each call adds what the gradient of the moment says."""
    a, b = host.Value(2.0), host.Value(-3.0)
    c = a * b
    d = c + 10
    assert a._backward() is None and a.grad == 0
    d.grad = 1.0
    assert d._backward() is None
    assert (c.grad, a.grad) == (1.0, 0)
    c._backward()
    assert (a.grad, b.grad) == (-3.0, 2.0)
    c._backward()
    assert (a.grad, b.grad) == (-6.0, 4.0)
    e = (a**2).relu()
    (square,) = e._prev
    e.grad = 0.5
    e._backward()
    square._backward()
    assert (square.grad, a.grad) == (0.5, -6.0 + 4.0 * 0.5)


def test_cycles_through_functions_are_freed(host: Engine) -> None:
    class Kept:
        pass

    kept = Kept()
    gone = weakref.ref(kept)
    out = host.Value(1.0, (host.Value(2.0),), "f")
    out._backward = lambda out=out, kept=kept: None
    later = out * 2
    del kept, out, later
    gc.collect()
    assert gone() is None


@pytest.mark.gpu
def test_gradients_of_operations_on_a_gpu_stay_there() -> None:
    gpu = scalar.engine("gpu")
    x = gpu.Value(0.5)
    y = x * 2
    for call in (
        lambda: setattr(y, "_backward", lambda: None),
        lambda: y._backward(),
    ):
        with pytest.raises(ValueError, match=r"use \.cpu\(\)"):
            call()
    z = tanh_by_hand(sg.Value, y.cpu()).to("gpu") * 3
    z.backward()
    assert z.data == pytest.approx(3 * math.tanh(1.0), rel=1e-12 * gpu.coarse)
    assert x.grad == pytest.approx(6 * (1 - math.tanh(1.0) ** 2), rel=1e-12 * gpu.coarse)


# ---- numbers ---------------------------------------------------------------------------------------------------------
REPR: list[tuple[str, Callable[[Any], Any], str]] = [
    ("float", lambda V: V(2.5), "Value(data=2.5, grad=0)"),
    ("int", lambda V: V(2), "Value(data=2, grad=0)"),
    ("whole_float", lambda V: V(2.0), "Value(data=2.0, grad=0)"),
    ("int_add", lambda V: V(2) + V(3), "Value(data=5, grad=0)"),
    ("int_add_float", lambda V: V(2) + 3.0, "Value(data=5.0, grad=0)"),
    ("int_mul", lambda V: 4 * V(3), "Value(data=12, grad=0)"),
    ("int_neg", lambda V: -V(3), "Value(data=-3, grad=0)"),
    ("int_zero_neg", lambda V: -V(0), "Value(data=0, grad=0)"),
    ("float_zero_neg", lambda V: -V(0.0), "Value(data=-0.0, grad=0)"),
    ("int_sub", lambda V: 2 - V(3), "Value(data=-1, grad=0)"),
    ("int_div", lambda V: V(4) / 2, "Value(data=2.0, grad=0)"),
    ("int_pow", lambda V: V(3) ** 2, "Value(data=9, grad=0)"),
    ("int_pow_negative", lambda V: V(2) ** -1, "Value(data=0.5, grad=0)"),
    ("int_pow_float", lambda V: V(2) ** 2.0, "Value(data=4.0, grad=0)"),
    ("float_pow_int", lambda V: V(2.0) ** 2, "Value(data=4.0, grad=0)"),
    ("pow_zero", lambda V: V(2.0) ** 0, "Value(data=1.0, grad=0)"),
    ("relu_of_negative", lambda V: V(-2.5).relu(), "Value(data=0, grad=0)"),
    ("relu_of_positive", lambda V: V(2.5).relu(), "Value(data=2.5, grad=0)"),
    ("relu_of_int", lambda V: V(3).relu(), "Value(data=3, grad=0)"),
    ("relu_of_zero", lambda V: V(-0.0).relu(), "Value(data=-0.0, grad=0)"),
    ("neg_of_relu", lambda V: -V(-2.5).relu(), "Value(data=0, grad=0)"),
    ("scaled_relu", lambda V: V(-2.5).relu() * -0.5, "Value(data=-0.0, grad=0)"),
    ("sum", lambda V: sum([V(1), V(2)]), "Value(data=3, grad=0)"),
    ("exponents", lambda V: V(1e300), "Value(data=1e+300, grad=0)"),
    ("third", lambda V: V(1) / 3, "Value(data=0.3333333333333333, grad=0)"),
    ("inf", lambda V: V(math.inf), "Value(data=inf, grad=0)"),
    ("nan", lambda V: V(math.nan), "Value(data=nan, grad=0)"),
]


@pytest.mark.parametrize(("make", "text"), [r[1:] for r in REPR], ids=[r[0] for r in REPR])
def test_repr(host: Engine, make: Callable[[Any], Any], text: str) -> None:
    assert repr(make(host.Value)) == text


GRAD_REPR: list[tuple[str, Callable[[Any], Any], Any, str]] = [
    ("itself", lambda a: a, 2.5, "Value(data=2.5, grad=1)"),
    ("add", lambda a: a + 2.0, 2.5, "Value(data=2.5, grad=1)"),
    ("add_itself", lambda a: a + a, 2.5, "Value(data=2.5, grad=2)"),
    ("neg", lambda a: -a, 2.5, "Value(data=2.5, grad=-1)"),
    ("mul_int", lambda a: a * 3, 2.5, "Value(data=2.5, grad=3)"),
    ("mul_float", lambda a: a * 3.0, 2.5, "Value(data=2.5, grad=3.0)"),
    ("relu", lambda a: a.relu(), 2.5, "Value(data=2.5, grad=1)"),
    ("relu_negative", lambda a: a.relu(), -2.5, "Value(data=-2.5, grad=0)"),
    ("square", lambda a: a**2, 2.5, "Value(data=2.5, grad=5.0)"),
    ("int_square", lambda a: a**2, 2, "Value(data=2, grad=4)"),
    ("int_root", lambda a: a**0.5, 4, "Value(data=4, grad=0.25)"),
    ("int_inverse", lambda a: 1 / a, 2, "Value(data=2, grad=-0.25)"),
    ("int_product", lambda a: a * a * a, 2, "Value(data=2, grad=12)"),
]


@pytest.mark.parametrize(("make", "data", "text"), [r[1:] for r in GRAD_REPR], ids=[r[0] for r in GRAD_REPR])
def test_repr_of_gradients(host: Engine, make: Callable[[Any], Any], data: Any, text: str) -> None:
    a = host.Value(data)
    make(a).backward()
    assert repr(a) == text


def test_repr_follows_what_is_written(host: Engine) -> None:
    a = host.Value(2.5)
    a.data = 3
    a.grad = 0.0
    assert repr(a) == "Value(data=3, grad=0.0)"
    a.grad += 2
    a.data -= 0.5
    assert repr(a) == "Value(data=2.5, grad=2.0)"
    a.grad = 0
    assert repr(a) == "Value(data=2.5, grad=0)"


def test_data_and_grad_are_numbers(engine: Engine) -> None:
    a = engine.Value(2.5)
    y = a * 2
    y.backward()
    assert isinstance(a.data, float) and isinstance(y.data, float) and y.data + 1 == 6.0
    assert isinstance(engine.Value(2).data, int) and isinstance(a.grad, int | float)
    assert f"{y.data:.2f} {a.grad:.2f}" == "5.00 2.00"


NUMPY = [np.float64(2.0), np.float32(2.0), np.int64(2), np.int32(2)]


@pytest.mark.parametrize("two", NUMPY, ids=lambda x: type(x).__name__)
def test_numpy_scalars(engine: Engine, two: Any) -> None:
    made = engine.Value(two)
    assert made.data == 2 and (made * 0.5).data == 1
    a = engine.Value(3.0)
    results = [a + two, two + a, a - two, two - a, a * two, two * a, two / engine.Value(4.0), -two * a]
    assert all(type(r) is type(a) for r in results)
    assert [r.data for r in results] == [5, 5, 1, -1, 6, 6, 0.5, -6]
    assert (a / np.float64(2)).data == 1.5
    a.data = two
    a.grad = two
    assert (a.data, a.grad) == (2, 2)
    sum(results).backward()
    assert math.isfinite(a.grad)


def test_a_row_of_an_array(engine: Engine) -> None:
    row = np.array([[0.1, -0.2], [0.3, 0.4]])[0]
    x, y = map(engine.Value, row)
    z = x * y
    if engine.name != "gpu":
        assert bits(z.data) == bits(0.1 * -0.2)
    assert f"{float(x.data):.6g} {float(y.data):.6g}" == "0.1 -0.2"


def test_power_is_pythons(host: Engine) -> None:
    """To the last bit, for the exponents that people use."""
    draw = random.Random(5)
    for k in (2, 3, 2.0, 3.0, -1, -2, 0.5, -0.5, 1.5, 1 / 3, 0, 1, 10):
        for _ in range(300):
            x = draw.uniform(0, 10) ** draw.choice([1, 3, -3])
            assert bits((host.Value(x) ** k).data) == bits(x**k), (x, k)
            if isinstance(k, int):
                assert bits((host.Value(-x) ** k).data) == bits((-x) ** k), (-x, k)


def test_whole_numbers_have_one_zero(host: Engine) -> None:
    """0 * -1 is 0 for whole numbers, not -0.0, also where the 0 becomes part of a float."""
    zero = host.Value(0)
    for made in (-zero + -0.0, -0.0 - zero, zero * -3 + -0.0, host.Value(-2.0).relu() * -1 + -0.0):
        assert bits(made.data) == bits(0.0)
    assert bits((zero * -1.0 + -0.0).data) == bits(-0.0)


def test_special_numbers(engine: Engine) -> None:
    inf, nan = math.inf, math.nan
    a = engine.Value(inf)
    assert (a + 1).data == inf and (a * -1).data == -inf and math.isnan((a * 0).data) and math.isnan((a - a).data)
    assert (a**-1).data == 0 and (a**2).data == inf and a.relu().data == inf and (-a).relu().data == 0
    assert math.isnan(engine.Value(nan).relu().data), "a NaN is not below 0"
    assert bits(engine.Value(-0.0).relu().data) == bits(-0.0) or engine.name == "gpu"
    for x, slope in ((inf, 1), (-inf, 0), (nan, 0), (0.0, 0), (-0.0, 0), (5e-324, 1)):
        if x == 5e-324 and engine.name == "gpu":
            continue  # a GPU may take it for 0
        v = engine.Value(x)
        v.relu().backward()
        assert v.grad == slope, x
    b = engine.Value(2.0)
    (b * inf).backward()
    assert b.grad == inf


# ---- gradients -------------------------------------------------------------------------------------------------------
def test_gradients_accumulate(engine: Engine) -> None:
    a = engine.Value(3.0)
    b = a * 2
    c = b + a
    c.backward()
    assert (a.grad, b.grad, c.grad) == (3, 1, 1)
    c.backward()
    # c's own gradient is set to 1; b's becomes 1 + 1, and goes on to a as a whole.
    assert (a.grad, b.grad, c.grad) == (3 + 1 + 4, 2, 1)
    b.backward()
    assert (a.grad, b.grad, c.grad) == (10, 1, 1)


def test_gradients_of_several_roots(engine: Engine) -> None:
    a, b = engine.Value(2.0), engine.Value(5.0)
    shared = a * b
    first, second = shared + 1, shared * shared
    first.backward()
    second.backward()
    assert (shared.grad, a.grad, b.grad) == (1 + 20, 5 + 5 * 21, 2 + 2 * 21)


def test_gradients_may_be_written(engine: Engine) -> None:
    a = engine.Value(2.0)
    b = a * 3
    c = b * 1.0
    a.grad, b.grad, c.grad = 5.0, 100.0, 7.0
    c.backward()
    assert (c.grad, b.grad, a.grad) == (1, 101, 5 + 303)
    for v in (a, b, c):
        v.grad = 0
    c.backward()
    assert (c.grad, b.grad, a.grad) == (1, 1, 3)


def test_one_node_used_many_ways(engine: Engine) -> None:
    a = engine.Value(2.0)
    b = a + a
    c = b * b
    d = c - c + b
    d.backward()
    assert (d.data, a.grad, b.grad, c.grad) == (4, 2, 1, 0)


def test_training_step(engine: Engine) -> None:
    w, x = engine.Value(0.0), 2.0
    for _ in range(60):
        loss = (w * x - 6.0) ** 2
        w.grad = 0
        loss.backward()
        w.data -= 0.0625 * w.grad
    assert w.data == pytest.approx(3.0, rel=1e-5)


def on_numbers(f: Callable[..., Any]) -> Callable[..., float]:
    """The same on plain numbers, in float64."""
    return lambda *xs: float(f(*(scalar.Ref(x) for x in xs)).data)


def sanity(x: Any) -> Any:
    z = 2 * x + 2 + x
    q = z.relu() + z * x
    return (z * z).relu() + q + q * x


@pytest.mark.parametrize(("f", "at"), [(sanity, [-4.0]), (sanity, [1.5]), (readme, [-4.0, 2.0]), (readme, [0.3, 1.7])])
def test_against_finite_differences(engine: Engine, f: Callable[..., Any], at: list[float]) -> None:
    values = [engine.Value(x) for x in at]
    y = f(*values)
    y.backward()
    plain = on_numbers(f)
    assert y.data == pytest.approx(plain(*at), rel=1e-12 * engine.coarse)
    for i, v in enumerate(values):
        assert v.grad == pytest.approx(difference(plain, at, i), rel=1e-6 * max(1, engine.coarse / 1e5))


# ---- writing data ----------------------------------------------------------------------------------------------------
def test_consumers_keep_their_values(engine: Engine) -> None:
    a = engine.Value(3.0)
    pending, computed = a * 2, a * 4
    assert computed.data == 12
    a.data = 10.0
    assert (a.data, pending.data, computed.data, (a * 2).data) == (10, 6, 12, 20)
    a.data += 1
    a.data += 1
    assert (a.data, (pending + a).data) == (12, 18)


def test_backward_reads_the_data_of_the_moment(engine: Engine) -> None:
    a = engine.Value(3.0)
    product, power, sign = a * a, a**3, a.relu()
    y = product + power + sign
    assert y.data == 9 + 27 + 3
    a.data, sign.data = 2.0, -1.0
    y.backward()
    assert y.data == 39
    assert a.grad == 2 + 2 + 3 * 2.0**2 + 0, "the product and power of 2.0; ReLU looks at its own result"
    assert (sign.data, (sign * 2).data) == (-1, -2)


def test_interior_nodes_may_be_written(engine: Engine) -> None:
    a = engine.Value(3.0)
    b = a * 2
    c = b * b
    b.data = 100.0
    d = b + c
    assert (b.data, c.data, d.data) == (100, 36, 136)
    d.backward()
    assert (b.grad, a.grad) == (1 + 200, 402)


def test_weights_change_between_two_uses(engine: Engine) -> None:
    w = engine.Value(1.0)
    outputs = []
    for i in range(5):
        outputs.append(w * 10)
        w.data = float(i)
    assert [y.data for y in outputs] == [10, 0, 10, 20, 30]


# ---- an object like others -------------------------------------------------------------------------------------------
def test_identity(engine: Engine) -> None:
    a, b = engine.Value(1.0), engine.Value(1.0)
    assert a == a and a != b and (a == b) is False and len({a, b, a}) == 2 and hash(a) == hash(a)
    assert bool(engine.Value(0.0)) is True
    assert a in [b, a] and a not in [b] and {a: "x"}[a] == "x" and (a == 1.0) is False
    c = a
    c += 1
    assert c is not a and a.data == 1.0, "+= makes a new node"


def test_labels(engine: Engine) -> None:
    a = engine.Value(1.0)
    a.label = "a"
    b = a * 2
    b.label = "twice a"
    (found,) = (v for v in b._prev if v is a)
    assert (found.label, b.label) == ("a", "twice a")


def test_names() -> None:
    theirs = vars(scalar.engine("micrograd").Value(0).__class__)
    of_python = {
        "__dict__",
        "__weakref__",
        "__firstlineno__",
        "__static_attributes__",
    }  # any class statement makes them
    missing = [name for name in theirs if name not in of_python and not hasattr(sg.Value, name)]
    assert not missing
    a, b = sg.Value(6.0), sg.Value(2.0)
    both = [a.__add__(b), a.__radd__(2), a.__mul__(b), a.__rmul__(2), a.__sub__(b), a.__rsub__(2), a.__pow__(2)]
    both += [a.__truediv__(b), a.__rtruediv__(3), a.__neg__()]
    assert [v.data for v in both] == [8, 8, 12, 12, 4, -4, 36, 3, 0.5, -6]
    assert sg.Value.__name__ == "Value" and sg.Value.__doc__


def test_graphs_end(engine: Engine) -> None:
    """A graph does not keep itself alive, in whatever order its nodes are dropped."""
    a = engine.Value(1.0)
    y = sum((a * i for i in range(50)), engine.Value(0.0))
    (half, *_) = y._prev
    del y
    half.backward()
    del a
    half.backward()
    assert math.isfinite(half.data)


# ---- errors ----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("make", "kind"),
    [
        (lambda V: V(0.0) ** -1, ZeroDivisionError),
        (lambda V: V(0) ** -1, ZeroDivisionError),
        (lambda V: V(-0.0) ** -2, ZeroDivisionError),
        (lambda V: V(0.0) ** -0.5, ZeroDivisionError),
        (lambda V: 1 / V(0.0), ZeroDivisionError),
        (lambda V: V(1.0) / V(0), ZeroDivisionError),
        (lambda V: V(1.0) / 0, ZeroDivisionError),
        (lambda V: V(1.0) / 0.0, ZeroDivisionError),
        (lambda V: V(10.0) ** 400, OverflowError),
        (lambda V: V(1e-200) ** -2, OverflowError),
        (lambda V: V(-1e200) ** 3, OverflowError),
    ],
)
def test_pythons_errors(host: Engine, make: Callable[[Any], Any], kind: type[Exception]) -> None:
    with pytest.raises(kind):
        make(host.Value)


@pytest.mark.parametrize(
    ("x", "k", "kind"),
    [(0.0, 0.5, ZeroDivisionError), (0.0, 0, ZeroDivisionError), (0, 0, ZeroDivisionError), (1e-200, -1, OverflowError)]
)  # fmt: skip
def test_pythons_errors_backward(host: Engine, x: float, k: float, kind: type[Exception]) -> None:
    y = host.Value(x) ** k
    with pytest.raises(kind):
        y.backward()


@pytest.mark.parametrize(("x", "k"), [(0.0, 2), (0.0, 0), (-0.0, 3), (0, 0), (1e-200, 2), (math.inf, -1), (1e200, 1)])
def test_powers_that_are_none(host: Engine, x: float, k: float) -> None:
    assert bits((host.Value(x) ** k).data) == bits(x**k)


def test_a_complex_result_is_an_error() -> None:
    for x, k in ((-8.0, 1 / 3), (-1, 0.5), (-2.0, -1.5)):
        with pytest.raises(ValueError, match="pow: "):
            sg.Value(x) ** k
    with pytest.raises(ValueError, match="pow: "):
        sg.Value(-8.0) ** sg.Value(0.5)


WRONG = ["2", None, 1j, [1.0], (1.0,), {}, object()]


@pytest.mark.parametrize("wrong", WRONG, ids=lambda x: type(x).__name__)
def test_wrong_types(ours: Engine, wrong: Any) -> None:
    a = ours.Value(1.0)
    for call in (
        lambda: a + wrong,
        lambda: wrong + a,
        lambda: a * wrong,
        lambda: wrong * a,
        lambda: a - wrong,
        lambda: a / wrong,
        lambda: a**wrong,
    ):
        with pytest.raises(TypeError):
            call()
    name = type(wrong).__name__
    for words, set_it in (
        (f"Value: .*, got {name}", lambda: ours.Value(wrong)),
        (f"Value: .*, got {name}", lambda: ours.Value(1.0, [wrong], "f")),
        (f"data: .*, got {name}", lambda: setattr(a, "data", wrong)),
        (f"grad: .*, got {name}", lambda: setattr(a, "grad", wrong)),
    ):
        with pytest.raises(TypeError, match=words):
            set_it()
    assert repr(a).startswith("Value(data=1.0, grad=0")


def test_wrong_calls(ours: Engine) -> None:
    a = ours.Value(1.0)
    for call in (
        lambda: ours.Value(),
        lambda: ours.Value(1.0, (), "f", 4, 5, 6),
        lambda: ours.Value(1.0, what=2),
        lambda: pow(a, 2, 5),
        lambda: a.relu(1),
        lambda: a.backward(1, 2, 3),
        lambda: setattr(a, "_backward", 3),
    ):
        with pytest.raises(TypeError):
            call()
