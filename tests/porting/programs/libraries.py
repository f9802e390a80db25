"""Names of PyTorch that libraries around it use, and what they give."""

import collections
import copy
import dataclasses
import enum
import io
import threading

import numpy as np
import pytest
import torch
import torch.distributions as D
import torch.distributions.transforms as T
from torch import nn
from torch._higher_order_ops import scan, while_loop
from torch._higher_order_ops.associative_scan import associative_scan
from torch.distributions.utils import broadcast_all, lazy_property, probs_to_logits, tril_matrix_to_vec
from torch.nn.utils.fusion import fuse_conv_bn_eval, fuse_linear_bn_eval
from torch.utils import _pytree as pytree

from checking import check, drawn, draws

# ---- distributions ---------------------------------------------------------------------------------------------------
ELEMENTS = T.IndependentTransform(T.ExpTransform(), 2)
TRANSFORMS = {
    "independent": (T.IndependentTransform(T.ExpTransform(), 1), (4, 3)),
    "reshape": (T.ReshapeTransform((6,), (2, 3)), (4, 6)),
    "cat": (T.CatTransform([T.ExpTransform(), T.AffineTransform(1.0, 2.0)], 1, [2, 1]), (4, 3)),
    "stack": (T.StackTransform([T.ExpTransform(), T.TanhTransform()], 1), (4, 2)),
    "cdf": (T.CumulativeDistributionTransform(D.Normal(0.0, 1.0)), (4,)),
    "correlation": (T.CorrCholeskyTransform(), (4, 6)),
    "correlation of two": (T.CorrCholeskyTransform(), (1,)),
    "compose": (T.ComposeTransform([T.AffineTransform(0.0, 2.0), T.StickBreakingTransform()]), (4, 3)),
    "compose shapes": (T.ComposeTransform([T.ReshapeTransform((6,), (2, 3)), ELEMENTS]), (4, 6)),
    "affine": (T.AffineTransform(0.0, 2.0, event_dim=1), (4, 3)),
    "cholesky": (T.LowerCholeskyTransform(), (2, 3, 3)),
}


@pytest.mark.parametrize("name", TRANSFORMS)
def test_transform(name):
    t, shape = TRANSFORMS[name]
    x = drawn(*shape).double() * 0.7
    y = t(x)
    check(y, t.forward_shape(x.shape) == y.shape, t.inverse_shape(y.shape) == x.shape, t.bijective)
    check(t.domain.event_dim, t.codomain.event_dim, torch.allclose(t.inv(y), x, atol=1e-5))
    if name != "cholesky":
        check(t.log_abs_det_jacobian(x, y), t.inv.log_abs_det_jacobian(y, x))


def test_positive_definite_transform():
    definite = T.PositiveDefiniteTransform()
    check(definite(definite.inv(definite(drawn(3, 3).double()))))


normal = D.Normal(torch.zeros(4, 6), 1.0)
TRANSFORMED = {
    "stick breaking": (normal, [T.StickBreakingTransform()]),
    "reshape": (D.Independent(normal, 1), [T.ReshapeTransform((6,), (2, 3))]),
    "reshape, exp": (normal, [T.ReshapeTransform((6,), (2, 3)), T.ExpTransform()]),
    "correlation": (normal, [T.CorrCholeskyTransform()]),
    "affine, sigmoid": (normal, [T.AffineTransform(0.0, 2.0, event_dim=1), T.SigmoidTransform()]),
}


@pytest.mark.parametrize("name", TRANSFORMED)
def test_shapes_of_a_transformed_distribution(name):
    d = D.TransformedDistribution(*TRANSFORMED[name])
    check(d.batch_shape, d.event_shape, d.sample((5,)).shape, d.log_prob(d.sample()).shape, d.batch_shape.numel())


class Doubled(T.Transform):
    domain, codomain, bijective, sign = D.constraints.real, D.constraints.positive, True, +1

    def _call(self, x):
        return x.exp() * 2

    def _inverse(self, y):
        return (y / 2).log()

    def log_abs_det_jacobian(self, x, y):
        return x + np.log(2)


def test_a_transform_of_ones_own():
    check(D.TransformedDistribution(D.Normal(0.0, 1.0), Doubled()).log_prob(torch.tensor(1.5)))


def test_helpers_of_distributions():
    check(probs_to_logits(torch.tensor([0.2, 0.8]), is_binary=True))
    check(tril_matrix_to_vec(torch.arange(9.0).reshape(3, 3), -1))
    check([tuple(t.shape) for t in broadcast_all(1.0, torch.zeros(2, 3), torch.ones(3))])


