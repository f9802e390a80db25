"""Subclasses of torch.Tensor, and classes that answer for its functions."""

import copy
import operator
import pickle
from typing import ClassVar

import pytest
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
from torch.utils.data import DataLoader, default_collate
from torch.utils.data._utils.collate import (
    collate,
    collate_tensor_fn,
    default_collate_fn_map,
    np_str_obj_array_pattern,
)

from checking import check


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


def check_kinds(*xs):
    check(*[kinds(x) for x in xs])


a = torch.arange(6.0).reshape(2, 3).as_subclass(Image)
b = torch.ones(2, 3).as_subclass(Gray)
p = torch.ones(2, 3)
weight = nn.Parameter(torch.ones(2, 3))


# ---- what is made of them is one of them -----------------------------------------------------------------------------
def test_operators():
    check_kinds(a + 1, 1 + a, a + p, p + a, p - a, a + b, b + a, a == a, a > p, p < a, -a, abs(a), ~(a > 1), a @ a.T)
    check_kinds(2 / a, a**2, 2**a, a // 2, a % 2, (a > 1) & (p > 0), (p > 0) | (a > 1), weight + a, weight * b)


def test_methods():
    check_kinds(a.sum(), a.max(1), a.split(1), a.detach(), a.clone(), a.float(), a.long(), a.view(-1), a.unbind())
    check_kinds(p.add(b), p.mul(a), p.matmul(a.T), p.where(a > 0, p), weight.sub(a), p.new_ones(1), a.new_ones(1))


def test_functions():
    check_kinds(torch.cat([a, p]), torch.stack([b, a]), torch.add(p, b), torch.where(a > 0, a, p), torch.exp(a))
    check_kinds(torch.cat((p, a)), torch.stack([p, b, a]), torch.vstack([a, p]), torch.zeros_like(a))
    check_kinds(F.relu(a), F.linear(a, p), F.softmax(a, -1), F.mse_loss(p, a), F.pad(a, (1, 1)))
    torch.block_diag(*[p, p]), torch.broadcast_tensors(*[p[:1], p]), torch.tensor([[1], [2]]).expand([2, 2])


def test_layers():
    check_kinds(nn.Linear(3, 2)(a), nn.ReLU()(b), nn.Sequential(nn.Linear(3, 2), nn.Tanh())(a), nn.MSELoss()(p, a))
    check_kinds(nn.Linear(3, 2)(p), nn.CrossEntropyLoss()(a, torch.tensor([0, 1])), nn.Conv1d(2, 1, 1)(a))


def test_parts():
    check_kinds(a[0], a[:, 1], a[a > 1], next(iter(a)), a.T, a.mT, a.data, a.grad, p[a > 1], p[0][a[0] > 0])


def test_values_of_python():
    check_kinds(a.shape, a.size(0), a.tolist()[0], a.numpy(), a.sum().item(), float(a.sum()))
    check_kinds(bool((a > -1).all()), len(a))


def test_classes():
    check(type(a) is Image, isinstance(a, torch.Tensor), issubclass(Gray, Image), isinstance(p, Image))
    check(issubclass(Gray, Mask))


def test_two_classes_of_which_none_is_the_others():
    with pytest.raises(TypeError) as error:
        a + p.as_subclass(Mask)
    check(str(error.value)[:41])


def test_repr():
    check(repr(a), str(b))


# ---- attributes, copies, pickles -------------------------------------------------------------------------------------
def noted():
    made = torch.arange(6.0).reshape(2, 3).as_subclass(Image)
    made.note, made.sum_of = 5, {"x": 1}
    return made


def test_attributes():
    x = noted()
    check(x.note, sorted(vars(x)), hasattr(x, "other"), hasattr(x + 1, "note"))


def test_copies_and_pickles():
    x = noted()
    del x.sum_of
    back = pickle.loads(pickle.dumps(x))
    check(vars(x), vars(copy.copy(x)), kinds(copy.copy(x)), kinds(back), back.note, back.tolist())


def test_attributes_of_a_tensor():
    x = torch.ones(2, 3)
    x.flag = True
    check(x.flag, hasattr(x + 1, "flag"), x.__dict__)


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


def test_a_constructor_of_ones_own():
    t = Titled([[1.0, 2.0]], title="first")
    check(kinds(t), t.title, t.doubled.title, kinds(t.doubled))
    check(t.sum().tolist(), torch.sum(t).tolist(), t.mean().tolist())


def test_constructors():
    check(kinds(Image([1, 2])), Image([1, 2]).dtype, Image(2, 3).shape, kinds(Image(p)), torch.Tensor(p.long()).dtype)
    made = torch.Tensor._make_subclass(Image, p, True)
    check(kinds(made), made.requires_grad, made.is_leaf, kinds(a.as_subclass(torch.Tensor)))


# ---- memory and gradients are shared ---------------------------------------------------------------------------------
def test_memory():
    base = torch.zeros(3)
    view = base.as_subclass(Image)
    view += 1
    view[0] = 5
    base.mul_(2)
    check(base.tolist(), view.tolist(), kinds(view))


def test_gradients_of_a_base():
    x = torch.ones(3, requires_grad=True)
    y = x.as_subclass(Image)
    check(y.is_leaf, y.requires_grad, kinds((y * y).sum()))
    (y * y + p[0].as_subclass(Image)).sum().backward()
    check(x.grad.tolist(), kinds(x.grad))


def test_gradients_of_a_leaf():
    leaf = torch.ones(3).as_subclass(Image).requires_grad_()
    (leaf[1:] * 3).sum().backward()
    check(leaf.is_leaf, leaf.grad.tolist())


def test_gradients_of_a_layer():
    net = nn.Linear(3, 1)
    net(a).sum().backward()
    check(net.weight.grad.tolist(), kinds(net.weight.grad))


# ---- __torch_function__ ----------------------------------------------------------------------------------------------
def logged():
    return torch.ones(2, 2).as_subclass(Logged)


q = torch.ones(2, 2)
CALLS = {
    **{f"{f} 1": (lambda v, f=f: getattr(operator, f)(v, 1)) for f in ("add", "sub", "mul", "truediv", "pow")},
    **{f"2 {f}": (lambda v, f=f: getattr(operator, f)(2, v)) for f in ("add", "sub", "mul", "pow")},
    **{f"{f} itself": (lambda v, f=f: getattr(operator, f)(v, v)) for f in ("matmul", "lt", "eq", "ne", "mod")},
    **{f"tensor {f}": (lambda v, f=f: getattr(operator, f)(q, v)) for f in ("add", "sub", "mul", "truediv")},
    **{f.__name__: f for f in (operator.neg, abs, len)},
    **{f"torch.{f}": (lambda v, f=f: getattr(torch, f)(v)) for f in ("exp", "sum", "numel")},
    "F.relu": F.relu,
    **{f"torch.{f} of two": (lambda v, f=f: getattr(torch, f)(v, v)) for f in ("add", "matmul", "equal")},
    "F.mse_loss": lambda v: F.mse_loss(v, v),
    "Tensor.add": lambda v: torch.Tensor.add(v, v),
    **{f"{f}()": (lambda v, f=f: getattr(v, f)()) for f in ("sum", "mean", "t", "numpy", "dim", "bool", "cpu")},
    **{n: operator.attrgetter(n) for n in ("shape", "T", "dtype", "requires_grad", "ndim", "is_leaf", "data")},
    "size(0)": lambda v: v.size(0),
    "add_(1)": lambda v: v.add_(1),
    "iadd": lambda v: operator.iadd(v, 1),
    "[0]": lambda v: v[0],
    "cat": lambda v: torch.cat([q, v]),
    "max": lambda v: torch.max(v, dim=1),
    "einsum": lambda v: torch.einsum("ij,jk->ik", v, v),
    "cross_entropy": lambda v: nn.functional.cross_entropy(v, torch.tensor([0, 1])),
    "Linear": lambda v: nn.Linear(2, 2)(v),
    "is_tensor": torch.is_tensor,
    "q.add": lambda v: q.add(v),
}


@pytest.mark.parametrize("name", CALLS)
def test_seen(name):
    v = logged()
    Logged.calls.clear()
    check_kinds(CALLS[name](v))
    check(list(Logged.calls))


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


def test_a_class_that_answers_for_some_functions():
    check(torch.mean(d), F.relu(d).value, torch.matmul(p, d), torch.matmul(p, other=d), p.add(d))


@pytest.mark.parametrize("call", [lambda: torch.sum(d), lambda: torch.cat([d, p])], ids=["sum", "cat"])
def test_functions_that_no_class_answers_for(call):
    with pytest.raises(TypeError, match="__torch_function__"):
        call()


class Wrapped:
    """Wraps a tensor without being one."""

    def __init__(self, data, note=None):
        self._t, self._note = torch.as_tensor(data), note

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        notes = [x._note for x in args if hasattr(x, "_note")]
        result = func(*[getattr(x, "_t", x) for x in args], **(kwargs or {}))
        return Wrapped(result, notes[0])


def test_a_class_that_wraps_a_tensor():
    o = torch.add(Wrapped([1.0, 2.0], "kept"), torch.tensor([1.0, 1.0]))
    check(o._note, o._t)


def scaled(x, scale=2):
    if has_torch_function((x,)):
        return handle_torch_function(scaled, (x,), x, scale=scale)
    return x * scale


@wrap_torch_function(lambda x: (x,))
def halved(x):
    return x / 2


def test_functions_of_ones_own_ask_too():
    v = logged()
    Logged.calls.clear()
    check_kinds(scaled(v), scaled(p), halved(v), halved(p))
    check(list(Logged.calls))


def test_questions():
    check(has_torch_function([1, d]), has_torch_function((p,)))
    check(has_torch_function_unary(a), has_torch_function_variadic(p, a))
    check([is_tensor_like(x) for x in (d, p, a, 3)])
    check([is_tensor_method_or_property(f) for f in (torch.Tensor.add, torch.add, torch.Tensor.shape.__get__)])
    check([resolve_name(f) for f in (torch.Tensor.add, torch.add, F.relu, torch.Tensor.shape.__get__, print)])


def test_disabled():
    with torch._C.DisableTorchFunctionSubclass():
        check_kinds(a + 1, torch.add(a, 1), a.sum(), a)
        check(has_torch_function((a,)))


class Silent(torch.Tensor):
    __torch_function__ = torch._C._disabled_torch_function_impl


def test_a_class_that_never_answers():
    s = torch.ones(3).as_subclass(Silent)
    check_kinds(s, s + 1, s.sum(), F.relu(s), a + s)


# ---- a class with another base, whose objects have a dict of their own -----------------------------------------------
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


def meta():
    return MetaTensor(torch.ones(2, 3), meta={"a": 1})


def test_a_dict_goes_on():
    m = meta()
    check(kinds(m * 2), (m * 2).meta, sorted(vars(m)), isinstance(m * 2, Named), (1 + m[0]).meta)


def test_a_dict_goes_on_to_gradients():
    m, x = meta(), torch.ones(3, requires_grad=True)
    y = (m * x).sum()
    y.backward()
    check(kinds(y), y.meta, y.requires_grad, x.grad.tolist())


def test_a_dict_goes_through_layers():
    net = nn.Sequential(nn.Linear(3, 2), nn.ReLU(), nn.Linear(2, 1))
    y = net(meta())
    y.sum().backward()
    check(kinds(y), y.meta, net[2].bias.grad.tolist())


def test_memory_of_a_class_with_another_base():
    base = torch.zeros(2)
    view = base.as_subclass(MetaTensor)
    view += 1
    check(base.tolist(), kinds(view))


# ---- batches of them -------------------------------------------------------------------------------------------------
SAMPLES = [{"x": MetaTensor(torch.ones(2), {"i": i}), "n": (i, str(i), [float(i)])} for i in range(4)]


def with_metas(batch, *, collate_fn_map=None):
    made = collate_tensor_fn(batch, collate_fn_map=collate_fn_map)
    made._meta = {"all": [x.meta["i"] for x in batch]}
    return made


@pytest.fixture
def collated():
    default_collate_fn_map.update({MetaTensor: with_metas})
    yield
    del default_collate_fn_map[MetaTensor]


def test_collate():
    check(bool(np_str_obj_array_pattern.search("<U3")), bool(np_str_obj_array_pattern.search("<f4")))
    check_kinds(collate_tensor_fn([a, a]), collate([1.5, 2.5], collate_fn_map=default_collate_fn_map))


def test_default_collate(collated):
    batch = default_collate(SAMPLES[:2])
    check(kinds(batch["x"]), batch["x"].meta, batch["x"].shape, batch["n"])


def test_data_loader(collated):
    for batch in DataLoader(SAMPLES, batch_size=2):
        check(batch["x"].meta, batch["n"][0].tolist(), batch["n"][1], [v.dtype for v in batch["n"][2]])


def test_sizes_that_are_tensors():
    check(torch.ones(torch.tensor(2), 3).shape, torch.zeros(torch.prod(torch.tensor([2, 2]))).shape)


# ---- parameters ------------------------------------------------------------------------------------------------------
class Quantised(nn.Parameter):
    asked: ClassVar = []

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        cls.asked.append(func.__name__)
        with torch._C.DisableTorchFunctionSubclass():
            return super().__torch_function__(func, types, args, kwargs or {})


def quantised():
    Quantised.asked.clear()
    return Quantised(torch.ones(2, 3))


def test_a_class_of_parameters():
    w = quantised()
    check_kinds(torch.add(w, 1), F.linear(p, w), torch.sum(w))
    check(list(Quantised.asked), w.requires_grad, kinds(w), has_torch_function((w,)), has_torch_function((weight,)))


def test_a_parameter_of_another_class_in_a_layer():
    net, w = nn.Linear(3, 2), quantised()
    net.weight = w
    check_kinds(net(torch.ones(1, 3)), net.weight)
    net(torch.ones(1, 3)).sum().backward()
    check(w.grad.tolist(), [n for n, _ in net.named_parameters()], "linear" in Quantised.asked)
