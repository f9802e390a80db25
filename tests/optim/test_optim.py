"""Optimisers against their formulas, over 50 steps; groups, state, and what a step costs."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import spirograd as sg

STEPS = 50
SHAPES = [(3, 4), (5,), ()]
State = dict[str, Any]
Formula = Callable[[np.ndarray, np.ndarray, State, int, dict[str, Any]], np.ndarray]


# ---- formulas, from the papers ---------------------------------------------------------------------------------------
# p, g: the parameter and its gradient; s: what is remembered; t: the step, from 1; o: the options. Gives the new p.
def sgd(p: np.ndarray, g: np.ndarray, s: State, t: int, o: dict[str, Any]) -> np.ndarray:
    if not o["momentum"]:
        return p - o["lr"] * g
    s["v"] = g if t == 1 else o["momentum"] * s["v"] + (1 - o["dampening"]) * g
    return p - o["lr"] * (g + o["momentum"] * s["v"] if o["nesterov"] else s["v"])


def moments(g: np.ndarray, s: State, o: dict[str, Any]) -> tuple[Any, Any]:
    beta1, beta2 = o["betas"]
    s["m"] = beta1 * s.get("m", 0) + (1 - beta1) * g
    s["v"] = beta2 * s.get("v", 0) + (1 - beta2) * g**2
    return s["m"], s["v"]


def adam(p: np.ndarray, g: np.ndarray, s: State, t: int, o: dict[str, Any]) -> np.ndarray:
    m, v = moments(g, s, o)
    if o.get("amsgrad"):
        v = s["most"] = np.maximum(s.get("most", 0), v)
    beta1, beta2 = o["betas"]
    return p - o["lr"] * (m / (1 - beta1**t)) / (np.sqrt(v / (1 - beta2**t)) + o["eps"])


def adamax(p: np.ndarray, g: np.ndarray, s: State, t: int, o: dict[str, Any]) -> np.ndarray:
    beta1, beta2 = o["betas"]
    s["m"] = beta1 * s.get("m", 0) + (1 - beta1) * g
    s["u"] = np.maximum(beta2 * s.get("u", 0), np.abs(g) + o["eps"])
    return p - o["lr"] / (1 - beta1**t) * s["m"] / s["u"]


def nadam(p: np.ndarray, g: np.ndarray, s: State, t: int, o: dict[str, Any]) -> np.ndarray:
    m, v = moments(g, s, o)
    beta1, beta2 = o["betas"]
    mu, mu_next = (beta1 * (1 - 0.5 * 0.96 ** (i * o["momentum_decay"])) for i in (t, t + 1))
    s["product"] = s.get("product", 1) * mu
    mean = mu_next * m / (1 - s["product"] * mu_next) + (1 - mu) * g / (1 - s["product"])
    return p - o["lr"] * mean / (np.sqrt(v / (1 - beta2**t)) + o["eps"])


def radam(p: np.ndarray, g: np.ndarray, s: State, t: int, o: dict[str, Any]) -> np.ndarray:
    m, v = moments(g, s, o)
    beta1, beta2 = o["betas"]
    m = m / (1 - beta1**t)
    most = 2 / (1 - beta2) - 1
    rho = most - 2 * t * beta2**t / (1 - beta2**t)
    if rho <= 5:
        return p - o["lr"] * m
    r = np.sqrt((rho - 4) * (rho - 2) * most / ((most - 4) * (most - 2) * rho))
    return p - o["lr"] * r * m * np.sqrt(1 - beta2**t) / (np.sqrt(v) + o["eps"])


def rmsprop(p: np.ndarray, g: np.ndarray, s: State, t: int, o: dict[str, Any]) -> np.ndarray:
    a = o["alpha"]
    v = s["v"] = a * s.get("v", 0) + (1 - a) * g**2
    if o["centered"]:
        s["mean"] = a * s.get("mean", 0) + (1 - a) * g
        v = v - s["mean"] ** 2
    s["b"] = o["momentum"] * s.get("b", 0) + g / (np.sqrt(v) + o["eps"])
    return p - o["lr"] * s["b"]


def adagrad(p: np.ndarray, g: np.ndarray, s: State, t: int, o: dict[str, Any]) -> np.ndarray:
    s["v"] = s.get("v", o["initial_accumulator_value"]) + g**2
    return p - o["lr"] / (1 + (t - 1) * o["lr_decay"]) * g / (np.sqrt(s["v"]) + o["eps"])


def adadelta(p: np.ndarray, g: np.ndarray, s: State, t: int, o: dict[str, Any]) -> np.ndarray:
    rho, eps = o["rho"], o["eps"]
    s["v"] = rho * s.get("v", 0) + (1 - rho) * g**2
    step = np.sqrt(s.get("u", 0) + eps) / np.sqrt(s["v"] + eps) * g
    s["u"] = rho * s.get("u", 0) + (1 - rho) * step**2
    return p - o["lr"] * step


def asgd(p: np.ndarray, g: np.ndarray, s: State, t: int, o: dict[str, Any]) -> np.ndarray:
    eta, mu = s.get("eta", o["lr"]), s.get("mu", 1.0)
    p = p * (1 - o["lambd"] * eta) - eta * g
    s["mean"] = p if mu == 1 else s["mean"] + (p - s["mean"]) * mu
    s["eta"], s["mu"] = o["lr"] / (1 + o["lambd"] * o["lr"] * t) ** o["alpha"], 1 / max(1, t - o["t0"])
    return p


def rprop(p: np.ndarray, g: np.ndarray, s: State, t: int, o: dict[str, Any]) -> np.ndarray:
    (shrink, grow), change = o["etas"], g * s.get("g", 0)
    size = s.get("size", o["lr"]) * np.where(change > 0, grow, np.where(change < 0, shrink, 1))
    s["size"], s["g"] = np.clip(size, *o["step_sizes"]), np.where(change < 0, 0, g)
    return p - np.sign(s["g"]) * s["size"]


def adafactor(p: np.ndarray, g: np.ndarray, s: State, t: int, o: dict[str, Any]) -> np.ndarray:
    eps, new = o["eps"][0] or 2.0**-52, t ** o["beta2_decay"]
    if p.ndim > 1:
        rows, columns = (g**2).mean(-1, keepdims=True), (g**2).mean(-2, keepdims=True)
        rows = s["rows"] = s.get("rows", 0) * (1 - new) + rows * new
        columns = s["columns"] = s.get("columns", 0) * (1 - new) + columns * new
        squares = rows * columns / np.maximum(rows.mean(-2, keepdims=True), eps)
    else:
        squares = s["v"] = s.get("v", 0) * (1 - new) + g**2 * new
    step = g / np.sqrt(np.maximum(squares, eps**2))
    rate = min(o["lr"], t**-0.5) * max(o["eps"][1], np.sqrt((p**2).mean()))
    return p * (1 - o["lr"] * o["weight_decay"]) - rate * step / max(1, np.sqrt((step**2).mean()) / o["d"])


def lion(p: np.ndarray, g: np.ndarray, s: State, t: int, o: dict[str, Any]) -> np.ndarray:
    beta1, beta2 = o["betas"]
    m = s.get("m", 0)
    s["m"] = beta2 * m + (1 - beta2) * g
    return p - o["lr"] * np.sign(beta1 * m + (1 - beta1) * g)


def lamb(p: np.ndarray, g: np.ndarray, s: State, t: int, o: dict[str, Any]) -> np.ndarray:
    m, v = moments(g, s, o)
    beta1, beta2 = o["betas"]
    r = (m / (1 - beta1**t)) / (np.sqrt(v / (1 - beta2**t)) + o["eps"]) + o["weight_decay"] * p
    weight, size = np.sqrt((p**2).sum()), np.sqrt((r**2).sum())
    return p - o["lr"] * (weight / size if weight > 0 and size > 0 else 1) * r


def lars(p: np.ndarray, g: np.ndarray, s: State, t: int, o: dict[str, Any]) -> np.ndarray:
    weight, size = np.sqrt((p**2).sum()), np.sqrt((g**2).sum())
    local = o["trust_coefficient"] * weight / (size + o["weight_decay"] * weight + o["eps"])
    rate = o["lr"] * (local if weight > 0 and size > 0 else 1)
    s["v"] = o["momentum"] * s.get("v", 0) + rate * (g + o["weight_decay"] * p)
    return p - s["v"]


def muon(p: np.ndarray, g: np.ndarray, s: State, t: int, o: dict[str, Any]) -> np.ndarray:
    s["m"] = o["momentum"] * s.get("m", 0) + (1 - o["momentum"]) * g
    x = (1 - o["momentum"]) * g + o["momentum"] * s["m"] if o["nesterov"] else s["m"]
    x = x / max(np.sqrt((x**2).sum()), o["eps"])
    a, b, c = o["ns_coefficients"]
    for _ in range(o["ns_steps"]):
        square = x @ x.T if x.shape[0] <= x.shape[1] else x.T @ x
        polynomial = b * square + c * square @ square
        x = a * x + (polynomial @ x if x.shape[0] <= x.shape[1] else x @ polynomial)
    rows, columns = p.shape
    matched = o["adjust_lr_fn"] == "match_rms_adamw"
    return p - o["lr"] * (0.2 * max(rows, columns) ** 0.5 if matched else max(1, rows / columns) ** 0.5) * x


CASES: list[tuple[str, Formula, dict[str, Any]]] = [
    ("SGD", sgd, {"lr": 0.1}),
    ("SGD", sgd, {"lr": 0.1, "momentum": 0.9}),
    ("SGD", sgd, {"lr": 0.1, "momentum": 0.9, "dampening": 0.3, "weight_decay": 0.01}),
    ("SGD", sgd, {"lr": 0.1, "momentum": 0.9, "nesterov": True, "weight_decay": 0.01}),
    ("SGD", sgd, {"lr": 0.1, "momentum": 0.5, "maximize": True}),
    ("Adam", adam, {"lr": 0.01}),
    ("Adam", adam, {"lr": 0.01, "betas": (0.8, 0.9), "eps": 1e-3, "weight_decay": 0.1}),
    ("Adam", adam, {"lr": 0.01, "amsgrad": True, "maximize": True}),
    ("Adam", adam, {"lr": 0.01, "weight_decay": 0.1, "decoupled_weight_decay": True}),
    ("Adam", adam, {"lr": 0.01, "betas": (0.0, 0.0)}),
    ("AdamW", adam, {"lr": 0.01}),
    ("AdamW", adam, {"lr": 0.01, "weight_decay": 0.1, "amsgrad": True, "maximize": True}),
    ("Adamax", adamax, {"lr": 0.01, "weight_decay": 0.1}),
    ("Adamax", adamax, {"lr": 0.01, "maximize": True}),
    ("NAdam", nadam, {"lr": 0.01, "weight_decay": 0.1}),
    ("NAdam", nadam, {"lr": 0.01, "momentum_decay": 0.1, "maximize": True}),
    ("NAdam", nadam, {"lr": 0.01, "weight_decay": 0.1, "decoupled_weight_decay": True}),
    ("RAdam", radam, {"lr": 0.01, "weight_decay": 0.1}),
    ("RAdam", radam, {"lr": 0.01, "betas": (0.8, 0.95), "maximize": True}),
    ("RAdam", radam, {"lr": 0.01, "betas": (0.8, 0.6)}),
    ("RAdam", radam, {"lr": 0.01, "weight_decay": 0.1, "decoupled_weight_decay": True}),
    ("RMSprop", rmsprop, {"lr": 0.01}),
    ("RMSprop", rmsprop, {"lr": 0.01, "momentum": 0.9, "weight_decay": 0.1}),
    ("RMSprop", rmsprop, {"lr": 0.01, "centered": True, "alpha": 0.9, "maximize": True}),
    ("RMSprop", rmsprop, {"lr": 0.01, "centered": True, "momentum": 0.5}),
    ("Adagrad", adagrad, {"lr": 0.1, "weight_decay": 0.1}),
    ("Adagrad", adagrad, {"lr": 0.1, "lr_decay": 0.1, "initial_accumulator_value": 0.5, "maximize": True}),
    ("Adadelta", adadelta, {"lr": 0.7, "weight_decay": 0.1}),
    ("Adadelta", adadelta, {"rho": 0.8, "eps": 1e-4, "maximize": True}),
    ("ASGD", asgd, {"lr": 0.1, "t0": 20, "weight_decay": 0.1}),
    ("ASGD", asgd, {"lr": 0.1, "lambd": 0.1, "alpha": 0.5, "t0": 0, "maximize": True}),
    ("Rprop", rprop, {"lr": 0.01}),
    ("Rprop", rprop, {"lr": 0.01, "etas": (0.4, 1.3), "step_sizes": (0.001, 0.05), "maximize": True}),
    ("Adafactor", adafactor, {"lr": 0.1}),
    ("Adafactor", adafactor, {"lr": 0.05, "eps": (1e-3, 1e-2), "d": 2.0, "weight_decay": 0.1, "maximize": True}),
    ("Lion", lion, {"lr": 0.01, "weight_decay": 0.1}),
    ("Lion", lion, {"lr": 0.01, "betas": (0.8, 0.9), "maximize": True}),
    ("LAMB", lamb, {"lr": 0.01, "weight_decay": 0.1}),
    ("LAMB", lamb, {"lr": 0.01, "maximize": True}),
    ("LARS", lars, {"lr": 0.1, "momentum": 0.9, "weight_decay": 0.1, "trust_coefficient": 0.1}),
    ("LARS", lars, {"lr": 0.1, "trust_coefficient": 0.1, "maximize": True}),
    ("Muon", muon, {"lr": 0.01}),
    ("Muon", muon, {"lr": 0.01, "nesterov": False, "adjust_lr_fn": "match_rms_adamw", "weight_decay": 0.0}),
    ("Muon", muon, {"lr": 0.01, "ns_steps": 3, "ns_coefficients": (3.0, -4.0, 2.0)}),
]
# Weight decay is taken from p, not added to g; or it is in the formula.
DECOUPLED = {"AdamW", "Lion", "Muon"}
WITHIN = {"LAMB", "LARS", "Rprop", "Adafactor"}


def name_of(case: Any) -> str:
    return case if isinstance(case, str) else ",".join(case) if isinstance(case, dict) else ""


def shapes_of(name: str) -> list[tuple[int, ...]]:
    return [(3, 4), (5, 2)] if name == "Muon" else SHAPES


def start_and_gradients(name: str, steps: int = STEPS) -> tuple[list[np.ndarray], list[list[np.ndarray]]]:
    random = np.random.default_rng(7)
    shapes = shapes_of(name)
    start = [random.normal(size=shape) for shape in shapes]
    return start, [[np.asarray(random.normal(size=shape)) for shape in shapes] for _ in range(steps)]


def expected(name: str, formula: Formula, options: dict[str, Any]) -> list[np.ndarray]:
    start, gradients = start_and_gradients(name)
    defaults = getattr(sg.optim, name)([sg.ones(1, 1, requires_grad=True)], **options).param_groups[0]
    out = []
    for i, first in enumerate(start):
        p, s = first, dict[str, Any]()
        for t, of_step in enumerate(gradients, 1):
            g = -of_step[i] if defaults.get("maximize") else of_step[i]
            if name in DECOUPLED or defaults.get("decoupled_weight_decay"):
                p = p * (1 - defaults["lr"] * defaults["weight_decay"])
            elif name not in WITHIN:
                g = g + defaults["weight_decay"] * p
            p = formula(p, g, s, t, defaults)
        out.append(p)
    return out


def trained(name: str, options: dict[str, Any], dtype: sg.dtype, device: sg.Device) -> list[np.ndarray]:
    start, gradients = start_and_gradients(name)
    params = [sg.tensor(p, dtype=dtype, device=device, requires_grad=True) for p in start]
    optimizer = getattr(sg.optim, name)(params, **options)
    for of_step in gradients:
        for p, g in zip(params, of_step, strict=True):
            p.grad = sg.tensor(g, dtype=dtype, device=device)
        optimizer.step()
    return [p.detach().cpu().numpy() for p in params]


@pytest.mark.parametrize(("name", "formula", "options"), CASES, ids=name_of)
def test_fifty_steps_in_float64(name: str, formula: Formula, options: dict[str, Any]) -> None:
    got = trained(name, options, sg.float64, sg.Device.cpu())
    for p, want in zip(got, expected(name, formula, options), strict=True):
        np.testing.assert_allclose(p, want, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(("name", "formula", "options"), CASES, ids=name_of)
def test_fifty_steps_in_float32(name: str, formula: Formula, options: dict[str, Any]) -> None:
    got = trained(name, options, sg.float32, sg.Device.cpu())
    for p, want in zip(got, expected(name, formula, options), strict=True):
        np.testing.assert_allclose(p, want, rtol=1e-5, atol=1e-5)


def test_factors_of_rprop_have_all_digits_in_float64() -> None:
    p = sg.tensor([0.5, -2.0], dtype=sg.float64, requires_grad=True)
    optimizer = sg.optim.Rprop([p], lr=0.01, etas=(0.3, 1.1))
    for sign in (1.0, 1.0, -1.0, -1.0):
        p.grad = sg.full((2,), sign, dtype=sg.float64)
        optimizer.step()
    step = 0.01 * 1.1 * 0.3  # the third changes its sign, and is left out
    np.testing.assert_allclose(p.detach().numpy(), np.array([0.5, -2.0]) - 0.01 - 0.011 + step, rtol=1e-15)


# Each rule once; a new shader takes its time on a software driver.
ONCE = list({name: (name, formula, options) for name, formula, options in CASES}.values())


@pytest.mark.parametrize(("name", "formula", "options"), ONCE, ids=name_of)
@pytest.mark.gpu
def test_fifty_steps_on_the_gpu(name: str, formula: Formula, options: dict[str, Any]) -> None:
    got = trained(name, options, sg.float32, sg.Device("gpu"))
    for p, want in zip(got, expected(name, formula, options), strict=True):
        np.testing.assert_allclose(p, want, rtol=1e-5, atol=1e-5)


# ---- PyTorch ---------------------------------------------------------------------------------------------------------
def to_torch(value: Any) -> Any:
    """State dicts of ours, with PyTorch's tensors."""
    torch = pytest.importorskip("torch")
    if isinstance(value, sg.Tensor):
        return torch.tensor(value.detach().cpu().numpy())
    if isinstance(value, dict):
        return {k: to_torch(v) for k, v in value.items()}
    return value


