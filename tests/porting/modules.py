"""What programs do with modules: compiled ones, hooks of all of them, old weight norms, lazy layers with weights."""

import copy
import warnings

import torch
import torch.nn.utils.spectral_norm
import torch.nn.utils.weight_norm
from torch import nn
from torch.nn.modules import module as of_all
from torch.nn.utils import remove_spectral_norm, remove_weight_norm, spectral_norm, weight_norm

warnings.filterwarnings("ignore")


def show(label, *values):
    print(label, *[v.detach() if isinstance(v, torch.Tensor) else v for v in values])


def fill(module):
    for k, p in enumerate(module.parameters()):
        p.data.copy_((torch.sin(torch.arange(p.numel()) * 0.9 + k + 0.3) * 0.5).reshape(p.shape))
    return module


x = torch.cos(torch.arange(6.0)).reshape(2, 3)


# ---- a compiled module ----
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


net = fill(Net())
compiled = torch.compile(net, mode="reduce-overhead")
show("compiled", compiled(x), compiled.sized(2), compiled.kinds, compiled.layer, compiled.scale, compiled.training)
compiled.size = 7
compiled.eval()
show("written", net.size, compiled.sized(), net.training, compiled.training, net.layer.training)
compiled.more = nn.Linear(1, 1)
show("a module", "more" in dict(net.named_children()), [name for name, _ in compiled.named_children()])
del compiled.more
show("gone", hasattr(net, "more"), hasattr(compiled, "missing"), getattr(compiled, "missing", 5))
show("names", list(compiled.state_dict()), [name for name, _ in compiled.named_modules()], compiled._orig_mod is net)
other = copy.deepcopy(compiled)
show("a copy", other.sized(), other._orig_mod is net, type(other).__name__, repr(other).split("\n")[1])

# ---- hooks of all modules ----
seen = []
net = fill(nn.Sequential(nn.Linear(3, 2), nn.Tanh()))
handles = [
    of_all.register_module_forward_pre_hook(lambda m, args: seen.append(("before", type(m).__name__))),
    of_all.register_module_forward_hook(
        lambda m, args, out: seen.append(("after", type(m).__name__, tuple(out.shape)))
    ),
    of_all.register_module_full_backward_hook(lambda m, gi, go: seen.append(("back", type(m).__name__, len(go)))),
    net[0].register_forward_hook(lambda m, args, out: out * 2),
]
net(x).sum().backward()
print(seen)
show("grad", net[0].weight.grad)
for handle in handles[:3]:
    handle.remove()
seen.clear()
show("without", net(x), seen, len(net[0]._forward_hooks), handles[3].id in net[0]._forward_hooks)
net[0]._forward_hooks.clear()
show("cleared", net(x), len(net[0]._forward_hooks))

# ---- norms of PyTorch's first versions ----
for dim in (0, 1, None):
    layer = weight_norm(fill(nn.Linear(3, 2)), dim=dim)
    show(f"weight_norm {dim}", list(layer.state_dict()), layer.weight_g, layer.weight_v, layer(x))
    layer.weight_g.data.fill_(1)
    layer(x).sum().backward()
    show("ones", layer(x), layer.weight_g.grad, layer.weight_v.grad, [n for n, _ in layer.named_parameters()])
remove_weight_norm(layer)
show("removed", list(layer.state_dict()), layer(x), len(layer._forward_pre_hooks))
lstm = fill(weight_norm(nn.LSTM(3, 2), "weight_hh_l0"))
show("LSTM", lstm(x)[0], sorted(lstm.state_dict()))
layer = spectral_norm(fill(nn.Conv2d(1, 2, 3)), n_power_iterations=30)
image = torch.cos(torch.arange(16.0)).reshape(1, 1, 4, 4)
show("spectral_norm", list(layer.state_dict()), layer(image), layer.weight_orig)
layer(image).sum().backward()
show("grad", layer.weight_orig.grad, layer.weight_u.requires_grad, [n for n, _ in layer.named_buffers()])
show("in evaluation", layer.eval()(image))
remove_spectral_norm(layer)
show("removed", list(layer.state_dict()), layer(image))
for remove in (remove_weight_norm, remove_spectral_norm):
    try:
        remove(nn.Linear(1, 1))
    except ValueError:
        print("ValueError")
print(callable(torch.nn.utils.weight_norm), callable(torch.nn.utils.spectral_norm))

# ---- lazy layers with weights ----
for lazy, layer, value in (
    (nn.LazyLinear(2), nn.Linear(3, 2), x),
    (nn.LazyConv2d(2, 3), nn.Conv2d(1, 2, 3), image),
    (nn.LazyConvTranspose3d(2, 1), nn.ConvTranspose3d(4, 2, 1), image.reshape(1, 4, 2, 2, 1)),
):
    show("before", lazy.has_uninitialized_params(), nn.parameter.is_lazy(lazy.weight))
    lazy.load_state_dict(fill(layer).state_dict())
    show("loaded", lazy.has_uninitialized_params(), lazy.weight, lazy(value), type(lazy).__name__)
    show("shared", lazy.weight is layer.weight, torch.equal(lazy.bias, layer.bias))

# ---- dicts made like those of a module, as packages move values in nested ones ----
copied = type(vars(layer)["_buffers"])({"a": x})
show("like it", isinstance(copied, dict), copied["a"].shape, len(type(layer._modules)()), len(layer._parameters))


# ---- containers whose subclasses fill themselves after the base's __init__() ----
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


show("filled later", list(Named({"a": nn.ReLU()})), len(Listed([torch.ones(1)] * 3)), len(nn.ParameterDict()))
