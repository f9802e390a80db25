"""Nodes and edges of gradient graphs, and hooks of several tensors."""

import torch
from torch.autograd.graph import GradientEdge, Node, get_gradient_edge, register_multi_grad_hook

# ---- hooks of several tensors ----
a = torch.ones(2, 3, requires_grad=True)
b = torch.full((2, 3), 2.0, requires_grad=True)
c, d = a * b, a * b
handle = register_multi_grad_hook((a, b, c, d), lambda grads: print([g is not None for g in grads], grads[0]))
c.sum().backward(retain_graph=True)
c.sum().backward(inputs=(a,), retain_graph=True)
(c + d).sum().backward(retain_graph=True)
torch.autograd.backward([c.sum(), d.sum()], retain_graph=True)
handle.remove()
c.sum().backward(retain_graph=True)
print("removed", a.grad)
with register_multi_grad_hook((a, b), lambda g: print("any", g), mode="any"):
    c.sum().backward(retain_graph=True)
    (c * 3).sum().backward(retain_graph=True)
c.sum().backward()
try:
    register_multi_grad_hook((a,), print, mode="some")
except ValueError:
    print("ValueError")

# ---- edges ----
x = torch.arange(3.0, requires_grad=True)
y = x.exp()
z = (y * y).sum()
edge = get_gradient_edge(y)
print(isinstance(edge, GradientEdge), type(edge.node).__name__, edge.output_nr, edge.node == y.grad_fn)
print(edge == get_gradient_edge(y), edge == get_gradient_edge(x), edge[:2] == (y.grad_fn, 0))
print(torch.autograd.grad(z, edge, retain_graph=True), torch.autograd.grad(z, [edge, x], retain_graph=True))
leaf = get_gradient_edge(x)
print(type(leaf.node).__name__, leaf.output_nr, torch.autograd.grad(z, leaf, retain_graph=True))
torch.autograd.backward(edge, grad_tensors=torch.ones(3), retain_graph=True)
print(x.grad)
x.grad = None
torch.autograd.backward(z, inputs=[leaf], retain_graph=True)
print(x.grad)
try:
    get_gradient_edge(torch.ones(1))
except RuntimeError:
    print("RuntimeError")


# ---- nodes ----
class Double(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, g):
        return g * 2


def show(node, depth=0):
    print(" " * depth + type(node).__name__)
    for following, _ in node.next_functions:
        if following is not None:
            show(following, depth + 1)


node = z.grad_fn
print(type(node).__name__, node.__class__.__name__, node.name(), repr(node).split(" object at ")[0])
print(node is z.grad_fn, len({node, z.grad_fn}), isinstance(node, Node), z)
print(type(Double.apply(x).grad_fn).__name__, x.grad_fn)
show((torch.tanh(torch.exp(x) + x * x) / 3).sum().grad_fn)
where = Double.apply(x).grad_fn.next_functions[0][0]
print(type(where).__name__, torch.equal(where.variable, x), hasattr(node, "variable"), hasattr(where, "variable"))
x.grad = None
handle = where.register_hook(lambda *grads: print("added up", grads))
(x * 2).sum().backward()
handle.remove()
(x * 2).sum().backward()
print(x.grad)
node.metadata["a"] = 1
print(z.grad_fn.metadata)