WITH_TORCH = [case for case in CASES if case[0] not in ("LAMB", "LARS", "Lion", "Muon")]


@pytest.mark.parametrize(("name", "formula", "options"), WITH_TORCH, ids=name_of)
def test_steps_and_state_are_those_of_pytorch(name: str, formula: Formula, options: dict[str, Any]) -> None:
    torch = pytest.importorskip("torch")
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)  # PyTorch counts in the default type
    try:
        start, gradients = start_and_gradients(name, 60)
        theirs = [torch.nn.Parameter(torch.tensor(p)) for p in start]
        ours = [sg.tensor(p, requires_grad=True) for p in start]
        optimizers = getattr(torch.optim, name)(theirs, **options), getattr(sg.optim, name)(ours, **options)

        def steps(of_steps: list[list[np.ndarray]]) -> None:
            for of_step in of_steps:
                for p, q, g in zip(theirs, ours, of_step, strict=True):
                    p.grad, q.grad = torch.tensor(g), sg.tensor(g)
                for optimizer in optimizers:
                    optimizer.step()
            for p, q in zip(theirs, ours, strict=True):
                np.testing.assert_allclose(q.detach().numpy(), p.detach().numpy(), rtol=1e-12, atol=1e-12)

        steps(gradients[:40])
        states = optimizers[0].state_dict(), optimizers[1].state_dict()
        assert {k: set(v) for k, v in states[0]["state"].items()} == {k: set(v) for k, v in states[1]["state"].items()}
        # Each goes on with the state of the other.
        optimizers = getattr(torch.optim, name)(theirs), getattr(sg.optim, name)(ours)
        optimizers[0].load_state_dict(to_torch(states[1]))
        optimizers[1].load_state_dict(states[0])
        steps(gradients[40:])
    finally:
        torch.set_default_dtype(before)


