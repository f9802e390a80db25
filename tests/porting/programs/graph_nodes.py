"""Nodes and edges of gradient graphs, and hooks of several tensors."""

import pytest
import torch
from torch.autograd.graph import GradientEdge, Node, get_gradient_edge, register_multi_grad_hook

from checking import check


# ---- hooks of several tensors ----------------------------------------------------------------------------------------
def products():
    a = torch.ones(2, 3, requires_grad=True)
    b = torch.full((2, 3), 2.0, requires_grad=True)
    return a, b, a * b, a * b


def test_a_hook_of_several_tensors():
    a, b, c, d = products()
    handle = register_multi_grad_hook((a, b, c, d), lambda grads: check([g is not None for g in grads], grads[0]))
    c.sum().backward(retain_graph=True)
    c.sum().backward(inputs=(a,), retain_graph=True)
    (c + d).sum().backward(retain_graph=True)
    torch.autograd.backward([c.sum(), d.sum()], retain_graph=True)
    handle.remove()
    c.sum().backward(retain_graph=True)
    check("removed", a.grad)


def test_a_hook_of_any_of_several_tensors():
    a, b, c, _ = products()
    with register_multi_grad_hook((a, b), lambda g: check("any", g), mode="any"):
        c.sum().backward(retain_graph=True)
        (c * 3).sum().backward(retain_graph=True)
    c.sum().backward()


def test_a_mode_that_is_none():
    with pytest.raises(ValueError):
        register_multi_grad_hook((torch.ones(1, requires_grad=True),), print, mode="some")


# ---- edges -----------------------------------------------------------------------------------------------------------
def squares():
    x = torch.arange(3.0, requires_grad=True)
    y = x.exp()
    return x, y, (y * y).sum()


def test_what_an_edge_is():
    x, y, _ = squares()
    edge = get_gradient_edge(y)
    check(isinstance(edge, GradientEdge), type(edge.node).__name__, edge.output_nr, edge.node == y.grad_fn)
    check(edge == get_gradient_edge(y), edge == get_gradient_edge(x), edge[:2] == (y.grad_fn, 0))


def test_gradients_by_edges():
    x, y, z = squares()
    edge, leaf = get_gradient_edge(y), get_gradient_edge(x)
    check(torch.autograd.grad(z, edge, retain_graph=True), torch.autograd.grad(z, [edge, x], retain_graph=True))
    check(type(leaf.node).__name__, leaf.output_nr, torch.autograd.grad(z, leaf, retain_graph=True))


def test_backward_from_and_to_an_edge():
    x, y, z = squares()
    torch.autograd.backward(get_gradient_edge(y), grad_tensors=torch.ones(3), retain_graph=True)
    check(x.grad)
    x.grad = None
    torch.autograd.backward(z, inputs=[get_gradient_edge(x)], retain_graph=True)
    check(x.grad)


def test_a_tensor_without_an_edge():
    with pytest.raises(RuntimeError):
        get_gradient_edge(torch.ones(1))


# ---- nodes -----------------------------------------------------------------------------------------------------------
class Double(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, g):
        return g * 2


def names(node):
    """The names of a node and of those below it."""
    return [type(node).__name__, *[names(below) for below, _ in node.next_functions if below is not None]]


def test_names_of_nodes():
    x, _, z = squares()
    node = z.grad_fn
    check(type(node).__name__, node.__class__.__name__, node.name(), repr(node).split(" object at ")[0])
    check(type(Double.apply(x).grad_fn).__name__, x.grad_fn, str(z))
    check(names((torch.tanh(torch.exp(x) + x * x) / 3).sum().grad_fn))


def test_one_node_is_one_object():
    _, _, z = squares()
    node = z.grad_fn
    check(node is z.grad_fn, len({node, z.grad_fn}), isinstance(node, Node))
    node.metadata["a"] = 1
    check(z.grad_fn.metadata)


def test_the_node_of_a_leaf():
    x, _, z = squares()
    where = Double.apply(x).grad_fn.next_functions[0][0]
    check(type(where).__name__, torch.equal(where.variable, x), hasattr(z.grad_fn, "variable"))
    handle = where.register_hook(lambda *grads: check("added up", [str(g) for g in grads]))
    (x * 2).sum().backward()
    handle.remove()
    (x * 2).sum().backward()
    check(x.grad)
