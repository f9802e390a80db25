"""Modes that see each call of a function: prints what they see and what comes of it, for PyTorch and for spirograd."""

from __future__ import annotations

import threading

import torch
import torch.nn.functional as F
from torch import nn
from torch.overrides import TorchFunctionMode, resolve_name

x = torch.arange(6.0).reshape(2, 3)


class Log(TorchFunctionMode):
    """Keeps the names of what it sees."""

    def __init__(self) -> None:
        super().__init__()
        self.seen = []

    def __torch_function__(self, func, types, args=(), kwargs=None):
        self.seen.append((resolve_name(func) or func.__name__).removeprefix("torch."))
        return func(*args, **(kwargs or {}))


def seen(label, call):
    with Log() as log:
        call()
    print(label, *log.seen)


def moved(y):
    y += 1
    y[0] = 2


def trained():
    w = torch.ones(3, requires_grad=True)
    F.mse_loss(x @ w, torch.zeros(2)).backward()
    return w.grad


seen("factories", lambda: (torch.ones(2), torch.zeros(size=(2,)), torch.arange(3), torch.full((2,), 1.0), torch.eye(2)))
seen("random", lambda: (torch.rand(2), torch.randn(2), torch.randint(3, (2,)), torch.randperm(3)))
seen("of values", lambda: (torch.tensor([1.0]), torch.as_tensor([1.0]), torch.asarray([1.0]), torch.from_numpy))
seen("of a tensor", lambda: (torch.zeros_like(x), x.new_zeros(2), x.clone(), x.detach()))
seen("functions", lambda: (torch.add(x, 1), torch.cat([x, x]), torch.stack(tensors=[x, x]), torch.where(x > 0, x, 0)))
seen("modules", lambda: (torch.linalg.norm(x), torch.special.expit(x), torch.softmax(x, -1), torch.allclose(x, x)))
seen("layers' functions", lambda: (F.relu(x), F.linear(x, x), F.softmax(x, -1), F.cross_entropy(x, x)))
seen("operators", lambda: (x + 1, 1 + x, 1 - x, x * x, x / 2, 2**x, -x, abs(x), x == 1, x < 1, x @ x.T, x % 2))
seen("indices", lambda: (x[0], x[:, 1], x[x > 1]))
seen("in place", lambda: moved(torch.ones(2)))
seen("methods", lambda: (x.sum(), x.max(0), x.to(torch.float64), x.reshape(3, 2), x.add_(0)))
seen("attributes", lambda: (x.shape, x.dtype, x.device, x.grad, x.T, x.data, x.ndim))
seen("Python", lambda: (len(x), float(x.sum()), bool(x.sum()), x.tolist(), 1.0 in x, repr(x)))
seen("training", trained)
linear, relu = nn.Linear(3, 2), nn.ReLU()
seen("layers", lambda: relu(linear(x)))
seen("not seen", lambda: (torch.is_tensor(x), torch.get_default_dtype(), torch.is_grad_enabled()))
seen("outside", lambda: None)


class Named(TorchFunctionMode):
    def __init__(self, name) -> None:
        self.name = name

    def __torch_function__(self, func, types, args=(), kwargs=None):
        print(self.name, "begins", func.__name__)
        result = func(*args, **(kwargs or {}))
        print(self.name, "ends", func.__name__)
        return result


with Named("outer") as outer:
    with Named("inner"):
        torch.add(x, 1)
        x.sum()
    x * 2
with outer, outer:
    x + 1


class Inside(TorchFunctionMode):
    """Is off in its handler, and on where it says so."""

    def __torch_function__(self, func, types, args=(), kwargs=None):
        print("inside", func.__name__)
        if func is torch.mul:
            with self:
                return torch.add(args[0], args[1]) * 2
        return func(*args, **(kwargs or {})) + torch.ones(())


with Inside():
    y = torch.mul(x, 3)
print("inside gives", y.tolist())


class Twice(TorchFunctionMode):
    def __torch_function__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        return result * 2 if func in (torch.Tensor.add, torch.add, torch.ones, F.relu) else result


with Twice():
    print("twice", [v.tolist() for v in (x[0] + 1, torch.add(x[0], 1), x[0].add(1), torch.ones(2), relu(x[0]))])


class Precise(TorchFunctionMode):
    """Makes tensors of float64."""

    def __torch_function__(self, func, types, args=(), kwargs=None):
        kwargs = dict(kwargs or {})
        if func in (torch.zeros, torch.empty, torch.rand):
            kwargs["dtype"] = torch.float64
        return func(*args, **kwargs)


with Precise():
    print("precise", torch.zeros(2).dtype, torch.rand(2).dtype, torch.ones(2).dtype, nn.Linear(2, 1).weight.dtype)


class Unset(TorchFunctionMode):
    """Leaves out initial values."""

    def __torch_function__(self, func, types, args=(), kwargs=None):
        if getattr(func, "__module__", None) == "torch.nn.init":
            return kwargs["tensor"] if "tensor" in (kwargs or {}) else args[0]
        return func(*args, **(kwargs or {}))


with Unset():
    print("unset", nn.init.normal_(torch.zeros(2)).tolist(), nn.init.uniform_(torch.zeros(2), 1, 2).tolist())


class Picture(torch.Tensor):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        print("Picture", func.__name__, [kind.__name__ for kind in types])
        return super().__torch_function__(func, types, args, kwargs)


picture = torch.ones(2).as_subclass(Picture)
with Named("mode"):
    z = picture + 1
print(type(z).__name__)


class Declines(TorchFunctionMode):
    def __torch_function__(self, func, types, args=(), kwargs=None):
        return NotImplemented


class Raises(TorchFunctionMode):
    def __torch_function__(self, func, types, args=(), kwargs=None):
        raise KeyError("raised")


for mode in (Declines(), Raises(), TorchFunctionMode()):
    for call in (lambda: torch.add(x, 1), lambda: x.sum(), lambda: torch.ones(2), lambda: x + 1):
        try:
            with mode:
                call()
        except (TypeError, KeyError, NotImplementedError) as error:
            print(type(mode).__name__, isinstance(error, TypeError), str(error) if isinstance(error, KeyError) else "")
print("after errors", torch.ones(2).sum().item())

with Named("this thread"):
    thread = threading.Thread(target=lambda: x + 1)
    thread.start()
    thread.join()
    with torch._C.DisableTorchFunctionSubclass():
        x + 1
    with torch._C.DisableTorchFunction():
        x * 2


def steps():
    with Named("generator"):
        yield torch.ones(1)


for _ in steps():
    x + 1
with outer, Log() as log:
    print(torch.overrides._get_current_function_mode() is log)
    print(torch.overrides._get_current_function_mode_stack() == [outer, log])
    print(torch.overrides.has_torch_function((x,)))
print(torch.overrides._get_current_function_mode(), torch.overrides.has_torch_function((x,)))

# ---- places ----------------------------------------------------------------------------------------------------------
with torch.device("cpu") as place:
    print(place, torch.ones(1).device, torch.get_default_device(), nn.Linear(1, 1).weight.device)
torch.set_default_device("cpu")
print(torch.get_default_device(), torch.rand(1).device)
torch.set_default_device(None)
torch.set_default_device(torch.device("cpu"))
print(torch.get_default_device(), torch.tensor([1.0]).device)
with nn.attention.sdpa_kernel(nn.attention.SDPBackend.MATH), Log() as log:
    F.scaled_dot_product_attention(x[None], x[None], x[None])
print(log.seen[-1])
