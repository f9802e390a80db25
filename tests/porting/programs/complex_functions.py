"""Complex tensors: transforms of functions, hooks, convolutions, statistics, factors of matrices; with gradients."""

import warnings

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import func
from torch.autograd import functional

from checking import check

warnings.simplefilter("ignore")


def complex_of(seed, *shape):
    random = np.random.default_rng(seed)
    return torch.from_numpy(random.normal(size=shape) + 1j * random.normal(size=shape))


def check_call(call):
    try:
        check(call())
    except (RuntimeError, TypeError, ValueError):
        check("error")


# ---- transforms ------------------------------------------------------------------------------------------------------
z, w, x = complex_of(0, 2), complex_of(1, 2), torch.tensor([1.0, 2.0], dtype=torch.float64)
FUNCTIONS = {
    "square": lambda z: z * z,
    "size": lambda z: z.abs() ** 2,
    "sum": lambda z: (z * w).abs().sum(),
    "conjugate": lambda z: z.conj() * w,
    "real": lambda z: z.real,
    "pair": lambda z: (z.exp(), z.abs()),
}
TRANSFORMS = {
    "grad": lambda f: func.grad(f)(z),
    "grad_and_value": lambda f: func.grad_and_value(f)(z),
    "vjp": lambda f: func.vjp(f, z)[1](f(z)),
    "jvp": lambda f: func.jvp(f, (z,), (w,)),
    "linearize": lambda f: func.linearize(f, z)[1](w),
    "vmap": lambda f: func.vmap(f)(torch.stack([z, w])),
    "jacrev": lambda f: func.jacrev(f)(z),
    "jacfwd": lambda f: func.jacfwd(f)(z),
    "jacobian": lambda f: functional.jacobian(f, z),
    "functional_jvp": lambda f: functional.jvp(f, z, w),
}


@pytest.mark.parametrize("transform", TRANSFORMS)
@pytest.mark.parametrize("function", FUNCTIONS)
def test_transform(function, transform):
    check_call(lambda: TRANSFORMS[transform](FUNCTIONS[function]))


@pytest.mark.parametrize("function", ["square", "sum", "real"])
def test_jacobian_forward_mode(function):
    f = FUNCTIONS[function]
    check_call(lambda: functional.jacobian(f, z, strategy="forward-mode", vectorize=True))


@pytest.mark.parametrize(
    "call",
    [
        pytest.param(lambda: functional.vjp(lambda z: z * w, z, w), id="functional.vjp"),
        pytest.param(lambda: func.vjp(lambda x: torch.complex(x, x * x).exp(), x)[1](w), id="vjp of a real tensor"),
        pytest.param(lambda: func.jvp(lambda x: torch.complex(x, x * x).exp(), (x,), (x,)), id="jvp of a real tensor"),
        pytest.param(lambda: func.grad(lambda a, b: (a * b).abs().sum(), argnums=(0, 1))(z, x), id="argnums"),
        pytest.param(lambda: func.vmap(func.grad(FUNCTIONS["sum"]))(torch.stack([z, w])), id="vmap of grad"),
    ],
)
def test_transform_of(call):
    check_call(call)


# ---- hooks -----------------------------------------------------------------------------------------------------------
LOSSES = {
    "both": lambda z: (z * w).abs().sum(),
    "real": lambda z: z.real.sum(),
    "imaginary": lambda z: z.imag.pow(2).sum(),
}


@pytest.mark.parametrize("loss", LOSSES)
def test_hook_of_a_leaf(loss):
    f, leaf, seen = LOSSES[loss], z.clone().requires_grad_(), []
    handle = leaf.register_hook(seen.append)
    f(leaf).backward()
    f(leaf).backward()
    handle.remove()
    f(leaf).backward()
    check(seen, leaf.grad)


@pytest.mark.parametrize("loss", LOSSES)
def test_hooks_that_change_a_gradient(loss):
    f, leaf = LOSSES[loss], z.clone().requires_grad_()
    leaf.register_hook(lambda g: g * (1 + 1j))
    leaf.register_hook(lambda g: g.conj())
    f(leaf).backward()
    check(leaf.grad, torch.autograd.grad(f(leaf), leaf))


@pytest.mark.parametrize("loss", LOSSES)
def test_hooks_inside_a_graph(loss):
    leaf, seen = z.clone().requires_grad_(), []
    y = leaf * w
    y.register_hook(seen.append)
    y.register_hook(lambda g: g * 1j)
    y.register_hook(lambda g: g * 0).remove()
    LOSSES[loss](y).backward()
    check(seen, leaf.grad)


def test_hook_of_a_tensor_without_gradient():
    check_call(lambda: z.register_hook(print))


def test_hook_of_a_parameter():
    parameter = torch.nn.Parameter(torch.tensor([1 + 1j], dtype=torch.complex128))
    parameter.register_hook(lambda g: g * 3)
    optimizer = torch.optim.SGD([parameter], lr=0.1)
    for _ in range(2):
        optimizer.zero_grad()
        (parameter * parameter.conj()).real.sum().backward()
        optimizer.step()
        check(parameter)


