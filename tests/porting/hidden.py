"""What belongs to a module, what is hidden from it on purpose, and what its dicts do."""

import copy
import warnings

import torch
from torch import nn

warnings.filterwarnings("ignore")


def said(label, f):
    try:
        print(label, f())
    except (TypeError, KeyError, AttributeError) as error:
        print(label, type(error).__name__)


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


m = Student()
print(list(m.state_dict()), [n for n, _ in m.named_parameters()], [n for n, _ in m.named_modules()])
m.train()
print(m.listed[0].training, m.entry.training, m.attribute.training, m.called().training, m.layer.training)
m.double()
print(m.entry.weight.dtype, m.layer.weight.dtype)
c = copy.deepcopy(m)
print(list(c.state_dict()), c.entry is not m.entry, c.listed[0] is c.entry)

# ---- a child that holds its parent ----


class Part(nn.Module):
    def __init__(self, whole):
        super().__init__()
        object.__setattr__(self, "whole", whole)
        self.layer = nn.Linear(1, 1)


class Whole(nn.Module):
    def __init__(self):
        super().__init__()
        self.part = Part(self)


whole = Whole().eval()
print([n for n, _ in whole.named_parameters()], whole.part.whole is whole, repr(whole))

# ---- what an attribute takes ----
said("tensor as parameter", lambda: setattr(m.layer, "weight", torch.ones(1, 1)))
said("number as parameter", lambda: setattr(m.layer, "weight", 1.0))
said("module as parameter", lambda: setattr(m, "scale", nn.ReLU()))
said("list as module", lambda: setattr(m, "layer", [nn.ReLU()]))
said("tensor as module", lambda: setattr(m, "layer", torch.ones(1)))
said("number as buffer", lambda: setattr(m, "count", 3))
said("tensor as buffer", lambda: setattr(m, "count", torch.ones(2)))
said("nothing as parameter", lambda: setattr(copy.deepcopy(m.layer), "weight", None))
said("parameter as parameter", lambda: setattr(m.layer, "weight", nn.Parameter(torch.ones(1, 1))))
said("tensor where nothing was", lambda: setattr(m, "nothing", torch.ones(1)))
print([n for n, _ in m.named_parameters()], m.count)
del m.layer.weight
m.layer.weight = torch.ones(1, 1)
print([n for n, _ in m.named_parameters()])
m.count = nn.Parameter(torch.ones(1))
print(sorted(m._parameters), list(m._buffers))

# ---- the dicts of a module ----
n = Student()
said("pop of none", lambda: n._modules.pop("other", None))
said("pop of none without a default", lambda: n._modules.pop("other"))
said("pop", lambda: (type(n._modules.pop("layer")).__name__, hasattr(n, "layer")))
n._buffers["more"] = torch.ones(1)
print(list(n._buffers), list(n.state_dict()), n._parameters.setdefault("scale", None) is n.scale)
n._parameters = {}
print(list(n.parameters()), hasattr(n, "scale"))
