"""Gradients that are zero everywhere are there, not missing; so are those of inputs without elements."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import spirograd as sg

T = sg.Tensor
nan, inf = float("nan"), float("inf")

# An input without elements, joined with or written among others.
EMPTY: dict[str, Callable[[T], T]] = {
    "cat": lambda x: sg.cat([x, sg.ones(2, device=x.device)]),
    "cat behind": lambda x: sg.cat([sg.ones(2, 3, device=x.device), x], 1),
    "cat of such": lambda x: sg.cat([x, x.detach()]),
    "cat alone": lambda x: sg.cat([x]),
    "hstack": lambda x: sg.hstack([sg.ones(2, device=x.device), x]),
    "index_put": lambda x: sg.ones(3, device=x.device).index_put((sg.zeros(0, dtype=sg.int64, device=x.device),), x),
    "index_copy": lambda x: sg.ones(3, device=x.device).index_copy(0, sg.zeros(0, dtype=sg.int64, device=x.device), x),
    "nanmedian": lambda x: x.nanmedian(),
    "sum": lambda x: x.sum(),
}


@pytest.mark.parametrize("name", EMPTY)
def test_an_input_without_elements_has_a_gradient(name: str, device: sg.Device) -> None:
    x = sg.zeros(0, device=device, requires_grad=True)
    y = EMPTY[name](x)
    assert y.requires_grad
    (g,) = sg.autograd.grad(y.sum(), x)
    assert g.shape == (0,)


def test_joined_parts_still_get_theirs(device: sg.Device) -> None:
    x, y = sg.zeros(0, device=device, requires_grad=True), sg.ones(2, 2, device=device, requires_grad=True)
    (sg.cat([x, y, x, y * 2], 1) * sg.arange(8.0, device=device).reshape(2, 4)).sum().backward()
    assert y.grad is not None and y.grad.tolist() == [[4.0, 7.0], [16.0, 19.0]]


def test_rows_named_twice_are_filled_once(device: sg.Device) -> None:
    x, value = sg.zeros(3, 2, device=device, requires_grad=True), sg.tensor(2.0, device=device, requires_grad=True)
    y = x.index_fill(0, sg.tensor([1, 1], device=device), value)
    assert y.tolist() == [[0.0, 0.0], [2.0, 2.0], [0.0, 0.0]]
    gx, gv = sg.autograd.grad((y * y + y).sum(), [x, value], create_graph=True)
    assert gx.tolist() == [[1.0, 1.0], [0.0, 0.0], [1.0, 1.0]] and gv.item() == 10.0
    assert sg.autograd.grad(gv, value)[0].item() == 4.0
    z = sg.zeros(3, device=device)
    z.index_fill_(0, sg.tensor([2, 2, 0], device=device), value)
    assert sg.autograd.grad(z.sum(), value)[0].item() == 2.0


@pytest.mark.parametrize(
    ("x", "want"),
    [
        ([1.0, nan, 3.0, nan], [1.0, 0.0, 0.0, 0.0]),
        ([2.0, nan, 2.0, 5.0], [0.5, 0.0, 0.5, 0.0]),
        ([nan, nan], [0.5, 0.5]),
    ],
)
def test_what_nanmedian_leaves_out_has_no_share(x: list[float], want: list[float], device: sg.Device) -> None:
    t = sg.tensor(x, device=device, requires_grad=True)
    t.nanmedian().backward()
    assert t.grad is not None and t.grad.tolist() == want


def test_the_median_gives_a_nan_its_gradient(device: sg.Device) -> None:
    x = sg.tensor([1.0, nan, 3.0], device=device, requires_grad=True)
    x.median().backward()
    assert x.grad is not None and x.grad.tolist() == [0.0, 1.0, 0.0]


def test_products_of_rows_with_zeros_have_second_gradients(device: sg.Device) -> None:
    index = sg.tensor([[0, 0, 1, 1, 2, 1, 0]], device=device)

    def product(x: T) -> T:
        start = sg.full((1, 3), 2.0, dtype=x.dtype, device=device)
        weights = sg.tensor([[1.0, 2.0, 3.0]], dtype=x.dtype, device=device)
        return (start.scatter_reduce(1, index, x, "prod") * weights).sum()

    def by_hand(x: T) -> T:
        rows = [[0, 1, 6], [2, 3, 5], [4]]
        terms = [x[0, row].prod() * 2 * (i + 1) for i, row in enumerate(rows)]
        return sg.stack(terms).sum()

    for values in ([0.0, 2.0, 0.0, 0.0, 1.0, 5.0, 3.0], [1.0, 2.0, 0.5, 3.0, 0.0, -1.0, 4.0]):
        found = []
        for function in (product, by_hand):
            x = sg.tensor([values], device=device, requires_grad=True)
            (g,) = sg.autograd.grad(function(x), x, create_graph=True)
            (h,) = sg.autograd.grad((g * sg.arange(7.0, device=device)).sum(), x, create_graph=True)
            (third,) = sg.autograd.grad((h * h).sum(), x)
            found.append([g.tolist(), h.tolist(), third.tolist()])
        np.testing.assert_allclose(found[0], found[1], rtol=1e-5)


# Functions that are flat wherever they have a slope.
FLAT: dict[str, Callable[[T], T]] = {
    "bernoulli": lambda x: sg.bernoulli(x / 9),
    "ceil": sg.ceil,
    "floor": sg.floor,
    "floor_divide": lambda x: x // 2,
    "hardsigmoid": lambda x: sg.nn.functional.hardsigmoid(x + 10),
    "matrix_power": lambda x: sg.linalg.matrix_power(x, 0),
    "norm": lambda x: sg.norm(x, 0),
    "norm along": lambda x: x.norm(0, dim=1),
    "normal": lambda x: sg.normal(x, 1.0),
    "normal of both": lambda x: sg.normal(x, x),
    "pow": lambda x: x**0,
    "round": sg.round,
    "sign": sg.sign,
    "slogdet": lambda x: sg.linalg.slogdet(x)[0],
    "trunc": sg.trunc,
    "vector_norm": lambda x: sg.linalg.vector_norm(x, 0),
    "vector_norm along": lambda x: sg.linalg.vector_norm(x, 0, dim=0),
    "pairwise_distance": lambda x: sg.nn.functional.pairwise_distance(x, x + 1, p=0.0),
    "full slice": lambda x: sg.where(x < 100, 1.0, x),
}


@pytest.mark.parametrize("name", FLAT)
def test_a_flat_function_has_a_gradient_of_zeros(name: str, device: sg.Device) -> None:
    x = sg.tensor([[1.0, 2.0], [3.0, 4.0]], device=device, requires_grad=True)
    y = FLAT[name](x)
    assert y.requires_grad
    assert sg.autograd.grad(y.sum(), x)[0].tolist() == [[0.0, 0.0], [0.0, 0.0]]


def test_a_flat_result_is_the_same_for_any_input(device: sg.Device) -> None:
    x = sg.tensor([[inf, nan], [0.0, -inf]], device=device, requires_grad=True)
    y = sg.linalg.matrix_power(x, 0)
    assert y.tolist() == [[1.0, 0.0], [0.0, 1.0]]
    assert sg.norm(x, 0).item() == 3.0
    assert sg.autograd.grad(y.sum(), x)[0].tolist() == [[0.0, 0.0], [0.0, 0.0]]


def test_gradients_of_what_was_not_used_are_zeros_for_any_value(device: sg.Device) -> None:
    x = sg.tensor([inf, nan, 1.0], device=device, requires_grad=True)
    y = sg.ones(1, device=device, requires_grad=True)
    gx, gy = sg.autograd.grad((y * 2).sum(), [x, y], materialize_grads=True)
    assert gx.tolist() == [0.0, 0.0, 0.0] and gy.tolist() == [2.0]