def test_hook_in_a_gradient_of_a_gradient():
    leaf = z.clone().requires_grad_()
    leaf.register_hook(lambda g: g * 2)
    (g,) = torch.autograd.grad((leaf * leaf).abs().sum(), leaf, create_graph=True)
    g.abs().sum().backward()
    check(g.detach(), leaf.grad)


# ---- functions, and gradients of a sum of what they give, weighted ---------------------------------------------------
def check_with_gradients(f, *inputs):
    leaves = [t.clone().requires_grad_() for t in inputs]
    made = f(*leaves)
    made = made if isinstance(made, (tuple, list)) else [made]
    made = [y for y in made if y.requires_grad]
    weights = [torch.arange(1.0, y.numel() + 1, dtype=torch.float64).reshape(y.shape) for y in made]
    total = sum((y * (v - 0.5j * v * v)).real.sum() for y, v in zip(made, weights, strict=True))
    total = total + sum((y * y.conj()).real.sum() for y in made)
    check(made, torch.autograd.grad(total, leaves))


CONVOLUTIONS = {
    "conv1d": (lambda x, w: F.conv1d(x, w, stride=2, padding=1, groups=2), (2, 4, 5), (2, 2, 3)),
    "conv2d": (lambda x, w, b: F.conv2d(x, w, b, padding=1), (1, 2, 3, 2), (2, 2, 3, 2), (2,)),
    "same": (lambda x, w: F.conv2d(x, w, padding="same"), (2, 3, 3), (1, 2, 3, 3)),
    "conv3d": (F.conv3d, (1, 1, 2, 3, 2), (1, 1, 2, 2, 2)),
    "conv_transpose1d": (lambda x, w: F.conv_transpose1d(x, w, stride=2), (1, 2, 3), (2, 1, 2)),
    "conv_transpose2d": (F.conv_transpose2d, (1, 1, 2, 2), (1, 2, 2, 2), (2,)),
}


@pytest.mark.parametrize("name", CONVOLUTIONS)
def test_convolution(name):
    f, *shapes = CONVOLUTIONS[name]
    check_with_gradients(f, *[complex_of(seed, *shape) for seed, shape in enumerate(shapes)])


matrix, square, tall = complex_of(3, 3, 5), complex_of(5, 2, 3, 3), complex_of(6, 4, 2)


@pytest.mark.parametrize(
    ("f", "x"),
    [
        pytest.param(torch.cov, matrix, id="cov"),
        pytest.param(torch.corrcoef, matrix, id="corrcoef"),
        pytest.param(torch.cov, complex_of(4, 6), id="cov of one"),
        pytest.param(lambda a: torch.logcumsumexp(a, 1), matrix, id="logcumsumexp"),
    ],
)
def test_statistics(f, x):
    check_with_gradients(f, x)


def test_statistics_without_gradients():
    weights = torch.tensor([1.0, 0.2, 0.1, 0.1, 3.0], dtype=torch.float64)
    check_call(lambda: torch.corrcoef(complex_of(4, 6)))
    check_call(lambda: torch.cov(matrix, correction=0, fweights=torch.tensor([1, 2, 1, 1, 3])))
    check_call(lambda: torch.cov(matrix, aweights=weights))


def test_logcumsumexp_of_large_and_infinite_numbers():
    check_call(lambda: (matrix * 30).logcumsumexp(0))
    infinite = torch.complex(*torch.tensor([[-float("inf"), 0.0, 1.0], [0.0, 1.0, 3.0]], dtype=torch.float64))
    check_call(lambda: torch.logcumsumexp(infinite, 0).exp())


@pytest.mark.parametrize("a", [square, tall, tall.mT.clone()], ids=["square", "tall", "wide"])
def test_lu(a):
    check_with_gradients(torch.linalg.lu, a)
    check_with_gradients(lambda a: torch.linalg.lu_factor(a)[0], a)
    check(torch.linalg.lu_factor(a)[1])


def test_lu_unpack():
    check_call(lambda: tuple(torch.lu_unpack(*torch.linalg.lu_factor(square))))


@pytest.mark.parametrize("left", [True, False], ids=["left", "right"])
@pytest.mark.parametrize("adjoint", [False, True], ids=["plain", "adjoint"])
def test_lu_solve(left, adjoint):
    check_with_gradients(
        lambda a, b: torch.linalg.lu_solve(*torch.linalg.lu_factor(a), b, left=left, adjoint=adjoint),
        square,
        complex_of(7, *((2, 3, 2) if left else (2, 2, 3))),
    )


def test_householder_product():
    check_with_gradients(torch.linalg.householder_product, complex_of(8, 4, 2), complex_of(9, 2))


def test_geqrf_and_ormqr():
    check_call(lambda: tuple(torch.geqrf(matrix)))
    check_call(lambda: torch.ormqr(complex_of(8, 4, 2), complex_of(9, 2), complex_of(10, 4, 1), True, True))