class Once:
    @lazy_property
    def value(self):
        check("computed")
        return 3


def test_lazy_property():
    once = Once()
    check(once.value, once.value)


# ---- nests, scans, control flow --------------------------------------------------------------------------------------
Pair = collections.namedtuple("Pair", "a b")


def nest():
    return {"x": [1, (2, None)], "y": Pair(3, collections.OrderedDict(z=4)), "d": collections.deque([5, 6])}


def test_tree_flatten_and_unflatten():
    leaves, spec = pytree.tree_flatten(nest())
    back = str(pytree.tree_unflatten([i * 10 if i else i for i in leaves], spec))
    back = back.replace("Dict({'z': 40})", "Dict([('z', 40)])")  # as Pythons before 3.12 print it
    check(leaves, spec.num_leaves, back, spec == pytree.tree_flatten(nest())[1])


def test_tree_map():
    check(pytree.tree_map(lambda a, b: a + b, {"a": (1, 2)}, {"a": (10, 20)}), pytree.tree_leaves([1, (2,)]))
    check(pytree.tree_leaves([(1, 2), 3], is_leaf=lambda x: isinstance(x, tuple)), pytree.tree_all(bool, [1, 0]))
    check(pytree.tree_map_only(int, lambda x: -x, [1, 2.0]))


class Box:
    def __init__(self, inside):
        self.inside = inside


def test_register_pytree_node():
    pytree.register_pytree_node(Box, lambda b: ([b.inside], None), lambda parts, _: Box(*parts))
    check(pytree.tree_map(lambda x: x + 1, Box([1, 2])).inside)


@pytest.mark.parametrize("reverse", [False, True], ids=["forward", "reverse"])
@pytest.mark.parametrize("n", [1, 2, 3, 5, 8, 13])
def test_associative_scan(n, reverse):
    def combine(a, b):
        return a[0] * b[0], a[1] * b[0] + b[1]

    xs = drawn(2, n), drawn(2, n)
    check(list(associative_scan(combine, xs, 1, reverse=reverse, combine_mode="generic")))


def test_while_loop():
    check(while_loop(lambda i, x: i < 3, lambda i, x: (i + 1, x * 2), (torch.tensor(0), torch.ones(2))))


def test_scan():
    check(scan(lambda c, x: (c + x, c * x), torch.zeros(2), torch.arange(6.0).reshape(3, 2)))


# ---- modules ---------------------------------------------------------------------------------------------------------
def test_none_in_a_module_list():
    some = nn.ModuleList([nn.Linear(2, 2), None, nn.ReLU()])
    some.append(None)
    some.insert(1, nn.Tanh())
    check(len(some), [type(m).__name__ for m in some], [n for n, _ in some.named_children()], list(some.state_dict()))
    del some[2]
    some[1] = None
    check([type(m).__name__ for m in some])


class Counting(nn.Module):
    def __init__(self):
        super().__init__()
        self.kept = nn.Buffer(torch.ones(2))
        self.forgotten = nn.Buffer(torch.zeros(1), persistent=False)
        self.weight = nn.Parameter(torch.ones(2))


def test_buffers():
    counting = Counting()
    check(list(counting.state_dict()), [n for n, _ in counting.named_buffers()], counting.double().kept.dtype)
    counting.kept = torch.zeros(2)
    check(list(copy.deepcopy(counting).state_dict()), len(list(counting.parameters())))
    check(counting._non_persistent_buffers_set)


class Counted(nn.Module):
    def __init__(self):
        super().__init__()
        self.calls = nn.Buffer(torch.zeros(1))

    def forward(self, x):
        self.calls = self.calls + 1
        return x


def test_a_buffer_that_forward_writes():
    counted = Counted()
    counted(torch.ones(1))
    check(dict(counted.state_dict()), type(counted.calls) is nn.Buffer)


def test_hooks_of_states():
    calls = []
    nested = nn.Sequential(nn.Linear(1, 1, bias=False), nn.Sequential(nn.Linear(1, 1, bias=False)))

    def rename(module, state, prefix, *rest):
        calls.append(prefix)
        state[f"{prefix}weight"] = state.pop(f"{prefix}old")

    nested[1][0].register_load_state_dict_pre_hook(rename)
    nested.register_load_state_dict_post_hook(lambda module, keys: keys.missing_keys.remove("0.weight"))
    nested[1].register_state_dict_post_hook(lambda module, state, prefix, rest: state.update({f"{prefix}more": 1}))
    check(str(nested.load_state_dict({"1.0.old": torch.full((1, 1), 3.0)})), calls, nested[1][0].weight)
    check(list(nested.state_dict()))


