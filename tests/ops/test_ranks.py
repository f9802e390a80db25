"""What has eight dimensions at most on both sides works, also where more would be handy on the way."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import spirograd as sg
from spirograd.nn import functional as F

FIVE, EIGHT = (2, 3, 2, 1, 2), (2, 1, 2, 3, 1, 2, 1, 2)

OPS: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any], tuple[int, ...]]] = {
    "repeat": (lambda x: x.repeat(1, 2, 2, 2, 2), lambda a: np.tile(a, (1, 2, 2, 2, 2)), FIVE),
    "repeat, all": (lambda x: x.repeat(2, 3, 2, 2, 2), lambda a: np.tile(a, (2, 3, 2, 2, 2)), FIVE),
    "repeat to eight": (lambda x: x.repeat(*[2] * 8), lambda a: np.tile(a, [2] * 8), FIVE),
    "repeat of columns": (lambda x: x.T.repeat(*[2] * 5), lambda a: np.tile(a.T, [2] * 5), FIVE),
    "repeat eight": (lambda x: x.repeat(1, 2, 1, 3, 1, 2, 2, 1), lambda a: np.tile(a, (1, 2, 1, 3, 1, 2, 2, 1)), EIGHT),
    "repeat 0": (lambda x: x.repeat(*[2] * 7, 0), lambda a: np.tile(a, [2] * 7 + [0]), EIGHT),
    "tile": (lambda x: x.tile(2, 2, 2, 2), lambda a: np.tile(a, (2, 2, 2, 2)), FIVE),
    "repeat_interleave": (lambda x: x.repeat_interleave(2, 3), lambda a: a.repeat(2, 3), EIGHT),
    "repeat_interleave, last": (lambda x: x.repeat_interleave(2, -1), lambda a: a.repeat(2, -1), EIGHT),
    "kron": (lambda x: sg.kron(x, x), lambda a: np.kron(a, a), FIVE),
    "kron with less": (lambda x: sg.kron(x, x[0, 0]), lambda a: np.kron(a, a[0, 0]), EIGHT[::-1]),
    "quantile": (lambda x: x.quantile(0.5, 3), lambda a: np.quantile(a, 0.5, 3), EIGHT),
    "quantile, kept": (lambda x: x.quantile(0.5, 3, True), lambda a: np.quantile(a, 0.5, 3, keepdims=True), EIGHT),
    "median": (lambda x: x.median(3)[0], lambda a: np.quantile(a, 0.5, 3, method="lower"), EIGHT),
    "softmax": (lambda x: x.softmax(3), lambda a: np.exp(a) / np.exp(a).sum(3, keepdims=True), EIGHT),
    "flip": (lambda x: x.flip(0, 3), lambda a: np.flip(a, (0, 3)), EIGHT),
    "roll": (lambda x: x.roll((1, 2), (0, 3)), lambda a: np.roll(a, (1, 2), (0, 3)), EIGHT),
    "cumsum": (lambda x: x.cumsum(3), lambda a: a.cumsum(3), EIGHT),
    "sort": (lambda x: x.sort(3)[0], lambda a: np.sort(a, 3), EIGHT),
    "pad": (lambda x: F.pad(x, [1] * 16), lambda a: np.pad(a, 1), EIGHT),
    "stepped": (lambda x: x[..., ::2, :, ::2], lambda a: a[..., ::2, :, ::2], EIGHT),
    "list": (lambda x: x[:, [0], :, [1]], lambda a: a[:, [0], :, [1]], EIGHT),
    "lists": (lambda x: x[[0, 1], :, [1, 0]], lambda a: a[[0, 1], :, [1, 0]], EIGHT),
    "matmul": (lambda x: x @ x.transpose(-1, -2), lambda a: a @ a.swapaxes(-1, -2), EIGHT),
    "mask": (lambda x: x[x > 0], lambda a: a[a > 0], EIGHT),
    "diagonal": (lambda x: x.diagonal(0, 0, 3), lambda a: a.diagonal(0, 0, 3), EIGHT),
    "einsum": (lambda x: sg.einsum("abcdefgh->hc", x), lambda a: np.einsum("abcdefgh->hc", a), EIGHT),
    "tensordot": (lambda x: sg.tensordot(x, x, 7), lambda a: np.tensordot(a, a.reshape(*EIGHT[1:], 2), 7), EIGHT),
    "glu": (lambda x: F.glu(x, 0), lambda a: a[:1] / (1 + np.exp(-a[1:])), EIGHT),
    "group_norm": (
        lambda x: F.group_norm(x.transpose(1, 3), 3),
        lambda a: ((b := a.swapaxes(1, 3)) - (m := b.mean((2, 3, 4, 5, 6, 7), keepdims=True)))
        / np.sqrt(b.var((2, 3, 4, 5, 6, 7), keepdims=True) + 1e-5) + 0 * m,
        EIGHT,
    ),
}  # fmt: skip
del OPS["tensordot"]


@pytest.mark.parametrize("name", OPS)
def test_eight_dimensions_are_enough(name: str, device: sg.Device) -> None:
    op, oracle, shape = OPS[name]
    a = np.random.default_rng(0).standard_normal(shape).astype(np.float32)
    x = sg.tensor(a, device=device, requires_grad=True)
    y = op(x)
    np.testing.assert_allclose(y.detach().numpy(), oracle(a.astype(np.float64)), rtol=1e-4, atol=1e-5)
    y.sum().backward()
    assert x.grad.shape == x.shape


def test_the_gradient_of_a_repetition_is_a_sum(device: sg.Device) -> None:
    x = sg.ones(*FIVE, device=device).requires_grad_()
    x.repeat(*[2] * 5).sum().backward()
    assert (x.grad == 32).all().item()


def test_cartesian_prod_of_many(device: sg.Device) -> None:
    vectors = [sg.arange(2, device=device) for _ in range(9)]
    rows = sg.cartesian_prod(*vectors)
    assert rows.shape == (512, 9)
    assert [int("".join(map(str, row)), 2) for row in rows.tolist()] == list(range(512))


def test_einsum_pairs_what_fits(device: sg.Device) -> None:
    random = np.random.default_rng(0)
    equation = "abcde,fghij,bcdefghi->aj"
    arrays = [random.standard_normal((2,) * len(t)).astype(np.float32) for t in equation.split("->")[0].split(",")]
    got = sg.einsum(equation, *(sg.tensor(a, device=device) for a in arrays))
    np.testing.assert_allclose(got.numpy(), np.einsum(equation, *arrays), rtol=1e-4, atol=1e-4)
