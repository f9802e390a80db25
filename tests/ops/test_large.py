"""Tensors of more than 2^31 elements: sizes, places and counts beyond 32 bits."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import spirograd as sg

pytestmark = pytest.mark.slow

N = 2**31 + 1001
GIB = 2**30


def free_memory(device: sg.Device) -> int:
    if device.kind == "gpu":
        return device.memory_free
    lines = Path("/proc/meminfo").read_text().splitlines() if Path("/proc/meminfo").exists() else []
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:")), 0)


def need_memory(device: sg.Device, gib: int) -> None:
    if free_memory(device) < gib * GIB:
        pytest.skip(f"{device} has {free_memory(device) / GIB:.1f} GiB free; {gib} are needed")


@pytest.fixture
def x(device: sg.Device) -> Iterator[sg.Tensor]:
    """Sevens, but for a 9 and a 1 behind the places that 31 bits count."""
    need_memory(device, 12)
    try:
        x = sg.full((N,), 7, dtype=sg.uint8, device=device)
        x[N - 2] = 9
        x[2**31] = 1
        x.realize()
    except sg.LimitError as e:
        pytest.skip(str(e))
    yield x


def test_fills_and_slices_near_the_end(x: sg.Tensor) -> None:
    assert x.numel() == N and x.shape == (N,)
    assert x[-4:].tolist() == [7, 7, 9, 7] and x[2**31 - 1 : 2**31 + 2].tolist() == [7, 1, 7]
    assert x[N - 2].item() == 9 and x[2**31].item() == 1
    x[N - 10 : N - 6] = 3
    x[2**31 - 2 :: 500] = 5
    assert x[-11:-5].tolist() == [7, 3, 3, 3, 3, 7]
    assert x[2**31 - 2 : 2**31 + 1].tolist() == [5, 7, 1] and x[2**31 + 498].item() == x[2**31 + 998].item() == 5
    x.fill_(4)
    assert x[-2:].tolist() == [4, 4] and x[:2].tolist() == [4, 4]


def test_arithmetic_reaches_the_end(x: sg.Tensor) -> None:
    y = (x + 250).realize()
    assert y[-4:].tolist() == [1, 1, 3, 1] and y[2**31].item() == 251 and y[0].item() == 1
    assert (y == 1).sum().item() == N - 2
    z = (x + y).realize()
    assert z[-3:].tolist() == [8, 12, 8]


def test_sums_and_extremes_count_all(x: sg.Tensor) -> None:
    assert x.sum().item() == 7 * N + 2 - 6
    assert (x == 7).sum().item() == x.count_nonzero().item() - 2 == N - 2
    assert x.max().item() == 9 and x.min().item() == 1
    assert x.argmax().item() == N - 2 and x.argmin().item() == 2**31


def test_indices_near_the_end(x: sg.Tensor) -> None:
    at = sg.tensor([N - 2, 2**31, N - 1, 0, 2**31 - 1], device=x.device)
    want = [9, 1, 7, 7, 7]
    assert x[at].tolist() == x.take(at).tolist() == x.index_select(0, at).tolist() == x.gather(0, at).tolist() == want
    assert x[sg.tensor([-2, -1001], device=x.device)].tolist() == [9, 1]
    with pytest.raises(IndexError, match=rf"index {N} out of range \[0, {N}\)"):
        x.take(sg.tensor([N], device=x.device)).tolist()
    x[at[:2]] = sg.tensor([5, 6], dtype=sg.uint8, device=x.device)
    assert x[at].tolist() == [5, 6, 7, 7, 7] and x.sum().item() == 7 * N - 3


def test_running_sums_reach_the_end(x: sg.Tensor) -> None:
    need_memory(x.device, 48)  # it adds in int64
    total = x.cumsum(0, dtype=sg.uint8)
    assert total[0].item() == 7 and total[2**31 - 1].item() == 7 * 2**31 % 256
    assert total[2**31].item() == (7 * 2**31 + 1) % 256
    assert total[-2:].tolist() == [(7 * (N - 1) + 2 - 6) % 256, (7 * N + 2 - 6) % 256]


def test_views_of_several_dimensions_reach_the_end(x: sg.Tensor) -> None:
    rows = x[: 2**31 + 1000].reshape(-1, 8)
    assert rows.shape == (2**28 + 125, 8)
    assert rows[2**28].tolist() == [1, *[7] * 7] and rows[-1].tolist() == [7] * 7 + [9]
    assert rows.T[7, -2:].tolist() == [7, 9]
    assert rows.sum(0).tolist() == [7 * (2**28 + 125) - 6, *[7 * (2**28 + 125)] * 6, 7 * (2**28 + 125) + 2]
    assert sg.cat([x, x[:5]]).shape == (N + 5,)
