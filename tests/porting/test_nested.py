"""Nested tensors, futures, and parts for devices, as programs for PyTorch use them; PyTorch says the same."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable

import pytest

NESTED = """
import torch
from torch import nn
a, b = torch.arange(6.0).reshape(2, 3), torch.ones(4, 3) * 2
nt = torch.nested.nested_tensor([a, b], layout=torch.jagged)
assert nt.is_nested and nt.size(0) == 2 and nt.size(2) == 3 and nt.dim() == 3 and nt.dtype == torch.float32
assert torch.equal(nt.to_padded_tensor(-1.0)[0, 2:], -torch.ones(2, 3)) and torch.equal(nt.unbind()[1], b)
assert nt.offsets().tolist() == [0, 2, 6] and nt.values().shape == (6, 3)
assert torch.nested.to_padded_tensor(nt, 0.0).shape == (2, 4, 3)

layer = nn.Linear(3, 5)
w = torch.randn(4, 3, requires_grad=True)
made = torch.nested.as_nested_tensor([w[:1], w[1:]], layout=torch.jagged)
out = torch.relu(layer(made)) * 2 + torch.ones(5)
for got, x in zip(out.unbind(), (w[:1], w[1:])):
    assert torch.allclose(got, torch.relu(layer(x)) * 2 + 1)
out.to_padded_tensor(0.0).sum().backward()
first = w.grad.clone()
w.grad = None
(torch.relu(layer(w)) * 2 + 1).sum().backward()
assert torch.allclose(first, w.grad) and layer.weight.grad is not None
soft = torch.softmax(nt, -1)
assert torch.allclose(soft.unbind()[0], torch.softmax(a, -1))
assert torch.equal((nt + nt).unbind()[1], b * 2) and torch.equal((-nt).unbind()[0], -a)
again = torch.nested.nested_tensor_from_jagged(torch.arange(5.0).reshape(5, 1), torch.tensor([0, 3, 5]))
assert [x.shape[0] for x in again.unbind()] == [3, 2]
"""
FUTURES = """
import threading
import torch
from torch.futures import Future, collect_all, wait_all
one, two = Future(), Future()
after = one.then(lambda f: f.wait() + 1)
threading.Timer(0.01, lambda: (one.set_result(torch.ones(2)), two.set_result(5))).start()
values = wait_all([one, two])
assert values[0].sum() == 2 and values[1] == 5 and after.wait().sum() == 4 and one.done() and two.value() == 5
assert [f.wait() for f in collect_all([two]).wait()] == [5]
def raises(call, words=""):
    try:
        call()
    except RuntimeError as error:
        assert words in str(error)
        return
    raise AssertionError("no error")
raises(Future().value)
raises(lambda: one.set_result(1))
failed = Future()
failed.set_exception(RuntimeError("no luck"))
raises(failed.wait, "no luck")
raises(failed.then(lambda f: f.wait()).wait, "no luck")
"""
PARTS = """
import torch
from torch import nn
from torch.nn.parallel import scatter, gather
from torch.nn.modules.linear import NonDynamicallyQuantizableLinear
parts = scatter((torch.arange(4.0).reshape(4, 1), {"k": torch.ones(4)}, "same"), ["cpu", "cpu"])
assert [p[0].tolist() for p in parts] == [[[0.0], [1.0]], [[2.0], [3.0]]]
assert parts[1][1]["k"].tolist() == [1, 1] and parts[0][2] == "same"
joined = gather([(p[0], p[1]) for p in parts], "cpu")
assert joined[0].shape == (4, 1) and joined[1]["k"].shape == (4,)
assert isinstance(nn.MultiheadAttention(4, 2).out_proj, NonDynamicallyQuantizableLinear)
"""
ERRORS = """
import torch
def raises(kind, words, call):
    try:
        call()
    except kind as error:
        assert words in str(error), error
        return
    raise AssertionError("no error")
nt = torch.nested.nested_tensor([torch.ones(2, 3), torch.ones(1, 3)], layout=torch.jagged)
other = torch.nested.nested_tensor([torch.ones(1, 3), torch.ones(2, 3)], layout=torch.jagged)
raises(TypeError, "cumsum: nested tensors are not supported; use unbind()", lambda: torch.cumsum(nt, 0))
raises(AttributeError, "NestedTensor: there is no cumsum", lambda: nt.cumsum(0))
raises(ValueError, "lengths [2, 1] and [1, 2] differ", lambda: nt + other)
raises(ValueError, "softmax: dim is 1 of nested tensors", lambda: torch.softmax(nt, 1))
raises(ValueError, "add: a tensor of shape [3, 3]", lambda: nt + torch.ones(3, 3))
made = lambda: torch.nested.nested_tensor([torch.ones(1, 2), torch.ones(1, 3)])
raises(ValueError, "only the first sizes may differ", made)
raises(RuntimeError, "several lengths", nt.size)
"""
PROGRAMS = {"nested": NESTED, "futures": FUTURES, "parts": PARTS}
START = "import spirograd.torch; spirograd.torch.install()\n"


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_program_runs(name: str, run_python: Callable[..., str]) -> None:
    run_python(START + PROGRAMS[name])


def test_what_is_wrong_is_said(run_python: Callable[..., str]) -> None:
    run_python(START + ERRORS)


@pytest.mark.parametrize("name", ["nested", "futures"])
def test_pytorch_runs_it_too(name: str) -> None:
    pytest.importorskip("torch")
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", PROGRAMS[name]], capture_output=True, text=True, timeout=180
    )
    assert done.returncode == 0, done.stderr
