"""Gradients as a whole: norms, clipping, vectors of parameters."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import spirograd as sg

U = sg.nn.utils
SHAPES = [(3, 4), (5,), (), (2, 1, 3)]


def parameters(device: sg.Device | None = None, dtype: sg.dtype = sg.float64) -> list[sg.Tensor]:
    random = np.random.default_rng(3)
    made = []
    for shape in SHAPES:
        p = sg.zeros(shape, device=device, dtype=dtype, requires_grad=True)
        p.grad = sg.tensor(np.asarray(random.normal(size=shape)), device=device, dtype=dtype)
        made.append(p)
    return [*made, sg.zeros(2, requires_grad=True, device=device)]


def flat(params: list[sg.Tensor]) -> np.ndarray:
    return np.concatenate([p.grad.cpu().numpy().ravel() for p in params if p.grad is not None])


@pytest.mark.parametrize("order", [1.0, 2.0, 3.0, math.inf])
@pytest.mark.parametrize("limit", [0.5, 100.0])
def test_norms_are_clipped(order: float, limit: float) -> None:
    params = parameters()
    before = flat(params)
    want = np.linalg.norm(before, order)
    total = U.clip_grad_norm_(params, limit, order)
    assert total.shape == ()
    np.testing.assert_allclose(total.item(), want, rtol=1e-12)
    np.testing.assert_allclose(flat(params), before * min(1.0, limit / (want + 1e-6)), rtol=1e-12)
    torch = pytest.importorskip("torch")
    theirs = []
    for p in parameters():
        q = torch.nn.Parameter(torch.zeros(p.shape, dtype=torch.float64))
        q.grad = None if p.grad is None else torch.tensor(p.grad.numpy())
        theirs.append(q)
    np.testing.assert_allclose(torch.nn.utils.clip_grad_norm_(theirs, limit, order).item(), total.item(), rtol=1e-12)
    for p, q in zip(params, theirs, strict=True):
        if p.grad is not None:
            np.testing.assert_allclose(p.grad.numpy(), q.grad.numpy(), rtol=1e-12)


def test_values_are_clipped(device: sg.Device) -> None:
    params = parameters(device, sg.float32)
    before = flat(params)
    U.clip_grad_value_(params, 0.25)
    np.testing.assert_array_equal(flat(params), np.clip(before, -0.25, 0.25))


def test_one_tensor_is_a_list_of_one() -> None:
    p = parameters()[0]
    U.clip_grad_norm_(p, 1.0)
    assert U.get_total_norm(p.grad).item() == pytest.approx(1.0, rel=1e-5)


def test_without_gradients_the_norm_is_zero() -> None:
    assert U.clip_grad_norm_([sg.zeros(2, requires_grad=True)], 1.0).item() == 0.0


def test_a_norm_that_is_no_number_raises_when_asked() -> None:
    params = parameters()
    params[0].grad[0, 0] = math.inf
    assert math.isinf(U.get_total_norm([p.grad for p in params[:4]]).item())
    with pytest.raises(sg.Error, match=r"get_total_norm: the norm of order 2.0 is inf"):
        U.clip_grad_norm_(params, 1.0, error_if_nonfinite=True)


def test_clipping_is_part_of_the_submission_of_the_step(device: sg.Device) -> None:
    net = sg.nn.Linear(6, 5).to(device)
    optimizer = sg.optim.Adam(net.parameters(), lr=0.01)
    x = sg.randn(8, 6, device=device)

    def step(limit: float) -> None:
        optimizer.zero_grad()
        net(x).square().sum().backward()
        U.clip_grad_norm_(net.parameters(), limit)
        optimizer.step()

    for _ in range(3):
        step(1.0)
    sg.reset_stats()
    step(0.5)
    step(0.25)
    s = sg.stats()
    assert (s["submissions"], s["plan_misses"], s["bytes_read"], s["allocations"]) == (2, 0, 0, 0)


def test_parameters_become_a_vector_and_come_back() -> None:
    net = sg.nn.Linear(3, 2)
    vector: Any = U.parameters_to_vector(net.parameters())
    assert vector.shape == (8,)
    (vector * vector).sum().backward()
    np.testing.assert_allclose(net.weight.grad.numpy(), 2 * net.weight.detach().numpy())
    U.vector_to_parameters(sg.arange(8.0), net.parameters())
    assert net.bias.tolist() == [6.0, 7.0] and net.weight.is_leaf
    with pytest.raises(ValueError, match=r"vector_to_parameters: a vector of shape \[7\] for 8 elements"):
        U.vector_to_parameters(sg.arange(7.0), net.parameters())
