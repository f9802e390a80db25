"""Small parts of PyTorch's inside that packages call."""

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

from checking import check

x, y, z = torch.ones(1), torch.ones(2, dtype=torch.float64), torch.zeros(3)


def test_helpers_of_distributions():
    a = torch.arange(9.0).reshape(3, 3)
    check(_precision_to_scale_tril(a @ a.T + 3 * torch.eye(3)))
    check(_clipped_sigmoid(torch.tensor([-1000.0, 0.0, 1000.0])) < 1)


def test_group_tensors_by_device_and_dtype():
    groups = _group_tensors_by_device_and_dtype([[x, y, z], [z, z, x], []], with_indices=True)
    for device, dtype in sorted(groups, key=str):
        parts, indices = groups[device, dtype]
        check(device, dtype, [[t.numel() for t in part] for part in parts], indices)


def test_tree_map_with_path():
    check(tree_map_with_path(lambda path, v: (len(path), v), {"x": [1, (2, 3)], "y": 4}))


def test_helpers_of_data_loaders():
    check(pin_memory({"x": [3, "y"]}), _generate_state(3, 1)[:2])


def test_symbolic_shapes():
    check(guard_or_false(x.numel() == 1), statically_known_true(False), list(free_symbols(x)))
    check(is_traceable_wrapper_subclass(x))


def test_default_tolerances():
    check(default_tolerances(x, y), default_tolerances(torch.float16))


def test_code_of_a_traced_program():
    check(symbolic_trace(nn.Sequential(nn.ReLU())).code.strip().splitlines()[-1].strip())


def test_cpp_extension():
    check(cpp_extension.BuildExtension.__name__, cpp_extension.CUDA_HOME)


def test_profiling_mode():
    first = torch._C._jit_set_profiling_mode(False)
    check(first in (True, False), torch._C._jit_set_profiling_mode(True))


def test_return_types():
    a = torch.arange(9.0).reshape(3, 3)
    check(type(torch.max(a, 0)) is torch.return_types.max, type(a.cummax(0)) is torch.return_types.cummax)


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


def test_a_lazy_module_of_ones_own():
    lazy = Lazy()
    check(lazy.has_uninitialized_params(), lazy(torch.ones(3)), lazy.has_uninitialized_params(), lazy(torch.ones(3)))


def test_swap_tensor():
    layer = nn.Linear(1, 1)
    before = swap_tensor(layer, "weight", torch.full((1, 1), 3.0))
    now, again = layer.weight, swap_tensor(layer, "weight", before)
    check(type(before).__name__, now, type(again).__name__, len(list(layer.parameters())))


def test_a_context_as_a_decorator():
    class Entered(_DecoratorContextManager):
        def __enter__(self):
            check("in")

        def __exit__(self, *args):
            check("out")

    @Entered()
    def work():
        return 3

    check(work())


def test_functional_datapipe():
    @functional_datapipe("counted")
    class Counted(IterDataPipe):
        def __iter__(self):
            yield from range(3)

    check(list(Counted()), isinstance(Counted(), torch.utils.data.IterableDataset))


def test_register_kl():
    class Mine(torch.distributions.Normal):
        pass

    @kl.register_kl(Mine, Mine)
    def _mine(p, q):
        return torch.tensor(7.0)

    check((Mine, Mine) in kl._KL_REGISTRY, kl.kl_divergence(Mine(0.0, 1.0), Mine(0.0, 1.0)))


def test_library():
    lib = torch.library.Library("people", "DEF")
    lib.define("halved(Tensor x) -> Tensor")
    lib.impl("halved", lambda x: x / 2, "CompositeExplicitAutograd")
    check(torch.ops.people.halved(torch.ones(2)), torch.ops.people.halved.default(torch.ones(1)))


def test_register_fake():
    @torch.library.custom_op("people::doubled", mutates_args=())
    def doubled(x: torch.Tensor) -> torch.Tensor:
        return 2 * x

    @torch.library.register_fake("people::doubled")
    def _(x):
        return torch.empty_like(x)

    check(torch.ops.people.doubled(torch.ones(2)), torch.autograd.profiler.emit_itt is not None)
