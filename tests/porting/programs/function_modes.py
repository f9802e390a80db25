"""Modes that see each call of a function: what they see, and what comes of it."""

from __future__ import annotations

import threading

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.overrides import TorchFunctionMode, resolve_name

from checking import check

x = torch.arange(6.0).reshape(2, 3)
linear, relu = nn.Linear(3, 2), nn.ReLU()


class Log(TorchFunctionMode):
    """Keeps the names of what it sees."""

    def __init__(self) -> None:
        super().__init__()
        self.seen = []

    def __torch_function__(self, func, types, args=(), kwargs=None):
        self.seen.append((resolve_name(func) or func.__name__).removeprefix("torch."))
        return func(*args, **(kwargs or {}))


def moved(y):
    y += 1
    y[0] = 2


def trained():
    w = torch.ones(3, requires_grad=True)
    F.mse_loss(x @ w, torch.zeros(2)).backward()
    return w.grad


CALLS = {
    "factories": lambda: (
        torch.ones(2), torch.zeros(size=(2,)), torch.arange(3), torch.full((2,), 1.0), torch.eye(2)
    ),
    "random": lambda: (torch.rand(2), torch.randn(2), torch.randint(3, (2,)), torch.randperm(3)),
    "of values": lambda: (torch.tensor([1.0]), torch.as_tensor([1.0]), torch.asarray([1.0]), torch.from_numpy),
    "of a tensor": lambda: (torch.zeros_like(x), x.new_zeros(2), x.clone(), x.detach()),
    "functions": lambda: (
        torch.add(x, 1), torch.cat([x, x]), torch.stack(tensors=[x, x]), torch.where(x > 0, x, 0)
    ),
    "modules": lambda: (torch.linalg.norm(x), torch.special.expit(x), torch.softmax(x, -1), torch.allclose(x, x)),
    "layers' functions": lambda: (F.relu(x), F.linear(x, x), F.softmax(x, -1), F.cross_entropy(x, x)),
    "operators": lambda: (
        x + 1, 1 + x, 1 - x, x * x, x / 2, 2**x, -x, abs(x), x == 1, x < 1, x @ x.T, x % 2
    ),
    "indices": lambda: (x[0], x[:, 1], x[x > 1]),
    "in place": lambda: moved(torch.ones(2)),
    "methods": lambda: (x.sum(), x.max(0), x.to(torch.float64), x.reshape(3, 2), x.add_(0)),
    "attributes": lambda: (x.shape, x.dtype, x.device, x.grad, x.T, x.data, x.ndim),
    "Python": lambda: (len(x), float(x.sum()), bool(x.sum()), x.tolist(), 1.0 in x, repr(x)),
    "training": trained,
    "layers": lambda: relu(linear(x)),
    "not seen": lambda: (torch.is_tensor(x), torch.get_default_dtype(), torch.is_grad_enabled()),
    "nothing": lambda: None,
}  # fmt: skip


@pytest.mark.parametrize("calls", CALLS)
def test_seen(calls):
    with Log() as log:
        CALLS[calls]()
    check(log.seen)


# ---- modes within modes ----------------------------------------------------------------------------------------------
class Named(TorchFunctionMode):
    def __init__(self, name) -> None:
        self.name = name

    def __torch_function__(self, func, types, args=(), kwargs=None):
        check(self.name, "begins", func.__name__)
        result = func(*args, **(kwargs or {}))
        check(self.name, "ends", func.__name__)
        return result


def test_a_mode_in_a_mode():
    with Named("outer"):
        with Named("inner"):
            torch.add(x, 1)
            x.sum()
        x * 2


def test_one_mode_twice():
    outer = Named("outer")
    with outer, outer:
        x + 1


class Inside(TorchFunctionMode):
    """Is off in its handler, and on where it says so."""

    def __torch_function__(self, func, types, args=(), kwargs=None):
        check("inside", func.__name__)
        if func is torch.mul:
            with self:
                return torch.add(args[0], args[1]) * 2
        return func(*args, **(kwargs or {})) + torch.ones(())


def test_a_mode_is_off_in_its_handler():
    with Inside():
        y = torch.mul(x, 3)
    check(y)


# ---- modes that change what is called, or what it gives --------------------------------------------------------------
class Twice(TorchFunctionMode):
    def __torch_function__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        return result * 2 if func in (torch.Tensor.add, torch.add, torch.ones, F.relu) else result


