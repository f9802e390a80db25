"""Small parts of PyTorch's inside that packages call."""

import collections

import torch
from torch import nn
from torch.distributions import kl
from torch.distributions.multivariate_normal import _precision_to_scale_tril
from torch.distributions.transforms import _clipped_sigmoid
from torch.fx._symbolic_trace import symbolic_trace
from torch.fx.experimental.symbolic_shapes import free_symbols, guard_or_false, statically_known_true
from torch.nn.modules.lazy import LazyModuleMixin
from torch.nn.parameter import UninitializedParameter
from torch.nn.utils._named_member_accessor import swap_tensor
from torch.testing._comparison import default_tolerances
from torch.utils import cpp_extension
from torch.utils._contextlib import _DecoratorContextManager
from torch.utils._foreach_utils import _group_tensors_by_device_and_dtype
from torch.utils._python_dispatch import is_traceable_wrapper_subclass
from torch.utils._pytree import tree_map_with_path
from torch.utils.data import IterDataPipe, functional_datapipe
from torch.utils.data._utils.pin_memory import pin_memory
from torch.utils.data._utils.worker import _generate_state

a = torch.arange(9.0).reshape(3, 3)
precision = a @ a.T + 3 * torch.eye(3)
print(_precision_to_scale_tril(precision), _clipped_sigmoid(torch.tensor([-1000.0, 0.0, 1000.0])) < 1)

x, y, z = torch.ones(1), torch.ones(2, dtype=torch.float64), torch.zeros(3)
groups = _group_tensors_by_device_and_dtype([[x, y, z], [z, z, x], []], with_indices=True)
for device, dtype in sorted(groups, key=str):
    parts, indices = groups[device, dtype]
    print(device, dtype, [[t.numel() for t in part] for part in parts], indices)

Pair = collections.namedtuple("Pair", "a b")
print(tree_map_with_path(lambda path, v: (len(path), v), {"x": [1, (2, 3)], "y": 4}))
print(pin_memory({"x": [3, "y"]}), _generate_state(3, 1)[:2])
print(
    guard_or_false(x.numel() == 1),
    statically_known_true(False),
    list(free_symbols(x)),
    is_traceable_wrapper_subclass(x),
)
print(default_tolerances(x, y), default_tolerances(torch.float16))
print(symbolic_trace(nn.Sequential(nn.ReLU())).code.strip().splitlines()[-1].strip())
print(cpp_extension.BuildExtension.__name__, cpp_extension.CUDA_HOME)
first = torch._C._jit_set_profiling_mode(False)
print(first in (True, False), torch._C._jit_set_profiling_mode(True))
print(type(torch.max(a, 0)) is torch.return_types.max, type(a.cummax(0)) is torch.return_types.cummax)


class Lazy(LazyModuleMixin, nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = UninitializedParameter()

    def initialize_parameters(self, x):
        with torch.no_grad():
            self.weight.materialize((x.shape[-1],))
            self.weight.fill_(2.0)

    def forward(self, x):
        return x * self.weight


lazy = Lazy()
before = lazy.has_uninitialized_params()
print(before, lazy(torch.ones(3)).tolist(), lazy.has_uninitialized_params(), lazy(torch.ones(3)).sum().item())

layer = nn.Linear(1, 1)
before = swap_tensor(layer, "weight", torch.full((1, 1), 3.0))
now, again = layer.weight, swap_tensor(layer, "weight", before)
print(type(before).__name__, now, type(again).__name__, len(list(layer.parameters())))


class twice(_DecoratorContextManager):
    def __enter__(self):
        print("in")

    def __exit__(self, *args):
        print("out")


@twice()
def work():
    return 3


print(work())


@functional_datapipe("counted")
class Counted(IterDataPipe):
    def __iter__(self):
        yield from range(3)


print(list(Counted()), isinstance(Counted(), torch.utils.data.IterableDataset))


class Mine(torch.distributions.Normal):
    pass


@kl.register_kl(Mine, Mine)
def _mine(p, q):
    return torch.tensor(7.0)


print((Mine, Mine) in kl._KL_REGISTRY, kl.kl_divergence(Mine(0.0, 1.0), Mine(0.0, 1.0)))

lib = torch.library.Library("people", "DEF")
lib.define("halved(Tensor x) -> Tensor")
lib.impl("halved", lambda x: x / 2, "CompositeExplicitAutograd")
print(torch.ops.people.halved(torch.ones(2)), torch.ops.people.halved.default(torch.ones(1)))


@torch.library.custom_op("people::doubled", mutates_args=())
def doubled(x: torch.Tensor) -> torch.Tensor:
    return 2 * x


@torch.library.register_fake("people::doubled")
def _(x):
    return torch.empty_like(x)


print(torch.ops.people.doubled(torch.ones(2)), torch.autograd.profiler.emit_itt is not None)
