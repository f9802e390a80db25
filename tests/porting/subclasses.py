"""Subclasses of torch.Tensor, and classes that answer for its functions."""

import copy
import operator
import pickle
from typing import ClassVar

import torch
import torch.nn.functional as F
from torch import nn
from torch.overrides import (
    handle_torch_function,
    has_torch_function,
    has_torch_function_unary,
    has_torch_function_variadic,
    is_tensor_like,
    is_tensor_method_or_property,
    resolve_name,
    wrap_torch_function,
)


class Image(torch.Tensor):
    pass


class Gray(Image):
    pass


class Mask(torch.Tensor):
    pass


class Logged(torch.Tensor):
    calls: ClassVar = []

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        cls.calls.append((func.__name__, [t.__name__ for t in types if t is not torch.Tensor]))
        return super().__torch_function__(func, types, args, kwargs)


def kinds(x):
    if isinstance(x, (tuple, list)):
        return [kinds(y) for y in x]
    return type(x).__name__


def show(name, *xs):
    print(name, *[kinds(x) for x in xs])


a = torch.arange(6.0).reshape(2, 3).as_subclass(Image)
b = torch.ones(2, 3).as_subclass(Gray)
p = torch.ones(2, 3)
weight = nn.Parameter(torch.ones(2, 3))

