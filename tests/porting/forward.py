"""Tangents: what torch.autograd.forward_ad gives for functions, layers and chains of them."""

import torch
import torch.autograd.forward_ad as fwAD
import torch.nn.functional as F
from torch import nn


def wave(*shape, start=0.0, dtype=torch.float64):
    n = 1
    for s in shape:
        n *= s
    return torch.sin(torch.arange(n, dtype=dtype) * 0.7 + start).reshape(shape)


def show(name, v):
    if v is None:
        print(name, "None")
        return
    numbers = [round(x, 5) + 0.0 for x in v.detach().double().flatten()[:12].tolist()]
    print(name, tuple(v.shape), v.dtype, numbers, f"{v.detach().double().abs().sum().item():.5g}")


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
for name, f in FUNCTIONS.items():
    with fwAD.dual_level():
        out = fwAD.unpack_dual(f(fwAD.make_dual(x, t)))
        show(name, out.primal)
        show("  tangent", out.tangent)

with fwAD.dual_level() as level:
    dual = fwAD.make_dual(x, t)
    print(level, fwAD.unpack_dual(dual).tangent is t, fwAD.unpack_dual(dual).primal.requires_grad)
    show("other", fwAD.unpack_dual(wave(2)).tangent)
    show("detached", fwAD.unpack_dual(dual.detach() * 2).tangent)
    two = fwAD.make_dual(wave(4, start=2.0), wave(4, start=3.0))
    show("both", fwAD.unpack_dual(dual * two).tangent)
    out = dual * 2
    out.add_(two)
    out[0] = two * dual[1]
    show("in place", fwAD.unpack_dual(out).tangent)
    show("to", fwAD.unpack_dual(out.float()).tangent)
    mixed = dual.sum() * torch.tensor(3.0, dtype=torch.float64)
show("after", fwAD.unpack_dual(mixed).tangent)

# Gradients of tangents, and weights of a module in their place.
w = wave(4, 2, start=0.3).requires_grad_()
with fwAD.dual_level():
    out, tangent = fwAD.unpack_dual(torch.tanh(fwAD.make_dual(x, t) @ w))
    print(out.requires_grad, tangent.requires_grad)
    tangent.square().sum().backward()
show("grad", w.grad)

w = wave(4, start=0.3).requires_grad_()
with fwAD.dual_level():
    out, tangent = fwAD.unpack_dual(fwAD.make_dual(w, torch.ones(4, dtype=torch.float64)) ** 3)
    (out.sum() + tangent.sum()).backward()
show("grad", w.grad)

net = nn.Sequential(nn.Linear(4, 5), nn.Tanh(), nn.Linear(5, 2)).double()
with torch.no_grad():
    for i, p in enumerate(net.parameters()):
        p.copy_(wave(*p.shape, start=float(i)))
names = [n for n, _ in net.named_parameters()]
tangents = {n: wave(*p.shape, start=0.5) for n, p in net.named_parameters()}
with fwAD.dual_level():
    duals = {n: fwAD.make_dual(p, tangents[n]) for n, p in net.named_parameters()}
    show("call", fwAD.unpack_dual(torch.func.functional_call(net, duals, (x,))).tangent)
with fwAD.dual_level():
    for n in names:
        owner = net.get_submodule(n.rpartition(".")[0])
        last = n.rpartition(".")[2]
        p = getattr(owner, last)
        delattr(owner, last)
        setattr(owner, last, fwAD.make_dual(p, tangents[n]))
    show("module", fwAD.unpack_dual(net(x)).tangent)


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


with fwAD.dual_level():
    show("function", fwAD.unpack_dual(Cube.apply(fwAD.make_dual(x, t))).tangent)


@fwAD.dual_level()
def slope(f, at):
    return fwAD.unpack_dual(f(fwAD.make_dual(at, torch.ones_like(at)))).tangent


show("slope", slope(torch.sin, torch.tensor([0.0, 1.0])))
with torch.no_grad(), fwAD.dual_level():
    show("no_grad outside", fwAD.unpack_dual(fwAD.make_dual(x, t).sin()).tangent)
level = fwAD.enter_dual_level()
show("entered", fwAD.unpack_dual(fwAD.make_dual(x, t).cos()).tangent)
fwAD.exit_dual_level()


def refused(f):
    try:
        f()
    except (RuntimeError, ValueError) as error:
        return type(error).__name__
    return "no error"


print(refused(lambda: fwAD.make_dual(x, t)), refused(fwAD.exit_dual_level))
with fwAD.dual_level():
    print(refused(fwAD.enter_dual_level), refused(lambda: fwAD.make_dual(x, t[0])))
    show("single", fwAD.unpack_dual(fwAD.make_dual(x, t.float()) * 2).tangent)
    print(refused(lambda: fwAD.make_dual(x.long(), t)))
