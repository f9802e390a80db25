"""Gradients against finite differences and known values, and the life of the gradient graph."""

from __future__ import annotations

import numpy as np
import pytest

import spirograd as sg
from reference.table import ROWS, Row

SMOOTH = [row for row in ROWS if row.differentiable and "float64" in row.dtypes]
EACH = pytest.mark.parametrize("row", SMOOTH, ids=lambda r: r.name)


def small(row: Row, most: int = 40) -> list[list[tuple[int, ...]]]:
    """The row's samples that finite differences can afford."""
    return [list(s) for s in row.shapes if sum(int(np.prod(x)) for x in s) <= most]


def leaves(row: Row, shapes: list[tuple[int, ...]], device: sg.Device, dtype: str = "float64") -> list[sg.Tensor]:
    return [sg.tensor(a, device=device, requires_grad=True) for a in row.inputs(shapes, dtype, seed=4)]


@EACH
def test_gradcheck(row: Row) -> None:
    for shapes in small(row):
        assert sg.autograd.gradcheck(row.op, leaves(row, shapes, sg.Device.cpu()), atol=1e-5, rtol=1e-5)


@EACH
def test_gradgradcheck(row: Row) -> None:
    for shapes in small(row, 12)[:3]:
        assert sg.autograd.gradgradcheck(row.op, leaves(row, shapes, sg.Device.cpu()), atol=1e-5, rtol=1e-4)


@EACH
def test_gradient_on_the_device(row: Row, device: sg.Device) -> None:
    """float32 on each device against float64 on the CPU."""
    for shapes in small(row, 2000):
        found = []
        for dtype, place in (("float64", sg.Device.cpu()), ("float32", device)):
            arrays = [a.astype(np.float32).astype(dtype) for a in row.inputs(shapes, "float64", seed=5)]
            xs = [sg.tensor(a, device=place, requires_grad=True) for a in arrays]
            y = row.op(*xs)
            weight = np.linspace(0.5, 1.5, max(y.numel(), 1)).reshape(y.shape) if y.numel() else np.zeros(y.shape)
            y.backward(sg.tensor(weight, dtype=y.dtype, device=place))
            found.append([x.grad.numpy() if x.grad is not None else np.zeros(x.shape) for x in xs])
        for exact, got in zip(*found, strict=True):
            assert got.shape == exact.shape
            scale = np.abs(exact).max(initial=1)
            np.testing.assert_allclose(got, exact, rtol=1e-4, atol=1e-4 * scale, err_msg=f"{row.name} {shapes}")


def grad_of(f, values: list[float], device: sg.Device) -> list[float]:  # type: ignore[no-untyped-def]
    x = sg.tensor(values, device=device, requires_grad=True)
    f(x).sum().backward()
    return list(x.grad.tolist())


def test_gradients_at_kinks(device: sg.Device) -> None:
    assert grad_of(sg.relu, [-1.0, 0.0, 2.0], device) == [0, 0, 1]
    assert grad_of(sg.abs, [-1.0, 0.0, 2.0], device) == [-1, 0, 1]
    assert grad_of(lambda x: sg.maximum(x, 0.0), [-1.0, 0.0, 2.0], device) == [0, 0.5, 1]
    assert grad_of(lambda x: sg.minimum(x, 0.0), [-1.0, 0.0, 2.0], device) == [1, 0.5, 0]
    assert grad_of(lambda x: x.amax(), [3.0, 1.0, 3.0], device) == [0.5, 0, 0.5]
    assert grad_of(lambda x: x.amin(dim=0), [1.0, 1.0, 3.0], device) == [0.5, 0.5, 0]
    assert grad_of(lambda x: x**2, [0.0, -1.0], device) == [0, -2]
    assert grad_of(lambda x: x**0.0, [0.0, 2.0], device) == [0, 0]
    assert grad_of(lambda x: x**3.0, [0.0, -2.0], device) == [0, 12]
    assert grad_of(lambda x: 2.0**x, [0.0], device) == [pytest.approx(np.log(2), rel=1e-6)]
    assert grad_of(lambda x: sg.where(x > 0, x, 0.0), [-1.0, 0.0, 2.0], device) == [0, 0, 1]


def test_gradients_select_and_never_multiply(device: sg.Device) -> None:
    # The other side of where() may be infinite or NaN without spoiling the gradient.
    assert grad_of(lambda x: sg.where(x > 0, x, sg.where(x > 0, 1.0, x * 0)), [1.0, 2.0], device) == [1, 1]
    x = sg.tensor([0.0, 4.0], device=device, requires_grad=True)
    sg.where(x > 0, x * 2, sg.relu(-x)).sum().backward()
    assert x.grad.tolist() == [0, 2]
    x = sg.tensor([float("inf"), 1.0], device=device, requires_grad=True)
    sg.relu(-x).sum().backward()
    assert x.grad.tolist() == [0, 0]


