"""A failed check belongs to the values that depend on it, to the writes that would have used it, and to its thread."""

from __future__ import annotations

import inspect
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

import spirograd as sg
from spirograd import nn
from threads import run_threads

F = nn.functional


def at(*values: int, device: sg.Device) -> sg.Tensor:
    return sg.tensor(list(values), device=device)


# A value of one element whose check fails, and the error.
CHECKS: dict[str, tuple[Callable[[sg.Device], sg.Tensor], type[Exception]]] = {
    "take": (lambda d: sg.arange(6.0, device=d).take(at(9, device=d)), IndexError),
    "index_select": (lambda d: sg.arange(6.0, device=d).index_select(0, at(-1, device=d)), IndexError),
    "gather": (lambda d: sg.arange(6.0, device=d).gather(0, at(6, device=d)), IndexError),
    "getitem": (lambda d: sg.arange(6.0, device=d)[at(7, device=d)], IndexError),
    "embedding": (lambda d: F.embedding(at(3, device=d), sg.ones(3, 1, device=d)), IndexError),
    "scatter": (lambda d: sg.zeros(3, device=d).scatter(0, at(3, device=d), sg.ones(1, device=d)).sum(), IndexError),
    "index_add": (
        lambda d: sg.zeros(3, device=d).index_add(0, at(4, device=d), sg.ones(1, device=d)).sum(),
        IndexError,
    ),
    "cross_entropy": (lambda d: F.cross_entropy(sg.ones(2, 3, device=d), at(0, 3, device=d)), IndexError),
    "bernoulli": (lambda d: sg.bernoulli(sg.full((1,), 2.0, device=d)), ValueError),
    "multinomial": (lambda d: sg.multinomial(sg.full((3,), -1.0, device=d), 1).float(), ValueError),
}


