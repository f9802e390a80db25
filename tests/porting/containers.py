"""Dicts of parameters and modules: in what order they hand them out. In-place functions whose gradients need what was
there."""

import collections

import torch
from torch import nn


def parameter():
    return nn.Parameter(torch.ones(1))


def show(title, holder):
    print(title, [n for n, _ in holder.named_parameters()], list(holder.keys()), list(holder.state_dict()))


show("dict", nn.ParameterDict({"b": parameter(), "a": parameter(), "c": parameter()}))
show("ordered", nn.ParameterDict(collections.OrderedDict([("b", parameter()), ("a", parameter())])))
show("pairs", nn.ParameterDict([("b", parameter()), ("a", parameter())]))
d = nn.ParameterDict({"z": parameter()})
d.update({"y": parameter(), "x": parameter()})
d["q"] = parameter()
show("update", d)
show("of one", nn.ParameterDict(d))
print(d.setdefault("m", parameter()) is d["m"], d.setdefault("z", 3) is d["z"])
d |= {"k": parameter(), "j": parameter()}
show("or", d | nn.ParameterDict({"bb": parameter(), "aa": parameter()}))
show("copy", d.copy())
print(d.popitem()[0], list(reversed(d)))
m = nn.ModuleDict({"b": nn.Linear(1, 1), "a": nn.Linear(1, 1)})
m.update({"d": nn.ReLU(), "c": nn.ReLU()})
show("modules", m)

b = torch.cos(torch.arange(12, dtype=torch.float64)).reshape(3, 4)
CALLS = {
    "index_reduce_": lambda y, s: y.index_reduce_(0, torch.tensor([1, 1]), s[:2], "amax"),
    "renorm_": lambda y, s: y.renorm_(2, 0, 1.0),
    "lgamma_": lambda y, s: y.lgamma_(),
    "erfinv_": lambda y, s: y.erfinv_(),
    "i0_": lambda y, s: y.i0_(),
    "digamma_": lambda y, s: y.digamma_(),
    "put_": lambda y, s: y.put_(torch.tensor([1, 5]), s[0, :2]),
    "addr_": lambda y, s: y.addr_(s[:, 0], s[0]),
}
for name, call in CALLS.items():
    x = (torch.sin(torch.arange(12, dtype=torch.float64) * 0.9).abs() * 0.5 + 0.05).reshape(3, 4).requires_grad_()
    s = b.clone().requires_grad_()
    y = x * 1.5
    z = call(y, s * 1.0)
    ((z * b).sum() + (y * y).sum() + 0 * s.sum()).backward()
    print(name, z is y, [round(v, 4) for v in z.flatten().tolist()])
    print("  grad", [round(v, 4) + 0.0 for v in (*x.grad.flatten().tolist(), *s.grad.flatten().tolist())])
base = torch.full((3,), float("-inf"))
src = torch.tensor([0.5, 2.0, 1.0, -1.0], requires_grad=True)
base.index_reduce_(0, torch.tensor([0, 0, 2, 1]), src, "amax").exp().sum().backward()
print("into a constant", [round(v, 4) for v in src.grad.tolist()])