# ---- what a step costs -----------------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", [case[0] for case in ONCE])
def test_a_step_is_one_submission_whatever_its_numbers(name: str, device: sg.Device) -> None:
    params = [sg.tensor(p, dtype=sg.float32, device=device, requires_grad=True) for p in start_and_gradients(name)[0]]
    optimizer = getattr(sg.optim, name)(params, lr=0.1)

    def step() -> None:
        optimizer.zero_grad()
        sum(((p * p).sum() for p in params), start=sg.zeros((), device=device)).backward()
        optimizer.step()

    for _ in range(3):
        step()
    sg.reset_stats()
    for i in range(4):
        optimizer.param_groups[0]["lr"] = 0.1 / (i + 2)
        step()
    s = sg.stats()
    assert (s["submissions"], s["plan_hits"], s["plan_misses"], s["allocations"]) == (4, 4, 0, 0)
    assert (s["fallbacks"], s["bytes_read"], s["kernels_compiled"]) == (0, 0, 0)


def test_all_parameters_are_updated_in_one_launch(device: sg.Device) -> None:
    for make in (lambda p: sg.optim.AdamW(p, amsgrad=True), lambda p: sg.optim.SGD(p, momentum=0.9, nesterov=True)):
        params = [sg.ones(n, device=device, requires_grad=True) for n in (3, 100, 7, 1)]
        optimizer = make(params)
        for _ in range(2):
            for p in params:
                p.grad = sg.ones(p.shape, device=device)
            sg.synchronize(device)
            sg.reset_stats()
            optimizer.step()
        assert sg.stats()["dispatches"] <= 2  # and the gradients of ones