@pytest.fixture(params=["fused", "unfused"])
def fused(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param == "unfused":
        monkeypatch.setenv("SPIROGRAD_FUSE", "0")


@pytest.mark.usefixtures("fused")
@pytest.mark.parametrize("name", CHECKS)
def test_everything_else_of_the_run_has_its_value(name: str, device: sg.Device) -> None:
    make, kind = CHECKS[name]
    x, written = sg.arange(3.0, device=device).realize(), sg.zeros(3, device=device).realize()
    before, bad, after = x * 2, make(device), x + 1
    dependent, fresh = bad.sum() + x, sg.ones(3, device=device)
    written.add_(x)
    fresh.mul_(3)
    assert before.tolist() == [0, 2, 4] and written.tolist() == [0, 1, 2]
    for value in (bad, dependent, bad):
        with pytest.raises(kind, match=f"^{name}: .* at .*test_failed_checks.py"):
            value.tolist()
    with pytest.raises(kind, match=f"^{name}: "):
        (dependent * 2).tolist()
    assert after.tolist() == [1, 2, 3] and fresh.tolist() == [3, 3, 3] and (x + written).tolist() == [0, 2, 4]


@pytest.mark.usefixtures("fused")
@pytest.mark.parametrize("name", CHECKS)
def test_only_writes_that_would_have_used_it_are_not_done_and_the_next_read_says_so(
    name: str, device: sg.Device
) -> None:
    make, kind = CHECKS[name]
    x = sg.arange(3.0, device=device).realize()
    added, copied, part, other = (sg.ones(3, device=device).realize() for _ in range(4))
    bad = make(device).sum()
    added.add_(bad)
    copied.copy_(bad.expand(3))
    part[1:] = bad
    other.add_(x)
    added.mul_(2)
    with pytest.raises(kind, match=f"^{name}: "):
        (x * 1).tolist()
    assert added.tolist() == [2, 2, 2] and copied.tolist() == [1, 1, 1] and part.tolist() == [1, 1, 1]
    assert other.tolist() == [1, 2, 3] and (x * 1).tolist() == [0, 1, 2], "it is said once"
    with pytest.raises(kind, match=f"^{name}: "):
        bad.tolist()


@pytest.mark.usefixtures("fused")
def test_of_three_requests_the_middle_one_fails(device: sg.Device) -> None:
    table = sg.arange(12.0, device=device).reshape(4, 3).realize()
    first, second, third = (table.index_select(0, at(i, device=device)) * 2 for i in (1, 4, 3))
    assert first.tolist() == [[6, 8, 10]] and third.tolist() == [[18, 20, 22]]
    with pytest.raises(IndexError, match=r"index 4 out of range \[0, 4\)"):
        second.tolist()


@pytest.mark.usefixtures("fused")
def test_two_failures_of_one_kernel_are_told_apart(device: sg.Device) -> None:
    x = sg.arange(4.0, device=device).realize()
    indices = at(7, device=device), at(1, device=device), at(8, device=device)
    values = [x.take(i) + 1 for i in indices]
    both = values[0] + values[2]
    assert values[1].tolist() == [2]
    for value, index in ((values[0], 7), (values[2], 8), (both, 7)):
        with pytest.raises(IndexError, match=f"index {index} out of range"):
            value.tolist()


def test_an_index_that_is_used_twice_fails_both(device: sg.Device) -> None:
    x, index = sg.arange(4.0, device=device).realize(), at(5, device=device)
    for value in (x.take(index), (x + 1).take(index)):
        with pytest.raises(IndexError, match="index 5 out of range"):
            value.tolist()


def test_a_failure_goes_from_run_to_run(device: sg.Device) -> None:
    x, a, b = (sg.arange(3.0, device=device).realize() for _ in range(3))
    bad, good = x.take(at(9, device=device)).realize(), x.take(at(2, device=device)).realize()
    b.add_((good + 1).realize())
    for _ in range(2):  # a GPU knows it at the first read, a CPU when its run has ended
        with pytest.raises(IndexError, match="index 9 out of range"):
            a.add_((bad + 1).realize())
            x.tolist()
    assert a.tolist() == [0, 1, 2] and b.tolist() == [3, 4, 5] and good.tolist() == [2]
    with pytest.raises(IndexError, match="index 9 out of range"):
        bad.tolist()


def test_the_error_says_how_long_ago_the_check_was_recorded(device: sg.Device) -> None:
    x = sg.arange(3.0, device=device).realize()
    bad = x.take(at(3, device=device))
    line = inspect.currentframe().f_lineno - 1  # type: ignore[union-attr]
    with pytest.raises(IndexError, match=rf"\[0, 3\) at .*test_failed_checks.py:{line};"):
        bad.tolist()
    bad = x.take(at(3, device=device))
    y = x
    for _ in range(10):
        y = y + 1
    with pytest.raises(IndexError, match=rf"test_failed_checks.py:{line + 4}, recorded 10 operations ago;"):
        bad.tolist()
    assert y.tolist() == [10, 11, 12]


def test_synchronize_raises_what_nobody_reads(device: sg.Device) -> None:
    bad = sg.arange(3.0, device=device).take(at(3, device=device))
    with pytest.raises(IndexError, match="take: index 3"):
        sg.synchronize(device)
    sg.synchronize(device)
    with pytest.raises(IndexError, match="take: index 3"):
        bad.tolist()


def test_a_statement_that_fails_in_two_runs_is_raised_once(device: sg.Device) -> None:
    """Also where the second run has not ended when the first one's error is raised."""
    table, bad, large = sg.ones(7, 4, device=device), at(9, device=device), sg.ones(500, 500, device=device).realize()

    def look() -> sg.Tensor:
        return F.embedding(bad, table)

    sg.synchronize(device)
    first = look().realize()
    second = large
    for _ in range(6):
        second = sg.tanh(second @ large)
    second = (second[:1, :4] + look()).realize()
    with pytest.raises(IndexError, match=r"^embedding: index 9"):
        first.tolist()
    sg.synchronize(device)
    assert (table * 2)[0].tolist() == [2.0] * 4
    with pytest.raises(IndexError, match=r"^embedding: index 9"):
        second.tolist()


def test_more_checks_than_a_run_can_tell_apart_are_all_seen(device: sg.Device) -> None:
    x = sg.arange(3.0, device=device).realize()
    bad = {7, 130}
    values = [x.take(at(3 if i in bad else i % 3, device=device)) for i in range(150)]
    seen = set()
    for i, value in enumerate(values):
        try:
            assert value.tolist() == [i % 3]
        except IndexError:
            seen.add(i)
    assert bad <= seen and 3 not in seen


# ---- optimisers
OPTIMISERS: dict[str, Callable[[Any], sg.optim.Optimizer]] = {
    "SGD": lambda p: sg.optim.SGD(p, lr=0.1, momentum=0.9),
    "Adam": lambda p: sg.optim.Adam(p, lr=0.1),
    "AdamW": lambda p: sg.optim.AdamW(p, lr=0.1),
}


class Training:
    """A layer and its optimiser; a step of class 3 fails."""

    def __init__(self, name: str, device: sg.Device, compiled: bool = False) -> None:
        self.net = nn.Sequential(nn.Linear(4, 5), nn.Tanh(), nn.Linear(5, 3)).to(device)
        with sg.no_grad():
            for p in self.net.parameters():
                p.copy_(sg.linspace(-0.5, 0.7, p.numel(), device=device).reshape(p.shape))
        self.x = sg.linspace(-1, 1, 8, device=device).reshape(2, 4).realize()
        self.optimizer = OPTIMISERS[name](self.net.parameters())
        self.device = device
        self._step = sg.compile(self._update) if compiled else self._update

    def _update(self, target: sg.Tensor) -> sg.Tensor:
        self.optimizer.zero_grad()
        loss = F.cross_entropy(self.net(self.x), target)
        loss.backward()
        self.optimizer.step()
        return loss.detach()

    def step(self, target: int = 1) -> sg.Tensor:
        return self._step(at(0, target, device=self.device))

    def values(self) -> list[Any]:
        state = self.optimizer.state_dict()["state"]
        kept = [v.tolist() if isinstance(v, sg.Tensor) else v for s in state.values() for v in s.values()]
        return [p.tolist() for p in self.net.parameters()] + kept


@pytest.mark.parametrize("how", ["eager", "compiled"])
@pytest.mark.parametrize("name", OPTIMISERS)
def test_weights_moments_and_counts_agree_after_a_step_that_failed(name: str, how: str, device: sg.Device) -> None:
    training, undisturbed = (Training(name, device, how == "compiled") for _ in range(2))
    for _ in range(4):
        training.step()
        undisturbed.step()
    sg.synchronize(device)
    training.step(3)
    with pytest.raises(IndexError, match=r"cross_entropy: index 3 out of range \[0, 3\)"):
        sg.ones(2, device=device).tolist()
    assert training.values() == undisturbed.values()
    assert training.optimizer._step_count == 4
    for _ in range(3):
        training.step()
        undisturbed.step()
    assert training.values() == undisturbed.values()


@pytest.mark.parametrize("how", ["eager", "compiled"])
@pytest.mark.parametrize("name", OPTIMISERS)
def test_steps_between_the_failure_and_its_error_are_not_done(name: str, how: str, device: sg.Device) -> None:
    training, undisturbed = (Training(name, device, how == "compiled") for _ in range(2))
    for _ in range(3):
        training.step()
        undisturbed.step()
    raised = 0
    for target in (3, 1, 1, 1):
        try:
            training.step(target)
        except IndexError:
            raised += 1
            undisturbed.step()  # the step that raised is not done, those after it are
            training.step()
    try:
        training.net[0].weight.tolist()
    except IndexError:
        raised += 1
    assert raised == 1
    values = training.values()
    while training.optimizer._step_count > undisturbed.optimizer._step_count:
        undisturbed.step()
    assert values == undisturbed.values()


def test_the_first_step_can_fail(device: sg.Device) -> None:
    training, undisturbed = Training("Adam", device), Training("Adam", device)
    training.step(3)
    with pytest.raises(IndexError, match="cross_entropy"):
        training.net[0].weight.tolist()
    assert all(state["step"] == 0 for state in training.optimizer.state.values())
    training.step()
    undisturbed.step()
    assert training.values() == undisturbed.values()


def test_parameters_without_a_part_in_the_failure_wait_for_the_others(device: sg.Device) -> None:
    a, b = (sg.ones(3, device=device, requires_grad=True) for _ in range(2))
    optimizer = sg.optim.Adam([a, b], lr=0.1)
    (a * 2).sum().backward()
    (b.take(at(3, device=device)) * 2).sum().backward()
    optimizer.step()
    with pytest.raises(IndexError, match="take"):
        a.tolist()
    assert a.tolist() == b.tolist() == [1, 1, 1] and optimizer.state[a]["step"] == 0


def test_another_optimiser_goes_on(device: sg.Device) -> None:
    bad, good, alone = Training("Adam", device), Training("Adam", device), Training("Adam", device)
    bad.step(3)
    good.step()
    with pytest.raises(IndexError, match="cross_entropy"):
        good.values()
    alone.step()
    assert good.values() == alone.values()


def test_running_statistics_are_of_the_pass_that_was_made(device: sg.Device) -> None:
    norm, x = nn.BatchNorm1d(3).to(device), sg.arange(6.0, device=device).reshape(2, 3)
    loss = F.cross_entropy(norm(x), at(0, 5, device=device))
    assert norm.running_mean.tolist() == pytest.approx([0.15, 0.25, 0.35])
    with pytest.raises(IndexError, match="cross_entropy"):
        loss.item()


# ---- threads
@pytest.mark.parametrize("threads", [4, 18])
def test_a_failure_is_raised_in_its_thread_only(threads: int, device: sg.Device) -> None:
    if threads == 18 and device.kind == "gpu":
        pytest.skip("slow where a CPU is the GPU")
    seconds = 1.0
    end = time.monotonic() + seconds
    x = sg.arange(6.0, device=device).realize()
    good, wrong = at(2, device=device).realize(), at(6, device=device).realize()
    counts = {"guilty": 0, "lost": 0, "trained": 0}
    reference = Training("SGD", device)
    expected = []
    for _ in range(3):
        reference.step()
        expected.append(reference.net[0].weight.tolist())
    errors: list[str] = []
    lock = threading.Lock()

    def guilty() -> None:
        while time.monotonic() < end:
            counts["guilty"] += 1
            try:
                (x.take(wrong) * 2).tolist()
                counts["lost"] += 1
            except IndexError:
                pass

    def innocent(number: int) -> None:
        training, steps = Training("SGD", device), 0
        written, writes = sg.zeros(3, device=device), 0
        while time.monotonic() < end:
            assert (x.take(good) * number).tolist() == [2 * number]
            written.add_(1)
            writes += 1
            if steps < 3:
                training.step()
                assert training.net[0].weight.tolist() == expected[steps], "no step was lost"
                steps += 1
            assert written.tolist() == [writes] * 3
        with lock:
            counts["trained"] += steps

    def work(number: int) -> None:
        try:
            guilty() if number == 0 else innocent(number)
        except Exception as error:
            errors.append(repr(error))

    run_threads(work, threads)
    assert not errors, (len(errors), errors[0])
    assert counts["guilty"] > 0 and counts["lost"] == 0 and counts["trained"] > 0
