"""The gradient graph as its user sees it: passes, hooks, modes, and what the nodes are called."""

from __future__ import annotations

import gc
import pickle
import re
import threading
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import spirograd as sg
from threads import run_threads


def leaf(values: Any, device: sg.Device | str = "cpu") -> sg.Tensor:
    return sg.tensor(values, device=device, requires_grad=True)


# ---- passes ----------------------------------------------------------------------------------------------------------
def test_several_roots_are_one_pass(device: sg.Device) -> None:
    x = leaf([1.0, 2.0], device)
    y = x.exp()  # shared: one gradient op for both roots
    a, b = y.sum(), y * x
    sg.autograd.backward([a, b], [None, sg.tensor([1.0, 10.0], device=device)])
    e = y.detach().numpy()
    assert x.grad.tolist() == pytest.approx([e[0] + e[0] * 2, e[1] + e[1] * 30], rel=1e-6)
    with pytest.raises(sg.Error, match="freed by an earlier backward"):
        a.backward()


def test_backward_reaches_only_the_inputs_given(device: sg.Device) -> None:
    x, w = leaf([1.0, 2.0], device), leaf([3.0, 4.0], device)
    h = x * w
    loss = (h * h).sum()
    loss.backward(inputs=[w, h], retain_graph=True)
    assert x.grad is None and w.grad.tolist() == [6, 32] and h.grad.tolist() == [6, 16]
    loss.backward(inputs=x)
    assert x.grad.tolist() == [18, 64]
    with pytest.raises(sg.Error, match="inputs is empty"):
        (x * 2).sum().backward(inputs=[])


def test_only_what_leads_to_the_inputs_is_computed() -> None:
    calls = []

    class Heavy(sg.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: sg.Tensor) -> sg.Tensor:
            return x * 2

        @staticmethod
        def backward(ctx: Any, g: sg.Tensor) -> sg.Tensor:
            calls.append(1)
            return g * 2

    x, w = leaf([1.0]), leaf([2.0])
    loss = (Heavy.apply(x) * w).sum()
    assert sg.autograd.grad(loss, w, retain_graph=True)[0].tolist() == [2]
    assert not calls
    assert sg.autograd.grad(loss, x)[0].tolist() == [4]
    assert calls == [1]


def test_a_graph_that_saves_nothing_is_not_freed() -> None:
    x = leaf([1.0, 2.0])
    y = (x + 1).sum()
    y.backward()
    y.backward()
    assert x.grad.tolist() == [2, 2]


def test_grad_says_which_input_was_not_used() -> None:
    x, w = leaf(2.0), leaf(3.0)
    with pytest.raises(sg.Error, match=r"no output was made from inputs \[1\]"):
        sg.autograd.grad(x * x, [x, w])
    found = sg.autograd.grad(x * x, [x, w], materialize_grads=True)
    assert [g.item() for g in found] == [4, 0]
    with pytest.raises(sg.Error, match="does not require grad"):
        sg.autograd.grad(x * x, [sg.tensor(1.0)])
    with pytest.raises(ValueError, match="2 grad_outputs for 1 outputs"):
        sg.autograd.grad(x * x, x, [None, None])


def test_threads_that_reach_one_leaf_add_up() -> None:
    x = sg.ones(100, requires_grad=True)

    def work(_: int) -> None:
        for _ in range(20):
            (x * 1.0).sum().backward()

    run_threads(work, 4)
    assert x.grad.tolist() == [80] * 100


def test_threads_share_a_graph() -> None:
    x = leaf([1.0, 2.0])
    y = (x.exp() * x).sum()
    found: list[list[float]] = []

    def work(_: int) -> None:
        for _ in range(20):
            found.append(sg.autograd.grad(y, x, retain_graph=True)[0].tolist())

    run_threads(work, 4)
    assert all(g == found[0] for g in found) and len(found) == 80


# ---- nodes -----------------------------------------------------------------------------------------------------------
def test_grad_fn_names_the_ops() -> None:
    x, w = leaf([1.0, 2.0]), leaf([3.0, 4.0])
    y = (x * w).sum()
    assert x.grad_fn is None and y.grad_fn.name() == "SumBackward0"
    ((mul, number),) = y.grad_fn.next_functions
    assert mul.name() == "MulBackward0" and number == 0
    ends = [fn for fn, _ in mul.next_functions]
    assert [fn.name() for fn in ends] == ["AccumulateGrad"] * 2
    assert ends[0].variable.tolist() == [1, 2]
    assert y.grad_fn == y.grad_fn and y.grad_fn != mul
    assert [fn for fn, _ in (x * sg.ones(2)).grad_fn.next_functions][1] is None


