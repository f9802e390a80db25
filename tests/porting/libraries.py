"""Names of PyTorch that libraries around it use, and what they give."""

import collections
import copy
import dataclasses
import enum
import io
import itertools
import threading

import numpy as np
import torch
import torch.distributions as D
import torch.distributions.transforms as T
from torch import nn
from torch._higher_order_ops import scan, while_loop
from torch._higher_order_ops.associative_scan import associative_scan
from torch.distributions.utils import broadcast_all, lazy_property, probs_to_logits, tril_matrix_to_vec
from torch.nn.attention.flex_attention import (
    BlockMask,
    and_masks,
    create_block_mask,
    create_mask,
    flex_attention,
    or_masks,
)
from torch.nn.utils.fusion import fuse_conv_bn_eval, fuse_linear_bn_eval
from torch.utils import _pytree as pytree

rng = np.random.default_rng(0)


def random(*s):
    return torch.tensor(rng.standard_normal(s).astype(np.float32))


def show(name, v):
    v = v.detach().double()
    print(name, tuple(v.shape), [float(f"{x:.4g}") + 0.0 for x in v.flatten()[:6].tolist()], f"{v.abs().sum():.5g}")


# ---- attention ----
q, k, v = (random(2, 4, 200, 16) for _ in range(3))
few = [random(2, 2, 200, 16) for _ in range(2)]
documents = torch.tensor(np.repeat(np.arange(4), 50))
slopes = torch.tensor([0.5, 0.25, 0.125, 0.0625])


def causal(b, h, q_idx, kv_idx):
    return q_idx >= kv_idx


def alibi(score, b, h, q_idx, kv_idx):
    return score + slopes[h] * (kv_idx - q_idx)


near = or_masks(lambda b, h, q, kv: q - kv <= 64, lambda b, h, q, kv: documents[q] == documents[kv])
mask = create_block_mask(causal, None, None, 200, 200, device="cpu")
print(mask.shape, mask.BLOCK_SIZE, mask.kv_num_blocks.tolist(), mask.kv_indices.tolist(), mask.to_dense().tolist())
print(mask.full_kv_num_blocks.tolist(), round(mask.sparsity(), 2))
small = create_block_mask(and_masks(causal, near), 2, 4, 200, 200, device="cpu", BLOCK_SIZE=(64, 32))
print(small.kv_num_blocks[0, 0].tolist(), small.full_kv_num_blocks[0, 0].tolist())
show("causal", flex_attention(q, k, v, block_mask=mask))
show("near", flex_attention(q, k, v, block_mask=small))
out, lse = flex_attention(q, k, v, score_mod=alibi, return_lse=True)
show("alibi", out)
show("lse", lse)
show("cap", flex_attention(q, k, v, score_mod=lambda s, *i: 20 * torch.tanh(s / 20), block_mask=mask, scale=0.3))
show("groups", flex_attention(q, *few, block_mask=mask, enable_gqa=True))
show("groups", flex_attention(q, *few, score_mod=alibi, enable_gqa=True))
late = create_block_mask(lambda b, h, q, kv: (q >= kv) & (q >= 10), None, None, 200, 200, device="cpu")
show("late", flex_attention(q, k, v, block_mask=late))
show("mask", create_mask(causal, 1, 1, 8, 8, device="cpu"))
count, which = torch.tensor([[[1, 2]]], dtype=torch.int32), torch.tensor([[[[0, 1], [1, 0]]]], dtype=torch.int32)
listed = BlockMask.from_kv_blocks(count, which, BLOCK_SIZE=100, mask_mod=causal)
print(listed.shape, listed.to_dense().tolist(), listed.q_num_blocks.tolist(), listed.q_indices.tolist())

# ---- distributions ----
CASES = {
    "independent": (T.IndependentTransform(T.ExpTransform(), 1), (4, 3)),
    "reshape": (T.ReshapeTransform((6,), (2, 3)), (4, 6)),
    "cat": (T.CatTransform([T.ExpTransform(), T.AffineTransform(1.0, 2.0)], 1, [2, 1]), (4, 3)),
    "stack": (T.StackTransform([T.ExpTransform(), T.TanhTransform()], 1), (4, 2)),
    "cdf": (T.CumulativeDistributionTransform(D.Normal(0.0, 1.0)), (4,)),
    "correlation": (T.CorrCholeskyTransform(), (4, 6)),
    "correlation1": (T.CorrCholeskyTransform(), (1,)),
    "two": (T.ComposeTransform([T.AffineTransform(0.0, 2.0), T.StickBreakingTransform()]), (4, 3)),
    "shapes": (
        T.ComposeTransform([T.ReshapeTransform((6,), (2, 3)), T.IndependentTransform(T.ExpTransform(), 2)]),
        (4, 6),
    ),
    "affine": (T.AffineTransform(0.0, 2.0, event_dim=1), (4, 3)),
    "cholesky": (T.LowerCholeskyTransform(), (2, 3, 3)),
}
for name, (t, shape) in CASES.items():
    x = random(*shape).double() * 0.7
    y = t(x)
    show(name, y)
    print(t.forward_shape(x.shape) == y.shape, t.inverse_shape(y.shape) == x.shape, t.bijective)
    print(t.domain.event_dim, t.codomain.event_dim, torch.allclose(t.inv(y), x, atol=1e-5))
    if name != "cholesky":
        show("change", t.log_abs_det_jacobian(x, y))
        show("back", t.inv.log_abs_det_jacobian(y, x))