def test_fused_norms():
    conv, norm = nn.Conv2d(3, 4, 3).eval(), nn.BatchNorm2d(4).eval()
    line, flat = nn.Linear(3, 4, bias=False).eval(), nn.BatchNorm1d(4).eval()
    norm.running_mean.copy_(drawn(4))
    flat.running_var.copy_(drawn(4).exp())
    x = drawn(2, 3, 5, 5)
    assert torch.allclose(fuse_conv_bn_eval(conv, norm)(x), norm(conv(x)), atol=1e-5)
    assert torch.allclose(fuse_linear_bn_eval(line, flat)(x[:, :, 0, 0]), flat(line(x[:, :, 0, 0])), atol=1e-5)


def test_items_of_the_dicts_of_a_module():
    line = nn.Linear(2, 2)
    line._parameters["weight"] = nn.Parameter(torch.zeros(2, 2))
    del line._parameters["bias"]
    check(list(line.state_dict()), line.weight)


def test_methods_of_the_dicts_of_a_module():
    line = nn.Linear(2, 2)
    line._parameters.update(weight=nn.Parameter(torch.full((2, 2), 5.0)))
    check(line.weight, line._parameters.pop("bias").shape, sorted(line._parameters), len(line._parameters))
    line._parameters.clear()
    check(list(line.state_dict()))


# ---- functions -------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("kind", [torch.int64, torch.float32, torch.bool], ids=lambda kind: str(kind)[6:])
@pytest.mark.parametrize("shape", [(6, 2), (7, 3), (5,), (4, 2, 3), (1, 4), (20, 5)], ids=str)
def test_unique(shape, kind):
    x = torch.tensor(draws().integers(0, 2, shape)).to(kind)
    for dim in range(len(shape)):
        check(torch.unique(x, dim=dim, return_inverse=True, return_counts=True))
        check(x.unique_consecutive(return_inverse=True, return_counts=True, dim=dim))


FOREACH = {
    "add": lambda a, b: torch._foreach_add(a, b, alpha=2),
    "mul": lambda a, b: torch._foreach_mul(a, 3.0),
    "maximum": torch._foreach_maximum,
    "norm": lambda a, b: torch._foreach_norm(a),
    "addcmul": lambda a, b: torch._foreach_addcmul(a, b, b, value=0.5),
    "lerp": lambda a, b: torch._foreach_lerp(a, b, 0.25),
    "neg": lambda a, b: torch._foreach_neg(a),
}


@pytest.mark.parametrize("name", FOREACH)
def test_foreach(name):
    check(list(FOREACH[name]([drawn(2), drawn(3).abs()], [drawn(2), drawn(3)])))


def test_foreach_in_place():
    a, b = [drawn(2), drawn(3).abs()], [drawn(2), drawn(3)]
    torch._foreach_mul_(a, 2.0)
    torch._foreach_add_(a, b)
    torch._foreach_clamp_min_(a, 0.1)
    check(a)


def test_info_of_factors():
    symmetric = torch.eye(3).repeat(2, 1, 1)
    symmetric[1, 0, 0] = -1
    check(torch.linalg.cholesky_ex(symmetric).info.bool(), torch.linalg.inv_ex(symmetric * 2).info)


def test_svd_lowrank():
    matrix = drawn(6, 3) @ drawn(3, 5)
    left, values, right = torch.svd_lowrank(matrix, 3)
    assert torch.allclose(left @ values.diag() @ right.T, matrix, atol=1e-4)
    check(left.shape, right.shape)


def test_types_and_devices():
    check(torch.finfo(torch.float8_e4m3fn).max, torch.iinfo(torch.uint16).max, torch.uint16, torch.uint32.itemsize)
    check(torch.device("meta").type, torch.device("meta") == torch.device("cpu"), repr(torch.device("cuda", 3)))
    check(isinstance(torch.device("mps"), torch.device), torch.sym_max(1, 2), torch.get_device_module("cpu").__name__)


def test_custom_op():
    @torch.library.custom_op("mine::scaled", mutates_args=())
    def scaled(x: torch.Tensor, by: float) -> torch.Tensor:
        return x * by

    @scaled.register_fake
    def _(x, by):
        return torch.empty_like(x)

    def keep(ctx, inputs, output):
        ctx.by = inputs[1]

    scaled.register_autograd(lambda ctx, g: (g * ctx.by * 10, None), setup_context=keep)
    x = torch.ones(2, requires_grad=True)
    scaled(x, 3.0).sum().backward()
    check(x.grad, torch.ops.mine.scaled(x, 2.0).detach())


