"""Modules: what belongs to them, names, states, modes, hooks, containers, copies, tables."""

from __future__ import annotations

import copy
import pickle
from collections import OrderedDict
from typing import Any

import numpy as np
import pytest

import spirograd as sg
from spirograd import nn


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norm = nn.BatchNorm1d(2)
        self.scale = nn.Parameter(sg.ones(2))
        self.register_buffer("mask", sg.tensor([1.0, 0.0]))
        self.register_buffer("scratch", sg.zeros(2), persistent=False)
        self.register_buffer("nothing", None)
        self.note = sg.ones(7)  # a tensor, but neither a parameter nor a buffer

    def forward(self, x: sg.Tensor) -> sg.Tensor:
        return self.norm(x) * self.scale * self.mask


class Model(nn.Module):
    """Modules and parameters in attributes, lists, tuples and dicts."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(2, 2, bias=False)
        self.blocks = [Block(), Block()]
        self.heads = {"left": nn.Linear(2, 1), "right": (nn.Linear(2, 3), "text", [nn.ReLU()])}
        self.free = [nn.Parameter(sg.zeros(1)), None]
        self.tied = self.first
        self.vocabulary = [str(i) for i in range(5000)]
        self.mixed = ["text", nn.Tanh()]

    def forward(self, x: sg.Tensor) -> sg.Tensor:
        for block in self.blocks:
            x = block(self.first(x))
        return self.heads["left"](x)


BLOCK = ["scale", "mask", "norm.weight", "norm.bias", "norm.running_mean", "norm.running_var"]
BLOCK += ["norm.num_batches_tracked"]


def test_names_of_what_is_in_lists_and_dicts() -> None:
    model = Model()
    assert [name for name, _ in model.named_parameters()] == [
        "free.0", "first.weight",
        "blocks.0.scale", "blocks.0.norm.weight", "blocks.0.norm.bias",
        "blocks.1.scale", "blocks.1.norm.weight", "blocks.1.norm.bias",
        "heads.left.weight", "heads.left.bias", "heads.right.0.weight", "heads.right.0.bias",
    ]  # fmt: skip
    assert [name for name, _ in model.named_buffers()][:5] == [
        "blocks.0.mask", "blocks.0.scratch",
        "blocks.0.norm.running_mean", "blocks.0.norm.running_var", "blocks.0.norm.num_batches_tracked",
    ]  # fmt: skip
    names = [name for name, _ in model.named_modules()]
    assert names == [
        "", "first", "blocks.0", "blocks.0.norm", "blocks.1", "blocks.1.norm", "heads.left", "heads.right.0",
        "heads.right.2.0", "mixed.1",
    ]  # fmt: skip
    assert "tied" in dict(model.named_modules(remove_duplicate=False))
    assert [name for name, _ in model.named_children()] == [n for n in names if n and not n.endswith("norm")]
    assert len(list(model.parameters())) == 12 and len(list(model.buffers())) == 10
    assert [n for n, _ in model.named_parameters("m", recurse=False)] == ["m.free.0"]
    assert [n for n, _ in model.blocks[0].named_buffers("b", recurse=False)] == ["b.mask", "b.scratch"]
    model.blocks.append(Block())
    assert len(list(model.parameters())) == 15
    del model.blocks[0].mask
    assert "blocks.0.mask" not in model.state_dict()


def test_a_long_list_of_modules_is_searched() -> None:
    model = nn.Module()
    model.many = [nn.Identity() for _ in range(1001)]
    assert len(list(model.modules())) == 1002
    model.many.insert(0, "data")
    assert len(list(model.modules())) == 1


def test_a_shared_module_is_listed_once_unless_asked() -> None:
    one = nn.Identity()
    model = nn.Sequential(one, one)
    assert list(model.modules()) == [model, one]
    assert list(model.modules(remove_duplicate=False)) == [model, one, one]


def test_a_parameter_of_nothing_is_empty() -> None:
    assert nn.Parameter().shape == (0,) and nn.Parameter().requires_grad


def test_state_dict_has_tied_weights_twice_and_no_scratch() -> None:
    model = Model()
    want = ["free.0", "first.weight", *(f"blocks.{i}.{name}" for i in (0, 1) for name in BLOCK)]
    want += ["heads.left.weight", "heads.left.bias", "heads.right.0.weight", "heads.right.0.bias", "tied.weight"]
    state = model.state_dict()
    assert list(state) == want
    assert not any(v.requires_grad for v in state.values())
    assert model.state_dict(keep_vars=True)["free.0"] is model.free[0]
    assert list(model.first.state_dict(prefix="a.")) == ["a.weight"]
    state["free.0"].fill_(3)
    assert model.free[0].item() == 3, "the memory is shared"


def test_load_state_dict(device: sg.Device) -> None:
    model, other = Model().to(device), Model()
    for value in other.state_dict().values():
        value.add_(1)
    result = model.load_state_dict(other.state_dict())
    assert repr(result) == "<All keys matched successfully>"
    for a, b in zip(model.state_dict().values(), other.state_dict().values(), strict=True):
        assert a.device == device
        np.testing.assert_array_equal(a.numpy(), b.numpy())


def test_load_state_dict_says_what_differs() -> None:
    layer = nn.Linear(2, 3)
    before = layer.bias.tolist()
    with pytest.raises(ValueError, match=r"load_state_dict: missing \['weight'\], unexpected \['other'\]"):
        layer.load_state_dict({"bias": sg.ones(3), "other": sg.ones(1)})
    with pytest.raises(ValueError, match=r"weight has shape \[3, 2\], the state \[2, 3\]; use the same model"):
        layer.load_state_dict({"bias": sg.ones(3), "weight": sg.ones(2, 3)})
    assert layer.bias.tolist() == before, "nothing was copied"
    missing, unexpected = layer.load_state_dict({"bias": np.ones(3), "other": 1}, strict=False)
    assert (missing, unexpected, layer.bias.tolist()) == (["weight"], ["other"], [1, 1, 1])


def test_load_state_dict_by_assignment_takes_type_and_memory() -> None:
    layer = nn.Linear(1, 1)
    weight, given = layer.weight, sg.zeros(1, 1, dtype=sg.float64)
    layer.load_state_dict({"weight": given, "bias": sg.ones(1)}, assign=True)
    assert layer.weight is weight and weight.dtype == sg.float64 and weight.requires_grad and weight.is_leaf
    given.fill_(5)
    assert weight.item() == 5


def test_registration() -> None:
    module = nn.Module()
    module.register_parameter("p", nn.Parameter(sg.ones(1)))
    module.register_parameter("none", None)
    module.add_module("m", nn.ReLU())
    module.register_module("gone", None)
    module.register_buffer("b", sg.ones(1))
    module.register_buffer("b", sg.zeros(1))
    assert list(module.state_dict()) == ["p", "b"] and module.b.item() == 0
    module.b = sg.full((1,), 2.0)
    assert module.state_dict()["b"].item() == 2, "an assignment keeps the buffer a buffer"
    for call in (
        lambda name: module.register_buffer(name, None),
        lambda name: module.register_parameter(name, None),
        lambda name: module.add_module(name, None),
    ):
        for name in ("", "a.b", "training", "forward"):
            with pytest.raises(KeyError):
                call(name)
        with pytest.raises(TypeError, match="the name is a int"):
            call(1)
    with pytest.raises(TypeError, match="register_parameter: 'q' is a Tensor"):
        module.register_parameter("q", sg.ones(1))
    with pytest.raises(TypeError, match="register_buffer: 'q' is a int"):
        module.register_buffer("q", 1)
    with pytest.raises(TypeError, match="add_module: 'q' is a int"):
        module.add_module("q", 1)


def test_get() -> None:
    model = Model()
    assert model.get_submodule("") is model and model.get_submodule("heads.right.2.0") is model.heads["right"][2][0]
    assert model.get_submodule("tied") is model.first
    assert model.get_parameter("tied.weight") is model.first.weight
    assert model.get_buffer("blocks.1.mask") is model.blocks[1].mask
    for get in (model.get_submodule, model.get_parameter, model.get_buffer):
        with pytest.raises(AttributeError, match=r"Model has no 'blocks\.7'"):
            get("blocks.7")


def test_modes() -> None:
    model = Model()
    assert model.eval() is model and not any(m.training for m in model.modules())
    model.train()
    assert all(m.training for m in model.modules())
    model.blocks[0].requires_grad_(False)
    assert [p.requires_grad for p in model.parameters()].count(False) == 3
    seen: list[str] = []
    model.apply(lambda m: seen.append(type(m).__name__))
    assert seen[-1] == "Model" and seen[1:3] == ["BatchNorm1d", "Block"]


def test_moving_keeps_the_objects(device: sg.Device) -> None:
    model = Model()
    weight, buffer = model.first.weight, model.blocks[0].mask
    model(sg.rand(3, 2)).sum().backward()
    assert model.to(device) is model
    assert all(t.device == device for t in [*model.parameters(), *model.buffers()])
    assert model.first.weight is weight and model.blocks[0].mask is buffer and weight.grad.device == device
    tracked = model.blocks[0].norm.num_batches_tracked
    assert model.blocks[0].norm(sg.rand(3, 2, device=device)).device == device
    for convert, name in ((model.half, "float16"), (model.bfloat16, "bfloat16"), (model.float, "float32")):
        convert()
        assert {t.dtype.name for t in [*model.parameters(), model.first.weight.grad, buffer]} == {name}
        assert (tracked.dtype.name, tracked.item(), tracked.device) == ("int64", 2, device)
    with pytest.raises(TypeError, match="int32 is not a floating type"):
        model.to(sg.int32)
    assert weight.dtype == sg.float32
    model.to(sg.ones(1, dtype=sg.float16))
    assert weight.dtype == sg.float16 and tracked.dtype == sg.int64 and weight.device == sg.Device.cpu()
    model.type(sg.float32)
    assert tracked.dtype == sg.float32
    model.to_empty(device=device)
    assert weight.device == device and weight.grad is None
    assert model.cpu().first.weight.device == sg.Device.cpu()
    assert model.double() is model and weight.dtype == sg.float64


def test_zero_grad() -> None:
    model = nn.Linear(2, 1)
    model(sg.ones(1, 2)).sum().backward()
    gradient = model.weight.grad
    model.zero_grad(set_to_none=False)
    assert gradient.tolist() == [[0, 0]] == model.weight.grad.tolist(), "written in place"
    model.zero_grad()
    assert model.weight.grad is None


def test_a_module_without_init_and_without_forward() -> None:
    class Custom(nn.Module):
        def __init__(self) -> None:
            self.layer = nn.Linear(1, 1)

    assert len(list(Custom().parameters())) == 2 and Custom().training
    with pytest.raises(NotImplementedError, match=r"Custom has no forward\(\)"):
        Custom()(1)


# ---- hooks -----------------------------------------------------------------------------------------------------------
def test_lazy_layers_take_a_state_before_their_first_call() -> None:
    layer, lazy = nn.Linear(3, 2), nn.LazyLinear(2)
    assert lazy.has_uninitialized_params()
    weight = lazy.weight
    lazy.load_state_dict(layer.state_dict())
    assert not lazy.has_uninitialized_params() and type(weight) is nn.Parameter
    x = sg.arange(6.0).reshape(2, 3)
    assert sg.equal(lazy(x), layer(x)) and type(lazy) is nn.Linear and lazy.weight is weight
    layer.weight.data.zero_()
    assert lazy.weight.abs().sum().item() > 0
    other = nn.LazyLinear(2)
    other.load_state_dict(layer.state_dict())
    with pytest.raises(
        ValueError, match=r"LazyLinear: the loaded weight has shape \[2, 3\], this input needs \[2, 4\]"
    ):
        other(sg.ones(1, 4))
    assert type(other) is nn.LazyLinear and other(x).shape == (2, 2)


def test_a_parameter_without_shape_does_not_count_as_empty() -> None:
    weight = nn.LazyLinear(2).weight
    for ask in (lambda: weight.shape, weight.numel, weight.nelement, weight.dim, lambda: len(weight)):
        with pytest.raises(ValueError, match=r"the parameter of a lazy layer has no shape yet; call the module"):
            ask()
    assert repr(weight) == "<UninitializedParameter>" and "(0): <Un" in repr(nn.ParameterList([weight]))


def test_forward_hooks() -> None:
    layer, calls = nn.Identity(), []
    one = sg.ones(1)
    first = layer.register_forward_pre_hook(lambda m, args: calls.append(("pre", m is layer)) or (args[0] + 1,))
    layer.register_forward_pre_hook(lambda m, args: args[0] * 10)
    layer.register_forward_hook(lambda m, args, y: calls.append(("post", args[0].item())))
    after = layer.register_forward_hook(lambda m, args, y: y - 1, prepend=True)
    assert layer(one).item() == 19 and calls == [("pre", True), ("post", 20)]
    first.remove()
    first.remove()
    after.remove()
    assert layer(one).item() == 10


def test_forward_hooks_with_keywords() -> None:
    class Add(nn.Module):
        def forward(self, x: sg.Tensor, more: float = 0) -> sg.Tensor:
            return x + more

    layer, seen = Add(), []
    with layer.register_forward_pre_hook(lambda m, args, kwargs: (args, {"more": 5}), with_kwargs=True):
        layer.register_forward_hook(lambda m, args, kwargs, y: seen.append(kwargs), with_kwargs=True)
        assert layer(sg.ones(1), more=1).item() == 6
    assert seen == [{"more": 5}] and layer(sg.ones(1), more=1).item() == 2
    layer.register_forward_pre_hook(lambda m, args, kwargs: 3, with_kwargs=True)
    with pytest.raises(TypeError, match="forward pre-hook: it returned a int"):
        layer(sg.ones(1))


def test_a_hook_that_is_always_called() -> None:
    layer, seen = nn.Linear(2, 2), []
    layer.register_forward_hook(lambda m, args, y: seen.append(y), always_call=True)
    layer.register_forward_hook(lambda m, args, y: seen.append("never"))
    with pytest.raises(ValueError, match="matmul"):
        layer(sg.ones(1, 3))
    assert seen == [None]


def test_backward_hooks(device: sg.Device) -> None:
    layer = nn.Linear(2, 1, bias=False).to(device)
    nn.init.constant_(layer.weight, 3.0)
    seen: list[Any] = []
    layer.register_full_backward_pre_hook(lambda m, g: seen.append(("pre", g[0].tolist())) or (g[0] * 2,))
    layer.register_full_backward_hook(lambda m, gi, go: seen.append((gi[0].tolist(), go[0].tolist())))
    last = layer.register_full_backward_hook(lambda m, gi, go: (gi[0] + 1,))
    x = sg.ones(1, 2, device=device, requires_grad=True)
    layer(x).sum().backward()
    assert seen == [("pre", [[1]]), ([[6, 6]], [[2]])]
    assert x.grad.tolist() == [[7, 7]] and layer.weight.grad.tolist() == [[2, 2]]
    last.remove()
    seen.clear()
    with sg.no_grad():
        assert not layer(x).requires_grad
    assert seen == []


def test_backward_hooks_without_a_gradient_for_the_input() -> None:
    layer, seen = nn.Linear(2, 1), []
    layer.register_full_backward_hook(lambda m, gi, go: seen.append((gi, go[0].tolist())))
    layer(sg.ones(1, 2)).sum().backward()
    assert seen == [((None,), [[1]])]


def test_backward_hooks_of_several_tensors() -> None:
    class Two(nn.Module):
        def forward(self, x: sg.Tensor, n: sg.Tensor, k: int) -> tuple[sg.Tensor, int, sg.Tensor]:
            return x * 2, k, x * n

    layer, seen = Two(), []
    layer.register_full_backward_hook(lambda m, gi, go: seen.append((gi, [g.item() for g in go])))
    x, n = sg.ones(1, requires_grad=True), sg.tensor([4.0])
    a, k, b = layer(x, n, 7)
    (a + 3 * b).sum().backward()
    (gradient, other), outputs = seen[0]
    assert (k, x.grad.item(), gradient.item(), other, outputs) == (7, 14, 14, None, [1, 3]) and n.grad is None
    layer.register_full_backward_hook(lambda m, gi, go: (gi[0],))
    with pytest.raises(ValueError, match="backward hook: it returned 1 gradients for 2 tensors"):
        sum(y.sum() for y in layer(x, n, 7)[::2]).backward()


def test_hooks_as_pytorch() -> None:
    """The same calls with the same numbers, in the same order."""
    torch = pytest.importorskip("torch")
    logs: list[list[Any]] = []
    for t in (sg, torch):
        net = t.nn.Sequential(t.nn.Linear(2, 3), t.nn.Tanh(), t.nn.Linear(3, 1)).double()
        log: list[Any] = []

        def note(what: str, *values: Any, log: list[Any] = log) -> None:
            log.append((what, [None if v is None else np.round(v.detach().numpy(), 9).tolist() for v in values]))

        for i, p in enumerate(net.parameters()):
            t.nn.init.constant_(p, 0.1 * (i + 1))
        for name, m in net.named_modules():
            m.register_forward_pre_hook(lambda m, a, name=name: note(f"pre {name}", *a))
            m.register_forward_hook(lambda m, a, y, name=name: note(f"post {name}", *a, y))
            m.register_full_backward_pre_hook(lambda m, g, name=name: note(f"back pre {name}", *g))
            m.register_full_backward_hook(lambda m, i, o, name=name: note(f"back {name}", *i, *o))
        net[1].register_full_backward_hook(lambda m, i, o: (i[0] * 2,))
        net[2].register_forward_hook(lambda m, a, y: y * 3)
        x = t.tensor([[1.0, -1.0]], dtype=t.float64, requires_grad=True)
        net(x).sum().backward()
        net(x.detach()).sum().backward()
        log.append([p.grad.numpy().round(9).tolist() for p in [x, *net.parameters()]])
        logs.append(log)
    assert logs[0] == logs[1]


# ---- containers ------------------------------------------------------------------------------------------------------
def test_sequential() -> None:
    a, b, c = nn.Linear(1, 2), nn.ReLU(), nn.Linear(2, 3)
    net = nn.Sequential(OrderedDict(enter=a, act=b, leave=c))
    assert net.enter is a and list(net.state_dict()) == ["enter.weight", "enter.bias", "leave.weight", "leave.bias"]
    assert net[0] is a and net[-1] is c and len(net) == 3 and list(net) == [a, b, c]
    assert list(net[1:]._modules) == ["act", "leave"]
    net = nn.Sequential(a, b)
    assert net.append(c) is net and list(net) == [a, b, c] and net[2] is c
    assert list(net[1:].state_dict()) == ["2.weight", "2.bias"], "parts keep their names, as in PyTorch"
    assert list(nn.ModuleList([a, b, c])[1:].state_dict()) == ["1.weight", "1.bias"], "but in lists"
    assert list(net[1:].append(a)) == [b, c, a]
    assert list(net.insert(1, nn.Tanh()))[2] is b and list(net._modules) == ["0", "1", "2", "3"]
    assert net.pop(1)(sg.zeros(1)).item() == 0 and list(net) == [a, b, c]
    del net[0]
    assert list(net) == [b, c] and list(net.state_dict()) == ["1.weight", "1.bias"]
    net[0] = a
    net.extend([b, b])
    assert list(net) == [a, c, b, b]
    del net[1:3]
    assert list(net) == [a, b] and list(net + nn.ModuleList([c])) == [a, b, c] and len(net) == 2
    net += [b]
    x = sg.tensor([[2.0]])
    np.testing.assert_array_equal(net(x).detach().numpy(), a(x).relu().detach().numpy())
    double = nn.Sequential(b2 := nn.Linear(1, 1, bias=False), b2)
    nn.init.constant_(b2.weight, 3.0)
    assert double(x).item() == 18, "a module that stands there twice runs twice"
    assert (double * 2)(x).item() == (2 * double)(x).item() == 162 and len(double) == 2
    assert list(nn.Sequential()) == []


def test_wrong_use_of_containers() -> None:
    net = nn.Sequential(nn.ReLU())
    with pytest.raises(TypeError, match="Sequential: module 0 is a function; pass modules"):
        nn.Sequential(lambda x: x)
    with pytest.raises(IndexError, match="Sequential: index 1 is out of range for 1 modules"):
        net[1]
    with pytest.raises(TypeError, match="load_state_dict: the state is a list; pass a dict"):
        net.load_state_dict([])  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="train: mode is 'yes'; use True or False"):
        net.train("yes")  # type: ignore[arg-type]
    with pytest.raises(IndexError, match=r"Sequential\.insert: index 3 is out of range"):
        net.insert(3, nn.ReLU())
    with pytest.raises(TypeError):
        net[0] = 1  # type: ignore[assignment]
    with pytest.raises(KeyError, match="already exists"):
        nn.ModuleDict({"keys": nn.ReLU()})
    with pytest.raises(KeyError):
        nn.ModuleDict()["a"]
    with pytest.raises(IndexError, match="ParameterList: index 0 is out of range for 0 values"):
        nn.ParameterList()[0]
    with pytest.raises(NotImplementedError, match="ModuleList"):
        nn.ModuleList()(sg.ones(1))


def test_module_list() -> None:
    layers = nn.ModuleList(nn.Linear(1, 1) for _ in range(3))
    layers.append(nn.ReLU())
    assert len(layers) == 4 and list(layers.state_dict())[:2] == ["0.weight", "0.bias"]
    assert isinstance(layers[1:3], nn.ModuleList) and layers[1:3][0] is layers[1]
    assert layers.pop(-1)(sg.ones(1)).item() == 1 and len(layers) == 3
    layers.insert(0, nn.Tanh())
    assert isinstance(layers[0], nn.Tanh) and len(layers + layers) == 8


def test_module_dict() -> None:
    parts = nn.ModuleDict({"a": nn.Linear(1, 1), "b": nn.ReLU()})
    parts.update([("c", nn.Tanh())])
    assert list(parts) == ["a", "b", "c"] == list(parts.keys()) and "b" in parts and len(parts) == 3
    assert [type(m).__name__ for m in parts.values()] == ["Linear", "ReLU", "Tanh"]
    parts["b"] = nn.Sigmoid()
    assert dict(parts.items())["b"] is parts["b"] and list(parts.state_dict()) == ["a.weight", "a.bias"]
    assert isinstance(parts.pop("b"), nn.Sigmoid) and list(parts) == ["a", "c"]
    del parts["a"]
    parts.clear()
    assert len(parts) == 0


def test_parameter_containers() -> None:
    values = nn.ParameterList([sg.ones(2), nn.Parameter(sg.zeros(1)), "text"])
    values += [sg.ones(3)]
    assert [n for n, _ in values.named_parameters()] == ["0", "1", "3"] and values[2] == "text" and len(values) == 4
    values[0] = sg.full((2,), 4.0)
    assert isinstance(values[0], nn.Parameter) and values[-1].shape == (3,) and len(values[1:]) == 3
    assert sum(isinstance(v, nn.Parameter) for v in values) == 3
    named = nn.ParameterDict({"x": sg.ones(2), "y": None})
    named["z"] = sg.zeros(1)
    assert list(named.state_dict()) == ["x", "z"] and list(named) == ["x", "y", "z"] and named["y"] is None
    assert named.get("q", 3) == 3 and "q" not in named and len(named.values()) == 3
    assert named.pop("x").shape == (2,) and list(named.keys()) == ["y", "z"]
    with pytest.raises(KeyError):
        named["x"]
    del named["y"]
    named.clear()
    assert len(named) == 0


# ---- copies and texts ------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("clone", [copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))], ids=["deepcopy", "pickle"])
def test_copies_have_their_own_memory(clone: Any, device: sg.Device) -> None:
    model = Model().to(device)
    other = clone(model)
    assert list(other.state_dict()) == list(model.state_dict()) and other.tied is other.first
    x = sg.rand(4, 2, device=device)
    np.testing.assert_array_equal(other.eval()(x).detach().numpy(), model.eval()(x).detach().numpy())
    nn.init.zeros_(other.first.weight)
    assert model.first.weight.abs().sum().item() > 0
    assert next(other.buffers()) is not model.blocks[0].mask


def test_a_shallow_copy_shares_the_parameters() -> None:
    model = Model()
    other = copy.copy(model)
    assert other.first is model.first and other.free is model.free
    other.register_buffer("own", sg.ones(1))
    assert "own" not in model.state_dict() and "own" in other.state_dict()


def test_text() -> None:
    class Custom(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.act = nn.ReLU(inplace=True)

        def extra_repr(self) -> str:
            return "a=1\nb=2"

    assert repr(Custom()) == "Custom(\n  a=1\n  b=2\n  (act): ReLU(inplace=True)\n)"
    layers = nn.ModuleList([nn.Sequential(nn.Tanh()), nn.Sequential(nn.Tanh()), nn.ReLU()])
    assert repr(layers) == ("ModuleList(\n  (0-1): 2 x Sequential(\n    (0): Tanh()\n  )\n  (2): ReLU()\n)")
    assert repr(nn.Module()) == "Module()"
    assert repr(nn.ParameterList([sg.zeros(2, 3), 1])) == (
        "ParameterList(\n  (0): Parameter containing: [spirograd.float32 of size 2x3]\n  (1): Object of type: int\n)"
    )
    assert repr(nn.ParameterDict({"a": sg.zeros(3)})).count("(a): Parameter containing") == 1


def test_text_as_pytorch() -> None:
    torch = pytest.importorskip("torch")

    def make(n: Any) -> Any:
        inner = n.Sequential(n.Linear(2, 3), n.Sequential(n.Dropout(0.25), n.ReLU()))
        layers = n.ModuleList([n.Linear(2, 2), n.Linear(2, 2), inner, n.ModuleList()])
        return n.Sequential(layers, n.ModuleDict({"a": n.Embedding(3, 4, padding_idx=-1, max_norm=1.0)}), inner)

    assert repr(make(nn)) == repr(make(torch.nn))
    assert list(make(nn).state_dict()) == list(make(torch.nn).state_dict())


def test_summary() -> None:
    class Two(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.blocks = [nn.Linear(3, 4), nn.Dropout()]
            self.blocks[0].bias.requires_grad_(False)
            self.unused = nn.ReLU()

        def forward(self, x: sg.Tensor, n: sg.Tensor) -> tuple[sg.Tensor, int]:
            return self.blocks[1](self.blocks[0](x)) * n, 3

    model = Two()
    model.blocks[1].eval()
    assert str(model.summary((5, 3), sg.ones(1))).splitlines() == [
        "module                output        parameters",
        "----------------------------------------------",
        "Two                   (5, 4), int           16",
        "  blocks.0: Linear    (5, 4)                16",
        "  blocks.1: Dropout   (5, 4)                 0",
        "  unused: ReLU                               0",
        "----------------------------------------------",
        "parameters: 16, trained: 12",
    ]
    assert [line.output for line in model.summary((5, 3), sg.ones(1)).lines] == ["(5, 4), int", "(5, 4)", "(5, 4)", ""]
    assert "(" not in str(model.summary())
    assert model.training and not model.blocks[1].training, "the modes are as before"
    assert model.summary().parameters == 16 and model.summary().trained == 12


# ---- what a step costs -----------------------------------------------------------------------------------------------
def test_a_step_of_normalised_layers_is_one_submission(device: sg.Device) -> None:
    net = nn.Sequential(
        nn.Embedding(7, 6, padding_idx=0), nn.Flatten(), nn.Linear(18, 8), nn.BatchNorm1d(8, momentum=None),
        nn.GELU(), nn.Dropout(0.5), nn.LayerNorm(8),
    ).to(device)  # fmt: skip
    opt = sg.optim.Adam(net.parameters())
    x = sg.randint(0, 7, (4, 3), device=device).realize()  # its order is kept from the first step on

    def step() -> None:
        opt.zero_grad()
        net(x).square().mean().backward()
        opt.step()

    step()
    step()
    for _ in range(3):
        sg.reset_stats()
        step()
        s = sg.stats()
        assert (s["submissions"], s["plan_misses"], s["allocations"], s["fallbacks"]) == (1, 0, 0, 0)
        assert (s["bytes_read"], s["kernels_compiled"]) == (0, 0)
    assert net[3].num_batches_tracked.item() == 5


class Student(nn.Module):
    """Shows one net in plain lists and dicts, and hides another."""

    def __init__(self) -> None:
        super().__init__()
        self.shown, self.hidden = nn.Linear(1, 1), nn.Linear(1, 2)
        del self.hidden
        hidden = nn.Linear(1, 2).eval()
        self.listed, self.named = [self.shown, nn.Linear(1, 3)], {"a": nn.Linear(1, 4)}
        self.__dict__["entry"] = hidden
        object.__setattr__(self, "attribute", hidden)
        self.called = lambda: hidden


def test_what_goes_round_assignment_does_not_belong_to_a_module() -> None:
    net = Student()
    names = ["shown", "listed.0", "listed.1", "named.a"]
    assert list(net._modules) == names
    net.train()
    hidden = net.__dict__["entry"]
    assert not hidden.training and not any(p is hidden.weight for p in net.parameters())
    for other in (copy.copy(net), copy.deepcopy(net)):
        assert list(other._modules) == names and not other.__dict__["entry"].training
    other = copy.copy(net)
    other.more = nn.ReLU()
    assert "more" in other._modules and "more" not in net._modules


def test_a_child_may_hold_its_parent() -> None:
    parent, child = nn.Sequential(nn.ReLU()), nn.Linear(1, 1)
    object.__setattr__(child, "parent", parent)
    parent.append(child)
    assert parent.eval() and len(list(parent.parameters())) == 2 and "Linear" in repr(parent)


def test_a_deleted_name_is_hidden_by_an_entry() -> None:
    net = nn.Module()
    net.inner = nn.Linear(1, 1)
    inner = net.inner
    del net.inner
    net.__dict__["inner"] = inner
    assert not list(net.parameters())
    net.inner = inner
    assert len(list(net.parameters())) == 2


def test_states_of_before_have_all_that_they_hold() -> None:
    net = nn.Module()
    net.__setstate__({"training": True, "inner": nn.Linear(1, 1), "blocks": [nn.Linear(1, 1)], "size": 3})
    assert list(net._modules) == ["inner", "blocks.0"]


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("weight", sg.ones(1, 1), r"Linear: cannot assign 'Tensor' as parameter 'weight'; pass a Parameter or None"),
        ("weight", 3, r"cannot assign 'int' as parameter 'weight'"),
        ("weight", [nn.ReLU()], r"cannot assign 'list' as parameter 'weight'"),
        ("weight", nn.ReLU(), r"cannot assign 'ReLU' as parameter 'weight'"),
        ("inner", sg.ones(1), r"cannot assign 'Tensor' as module 'inner'; pass a module or None"),
        ("count", 3, r"cannot assign 'int' as buffer 'count'; pass a tensor or None"),
        ("spectrum", sg.ones(1), r"cannot assign 'Tensor' as parameter 'spectrum'"),
    ],
)
def test_an_attribute_keeps_its_kind(name: str, value: Any, message: str) -> None:
    layer = nn.Linear(1, 1)
    layer.inner = nn.ReLU()
    layer.register_buffer("count", sg.ones(1))
    layer.spectrum = nn.Parameter(sg.complex(sg.ones(1), sg.ones(1)))
    with pytest.raises(TypeError, match=message):
        setattr(layer, name, value)
    assert [n for n, _ in layer.named_parameters()] == ["weight", "bias", "spectrum.real", "spectrum.imag"]
    new = nn.Parameter(sg.zeros(1, 1))
    layer.weight, layer.count, layer.inner = new, sg.zeros(2), nn.Tanh()
    assert layer.get_parameter("weight") is new and list(layer._modules) == ["inner"]
    layer.count = nn.Parameter(sg.ones(1))
    assert not list(layer.buffers()) and "count" in dict(layer.named_parameters())
    layer.weight = None
    assert "weight" not in dict(layer.named_parameters())


def test_a_state_that_does_not_fit_names_all_that_is_wrong() -> None:
    small, large = (nn.Sequential(nn.Linear(3, n), nn.Linear(n, 2)) for n in (2, 4))
    state = large.state_dict()
    state["x"] = state.pop("0.weight")
    with pytest.raises(ValueError, match=r"missing \['0.weight'\], unexpected \['x'\]; 0.bias has .*; 1.weight has "):
        small.load_state_dict(state)


def test_a_lazy_layer_keeps_its_parameters_without_shape_in_a_pickle() -> None:
    lazy = nn.Sequential(nn.LazyLinear(4, dtype=sg.float64), nn.LazyBatchNorm1d(dtype=sg.float64))
    again = pickle.loads(pickle.dumps(lazy))
    assert type(again[0]) is nn.LazyLinear and again[0].has_uninitialized_params()
    assert again(sg.ones(5, 3, dtype=sg.float64)).dtype == sg.float64 and again[0].weight.shape == (4, 3)