# ---- what is made of them is one of them ----
show("operators", a + 1, 1 + a, a + p, p + a, p - a, a + b, b + a, a == a, a > p, p < a, -a, abs(a), ~(a > 1), a @ a.T)
show("operators", 2 / a, a**2, 2**a, a // 2, a % 2, (a > 1) & (p > 0), (p > 0) | (a > 1), weight + a, weight * b)
show("methods", a.sum(), a.max(1), a.split(1), a.detach(), a.clone(), a.float(), a.long(), a.view(-1), a.unbind())
show("methods", p.add(b), p.mul(a), p.matmul(a.T), p.where(a > 0, p), weight.sub(a), p.new_ones(1), a.new_ones(1))
show("functions", torch.cat([a, p]), torch.stack([b, a]), torch.add(p, b), torch.where(a > 0, a, p), torch.exp(a))
torch.block_diag(*[p, p]), torch.broadcast_tensors(*[p[:1], p]), torch.tensor([[1], [2]]).expand([2, 2])
show("functions", torch.cat((p, a)), torch.stack([p, b, a]), torch.vstack([a, p]))
show("functions", F.relu(a), F.linear(a, p), F.softmax(a, -1), F.mse_loss(p, a), F.pad(a, (1, 1)), torch.zeros_like(a))
show("layers", nn.Linear(3, 2)(a), nn.ReLU()(b), nn.Sequential(nn.Linear(3, 2), nn.Tanh())(a), nn.MSELoss()(p, a))
show("layers", nn.Linear(3, 2)(p), nn.CrossEntropyLoss()(a, torch.tensor([0, 1])), nn.Conv1d(2, 1, 1)(a))
show("parts", a[0], a[:, 1], a[a > 1], next(iter(a)), a.T, a.mT, a.data, a.grad, p[a > 1], p[0][a[0] > 0])
show(
    "others", a.shape, a.size(0), a.tolist()[0], a.numpy(), a.sum().item(), float(a.sum()), bool((a > -1).all()), len(a)
)
print(
    type(a) is Image, isinstance(a, torch.Tensor), issubclass(Gray, Image), isinstance(p, Image), issubclass(Gray, Mask)
)
try:
    print(a + p.as_subclass(Mask))
except TypeError as error:
    print(str(error)[:41])
print(repr(a), b, sep="\n")

# ---- attributes, copies, pickles ----
a.note, a.sum_of = 5, {"x": 1}
print(a.note, sorted(vars(a)), hasattr(a, "other"), hasattr(a + 1, "note"))
del a.sum_of
back = pickle.loads(pickle.dumps(a))
print(vars(a), vars(copy.copy(a)), kinds(copy.copy(a)), kinds(back), back.note, back.tolist())
p.flag = True
print(p.flag, hasattr(p + 1, "flag"), p.__dict__)


class Titled(torch.Tensor):
    title = "none"

    @staticmethod
    def __new__(cls, data, title=None):
        made = super().__new__(cls, data)
        made.title = title
        return made

    def __init__(self, data, title=None):
        pass

    @property
    def doubled(self):
        return self * 2

    def sum(self, *args, **kwargs):
        return super().sum(*args, **kwargs) * 10


t = Titled([[1.0, 2.0]], title="first")
print(kinds(t), t.title, t.doubled.title, kinds(t.doubled), t.sum().tolist(), torch.sum(t).tolist(), t.mean().tolist())
print(kinds(Image([1, 2])), Image([1, 2]).dtype, Image(2, 3).shape, kinds(Image(p)), torch.Tensor(p.long()).dtype)
made = torch.Tensor._make_subclass(Image, p, True)
print(kinds(made), made.requires_grad, made.is_leaf, kinds(a.as_subclass(torch.Tensor)))

# ---- memory and gradients are shared ----
base = torch.zeros(3)
view = base.as_subclass(Image)
view += 1
view[0] = 5
base.mul_(2)
print(base.tolist(), view.tolist(), kinds(view))
x = torch.ones(3, requires_grad=True)
y = x.as_subclass(Image)
print(y.is_leaf, y.requires_grad, kinds((y * y).sum()))
(y * y + p[0].as_subclass(Image)).sum().backward()
print(x.grad.tolist(), kinds(x.grad))
leaf = torch.ones(3).as_subclass(Image).requires_grad_()
(leaf[1:] * 3).sum().backward()
print(leaf.is_leaf, leaf.grad.tolist())
net = nn.Linear(3, 1)
net(a).sum().backward()
print(net.weight.grad.tolist(), kinds(net.weight.grad))

# ---- __torch_function__ ----
v = torch.ones(2, 2).as_subclass(Logged)
q = torch.ones(2, 2)
CALLS = [
    *(lambda f=f: f(v, 1) for f in (operator.add, operator.sub, operator.mul, operator.truediv, operator.pow)),
    *(lambda f=f: f(2, v) for f in (operator.add, operator.sub, operator.mul, operator.pow)),
    *(lambda f=f: f(v, v) for f in (operator.matmul, operator.lt, operator.eq, operator.ne, operator.mod)),
    *(lambda f=f: f(q, v) for f in (operator.add, operator.sub, operator.mul, operator.truediv)),
    *(lambda f=f: f(v) for f in (operator.neg, abs, len, torch.exp, torch.sum, F.relu, torch.numel)),
    *(lambda f=f: f(v, v) for f in (torch.add, torch.matmul, torch.equal, F.mse_loss, torch.Tensor.add)),
    *(lambda n=n: getattr(v, n)() for n in ("sum", "mean", "t", "numpy", "dim", "bool", "cpu")),
    *(lambda n=n: getattr(v, n) for n in ("shape", "T", "dtype", "requires_grad", "ndim", "is_leaf", "data")),
    lambda: v.size(0),
    lambda: v.add_(1),
    lambda: operator.iadd(v, 1),
    lambda: v[0],
    lambda: torch.cat([q, v]),
    lambda: torch.max(v, dim=1),
    lambda: torch.einsum("ij,jk->ik", v, v),
    lambda: nn.functional.cross_entropy(v, torch.tensor([0, 1])),
    lambda: nn.Linear(2, 2)(v),
    lambda: torch.is_tensor(v),
    lambda: q.add(v),
]
for call in CALLS:
    Logged.calls.clear()
    result = call()
    print(kinds(result).replace("Device", "device") if isinstance(kinds(result), str) else kinds(result), Logged.calls)


class Diagonal:
    def __init__(self, size, value):
        self.size, self.value = size, value

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        if func not in HANDLED or not all(issubclass(t, (torch.Tensor, Diagonal)) for t in types):
            return NotImplemented
        return HANDLED[func](*args, **(kwargs or {}))


HANDLED = {
    torch.mean: lambda x: x.value / x.size,
    torch.Tensor.add: lambda x, y: ("add", type(x).__name__),
    F.relu: lambda x, inplace=False: Diagonal(x.size, max(x.value, 0)),
    torch.matmul: lambda x, other: x @ (torch.eye(other.size) * other.value),
}
d = Diagonal(3, -2)
print(torch.mean(d), F.relu(d).value, torch.matmul(p, d).tolist(), torch.matmul(p, other=d).tolist(), p.add(d))
for call in (lambda: torch.sum(d), lambda: torch.cat([d, p])):
    try:
        print(call())
    except TypeError as error:
        print("__torch_function__" in str(error))


class Wrapped:
    """Wraps a tensor without being one."""

    def __init__(self, data, note=None):
        self._t, self._note = torch.as_tensor(data), note

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        notes = [x._note for x in args if hasattr(x, "_note")]
        result = func(*[getattr(x, "_t", x) for x in args], **(kwargs or {}))
        return Wrapped(result, notes[0])


o = torch.add(Wrapped([1.0, 2.0], "kept"), torch.tensor([1.0, 1.0]))
print(o._note, o._t.tolist())


def scaled(x, scale=2):
    if has_torch_function((x,)):
        return handle_torch_function(scaled, (x,), x, scale=scale)
    return x * scale


@wrap_torch_function(lambda x: (x,))
def halved(x):
    return x / 2


Logged.calls.clear()
show("own", scaled(v), scaled(p), halved(v), halved(p))
print(Logged.calls)
print(
    has_torch_function([1, d]), has_torch_function((p,)), has_torch_function_unary(a), has_torch_function_variadic(p, a)
)
print([is_tensor_like(x) for x in (d, p, a, 3)])
print([is_tensor_method_or_property(f) for f in (torch.Tensor.add, torch.add, torch.Tensor.shape.__get__)])
print([resolve_name(f) for f in (torch.Tensor.add, torch.add, F.relu, torch.Tensor.shape.__get__, print)])
with torch._C.DisableTorchFunctionSubclass():
    show("disabled", a + 1, torch.add(a, 1), a.sum(), a)
    print(has_torch_function((a,)))


class Silent(torch.Tensor):
    __torch_function__ = torch._C._disabled_torch_function_impl


s = torch.ones(3).as_subclass(Silent)
show("silent", s, s + 1, s.sum(), F.relu(s), a + s)


# ---- a class with another base, whose objects have a dict of their own ----
class Named:
    @property
    def meta(self):
        return self.__dict__.get("_meta", {})


class MetaTensor(Named, torch.Tensor):
    @staticmethod
    def __new__(cls, x, meta=None):
        return torch.as_tensor(x).as_subclass(cls)

    def __init__(self, x, meta=None):
        super().__init__()
        self._meta = meta or {}

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        result = super().__torch_function__(func, types, args, kwargs or {})
        if isinstance(result, MetaTensor) and isinstance(args[0], MetaTensor):
            result.__dict__.update(args[0].__dict__)
        return result


m = MetaTensor(torch.ones(2, 3), meta={"a": 1})
print(kinds(m * 2), (m * 2).meta, sorted(vars(m)), isinstance(m * 2, Named), (1 + m[0]).meta)
x = torch.ones(3, requires_grad=True)
y = (m * x).sum()
y.backward()
print(kinds(y), y.meta, y.requires_grad, x.grad.tolist())
net = nn.Sequential(nn.Linear(3, 2), nn.ReLU(), nn.Linear(2, 1))
y = net(m)
y.sum().backward()
print(kinds(y), y.meta, net[2].bias.grad.tolist())
base = torch.zeros(2)
view = base.as_subclass(MetaTensor)
view += 1
print(base.tolist(), kinds(view))

# ---- batches of them ----
from torch.utils.data import DataLoader, default_collate  # noqa: E402
from torch.utils.data._utils.collate import (  # noqa: E402
    collate,
    collate_tensor_fn,
    default_collate_fn_map,
    np_str_obj_array_pattern,
)

print(bool(np_str_obj_array_pattern.search("<U3")), bool(np_str_obj_array_pattern.search("<f4")))
show("collated", collate_tensor_fn([a, a]), collate([1.5, 2.5], collate_fn_map=default_collate_fn_map))
samples = [{"x": MetaTensor(torch.ones(2), {"i": i}), "n": (i, str(i), [float(i)])} for i in range(4)]


def with_metas(batch, *, collate_fn_map=None):
    made = collate_tensor_fn(batch, collate_fn_map=collate_fn_map)
    made._meta = {"all": [x.meta["i"] for x in batch]}
    return made


default_collate_fn_map.update({MetaTensor: with_metas})
batch = default_collate(samples[:2])
print(kinds(batch["x"]), batch["x"].meta, batch["x"].shape, batch["n"])
for batch in DataLoader(samples, batch_size=2):
    print(batch["x"].meta, batch["n"][0].tolist(), batch["n"][1], [v.dtype for v in batch["n"][2]])
print(torch.ones(torch.tensor(2), 3).shape, torch.zeros(torch.prod(torch.tensor([2, 2]))).shape)


# ---- parameters ----
class Quantised(nn.Parameter):
    asked: ClassVar = []

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        cls.asked.append(func.__name__)
        with torch._C.DisableTorchFunctionSubclass():
            return super().__torch_function__(func, types, args, kwargs or {})


w = Quantised(torch.ones(2, 3))
show("parameter", torch.add(w, 1), F.linear(p[:, :3], w), torch.sum(w))
print(list(Quantised.asked), w.requires_grad, kinds(w), has_torch_function((w,)), has_torch_function((weight,)))
net = nn.Linear(3, 2)
net.weight = w
show("layer", net(torch.ones(1, 3)), net.weight)
net(torch.ones(1, 3)).sum().backward()
print(w.grad.tolist(), [n for n, _ in net.named_parameters()], "linear" in Quantised.asked)
