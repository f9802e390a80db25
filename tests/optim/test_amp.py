"""Mixed precision: which types run under autocast, and steps that the device skips."""

from __future__ import annotations

import math
import re
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import spirograd as sg

F = sg.nn.functional
HALVES = [sg.float16, sg.bfloat16]


# ---- autocast --------------------------------------------------------------------------------------------------------
SQUARE = {
    "matmul": lambda x: sg.matmul(x, x),
    "mm": lambda x: x.mm(x),
    "bmm": lambda x: sg.bmm(x[None], x[None]),
    "mv": lambda x: x.mv(x[0]),
    "addmm": lambda x: sg.addmm(x, x, x),
    "addmv": lambda x: sg.addmv(x[0], x, x[0]),
    "addbmm": lambda x: sg.addbmm(x, x[None], x[None]),
    "baddbmm": lambda x: sg.baddbmm(x[None], x[None], x[None]),
    "chain_matmul": lambda x: sg.chain_matmul(x, x, x),
    "einsum": lambda x: sg.einsum("ij,jk->ik", x, x),
    "@": lambda x: x @ x,
    "linear": lambda x: F.linear(x, x, x[0]),
}
IN_PYTHON = {
    "narrow": "linear conv_transpose3d rnn lstm gru scaled_dot_product_attention",
    "wide": "softmin layer_norm rms_norm group_norm kl_div",
}
WIDE_CALLS: dict[str, Callable[[sg.Tensor], Any]] = {
    "**": lambda x: x**3,
    "cumsum": lambda x: x.cumsum(0),
    "cumprod": lambda x: x.cumprod(0),
    "logcumsumexp": lambda x: sg.logcumsumexp(x, 0),
    "softmax": lambda x: x.softmax(1),
    "log_softmax": lambda x: x.log_softmax(1),
    "softmin": lambda x: F.softmin(x, 1),
    "logsumexp": lambda x: x.logsumexp(1),
    "cross_entropy": lambda x: F.cross_entropy(x, sg.tensor([0, 1, 2], device=x.device)),
    "mse_loss": lambda x: F.mse_loss(x, x + 1),
    "pow": lambda x: sg.pow(x, 3),
    "power": lambda x: sg.power(x, 3),
    "logaddexp": lambda x: sg.logaddexp(x, x),
    "var_mean": lambda x: sg.var_mean(x)[0],
    "std_mean": lambda x: sg.std_mean(x)[1],
    "quantile": lambda x: x.quantile(0.3),
    "nanquantile": lambda x: x.nanquantile(0.3, 1),
}


def matrix(device: sg.Device, dtype: sg.dtype = sg.float32) -> sg.Tensor:
    return sg.tensor(np.random.default_rng(2).uniform(0.1, 0.9, (3, 3)), dtype=dtype, device=device)


@pytest.mark.parametrize("half", HALVES, ids=str)
def test_products_run_in_the_half_type(half: sg.dtype) -> None:
    x = matrix(sg.Device.cpu())
    for name, f in SQUARE.items():
        with sg.autocast("cpu", half):
            got = f(x)
        assert got.dtype == half, name
        np.testing.assert_array_equal(got.float().numpy(), f(x.to(half)).float().numpy(), err_msg=name)
        assert f(x).dtype == sg.float32, name


def test_sums_run_in_float32() -> None:
    x = matrix(sg.Device.cpu(), sg.float16)
    with sg.autocast("cpu", sg.float16):
        for name in sg._core._autocast_wide:
            call = WIDE_CALLS.get(name, getattr(sg, name, None))
            if call is not None and name != "nll_loss":
                assert call(x).dtype == sg.float32, name
        for name, call in WIDE_CALLS.items():
            assert call(x).dtype == sg.float32, name
        assert (x + x).dtype == x.relu().dtype == sg.float16
        assert x.sum(dim=0, keepdim=True).dtype == sg.float32
    assert x.sum().dtype == sg.float16


