"""Tensors that become views of themselves: shapes, values, gradients, and what other views see."""

import torch

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


def weighted(y):
    return (y * torch.arange(1.0, 4.0).reshape(y.shape)).sum()


for name, form in FORMS.items():
    x = torch.tensor([[1.0, 2.0, 3.0]], requires_grad=True)
    y = x * 2
    before, more = y[0], y + 1
    assert form(y) is y
    print(name, tuple(y.shape), y.stride(), y.requires_grad, y.is_leaf, type(y.grad_fn).__name__ != "MulBackward0")
    y.retain_grad()
    (weighted(y) + more.sum() + before.sum()).backward()
    print(x.grad.tolist(), y.grad.tolist())

    x = torch.tensor([[1.0, 2.0, 3.0]], requires_grad=True)
    y = x * 2
    before = y[0]
    form(y)
    after = y.reshape(-1)
    y.mul_(5)
    before[1] = 7.0
    print(y.tolist(), before.tolist(), torch.autograd.grad(weighted(y) + after.sum(), x)[0].tolist())

    if name != "as_strided_":
        x = torch.tensor([[1.0, 2.0, 3.0, 4.0]], requires_grad=True)
        whole = x * 2
        part = whole[:, 1:]
        form(part)
        part.mul_(3)
        whole.mul_(2)
        print(whole.tolist(), part.tolist(), torch.autograd.grad(weighted(part) + whole.sum(), x)[0].tolist())

    for mode in (torch.no_grad(), torch.enable_grad()):
        leaf = torch.tensor([[1.0, 2.0, 3.0]], requires_grad=True)
        try:
            with mode:
                form(leaf)
            print(tuple(leaf.shape), leaf.is_leaf, leaf.requires_grad)
        except RuntimeError:
            print("RuntimeError")
    plain = torch.tensor([[1.0, 2.0, 3.0]])
    row = plain[0]
    form(plain).mul_(2)
    print(plain.tolist(), row.tolist())
    y = torch.tensor([[1.0, 2.0, 3.0]], requires_grad=True) * 2
    with torch.no_grad():
        form(y)
    print(tuple(y.shape), y.requires_grad)
