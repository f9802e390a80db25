"""Profiles of some steps of a loop."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path

import pytest

import spirograd as sg
from spirograd.profiler import ProfilerAction, profile, schedule, tensorboard_trace_handler


def loop(prof: profile, steps: int) -> None:
    for step in range(steps):
        with sg.profiler.record_function(f"step {step}"):
            sg.ones(8).exp().sum().item()
        prof.step()


def regions(prof: profile) -> list[str]:
    return [e.name for e in prof.events() if e.category == "user_annotation"]


def test_rounds_of_steps_are_measured() -> None:
    found: list[list[str]] = []
    plan = schedule(skip_first=1, wait=1, warmup=1, active=2, repeat=2)
    with profile(schedule=plan, on_trace_ready=lambda p: found.append(regions(p))) as prof:
        loop(prof, 12)
    assert found == [["step 3", "step 4"], ["step 7", "step 8"]]
    assert regions(prof) == found[-1] and prof.step_num == 12


def test_rounds_may_follow_each_other() -> None:
    found: list[list[str]] = []
    with profile(
        schedule=schedule(wait=0, warmup=0, active=2), on_trace_ready=lambda p: found.append(regions(p))
    ) as prof:
        loop(prof, 5)
    assert found == [["step 0", "step 1"], ["step 2", "step 3"], ["step 4"]]


def test_a_loop_that_ends_early_gives_what_was_measured() -> None:
    found: list[list[str]] = []
    with profile(schedule=schedule(wait=1, warmup=0, active=9), on_trace_ready=lambda p: found.append(regions(p))) as p:
        loop(p, 3)
    assert found == [["step 1", "step 2"]]
    with profile(schedule=schedule(wait=5, warmup=0, active=1), on_trace_ready=lambda p: found.append(regions(p))) as p:
        loop(p, 3)
    assert len(found) == 1 and p.events() == []


def test_without_a_schedule_all_is_one_trace() -> None:
    found: list[list[str]] = []
    with profile(on_trace_ready=lambda p: found.append(regions(p))) as prof:
        loop(prof, 2)
    assert found == [["step 0", "step 1"]]


@pytest.mark.parametrize("use_gzip", [False, True])
def test_traces_are_written_for_tensorboard(use_gzip: bool, tmp_path: Path) -> None:
    handler = tensorboard_trace_handler(tmp_path / "logs", "worker", use_gzip)
    with profile(schedule=schedule(wait=1, warmup=0, active=1, repeat=1), on_trace_ready=handler) as prof:
        loop(prof, 3)
    (file,) = (tmp_path / "logs").iterdir()
    assert file.name.startswith("worker.") and file.name.endswith(".pt.trace.json" + ".gz" * use_gzip)
    opened: Callable[..., object] = gzip.open if use_gzip else open
    with opened(file, "rt") as text:  # type: ignore[attr-defined]
        assert "step 1" in {event["name"] for event in json.load(text)["traceEvents"]}


def test_a_schedule_names_the_action_of_each_step() -> None:
    plan = schedule(wait=1, warmup=1, active=2, repeat=1)
    names = ["NONE", "WARMUP", "RECORD", "RECORD_AND_SAVE", "NONE"]
    assert [plan(step) for step in range(5)] == [ProfilerAction[name] for name in names]
    with pytest.raises(ValueError, match="schedule: wait 1, warmup 0, active 0"):
        schedule(wait=1, warmup=0, active=0)


def test_a_profile_that_could_not_start_leaves_the_other_one_alone() -> None:
    with profile() as outer:
        inner = profile()
        for _ in range(2):
            with pytest.raises(ValueError, match="profile"):
                inner.start()
        inner.stop()
        with pytest.raises(ValueError, match="profile"):
            outer.start()
        loop(outer, 1)
    assert regions(outer) == ["step 0"]


def test_a_handler_that_fails_ends_the_measurement() -> None:
    def fails(prof: profile) -> None:
        raise OSError("no space")

    with pytest.raises(OSError, match="no space"), profile(on_trace_ready=fails) as prof:
        loop(prof, 1)
    assert regions(prof) == ["step 0"]
    with profile():
        pass