def test_norms_give_float32_or_what_they_got() -> None:
    x, one = matrix(sg.Device.cpu(), sg.float16)[None], sg.ones(3)
    with sg.autocast("cpu", sg.float16):
        for got in (F.layer_norm(x, (3,), one, one), F.rms_norm(x, (3,)), F.group_norm(x, 1)):
            assert got.dtype == sg.float32
        assert F.batch_norm(x, None, None, training=True).dtype == sg.float16


def test_functions_in_python_are_marked() -> None:
    from spirograd.base import casts

    seen: list[Any] = []

    def types(x: sg.Tensor, several: list[sg.Tensor], *, scale: sg.Tensor) -> None:
        seen.append([x.dtype, several[0].dtype, scale.dtype])

    x, y, z = sg.ones(2), [sg.ones(2, dtype=sg.bfloat16)], sg.ones(2, dtype=sg.float64)
    casts.narrow(types)(x, y, scale=z)
    with sg.autocast("cpu", sg.float16):
        casts.narrow(types)(x, y, scale=z)
        casts.wide(types)(x, y, scale=z)
    assert seen == [
        [sg.float32, sg.bfloat16, sg.float64],
        [sg.float16, sg.float16, sg.float64],
        [sg.float32, sg.float32, sg.float64],
    ]


def test_losses_run_in_float32() -> None:
    losses = [name for name in dir(F) if name.endswith("_loss") or name in ("kl_div", "cross_entropy")]
    assert "mse_loss" in losses
    for name in losses:
        marked = hasattr(getattr(F, name), "__wrapped__") or name in sg._core._autocast_wide
        assert marked, f"{name} would run in a half type: mark it with casts.wide"


def test_every_type_has_its_row_in_the_docs() -> None:
    page = (Path(__file__).resolve().parents[2] / "docs" / "mixed_precision.md").read_text(encoding="utf-8")
    said: dict[str, set[str]] = {"the half type": set(), "float32": set()}
    for row in re.findall(r"^\| (.+) \| (the half type|float32) \|$", page, re.MULTILINE):
        said[row[1]] |= set(re.findall(r"`(\w+)`", row[0]))
    for kind, names, in_python in (
        ("the half type", sg._core._autocast_narrow, IN_PYTHON["narrow"]),
        ("float32", sg._core._autocast_wide, IN_PYTHON["wide"]),
    ):
        assert said[kind] == {*(name for name in names if name[0] != "_"), *in_python.split()}


def test_gradients_are_those_of_explicit_conversions(device: sg.Device) -> None:
    results = []
    for explicit in (False, True):
        w = matrix(device).requires_grad_()
        x = matrix(device) * 2
        if explicit:
            y = (x.half() @ w.half()).relu()
            loss = y.float().exp().sum()
        else:
            with sg.autocast(device.kind, sg.float16):
                y = (x @ w).relu()
                loss = y.exp().sum()
        assert y.dtype == sg.float16 and loss.dtype == sg.float32
        loss.backward()
        assert w.grad.dtype == sg.float32
        results.append((loss.item(), w.grad.tolist()))
    assert results[0] == results[1]


def test_float64_and_integers_are_left_alone() -> None:
    with sg.autocast("cpu"):
        x = matrix(sg.Device.cpu(), sg.float64)
        assert (x @ x).dtype == sg.float64
        assert sg.arange(3).sum().dtype == sg.int64


def test_autocasts_nest_and_end() -> None:
    x = matrix(sg.Device.cpu())
    with sg.autocast("cpu", sg.bfloat16):
        with sg.autocast("cpu", enabled=False):
            assert (x @ x).dtype == sg.float32 and not sg.amp.is_autocast_enabled("cpu")
        with sg.autocast("cpu", sg.float16):
            assert (x @ x).dtype == sg.float16 and sg.amp.get_autocast_dtype("cpu") == sg.float16
        with sg.autocast("gpu"):
            assert (x @ x).dtype == sg.bfloat16
        assert (x @ x).dtype == sg.bfloat16
    with pytest.raises(ZeroDivisionError), sg.autocast("cpu"):
        raise ZeroDivisionError
    assert (x @ x).dtype == sg.float32

    @sg.autocast("cpu", dtype=sg.float16)
    def product(x: sg.Tensor) -> sg.Tensor:
        return x @ x

    assert product(x).dtype == sg.float16 and (x @ x).dtype == sg.float32


