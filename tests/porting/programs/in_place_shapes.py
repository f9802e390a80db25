"""Tensors that become views of themselves: shapes, values, gradients, and what other views see."""

import pytest
import torch

from checking import check

FORMS = {
    "squeeze_": lambda y: y.squeeze_(),
    "squeeze_(0)": lambda y: y.squeeze_(0),
    "unsqueeze_": lambda y: y.unsqueeze_(1),
    "t_": lambda y: y.t_(),
    "transpose_": lambda y: y.transpose_(0, 1),
    "swapaxes_": lambda y: y.swapaxes_(0, 1),
    "swapdims_": lambda y: y.swapdims_(-1, 0),
    "as_strided_": lambda y: y.as_strided_((3, 1), (1, 3)),
}
every = pytest.mark.parametrize("name", FORMS)


def weighted(y):
    return (y * torch.arange(1.0, 4.0).reshape(y.shape)).sum()


def row():
    return torch.tensor([[1.0, 2.0, 3.0]])


@every
def test_gradients(name):
    x = row().requires_grad_()
    y = x * 2
    before, more = y[0], y + 1
    assert FORMS[name](y) is y
    check(tuple(y.shape), y.stride(), y.requires_grad, y.is_leaf, type(y.grad_fn).__name__ != "MulBackward0")
    y.retain_grad()
    (weighted(y) + more.sum() + before.sum()).backward()
    check(x.grad, y.grad)


@every
def test_views_before_and_after(name):
    x = row().requires_grad_()
    y = x * 2
    before = y[0]
    FORMS[name](y)
    after = y.reshape(-1)
    y.mul_(5)
    before[1] = 7.0
    check(y, before, torch.autograd.grad(weighted(y) + after.sum(), x)[0])


@pytest.mark.parametrize("name", [name for name in FORMS if name != "as_strided_"])
def test_a_part_of_a_tensor(name):
    x = torch.tensor([[1.0, 2.0, 3.0, 4.0]], requires_grad=True)
    whole = x * 2
    part = whole[:, 1:]
    FORMS[name](part)
    part.mul_(3)
    whole.mul_(2)
    check(whole, part, torch.autograd.grad(weighted(part) + whole.sum(), x)[0])


@every
@pytest.mark.parametrize("mode", [torch.no_grad, torch.enable_grad])
def test_a_leaf(name, mode):
    leaf = row().requires_grad_()
    try:
        with mode():
            FORMS[name](leaf)
        check(tuple(leaf.shape), leaf.is_leaf, leaf.requires_grad)
    except RuntimeError:
        check("RuntimeError")


@every
def test_without_a_graph(name):
    plain = row()
    first = plain[0]
    FORMS[name](plain).mul_(2)
    check(plain, first)


@every
def test_under_no_grad(name):
    y = row().requires_grad_() * 2
    with torch.no_grad():
        FORMS[name](y)
    check(tuple(y.shape), y.requires_grad)
