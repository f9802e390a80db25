"""The most memory in use: tensors, and what a run needs inside."""

from __future__ import annotations

import pytest

import spirograd as sg

memory = sg.accelerator.memory
SIDE = 1024
VALUE = 4 * SIDE * SIDE  # bytes
SMALL = 64 << 10  # results of one element, and rounding


def counted(device: sg.Device) -> dict[str, int]:
    return sg._core._device_stats(device)


def test_a_run_counts_what_it_uses_inside(device: sg.Device) -> None:
    x = sg.randn(SIDE, SIDE, device=device).realize()
    for _ in range(2):  # the plan is made, and is run again
        sg.synchronize(device)
        sg._core._reset_peak(device)
        before = counted(device)
        assert before["bytes_peak"] == before["bytes_live"]
        y = x.cumsum(0).cumsum(1).cumsum(0).sum()  # one is written while the one before is read
        y.item()
        after = counted(device)
        assert 2 * VALUE <= after["bytes_peak"] - before["bytes_live"] <= 2 * VALUE + VALUE // 4
        assert after["bytes_live"] <= before["bytes_live"] + SMALL
        sg._core._reset_peak(device)
        assert counted(device)["bytes_peak"] == counted(device)["bytes_live"]


def test_a_step_is_counted_and_leaves_what_tensors_hold(device: sg.Device) -> None:
    net = sg.nn.Sequential(sg.nn.Linear(64, 2048), sg.nn.Tanh(), sg.nn.Linear(2048, 8)).to(device)
    x = sg.randn(512, 64, device=device).realize()
    opt = sg.optim.SGD(net.parameters(), lr=0.1)

    def step() -> None:
        opt.zero_grad()
        net(x).square().mean().backward()
        opt.step()
        sg.synchronize(device)

    step()
    sg._core._reset_peak(device)
    before = counted(device)["bytes_live"]
    step()
    assert counted(device)["bytes_live"] == before
    assert counted(device)["bytes_peak"] >= before + 4 * 512 * 2048  # the hidden layer's values
    rows = dict(row.strip().rsplit("  ", 1) for row in sg.memory_summary(device).splitlines()[1:])
    most = next(text for name, text in rows.items() if name.startswith("most in use"))
    assert float(most.split()[0]) >= 4 and most.endswith("MiB")


def test_a_profile_shows_it(device: sg.Device) -> None:
    x = sg.randn(SIDE, SIDE, device=device).realize()
    sg.synchronize(device)
    with sg.profiler.profile(profile_memory=True) as prof:
        x.cumsum(0).cumsum(1).cumsum(0).sum().item()
        sg.synchronize(device)
    sizes = [size for _, size in prof.memory_timeline()[str(device)]]
    assert max(sizes) >= sizes[-1] + 2 * VALUE


@pytest.mark.gpu
def test_the_driver_has_given_as_much(gpu: sg.Device) -> None:
    side = 6144  # values of 144 MiB: an allocation of its own each
    value, slack = 4 * side * side, 96 << 20
    sg.empty_cache()
    sg.synchronize(gpu)
    sg._core._count_vulkan_calls(True)
    try:
        memory.reset_peak_memory_stats()
        live, held = memory.memory_allocated(), memory.memory_reserved()
        x = sg.ones(side, side, device=gpu).realize()
        x.cumsum(0).sum().item()
        given = sg._core._vulkan_calls()["memory_bytes"]
        peak = memory.max_memory_allocated() - live
        assert 2 * value <= peak <= given + SMALL <= peak + slack
        assert memory.memory_reserved() - held <= given <= memory.memory_reserved() - held + (8 << 20)  # staging
        assert memory.memory_allocated() - live <= value + SMALL
        assert memory.memory_stats()["reserved_bytes.all.current"] == memory.memory_reserved()
        sg.empty_cache()
        assert sg._core._vulkan_calls()["memory_bytes"] <= value + slack
        assert memory.memory_reserved() - held <= value + slack
    finally:
        sg._core._count_vulkan_calls(False)