def test_groups_of_other_options_are_one_submission(device: sg.Device) -> None:
    a, b = (sg.ones(n, device=device, requires_grad=True) for n in (3, 4))
    optimizer = sg.optim.Adam([{"params": [a]}, {"params": [b], "lr": 0.5, "betas": (0.5, 0.9)}], lr=0.1)
    for _ in range(3):
        sg.reset_stats()
        a.grad, b.grad = sg.ones(3, device=device), sg.ones(4, device=device)
        optimizer.step()
    assert sg.stats()["submissions"] == 1
    np.testing.assert_allclose(a.tolist(), [0.7] * 3, rtol=1e-5)
    np.testing.assert_allclose(b.tolist(), [-0.5] * 4, rtol=1e-5)


# ---- groups, freezing, accumulation ----------------------------------------------------------------------------------
def leaf(*values: float) -> sg.Tensor:
    return sg.tensor(list(values), requires_grad=True, dtype=sg.float64)


def test_groups_have_options_of_their_own() -> None:
    a, b, c = leaf(1.0), leaf(1.0), leaf(1.0)
    optimizer = sg.optim.SGD([{"params": a, "lr": 1.0}, {"params": [b]}], lr=0.1, momentum=0.5)
    optimizer.add_param_group({"params": c, "momentum": 0.0, "lr": 0.01})
    for _ in range(2):
        for p in (a, b, c):
            p.grad = leaf(1.0).detach()
        optimizer.step()
    assert [round(p.item(), 9) for p in (a, b, c)] == [-1.5, 0.75, 0.98]
    assert [g["lr"] for g in optimizer.param_groups] == [1.0, 0.1, 0.01]
    assert optimizer.defaults["lr"] == 0.1