def test_custom_op_for_a_device():
    @torch.library.custom_op("mine::where", mutates_args=())
    def where(x: torch.Tensor) -> torch.Tensor:
        return x + 1

    @where.register_kernel("cpu")
    def _(x):
        return x + 2

    @where.register_kernel("cuda")
    def _(x):
        return x + 3

    check(where(torch.zeros(1)))


class Kind(enum.Enum):
    A = 1


@dataclasses.dataclass
class Settings:
    size: int = 3
    kind: Kind = Kind.A


def test_an_object_that_is_not_allowed():
    file = io.BytesIO()
    torch.save({"settings": Settings(), "x": torch.arange(3.0)}, file)
    file.seek(0)
    with pytest.raises(Exception):  # noqa: B017
        torch.load(file, weights_only=True)


def test_storages():
    x = torch.ones(2)
    check(x.untyped_storage().data_ptr() == x[:1].untyped_storage().data_ptr(), x.untyped_storage().nbytes())


def test_check():
    with pytest.raises(RuntimeError, match="three"):
        torch._check(False, lambda: "three")


# ---- what else libraries ask for -------------------------------------------------------------------------------------
class Reduced(torch.nn.modules.loss._Loss):
    def forward(self, a, b):
        return (a - b).abs().mean() if self.reduction == "mean" else (a - b).abs().sum()


def test_a_loss_of_ones_own():
    check(Reduced()(torch.ones(2), torch.zeros(2)), Reduced(reduction="sum")(torch.ones(2), torch.zeros(2)))


def test_aten():
    check(torch.ops.aten.add(torch.ones(1), 2), torch.ops.aten.relu.default(torch.tensor([-1.0, 2.0])))


def test_names():
    check(isinstance(nn.Linear(1, 1), torch.jit.ScriptModule), torch.nn.modules.module._EXTRA_STATE_KEY_SUFFIX)
    check(torch.sparse_coo, torch.strided, torch.onnx.is_in_onnx_export(), torch.nn.utils.fusion.__name__)
    check(torch.serialization.DEFAULT_PROTOCOL)


def test_layers_without_values():
    with torch.device("meta"):
        empty = nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3))
        check(torch.tensor([]).device, empty[0].weight.device.type, torch.zeros(2, device="meta").device.type)
        check(empty[0].weight.to("meta").device.type, torch.get_default_device().type)
    state = {name: torch.ones(value.shape, dtype=value.dtype) for name, value in empty.state_dict().items()}
    empty.load_state_dict(state, assign=True)
    check(empty.eval()(torch.ones(1, 2)).shape, empty[0].weight.device, torch.tensor([]).device)


def test_a_device_is_that_of_a_thread():
    seen = []
    with torch.device("meta"):
        thread = threading.Thread(target=lambda: seen.append(torch.zeros(1).device.type))
        thread.start()
        thread.join()
    check(seen)


def test_numbers_as_tensors():
    check(torch.div(7, 2, rounding_mode="floor"), torch.add(1, 2), torch.mul(2.0, 3), torch.eye(2).to_dense())


def test_parse_to():
    check(torch._C._nn._parse_to("cpu", torch.float64)[:3], torch._C._nn._parse_to(torch.ones(1, dtype=torch.int8))[1])


# ---- as before PyTorch 1.5: factors before tensors -------------------------------------------------------------------
a, b = torch.tensor([1.0, 2.0]), torch.tensor([3.0, 4.0])
FACTORS = {
    "add_": lambda: torch.ones(2).add_(2, a),
    "add": lambda: torch.add(torch.ones(2), 3, a),
    "sub_": lambda: torch.ones(2).sub_(2, a),
    "addcmul_": lambda: torch.ones(2).addcmul_(0.5, a, b),
    "addcdiv_": lambda: torch.ones(2).addcdiv_(0.5, a, b),
    "addcmul": lambda: torch.addcmul(torch.ones(2), 0.5, a, b),
    "addcdiv": lambda: torch.addcdiv(torch.ones(2), 2, a, b),
    "value": lambda: torch.ones(2).addcmul(a, b, value=2),
}


@pytest.mark.parametrize("name", FACTORS)
@pytest.mark.filterwarnings("ignore")
def test_factor_before_tensors(name):
    check(FACTORS[name]())


class Slow(torch.optim.Optimizer):
    def __init__(self, inner):
        self.param_groups, self.state = inner.param_groups, collections.defaultdict(dict)


def test_an_optimiser_around_another():
    slow = Slow(torch.optim.SGD([nn.Parameter(torch.ones(1))], lr=0.1))
    slow.state[slow.param_groups[0]["params"][0]]["step"] = 1
    check(len(slow.state))