def test_an_autocast_is_of_its_thread() -> None:
    x, seen = matrix(sg.Device.cpu()), list[sg.dtype]()
    with sg.autocast("cpu"):
        thread = threading.Thread(target=lambda: seen.append((x @ x).dtype))
        thread.start()
        thread.join()
    assert seen == [sg.float32]


def test_what_is_computed_again_is_of_the_same_type() -> None:
    types: list[sg.dtype] = []

    def part(x: sg.Tensor) -> sg.Tensor:
        y = x @ x
        types.append(y.dtype)
        return y.float()

    x = matrix(sg.Device.cpu()).requires_grad_()
    with sg.autocast("cpu", sg.float16):
        y = sg.utils.checkpoint.checkpoint(part, x)
    y.sum().backward()
    assert types == [sg.float16, sg.float16]


def test_wrong_types_are_named() -> None:
    with pytest.raises(ValueError, match="autocast: device_type 'tpu' is unknown; use cpu or gpu"):
        sg.autocast("tpu")
    with pytest.raises(
        TypeError, match=r"autocast: dtype spirograd.float32 is not a half type; use float16 or bfloat16"
    ):
        sg.autocast("cpu", dtype=sg.float32)


# ---- GradScaler ------------------------------------------------------------------------------------------------------
def run(lib: Any, gradients: list[np.ndarray], optimizer: str, options: dict[str, Any], **scaler: Any) -> Any:
    """Trains a vector with given gradients under a scaler; parameters after each step, scales, and the scaler."""
    p = lib.ones(3, dtype=lib.float32, requires_grad=True)
    opt = getattr(lib.optim, optimizer)([p], **options)
    s = lib.amp.GradScaler("cpu", **scaler)
    values, scales = [], []
    for g in gradients:
        opt.zero_grad()
        s.scale((p * lib.tensor(g, dtype=lib.float32)).sum()).backward()
        s.step(opt)
        s.update()
        values.append(p.detach().numpy().copy())
        scales.append(s.get_scale())
    return np.array(values), scales, s, opt


def gradients(bad: tuple[int, ...], count: int = 14) -> list[np.ndarray]:
    made = [np.random.default_rng(5 + i).normal(size=3) for i in range(count)]
    for n, i in enumerate(bad):
        made[i][n % 3] = (math.inf, -math.inf, math.nan)[n % 3]
    return made


OPTIMIZERS = [
    ("SGD", {"lr": 0.1, "momentum": 0.9, "dampening": 0.1}),
    ("Adam", {"lr": 0.1}),
    ("AdamW", {"lr": 0.1, "amsgrad": True}),
    ("NAdam", {"lr": 0.1}),
    ("RAdam", {"lr": 0.1, "betas": (0.8, 0.9)}),
    ("Adagrad", {"lr": 0.1, "lr_decay": 0.1}),
    ("RMSprop", {"lr": 0.1, "centered": True}),
]