def test_pairs_name_the_parameters() -> None:
    net = sg.nn.Linear(2, 1)
    optimizer = sg.optim.Adam(net.named_parameters())
    assert optimizer.param_groups[0]["param_names"] == ["weight", "bias"]
    assert optimizer.param_groups[0]["params"][0] is net.weight
    assert optimizer.state_dict()["param_groups"][0]["param_names"] == ["weight", "bias"]


def test_frozen_parameters_stay_and_count_their_own_steps() -> None:
    frozen, free = leaf(1.0), leaf(1.0)
    optimizer = sg.optim.Adam([frozen, free], lr=0.1)
    frozen.requires_grad_(False)
    for i in range(6):
        if i == 4:
            frozen.requires_grad_()
        optimizer.zero_grad()
        ((frozen * frozen).sum() + (free * free).sum()).backward()
        optimizer.step()
        assert (frozen.item() == 1.0) == (i < 4)
    counts = [s["step"].item() for s in optimizer.state_dict()["state"].values()]
    assert counts == [2.0, 6.0]
    alone = leaf(1.0)
    other = sg.optim.Adam([alone], lr=0.1)
    for _ in range(2):
        other.zero_grad()
        (alone * alone).sum().backward()
        other.step()
    assert alone.item() == frozen.item()


@pytest.mark.parametrize("wrong", [0, 1])
def test_a_step_that_fails_on_the_way_is_not_done(wrong: int, device: sg.Device) -> None:
    def train(fails: bool) -> list[Any]:
        tensors = [sg.full((3,), v, device=device, requires_grad=True) for v in (1.0, 2.0)]
        opt = sg.optim.Adam([{"params": [p]} for p in tensors], lr=0.1)
        for i in range(4):
            opt.zero_grad()
            sum((p * p).sum() for p in tensors).backward()  # type: ignore[union-attr]
            if fails and i == 2:
                before = [p.tolist() for p in tensors]
                opt.param_groups[wrong]["lr"] = "much"
                with pytest.raises(TypeError):
                    opt.step()
                assert [p.tolist() for p in tensors] == before
                opt.param_groups[wrong]["lr"] = 0.1
            opt.step()
        return [p.tolist() for p in tensors] + [opt.state[p]["step"] for p in tensors]

    assert train(True) == train(False)


def test_steps_may_be_counted_on_the_device(device: sg.Device) -> None:
    results = []
    for capturable in (False, True):
        a, b = (sg.ones(2, device=device, requires_grad=True) for _ in range(2))
        optimizer = sg.optim.Adam([a, b], lr=0.1)
        optimizer.capturable = capturable
        for i in range(6):
            a.grad = sg.ones(2, device=device) * (i + 1)
            b.grad = None if i in (2, 3) else a.grad * 2
            optimizer.step()
        results.append([a.tolist(), b.tolist()])
        assert [s["step"].item() for s in optimizer.state_dict()["state"].values()] == [6.0, 4.0]
    np.testing.assert_allclose(results[0], results[1], rtol=1e-5)


