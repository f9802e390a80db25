"""Statements about gradients: .grad that is shared and written, gradients of gradients, transforms of functions."""

from __future__ import annotations

from draw import Drawing, value, write

PARTS = (  # of a tensor of one dimension or more, put together again; all functions of `x`
    "x.roll(1, 0)",
    "t.cat([x[1:], x[:1]])",
    "x[1:].sum() + x[:1].sum() * 2.0",
    "t.hstack(t.split(x, 1))",
    "t.stack([x, x.flip(0)]).sum(0)",
    "x.unsqueeze(0).expand(2, *x.shape)",
    "t.cat(t.chunk(x, 2, 0)[::-1])",
    "x.unfold(0, 1, 1)",
    "x.transpose(0, -1)",
    "x.reshape(-1)[::2]",
    "t.nn.functional.pad(x, (1, 0))",
    "x.repeat(*[2] * x.ndim)",
    "t.where(x > 0.1, x, x.flip(0))",
    "t.index_select(x, 0, t.zeros(2, dtype=t.int64, device=D))",
)
SMOOTH = (
    "t.sin(x)",
    "t.tanh(x) * x",
    "t.softmax(x, -1) * x",  # alone, the gradient of its sum is rounding
    "x.cumsum(0) * 0.5",
    "x * x.mean()",
    "t.relu(x) + x * x",
    "t.logsumexp(x, 0)",
    "x.reshape(-1).outer(x.reshape(-1)).sum(0)",
    "t.exp(t.clamp(x, -4.0, 2.0))",
    "t.sqrt(x * x + 1.0)",
    "x.amax(0)",
)


def body(d: Drawing) -> str:
    """A function of `x`: parts put together, smooth functions, or one after the other."""
    first, then = d.pick(*PARTS, *SMOOTH), d.pick(*PARTS, *SMOOTH)
    both = f"(lambda x: {first})({then})" if d.maybe(0.5) else f"({first}).sum() * ({then})"
    return first if d.maybe(0.5) else both  # type: ignore[no-any-return]


# ---- .grad ---
@write(7, "shared gradients")
def share(d: Drawing) -> str:
    """Two leaves that get one gradient."""
    leaves = [n for n in d.leaves if n in d.made]
    a = d.pick(*leaves) if leaves else d.add_leaf(True)
    if a is None:
        raise LookupError
    same = [n for n in leaves if n != a and d.shape(n) == d.shape(a)]
    b = d.pick(*same) if same and d.maybe(0.8) else d.add_leaf(True, d.shape(a))
    ways = [f"({a} + {b})", f"({a} - {b})", f"({a} + {b} + {a})", f"({a} * 2.0 + {b} * 2.0)"]
    if d.tensor(a).numel() > 1:  # PyTorch's leaves of one element share what stack() gives them
        ways.append(f"t.stack([{a}, {b}])")
    y = d.pick(*ways)
    ends = [f"{y}.sin().sum()", f"{y}.sum()", f"{y}.mean()", f"({y} * {y}).sum()", f"({y} * {d.like(a)}).sum()"]
    if y.startswith(f"({a} "):
        ends += [f"{y}|leaf({d.key()}, {a}.shape)", f"{y}|t.ones_like({a})"]
    end, _, seed = d.pick(*ends).partition("|")
    return f"{end}.backward({seed})"


@write(8, "shared gradients")
def write_gradient(d: Drawing) -> str:
    a, b = d.pick(*d.with_gradient()), d.pick(*d.with_gradient())
    options = [
        f"{a}.grad.mul_(2.0)",
        f"{a}.grad.zero_()",
        f"{a}.grad /= 2.0",
        f"{a}.grad.view(-1)[:1] = 3.0",
        f"{a}.grad = {a}.grad.clone()",
        f"{a}.grad = None",
        f"{a}.grad.detach().neg_()",
        f"{a}.grad.data.add_(0.25)",
        f"t.nn.utils.clip_grad_norm_([{a}, {b}], 0.5)",
        f"t.nn.utils.clip_grad_value_([{a}, {b}], 0.25)",
        f"for g in gradients({a}, {b}): g.mul_(0.5)",
        f"with t.no_grad(): {a}.sub_({a}.grad * 0.125)",
        f"out(*gradients({a}, {b}))",
    ]
    if d.shape(a) == d.shape(b):
        options += [f"{a}.grad.add_({b}.grad)", f"{a}.grad.copy_({b}.grad)", f"{a}.grad = {b}.grad"]
    if d.shape(a) and d.shape(a)[0]:
        options.append(f"{a}.grad[0] = 7.0")
    return d.pick(*options)  # type: ignore[no-any-return]