@pytest.mark.parametrize(("name", "options"), OPTIMIZERS)
@pytest.mark.parametrize("bad", [(), (0, 1, 7, 8, 12)])
def test_bad_steps_change_nothing(name: str, options: dict[str, Any], bad: tuple[int, ...]) -> None:
    values, scales, scaler, optimizer = run(sg, gradients(bad), name, options, init_scale=64.0, growth_interval=3)
    # The steps that are left, alone.
    q = sg.ones(3, requires_grad=True)
    other = getattr(sg.optim, name)([q], **options)
    for i, g in enumerate(gradients(bad)):
        if i in bad:
            assert (values[i] == (values[i - 1] if i else 1.0)).all()
            continue
        q.grad = sg.tensor(g, dtype=sg.float32)
        other.step()
        np.testing.assert_allclose(values[i], q.detach().numpy(), rtol=2e-5, atol=2e-5)
    assert scaler.skipped.item() == len(bad)
    ours, theirs = optimizer.state_dict()["state"][0], other.state_dict()["state"][0]
    assert ours.keys() == theirs.keys()
    for key in ours:
        np.testing.assert_allclose(ours[key].numpy(), theirs[key].numpy(), rtol=1e-4, atol=1e-6)
    if "step" in ours:
        assert ours["step"].item() == len(gradients(bad)) - len(bad)
    want, good = [], 0
    scale = 64.0
    for i in range(14):
        good = 0 if i in bad else good + 1
        scale *= 0.5 if i in bad else 2.0 if good == 3 else 1.0
        good %= 3
        want.append(scale)
    assert scales == want


@pytest.mark.parametrize(("name", "options"), OPTIMIZERS)
def test_scaled_steps_are_pytorchs(name: str, options: dict[str, Any]) -> None:
    torch = pytest.importorskip("torch")
    made = gradients((2, 3, 9))
    ours = run(sg, made, name, options, init_scale=8.0, growth_interval=2)
    theirs = run(torch, made, name, options, init_scale=8.0, growth_interval=2)
    np.testing.assert_allclose(ours[0], theirs[0], rtol=1e-4, atol=1e-5)
    assert ours[1] == theirs[1]
    state = theirs[2].state_dict()
    assert {k: v for k, v in ours[2].state_dict().items() if k != "skipped"} == state
    other = sg.amp.GradScaler()
    other.load_state_dict(state)
    assert other.get_scale() == state["scale"]
    theirs[2].load_state_dict(ours[2].state_dict())


def test_a_skipped_step_costs_nothing(device: sg.Device) -> None:
    net = sg.nn.Linear(4, 3).to(device)
    optimizer, scaler = sg.optim.Adam(net.parameters(), lr=0.1), sg.amp.GradScaler(init_scale=1024.0)
    x = sg.ones(5, 4, device=device)
    factor = sg.ones((), device=device)

    def step() -> None:
        optimizer.zero_grad()
        with sg.autocast(device.kind, sg.float16):
            loss = (net(x) * factor).sum()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()

    for _ in range(4):
        step()
    before = net.weight.tolist()
    factor.fill_(math.inf)
    step()  # after the reads above, what was pending is no part of it
    sg.reset_stats()
    for _ in range(3):
        step()
    s = sg.stats()
    assert (s["submissions"], s["plan_misses"], s["bytes_read"], s["fallbacks"]) == (3, 0, 0, 0)
    assert net.weight.tolist() == before and scaler.skipped.item() == 4 and scaler.get_scale() == 64.0
    factor.fill_(1.0)
    step()
    assert net.weight.tolist() != before
    assert optimizer.state_dict()["state"][0]["step"].item() == 5


def test_gradients_may_be_clipped_after_unscale() -> None:
    w = sg.tensor([1.0, 1.0], requires_grad=True)
    optimizer, scaler = sg.optim.SGD([w], lr=1.0), sg.amp.GradScaler(init_scale=512.0)
    scaler.scale((w * sg.tensor([3.0, 4.0])).sum()).backward()
    assert w.grad.tolist() == [1536.0, 2048.0]
    scaler.unscale_(optimizer)
    assert w.grad.tolist() == [3.0, 4.0]
    assert sg.nn.utils.clip_grad_norm_([w], 1.0).item() == 5.0
    scaler.step(optimizer)
    scaler.update()
    np.testing.assert_allclose(w.tolist(), [0.4, 0.2], rtol=1e-5)
    with pytest.raises(sg.Error, match=r"unscale_: called twice since the last update\(\)"):
        scaler.unscale_(optimizer)
        scaler.unscale_(optimizer)