def test_broadcasting_sums(device: sg.Device) -> None:
    a = sg.ones(2, 3, device=device, requires_grad=True)
    b = sg.ones(3, device=device, requires_grad=True)
    c = sg.ones(2, 1, device=device, requires_grad=True)
    d = sg.tensor(2.0, device=device, requires_grad=True)
    (a * b * c * d).sum().backward()
    assert a.grad.tolist() == [[2.0] * 3] * 2
    assert b.grad.tolist() == [4.0] * 3
    assert c.grad.tolist() == [[6.0]] * 2
    assert d.grad.item() == 6.0
    assert d.grad.shape == ()


def test_gradient_of_a_cast(device: sg.Device) -> None:
    x = sg.tensor([1.0, 2.0], dtype=sg.float64, device=device, requires_grad=True)
    (x.float() * sg.tensor([3.0, 4.0], device=device)).sum().backward()
    assert x.grad.dtype == sg.float64
    assert x.grad.tolist() == [3.0, 4.0]


def test_accumulation(device: sg.Device) -> None:
    x = sg.tensor([1.0, 2.0], device=device, requires_grad=True)
    (x * x).sum().backward()
    (x * 3).sum().backward()
    assert x.grad.tolist() == [5.0, 7.0]
    x.grad = None
    (x + x + x).sum().backward()
    assert x.grad.tolist() == [3.0, 3.0]


def test_gradients_are_not_shared(device: sg.Device) -> None:
    a = sg.ones(3, device=device, requires_grad=True)
    b = sg.ones(3, device=device, requires_grad=True)
    (a + b).sum().backward()
    a.grad.mul_(10)
    a.grad[0] = 7
    assert a.grad.tolist() == [7, 10, 10]
    assert b.grad.tolist() == [1, 1, 1]


def test_retain_graph_and_freed_graph(device: sg.Device) -> None:
    x = sg.tensor([1.0, 2.0], device=device, requires_grad=True)
    y = (x.exp() * x).sum()
    y.backward(retain_graph=True)
    first = x.grad.numpy().copy()
    y.backward()
    np.testing.assert_array_equal(x.grad.numpy(), 2 * first)
    with pytest.raises(sg.Error, match=r"freed by an earlier backward.*retain_graph"):
        y.backward()


def test_backward_needs_one_element_or_a_gradient(device: sg.Device) -> None:
    x = sg.ones(2, device=device, requires_grad=True)
    with pytest.raises(ValueError, match="gradient is needed"):
        (x * 2).backward()
    with pytest.raises(ValueError, match="gradient has shape"):
        (x * 2).backward(sg.ones(3, device=device))
    with pytest.raises(sg.Error, match="does not want a gradient"):
        sg.ones((), device=device).backward()
    (x * 2).backward(sg.tensor([1.0, 10.0], device=device))
    assert x.grad.tolist() == [2.0, 20.0]


def test_no_grad_and_detach(device: sg.Device) -> None:
    x = sg.tensor([3.0], device=device, requires_grad=True)
    with sg.no_grad():
        y = x * 2
    assert not y.requires_grad and y.grad_fn is None
    z = x.detach() * x
    z.sum().backward()
    assert x.grad.tolist() == [3.0]
    assert not x.detach().requires_grad


def test_integers_have_no_gradient(device: sg.Device) -> None:
    with pytest.raises(TypeError, match="no gradient"):
        sg.tensor([1, 2], device=device, requires_grad=True)


def test_second_and_third_derivative(device: sg.Device) -> None:
    x = sg.tensor([1.5], device=device, requires_grad=True)
    (g,) = sg.autograd.grad((x**4.0).sum(), x, create_graph=True)
    (h,) = sg.autograd.grad(g.sum(), x, create_graph=True)
    (t,) = sg.autograd.grad(h.sum(), x)
    np.testing.assert_allclose([g.item(), h.item(), t.item()], [4 * 1.5**3, 12 * 1.5**2, 24 * 1.5], rtol=1e-5)


def test_gradient_of_a_slice_of_a_leaf(device: sg.Device) -> None:
    x = sg.arange(12.0, device=device).reshape(3, 4).detach().requires_grad_()
    (x[1:, ::2] * sg.tensor([[1.0, 2.0], [3.0, 4.0]], device=device)).sum().backward()
    assert x.grad.tolist() == [[0, 0, 0, 0], [1, 0, 2, 0], [3, 0, 4, 0]]


def test_data_moves_between_devices_with_its_gradient(device: sg.Device) -> None:
    x = sg.tensor([1.0, 2.0], requires_grad=True)
    (x.to(device) * 3).sum().backward()
    assert x.grad.tolist() == [3, 3]
    assert x.grad.device == x.device


def test_deep_graphs(device: sg.Device) -> None:
    depth = 100 if device.type == "software" else 20_000  # a software driver compiles long kernels for minutes
    x = sg.tensor([1.0], device=device, requires_grad=True)
    y = x
    for _ in range(depth):
        y = y * 1.0001
    y.sum().backward()
    assert abs(x.grad.item() / np.exp(depth * np.log(1.0001)) - 1) < 1e-2
