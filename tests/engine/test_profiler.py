"""Profiles: every kernel once, times that add up to the wall time, and nothing changed by looking."""

from __future__ import annotations

import json
import threading
import time
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

import spirograd as sg
from spirograd.profiler import Event, ProfilerActivity, profile, record_function


class Loop:
    """A small training loop."""

    def __init__(self, device: sg.Device) -> None:
        sg.manual_seed(1)
        self.net = sg.nn.Sequential(sg.nn.Linear(32, 64), sg.nn.ReLU(), sg.nn.Linear(64, 4)).to(device)
        self.optimizer = sg.optim.Adam(self.net.parameters(), lr=1e-2)
        self.x = sg.randn(48, 32, device=device)
        self.y = sg.tensor([i % 4 for i in range(48)], device=device)

    def loss(self) -> sg.Tensor:
        return sg.nn.functional.cross_entropy(self.net(self.x), self.y)

    def step(self) -> sg.Tensor:
        self.optimizer.zero_grad()
        loss = self.loss()
        loss.backward()
        self.optimizer.step()
        return loss

    def run(self, steps: int) -> list[float]:
        return [self.step().item() for _ in range(steps)]


def work(events: list[Event], device: sg.Device) -> list[Event]:
    """What ran of plans."""
    return [e for e in events if e.category == ("step" if str(device) == "cpu" else "kernel")]


def test_every_dispatch_appears_once_under_its_plan_name(device: sg.Device) -> None:
    x, w = sg.randn(8, 16, device=device), sg.randn(16, 4, device=device)
    sg.synchronize()
    y = (x @ w).relu().sum(dim=0)
    names = Counter(s.name for s in y.plan())
    before = sg.stats()["dispatches"]
    with profile() as prof:
        y.numpy()
    assert Counter(e.name for e in work(prof.events(), device)) == names
    assert sg.stats()["dispatches"] - before == sum(names.values())


def test_bytes_and_flops_are_those_of_the_plan(device: sg.Device) -> None:
    a, b = sg.randn(8, 16, device=device), sg.randn(16, 4, device=device)
    row = sg.randn(4, device=device)
    sg.synchronize()
    with profile(record_shapes=True) as prof:
        (a @ b).numpy()
        (b * row).numpy()
    product, pointwise = work(prof.events(), device)
    assert product.flops == 2 * 8 * 16 * 4
    assert product.bytes == 4 * (8 * 16 + 16 * 4 + 8 * 4)
    assert product.shapes == "[8, 16] @ [16, 4]"
    assert pointwise.flops == 16 * 4
    assert pointwise.bytes == 4 * (16 * 4 + 4 + 16 * 4), "a broadcast operand is read once"


def test_rows_and_idle_are_the_wall_time(device: sg.Device) -> None:
    loop = Loop(device)
    loop.run(2)
    with profile() as prof:
        begin = time.perf_counter()
        loop.run(10)
        time.sleep(0.02)
        sg.synchronize()
        wall = 1e6 * (time.perf_counter() - begin)
    assert prof.wall == pytest.approx(wall, rel=0.05)
    rows = prof.key_averages()
    assert sum(r.self_cpu_time_total for r in rows) == pytest.approx(wall, rel=0.05)
    idle = {r.key: r for r in rows if r.category == "idle"}
    assert 15e3 < idle["[host outside spirograd]"].self_cpu_time_total < wall
    if str(device) == "cpu":
        return
    assert sum(r.device_time_total for r in rows) == pytest.approx(wall, rel=0.05)
    assert 15e3 < idle[f"[{device} idle]"].device_time_total < wall, "asleep, nothing is submitted"


@pytest.mark.gpu
def test_kernels_lie_between_their_submission_and_the_end_of_the_wait(device: sg.Device) -> None:
    if str(device) == "cpu":
        pytest.skip("the CPU has one clock")
    x = sg.randn(64, 64, device=device)
    for _ in range(2):
        (x @ x).numpy()
    with profile() as prof:
        for _ in range(5):
            (x @ x).numpy()
    submits = [e for e in prof.events() if e.name == "submit"]
    downloads = [e for e in prof.events() if e.name == "download"]
    kernels = work(prof.events(), device)
    assert len(kernels) == len(downloads) == 5
    for i, kernel in enumerate(kernels):
        first = next(s for s in submits if s.start > (downloads[i - 1].end if i else 0))
        assert first.start <= kernel.start < kernel.end <= downloads[i].end
    assert prof.clocks[str(device)] in {"calibrated", "anchored"}


def test_a_profile_changes_neither_results_nor_submissions(device: sg.Device) -> None:
    def counted(with_profile: bool) -> tuple[list[float], int, int]:
        loop = Loop(device)
        loop.run(1)
        before = sg.stats()
        if with_profile:
            with profile(record_shapes=True, with_stack=True):
                losses = loop.run(3)
        else:
            losses = loop.run(3)
        after = sg.stats()
        return losses, after["submissions"] - before["submissions"], after["dispatches"] - before["dispatches"]

    assert counted(False) == counted(True)


