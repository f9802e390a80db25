"""What people's programs do with modules, data and errors, snippet by snippet."""

import copy
import dataclasses
import importlib
import io
import types
import warnings

import numpy as np
import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

from checking import check, drawn


# ---- what a module holds ---------------------------------------------------------------------------------------------
class Student(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(2, 2)


HIDDEN = {
    "in a list": lambda student, net: setattr(student, "teacher", [net]),
    "in a function": lambda student, net: setattr(student, "teacher", lambda: net),
    "in the dict": lambda student, net: student.__dict__.update(teacher=net),
    "from assignment": lambda student, net: object.__setattr__(student, "teacher", net),
}


@pytest.mark.parametrize("how", HIDDEN)
def test_a_module_hidden(how):
    student, frozen = Student(), nn.Linear(2, 2).eval()
    HIDDEN[how](student, frozen)
    student.train()
    check(frozen.training, list(student.state_dict()), len(list(student.parameters())))


def test_a_child_that_knows_its_parent():
    parent, child = Student(), Student()
    object.__setattr__(child, "model", parent)
    parent.child = child
    parent.eval()
    check(child.training, list(parent.state_dict()), child.model is parent)


def test_a_tensor_as_a_weight():
    with pytest.raises(TypeError) as error:
        nn.Linear(2, 1).weight = torch.ones(1, 2)
    check(error.type.__mro__[-3:-2])


# ---- its dicts -------------------------------------------------------------------------------------------------------
def test_dicts():
    layer = nn.Linear(2, 1)
    check([isinstance(getattr(layer, name), dict) for name in ("_modules", "_parameters", "_buffers")])
    check([getattr(layer, name).pop("q", 5) for name in ("_modules", "_parameters", "_buffers")])
    check(list(layer._parameters), list(layer.__dict__["_parameters"]), list(vars(layer)["_buffers"]))
    check("_modules" in vars(layer))


def changed():
    layer = nn.Linear(2, 1)
    layer._buffers["n"] = torch.ones(1)
    layer._parameters.update(extra=nn.Parameter(torch.zeros(1)))
    layer._modules.setdefault("inner", nn.ReLU())
    return layer


def test_dicts_that_are_changed():
    layer = changed()
    check(list(layer.state_dict()), str(layer._modules), str(dict(vars(layer)["_modules"])))
    check(layer._parameters.copy().keys(), {**vars(layer)["_parameters"]}.keys(), len(layer._parameters))
    check(layer._buffers.get("m"), bool(nn.ReLU()._buffers))


def test_dicts_that_are_replaced():
    layer = changed()
    layer._parameters = {"weight": layer.weight}
    check([name for name, _ in layer.named_parameters()], hasattr(layer, "bias"), vars(layer)["_parameters"].keys())
    del layer._parameters["weight"]
    check(list(layer.state_dict()), layer._modules.popitem()[0], list(layer.children()))


def test_dicts_of_a_copy():
    layer = changed()
    other = copy.deepcopy(layer)
    other._buffers["m"] = torch.ones(1)
    check(list(vars(other)["_buffers"]), list(vars(layer)["_buffers"]))


HOOKS = ["forward", "forward_pre", "backward", "backward_pre", "state_dict", "load_state_dict_pre"]


@pytest.mark.parametrize("name", HOOKS)
def test_dict_of_hooks(name):
    check(dict(getattr(nn.Linear(2, 1), f"_{name}_hooks")))


def test_hooks_that_are_cleared():
    layer = nn.Linear(2, 1)
    handle = layer.register_forward_hook(lambda module, args, kwargs, out: out * 0 + 1, with_kwargs=True)
    check(handle.id in layer._forward_hooks, list(layer._forward_hooks_with_kwargs.values()))
    check(layer(torch.ones(2)))
    layer._forward_hooks.clear()
    check(layer._forward_hooks, layer._non_persistent_buffers_set)


@pytest.mark.filterwarnings("ignore")
def test_dicts_of_lazy_and_traced_modules():
    lazy = nn.LazyLinear(2)
    lazy(torch.ones(1, 3))
    traced = copy.copy(torch.fx.symbolic_trace(nn.Sequential(nn.Linear(1, 1))))
    check(list(vars(lazy)["_parameters"]), list(vars(traced)["_modules"]))
    check(list(vars(traced)["_modules"]["0"]._parameters))


# ---- states ----------------------------------------------------------------------------------------------------------
def test_metadata_of_a_state():
    norm = nn.Sequential(nn.BatchNorm1d(2))
    state = norm.state_dict()
    check(state._metadata["0"], state._metadata[""])
    state["0.num_batches_tracked"] = torch.tensor([3])
    check(str(norm.load_state_dict(state)), norm[0].num_batches_tracked)


class Versioned(nn.Linear):
    _version = 4

    def _load_from_state_dict(self, state_dict, prefix, local_metadata, *args):
        check("version", prefix, local_metadata.get("version"))
        super()._load_from_state_dict(state_dict, prefix, local_metadata, *args)


def test_the_version_of_a_module():
    net = nn.Sequential(Versioned(1, 1))
    net.load_state_dict(net.state_dict())
    net.load_state_dict(dict(net.state_dict()))


# ---- whole modules in files ------------------------------------------------------------------------------------------
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(3, 3)
        self.second = self.first
        self.rest = nn.ModuleList([nn.Conv1d(3, 3, 1), nn.LSTM(3, 2)])
        self.act = nn.functional.relu
        self.sizes = {"x": 1, (1, 2): [3]}
        self.register_buffer("scale", torch.ones(1), persistent=False)

    def forward(self, x):
        return self.act(self.second(self.first(x))) * self.scale


class Options(types.SimpleNamespace):
    pass


def through_a_file(obj):
    f = io.BytesIO()
    torch.save(obj, f)
    f.seek(0)
    return torch.load(f, weights_only=False)


def test_a_module_through_a_file():
    net, x = Net().eval(), torch.ones(2, 3)
    back = through_a_file({"model": net, "epoch": 3})["model"]
    check(back, back.training, back.first is back.second, back.sizes, list(back.state_dict()))
    check(torch.equal(back(x), net(x)))
    back.train()(x).sum().backward()
    check(back.first.weight.grad is not None, back._non_persistent_buffers_set)


def test_a_module_with_other_objects_through_a_file():
    net = Net()
    net.options, net.size = Options(lr=0.1, size=torch.Size([2, 3])), torch.Size([4])
    back = through_a_file(net)
    check(type(back.options).__name__, back.options.lr, back.options.size, type(back.size))


def test_layers_through_a_file():
    check(through_a_file(nn.Sequential(nn.Linear(2, 1), nn.GELU(), nn.BatchNorm1d(1))))


# ---- names of classes ------------------------------------------------------------------------------------------------
LAYERS = [nn.Linear, nn.Conv2d, nn.LazyConv2d, nn.BatchNorm2d, nn.LSTM, nn.MultiheadAttention, nn.Embedding, nn.Flatten]


@pytest.mark.parametrize("kind", LAYERS, ids=lambda kind: kind.__name__)
def test_module_of_a_layer(kind):
    check(kind.__module__, kind)


def test_modules_of_classes():
    x, optimizer = torch.ones(2, 3), torch.optim.AdamW([torch.ones(1, requires_grad=True)])
    check(type(x).__module__, type(x).__name__, repr(type(x)), issubclass(type(x), torch.Tensor))
    check(nn.Parameter.__module__, type(optimizer).__module__, torch.optim.lr_scheduler.StepLR.__module__)
    check(DataLoader.__module__, torch.Size.__module__)


# ---- data ------------------------------------------------------------------------------------------------------------
@dataclasses.dataclass
class Joined:
    by: str = "+"

    def __call__(self, batch):
        return self.by.join(map(str, batch))


class Numbers(Dataset[int]):
    def __len__(self):
        return 3

    def __getitem__(self, i):
        return i


class Loader(DataLoader[int]):
    pass


def test_data_loaders():
    check(list(Loader(Numbers(), collate_fn=Joined(), batch_size=2)), DataLoader[int], Dataset[int])
    check(next(DataLoader(Numbers())._get_iterator()))


# ---- small things ----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("kind", ["cuda", "cpu"])
def test_autocast_to_float32(kind):
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        with torch.autocast(kind, dtype=torch.float32):
            check(torch.is_autocast_enabled(kind), (torch.ones(1, 1) @ torch.ones(1, 1)).dtype)
    check(len(seen) >= 1)


def test_dropout2d_of_rows():
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        check(nn.Dropout2d()(torch.ones(40, 50)).unique(), nn.Dropout2d().eval()(torch.ones(2)))
    check(len(seen) >= 1)


def test_settings():
    check(torch.utils.deterministic.fill_uninitialized_memory, torch.onnx.is_in_onnx_export())
    with torch.backends.__allow_nonbracketed_mutation():
        torch.backends.cudnn.benchmark = False
    amp = importlib.import_module("torch.cuda.amp.common")
    check(amp.amp_definitely_not_available() == (not torch.cuda.is_available()))


def test_printoptions():
    torch.set_printoptions(profile="long")
    check(str(torch.tensor([1 / 3])))


def test_functions():
    check(nn.FractionalMaxPool3d(2, output_size=1)(torch.ones(1, 4, 4, 4)))
    check(torch.ones(2).double().type(torch.Tensor).dtype, torch.histogram(torch.arange(5.0), density=True).hist.sum())


TRANSFORMED = {
    "HalfNormal": torch.distributions.HalfNormal(2.0),
    "Weibull": torch.distributions.Weibull(2.0, 3.0),
    "Gumbel": torch.distributions.Gumbel(0.0, 1.0),
}


@pytest.mark.parametrize("name", TRANSFORMED)
def test_transforms_of(name):
    made = TRANSFORMED[name]
    base = torch.tensor(0.7)
    for part in reversed(made.transforms):
        base = part.inv(base)
    check(type(made.base_dist).__name__, [type(part).__name__ for part in made.transforms], base)


def test_complex_gradients():
    z = torch.randn(2, dtype=torch.complex64, requires_grad=True)
    (slope,) = torch.autograd.grad((z.abs() ** 2).sum(), [z])
    z.grad = None
    check(torch.allclose(slope, 2 * z), torch.randn(2, dtype=torch.complex64).normal_().shape)


def test_wishes_for_deterministic_algorithms_are_remembered():
    def wishes():
        only_warns = torch.is_deterministic_algorithms_warn_only_enabled()
        return torch.are_deterministic_algorithms_enabled(), only_warns, torch.get_deterministic_debug_mode()

    check(wishes())
    for warn_only in (True, False):
        torch.use_deterministic_algorithms(True, warn_only=warn_only)
        check(wishes())
    for mode in (1, "error", "default"):
        torch.set_deterministic_debug_mode(mode)
        check(wishes())
    torch.use_deterministic_algorithms(False)
    check(wishes())


def test_losses_with_weights_from_numpy():
    logits, target = drawn(4, 3), (drawn(4, 3) > 0).float()
    weights = torch.from_numpy(np.array([0.5, 1.0, 3.0]))
    for pos_weight in (weights, weights.long(), weights.half()):
        check(nn.functional.binary_cross_entropy_with_logits(logits, target, pos_weight=pos_weight))
        check(nn.functional.binary_cross_entropy(logits.sigmoid(), target, weight=pos_weight))
    check(nn.functional.huber_loss(logits, target.double()), nn.functional.soft_margin_loss(logits, target.double()))


# ---- errors ----------------------------------------------------------------------------------------------------------
ERRORS = {
    "matmul": lambda: torch.ones(2, 3) @ torch.ones(2, 3),
    "Linear": lambda: nn.Linear(2, 3)(torch.ones(4, 5)),
    "view": lambda: torch.ones(2, 3).view(7),
    "cat": lambda: torch.cat([torch.ones(2, 3), torch.ones(2, 4)]),
}


@pytest.mark.parametrize("name", ERRORS)
def test_runtime_error_of(name):
    with pytest.raises(RuntimeError):
        ERRORS[name]()


def test_type_error_of_from_numpy():
    with pytest.raises(TypeError):
        torch.from_numpy(torch.ones(1))
