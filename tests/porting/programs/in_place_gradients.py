"""In-place functions whose gradients need what was there."""

import pytest
import torch

from checking import check

b = torch.cos(torch.arange(12, dtype=torch.float64)).reshape(3, 4)
CALLS = {
    "index_reduce_": lambda y, s: y.index_reduce_(0, torch.tensor([1, 1]), s[:2], "amax"),
    "renorm_": lambda y, s: y.renorm_(2, 0, 1.0),
    "lgamma_": lambda y, s: y.lgamma_(),
    "erfinv_": lambda y, s: y.erfinv_(),
    "i0_": lambda y, s: y.i0_(),
    "digamma_": lambda y, s: y.digamma_(),
    "put_": lambda y, s: y.put_(torch.tensor([1, 5]), s[0, :2]),
    "addr_": lambda y, s: y.addr_(s[:, 0], s[0]),
}


@pytest.mark.parametrize("name", CALLS)
def test_in_place(name):
    x = (torch.sin(torch.arange(12, dtype=torch.float64) * 0.9).abs() * 0.5 + 0.05).reshape(3, 4).requires_grad_()
    s = b.clone().requires_grad_()
    y = x * 1.5
    z = CALLS[name](y, s * 1.0)
    ((z * b).sum() + (y * y).sum() + 0 * s.sum()).backward()
    check(z is y, z, x.grad, s.grad)


def test_index_reduce_into_a_constant():
    base = torch.full((3,), float("-inf"))
    src = torch.tensor([0.5, 2.0, 1.0, -1.0], requires_grad=True)
    base.index_reduce_(0, torch.tensor([0, 0, 2, 1]), src, "amax").exp().sum().backward()
    check(src.grad)
