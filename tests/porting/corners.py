"""Functions, methods, layers and forms of arguments that few programs use, and what they give."""

import copy

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn
from torch.func import functional_call, functionalize, linearize, stack_module_state, vmap
from torch.fx import symbolic_trace
from torch.fx.passes.shape_prop import ShapeProp
from torch.nn.utils import fuse_conv_bn_eval, stateless
from torch.utils.data import DataLoader, TensorDataset


def show(label, *values):
    values = [
        torch.view_as_real(v) if callable(getattr(v, "is_complex", None)) and v.is_complex() else v for v in values
    ]
    print(label, *[v.detach() if isinstance(v, torch.Tensor) else v for v in values])


def fill(module):
    for k, p in enumerate(module.parameters()):
        p.data.copy_((torch.sin(torch.arange(p.numel()) * 0.9 + k) * 0.5).reshape(p.shape))
    return module


x = torch.sin(torch.arange(12.0)).reshape(4, 3)
where = torch.tensor([0, 2, 0, 1])

# ---- functions ----
for reduce in ("prod", "mean", "amin", "amax"):
    show(f"index_reduce {reduce}", torch.ones(4, 3).index_reduce(0, where, x, reduce))
    show(f"index_reduce_ {reduce}", torch.ones(4, 3).index_reduce_(0, where, x, reduce, include_self=False))
show("index_reduce of columns", torch.index_reduce(torch.zeros(4, 2), 1, torch.tensor([1, 1, 0]), x, "amax"))
show("einsum", torch.einsum(x, [0, 1], x, [2, 1], [0, 2]), torch.einsum(x, [0, 1], [1]))
show("einsum", torch.einsum(x, [..., 4], x, [..., 4]), torch.einsum(x, [5, 3]).shape)
show("aminmax", x.aminmax().min, torch.aminmax(x, dim=1).max)
print("complex", torch.tensor([1 + 2j, 3 - 1j]), torch.tensor([[1j, 2.0]]).dtype, torch.tensor(1j))
show("no elements", torch.empty(0, 3), torch.zeros(2, 0, dtype=torch.int64))

show("cosine of shapes that broadcast", F.cosine_similarity(x.reshape(1, 4, 3), x.reshape(4, 1, 3), dim=1))
show("vander", torch.linalg.vander(x[:2]), torch.linalg.vander(torch.tensor(2.0), N=3))
show("logspace", torch.logspace(2, 0, 4, dtype=torch.int64), torch.logspace(0, 4.3, 4, 5.0, dtype=torch.int32))
far = torch.tensor([-8.478, -20.25, -9.5, -0.5, 30.0])
show("polygamma", torch.polygamma(1, far), torch.polygamma(2, far), torch.polygamma(3, far))
show("whole numbers", torch.tensor([3, -2]).angle(), torch.tensor([3, -2]).copysign(-1), F.relu6(torch.tensor([9, -2])))
show("pad", torch.constant_pad_nd(x[:1], [1, 1], 2.0))
show("gradient", torch.gradient(x, spacing=None, dim=1)[0])
show("put", x.put(torch.tensor([-1, 0]), torch.tensor([5.0, 6.0]), accumulate=True)[[0, 3]])
show("atleast", torch.atleast_2d([x[0, 0], x[0]]), torch.atleast_1d(x[0, 0], x)[0], torch.atleast_3d(x).shape)
show("mode", torch.tensor(2.0).mode().values, torch.igamma(torch.tensor(2.0), torch.tensor(1.0)))
z = torch.tensor([0.5 + 1j, -2 - 0.25j])
show(
    "complex", z.sin(), z.cos(), z.tanh(), z.sigmoid(), torch.linalg.norm(z), torch.isclose(z, z), torch.vdot(z, 2 * z)
)
show("vecdot", torch.linalg.vecdot(z, z * 1j))
image = torch.cos(torch.arange(50.0)).reshape(1, 2, 5, 5)
places = torch.sin(torch.arange(18.0) * 0.7).reshape(1, 3, 3, 2) * 1.3
for padding in ("zeros", "border", "reflection"):
    for align in (False, True):
        at = places.clone().requires_grad_()
        made = F.grid_sample(image, at, "bicubic", padding, align)
        made.square().sum().backward()
        show(f"grid_sample {padding} {align}", made, at.grad.abs().sum())

show("ufuncs", np.sqrt(x.abs()), np.maximum(x[0], 0.5), np.power(x[0], 2), np.multiply.reduce(x[1]))
show("numbers of NumPy", np.float32(2) * x[0], np.int64(2) - x[0], x[0] / np.float32(4), np.float32(0.5) < x[0])
show("arrays", np.add(x, np.ones(3)), np.abs(x).dtype, np.sign(torch.tensor([-2, 3])), np.log1p(x[0, 1]))