def test_what_is_pending_at_the_end_stays_pending(device: sg.Device) -> None:
    x = sg.ones(3, device=device)
    sg.synchronize()
    with profile() as prof:
        y = x + 1
    assert not work(prof.events(), device)
    assert y.plan()
    assert y.tolist() == [2.0, 2.0, 2.0]


def test_without_a_profile_nothing_is_noted(device: sg.Device) -> None:
    with profile():
        pass
    Loop(device).run(1)
    with record_function("outside"):
        pass
    with profile() as prof:
        pass
    assert [e.name for e in prof.events() if e.name != "wait"] == []


def test_a_new_structure_is_scheduled_prepared_and_run_in_stages(device: sg.Device) -> None:
    x = sg.randn(7, 11, device=device)
    sg.synchronize()
    with profile() as prof:
        (x * 3 - x).sum(dim=1).numpy()
        (x * 3 - x).sum(dim=1).numpy()
    count = Counter(e.name for e in prof.events() if e.category == "stage")
    assert count["flush"] == 2
    assert count["schedule"] == count["prepare"] == 1
    if str(device) != "cpu":
        assert count["record"] == count["download"] == 2
        assert count["submit"] == 4, "two runs and two downloads"
    ops = Counter(e.name for e in prof.events() if e.category == "cpu_op")
    assert (ops["mul"], ops["sub"], ops["sum"]) == (2, 2, 2)


def test_regions_nest_and_keep_their_own_time() -> None:
    @record_function("inner")
    def inner(depth: int) -> None:
        time.sleep(0.002)
        if depth:
            inner(depth - 1)

    with profile() as prof, record_function("outer"):
        time.sleep(0.002)
        inner(1)
    outer, first, second = (e for e in prof.events() if e.category == "user_annotation")
    assert [outer.name, first.name, second.name] == ["outer", "inner", "inner"]
    assert first.cpu_parent is outer and second.cpu_parent is first
    assert outer.self_cpu_time_total == pytest.approx(outer.duration - first.duration)
    row = next(r for r in prof.key_averages() if r.key == "inner")
    assert row.count == 2
    assert row.cpu_time_total == pytest.approx(first.duration), "the inner one is inside already"


def test_threads_have_tracks_of_their_own() -> None:
    def other() -> None:
        with record_function("other"):
            sg.ones(3).add(1).tolist()

    with profile() as prof:
        thread = threading.Thread(target=other)
        with record_function("waiting"):
            thread.start()
            thread.join()
    by_name = {e.name: e for e in prof.events()}
    assert by_name["other"].thread != by_name["waiting"].thread
    assert by_name["other"].cpu_parent is None
    assert by_name["add"].cpu_parent is by_name["other"]


def test_stacks_name_the_calling_line() -> None:
    with profile(with_stack=True) as prof:
        sg.ones(3).exp().tolist()
    exp = next(e for e in prof.events() if e.name == "exp")
    assert Path(__file__).name in exp.stack


def test_the_trace_is_what_chrome_reads(device: sg.Device, tmp_path: Path) -> None:
    loop = Loop(device)
    with profile() as prof, record_function("region"):
        loop.run(2)
    path = tmp_path / "trace.json"
    prof.export_chrome_trace(path)
    events = json.loads(path.read_text())["traceEvents"]
    assert {e["ph"] for e in events} == {"X", "M", "C"}
    for e in events:
        assert isinstance(e["name"], str)
        assert isinstance(e["pid"], int)
        assert isinstance(e["tid"], int)
        assert isinstance(e["ts"], int | float)
        if e["ph"] == "X":
            assert e["dur"] >= 0
            assert -1e3 <= e["ts"] <= prof.wall
    complete = Counter(e["name"] for e in events if e["ph"] == "X")
    assert complete == Counter(e.name for e in prof.events())
    assert max(e["args"]["bytes_live"] for e in events if e["ph"] == "C") > 0
    tracks = {e["args"]["name"] for e in events if e["ph"] == "M"}
    assert str(device) in tracks


def test_the_table_sorts_limits_and_totals(device: sg.Device) -> None:
    loop = Loop(device)
    with profile() as prof:
        loop.run(2)
    rows = prof.key_averages()
    text = rows.table(sort_by="count", row_limit=3)
    lines = text.splitlines()
    assert lines[1].split()[0] == "Name"
    assert "(" in lines[6] and "more)" in lines[6]
    most = max((r for r in rows if r.category != "idle"), key=lambda r: r.count)
    assert lines[3].split()[0] == most.key
    assert "Self CPU time total" in text and "Wall time" in text
    total = prof.total_average()
    assert total.count == len(prof.events())
    assert total.flops == sum(e.flops for e in prof.events())
    assert rows.table(sort_by="self_cuda_time_total") == rows.table(sort_by="self_device_time_total")
    with pytest.raises(ValueError, match="no column 'size'"):
        rows.table(sort_by="size")


