"""Complex tensors: transforms of functions, hooks, convolutions, statistics, factors of matrices; with gradients."""

import warnings

import numpy as np
import torch
import torch.nn.functional as F
from torch import func
from torch.autograd import functional

warnings.simplefilter("ignore")


def drawn(seed, *shape):
    random = np.random.default_rng(seed)
    return torch.from_numpy(random.normal(size=shape) + 1j * random.normal(size=shape))


def numbers(x):
    if isinstance(x, (tuple, list)):
        return [numbers(y) for y in x]
    if not x.is_complex():
        return (np.round(x.detach().numpy(), 4) + 0.0).tolist()
    values = x.detach().resolve_conj().numpy()
    return (np.round(np.stack([values.real, values.imag], -1), 4) + 0.0).tolist()


def show(name, call):
    try:
        print(name, numbers(call()))
    except (RuntimeError, TypeError, ValueError):
        print(name, "error")


# ---- transforms ------------------------------------------------------------------------------------------------------
z, w, x = drawn(0, 2), drawn(1, 2), torch.tensor([1.0, 2.0], dtype=torch.float64)
FUNCTIONS = {
    "square": lambda z: z * z,
    "size": lambda z: z.abs() ** 2,
    "sum": lambda z: (z * w).abs().sum(),
    "conjugate": lambda z: z.conj() * w,
    "real": lambda z: z.real,
    "pair": lambda z: (z.exp(), z.abs()),
}
for name, f in FUNCTIONS.items():
    y, pull = func.vjp(f, z)
    show(f"{name} grad", lambda f=f: func.grad(f)(z))
    show(f"{name} grad_and_value", lambda f=f: func.grad_and_value(f)(z))
    show(f"{name} vjp", lambda pull=pull, y=y: pull(y))
    show(f"{name} jvp", lambda f=f: func.jvp(f, (z,), (w,)))
    show(f"{name} linearize", lambda f=f: func.linearize(f, z)[1](w))
    show(f"{name} vmap", lambda f=f: func.vmap(f)(torch.stack([z, w])))
    show(f"{name} jacrev", lambda f=f: func.jacrev(f)(z))
    show(f"{name} jacfwd", lambda f=f: func.jacfwd(f)(z))
    show(f"{name} jacobian", lambda f=f: functional.jacobian(f, z))
    show(f"{name} functional.jvp", lambda f=f: functional.jvp(f, z, w))
for name in ("square", "sum", "real"):
    f = FUNCTIONS[name]
    show(f"{name} forward", lambda f=f: functional.jacobian(f, z, strategy="forward-mode", vectorize=True))
show("functional.vjp", lambda: functional.vjp(lambda z: z * w, z, w))
show("vjp of a real tensor", lambda: func.vjp(lambda x: torch.complex(x, x * x).exp(), x)[1](w))
show("jvp of a real tensor", lambda: func.jvp(lambda x: torch.complex(x, x * x).exp(), (x,), (x,)))
show("argnums", lambda: func.grad(lambda a, b: (a * b).abs().sum(), argnums=(0, 1))(z, x))
show("vmap of grad", lambda: func.vmap(func.grad(FUNCTIONS["sum"]))(torch.stack([z, w])))

# ---- hooks -----------------------------------------------------------------------------------------------------------
LOSSES = {
    "both": lambda z: (z * w).abs().sum(),
    "real": lambda z: z.real.sum(),
    "imaginary": lambda z: z.imag.pow(2).sum(),
}
for name, f in LOSSES.items():
    leaf = z.clone().requires_grad_()
    seen = []
    handle = leaf.register_hook(seen.append)
    f(leaf).backward()
    f(leaf).backward()
    handle.remove()
    f(leaf).backward()
    print(name, "leaf", numbers(seen), numbers(leaf.grad))
    leaf = z.clone().requires_grad_()
    leaf.register_hook(lambda g: g * (1 + 1j))
    leaf.register_hook(lambda g: g.conj())
    f(leaf).backward()
    print(name, "changed", numbers(leaf.grad), numbers(torch.autograd.grad(f(leaf), leaf)))
    leaf = z.clone().requires_grad_()
    y = leaf * w
    seen = []
    y.register_hook(seen.append)
    y.register_hook(lambda g: g * 1j)
    y.register_hook(lambda g: g * 0).remove()
    f(y).backward()
    print(name, "inside", numbers(seen), numbers(leaf.grad))
show("no gradient", lambda: z.register_hook(print))
parameter = torch.nn.Parameter(torch.tensor([1 + 1j], dtype=torch.complex128))
parameter.register_hook(lambda g: g * 3)
optimizer = torch.optim.SGD([parameter], lr=0.1)
for _ in range(2):
    optimizer.zero_grad()
    (parameter * parameter.conj()).real.sum().backward()
    optimizer.step()
    print("parameter", numbers(parameter))
