"""Functions, methods, layers and forms of arguments that few programs use."""

import copy

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.func import functional_call, functionalize, linearize, stack_module_state, vmap
from torch.fx import symbolic_trace
from torch.fx.passes.shape_prop import ShapeProp
from torch.nn.utils import fuse_conv_bn_eval, stateless
from torch.utils.data import DataLoader, TensorDataset

from checking import check


def fill(module):
    for k, p in enumerate(module.parameters()):
        p.data.copy_((torch.sin(torch.arange(p.numel()) * 0.9 + k) * 0.5).reshape(p.shape))
    return module


x = torch.sin(torch.arange(12.0)).reshape(4, 3)
z = torch.tensor([0.5 + 1j, -2 - 0.25j])


# ---- functions -------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("reduce", ["prod", "mean", "amin", "amax"])
def test_index_reduce(reduce):
    index = torch.tensor([0, 2, 0, 1])
    check(torch.ones(4, 3).index_reduce(0, index, x, reduce))
    check(torch.ones(4, 3).index_reduce_(0, index, x, reduce, include_self=False))


def test_index_reduce_of_columns():
    check(torch.index_reduce(torch.zeros(4, 2), 1, torch.tensor([1, 1, 0]), x, "amax"))


def test_einsum_of_lists_of_dimensions():
    check(torch.einsum(x, [0, 1], x, [2, 1], [0, 2]), torch.einsum(x, [0, 1], [1]))
    check(torch.einsum(x, [..., 4], x, [..., 4]), torch.einsum(x, [5, 3]).shape)


def test_aminmax():
    check(x.aminmax().min, torch.aminmax(x, dim=1).max)


def test_complex_numbers_make_tensors():
    check(torch.tensor([1 + 2j, 3 - 1j]), torch.tensor([[1j, 2.0]]).dtype, torch.tensor(1j))


def test_tensors_without_elements():
    check(torch.empty(0, 3), torch.zeros(2, 0, dtype=torch.int64))


def test_cosine_similarity_of_shapes_that_broadcast():
    check(F.cosine_similarity(x.reshape(1, 4, 3), x.reshape(4, 1, 3), dim=1))


def test_vander():
    check(torch.linalg.vander(x[:2]), torch.linalg.vander(torch.tensor(2.0), N=3))


def test_logspace_of_integers():
    check(torch.logspace(2, 0, 4, dtype=torch.int64), torch.logspace(0, 4.3, 4, 5.0, dtype=torch.int32))


@pytest.mark.parametrize("order", [1, 2, 3])
def test_polygamma_far_from_zero(order):
    check(torch.polygamma(order, torch.tensor([-8.478, -20.25, -9.5, -0.5, 30.0])))


def test_functions_of_integers():
    check(torch.tensor([3, -2]).angle(), torch.tensor([3, -2]).copysign(-1), F.relu6(torch.tensor([9, -2])))


def test_constant_pad_nd():
    check(torch.constant_pad_nd(x[:1], [1, 1], 2.0))


def test_gradient():
    check(torch.gradient(x, spacing=None, dim=1)[0])


def test_put():
    check(x.put(torch.tensor([-1, 0]), torch.tensor([5.0, 6.0]), accumulate=True)[[0, 3]])


def test_atleast():
    check(torch.atleast_2d([x[0, 0], x[0]]), torch.atleast_1d(x[0, 0], x)[0], torch.atleast_3d(x).shape)


def test_mode_of_a_number():
    check(torch.tensor(2.0).mode().values, torch.igamma(torch.tensor(2.0), torch.tensor(1.0)))


@pytest.mark.parametrize("name", ["sin", "cos", "tanh", "sigmoid"])
def test_complex(name):
    check(getattr(z, name)())


def test_complex_products():
    check(torch.linalg.norm(z), torch.isclose(z, z), torch.vdot(z, 2 * z), torch.linalg.vecdot(z, z * 1j))


@pytest.mark.parametrize("align", [False, True], ids=["pixels", "corners"])
@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
def test_bicubic_grid_sample(padding, align):
    image = torch.cos(torch.arange(50.0)).reshape(1, 2, 5, 5)
    at = (torch.sin(torch.arange(18.0) * 0.7).reshape(1, 3, 3, 2) * 1.3).requires_grad_()
    made = F.grid_sample(image, at, "bicubic", padding, align)
    made.square().sum().backward()
    check(made, at.grad)


def test_functions_of_numpy():
    check(np.sqrt(x.abs()), np.maximum(x[0], 0.5), np.power(x[0], 2), np.multiply.reduce(x[1]))
    check(np.add(x, np.ones(3)), np.abs(x).dtype, np.sign(torch.tensor([-2, 3])), np.log1p(x[0, 1]))


def test_numbers_of_numpy():
    check(np.float32(2) * x[0], np.int64(2) - x[0], x[0] / np.float32(4), np.float32(0.5) < x[0])