definite = T.PositiveDefiniteTransform()
show("definite", definite(definite.inv(definite(random(3, 3).double()))))
normal = D.Normal(torch.zeros(4, 6), 1.0)
for d in (
    D.TransformedDistribution(normal, [T.StickBreakingTransform()]),
    D.TransformedDistribution(D.Independent(normal, 1), [T.ReshapeTransform((6,), (2, 3))]),
    D.TransformedDistribution(normal, [T.ReshapeTransform((6,), (2, 3)), T.ExpTransform()]),
    D.TransformedDistribution(normal, [T.CorrCholeskyTransform()]),
    D.TransformedDistribution(normal, [T.AffineTransform(0.0, 2.0, event_dim=1), T.SigmoidTransform()]),
):
    print(d.batch_shape, d.event_shape, d.sample((5,)).shape, d.log_prob(d.sample()).shape, d.batch_shape.numel())


class Doubled(T.Transform):
    domain, codomain, bijective, sign = D.constraints.real, D.constraints.positive, True, +1

    def _call(self, x):
        return x.exp() * 2

    def _inverse(self, y):
        return (y / 2).log()

    def log_abs_det_jacobian(self, x, y):
        return x + np.log(2)


show("own", D.TransformedDistribution(D.Normal(0.0, 1.0), Doubled()).log_prob(torch.tensor(1.5)))
show("logits", probs_to_logits(torch.tensor([0.2, 0.8]), is_binary=True))
show("below", tril_matrix_to_vec(torch.arange(9.0).reshape(3, 3), -1))
print([tuple(t.shape) for t in broadcast_all(1.0, torch.zeros(2, 3), torch.ones(3))])


class Once:
    @lazy_property
    def value(self):
        print("computed")
        return 3


once = Once()
print(once.value, once.value)

# ---- nests, scans, control flow ----
Pair = collections.namedtuple("Pair", "a b")
tree = {"x": [1, (2, None)], "y": Pair(3, collections.OrderedDict(z=4)), "d": collections.deque([5, 6])}
leaves, spec = pytree.tree_flatten(tree)
back = str(pytree.tree_unflatten([i * 10 if i else i for i in leaves], spec))
print(leaves, spec.num_leaves, back.replace("Dict({'z': 40})", "Dict([('z', 40)])"))  # as Pythons before 3.12 print it
print(pytree.tree_map(lambda a, b: a + b, {"a": (1, 2)}, {"a": (10, 20)}), pytree.tree_leaves([1, (2,)]))
print(pytree.tree_leaves([(1, 2), 3], is_leaf=lambda x: isinstance(x, tuple)), pytree.tree_all(bool, [1, 0]))
print(pytree.tree_map_only(int, lambda x: -x, [1, 2.0]), spec == pytree.tree_flatten(tree)[1])


class Box:
    def __init__(self, inside):
        self.inside = inside


pytree.register_pytree_node(Box, lambda b: ([b.inside], None), lambda parts, _: Box(*parts))
print(pytree.tree_map(lambda x: x + 1, Box([1, 2])).inside)
for n, reverse in itertools.product((1, 2, 3, 5, 8, 13), (False, True)):
    xs = (random(2, n), random(2, n))
    made = associative_scan(
        lambda a, b: (a[0] * b[0], a[1] * b[0] + b[1]), xs, 1, reverse=reverse, combine_mode="generic"
    )
    for part in made:
        show(f"scan {n}", part)
print(while_loop(lambda i, x: i < 3, lambda i, x: (i + 1, x * 2), (torch.tensor(0), torch.ones(2))))
carried, made = scan(lambda c, x: (c + x, c * x), torch.zeros(2), torch.arange(6.0).reshape(3, 2))
show("carried", carried)
show("made", made)

