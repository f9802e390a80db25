"""Products of few long sums, as gradients of weights are: on a GPU the sum is cut in slices."""

from __future__ import annotations

import numpy as np
import pytest

import spirograd as sg
import spirograd.nn.functional as F

# m, k, n; whether a GPU slices the sum
CASES = [
    (48, 4096, 40, True),
    (10, 3072, 10, True),
    (130, 2048, 20, True),
    (1, 1024, 1, True),
    (64, 2054, 33, False),
    (48, 4100, 40, True),  # the last slice is shorter
    (131, 2084, 133, True),
    (1, 1036, 1, True),
]


def normal(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape)


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize(("m", "k", "n", "sliced"), CASES)
def test_a_long_sum_with_what_follows_it(device: sg.Device, m: int, k: int, n: int, sliced: bool, turned: bool) -> None:
    a, b, bias = normal(*((k, m) if turned else (m, k))), normal(k, n, seed=1), normal(n, seed=2)
    x, y, z = (sg.tensor(v.astype(np.float32), device=device) for v in (a, b, bias))
    sg.synchronize(device)  # what another test left pending is no part of the plan
    result = ((x.T if turned else x) @ y + z).relu()
    assert len(result.plan()) == (2 if sliced and device.kind == "gpu" else 1)
    want = np.maximum((a.T if turned else a) @ b + bias, 0)
    np.testing.assert_allclose(result.numpy(), want, atol=1e-5 * np.sqrt(k))


def test_the_last_slice_may_be_shorter(device: sg.Device) -> None:
    a, b = (sg.tensor(normal(*shape).astype(np.float32), device=device) for shape in ((48, 4100), (4100, 40)))
    sg.synchronize(device)
    first = (a @ b).plan()[0].print()
    assert ("product [16, 48, 260] @ [16, 260, 40], slices of a sum of 4100" in first) == (device.kind == "gpu")


@pytest.mark.parametrize("k", [2048, 2060])
def test_float64_keeps_its_accuracy(device: sg.Device, k: int) -> None:
    a, b = normal(16, k), normal(k, 8, seed=1)
    try:
        result = (sg.tensor(a, device=device) @ sg.tensor(b, device=device)).numpy()
    except sg.LimitError:
        pytest.skip("the device has no float64")
    np.testing.assert_allclose(result, a @ b, rtol=1e-11, atol=1e-11)


def test_an_update_from_a_long_sum_is_written_in_place(device: sg.Device) -> None:
    x, start = normal(4096, 32).astype(np.float32), normal(32, 24, seed=1).astype(np.float32)
    w = sg.tensor(start, device=device, requires_grad=True)
    optimizer = sg.optim.SGD([w], lr=0.1)
    (sg.tensor(x, device=device) @ w).sum().backward()
    optimizer.step()
    want = start - 0.1 * x.astype(np.float64).sum(0)[:, None]
    np.testing.assert_allclose(w.detach().numpy(), want, atol=1e-3)


def test_runs_give_the_same_bits(device: sg.Device) -> None:
    a, b = (sg.tensor(normal(*s).astype(np.float32), device=device) for s in ((48, 4096), (4096, 40)))
    np.testing.assert_array_equal((a @ b).numpy(), (a @ b).numpy())


def error(found: sg.Tensor, want: np.ndarray) -> float:
    return float(np.linalg.norm(found.numpy() - want) / np.linalg.norm(want))


def test_a_long_sum_of_like_numbers_keeps_its_digits(device: sg.Device) -> None:
    """One chain of 4096 additions is off by 1e-6."""
    a, b = np.abs(normal(64, 4096)).astype(np.float32), np.abs(normal(4096, 64, seed=1)).astype(np.float32)
    found = sg.tensor(a, device=device) @ sg.tensor(b, device=device)
    assert error(found, a.astype(np.float64) @ b.astype(np.float64)) < 2e-7


def test_so_does_one_of_a_convolution(device: sg.Device) -> None:
    x, w = np.abs(normal(2, 512, 4, 4)).astype(np.float32), np.abs(normal(64, 512, 3, 3, seed=1)).astype(np.float32)
    want = F.conv2d(sg.tensor(x.astype(np.float64)), sg.tensor(w.astype(np.float64)), padding=1).numpy()
    found = F.conv2d(sg.tensor(x, device=device), sg.tensor(w, device=device), padding=1)
    assert error(found, want) < 2e-7


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("k", [1, 7, 256, 600])
def test_a_bias_is_added_to_the_finished_product(k: int, dtype: str) -> None:
    """Inside the product on a CPU, whatever the sizes of tiles: to the bits of a sum of its own."""
    rng = np.random.default_rng(3)
    for m, n in ((1, 8), (5, 33), (400, 65), (130, 1027), (3, 7)):
        a, b, bias = (sg.tensor(rng.normal(size=s).astype(dtype)) for s in ((m, k), (n, k), (n + 1,)))
        product = (a @ b.T).numpy()
        np.testing.assert_array_equal((a @ b.T + bias[1:]).numpy(), product + bias.numpy()[1:])
        np.testing.assert_array_equal((bias[1:] + a @ b.T).numpy(), product + bias.numpy()[1:])
        wide = sg.zeros(m, n + 2, dtype=dtype)
        wide[:, 1:-1] = a @ b.T + bias[1:]
        np.testing.assert_array_equal(wide.numpy()[:, 1:-1], product + bias.numpy()[1:])
        batch = sg.stack([a, 2 * a]) @ b.T + sg.stack([bias[1:], bias[:-1]]).unsqueeze(1)
        own = (2 * a @ b.T).numpy() + bias.numpy()[:-1]
        if m > 1:
            np.testing.assert_array_equal(batch[1].numpy(), own)
        else:  # one row alone is added up in another order
            np.testing.assert_allclose(batch[1].numpy(), own, rtol=0, atol=1e-4 if dtype == "float32" else 1e-12)
        np.testing.assert_array_equal((a @ b.T + bias[1]).numpy(), product + bias.numpy()[1])


@pytest.mark.parametrize("n", [31, 512, 1027])
@pytest.mark.parametrize("k", [1, 257, 600])
def test_a_row_times_a_matrix_has_the_bits_of_the_row_of_a_product(k: int, n: int) -> None:
    """On a CPU, where the rows of the matrix lie in order: read in longer runs, and added up the same way."""
    rng = np.random.default_rng(5)
    a, b = (sg.tensor(rng.normal(size=s).astype(np.float32)) for s in ((3, k), (k, n)))
    whole = (a @ b).numpy()
    for i in range(3):
        np.testing.assert_array_equal((a[i] @ b).numpy(), whole[i])