def test_results_that_a_mode_changes():
    with Twice():
        values = [x[0] + 1, torch.add(x[0], 1), x[0].add(1), torch.ones(2), relu(x[0])]
    check(values)


class Precise(TorchFunctionMode):
    """Makes tensors of float64."""

    def __torch_function__(self, func, types, args=(), kwargs=None):
        kwargs = dict(kwargs or {})
        if func in (torch.zeros, torch.empty, torch.rand):
            kwargs["dtype"] = torch.float64
        return func(*args, **kwargs)


def test_arguments_that_a_mode_changes():
    with Precise():
        check(torch.zeros(2).dtype, torch.rand(2).dtype, torch.ones(2).dtype, nn.Linear(2, 1).weight.dtype)


class Unset(TorchFunctionMode):
    """Leaves out initial values."""

    def __torch_function__(self, func, types, args=(), kwargs=None):
        if getattr(func, "__module__", None) == "torch.nn.init":
            return kwargs["tensor"] if "tensor" in (kwargs or {}) else args[0]
        return func(*args, **(kwargs or {}))


def test_calls_that_a_mode_leaves_out():
    with Unset():
        made = nn.init.normal_(torch.zeros(2)), nn.init.uniform_(torch.zeros(2), 1, 2)
    check(made)


class Picture(torch.Tensor):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        check("Picture", func.__name__, [kind.__name__ for kind in types])
        return super().__torch_function__(func, types, args, kwargs)


def test_a_mode_and_a_subclass():
    picture = torch.ones(2).as_subclass(Picture)
    with Named("mode"):
        z = picture + 1
    check(type(z).__name__)


# ---- errors ----------------------------------------------------------------------------------------------------------
class Declines(TorchFunctionMode):
    def __torch_function__(self, func, types, args=(), kwargs=None):
        return NotImplemented


class Raises(TorchFunctionMode):
    def __torch_function__(self, func, types, args=(), kwargs=None):
        raise KeyError("raised")


ERRORS = {"Declines": TypeError, "Raises": KeyError, "TorchFunctionMode": (TypeError, NotImplementedError)}
REFUSED = {
    "function": lambda: torch.add(x, 1),
    "method": lambda: x.sum(),
    "factory": lambda: torch.ones(2),
    "operator": lambda: x + 1,
}


@pytest.mark.parametrize("call", REFUSED)
@pytest.mark.parametrize("mode", [Declines, Raises, TorchFunctionMode], ids=lambda mode: mode.__name__)
def test_a_mode_that_fails(mode, call):
    try:
        with mode():
            REFUSED[call]()
    except (TypeError, KeyError, NotImplementedError) as error:
        check(isinstance(error, TypeError), str(error) if isinstance(error, KeyError) else "")
    check(torch.ones(2).sum().item())


# ---- threads, generators, and what is on -----------------------------------------------------------------------------
def test_a_mode_is_of_its_thread():
    with Named("this thread"):
        thread = threading.Thread(target=lambda: x + 1)
        thread.start()
        thread.join()


def test_disabled():
    with Named("this thread"):
        with torch._C.DisableTorchFunctionSubclass():
            x + 1
        with torch._C.DisableTorchFunction():
            x * 2


def test_a_mode_in_a_generator():
    def steps():
        with Named("generator"):
            yield torch.ones(1)

    for _ in steps():
        x + 1


def test_the_stack_of_modes():
    outer = Named("outer")
    with outer, Log() as log:
        check(torch.overrides._get_current_function_mode() is log)
        check(torch.overrides._get_current_function_mode_stack() == [outer, log])
        check(torch.overrides.has_torch_function((x,)))
    check(torch.overrides._get_current_function_mode(), torch.overrides.has_torch_function((x,)))


# ---- places ----------------------------------------------------------------------------------------------------------
def test_devices():
    with torch.device("cpu") as place:
        check(place, torch.ones(1).device, torch.get_default_device(), nn.Linear(1, 1).weight.device)
    torch.set_default_device("cpu")
    check(torch.get_default_device(), torch.rand(1).device)
    torch.set_default_device(None)
    torch.set_default_device(torch.device("cpu"))
    check(torch.get_default_device(), torch.tensor([1.0]).device)
    torch.set_default_device(None)


def test_sdpa_kernel():
    with nn.attention.sdpa_kernel(nn.attention.SDPBackend.MATH), Log() as log:
        F.scaled_dot_product_attention(x[None], x[None], x[None])
    check(log.seen[-1])
