"""Subclasses of torch.Tensor under spirograd: what subclasses.py, which both print, does not show."""

from __future__ import annotations

from collections.abc import Callable

START = (
    "import spirograd.torch\nspirograd.torch.install()\nimport torch\nfrom torch import nn\nimport spirograd as sg\n"
)

PLAIN = """
before = {name: vars(sg.Tensor)[name] for name in ("__add__", "__getitem__", "matmul", "sum")}
assert all(type(f).__name__ in ("method_descriptor", "wrapper_descriptor") for f in before.values())
x = torch.ones(2)
assert type(x + 1) is sg.Tensor and torch.add(x, 1).tolist() == [2, 2] and not hasattr(sg.Tensor, "__getattr__")
assert not hasattr(x, "note") and type(x) is torch.Tensor is sg.Tensor
linear = sg.nn.linear.linear
class Image(torch.Tensor):
    pass
assert type(x + 1) is sg.Tensor and type(x + x.as_subclass(Image)) is Image and type(nn.Linear(2, 1)(x)) is sg.Tensor
assert sg.nn.linear.linear is linear and all(vars(sg.Tensor)[name] is f for name, f in before.items())
class Slotted(torch.Tensor):
    __slots__ = ("mark",)
y = torch.ones(2, requires_grad=True)
z = y.as_subclass(Slotted)
z.mark = 4
(z * 2).sum().backward()
assert z.mark == 4 and type(z * 2) is Slotted and y.grad.tolist() == [2, 2] and isinstance(z, torch.Tensor)
"""

FREED = """
import gc, weakref
class Image(torch.Tensor):
    pass
def make():
    x = torch.ones(2).as_subclass(Image)
    x.note, x.other = [1], torch.zeros(3)
    y = torch.ones(2)
    y.note = 3
    assert x.note == [1] and y.note == 3
    del x.other
    return weakref.ref(x), weakref.ref(y)
gc.disable()
assert [r() for r in make()] == [None, None]
def cycle():
    x = torch.ones(2).as_subclass(Image)
    x.same = x
    return weakref.ref(x)
gone = cycle()
gc.collect()
assert gone() is None
x = torch.ones(2).as_subclass(Image)
assert "note" not in vars(x) and not hasattr(x, "note")
"""

ERRORS = """
class Image(torch.Tensor):
    def __getattr__(self, name):
        if name == "found":
            return 7
        raise AttributeError(name)
def message(kind, f):
    try:
        f()
    except kind as error:
        return str(error)
    raise AssertionError("no error")
x = torch.ones(2).as_subclass(Image)
assert x.found == 7 and message(AttributeError, lambda: x.lost) == "lost"
x.lost = 3
assert x.lost == 3
assert "a subclass of torch.Tensor is needed, got int" in message(TypeError, lambda: x.as_subclass(int))
assert "gone" in message(AttributeError, lambda: delattr(x, "gone"))
class Declining:
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return NotImplemented
text = message(TypeError, lambda: torch.exp(Declining()))
assert text == ("exp: __torch_function__ of Declining gives NotImplemented; handle the function there, "
                "or convert the arguments"), text
"""


ASKED = """
import torch.nn.functional as F
seen = []
class Lazy:
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        seen.append(torch.overrides.resolve_name(func))
        return 3
x, lazy = torch.ones(2), Lazy()
assert [x.add(lazy), x + lazy, lazy - x, F.huber_loss(lazy, x), torch.cat([x, lazy]), x[0, lazy]] == [3] * 6
assert seen == ["torch.Tensor.add", "torch.Tensor.add", "torch.Tensor.__rsub__", "torch.nn.functional.huber_loss",
                "torch.cat", "torch.Tensor.__getitem__"], seen
class Weight(nn.Parameter):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        seen.append(func.__name__)
        return super().__torch_function__(func, types, args, kwargs or {})
seen.clear()
w = Weight(x)
with torch._C.DisableTorchFunctionSubclass():
    w.sum() + w
assert not seen
class Quiet(nn.Parameter):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        seen.append(func.__name__)
        with torch._C.DisableTorchFunctionSubclass():
            return func(*args, **(kwargs or {}))
q = Quiet(x)
assert q.mul(2).tolist() == [2, 2] and q.shape == (2,) and seen == ["mul", "__get__"], seen
"""


def test_methods_operators_and_attributes_ask_any_class(run_python: Callable[..., str]) -> None:
    run_python(START + ASKED)


def test_a_program_without_subclasses_has_the_cores_methods(run_python: Callable[..., str]) -> None:
    run_python(START + PLAIN)


def test_attributes_go_with_their_tensor(run_python: Callable[..., str]) -> None:
    run_python(START + FREED)


def test_errors_and_a_class_with_getattr(run_python: Callable[..., str]) -> None:
    run_python(START + ERRORS)