def test_several_losses_and_optimizers_share_a_scale() -> None:
    a, b = (sg.ones(1, requires_grad=True) for _ in range(2))
    first, second = sg.optim.SGD([a], lr=0.5), sg.optim.SGD([b], lr=0.5)
    scaler = sg.amp.GradScaler(init_scale=4.0)
    losses = scaler.scale([(a * a).sum(), {"b": (b * math.inf).sum()}])
    losses[0].backward()
    losses[1]["b"].backward()
    for optimizer in (first, second):
        scaler.step(optimizer)
    scaler.update()
    assert (a.item(), b.item(), scaler.get_scale(), scaler.skipped.item()) == (0.0, 1.0, 2.0, 1)


def test_an_optimizer_of_ones_own_is_asked() -> None:
    class Descent(sg.optim.Optimizer):
        def step(self, closure: Any = None) -> None:
            with sg.no_grad():
                for p in self.param_groups[0]["params"]:
                    p.sub_(p.grad)

    w = sg.ones(1, requires_grad=True)
    optimizer, scaler = Descent([w], {}), sg.amp.GradScaler()
    for factor in (math.nan, 0.25):
        w.grad = None
        scaler.scale((w * factor).sum()).backward()
        scaler.step(optimizer)
        scaler.update()
    assert w.item() == 0.75 and scaler.skipped.item() == 1


def test_a_scaler_that_is_off_only_steps() -> None:
    w = sg.ones(1, requires_grad=True)
    optimizer, scaler = sg.optim.SGD([w], lr=0.5), sg.amp.GradScaler(enabled=False)
    scaler.scale((w * w).sum()).backward()
    scaler.unscale_(optimizer)
    scaler.step(optimizer)
    scaler.update()
    assert (w.item(), scaler.get_scale(), scaler.state_dict()) == (0.0, 1.0, {})


def test_options_of_a_scaler_may_change() -> None:
    scaler = sg.amp.GradScaler(init_scale=4.0)
    assert scaler.is_enabled() and not sg.amp.GradScaler(enabled=False).is_enabled()
    assert (scaler.get_growth_factor(), scaler.get_backoff_factor(), scaler.get_growth_interval()) == (2.0, 0.5, 2000)
    scaler.set_growth_factor(3.0)
    scaler.set_backoff_factor(0.25)
    scaler.set_growth_interval(1)
    w = sg.ones(1, requires_grad=True)
    optimizer = sg.optim.SGD([w], lr=0.1)
    scales = []
    for factor in (1.0, float("inf")):
        optimizer.zero_grad()
        scaler.scale((w * factor).sum()).backward()
        scaler.step(optimizer)
        scaler.update()
        scales.append(scaler.get_scale())
    assert scales == [12.0, 3.0]


def test_wrong_order_is_named() -> None:
    w = sg.ones(1, requires_grad=True)
    optimizer, scaler = sg.optim.SGD([w], lr=0.5), sg.amp.GradScaler()
    with pytest.raises(sg.Error, match="update: there is no scale yet"):
        scaler.update()
    with pytest.raises(sg.Error, match="unscale_: there is no scale yet"):
        scaler.step(optimizer)
    scaler.scale((w * w).sum()).backward()
    with pytest.raises(sg.Error, match="update: no optimiser has stepped"):
        scaler.update()
    scaler.step(optimizer)
    with pytest.raises(sg.Error, match=r"GradScaler: step\(\) was called twice"):
        scaler.step(optimizer)
    with pytest.raises(sg.Error, match="GradScaler: a step with a closure"):
        scaler.step(optimizer, lambda: None)
    half = sg.ones(1, dtype=sg.float16, requires_grad=True)
    half.grad = half.detach()
    with pytest.raises(ValueError, match="unscale_: a gradient is float16"):
        scaler.unscale_(sg.optim.SGD([half]))
    with pytest.raises(ValueError, match="GradScaler: growth_factor is 1"):
        sg.amp.GradScaler(growth_factor=1)