def test_out():
    out = torch.empty(0)
    same = torch.fmax(x[0], x[1], out=out)
    check(out, same is out)
    check(torch.linalg.det(x[:3], out=torch.empty(())), torch.lgamma(x[0] + 2, out=out), out)
    check(torch.fft.rfft(x[0], out=torch.empty(2, dtype=torch.cfloat)))


def test_addr_without_its_input():
    check(torch.addr(x[:3] * float("nan"), x[0], x[1], beta=0))


# ---- layers ----------------------------------------------------------------------------------------------------------
def test_embedding_bag_from_pretrained():
    bag = nn.EmbeddingBag.from_pretrained(torch.arange(6.0).reshape(3, 2), mode="sum")
    check(bag(torch.tensor([0, 1, 2]), torch.tensor([0, 1])), bag.weight.requires_grad)


SIZE = {"in_proj_weight": torch.cos(torch.arange(48.0)).reshape(12, 4), "in_proj_bias": torch.linspace(-1, 1, 12)}
REST = {"out_proj_weight": torch.sin(torch.arange(8.0)).reshape(2, 4), "out_proj_bias": torch.ones(2)}
REST |= {"bias_k": None, "bias_v": None, "add_zero_attn": False, "dropout_p": 0.0}
q = torch.cos(torch.arange(24.0)).reshape(3, 2, 4)


def test_multi_head_attention_forward():
    check(F.multi_head_attention_forward(q, q, q, 4, 2, **SIZE, **REST, attn_mask=torch.eye(3).bool()))


def test_multi_head_attention_forward_with_three_weights():
    weights = zip("qkv", SIZE["in_proj_weight"].split(4), strict=True)
    size = {**SIZE, "in_proj_weight": None, **{f"{n}_proj_weight": part for n, part in weights}}
    options = {"use_separate_proj_weight": True, "need_weights": False, "training": False}
    check(F.multi_head_attention_forward(q[:1], q, q, 4, 2, **size, **REST, **options))


def test_fuse_conv_bn_eval():
    conv, norm = fill(nn.Conv2d(1, 2, 1)).eval(), fill(nn.BatchNorm2d(2)).eval()
    check(fuse_conv_bn_eval(conv, norm)(torch.ones(1, 1, 1, 2)))


def test_shapes_of_a_traced_program():
    traced = symbolic_trace(nn.Sequential(nn.Linear(3, 2), nn.ReLU()))
    ShapeProp(traced).propagate(x)
    check([(n.name, tuple(n.meta["tensor_meta"].shape)) for n in traced.graph.nodes])


def test_packed_sequence():
    packed = nn.utils.rnn.pack_sequence([x[:3], x[:1]])
    check(packed.double().data.dtype, packed.is_cuda, packed.batch_sizes, torch.is_inference(x))


# ---- functions of modules --------------------------------------------------------------------------------------------
def test_ensemble():
    models = [fill(nn.Linear(3, 2)) for _ in range(2)]
    models[1].weight.data *= 2
    parameters, buffers = stack_module_state(models)
    base = copy.deepcopy(models[0]).to("meta")
    check(vmap(lambda p, b: functional_call(base, (p, b), (x,)))(parameters, buffers))


def test_linearize():
    y, push = linearize(lambda a, b: a.sin() * b, x[0], x[1])
    check(y, push(torch.ones(3), torch.zeros(3)))


def test_functionalize():
    check(functionalize(lambda a: a.add_(1))(x[0].clone()))


def test_stateless_functional_call():
    check(stateless.functional_call(fill(nn.Linear(3, 2)), {"bias": torch.ones(2)}, x[:1]))


# ---- gradients -------------------------------------------------------------------------------------------------------
def test_is_grads_batched():
    w = torch.ones(2, 3, requires_grad=True)
    check(torch.autograd.grad((w * x[:2]).sum(1), w, torch.eye(2), is_grads_batched=True)[0])


def test_save_on_cpu():
    w = torch.ones(2, 3, requires_grad=True)
    with torch.autograd.graph.save_on_cpu(pin_memory=True):
        y = (w**2).sum()
    y.backward()
    check(w.grad)


def test_straight_through():
    logits = torch.zeros(3, requires_grad=True)
    check(torch.distributions.OneHotCategoricalStraightThrough(logits=logits).rsample().requires_grad)


def test_repr_of_a_mixture():
    mixture = torch.distributions.MixtureSameFamily(
        torch.distributions.Categorical(torch.ones(2)), torch.distributions.Normal(torch.zeros(2), torch.ones(2))
    )
    check(repr(mixture).splitlines()[::2])


@pytest.mark.parametrize(
    "state",
    [{"weight": torch.ones(1, 1), "bias": torch.ones(2)}, {"weight": torch.ones(2, 3)}, {"other": x}],
    ids=["other shapes", "missing", "unknown"],
)
def test_a_state_that_does_not_fit(state):
    with pytest.raises(RuntimeError):
        nn.Linear(3, 2).load_state_dict(state)


def test_data_loader_without_batches():
    data = TensorDataset(torch.arange(4), torch.arange(4) * 2)
    check([[v.item() for v in pair] for pair in DataLoader(data, batch_size=None)])