leaf = z.clone().requires_grad_()
leaf.register_hook(lambda g: g * 2)
(g,) = torch.autograd.grad((leaf * leaf).abs().sum(), leaf, create_graph=True)
g.abs().sum().backward()
print("second order", numbers(g), numbers(leaf.grad))


# ---- functions, and gradients of a sum of what they give, weighted ---------------------------------------------------
def with_gradients(name, f, *inputs):
    leaves = [t.clone().requires_grad_() for t in inputs]
    made = f(*leaves)
    made = made if isinstance(made, (tuple, list)) else [made]
    made = [y for y in made if y.requires_grad]
    weights = [torch.arange(1.0, y.numel() + 1, dtype=torch.float64).reshape(y.shape) for y in made]
    total = sum((y * (v - 0.5j * v * v)).real.sum() for y, v in zip(made, weights))  # noqa: B905
    total = total + sum((y * y.conj()).real.sum() for y in made)
    print(name, numbers(made), numbers(torch.autograd.grad(total, leaves)))


with_gradients(
    "conv1d", lambda x, w: F.conv1d(x, w, stride=2, padding=1, groups=2), drawn(0, 2, 4, 5), drawn(1, 2, 2, 3)
)
with_gradients(
    "conv2d", lambda x, w, b: F.conv2d(x, w, b, padding=1), drawn(0, 1, 2, 3, 2), drawn(1, 2, 2, 3, 2), drawn(2, 2)
)
with_gradients("same", lambda x, w: F.conv2d(x, w, padding="same"), drawn(0, 2, 3, 3), drawn(1, 1, 2, 3, 3))
with_gradients("conv3d", F.conv3d, drawn(0, 1, 1, 2, 3, 2), drawn(1, 1, 1, 2, 2, 2))
with_gradients("transposed", lambda x, w: F.conv_transpose1d(x, w, stride=2), drawn(0, 1, 2, 3), drawn(1, 2, 1, 2))
with_gradients(
    "transposed2", lambda x, w, b: F.conv_transpose2d(x, w, b), drawn(0, 1, 1, 2, 2), drawn(1, 1, 2, 2, 2), drawn(2, 2)
)
matrix = drawn(3, 3, 5)
with_gradients("cov", torch.cov, matrix)
with_gradients("corrcoef", torch.corrcoef, matrix)
with_gradients("cov of one", torch.cov, drawn(4, 6))
show("corrcoef of one", lambda: torch.corrcoef(drawn(4, 6)))
show("cov, counts", lambda: torch.cov(matrix, correction=0, fweights=torch.tensor([1, 2, 1, 1, 3])))
show("cov, weights", lambda: torch.cov(matrix, aweights=torch.tensor([1.0, 0.2, 0.1, 0.1, 3.0], dtype=torch.float64)))
with_gradients("logcumsumexp", lambda a: torch.logcumsumexp(a, 1), matrix)
show("logcumsumexp, large", lambda: (matrix * 30).logcumsumexp(0))
infinite = torch.complex(*torch.tensor([[-float("inf"), 0.0, 1.0], [0.0, 1.0, 3.0]], dtype=torch.float64))
show("logcumsumexp, from nothing", lambda: torch.logcumsumexp(infinite, 0).exp())
square, tall = drawn(5, 2, 3, 3), drawn(6, 4, 2)
for name, a in {"square": square, "tall": tall, "wide": tall.mT.clone()}.items():
    with_gradients(f"lu, {name}", torch.linalg.lu, a)
    with_gradients(f"lu_factor, {name}", lambda a: torch.linalg.lu_factor(a)[0], a)
    print(torch.linalg.lu_factor(a)[1].tolist())
show("lu_unpack", lambda: torch.lu_unpack(*torch.linalg.lu_factor(square)))
for options in ({}, {"adjoint": True}, {"left": False}, {"left": False, "adjoint": True}):
    shape = (2, 3, 2) if options.get("left", True) else (2, 2, 3)
    with_gradients(
        f"lu_solve {options}",
        lambda a, b, o=options: torch.linalg.lu_solve(*torch.linalg.lu_factor(a), b, **o),
        square,
        drawn(7, *shape),
    )
with_gradients("householder_product", torch.linalg.householder_product, drawn(8, 4, 2), drawn(9, 2))
show("geqrf", lambda: torch.geqrf(matrix))
show("ormqr", lambda: torch.ormqr(drawn(8, 4, 2), drawn(9, 2), drawn(10, 4, 1), True, True))