def test_gradients_of_small_batches_add_up_to_that_of_a_large_one() -> None:
    x = sg.randn(12, 4)
    results = []
    for parts in (1, 3):
        sg.manual_seed(1)
        net = sg.nn.Linear(4, 1)
        optimizer = sg.optim.AdamW(net.parameters(), lr=0.1)
        for _ in range(5):
            optimizer.zero_grad()
            for part in x.chunk(parts):
                ((net(part) - 1).square().sum() / 12).backward()
            optimizer.step()
        results.append(net.weight.detach().cpu().numpy())
    np.testing.assert_allclose(results[0], results[1], rtol=1e-4, atol=1e-5)


def test_a_learning_rate_may_be_a_tensor(device: sg.Device) -> None:
    rate = sg.tensor(0.5, device=device)
    w = sg.ones(2, device=device, requires_grad=True)
    optimizer = sg.optim.Adam([w], lr=rate)
    w.grad = sg.ones(2, device=device)
    optimizer.step()
    rate.fill_(0.25)
    optimizer.step()
    np.testing.assert_allclose(w.tolist(), [0.25, 0.25], rtol=1e-5)


def test_zero_grad_drops_gradients_or_writes_zeros() -> None:
    w = leaf(1.0, 2.0)
    optimizer = sg.optim.SGD([w], lr=0.1)
    w.grad = leaf(1.0, 1.0).detach()
    kept = w.grad
    optimizer.zero_grad(set_to_none=False)
    assert kept.tolist() == [0.0, 0.0]
    optimizer.zero_grad()
    assert w.grad is None
    optimizer.step()
    assert w.tolist() == [1.0, 2.0]


def test_a_closure_gives_the_loss_and_hooks_surround_the_step() -> None:
    w, seen = leaf(2.0), list[str]()
    optimizer = sg.optim.SGD([w], lr=0.25)
    optimizer.register_step_pre_hook(lambda o, args, kwargs: seen.append("before"))
    handle = optimizer.register_step_post_hook(lambda o, args, kwargs: seen.append(f"after {w.item()}"))

    def closure() -> sg.Tensor:
        optimizer.zero_grad()
        loss = (w * w).sum()
        loss.backward()
        return loss

    with sg.no_grad():
        assert optimizer.step(closure).item() == 4.0
    handle.remove()
    optimizer.step(closure)
    assert seen == ["before", "after 1.0", "before"] and w.item() == 0.5


# ---- state -----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", [case[0] for case in ONCE])
def test_a_saved_state_goes_on_with_the_same_bits(name: str) -> None:
    def run(split: bool) -> list[Any]:
        start, gradients = start_and_gradients(name, 8)
        params = [sg.tensor(p, requires_grad=True) for p in start]
        optimizer = getattr(sg.optim, name)(params, lr=0.1)
        for t, of_step in enumerate(gradients):
            if split and t == 4:
                state = copy.deepcopy(optimizer.state_dict())
                optimizer = getattr(sg.optim, name)(params, lr=3.0)
                optimizer.load_state_dict(state)
            for p, g in zip(params, of_step, strict=True):
                p.grad = sg.tensor(g)
            optimizer.step()
        return [p.tolist() for p in params]

    assert run(False) == run(True)


def test_state_is_in_pytorchs_form() -> None:
    a, b = leaf(1.0), leaf(1.0, 2.0)
    optimizer = sg.optim.Adam([{"params": [a]}, {"params": [b], "lr": 0.5}], lr=0.1, amsgrad=True)
    assert optimizer.state_dict()["state"] == {}
    b.grad = b.detach()
    optimizer.step()
    saved = optimizer.state_dict()
    assert list(saved["state"]) == [1]
    assert list(saved["state"][1]) == ["step", "exp_avg", "exp_avg_sq", "max_exp_avg_sq"]
    assert saved["state"][1]["step"].item() == 1.0 and saved["state"][1]["exp_avg"].shape == (2,)
    assert [g["params"] for g in saved["param_groups"]] == [[0], [1]]
    assert optimizer.state[b]["exp_avg"].tolist() == pytest.approx([0.1, 0.2])


def test_state_takes_the_type_of_its_parameter() -> None:
    a = leaf(1.0, 2.0)
    first = sg.optim.Adam([a])
    a.grad = a.detach()
    first.step()
    b = sg.ones(2, requires_grad=True)
    second = sg.optim.Adam([b])
    second.load_state_dict(first.state_dict())
    assert second.state[b]["exp_avg"].dtype == sg.float32
    first.state[a]["exp_avg"].zero_()
    assert second.state[b]["exp_avg"].tolist() != [0.0, 0.0]


def test_an_option_may_be_switched_on_later() -> None:
    w = leaf(1.0)
    optimizer = sg.optim.SGD([w], lr=0.1)
    w.grad = leaf(1.0).detach()
    optimizer.step()
    optimizer.param_groups[0]["momentum"] = 0.5
    optimizer.step()
    optimizer.step()
    assert w.item() == pytest.approx(1 - 0.1 - 0.1 - 0.15)


def test_the_text_of_an_optimizer() -> None:
    assert repr(sg.optim.Adagrad([leaf(1.0)], lr=0.1)) == (
        "Adagrad (\nParameter Group 0\n    differentiable: False\n    eps: 1e-10\n    foreach: None\n    fused: None\n"
        "    initial_accumulator_value: 0.0\n    lr: 0.1\n    lr_decay: 0.0\n    maximize: False\n"
        "    weight_decay: 0.0\n)"
    )


W = leaf(1.0)