# ---- modules ----
some = nn.ModuleList([nn.Linear(2, 2), None, nn.ReLU()])
some.append(None)
some.insert(1, nn.Tanh())
print(len(some), [type(m).__name__ for m in some], [n for n, _ in some.named_children()], list(some.state_dict()))
del some[2]
some[1] = None
print([type(m).__name__ for m in some])


class Counting(nn.Module):
    def __init__(self):
        super().__init__()
        self.kept = nn.Buffer(torch.ones(2))
        self.forgotten = nn.Buffer(torch.zeros(1), persistent=False)
        self.weight = nn.Parameter(torch.ones(2))


counting = Counting()
print(list(counting.state_dict()), [n for n, _ in counting.named_buffers()], counting.double().kept.dtype)
counting.kept = torch.zeros(2)
print(list(copy.deepcopy(counting).state_dict()), len(list(counting.parameters())))
calls = []
nested = nn.Sequential(nn.Linear(1, 1, bias=False), nn.Sequential(nn.Linear(1, 1, bias=False)))


def rename(module, state, prefix, *rest):
    calls.append(prefix)
    state[f"{prefix}weight"] = state.pop(f"{prefix}old")


def forgive(module, keys):
    keys.missing_keys.remove("0.weight")


nested[1][0].register_load_state_dict_pre_hook(rename)
nested.register_load_state_dict_post_hook(forgive)
nested[1].register_state_dict_post_hook(lambda module, state, prefix, rest: state.update({f"{prefix}more": 1}))
print(nested.load_state_dict({"1.0.old": torch.full((1, 1), 3.0)}), calls, nested[1][0].weight.tolist())
print(list(nested.state_dict()))
conv, norm = nn.Conv2d(3, 4, 3).eval(), nn.BatchNorm2d(4).eval()
line, flat = nn.Linear(3, 4, bias=False).eval(), nn.BatchNorm1d(4).eval()
norm.running_mean.copy_(random(4))
flat.running_var.copy_(random(4).exp())
x = random(2, 3, 5, 5)
print(torch.allclose(fuse_conv_bn_eval(conv, norm)(x), norm(conv(x)), atol=1e-5))
print(torch.allclose(fuse_linear_bn_eval(line, flat)(x[:, :, 0, 0]), flat(line(x[:, :, 0, 0])), atol=1e-5))

# ---- functions ----
for shape in ((6, 2), (7, 3), (5,), (4, 2, 3), (1, 4), (20, 5)):
    for kind in (torch.int64, torch.float32, torch.bool):
        x = torch.tensor(rng.integers(0, 2, shape)).to(kind)
        for dim in range(len(shape)):
            print([t.tolist() for t in torch.unique(x, dim=dim, return_inverse=True, return_counts=True)])
            print([t.tolist() for t in x.unique_consecutive(return_inverse=True, return_counts=True, dim=dim)])
a, b = [random(2), random(3).abs()], [random(2), random(3)]
for made in (
    torch._foreach_add(a, b, alpha=2),
    torch._foreach_mul(a, 3.0),
    torch._foreach_maximum(a, b),
    torch._foreach_norm(a),
    torch._foreach_addcmul(a, b, b, value=0.5),
    torch._foreach_lerp(a, b, 0.25),
    torch._foreach_neg(a),
):
    print([f"{t.sum():.4f}" for t in made])
torch._foreach_mul_(a, 2.0)
torch._foreach_add_(a, b)
torch._foreach_clamp_min_(a, 0.1)
print([f"{t.sum():.4f}" for t in a])
symmetric = torch.eye(3).repeat(2, 1, 1)
symmetric[1, 0, 0] = -1
print(torch.linalg.cholesky_ex(symmetric).info.bool().tolist(), torch.linalg.inv_ex(symmetric * 2).info.tolist())
matrix = random(6, 3) @ random(3, 5)
left, values, right = torch.svd_lowrank(matrix, 3)
print(torch.allclose(left @ values.diag() @ right.T, matrix, atol=1e-4), left.shape, right.shape)
print(torch.finfo(torch.float8_e4m3fn).max, torch.iinfo(torch.uint16).max, torch.uint16, torch.uint32.itemsize)
print(torch.device("meta").type, torch.device("meta") == torch.device("cpu"), repr(torch.device("cuda", 3)))
print(isinstance(torch.device("mps"), torch.device), torch.sym_max(1, 2), torch.get_device_module("cpu").__name__)


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
print(x.grad.tolist(), torch.ops.mine.scaled(x, 2.0).tolist())


class Kind(enum.Enum):
    A = 1


@dataclasses.dataclass
class Settings:
    size: int = 3
    kind: Kind = Kind.A


