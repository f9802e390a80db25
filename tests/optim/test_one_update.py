"""A step is recorded as one update of all tensors, and computes what its ops would compute one by one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import spirograd as sg

Make = Callable[..., sg.optim.Optimizer]
OPTIMIZERS: dict[str, Make] = {
    "SGD": lambda ps, **k: sg.optim.SGD(ps, lr=0.1, **k),
    "SGD nesterov": lambda ps, **k: sg.optim.SGD(ps, lr=0.1, momentum=0.9, nesterov=True, weight_decay=0.1, **k),
    "Adam amsgrad": lambda ps, **k: sg.optim.Adam(ps, lr=0.1, amsgrad=True, weight_decay=0.1, **k),
    "AdamW": lambda ps, **k: sg.optim.AdamW(ps, lr=0.1, **k),
    "Adamax": lambda ps, **k: sg.optim.Adamax(ps, lr=0.1, **k),
    "NAdam": lambda ps, **k: sg.optim.NAdam(ps, lr=0.1, **k),
    "RAdam": lambda ps, **k: sg.optim.RAdam(ps, lr=0.1, **k),
    "RMSprop": lambda ps, **k: sg.optim.RMSprop(ps, lr=0.1, momentum=0.5, centered=True, **k),
    "Adagrad": lambda ps, **k: sg.optim.Adagrad(ps, lr=0.1, **k),
    "Adadelta": lambda ps, **k: sg.optim.Adadelta(ps, lr=0.1, **k),
    "ASGD": lambda ps, **k: sg.optim.ASGD(ps, lr=0.1, t0=1, weight_decay=0.1, **k),
    "Rprop": lambda ps, **k: sg.optim.Rprop(ps, lr=0.1, **k),
    "Lion": lambda ps, **k: sg.optim.Lion(ps, lr=0.1, weight_decay=0.1, **k),
    "LAMB": lambda ps, **k: sg.optim.LAMB(ps, lr=0.1, **k),
    "LARS": lambda ps, **k: sg.optim.LARS(ps, lr=0.1, momentum=0.9, **k),
}


def parameters(device: sg.Device, dtype: sg.dtype = sg.float32) -> list[sg.Tensor]:
    """Whole tensors, parts of one tensor in other orders, one element, none."""
    random = np.random.default_rng(3)

    def normal(*shape: int) -> sg.Tensor:
        return sg.tensor(random.normal(size=shape).astype(np.float32), dtype=dtype, device=device)

    base = normal(6, 8)
    parts = [base[1:3], base.T[2:5, 4:6], base[0, 3], base[3, :1]]
    return [x.requires_grad_() for x in [normal(5, 3), normal(4), normal(), normal(0, 2), *(p.detach() for p in parts)]]


def train(name: str, device: sg.Device, op_by_op: bool, change: Callable[[Any], None], dtype: sg.dtype) -> list[Any]:
    ps = parameters(device, dtype)
    if name in ("LAMB", "LARS"):  # the ratio of lengths is NaN without elements, which set_detect_anomaly refuses
        ps = [p for p in ps if p.numel()]
    opt = OPTIMIZERS[name](ps)
    for step in range(3):
        opt.zero_grad()
        sum(((p.float() - step) ** 2).sum() for p in ps[step % 2 :]).backward()  # the first has no gradient at times
        change(ps)
        with sg.autograd.set_detect_anomaly(op_by_op):
            opt.step()
    states = [v for p in ps for v in opt.state[p].values()]
    return [x.detach().float().numpy() if isinstance(x, sg.Tensor) else x for x in [*ps, *states]]


def nothing(ps: list[sg.Tensor]) -> None:
    pass


def pending(ps: list[sg.Tensor]) -> None:
    """Parameters and gradients that are written in place and not computed yet."""
    sg.nn.utils.clip_grad_norm_(ps, 0.5)
    with sg.no_grad():
        for p in ps:
            p.mul_(0.5)


@pytest.mark.parametrize("change", [nothing, pending])
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_a_step_has_the_bits_of_its_ops_one_by_one(name: str, change: Any, device: sg.Device) -> None:
    for dtype in (sg.float32, sg.bfloat16) if device.kind == "cpu" else (sg.float32,):
        whole, single = (train(name, device, way, change, dtype) for way in (False, True))
        for a, b in zip(whole, single, strict=True):
            np.testing.assert_array_equal(a, b)


def test_a_step_records_a_node_for_each_tensor_that_it_writes(device: sg.Device) -> None:
    ps = [sg.ones(3, 2, device=device, requires_grad=True) for _ in range(20)]
    opt = sg.optim.AdamW(ps)
    for _ in range(2):
        for p in ps:
            p.grad = sg.ones(3, 2, device=device)
        sg.synchronize(device)
        sg.reset_stats()
        opt.step()
    assert sg.stats()["nodes"] == 1 + 3 * len(ps)


def test_a_rate_of_one_and_other_rates_share_a_plan(device: sg.Device) -> None:
    w = sg.ones(3, device=device, requires_grad=True)
    opt = sg.optim.SGD([w], lr=0.5)
    w.grad = sg.full((3,), 0.25, device=device)
    values = []
    for lr in (0.5, 1.0, 0.25):
        opt.param_groups[0]["lr"] = lr
        sg.reset_stats()
        opt.step()
        values.append((w[0].item(), sg.stats()["plan_misses"] if values else 0))
    assert [v for v, _ in values] == [0.875, 0.625, 0.5625]
    assert values[1][1] == 0 or values[2][1] == 0


def test_one_parameter_may_be_the_gradient_of_another(device: sg.Device) -> None:
    for op_by_op in (False, True):
        a, b = (sg.ones(2, device=device, requires_grad=True) for _ in range(2))
        a.grad, b.grad = sg.ones(2, device=device), a.detach()
        with sg.autograd.set_detect_anomaly(op_by_op):
            sg.optim.SGD([a, b], lr=0.5).step()
        assert (a.tolist(), b.tolist()) == ([0.5, 0.5], [0.75, 0.75])


def test_parameters_on_the_memory_of_arrays_are_written_there() -> None:
    array = np.ones(3, np.float32)
    w = sg.from_numpy(array).requires_grad_()
    opt = sg.optim.Adam([w], lr=0.5)
    w.grad = sg.ones(3)
    opt.step()
    np.testing.assert_allclose(array, 0.5, rtol=1e-6)
    before = w.detach().numpy()
    opt.step()
    assert before is not array and (before == array).all() and array[0] < 0.1


def test_the_plan_of_a_step_names_its_ops_and_the_graph_the_update() -> None:
    w = sg.ones(3, requires_grad=True)
    w.grad = sg.ones(3)
    sg.synchronize()
    update = sg._core._Update("sgd", [w], [[None]])
    update.step((0.5, 0.0, 1.0), 0.0, False, None)
    w = w.detach()
    assert "sgd float32[3]" in w.graph()
    (step,) = w.plan()
    assert step.name == "mul_sub_assign"
    assert w.tolist() == [0.5] * 3


def test_a_state_of_another_shape_is_refused_and_nothing_is_done() -> None:
    a, b = (sg.ones(2, requires_grad=True) for _ in range(2))
    a.grad = b.grad = sg.ones(2)
    update = sg._core._Update("sgd", [a, b], [[sg.zeros(2)], [sg.zeros(3)]])
    with pytest.raises(ValueError, match="has the shape"):
        update.step((0.5, 0.9, 1.0), 0.0, False, None)
    assert a.tolist() == b.tolist() == [1, 1]
