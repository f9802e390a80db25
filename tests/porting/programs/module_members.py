"""What belongs to a module, what is hidden from it on purpose, and what its dicts do."""

import copy
import warnings

import pytest
import torch
from torch import nn

from checking import check

warnings.filterwarnings("ignore")


class Student(nn.Module):
    def __init__(self):
        super().__init__()
        teacher = nn.Linear(1, 2).eval()
        self.listed, self.named, self.pair, self.deep = [teacher], {"a": teacher}, (teacher, 1), [{"x": [teacher]}]
        self.__dict__["entry"] = teacher
        object.__setattr__(self, "attribute", teacher)
        self.called = lambda: teacher
        self.weights = [nn.Parameter(torch.ones(1))]
        self.layer = nn.Linear(1, 1)
        self.scale = nn.Parameter(torch.ones(1))
        self.register_buffer("count", torch.zeros(1))
        self.nothing = None


def test_members():
    m = Student()
    check(list(m.state_dict()), [n for n, _ in m.named_parameters()], [n for n, _ in m.named_modules()])


def test_train_leaves_what_is_hidden():
    m = Student().train()
    check(m.listed[0].training, m.entry.training, m.attribute.training, m.called().training, m.layer.training)


def test_double_leaves_what_is_hidden():
    m = Student().double()
    check(m.entry.weight.dtype, m.layer.weight.dtype)


def test_a_deep_copy_copies_what_is_hidden():
    m = Student()
    c = copy.deepcopy(m)
    check(list(c.state_dict()), c.entry is not m.entry, c.listed[0] is c.entry)


class Part(nn.Module):
    def __init__(self, whole):
        super().__init__()
        object.__setattr__(self, "whole", whole)
        self.layer = nn.Linear(1, 1)


class Whole(nn.Module):
    def __init__(self):
        super().__init__()
        self.part = Part(self)


def test_a_child_that_holds_its_parent():
    whole = Whole().eval()
    check([n for n, _ in whole.named_parameters()], whole.part.whole is whole, repr(whole))


# ---- what an attribute takes -----------------------------------------------------------------------------------------
ASSIGNMENTS = {
    "tensor as parameter": lambda m: setattr(m.layer, "weight", torch.ones(1, 1)),
    "number as parameter": lambda m: setattr(m.layer, "weight", 1.0),
    "module as parameter": lambda m: setattr(m, "scale", nn.ReLU()),
    "list as module": lambda m: setattr(m, "layer", [nn.ReLU()]),
    "tensor as module": lambda m: setattr(m, "layer", torch.ones(1)),
    "number as buffer": lambda m: setattr(m, "count", 3),
    "tensor as buffer": lambda m: setattr(m, "count", torch.ones(2)),
    "nothing as parameter": lambda m: setattr(m.layer, "weight", None),
    "parameter as parameter": lambda m: setattr(m.layer, "weight", nn.Parameter(torch.ones(1, 1))),
    "tensor where nothing was": lambda m: setattr(m, "nothing", torch.ones(1)),
}


@pytest.mark.parametrize("name", ASSIGNMENTS)
def test_assignment_of_a(name):
    m = Student()
    try:
        ASSIGNMENTS[name](m)
    except TypeError:
        check("TypeError")
    check([n for n, _ in m.named_parameters()], m.count)


def test_a_deleted_parameter():
    m = Student()
    del m.layer.weight
    m.layer.weight = torch.ones(1, 1)
    check([n for n, _ in m.named_parameters()])


def test_a_parameter_where_a_buffer_was():
    m = Student()
    m.count = nn.Parameter(torch.ones(1))
    check(sorted(m._parameters), list(m._buffers))


# ---- the dicts of a module -------------------------------------------------------------------------------------------
def test_pop():
    n = Student()
    check(n._modules.pop("other", None))
    with pytest.raises(KeyError):
        n._modules.pop("other")
    check(type(n._modules.pop("layer")).__name__, hasattr(n, "layer"))


def test_an_item_that_is_set():
    n = Student()
    n._buffers["more"] = torch.ones(1)
    check(list(n._buffers), list(n.state_dict()), n._parameters.setdefault("scale", None) is n.scale)


def test_a_dict_that_is_replaced():
    n = Student()
    n._parameters = {}
    check([name for name, _ in n.named_parameters()], hasattr(n, "scale"))