def test_activities_choose_what_is_shown(device: sg.Device, capsys: pytest.CaptureFixture[str]) -> None:
    x = sg.ones(4, device=device)
    with profile(activities=[ProfilerActivity.CPU]) as host:
        (x + 2).numpy()
    with profile(activities=[ProfilerActivity.CUDA]) as gpu:
        (x + 2).numpy()
    assert host.events() and not any(e.on_gpu for e in host.events())
    assert all(e.on_gpu for e in gpu.events())
    assert bool(gpu.events()) == (str(device) != "cpu")
    host.print_summary()
    assert "host outside spirograd" in capsys.readouterr().out
    with pytest.raises(TypeError, match="ProfilerActivity"):
        profile(activities=["gpu"])  # type: ignore[list-item]


def test_one_profile_at_a_time_also_after_an_error() -> None:
    with profile(), pytest.raises(ValueError, match="running already"), profile():
        pass
    with pytest.raises(KeyError), profile() as prof:
        raise KeyError("from the body")
    assert prof.wall > 0
    with profile():
        pass


def uploads(prof: profile) -> list[Event]:
    """The pieces in which memory was sent, in order."""
    return sorted((e for e in prof.events() if e.category == "gpu_memcpy"), key=lambda e: e.start)


WORK = """
uint x = 1;
for (int i = 0; i < load(rounds, 0); ++i) x = x * 1664525u + 1013904223u;
store(y, 0, int(x >> 1));
"""
long_work = sg.ops.glsl_kernel("long_work", WORK, ["rounds"], ["y"], local_size=1)


@pytest.mark.gpu
def test_uploads_run_beside_kernels_where_a_queue_copies() -> None:
    """An upload ends before a kernel that was submitted before it, so it did not wait for that."""
    device = sg.Device.gpu()
    if device.features.get("copy_queue") != "yes":
        pytest.skip("the device has no queue for copies alone")
    data = np.random.default_rng(0).random((1024, 4096), dtype=np.float32)

    def overtakes(rounds: int) -> bool:
        count = sg.tensor([rounds], dtype=sg.int32, device=device)
        sg.synchronize(device)
        with profile() as prof:
            long_work(count).realize()
            sent = sg.tensor(data, device=device)
            sg.synchronize(device)
        np.testing.assert_array_equal(sent.numpy(), data)
        large = [e for e in uploads(prof) if e.bytes > 4]  # the number of rounds goes with the kernel
        assert sum(e.bytes for e in large) == data.nbytes
        (kernel,) = work(prof.events(), device)
        return large[-1].end < kernel.end

    # The host may be busy elsewhere while a kernel runs: then with one that takes longer, up to a second or so.
    assert any(overtakes(1 << rounds) for rounds in range(20, 29))


@pytest.mark.gpu
@pytest.mark.parametrize("workers", [0, 2])
def test_a_loader_sends_each_batch_before_the_step_before_it(device: sg.Device, workers: int) -> None:
    if str(device) == "cpu":
        pytest.skip("nothing is sent")
    size, count = 1 << 18, 5
    rows = np.random.default_rng(0).random((count, size), dtype=np.float32)  # 1 MiB a batch
    loader = sg.utils.data.DataLoader(sg.utils.data.TensorDataset(rows), 1, num_workers=workers, device=device)
    sums = []
    with profile() as prof:
        for (x,) in loader:
            with record_function("step"):
                sums.append(x.sum(dtype=sg.float64).realize())
    order = [e.name for e in prof.events() if e.name in ("upload", "step")]
    assert order == ["upload", *["upload", "step"] * (count - 1), "step"]
    np.testing.assert_allclose([s.item() for s in sums], rows.sum(axis=1, dtype=np.float64), rtol=1e-12)


# ---- memory over time ------------------------------------------------------------------------------------------------


def test_memory_is_noted_at_each_allocation(device: sg.Device) -> None:
    megabyte = 1 << 20
    with profile(profile_memory=True) as prof:
        x = sg.ones(megabyte, device=device).realize()
        y = sg.ones(2 * megabyte, device=device).realize()
        sg.synchronize()
        del x, y
    steps = prof.memory_timeline()[str(device)]
    sizes = [size for _, size in steps]
    assert [time for time, _ in steps] == sorted(time for time, _ in steps)
    assert max(sizes) - sizes[-1] >= 12 * megabyte and max(sizes) - sizes[0] >= 8 * megabyte
    with profile() as plain:
        (sg.ones(megabyte, device=device) + 1).realize()
        sg.synchronize()
    assert len(plain.memory_timeline()[str(device)]) < len(steps)
    with profile(profile_memory=True) as empty:
        pass
    assert empty.memory_timeline() == {}


def test_memory_is_drawn(device: sg.Device, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="pictures need matplotlib")
    loop = Loop(device)
    with profile(profile_memory=True) as prof:
        for _ in range(3):
            with record_function("step"):
                loop.step().item()
    figure = sg.viz.plot_memory(prof, tmp_path / "memory.png")
    assert (tmp_path / "memory.png").read_bytes().startswith(b"\x89PNG")
    (axes,) = figure.axes
    assert axes.get_ylabel() == "memory, MiB" and str(device) in axes.get_legend().texts[0].get_text()
    with profile() as nothing:
        pass
    with pytest.raises(ValueError, match="plot_memory: the profile has no memory"):
        sg.viz.plot_memory(nothing)
