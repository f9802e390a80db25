"""Neighbours and signs of numbers, and functions that are flat wherever they have a slope."""

import math

import pytest
import torch

from checking import check

VALUES = [0.0, -0.0, 1.0, -1.5, math.inf, -math.inf, math.nan, 65504.0, 6e-8, -6e-8, 1e-40, 3.4e38]
INTEGERS = {torch.float16: torch.int16, torch.bfloat16: torch.int16, torch.float32: torch.int32}


def check_slopes(function, *inputs):
    inputs = [x.clone().requires_grad_() for x in inputs]
    y = function(*inputs)
    check(y.requires_grad, torch.autograd.grad(y.sum(), inputs))


# ---- neighbours, signs -----------------------------------------------------------------------------------------------
@pytest.mark.parametrize("start", VALUES, ids=repr)
@pytest.mark.parametrize("name", ["float16", "bfloat16", "float32", "float64"])
def test_bits_of_nextafter(name, start):
    dtype = getattr(torch, name)
    a = torch.tensor(VALUES, dtype=torch.float64).to(dtype)
    after = torch.nextafter(torch.full((len(VALUES),), start, dtype=torch.float64).to(dtype), a)
    check(torch.where(after.isnan(), 0.0, after).view(INTEGERS.get(dtype, torch.int64)), after.isnan().sum().item())


def test_copysign():
    signs = torch.tensor([0.0, -0.0, 2.0, -2.0, math.inf, -math.inf])
    check(1 / torch.copysign(torch.tensor([[0.0], [-3.0]]), signs), torch.copysign(torch.tensor([3]), signs))


x, y = torch.tensor([1.0, 2.0, 3.0]), torch.tensor([1.0, 0.5, 5.0])


@pytest.mark.parametrize("name", ["nextafter", "copysign", "logaddexp2", "ldexp"])
def test_slopes_of(name):
    check_slopes(getattr(torch, name), x, y)


def test_ldexp():
    check(torch.ldexp(x, torch.tensor([-3, 100, 2])))


def test_xlog1py():
    check_slopes(torch.special.xlog1py, x, y)
    check(torch.special.xlog1py(torch.tensor([0.0, 0.0, 1.0]), torch.tensor([-1.0, math.nan, 2.0])))
    check(torch.special.xlog1py(x.double(), 0.1), torch.special.xlog1py(0.1, x.double()))


# ---- integers --------------------------------------------------------------------------------------------------------
small, large = torch.tensor([12, -18, 0, 100], dtype=torch.int8), torch.tensor([[8], [27]])


def test_gcd_and_lcm():
    check(torch.gcd(small, large), torch.gcd(small, torch.tensor(6)))
    check(torch.lcm(small, large), torch.lcm(small, torch.tensor(6, dtype=torch.int32)))


def test_hardtanh_of_integers():
    hardtanh = torch.nn.functional.hardtanh
    check(hardtanh(torch.tensor([1, 2, -3, 0])), hardtanh(small, -2.7, 1.9))


# ---- flat functions --------------------------------------------------------------------------------------------------
a = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
FLAT = {
    "matrix_power": (lambda x: torch.matrix_power(x, 0), a),
    "linalg.matrix_power": (lambda x: torch.linalg.matrix_power(x, 0), a),
    "cdist": (lambda x, y: torch.cdist(x, y, p=0.0), a, a + 1),
    "poisson": (torch.poisson, a),
    "bernoulli": (lambda x: torch.bernoulli(x / 9), a),
    "normal": (torch.normal, a, a),
}


@pytest.mark.parametrize("name", FLAT)
def test_flat(name):
    check_slopes(*FLAT[name])


def test_flat_grid_sample():
    image, grid = torch.ones(1, 1, 3, 3), torch.tensor([[[[0.1, -0.2], [0.7, 0.3]]]])
    sample = torch.nn.functional.grid_sample
    check_slopes(lambda x, g: sample(x, g, mode="nearest", align_corners=False), image, grid)


def test_without_gradients():
    y = torch.heaviside(a.clone().requires_grad_(), torch.tensor(1.0))
    check(y.requires_grad, torch.linalg.slogdet(a.clone().requires_grad_())[0].requires_grad)


def test_angle():
    z = torch.complex(torch.tensor([0.0, -0.0, 0.0, -0.0, -1.0]), torch.tensor([0.0, 0.0, -0.0, -0.0, -0.0]))
    check(z.angle(), torch.tensor([-1.0, 2.0, -0.0], dtype=torch.float64).angle())