@pytest.mark.parametrize(
    ("make", "kind", "text"),
    [
        (lambda: sg.optim.SGD([]), ValueError, "SGD: no parameters; pass model.parameters()"),
        (lambda: sg.optim.SGD([1.0]), TypeError, "SGD: a parameter is a float; pass tensors"),
        (lambda: sg.optim.SGD([W * 2]), ValueError, "SGD: a parameter was made by an operation; pass leaves"),
        (lambda: sg.optim.SGD([W, W]), ValueError, "SGD: a parameter is given twice; name it in one group, once"),
        (lambda: sg.optim.SGD([W], lr=-1), ValueError, "SGD: lr is -1; use 0 or more"),
        (lambda: sg.optim.SGD([W], nesterov=True), ValueError,
         "SGD: nesterov with momentum 0.0 and dampening 0.0; give momentum and no dampening"),
        (lambda: sg.optim.SGD([W], speed=1), TypeError, "SGD: there is no option speed; see help(spirograd.optim.SGD)"),
        (lambda: sg.optim.Adam([W], betas=(1.0, 0.9)), ValueError, "Adam: beta is 1.0; use a number in [0, 1)"),
        (lambda: sg.optim.Adam([W], eps=-1e-8), ValueError, "Adam: eps is -1e-08; use 0 or more"),
        (lambda: sg.optim.Adam([W], differentiable=True), ValueError,
         "Adam: steps have no gradient; leave out differentiable"),
        (lambda: sg.optim.Muon([W]), ValueError,
         "Muon: a parameter has shape [1]; pass matrices, the others to AdamW"),
        (lambda: sg.optim.SGD([W]).add_param_group([W]), TypeError,
         "SGD: a group is a list; pass a dict with 'params'"),
        (lambda: sg.optim.SGD([{"params": {W}}]), TypeError, "SGD: params is a set, which has no order; pass a list"),
        (lambda: sg.optim.Adam([W]).load_state_dict(sg.optim.Adam([leaf(1.0), leaf(2.0)]).state_dict()), ValueError,
         "Adam: the state has groups of [2] parameters, the optimiser of [1]; use the same groups"),
    ],
)  # fmt: skip
def test_errors_say_what_is_wrong(make: Callable[[], Any], kind: type[Exception], text: str) -> None:
    with pytest.raises(kind) as error:
        make()
    assert str(error.value) == text


# ---- LBFGS -----------------------------------------------------------------------------------------------------------
def rosenbrock(lib: Any, w: Any) -> Any:
    return (100 * (w[1:] - w[:-1] ** 2) ** 2 + (1 - w[:-1]) ** 2).sum()


def minimised(lib: Any, steps: int, loss_of: Callable[[Any, Any], Any], **options: Any) -> tuple[Any, list[float]]:
    w = lib.tensor([-1.2, 1.0, 0.5, 2.0], dtype=lib.float64, requires_grad=True)
    optimizer = lib.optim.LBFGS([w], **options)

    def closure() -> Any:
        optimizer.zero_grad()
        loss = loss_of(lib, w)
        loss.backward()
        return loss

    losses = [optimizer.step(closure).item() for _ in range(steps)]
    return (w, optimizer), losses


def test_lbfgs_finds_the_minimum_of_a_valley() -> None:
    def two_valleys(lib: Any, w: Any) -> Any:
        return rosenbrock(lib, w[:2]) + rosenbrock(lib, w[2:])

    (w, _), losses = minimised(sg, 3, two_valleys, line_search_fn="strong_wolfe")
    np.testing.assert_allclose(w.tolist(), np.ones(4), atol=1e-4)
    assert losses == sorted(losses, reverse=True)


def test_lbfgs_solves_a_quadratic_in_as_many_directions_as_it_has() -> None:
    scale = np.array([1.0, 3.0, 10.0, 0.5])
    (w, optimizer), _ = minimised(
        sg, 1, lambda lib, w: (lib.tensor(scale) * (w - 2) ** 2).sum(), max_iter=12, line_search_fn="strong_wolfe"
    )
    np.testing.assert_allclose(w.tolist(), np.full(4, 2.0), atol=1e-6)
    assert optimizer.state[w]["n_iter"] <= 12


@pytest.mark.parametrize(
    "options",
    [
        {"lr": 1e-3, "max_iter": 15},
        {"line_search_fn": "strong_wolfe"},
        {"line_search_fn": "strong_wolfe", "history_size": 2, "max_iter": 6},
        {"line_search_fn": "strong_wolfe", "lr": 0.3, "max_eval": 7},
        {"line_search_fn": "strong_wolfe", "lr": 20.0, "tolerance_change": 1e-5},
    ],
    ids=name_of,
)
def test_lbfgs_goes_where_pytorch_goes(options: dict[str, Any]) -> None:
    torch = pytest.importorskip("torch")
    (ours, optimizer), our_losses = minimised(sg, 4, rosenbrock, **options)
    (theirs, other), their_losses = minimised(torch, 4, rosenbrock, **options)
    np.testing.assert_allclose(our_losses, their_losses, rtol=1e-6, atol=1e-12)
    np.testing.assert_allclose(ours.tolist(), theirs.tolist(), rtol=1e-6)
    counts = [(s["n_iter"], s["func_evals"]) for s in (optimizer.state[ours], other.state[theirs])]
    assert counts[0] == counts[1]


