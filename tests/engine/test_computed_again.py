"""Large values that are cheap to compute from others are computed again where a gradient reads them, and temporaries go
over operands that nobody needs any more. Both save a GPU's memory and change no bit."""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np
import pytest

import spirograd as sg

pytestmark = pytest.mark.gpu
F = sg.nn.functional
ROWS, WIDTH = 131072, 32
BYTES = ROWS * WIDTH * 4  # of a layer's values: 16 MiB


def normal(*shape: int, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape, dtype=np.float32)


def layers(count: int, device: sg.Device) -> list[list[sg.Tensor]]:
    """Of each layer the weight, and the scale and shift of its norm."""
    arrays = [
        [normal(WIDTH, WIDTH, seed=3 * i) / 6, 1 + normal(WIDTH, seed=3 * i + 1) / 9, normal(WIDTH, seed=3 * i + 2)]
        for i in range(count)
    ]
    return [[sg.tensor(a, device=device, requires_grad=True) for a in of] for of in arrays]


def loss_of(x: sg.Tensor, parameters: list[list[sg.Tensor]], act: Callable[[sg.Tensor], sg.Tensor]) -> sg.Tensor:
    for weight, scale, shift in parameters:
        x = x + act(F.layer_norm(x, (WIDTH,), scale, shift) @ weight) @ weight
    return x.square().mean()


def arena_of(value: sg.Tensor) -> int:
    found = re.search(r"arena (\d+) bytes", value.plan()[0].print())
    assert found
    return int(found[1])


ACTS = {"gelu": F.gelu, "relu": F.relu}


@pytest.mark.parametrize("act", ACTS)
def test_gradients_have_the_bits_of_a_step_in_which_nothing_is_computed_again(act: str, gpu: sg.Device) -> None:
    found = []
    for read_before in (False, True):  # what was read is there: the gradients read it from memory
        parameters = layers(2, gpu)
        loss = loss_of(sg.tensor(normal(ROWS, WIDTH, seed=99), device=gpu), parameters, ACTS[act])
        if read_before:
            loss.item()
        loss.backward()
        found.append([p.grad.numpy() for of in parameters for p in of])
    for one, other in zip(*found, strict=True):
        np.testing.assert_array_equal(one, other)


def test_gradients_are_those_of_the_cpu(gpu: sg.Device) -> None:
    found = []
    for device in (gpu, sg.device("cpu")):
        parameters = layers(2, device)
        loss_of(sg.tensor(normal(ROWS, WIDTH, seed=99), device=device), parameters, F.gelu).backward()
        found.append([p.grad.numpy() for of in parameters for p in of])
    for one, other in zip(*found, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-6)


def test_a_layer_keeps_what_its_gradients_cannot_compute(gpu: sg.Device) -> None:
    """Its input, and the product before the activation; not the normalised input, and not the activation."""
    sizes = []
    for count in (3, 7):
        loss = loss_of(sg.tensor(normal(ROWS, WIDTH, seed=99), device=gpu), layers(count, gpu), F.gelu)
        loss.backward()
        sizes.append(arena_of(loss))
    assert sizes[1] - sizes[0] <= 4 * 2.8 * BYTES


def test_a_value_is_computed_again_from_what_was_there_before_a_write(gpu: sg.Device) -> None:
    array, weight = normal(ROWS, WIDTH, seed=1), normal(WIDTH, WIDTH, seed=2) / 12
    u, w = sg.tensor(array.copy(), device=gpu), sg.tensor(weight, device=gpu)
    sg.synchronize()
    h = (u + 1).relu()
    first = h @ w
    for _ in range(20):
        first = (first * 0.5).sin() @ w
    u.mul_(2)
    second = h.T @ first
    y = np.maximum(array.astype(np.float64) + 1, 0)
    want = y @ weight
    for _ in range(20):
        want = np.sin(want * 0.5) @ weight
    np.testing.assert_allclose(second.numpy(), y.T @ want, rtol=1e-3, atol=2)
    np.testing.assert_array_equal(u.numpy(), 2 * array)


def test_a_temporary_goes_over_an_operand_that_nobody_needs_any_more(gpu: sg.Device) -> None:
    a, b = (sg.tensor(normal(2048, 2048, seed=i), device=gpu) for i in range(2))  # 16 MiB each
    sg.synchronize()
    x = a @ b
    for i in range(3):
        x = (x * 0.001 + i).sin() @ b
    assert arena_of(x) <= 2.1 * 2048 * 2048 * 4


def test_an_operand_that_is_read_again_keeps_its_bytes(gpu: sg.Device) -> None:
    array, weight = normal(2048, 512, seed=1), normal(512, 512, seed=2)
    a, b = sg.tensor(array, device=gpu), sg.tensor(weight, device=gpu)
    sg.synchronize()
    x = a @ b
    y = (x * 0.5).exp() @ b  # over x? x is read once more
    z = x @ b
    mirrored = x.flip(0) + x  # reads x in another order too
    want = array.astype(np.float64) @ weight
    np.testing.assert_allclose(z.numpy(), want @ weight, rtol=1e-3, atol=5e-2)
    np.testing.assert_allclose(mirrored.numpy(), want[::-1] + want, rtol=1e-3, atol=1e-3)
    assert y.shape == z.shape
