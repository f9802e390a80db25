"""TorchFunctionMode: what programs/function_modes.py does not show."""

from __future__ import annotations

from collections.abc import Callable

START = """
import spirograd.torch
spirograd.torch.install()
import torch
import spirograd as sg
from torch import nn
from torch.overrides import TorchFunctionMode
class Log(TorchFunctionMode):
    def __init__(self):
        self.seen = []
    def __torch_function__(self, func, types, args=(), kwargs=None):
        self.seen.append(func.__name__)
        return func(*args, **(kwargs or {}))
before = dict(vars(sg.Tensor))
x = torch.ones(2)
"""

AFTER = """
layer = nn.Linear(2, 1)
functions = sg.nn.linear.linear, sg.nn.linear.empty, sg.nn.init.uniform_
with Log() as log:
    assert dict(vars(sg.Tensor)) == before and sg.nn.linear.linear is functions[0]
    layer(x + 1)
assert log.seen == ["add", "linear"]
assert dict(vars(sg.Tensor)) == before and functions == (sg.nn.linear.linear, sg.nn.linear.empty, sg.nn.init.uniform_)
layer(x + 1)
assert log.seen == ["add", "linear"]
"""

CHANGED_INSIDE = """
with Log() as log:
    torch.Tensor.double_it = lambda self: self * 2
    torch.Tensor.sum = lambda self: 7
    class Image(torch.Tensor):
        pass
    image = x.as_subclass(Image)
assert x.double_it().tolist() == [2, 2] and x.sum() == 7
assert type(x + image) is Image and vars(sg.Tensor)["reshape"] is before["reshape"]
torch.Tensor.add = lambda self, other: 8
with Log():
    pass
assert x.add(1) == 8 and type(nn.Linear(2, 1)(image)) is Image and type(x * image) is Image
"""

THREADS = """
import threading
entered, leave = threading.Event(), threading.Event()
log = Log()
def other():
    with log:
        x - 1
        entered.set()
        leave.wait(30)
        x * 2
thread = threading.Thread(target=other)
thread.start()
assert entered.wait(30)
with Log() as mine:
    x / 3
x % 4
leave.set()
thread.join()
assert mine.seen == ["div"] and log.seen == ["sub", "mul"] and dict(vars(sg.Tensor)) == before
"""


def test_a_mode_changes_no_tensors_and_no_layers(run_python: Callable[..., str]) -> None:
    run_python(START + AFTER)


def test_what_a_program_changes_within_a_mode_stays(run_python: Callable[..., str]) -> None:
    run_python(START + CHANGED_INSIDE)


def test_a_mode_sees_its_thread_alone(run_python: Callable[..., str]) -> None:
    run_python(START + THREADS)
