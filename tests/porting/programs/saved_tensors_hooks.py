"""Hooks for what a Function saves."""

import pytest
import torch
from torch.autograd.graph import disable_saved_tensors_hooks, save_on_cpu, saved_tensors_hooks

from checking import check


class Scaled(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, w, factor):
        out = torch.exp(x * w)
        ctx.save_for_backward(x, w, out, None)
        ctx.factor = factor
        return out * factor, out

    @staticmethod
    def backward(ctx, g, h):
        x, w, out, nothing = ctx.saved_tensors
        assert nothing is None
        inner = (g * ctx.factor + h) * out
        return inner * w, (inner * x).sum(0), None


def two_orders():
    a = torch.linspace(-1, 1, 6, dtype=torch.float64).reshape(2, 3).requires_grad_()
    w = torch.tensor([0.5, -1.0, 2.0], dtype=torch.float64, requires_grad=True)
    y, z = Scaled.apply(a.sin(), w, 3.0)
    grads = torch.autograd.grad((y * y).sum() + z.sum(), (a, w), create_graph=True)
    second = torch.autograd.grad(grads[0].sum() + grads[1].square().sum(), (a, w))
    return [t.detach() for t in (y, *grads, *second)]


def test_without_hooks():
    check(two_orders())


def test_hooks_of_the_program():
    seen = []

    def pack(t):
        seen.append(("pack", tuple(t.shape)))
        assert not torch.is_grad_enabled()
        return t.detach().numpy().copy()

    def unpack(kept):
        seen.append(("unpack", kept.shape))
        return torch.from_numpy(kept)

    with saved_tensors_hooks(pack, unpack):
        check(two_orders())
    kinds = [s[0] for s in seen]
    check(kinds.index("unpack") > 2, ("pack", (3,)) in seen, ("pack", (2, 3)) in seen)


def test_save_on_cpu():
    with save_on_cpu(pin_memory=False):
        check(two_orders())


class Half(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**2

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return 2 * g * x


def test_the_inner_pair_counts():
    x = torch.ones(2, requires_grad=True)
    with saved_tensors_hooks(lambda t: t * 10, lambda t: t), saved_tensors_hooks(lambda t: t * 100, lambda t: t / 2):
        y = Half.apply(x)
        with torch.no_grad():
            Half.apply(x)
    x.data.mul_(3)  # is not seen: the hooks have their own copy
    y.sum().backward()
    check(x.grad)


def test_what_is_unpacked_must_be_a_tensor():
    with saved_tensors_hooks(lambda t: t, lambda t: 3):
        y = Half.apply(torch.ones(2, requires_grad=True))
    with pytest.raises(TypeError):
        y.sum().backward()


def test_disabled_hooks():
    with (
        disable_saved_tensors_hooks("not here"),
        pytest.raises(RuntimeError, match="not here"),
        saved_tensors_hooks(lambda t: t, lambda t: t),
    ):
        pass
    with saved_tensors_hooks(lambda t: t, lambda t: t):
        pass
