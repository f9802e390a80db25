"""Schedulers: their rates step by step, against formulas and against PyTorch."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import spirograd as sg

Rates = Callable[[int], float]
STEPS = 50


def optimizer(lib: Any = sg, **options: Any) -> Any:
    """Two groups, of rates 1.0 and 0.5."""
    a, b = (lib.zeros(1, requires_grad=True) for _ in range(2))
    groups = [{"params": [a]}, {"params": [b], "lr": 0.5}]
    return lib.optim.SGD(groups, lr=1.0, momentum=0.9, **options)


def followed(opt: Any, scheduler: Any, steps: int = STEPS, *measures: float) -> list[list[float]]:
    """The rates and momenta of each step."""
    rows = []
    for i in range(steps):
        rows.append([float(x) for g in opt.param_groups for x in (g["lr"], g.get("momentum", g.get("betas", [0])[0]))])
        opt.step()
        scheduler.step(*(measures[i : i + 1]))
    return rows


def cosine(t: float, period: float, least: float) -> float:
    return least + (1 - least) * (1 + math.cos(math.pi * t / period)) / 2


def polynomial(t: int) -> float:
    return float((1 - min(t, 20) / 20) ** 2)


# name, arguments behind the optimiser, the rate of a group that began at 1.0, whether rates scale
CASES: list[tuple[str, dict[str, Any], Rates, bool]] = [
    ("LambdaLR", {"lr_lambda": lambda t: 0.9**t + 0.1}, lambda t: 0.9**t + 0.1, True),
    ("MultiplicativeLR", {"lr_lambda": lambda t: 0.95}, lambda t: 0.95**t, True),
    ("StepLR", {"step_size": 7, "gamma": 0.5}, lambda t: 0.5 ** (t // 7), True),
    ("MultiStepLR", {"milestones": [3, 9, 9, 30], "gamma": 0.5},
     lambda t: 0.5 ** sum(t >= m for m in (3, 9, 9, 30)), True),
    ("ConstantLR", {"factor": 0.25, "total_iters": 6}, lambda t: 0.25 if t < 6 else 1.0, True),
    ("LinearLR", {"start_factor": 0.2, "end_factor": 0.8, "total_iters": 10},
     lambda t: 0.2 + 0.6 * min(t, 10) / 10, True),
    ("ExponentialLR", {"gamma": 0.9}, lambda t: 0.9**t, True),
    ("PolynomialLR", {"total_iters": 20, "power": 2.0}, polynomial, True),
    ("CosineAnnealingLR", {"T_max": 10}, lambda t: cosine(t, 10, 0), True),
    ("CosineAnnealingLR", {"T_max": 12, "eta_min": 0.1}, lambda t: cosine(t, 12, 0.1), False),
    ("CosineAnnealingWarmRestarts", {"T_0": 8}, lambda t: cosine(t % 8, 8, 0), True),
    ("CosineAnnealingWarmRestarts", {"T_0": 3, "T_mult": 2, "eta_min": 0.1},
     lambda t: cosine(t - 3 * (2 ** int(math.log2(t / 3 + 1)) - 1), 3 * 2 ** int(math.log2(t / 3 + 1)), 0.1), False),
    ("NoamLR", {"model_size": 64, "warmup_steps": 10, "factor": 2.0},
     lambda t: 2 / 8 * min((t + 1) ** -0.5, (t + 1) * 10**-1.5), False),
    ("CyclicLR", {"base_lr": 0.1, "max_lr": 0.9, "step_size_up": 5}, lambda t: 0.1 + 0.8 * (1 - abs(t % 10 - 5) / 5),
     False),
    ("CyclicLR", {"base_lr": 0.1, "max_lr": 0.9, "step_size_up": 4, "step_size_down": 6, "mode": "triangular2"},
     lambda t: 0.1 + 0.8 * min(t % 10 / 4, (10 - t % 10) / 6) / 2 ** (t // 10), False),
    ("CyclicLR", {"base_lr": 0.1, "max_lr": 0.9, "step_size_up": 5, "mode": "exp_range", "gamma": 0.9},
     lambda t: 0.1 + 0.8 * (1 - abs(t % 10 - 5) / 5) * 0.9**t, False),
    ("OneCycleLR", {"max_lr": 1.0, "total_steps": 51, "pct_start": 11 / 51, "div_factor": 10, "final_div_factor": 100},
     lambda t: 1 + (0.1 - 1) / 2 * (1 + math.cos(math.pi * t / 10)) if t <= 10
     else 0.001 + (1 - 0.001) / 2 * (1 + math.cos(math.pi * (t - 10) / 40)), False),
    ("OneCycleLR", {"max_lr": 1.0, "epochs": 3, "steps_per_epoch": 17, "pct_start": 11 / 51, "three_phase": True,
                    "anneal_strategy": "linear", "div_factor": 10, "final_div_factor": 100},
     lambda t: float(np.interp(t, [0, 10, 20, 50], [0.1, 1.0, 0.1, 0.001])), False),
]  # fmt: skip


def name_of(case: Any) -> str:
    return case if isinstance(case, str) else ",".join(case) if isinstance(case, dict) else ""


@pytest.mark.parametrize(("name", "options", "rate", "scales"), CASES, ids=name_of)
def test_rates_are_those_of_the_formula(name: str, options: dict[str, Any], rate: Rates, scales: bool) -> None:
    opt = optimizer()
    rows = followed(opt, getattr(sg.optim.lr_scheduler, name)(opt, **options))
    want = [rate(t) for t in range(STEPS)]
    np.testing.assert_allclose([row[0] for row in rows], want, rtol=1e-12, atol=1e-12)
    if scales:
        np.testing.assert_allclose([row[2] for row in rows], [0.5 * w for w in want], rtol=1e-12, atol=1e-12)


def test_momentum_goes_the_other_way() -> None:
    opt = optimizer()
    rows = followed(opt, sg.optim.lr_scheduler.CyclicLR(opt, 0.1, 0.9, step_size_up=5))
    np.testing.assert_allclose([row[1] for row in rows], [0.8 + 0.1 * abs(t % 10 - 5) / 5 for t in range(STEPS)])
    opt = sg.optim.Adam([sg.zeros(1, requires_grad=True)])
    one = sg.optim.lr_scheduler.OneCycleLR(opt, 0.1, 20, pct_start=0.5, anneal_strategy="linear")
    rows = followed(opt, one, 20)
    np.testing.assert_allclose([row[1] for row in rows], np.interp(range(20), [0, 9, 19], [0.95, 0.85, 0.95]))
    assert opt.param_groups[0]["betas"][1] == 0.999


# ---- several schedulers ----------------------------------------------------------------------------------------------
def sequential(lib: Any, opt: Any) -> Any:
    s = lib.optim.lr_scheduler
    parts = [
        s.LinearLR(opt, 0.1, total_iters=10),
        s.CosineAnnealingLR(opt, T_max=10),
        s.MultiStepLR(opt, [2, 5]),
        s.CosineAnnealingWarmRestarts(opt, T_0=3),
    ]
    return s.SequentialLR(opt, parts, milestones=[10, 20, 40])


def chained(lib: Any, opt: Any) -> Any:
    s = lib.optim.lr_scheduler
    parts = [
        s.ConstantLR(opt, 0.1, total_iters=4),
        s.ExponentialLR(opt, 0.9),
        s.LinearLR(opt, 0.5, total_iters=8),
        s.MultiplicativeLR(opt, lambda t: 0.99),
    ]
    return s.ChainedScheduler(parts)


def nested(lib: Any, opt: Any) -> Any:
    s = lib.optim.lr_scheduler
    return s.SequentialLR(opt, [s.LinearLR(opt, 0.5, total_iters=5), s.LambdaLR(opt, lambda t: 1 / (1 + t))], [5])


def test_one_scheduler_after_another() -> None:
    opt = optimizer()
    rates = [row[0] for row in followed(opt, sequential(sg, opt))]
    want = [0.1 + 0.9 * t / 10 for t in range(10)] + [cosine(t, 10, 0) for t in range(20)]
    np.testing.assert_allclose(rates[:20], want[:20], rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(rates[20:28], [1, 1, 0.1, 0.1, 0.1, 0.01, 0.01, 0.01], rtol=1e-12)
    np.testing.assert_allclose(rates[40:], [cosine(t % 3, 3, 0) for t in range(10)], rtol=1e-12)


def test_several_schedulers_at_once() -> None:
    opt = optimizer()
    rates = [row[2] for row in followed(opt, chained(sg, opt))]
    want = [0.5 * (0.1 if t < 4 else 1) * 0.9**t * (0.5 + min(t, 8) / 16) * 0.99**t for t in range(STEPS)]
    np.testing.assert_allclose(rates, want, rtol=1e-12)


def test_a_plateau_lowers_the_rate() -> None:
    opt = optimizer()
    scheduler = sg.optim.lr_scheduler.ReduceLROnPlateau(
        opt, factor=0.5, patience=1, cooldown=1, threshold=0.1, threshold_mode="abs", min_lr=[0.2, 0.3]
    )
    seen = []
    for loss in (1.0, 0.95, 0.92, 0.9, 0.91, 0.91, 0.5, 0.5, sg.tensor(0.5), 0.5, 0.5, 0.5):
        scheduler.step(loss)
        seen.append(scheduler.get_last_lr()[0])
    assert seen == [1.0, 1.0, 0.5, 0.5, 0.5, 0.25, 0.25, 0.25, 0.2, 0.2, 0.2, 0.2]
    assert opt.param_groups[1]["lr"] == 0.3


PLATEAU: list[dict[str, Any]] = [
    {"patience": 2},
    {"mode": "max", "patience": 1, "cooldown": 2, "factor": 0.5},
    {"threshold": 0.2, "patience": 0, "min_lr": 0.01},
    {"threshold": 0.2, "threshold_mode": "abs", "mode": "max", "patience": 0, "factor": 0.7},
]


# ---- PyTorch ---------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(("name", "options", "rate", "scales"), [c for c in CASES if c[0] != "NoamLR"], ids=name_of)
def test_rates_and_states_are_pytorchs(name: str, options: dict[str, Any], rate: Rates, scales: bool) -> None:
    torch = pytest.importorskip("torch")
    both = []
    for lib in (torch, sg):
        opt = optimizer(lib)
        scheduler = getattr(lib.optim.lr_scheduler, name)(opt, **options)
        both.append((opt, scheduler, followed(opt, scheduler, 20)))
    np.testing.assert_allclose(both[1][2], both[0][2], rtol=1e-12, atol=1e-12)
    # Each goes on with the state of the other.
    states = [(opt.state_dict()["param_groups"], scheduler.state_dict()) for opt, scheduler, _ in both]
    rest = []
    for lib, (groups, state) in zip((torch, sg), reversed(states), strict=True):
        opt = optimizer(lib)
        scheduler = getattr(lib.optim.lr_scheduler, name)(opt, **options)
        opt.load_state_dict({"state": {}, "param_groups": groups})
        scheduler.load_state_dict(state)
        rest.append(followed(opt, scheduler, 25))
    np.testing.assert_allclose(rest[1], rest[0], rtol=1e-12, atol=1e-12)
    # A new scheduler goes on from a given step; PyTorch's takes another cycle when they become longer.
    if name in ("OneCycleLR", "CyclicLR") or "T_mult" in options:
        return
    rest = []
    for lib in (torch, sg):
        opt = optimizer(lib)
        for group in opt.param_groups:
            group["initial_lr"] = group["lr"]
            group["lr"] *= 0.7
        rest.append(followed(opt, getattr(lib.optim.lr_scheduler, name)(opt, **options, last_epoch=5), 20))
    np.testing.assert_allclose(rest[1], rest[0], rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("make", [sequential, chained, nested])
def test_several_schedulers_are_pytorchs(make: Callable[[Any, Any], Any]) -> None:
    torch = pytest.importorskip("torch")
    rows = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for lib in (torch, sg):
            opt = optimizer(lib)
            rows.append(followed(opt, make(lib, opt)))
    np.testing.assert_allclose(rows[1], rows[0], rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("options", PLATEAU, ids=name_of)
def test_a_plateau_is_pytorchs(options: dict[str, Any]) -> None:
    torch = pytest.importorskip("torch")
    measures = np.abs(np.random.default_rng(1).normal(size=40)).tolist()
    rows = []
    for lib in (torch, sg):
        opt = optimizer(lib)
        rows.append(followed(opt, lib.optim.lr_scheduler.ReduceLROnPlateau(opt, **options), 40, *measures))
    np.testing.assert_allclose(rows[1], rows[0], rtol=1e-12, atol=1e-12)


# ---- the rest --------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(("name", "options", "rate", "scales"), CASES, ids=name_of)
def test_a_saved_scheduler_goes_on(name: str, options: dict[str, Any], rate: Rates, scales: bool) -> None:
    def run(split: bool) -> list[list[float]]:
        opt = optimizer()
        scheduler = getattr(sg.optim.lr_scheduler, name)(opt, **options)
        rows = followed(opt, scheduler, 15)
        if split:
            states = opt.state_dict(), scheduler.state_dict()
            opt = optimizer()
            scheduler = getattr(sg.optim.lr_scheduler, name)(opt, **options)
            opt.load_state_dict(states[0])
            scheduler.load_state_dict(states[1])
            assert scheduler.get_last_lr() == [g["lr"] for g in opt.param_groups]
        return rows + followed(opt, scheduler, 15)

    assert run(True) == run(False)


def test_functions_are_not_saved_but_the_attributes_of_objects_are() -> None:
    class Slope:
        def __init__(self, slope: float) -> None:
            self.slope = slope

        def __call__(self, t: int) -> float:
            return 1 - self.slope * t

    scheduler = sg.optim.lr_scheduler.LambdaLR(optimizer(), [Slope(0.5), lambda t: 1.0])
    state = scheduler.state_dict()
    assert state["lr_lambdas"] == [{"slope": 0.5}, None]
    other = sg.optim.lr_scheduler.LambdaLR(optimizer(), [Slope(0.1), lambda t: 1.0])
    other.load_state_dict(state)
    assert other.lr_lambdas[0].slope == 0.5


def test_saved_states_of_several_schedulers() -> None:
    for make in (sequential, chained):
        opts = [optimizer(), optimizer()]
        schedulers = [make(sg, opt) for opt in opts]
        followed(opts[0], schedulers[0], 15)
        opts[1].load_state_dict(opts[0].state_dict())
        schedulers[1].load_state_dict(schedulers[0].state_dict())
        assert followed(opts[1], schedulers[1], 15) == followed(opts[0], schedulers[0], 15)


def test_jumping_to_a_step_sets_its_rate() -> None:
    for name, options, rate, _ in CASES:
        if name == "MultiplicativeLR":
            continue
        opt = optimizer()
        scheduler = getattr(sg.optim.lr_scheduler, name)(opt, **options)
        opt.step()
        scheduler.step(13)
        assert scheduler.get_last_lr()[0] == pytest.approx(rate(13)), name
    opt = optimizer()
    for group in opt.param_groups:
        group["initial_lr"] = 1.0
    longer = sg.optim.lr_scheduler.CosineAnnealingWarmRestarts(opt, T_0=3, T_mult=2, last_epoch=10)
    assert longer.get_last_lr()[0] == pytest.approx(cosine(2, 12, 0))
    restarts = sg.optim.lr_scheduler.CosineAnnealingWarmRestarts(opt := optimizer(), T_0=4)
    opt.step()
    restarts.step(5.5)
    assert restarts.get_last_lr()[0] == pytest.approx(cosine(1.5, 4, 0))


def test_a_rate_in_a_tensor_is_written_in_place(device: sg.Device) -> None:
    rate = sg.tensor(1.0, device=device)
    opt = sg.optim.SGD([sg.zeros(1, requires_grad=True, device=device)], lr=rate)
    scheduler = sg.optim.lr_scheduler.ExponentialLR(opt, 0.5)
    opt.step()
    scheduler.step()
    scheduler.step()
    assert opt.param_groups[0]["lr"] is rate and rate.item() == 0.25
    assert scheduler.base_lrs[0].item() == 1.0


def test_stepping_before_the_optimizer_warns() -> None:
    opt = optimizer()
    scheduler = sg.optim.lr_scheduler.StepLR(opt, 2)
    with pytest.warns(UserWarning, match=r"StepLR: step\(\) before optimizer.step\(\) skips the first rate"):
        scheduler.step()


def test_a_schedule_costs_no_plan(device: sg.Device) -> None:
    w = sg.ones(3, device=device, requires_grad=True)
    opt = sg.optim.Adam([w], lr=0.1)
    scheduler = sg.optim.lr_scheduler.OneCycleLR(opt, 0.1, 20)
    for i in range(8):
        if i == 3:
            sg.reset_stats()
        opt.zero_grad()
        (w * w).sum().backward()
        opt.step()
        scheduler.step()
    s = sg.stats()
    assert (s["submissions"], s["plan_misses"], s["bytes_read"]) == (5, 0, 0)


S = sg.optim.lr_scheduler


@pytest.mark.parametrize(
    ("make", "kind", "text"),
    [
        (lambda: S.StepLR(3, 2), TypeError, "StepLR: a int is not an optimiser; pass one of spirograd.optim"),
        (lambda: S.StepLR(optimizer(), 2, last_epoch=3), KeyError,
         "\"StepLR: group 0 has no 'initial_lr'; set it to the rate of step 0\""),
        (lambda: S.LambdaLR(optimizer(), [lambda t: 1.0]), ValueError,
         "LambdaLR: 1 values of lr_lambda for 2 groups; give one, or one for each"),
        (lambda: S.ConstantLR(optimizer(), factor=2), ValueError, "ConstantLR: factor is 2; use a number in [0, 1]"),
        (lambda: S.LinearLR(optimizer(), start_factor=0), ValueError,
         "LinearLR: start_factor is 0; use a number in (0, 1]"),
        (lambda: S.OneCycleLR(optimizer(), 1.0), ValueError,
         "OneCycleLR: no number of steps; give total_steps, or epochs and steps_per_epoch"),
        (lambda: S.OneCycleLR(sg.optim.Adagrad([sg.ones(1, requires_grad=True)]), 1.0, 5), ValueError,
         "OneCycleLR: the optimiser has no momentum; use cycle_momentum=False"),
        (lambda: S.CyclicLR(optimizer(), 0.1, 1.0, mode="x"), ValueError,
         "CyclicLR: mode 'x' is unknown; use triangular, triangular2 or exp_range"),
        (lambda: S.ReduceLROnPlateau(optimizer(), factor=1), ValueError,
         "ReduceLROnPlateau: factor is 1; use less than 1"),
        (lambda: S.SequentialLR(o := optimizer(), [S.StepLR(o, 2)], [1]), ValueError,
         "SequentialLR: 1 schedulers and 1 milestones; give one milestone fewer than schedulers"),
        (lambda: S.ChainedScheduler([S.StepLR(optimizer(), 2), S.StepLR(optimizer(), 2)]), ValueError,
         "ChainedScheduler: scheduler 1 has another optimiser; use one optimiser for all"),
        (lambda: S.NoamLR(optimizer(), 64, 0), ValueError, "NoamLR: warmup_steps is 0; use 1 or more"),
    ],
)  # fmt: skip
def test_errors_say_what_is_wrong(make: Callable[[], Any], kind: type[Exception], text: str) -> None:
    with pytest.raises(kind) as error:
        make()
    assert str(error.value) == text


def test_one_cycle_ends() -> None:
    opt = optimizer()
    scheduler = S.OneCycleLR(opt, 1.0, 3)
    followed(opt, scheduler, 3)
    with pytest.raises(ValueError, match=r"OneCycleLR: step 4 of 3; give a larger total_steps"):
        scheduler.step()