def test_leaves() -> None:
    x = leaf([1.0])
    y = x * 2
    assert x.is_leaf and not y.is_leaf and y.detach().is_leaf and sg.ones(1).is_leaf
    assert y.detach_() is y and y.is_leaf and not y.requires_grad
    with pytest.raises(sg.Error, match="view"):
        (x * 2)[0].detach_()
    z = x * 2
    assert z.requires_grad_() is z and not z.is_leaf
    with pytest.raises(sg.Error, match="only a leaf can stop"):
        z.requires_grad_(False)


def test_retain_grad(device: sg.Device) -> None:
    x = leaf([1.0, 2.0], device)
    y = x * 3
    assert not y.retains_grad and y.grad is None
    y.retain_grad()
    y.retain_grad()
    assert y.retains_grad
    for count in (1, 2):
        (y * y).sum().backward(retain_graph=True)
        assert y.grad.tolist() == [6 * count, 12 * count]
    x.retain_grad()  # a leaf keeps its own anyway
    assert not x.retains_grad
    with pytest.raises(sg.Error, match="does not require grad"):
        sg.ones(1).retain_grad()


def test_a_tensor_that_retains_its_grad_is_freed() -> None:
    x = leaf([1.0, 2.0])
    y = x * 3
    y.retain_grad()
    (y * y).sum().backward()
    gone = weakref.ref(y)
    del y
    gc.collect()
    assert gone() is None


# ---- hooks -----------------------------------------------------------------------------------------------------------
def test_hooks_see_and_replace_gradients(device: sg.Device) -> None:
    x = leaf([1.0, 2.0], device)
    y = x * 2
    seen: list[Any] = []
    y.register_hook(lambda g: seen.append(("y", g.tolist())))
    handle = y.register_hook(lambda g: g * 10)
    x.register_hook(lambda g: seen.append(("x", g.tolist())))
    y.sum().backward(retain_graph=True)
    assert seen == [("y", [1, 1]), ("x", [20, 20])] and x.grad.tolist() == [20, 20]
    handle.remove()
    x.grad = None
    y.sum().backward()
    assert x.grad.tolist() == [2, 2]


def test_a_leaf_hook_is_called_once_with_the_sum() -> None:
    x = leaf([1.0])
    seen = []
    with x.register_hook(lambda g: seen.append(g.tolist())):
        (x * 2 + x * 3).sum().backward()
        assert sg.autograd.grad((x * 7).sum(), x)[0].tolist() == [7]
    (x * 2).sum().backward()
    assert seen == [[5], [7]] and x.grad.tolist() == [7]


def test_hooks_after_accumulation() -> None:
    x = leaf([1.0, 2.0])
    seen = []

    def step(p: sg.Tensor) -> None:
        seen.append(p.grad.tolist())
        with sg.no_grad():
            p -= p.grad
        p.grad = None

    handle = x.register_post_accumulate_grad_hook(step)
    (x * 0.5).sum().backward()
    assert seen == [[0.5, 0.5]] and x.grad is None and x.tolist() == [0.5, 1.5]
    handle.remove()
    (x * 0.5).sum().backward()
    assert x.grad.tolist() == [0.5, 0.5]
    with pytest.raises(sg.Error, match="no leaf"):
        (x * 1).register_post_accumulate_grad_hook(step)


def test_errors_of_hooks_arrive() -> None:
    x = leaf([1.0, 2.0])

    def bad(g: sg.Tensor) -> sg.Tensor:
        raise KeyError("mine")

    handle = x.register_hook(bad)
    with pytest.raises(KeyError, match="mine"):
        x.sum().backward()
    handle.remove()
    x.register_hook(lambda g: sg.ones(3))
    with pytest.raises(ValueError, match=r"hook gave a gradient of shape \[3\] for one of \[2\]"):
        x.sum().backward()
    with pytest.raises(TypeError, match="cannot be called"):
        x.register_hook(1)
    with pytest.raises(sg.Error, match="does not require grad"):
        sg.ones(1).register_hook(bad)


# ---- modes -----------------------------------------------------------------------------------------------------------
def test_modes_are_decorators_too() -> None:
    x = leaf([1.0])

    @sg.no_grad()
    def plain() -> bool:
        return (x * 2).requires_grad

    @sg.no_grad
    def bare() -> bool:
        return (x * 2).requires_grad

    @sg.enable_grad()
    def on() -> bool:
        return (x * 2).requires_grad

    @sg.inference_mode()
    def inference() -> tuple[bool, bool]:
        return (x * 2).requires_grad, sg.is_inference_mode_enabled()

    assert not plain() and not bare() and inference() == (False, True)
    with sg.no_grad():
        assert on() and not (x * 2).requires_grad
    assert (x * 2).requires_grad and not sg.is_inference_mode_enabled()