file = io.BytesIO()
torch.save({"settings": Settings(), "x": torch.arange(3.0)}, file)
file.seek(0)
try:
    torch.load(file, weights_only=True)
except Exception:
    print("refused")
print(x.untyped_storage().data_ptr() == x[:1].untyped_storage().data_ptr(), x.untyped_storage().nbytes())
try:
    torch._check(False, lambda: "three")
except RuntimeError as error:
    print(error)


# ---- what else libraries ask for ----
class Reduced(torch.nn.modules.loss._Loss):
    def forward(self, a, b):
        return (a - b).abs().mean() if self.reduction == "mean" else (a - b).abs().sum()


print(Reduced()(torch.ones(2), torch.zeros(2)).item(), Reduced(reduction="sum")(torch.ones(2), torch.zeros(2)).item())
print(torch.ops.aten.add(torch.ones(1), 2).item(), torch.ops.aten.relu.default(torch.tensor([-1.0, 2.0])).tolist())
print(isinstance(nn.Linear(1, 1), torch.jit.ScriptModule), torch.nn.modules.module._EXTRA_STATE_KEY_SUFFIX)
line = nn.Linear(2, 2)
line._parameters["weight"] = nn.Parameter(torch.zeros(2, 2))
del line._parameters["bias"]
print(list(line.state_dict()), line.weight.tolist(), counting._non_persistent_buffers_set)
with torch.device("meta"):
    empty = nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3))
    print(torch.tensor([]).device, empty[0].weight.device.type, torch.zeros(2, device="meta").device.type)
    print(empty[0].weight.to("meta").device.type, torch.get_default_device().type)
state = {name: torch.ones(value.shape, dtype=value.dtype) for name, value in empty.state_dict().items()}
empty.load_state_dict(state, assign=True)
print(empty.eval()(torch.ones(1, 2)).shape, empty[0].weight.device, torch.tensor([]).device)
print(torch.div(7, 2, rounding_mode="floor"), torch.add(1, 2), torch.mul(2.0, 3), torch.eye(2).to_dense().tolist())
print(torch._C._nn._parse_to("cpu", torch.float64)[:3], torch._C._nn._parse_to(torch.ones(1, dtype=torch.int8))[1])
print(torch.sparse_coo, torch.strided, torch.onnx.is_in_onnx_export(), torch.nn.utils.fusion.__name__)

# ---- as before PyTorch 1.5: factors before tensors ----
a, b = torch.tensor([1.0, 2.0]), torch.tensor([3.0, 4.0])
for made in (
    torch.ones(2).add_(2, a),
    torch.add(torch.ones(2), 3, a),
    torch.ones(2).sub_(2, a),
    torch.ones(2).addcmul_(0.5, a, b),
    torch.ones(2).addcdiv_(0.5, a, b),
    torch.addcmul(torch.ones(2), 0.5, a, b),
    torch.addcdiv(torch.ones(2), 2, a, b),
    torch.ones(2).addcmul(a, b, value=2),
):
    show("sum", made)


class Slow(torch.optim.Optimizer):
    def __init__(self, inner):
        self.param_groups, self.state = inner.param_groups, collections.defaultdict(dict)


slow = Slow(torch.optim.SGD([nn.Parameter(torch.ones(1))], lr=0.1))
slow.state[slow.param_groups[0]["params"][0]]["step"] = 1
print(len(slow.state), torch.serialization.DEFAULT_PROTOCOL)


# ---- what is written to a module, and when ----
class Counted(nn.Module):
    def __init__(self):
        super().__init__()
        self.calls = nn.Buffer(torch.zeros(1))

    def forward(self, x):
        self.calls = self.calls + 1
        return x


counted = Counted()
counted(torch.ones(1))
print({name: value.tolist() for name, value in counted.state_dict().items()}, type(counted.calls) is nn.Buffer)
line = nn.Linear(2, 2)
line._parameters.update(weight=nn.Parameter(torch.full((2, 2), 5.0)))
print(line.weight.tolist(), line._parameters.pop("bias").shape, sorted(line._parameters), len(line._parameters))
line._parameters.clear()
print(list(line.state_dict()))


@torch.library.custom_op("mine::where", mutates_args=())
def where(x: torch.Tensor) -> torch.Tensor:
    return x + 1


@where.register_kernel("cpu")
def _(x):
    return x + 2


@where.register_kernel("cuda")
def _(x):
    return x + 3


print(where(torch.zeros(1)).tolist())
seen = []
with torch.device("meta"):
    thread = threading.Thread(target=lambda: seen.append(torch.zeros(1).device.type))
    thread.start()
    thread.join()
print(seen)
