"""What people's programs do with modules, data and errors, snippet by snippet."""

import copy
import dataclasses
import importlib
import io
import types
import warnings

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


def raised(call):
    try:
        call()
    except Exception as error:
        return type(error).__mro__[-3:-2] if isinstance(error, TypeError) else [isinstance(error, RuntimeError)]
    return "nothing"


# ---- what a module holds ----
class Student(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(2, 2)


def hidden_in_a_list(student, net):
    student.teacher = [net]


def hidden_in_a_function(student, net):
    student.teacher = lambda: net


def hidden_in_the_dict(student, net):
    student.__dict__["teacher"] = net


def hidden_from_assignment(student, net):
    object.__setattr__(student, "teacher", net)


for hide in (hidden_in_a_list, hidden_in_a_function, hidden_in_the_dict, hidden_from_assignment):
    student, frozen = Student(), nn.Linear(2, 2).eval()
    hide(student, frozen)
    student.train()
    print(hide.__name__, frozen.training, list(student.state_dict()), len(list(student.parameters())))

parent, child = Student(), Student()
object.__setattr__(child, "model", parent)
parent.child = child
parent.eval()
print(child.training, list(parent.state_dict()), child.model is parent)


def put_data_in_the_place_of_a_weight():
    nn.Linear(2, 1).weight = torch.ones(1, 2)


print("a tensor as a weight", raised(put_data_in_the_place_of_a_weight))

# ---- its dicts ----
layer = nn.Linear(2, 1)
print([isinstance(getattr(layer, name), dict) for name in ("_modules", "_parameters", "_buffers")])
print([getattr(layer, name).pop("q", 5) for name in ("_modules", "_parameters", "_buffers")])
print(
    list(layer._parameters),
    list(layer.__dict__["_parameters"]),
    list(vars(layer)["_buffers"]),
    "_modules" in vars(layer),
)
layer._buffers["n"] = torch.ones(1)
layer._parameters.update(extra=nn.Parameter(torch.zeros(1)))
layer._modules.setdefault("inner", nn.ReLU())
print(list(layer.state_dict()), layer._modules, dict(vars(layer)["_modules"]), layer._parameters.copy().keys())
print({**vars(layer)["_parameters"]}.keys(), len(layer._parameters), layer._buffers.get("m"), bool(nn.ReLU()._buffers))
layer._parameters = {"weight": layer.weight}
print([name for name, _ in layer.named_parameters()], hasattr(layer, "bias"), vars(layer)["_parameters"].keys())
del layer._parameters["weight"]
print(list(layer.state_dict()), layer._modules.popitem()[0], list(layer.children()))
other = copy.deepcopy(layer)
other._buffers["m"] = torch.ones(1)
print(list(vars(other)["_buffers"]), list(vars(layer)["_buffers"]))

layer = nn.Linear(2, 1)
for name in ("forward", "forward_pre", "backward", "backward_pre", "state_dict", "load_state_dict_pre"):
    print(name, dict(getattr(layer, f"_{name}_hooks")))
handle = layer.register_forward_hook(lambda module, args, kwargs, out: out * 0 + 1, with_kwargs=True)
print(handle.id in layer._forward_hooks, list(layer._forward_hooks_with_kwargs.values()), layer(torch.ones(2)).tolist())
layer._forward_hooks.clear()
print(layer._forward_hooks, layer._non_persistent_buffers_set)

lazy = nn.LazyLinear(2)
lazy(torch.ones(1, 3))
traced = copy.copy(torch.fx.symbolic_trace(nn.Sequential(nn.Linear(1, 1))))
print(list(vars(lazy)["_parameters"]), list(vars(traced)["_modules"]), list(vars(traced)["_modules"]["0"]._parameters))

# ---- states ----
norm = nn.Sequential(nn.BatchNorm1d(2))
state = norm.state_dict()
print(state._metadata["0"], state._metadata[""])
state["0.num_batches_tracked"] = torch.tensor([3])
print(norm.load_state_dict(state), norm[0].num_batches_tracked)


class Versioned(nn.Linear):
    _version = 4

    def _load_from_state_dict(self, state_dict, prefix, local_metadata, *args):
        print("version", prefix, local_metadata.get("version"))
        super()._load_from_state_dict(state_dict, prefix, local_metadata, *args)


net = nn.Sequential(Versioned(1, 1))
net.load_state_dict(net.state_dict())
net.load_state_dict(dict(net.state_dict()))


# ---- whole modules in files ----
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


def through_a_file(obj, **options):
    f = io.BytesIO()
    torch.save(obj, f)
    f.seek(0)
    return torch.load(f, **options)


net = Net().eval()
back = through_a_file({"model": net, "epoch": 3}, weights_only=False)["model"]
x = torch.ones(2, 3)
print(back, back.training, back.first is back.second, back.sizes, list(back.state_dict()), torch.equal(back(x), net(x)))
back.train()(x).sum().backward()
print(back.first.weight.grad is not None, back._non_persistent_buffers_set)


class Options(types.SimpleNamespace):
    pass


net.options, net.size = Options(lr=0.1, size=torch.Size([2, 3])), torch.Size([4])
back = through_a_file(net, weights_only=False)
print(type(back.options).__name__, back.options.lr, back.options.size, type(back.size))
print(through_a_file(nn.Sequential(nn.Linear(2, 1), nn.GELU(), nn.BatchNorm1d(1)), weights_only=False))

# ---- names of classes ----
optimizer = torch.optim.AdamW([torch.ones(1, requires_grad=True)])
print(type(x).__module__, type(x).__name__, repr(type(x)), issubclass(type(x), torch.Tensor))
for kind in (
    nn.Linear,
    nn.Conv2d,
    nn.LazyConv2d,
    nn.BatchNorm2d,
    nn.LSTM,
    nn.MultiheadAttention,
    nn.Embedding,
    nn.Flatten,
):
    print(kind.__module__, kind)
print(nn.Parameter.__module__, type(optimizer).__module__, torch.optim.lr_scheduler.StepLR.__module__)
print(DataLoader.__module__, torch.Size.__module__)

# ---- data ----


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


print(list(Loader(Numbers(), collate_fn=Joined(), batch_size=2)), DataLoader[int], Dataset[int])
print(next(DataLoader(Numbers())._get_iterator()))

# ---- small things ----
with warnings.catch_warnings(record=True) as seen:
    warnings.simplefilter("always")
    for kind in ("cuda", "cpu"):
        with torch.autocast(kind, dtype=torch.float32):
            print(kind, torch.is_autocast_enabled(kind), (torch.ones(1, 1) @ torch.ones(1, 1)).dtype)
    print(nn.Dropout2d()(torch.ones(40, 50)).unique().tolist(), nn.Dropout2d().eval()(torch.ones(2)).tolist())
print(len(seen) >= 3)
print(
    torch.utils.deterministic.fill_uninitialized_memory,
    nn.FractionalMaxPool3d(2, output_size=1)(torch.ones(1, 4, 4, 4)),
)
with torch.backends.__allow_nonbracketed_mutation():
    torch.backends.cudnn.benchmark = False
torch.set_printoptions(profile="long")
print(torch.tensor([1 / 3]))
print(
    x.double().type(torch.Tensor).dtype,
    torch.histogram(torch.arange(5.0), density=True).hist.sum(),
    torch.onnx.is_in_onnx_export(),
)
print(
    importlib.import_module("torch.cuda.amp.common").amp_definitely_not_available() == (not torch.cuda.is_available())
)
for made in (
    torch.distributions.HalfNormal(2.0),
    torch.distributions.Weibull(2.0, 3.0),
    torch.distributions.Gumbel(0.0, 1.0),
):
    value = torch.tensor(0.7)
    base = value
    for part in reversed(made.transforms):
        base = part.inv(base)
    print(type(made.base_dist).__name__, [type(part).__name__ for part in made.transforms], base)

# ---- errors ----
print(raised(lambda: torch.ones(2, 3) @ torch.ones(2, 3)))
print(raised(lambda: nn.Linear(2, 3)(torch.ones(4, 5))))
print(raised(lambda: torch.ones(2, 3).view(7)))
print(raised(lambda: torch.cat([torch.ones(2, 3), torch.ones(2, 4)])))
print(raised(lambda: torch.from_numpy(torch.ones(1))))
z = torch.randn(2, dtype=torch.complex64, requires_grad=True)
(slope,) = torch.autograd.grad((z.abs() ** 2).sum(), [z])
z.grad = None
print(torch.allclose(slope, 2 * z), torch.randn(2, dtype=torch.complex64).normal_().shape)
