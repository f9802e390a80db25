"""Tangents: what torch.autograd.forward_ad gives for functions, layers and chains of them."""

import math

import pytest
import torch
import torch.autograd.forward_ad as fwAD
import torch.nn.functional as F
from torch import nn

from checking import check, raised


def wave(*shape, start=0.0, dtype=torch.float64):
    return torch.sin(torch.arange(math.prod(shape), dtype=dtype) * 0.7 + start).reshape(shape)


x, t = wave(3, 4), wave(3, 4, start=1.0)
FUNCTIONS = {
    "square": lambda a: a * a,
    "exp": lambda a: a.exp().sum(0),
    "softmax": lambda a: F.softmax(a, -1),
    "log_softmax": lambda a: F.log_softmax(a, -1)[:, 1],
    "product": lambda a: a @ a.T,
    "norm": lambda a: a.norm(dim=1),
    "gelu": lambda a: F.gelu(a) + F.silu(a) - F.softplus(a),
    "logsumexp": lambda a: torch.logsumexp(a, 0),
    "cumsum": lambda a: a.cumsum(1).flip(0),
    "where": lambda a: torch.where(a > 0, a**3, a.sin()),
    "max": lambda a: a.max(1).values,
    "sort": lambda a: a.sort(1, descending=True).values,
    "layer_norm": lambda a: F.layer_norm(a, (4,)),
    "solve": lambda a: torch.linalg.solve(a @ a.T + torch.eye(3, dtype=a.dtype), a),
    "cholesky": lambda a: torch.linalg.cholesky(a @ a.T + torch.eye(3, dtype=a.dtype)),
    "det": lambda a: torch.linalg.slogdet(a @ a.T + torch.eye(3, dtype=a.dtype))[1],
    "var": lambda a: a.var(1) + a.std(),
    "gather": lambda a: a.gather(1, torch.tensor([[0], [3], [3]])),
    "cat": lambda a: torch.cat([a, 2 * a[:1]]),
    "einsum": lambda a: torch.einsum("ij,kj,ki->j", a, a, wave(3, 3)),
    "prod": lambda a: a.prod(1),
    "erf": lambda a: torch.erf(a) + torch.lgamma(a.abs() + 1),
    "zero": lambda a: (a > 0).to(a.dtype) * 0 + a.round(),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_tangent_of(name):
    with fwAD.dual_level():
        out = fwAD.unpack_dual(FUNCTIONS[name](fwAD.make_dual(x, t)))
        check(out.primal, out.tangent)


def test_what_a_dual_tensor_is():
    with fwAD.dual_level() as level:
        dual = fwAD.make_dual(x, t)
        check(level, fwAD.unpack_dual(dual).tangent is t, fwAD.unpack_dual(dual).primal.requires_grad)
        check(fwAD.unpack_dual(wave(2)).tangent, fwAD.unpack_dual(dual.detach() * 2).tangent)


def test_two_duals():
    with fwAD.dual_level():
        dual, two = fwAD.make_dual(x, t), fwAD.make_dual(wave(4, start=2.0), wave(4, start=3.0))
        check(fwAD.unpack_dual(dual * two).tangent)


def test_in_place():
    with fwAD.dual_level():
        dual, two = fwAD.make_dual(x, t), fwAD.make_dual(wave(4, start=2.0), wave(4, start=3.0))
        out = dual * 2
        out.add_(two)
        out[0] = two * dual[1]
        check(fwAD.unpack_dual(out).tangent, fwAD.unpack_dual(out.float()).tangent)


def test_no_tangent_is_left_after_a_level():
    with fwAD.dual_level():
        mixed = fwAD.make_dual(x, t).sum() * torch.tensor(3.0, dtype=torch.float64)
    check(fwAD.unpack_dual(mixed).tangent)


# ---- gradients of tangents, and weights of a module in their place ---------------------------------------------------
def test_gradient_of_a_tangent():
    w = wave(4, 2, start=0.3).requires_grad_()
    with fwAD.dual_level():
        out, tangent = fwAD.unpack_dual(torch.tanh(fwAD.make_dual(x, t) @ w))
        check(out.requires_grad, tangent.requires_grad)
        tangent.square().sum().backward()
    check(w.grad)


def test_gradient_of_a_value_and_its_tangent():
    w = wave(4, start=0.3).requires_grad_()
    with fwAD.dual_level():
        out, tangent = fwAD.unpack_dual(fwAD.make_dual(w, torch.ones(4, dtype=torch.float64)) ** 3)
        (out.sum() + tangent.sum()).backward()
    check(w.grad)


def net_and_tangents():
    net = nn.Sequential(nn.Linear(4, 5), nn.Tanh(), nn.Linear(5, 2)).double()
    with torch.no_grad():
        for i, p in enumerate(net.parameters()):
            p.copy_(wave(*p.shape, start=float(i)))
    return net, {n: wave(*p.shape, start=0.5) for n, p in net.named_parameters()}


def test_functional_call():
    net, tangents = net_and_tangents()
    with fwAD.dual_level():
        duals = {n: fwAD.make_dual(p, tangents[n]) for n, p in net.named_parameters()}
        check(fwAD.unpack_dual(torch.func.functional_call(net, duals, (x,))).tangent)


def test_duals_in_the_place_of_parameters():
    net, tangents = net_and_tangents()
    with fwAD.dual_level():
        for n, tangent in tangents.items():
            owner, last = net.get_submodule(n.rpartition(".")[0]), n.rpartition(".")[2]
            p = getattr(owner, last)
            delattr(owner, last)
            setattr(owner, last, fwAD.make_dual(p, tangent))
        check(fwAD.unpack_dual(net(x)).tangent)


class Cube(torch.autograd.Function):
    @staticmethod
    def forward(a):
        return a**3

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)
        ctx.save_for_forward(*inputs)

    @staticmethod
    def backward(ctx, g):
        (a,) = ctx.saved_tensors
        return g * 3 * a * a

    @staticmethod
    def jvp(ctx, direction):
        (a,) = ctx.saved_tensors
        return direction * 3 * a * a


def test_jvp_of_a_function():
    with fwAD.dual_level():
        check(fwAD.unpack_dual(Cube.apply(fwAD.make_dual(x, t))).tangent)


# ---- levels ----------------------------------------------------------------------------------------------------------
@fwAD.dual_level()
def slope(f, at):
    return fwAD.unpack_dual(f(fwAD.make_dual(at, torch.ones_like(at)))).tangent


def test_a_level_as_a_decorator():
    check(slope(torch.sin, torch.tensor([0.0, 1.0])))


def test_a_level_within_no_grad():
    with torch.no_grad(), fwAD.dual_level():
        check(fwAD.unpack_dual(fwAD.make_dual(x, t).sin()).tangent)


def test_a_level_that_is_entered():
    fwAD.enter_dual_level()
    check(fwAD.unpack_dual(fwAD.make_dual(x, t).cos()).tangent)
    fwAD.exit_dual_level()
    check(raised(lambda: fwAD.make_dual(x, t)), raised(fwAD.exit_dual_level))


def test_what_is_refused():
    with fwAD.dual_level():
        check(raised(fwAD.enter_dual_level), raised(lambda: fwAD.make_dual(x, t[0])))
        check(raised(lambda: fwAD.make_dual(x.long(), t)))


def test_a_tangent_of_another_type():
    with fwAD.dual_level():
        check(fwAD.unpack_dual(fwAD.make_dual(x, t.float()) * 2).tangent)
