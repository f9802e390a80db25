"""What programs do with modules: compiled ones, hooks of all of them, old weight norms, lazy layers with weights."""

import copy
import warnings

import pytest
import torch
import torch.nn.utils.spectral_norm
import torch.nn.utils.weight_norm
from torch import nn
from torch.nn.modules import module as of_all
from torch.nn.utils import remove_spectral_norm, remove_weight_norm, spectral_norm, weight_norm

from checking import check

warnings.filterwarnings("ignore")


def fill(module):
    for k, p in enumerate(module.parameters()):
        p.data.copy_((torch.sin(torch.arange(p.numel()) * 0.9 + k + 0.3) * 0.5).reshape(p.shape))
    return module


x = torch.cos(torch.arange(6.0)).reshape(2, 3)
image = torch.cos(torch.arange(16.0)).reshape(1, 1, 4, 4)


# ---- a compiled module -----------------------------------------------------------------------------------------------
class Net(nn.Module):
    kinds = 3

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(3, 2)
        self.register_buffer("scale", torch.ones(1))
        self.size = 4

    def forward(self, x):
        return self.layer(x) * self.scale

    def sized(self, more=1):
        return self.size + more

    def __repr__(self):
        return self._get_name() + "()"


def compiled_net():
    net = fill(Net())
    return net, torch.compile(net, mode="reduce-overhead", backend="eager")


def test_compiled():
    _, compiled = compiled_net()
    check(compiled(x), compiled.sized(2), compiled.kinds, compiled.layer, compiled.scale, compiled.training)


def test_attributes_of_a_compiled_module():
    net, compiled = compiled_net()
    compiled.size = 7
    compiled.eval()
    check(net.size, compiled.sized(), net.training, compiled.training, net.layer.training)
    check(hasattr(compiled, "missing"), getattr(compiled, "missing", 5))


def test_children_of_a_compiled_module():
    net, compiled = compiled_net()
    compiled.more = nn.Linear(1, 1)
    check("more" in dict(net.named_children()), [name for name, _ in compiled.named_children()])
    del compiled.more
    check(hasattr(net, "more"))
    check(list(compiled.state_dict()), [name for name, _ in compiled.named_modules()], compiled._orig_mod is net)


def test_a_copy_of_a_compiled_module():
    net, compiled = compiled_net()
    compiled.size = 7
    other = copy.deepcopy(compiled)
    check(other.sized(), other._orig_mod is net, type(other).__name__, repr(other).split("\n")[1])


# ---- hooks of all modules --------------------------------------------------------------------------------------------
def test_hooks_of_all_modules():
    seen = []
    net = fill(nn.Sequential(nn.Linear(3, 2), nn.Tanh()))
    handles = [
        of_all.register_module_forward_pre_hook(lambda m, args: seen.append(("before", type(m).__name__))),
        of_all.register_module_forward_hook(
            lambda m, args, out: seen.append(("after", type(m).__name__, tuple(out.shape)))
        ),
        of_all.register_module_full_backward_hook(lambda m, gi, go: seen.append(("back", type(m).__name__, len(go)))),
    ]
    own = net[0].register_forward_hook(lambda m, args, out: out * 2)
    net(x).sum().backward()
    check(seen, net[0].weight.grad)
    for handle in handles:
        handle.remove()
    seen.clear()
    check(net(x), seen, len(net[0]._forward_hooks), own.id in net[0]._forward_hooks)
    net[0]._forward_hooks.clear()
    check(net(x), len(net[0]._forward_hooks))


# ---- norms of PyTorch's first versions -------------------------------------------------------------------------------
@pytest.mark.parametrize("dim", [0, 1, None])
def test_weight_norm(dim):
    layer = weight_norm(fill(nn.Linear(3, 2)), dim=dim)
    check(list(layer.state_dict()), layer.weight_g, layer.weight_v, layer(x))
    layer.weight_g.data.fill_(1)
    layer(x).sum().backward()
    check(layer(x), layer.weight_g.grad, layer.weight_v.grad, [n for n, _ in layer.named_parameters()])
    remove_weight_norm(layer)
    check(list(layer.state_dict()), layer(x), len(layer._forward_pre_hooks))


def test_weight_norm_of_an_lstm():
    lstm = fill(weight_norm(nn.LSTM(3, 2), "weight_hh_l0"))
    check(lstm(x)[0], sorted(lstm.state_dict()))


def test_spectral_norm():
    layer = spectral_norm(fill(nn.Conv2d(1, 2, 3)), n_power_iterations=30)
    check(list(layer.state_dict()), layer(image), layer.weight_orig)
    layer(image).sum().backward()
    check(layer.weight_orig.grad, layer.weight_u.requires_grad, [n for n, _ in layer.named_buffers()])
    check(layer.eval()(image))
    remove_spectral_norm(layer)
    check(list(layer.state_dict()), layer(image))


@pytest.mark.parametrize("remove", [remove_weight_norm, remove_spectral_norm], ids=["weight_norm", "spectral_norm"])
def test_a_norm_that_is_not_there(remove):
    with pytest.raises(ValueError):
        remove(nn.Linear(1, 1))


def test_a_module_of_a_functions_name():
    check(callable(torch.nn.utils.weight_norm), callable(torch.nn.utils.spectral_norm))


# ---- lazy layers with weights ----------------------------------------------------------------------------------------
LAZY = {
    "LazyLinear": (lambda: nn.LazyLinear(2), lambda: nn.Linear(3, 2), x),
    "LazyConv2d": (lambda: nn.LazyConv2d(2, 3), lambda: nn.Conv2d(1, 2, 3), image),
    "LazyConvTranspose3d": (
        lambda: nn.LazyConvTranspose3d(2, 1),
        lambda: nn.ConvTranspose3d(4, 2, 1),
        image.reshape(1, 4, 2, 2, 1),
    ),
}


@pytest.mark.parametrize("name", LAZY)
def test_a_state_for_a_lazy_layer(name):
    lazy, layer, value = LAZY[name][0](), LAZY[name][1](), LAZY[name][2]
    check(lazy.has_uninitialized_params(), nn.parameter.is_lazy(lazy.weight))
    lazy.load_state_dict(fill(layer).state_dict())
    check(lazy.has_uninitialized_params(), lazy.weight, lazy(value), type(lazy).__name__)
    check(lazy.weight is layer.weight, torch.equal(lazy.bias, layer.bias))


# ---- dicts made like those of a module, and containers that fill themselves after the base's __init__() --------------
def test_a_dict_like_that_of_a_module():
    layer = nn.Linear(3, 2)
    copied = type(vars(layer)["_buffers"])({"a": x})
    check(isinstance(copied, dict), copied["a"].shape, len(type(layer._modules)()), len(layer._parameters))


class Named(nn.ModuleDict):
    def __init__(self, modules):
        super().__init__()
        self.allowed = True
        self.update(modules)

    def update(self, modules):
        assert self.allowed
        super().update(modules)


class Listed(nn.ParameterList):
    def __init__(self, values):
        super().__init__()
        self.kept = 2
        self.extend(values)

    def extend(self, values):
        return super().extend(list(values)[: self.kept])


def test_containers_that_fill_themselves_later():
    check(list(Named({"a": nn.ReLU()})), len(Listed([torch.ones(1)] * 3)), len(nn.ParameterDict()))
