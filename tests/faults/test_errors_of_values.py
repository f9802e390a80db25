"""An error belongs to the values that depend on what failed, and to the thread that made it."""

from __future__ import annotations

import threading
import time
from contextlib import suppress

import pytest

import spirograd as sg

SECONDS, THREADS = 1.5, 4


def bad(device: sg.Device) -> sg.Tensor:
    return sg.arange(6.0, device=device).take(sg.tensor([9], device=device))


def test_what_does_not_depend_on_it_has_its_value(device: sg.Device) -> None:
    failed = bad(device)
    y = sg.ones(3, device=device) * 2
    assert y.tolist() == [2, 2, 2]
    with pytest.raises(IndexError, match="take: index 9"):
        failed.item()
    assert y.tolist() == [2, 2, 2]


def test_of_three_requests_the_bad_one_raises(device: sg.Device) -> None:
    x = sg.arange(6.0, device=device)
    first, second, third = (x.take(sg.tensor([i], device=device)) * 2 for i in (1, 9, 3))
    with pytest.raises(IndexError, match="take: index 9"):
        second.item()
    assert (first.item(), third.item()) == (2, 6)


def test_writes_beside_a_failure_are_made(device: sg.Device) -> None:
    a, b = sg.zeros(3, device=device), sg.zeros(1, device=device)
    failed = bad(device)
    a.add_(1)
    b.add_(failed)
    with pytest.raises(IndexError, match="take: index 9"):
        failed.item()
    assert a.tolist() == [1, 1, 1]
    assert b.item() == 0, "a write of what failed is not done"


@pytest.mark.parametrize("kind", [sg.optim.Adam, sg.optim.SGD])
def test_a_step_whose_inputs_failed_is_not_counted(kind: type[sg.optim.Optimizer], device: sg.Device) -> None:
    net = sg.nn.Linear(4, 3).to(device)
    optimizer = kind(net.parameters(), lr=0.1)
    x, good, wrong = sg.ones(2, 4, device=device), sg.tensor([0, 2], device=device), sg.tensor([0, 3], device=device)

    def step(target: sg.Tensor) -> None:
        optimizer.zero_grad()
        sg.nn.functional.cross_entropy(net(x), target).backward()
        optimizer.step()

    step(good)
    before = [p.tolist() for p in net.parameters()]
    with pytest.raises(IndexError, match="cross_entropy: index 3"):
        step(wrong)
        sg.synchronize(device)
    assert [p.tolist() for p in net.parameters()] == before
    assert {int(s["step"]) for s in optimizer.state.values() if "step" in s} <= {1}


def test_the_guilty_thread_alone_gets_its_errors(device: sg.Device) -> None:
    end, wrong = time.perf_counter() + SECONDS, []

    def innocent() -> None:
        w, times = sg.zeros(3, device=device), 0
        while time.perf_counter() < end:
            try:
                w.add_(1)
                times += 1
                if (sg.ones(3, device=device) * times).sum().item() != 3 * times or w[0].item() != times:
                    wrong.append(f"a wrong value after {times} writes")
            except IndexError as error:
                wrong.append(str(error))

    def guilty() -> None:
        while time.perf_counter() < end:
            with suppress(IndexError):
                wrong.append(f"no error, but {bad(device).item()}")

    threads = [threading.Thread(target=f) for f in (guilty, *[innocent] * (THREADS - 1))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong, f"{len(wrong)} times, first: {wrong[0]}"
