"""Copies to the host that come later, events, and reads that are awaited."""

from __future__ import annotations

import asyncio
import gc
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import spirograd as sg


def later(x: sg.Tensor) -> sg.Tensor:
    return x.to("cpu", non_blocking=True)


def numbers(device: sg.Device, *shape: int, seed: int = 0) -> tuple[sg.Tensor, np.ndarray[Any, Any]]:
    values = np.random.default_rng(seed).normal(size=shape).astype(np.float32)
    return sg.tensor(values, device=device), values


USES: dict[str, Callable[[sg.Tensor], Any]] = {
    "numpy": lambda y: y.numpy(),
    "tolist": lambda y: np.array(y.tolist()),
    "item": lambda y: np.array([[v.item() for v in row] for row in y]),
    "plus": lambda y: (y + 1).numpy() - 1,
    "transposed": lambda y: y.T.contiguous().numpy().T,
    "part": lambda y: np.concatenate([y[:2].numpy(), y[2:].numpy()]),
    "written": lambda y: y.mul_(2).numpy() / 2,
    "written in part": lambda y: (y.__setitem__((0, 0), y[0, 0] * 1), y.numpy())[1],
    "dlpack": lambda y: np.from_dlpack(y),
    "cloned": lambda y: y.clone().numpy(),
    "summed": lambda y: (y.sum() * 0 + y).numpy(),
}


@pytest.mark.parametrize("use", USES)
def test_whoever_looks_sees_the_values(use: str, device: sg.Device) -> None:
    x, values = numbers(device, 5, 7)
    y = later(x * 2 - 1)
    assert y.device == sg.Device("cpu") and y.shape == (5, 7) and y.dtype == sg.float32
    np.testing.assert_allclose(USES[use](y), values * 2 - 1, rtol=1e-6, atol=1e-6)


def test_it_goes_back_to_the_device(device: sg.Device) -> None:
    x, values = numbers(device, 5, 7)
    np.testing.assert_array_equal(later(x).to(device).cpu().numpy(), values)


@pytest.mark.parametrize("shape", [(), (0, 3), (1,), (1 << 21,)], ids=str)
def test_sizes_and_types(shape: tuple[int, ...], device: sg.Device) -> None:
    for dtype in (sg.float32, sg.int64, sg.bool, sg.float16):
        x = sg.arange(int(np.prod(shape)), device=device).reshape(shape).to(dtype)
        assert np.array_equal(later(x).numpy(), x.cpu().numpy()) and later(x).dtype == dtype


@pytest.mark.gpu
def test_views_and_writes_after_it() -> None:
    """What is copied are the values of the moment."""
    device = sg.Device("gpu")
    x, values = numbers(device, 6, 8)
    copies = [later(x[1:4, ::2]), later(x.T), later(x)]
    x.zero_()
    x += 5
    del x
    gc.collect()
    for y, wanted in zip(copies, (values[1:4, ::2], values.T, values), strict=True):
        np.testing.assert_array_equal(y.numpy(), wanted)


def test_gradients_go_through(device: sg.Device) -> None:
    x, values = numbers(device, 4)
    x.requires_grad_()
    later(x * 3).square().sum().backward()
    np.testing.assert_allclose(x.grad.cpu().numpy(), 18 * values, rtol=1e-6)


@pytest.mark.gpu
def test_it_returns_before_the_work_is_done() -> None:
    device = sg.Device("gpu")
    x = sg.rand(600, 600, device=device)
    for _ in range(6):
        x = (x @ x) / 300
    y = later(x)
    early = sg._core._has_arrived(y)
    wanted = x.cpu().numpy()
    assert not early and sg._core._has_arrived(y)
    np.testing.assert_array_equal(y.numpy(), wanted)


@pytest.mark.gpu
def test_many_are_on_their_way_at_once() -> None:
    device = sg.Device("gpu")
    x = sg.arange(1000.0, device=device)
    copies = [later(x + i) for i in range(40)]
    dropped = [later(x * i) for i in range(10)]
    del dropped
    for i in reversed(range(40)):
        np.testing.assert_array_equal(copies[i].numpy(), np.arange(1000.0, dtype=np.float32) + i)


@pytest.mark.gpu
def test_threads_wait_for_the_same_copy() -> None:
    device = sg.Device("gpu")
    found: list[np.ndarray[Any, Any]] = []
    x = sg.rand(400, 400, device=device)
    y = later(x @ x)
    threads = [threading.Thread(target=lambda: found.append((y + 0).numpy())) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert len(found) == 4 and all(np.array_equal(f, found[0]) for f in found)


@pytest.mark.gpu
def test_an_index_out_of_range_is_raised_by_a_look() -> None:
    device = sg.Device("gpu")
    table = sg.arange(4.0, device=device)
    y = later(table[sg.tensor([1, 9], device=device)])
    with pytest.raises(IndexError):
        y.numpy()
        sg.synchronize()


@pytest.mark.gpu
def test_it_cannot_be_recorded() -> None:
    x = sg.ones(3, device="gpu")
    with pytest.raises(sg.Error, match="reads a value"):
        for _ in range(5):
            sg.compile(lambda v: later(v * 2))(x)


# ---- events ----------------------------------------------------------------------------------------------------------


def test_events_tell_when_work_is_done(device: sg.Device) -> None:
    event = sg.Event(device)
    assert event.query()
    x = sg.rand(600, 600, device=device)
    for _ in range(6):
        x = (x @ x) / 300
    event.record()
    early = event.query()
    event.synchronize()
    assert event.query() and (device.kind == "cpu" or not early)


def test_events_keep_time(device: sg.Device) -> None:
    first, second = (sg.Event(device, enable_timing=True) for _ in range(2))
    with pytest.raises(ValueError, match="elapsed_time: an event has no time"):
        first.elapsed_time(second)
    first.record()
    (sg.rand(300, 300, device=device) @ sg.rand(300, 300, device=device)).realize()
    second.record()
    assert first.elapsed_time(second) > 0 > second.elapsed_time(first)


# ---- reads that are awaited ------------------------------------------------------------------------------------------


def test_a_read_is_awaited(device: sg.Device) -> None:
    x, values = numbers(device, 3, 4)

    async def main() -> list[np.ndarray[Any, Any]]:
        return await asyncio.gather(x.numpy_async(), (x * 2).numpy_async(), x.requires_grad_().T.numpy_async())

    for got, wanted in zip(asyncio.run(main()), (values, values * 2, values.T), strict=True):
        np.testing.assert_array_equal(got, wanted)


def test_other_tasks_go_on_meanwhile(device: sg.Device) -> None:
    n = 700 if device.kind == "gpu" else 1200
    x = sg.rand(n, n, device=device)
    ticks = 0

    async def main() -> None:
        nonlocal ticks
        y = x
        for _ in range(500 if device.kind == "gpu" and device.type != "software" else 1):  # one is too short for a GPU
            y = (y @ y) / 350
        read = asyncio.ensure_future(y.numpy_async())
        while not read.done():
            ticks += 1
            await asyncio.sleep(0.0005)
        assert (await read).shape == (n, n)

    asyncio.run(main())
    assert ticks >= 2


def test_an_awaited_number(device: sg.Device) -> None:
    async def main() -> list[Any]:
        x = sg.arange(4, device=device)
        return await asyncio.gather(x.sum().item_async(), x.bfloat16().mean().item_async())

    assert asyncio.run(main()) == [6, 1.5]
    with pytest.raises(ValueError, match="item_async: the tensor has 3 elements; reduce it to one, or use numpy_async"):
        asyncio.run(sg.ones(3, device=device).item_async())
