"""Ctrl-C in a training, at any moment: between two lines of the package's Python as well."""

from __future__ import annotations

import random
import signal

import pytest

import spirograd as sg
from interrupted_training import WAYS, interrupted, wrong

pytestmark = pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no timers here")


@pytest.mark.parametrize("way", WAYS)
def test_a_step_that_is_interrupted_was_made_or_not(way: str) -> None:
    assert wrong(way, interrupts=15, seed=1) == ""


def test_modes_end_with_their_blocks() -> None:
    def loop() -> None:
        while True:
            with sg.no_grad(), sg.amp.autocast("cpu"), sg.inference_mode(), sg.set_grad_enabled(False):
                pass

    moments = random.Random(2)
    for _ in range(300):
        interrupted(loop, moments.uniform(1e-4, 1e-3))
        assert sg.is_grad_enabled() and not sg.is_inference_mode_enabled() and not sg.amp.is_autocast_enabled("cpu")


def test_nothing_runs_while_gradients_are_added_to_leaves() -> None:
    """Only a run can be interrupted inside of backward(), and a log that is full would run."""
    leaves = [sg.ones(1, requires_grad=True) for _ in range(6000)]  # two operations each, more than a log holds
    for leaf in leaves:
        leaf.grad = sg.zeros(1)
    loss = sg.cat(leaves).sum()
    run: list[int] = []
    for leaf in (leaves[0], leaves[-1]):
        leaf.register_post_accumulate_grad_hook(lambda _: run.append(sg.stats()["nodes"]))
    loss.backward()
    assert len(run) == 2 and run[0] == run[1]
    assert {leaf.grad.item() for leaf in leaves} == {1.0}


@pytest.mark.parametrize("drop", [True, False])
def test_gradients_are_cleared_wholly(drop: bool) -> None:
    leaves = [sg.ones(1, requires_grad=True) for _ in range(200)]
    optimizers = [sg.optim.SGD([{"params": [leaf]} for leaf in leaves]), sg.nn.ParameterList(leaves)]
    moments = random.Random(3)
    for number in range(40):
        for leaf in leaves:
            leaf.grad = sg.ones(1)
        interrupted(lambda n=number: [optimizers[n % 2].zero_grad(drop) for _ in range(3)], moments.uniform(1e-5, 1e-3))
        values = {None if leaf.grad is None else leaf.grad.item() for leaf in leaves}
        assert len(values) == 1


def test_a_scheduler_that_is_interrupted_has_stepped_or_not() -> None:
    optimizer = sg.optim.SGD([{"params": [sg.ones(1, requires_grad=True)]} for _ in range(50)], lr=1.0)
    optimizer.step()  # schedulers come after it
    kinds = sg.optim.lr_scheduler
    parts = [kinds.StepLR(optimizer, 1, gamma=0.999), kinds.ConstantLR(optimizer, 0.5, total_iters=10**6)]
    scheduler = kinds.ChainedScheduler(parts)
    moments = random.Random(4)

    def loop() -> None:
        while True:
            scheduler.step()

    for _ in range(100):
        interrupted(loop, moments.uniform(1e-4, 2e-3))
        rates = {group["lr"] for group in optimizer.param_groups}
        assert rates == {scheduler.get_last_lr()[0]}
        assert parts[0].last_epoch == parts[1].last_epoch


def test_lbfgs_and_lookahead_go_back_or_are_done() -> None:
    w = sg.full((1 << 16,), 3.0, requires_grad=True)
    optimizer = sg.optim.LBFGS([w], max_iter=50, line_search_fn="strong_wolfe")

    def closure() -> sg.Tensor:
        optimizer.zero_grad()
        loss = ((w - 1) ** 4).sum() + (w**2).sum()
        loss.backward()
        return loss

    before = w.detach().numpy().copy()
    interrupted(lambda: optimizer.step(closure), 0.01)
    assert optimizer._step_count or ((w.detach().numpy() == before).all() and not optimizer.state[w])