def test_inference_mode_of_false_leaves_it() -> None:
    x = leaf([1.0])
    with sg.inference_mode():
        with sg.inference_mode(False):
            y = x * 2
        assert y.requires_grad and not y.is_inference() and not (x * 2).requires_grad
    with sg.no_grad(), sg.inference_mode(False):  # as in PyTorch 2.13
        assert (x * 2).requires_grad


def test_memory_of_inference_mode_is_known() -> None:
    """As in PyTorch 2.13: a view belongs to what it is a view of."""
    x = sg.ones(4, requires_grad=True)
    with sg.inference_mode():
        made, view, computed = sg.ones(4), x.view(2, 2), x * 2
    all_made = (made, made[1:], made.detach(), computed)
    assert all(t.is_inference() for t in all_made)
    assert not any(t.is_inference() for t in (x, view, made.clone(), computed + 1))


def test_modes_of_generators() -> None:
    x = leaf([1.0])

    @sg.no_grad()
    def numbers() -> Iterator[bool]:
        got = yield (x * 2).requires_grad
        yield got or (x * 2).requires_grad

    run = numbers()
    assert next(run) is False and sg.is_grad_enabled()
    assert run.send(True) is True and sg.is_grad_enabled()
    assert list(numbers()) == [False, False]


def test_set_grad_enabled_works_at_once_and_as_a_context() -> None:
    sg.set_grad_enabled(False)
    assert not sg.is_grad_enabled()
    sg.set_grad_enabled(True)
    with sg.set_grad_enabled(False):
        assert not sg.is_grad_enabled()
        with sg.inference_mode(False):
            assert not sg.is_inference_mode_enabled()
    assert sg.is_grad_enabled()


def test_modes_belong_to_a_thread() -> None:
    seen = []
    with sg.no_grad():
        thread = threading.Thread(target=lambda: seen.append(sg.is_grad_enabled()))
        thread.start()
        thread.join()
    assert seen == [True]


# ---- NaN -------------------------------------------------------------------------------------------------------------
def test_anomaly_names_the_op_and_the_line(device: sg.Device) -> None:
    x, here = leaf([0.0, 4.0], device), re.escape(__file__)
    with sg.autograd.detect_anomaly():
        assert sg.autograd.is_anomaly_enabled()
        with pytest.raises(sg.Error, match=rf"log: the result at {here}:\d+ has a NaN"):
            (x - 1).log()
        root = x.sqrt()
        with pytest.raises(sg.Error, match=rf"the gradient of SqrtBackward0 at {here}:\d+ by input 0 has a NaN"):
            (root * 0).sum().backward()
    assert not sg.autograd.is_anomaly_enabled()
    assert bool((x - 1).log()[0] != (x - 1).log()[0])  # and nobody minds outside
    with sg.autograd.detect_anomaly(), sg.autograd.set_detect_anomaly(False):
        (x - 1).log()


def test_anomaly_blames_the_first_op_only() -> None:
    bad = sg.tensor([float("nan")], requires_grad=True)
    with sg.autograd.detect_anomaly():
        (bad * 2 + 1).sum()  # the NaN came from outside


def test_who_looks_at_a_leaf_takes_no_gradient_from_it(device: sg.Device, tmp_path: Path) -> None:
    kept: list[Any] = []
    looks: dict[str, Callable[[sg.Tensor], Any]] = {
        "repr": repr,
        "tolist": lambda x: x.tolist(),
        "numpy": lambda x: x.detach().numpy(),
        "numpy, kept": lambda x: kept.append(x.detach().cpu().numpy()),
        "pickle": pickle.dumps,
        "save": lambda x: sg.save({"x": x}, tmp_path / "x.safetensors"),
        "dlpack": lambda x: np.from_dlpack(x.detach().cpu()),
        "data replaced": lambda x: setattr(x, "data", x.data.clone()),
        "data written": lambda x: x.data.mul_(1.0),
    }
    for name, look in looks.items():
        x = sg.tensor([1.0, 2.0, 3.0], device=device, requires_grad=True)
        y = (x * x * x).sum()
        look(x)
        (g,) = sg.autograd.grad(y, [x], create_graph=True)
        assert g.requires_grad, name
        assert sg.autograd.grad(g.sum(), x)[0].tolist() == [6, 12, 18], name