def test_lbfgs_goes_on_from_a_saved_state() -> None:
    results = []
    for split in (False, True):
        (w, optimizer), _ = minimised(sg, 2, rosenbrock, max_iter=3, line_search_fn="strong_wolfe")
        if split:
            state = copy.deepcopy(optimizer.state_dict())
            optimizer = sg.optim.LBFGS([w])
            optimizer.load_state_dict(state)

        def closure(w: sg.Tensor = w) -> sg.Tensor:
            w.grad = None
            loss = rosenbrock(sg, w)
            loss.backward()
            return loss

        optimizer.step(closure)
        results.append(w.tolist())
    assert results[0] == results[1]
    with pytest.raises(TypeError, match=r"LBFGS: step\(\) evaluates the loss several times"):
        optimizer.step()


# ---- averages of weights ---------------------------------------------------------------------------------------------
def test_lookahead_follows_its_formula() -> None:
    start, made = start_and_gradients("Adam")
    params = [sg.tensor(p, requires_grad=True) for p in start]
    optimizer = sg.optim.Lookahead(sg.optim.SGD(params, lr=0.1, momentum=0.9), k=4, alpha=0.3)
    fast, slow, v = list(start), list(start), [np.zeros_like(p) for p in start]
    for t, of_step in enumerate(made, 1):
        for i, g in enumerate(of_step):
            params[i].grad = sg.tensor(g)
            v[i] = 0.9 * v[i] + g
            fast[i] = fast[i] - 0.1 * v[i]
            if t % 4 == 0:
                slow[i] = fast[i] = slow[i] + 0.3 * (fast[i] - slow[i])
        optimizer.step()
        if t == 22:  # and what is saved goes on
            state = copy.deepcopy(optimizer.state_dict())
            optimizer = sg.optim.Lookahead(sg.optim.SGD(params, lr=3.0, momentum=0.9), k=4, alpha=0.3)
            optimizer.load_state_dict(state)
    for p, want in zip(params, fast, strict=True):
        np.testing.assert_allclose(p.detach().numpy(), want, rtol=1e-12, atol=1e-12)


def test_averages_follow_their_formulas() -> None:
    net = sg.nn.Linear(2, 2).to(sg.float64)
    swa = sg.optim.swa_utils.AveragedModel(net)
    ema = sg.optim.swa_utils.AveragedModel(net, multi_avg_fn=sg.optim.swa_utils.get_ema_multi_avg_fn(0.9))
    own = sg.optim.swa_utils.AveragedModel(net, avg_fn=lambda average, value, n: average * n + value)
    seen = [np.random.default_rng(i).normal(size=(2, 2)) for i in range(6)]
    for x in seen:
        with sg.no_grad():
            net.weight.copy_(sg.tensor(x))
        for model in (swa, ema, own):
            model.update_parameters(net)
    mean = exponential = product = seen[0]
    for n, x in enumerate(seen[1:], 1):
        mean, exponential, product = mean + (x - mean) / (n + 1), 0.9 * exponential + 0.1 * x, product * n + x
    for model, want in ((swa, mean), (ema, exponential), (own, product)):
        np.testing.assert_allclose(model.module.weight.detach().numpy(), want, rtol=1e-12)
        assert model.n_averaged.item() == 6
    assert swa.module.weight is not net.weight and "module.weight" in swa.state_dict()


def test_running_means_are_computed_anew_for_an_average() -> None:
    net = sg.nn.Sequential(sg.nn.Linear(3, 2), sg.nn.BatchNorm1d(2)).eval()
    batches = [sg.randn(4, 3) for _ in range(3)]
    sg.optim.swa_utils.update_bn([(x, None) for x in batches], net)
    y = [net[0](x).detach().numpy() for x in batches]
    np.testing.assert_allclose(net[1].running_mean.numpy(), np.mean([v.mean(0) for v in y], 0), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(net[1].running_var.numpy(), np.mean([v.var(0, ddof=1) for v in y], 0), rtol=1e-5)
    assert net[1].momentum == 0.1 and not net.training


def test_an_average_costs_no_submission_and_no_read(device: sg.Device) -> None:
    net = sg.nn.Linear(3, 2).to(device)
    ema = sg.optim.swa_utils.AveragedModel(net, multi_avg_fn=sg.optim.swa_utils.get_ema_multi_avg_fn(0.9))
    optimizer = sg.optim.SGD(net.parameters(), lr=0.1)
    for i in range(6):
        if i == 4:
            sg.reset_stats()
        optimizer.zero_grad()
        net(sg.ones(1, 3, device=device)).sum().backward()
        optimizer.step()
        ema.update_parameters(net)
    s = sg.stats()
    assert (s["submissions"], s["plan_misses"], s["bytes_read"]) == (2, 0, 0)


@pytest.mark.parametrize("options", [{}, {"anneal_epochs": 4, "anneal_strategy": "linear"}, {"anneal_epochs": 0}])
def test_swa_rates(options: dict[str, Any]) -> None:
    opt = sg.optim.SGD([leaf(1.0)], lr=1.0)
    scheduler = sg.optim.swa_utils.SWALR(opt, swa_lr=0.1, **options)
    rates = []
    for _ in range(12):
        rates.append(opt.param_groups[0]["lr"])
        opt.step()
        scheduler.step()
    length = options.get("anneal_epochs", 10)
    shares = np.minimum(np.arange(12) / max(1, length), 1) if length else np.ones(12)
    shares = shares if "anneal_strategy" in options else (1 - np.cos(np.pi * shares)) / 2
    np.testing.assert_allclose(rates, shares * 0.1 + (1 - shares), rtol=1e-12)