@value(4, "shared gradients")
def read_gradient(d: Drawing) -> str:
    a = d.pick(*d.with_gradient())
    return f"{a}.grad{d.pick('', '', '.view(-1)', '.clone()', ' * 2.0', '.detach()')}"


# ---- gradients of gradients ---
@value(14, "double backward")
def pull(d: Drawing) -> str:
    """The gradient of parts put together, along a direction that itself wants a gradient."""
    x = d.pick_value(1, fits=lambda n: d.wants_gradient(n) and d.shape(n)[0] > 1)
    y = d.add_value(f"(lambda x: {body(d) if d.maybe(0.4) else d.pick(*PARTS)})({x})")
    if y is None or not d.wants_gradient(y):
        raise LookupError
    u = d.add_leaf(True, d.pick(d.shape(y), ()))
    if u is None:
        raise LookupError
    along = u if d.shape(u) == d.shape(y) and d.maybe(0.7) else f"({u} * {d.pick(y, f't.ones_like({y})')})"
    if d.shape(u) == () and d.maybe(0.5):
        along = f"{u}.expand({y}.shape)"
    g = d.add_value(f"grad({y}, [{x}], grad_outputs=[{along}], create_graph=True)[0]")
    if g is None:
        raise LookupError
    d.pulled.append((g, x, u))
    return f"{g} * {g}"


@value(12, "double backward")
def pull_again(d: Drawing) -> str:
    if not d.pulled:
        raise LookupError
    g, x, u = d.pick(*d.pulled)
    if any(n not in d.made for n in (g, x, u)):
        raise LookupError
    end = d.pick(f"({g} * {g}).sum()", f"{g}.sum()", f"({g} * {d.like(g)}).sum()", f"{g}.sin().mean()")
    return f"grad({end}, [{d.pick(u, u, x)}], create_graph=True)[0]"


# ---- transforms of functions ---
@value(15, "func")
def transformed(d: Drawing) -> str:
    x = d.pick_value(1, 2, fits=lambda n: 0 < d.tensor(n).numel() <= 40)
    f, v = body(d), f"leaf({d.key()}, {x}.shape)"
    scalar = f"lambda x: ({f}).sum()"
    return d.pick(  # type: ignore[no-any-return]
        f"t.func.grad({scalar})({x})",
        f"t.func.vmap(lambda x: {f})({x}.unsqueeze(0).repeat(2, *[1] * {x}.ndim) * 0.5)",
        f"t.func.vmap(t.func.grad({scalar}))(t.stack([{x}, {x} * 0.5]))",
        f"t.func.jvp(lambda x: {f}, ({x},), ({v},))[1]",
        f"t.func.vmap(lambda v: t.func.jvp(lambda x: {f}, ({x},), (v,))[1])(t.stack([{v}, {x}]))",
        f"t.autograd.functional.jvp(lambda x: {f}, {x}, {v})[1]",
        f"t.autograd.functional.hvp({scalar}, {x}, {v})[1]",
        f"t.func.vjp({scalar}, {x})[1](t.tensor(0.5, dtype=F, device=D))[0]",
        f"(lambda y, pull: pull(y * 0.5)[0])(*t.func.vjp(lambda x: {f}, {x}))",
        f"t.func.jacrev(lambda x: {f})({x})",
        f"t.func.jacfwd(lambda x: {f})({x})",
        f"t.func.hessian({scalar})({x})",
        f"t.func.vmap(t.func.hessian({scalar}))(t.stack([{x}, {x} * 0.5]))",
        f"t.func.grad(lambda z: (t.func.grad({scalar})(z) * {v}).sum())({x})",
    )