out = torch.empty(0)
same = torch.fmax(x[0], x[1], out=out)
show("out", out, same is out, torch.linalg.det(x[:3], out=torch.empty(())), torch.lgamma(x[0] + 2, out=out))
show(
    "out",
    torch.fft.rfft(x[0], out=torch.empty(2, dtype=torch.cfloat)),
    torch.addr(x[:3] * float("nan"), x[0], x[1], beta=0),
)

# ---- layers ----
bag = nn.EmbeddingBag.from_pretrained(torch.arange(6.0).reshape(3, 2), mode="sum")
show("EmbeddingBag", bag(torch.tensor([0, 1, 2]), torch.tensor([0, 1])), bag.weight.requires_grad)
size = {"in_proj_weight": torch.cos(torch.arange(48.0)).reshape(12, 4), "in_proj_bias": torch.linspace(-1, 1, 12)}
out = {"out_proj_weight": torch.sin(torch.arange(8.0)).reshape(2, 4), "out_proj_bias": torch.ones(2)}
rest = {"bias_k": None, "bias_v": None, "add_zero_attn": False, "dropout_p": 0.0}
q = torch.cos(torch.arange(24.0)).reshape(3, 2, 4)
y, w = F.multi_head_attention_forward(q, q, q, 4, 2, **size, **out, **rest, attn_mask=torch.eye(3).bool())
show("multi_head_attention_forward", y, w)
parts = {f"{n}_proj_weight": part for n, part in zip("qkv", size["in_proj_weight"].split(4), strict=True)}
size["in_proj_weight"] = None
y, w = F.multi_head_attention_forward(
    q[:1], q, q, 4, 2, **size, **out, **rest, **parts, use_separate_proj_weight=True, need_weights=False, training=False
)
show("with three weights", y, w)
conv, norm = fill(nn.Conv2d(1, 2, 1)).eval(), fill(nn.BatchNorm2d(2)).eval()
show("fuse_conv_bn_eval", fuse_conv_bn_eval(conv, norm)(torch.ones(1, 1, 1, 2)))

traced = symbolic_trace(nn.Sequential(nn.Linear(3, 2), nn.ReLU()))
ShapeProp(traced).propagate(x)
show("shapes", [(n.name, tuple(n.meta["tensor_meta"].shape)) for n in traced.graph.nodes])

packed = nn.utils.rnn.pack_sequence([x[:3], x[:1]])
show("packed", packed.double().data.dtype, packed.is_cuda, packed.batch_sizes, torch.is_inference(x))

# ---- functions of modules ----
models = [fill(nn.Linear(3, 2)) for _ in range(2)]
models[1].weight.data *= 2
parameters, buffers = stack_module_state(models)
base = copy.deepcopy(models[0]).to("meta")
show("ensemble", vmap(lambda p, b: functional_call(base, (p, b), (x,)))(parameters, buffers))
y, push = linearize(lambda a, b: a.sin() * b, x[0], x[1])
show("linearize", y, push(torch.ones(3), torch.zeros(3)))
show("functionalize", functionalize(lambda a: a.add_(1))(x[0].clone()))
show("stateless", stateless.functional_call(models[0], {"bias": torch.ones(2)}, x[:1]))

# ---- gradients ----
w = torch.ones(2, 3, requires_grad=True)
rows = torch.autograd.grad((w * x[:2]).sum(1), w, torch.eye(2), is_grads_batched=True)[0]
show("is_grads_batched", rows)
with torch.autograd.graph.save_on_cpu(pin_memory=True):
    y = (w**2).sum()
y.backward()
show("save_on_cpu", w.grad)
logits = torch.zeros(3, requires_grad=True)
drawn = torch.distributions.OneHotCategoricalStraightThrough(logits=logits).rsample()
print(drawn.requires_grad)
mixture = torch.distributions.MixtureSameFamily(
    torch.distributions.Categorical(torch.ones(2)), torch.distributions.Normal(torch.zeros(2), torch.ones(2))
)
print(repr(mixture).splitlines()[::2])

# ---- errors that programs catch ----
for state in ({"weight": torch.ones(1, 1), "bias": torch.ones(2)}, {"weight": torch.ones(2, 3)}, {"other": x}):
    try:
        models[0].load_state_dict(state)
    except RuntimeError:
        print("RuntimeError")

# ---- data ----
data = TensorDataset(torch.arange(4), torch.arange(4) * 2)
print([[v.item() for v in pair] for pair in DataLoader(data, batch_size=None)])
