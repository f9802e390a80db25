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
assert not hasattr(sg.nn.linear.linear, "__wrapped__") and not hasattr(x, "note")
class Image(torch.Tensor):
    pass
assert type(x + 1) is sg.Tensor and type(x + x.as_subclass(Image)) is Image and type(nn.Linear(2, 1)(x)) is sg.Tensor
assert hasattr(sg.nn.linear.linear, "__wrapped__") and vars(sg.Tensor)["sum"] is before["sum"]
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


def test_a_program_without_subclasses_has_the_cores_methods(run_python: Callable[..., str]) -> None:
    run_python(START + PLAIN)


def test_attributes_go_with_their_tensor(run_python: Callable[..., str]) -> None:
    run_python(START + FREED)


def test_errors_and_a_class_with_getattr(run_python: Callable[..., str]) -> None:
    run_python(START + ERRORS)
