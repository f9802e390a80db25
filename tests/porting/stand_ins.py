"""Sparse and complex tensors, and functions that few programs use."""

import torch


def show(label, *values):
    print(label, *[v.detach() if callable(getattr(v, "detach", None)) else v for v in values])


# ---- sparse ----
places, values = torch.tensor([[0, 1, 1, 2], [2, 0, 2, 1]]), torch.tensor([3.0, 4.0, 5.0, -1.0], requires_grad=True)
a = torch.sparse_coo_tensor(places, values, (3, 3))
b = torch.sparse_coo_tensor(places.flip(0), values.detach() * 2, (3, 3), requires_grad=True)
print(a.detach())
print(a.detach().double().coalesce())
print(torch.sparse_coo_tensor(places, torch.tensor([1, 2, 3, 4]), (3, 4)))
print(a.detach().to_sparse_csr())
print(a.layout, a.to_sparse_csr().layout, a.shape, a.t().size(), a.is_cuda)
product = torch.sparse.mm(a, b)
print(product.is_sparse, product.to_dense().detach())
(product.to_dense() * torch.arange(9.0).reshape(3, 3)).sum().backward()
show("grad", values.grad)
show("products", (a.detach() @ b.detach()).to_dense(), torch.mm(a.detach(), b.detach()).to_dense())
csr = a.detach().to_sparse_csr()
show("csr", (csr @ csr).to_dense())
c, d = a.detach().coalesce(), b.detach().coalesce()
show("times", (c * d).to_dense(), (c * torch.eye(3).to_sparse()).to_dense(), (c / 2).to_dense(), (c * 2).to_dense())
show("pow", c.pow(2).to_dense(), (c**2).to_dense())
twice = torch.sparse_coo_tensor(torch.tensor([[0, 0], [1, 1]]), torch.tensor([-1.0, 3.0]), (2, 2))
show(
    "one place twice",
    twice.abs().to_dense(),
    twice.sqrt().to_dense(),
    torch.square(twice).to_dense(),
    (-twice).to_dense(),
)
show("cat", torch.cat([c, d]).to_dense(), torch.cat([c, d, c], dim=1).shape)
show(
    "index_select",
    c.index_select(0, torch.tensor([1, 1, 0])).to_dense(),
    c.index_select(1, torch.tensor([2])).to_dense(),
)
show("rows", c[1].to_dense(), c[-1].to_dense(), c[1, 2], c.select(1, 2).to_dense())
cube = torch.stack([torch.eye(2), torch.ones(2, 2)]).to_sparse()
show("bmm", torch.bmm(cube, torch.arange(12.0).reshape(2, 2, 3)))
show("mask", torch.arange(9.0).reshape(3, 3).sparse_mask(c).to_dense())
show("softmax", torch.sparse.softmax(c, 1).to_dense(), torch.sparse.log_softmax(c, 1).to_dense())
show("log_softmax", torch.sparse.log_softmax(c, 0).coalesce().values())
diagonals = torch.arange(1.0, 7.0).reshape(2, 3)
show("spdiags", torch.sparse.spdiags(diagonals, torch.tensor([0, -1]), (3, 3)).to_dense())
show("spdiags", torch.sparse.spdiags(diagonals, torch.tensor([1, 2]), (2, 4)).to_dense())
left, right = torch.arange(6.0).reshape(3, 2), torch.arange(6.0).reshape(2, 3)
show("sampled", torch.sparse.sampled_addmm(csr, left, right, beta=0.5, alpha=2.0).to_dense())

# ---- complex ----
z = torch.complex(torch.tensor([1.0, 2.0, 0.0]), torch.tensor([3.0, -1.0, 0.5]))
for name, arguments in {
    "add_": (1j,), "sub_": (2.0,), "mul_": (1 + 1j,), "div_": (2j,), "neg_": (), "square_": (), "exp_": (), "sqrt_": (),
}.items():  # fmt: skip
    w = z.clone()
    show(name, getattr(w, name)(*arguments) is w, torch.view_as_real(w))
w = torch.ones(2, dtype=torch.complex64, requires_grad=True)
u = w * 2
u.mul_(w)
u.real.sum().backward()
show("grad", torch.view_as_real(w.grad) + 0.0)
show(
    "prod",
    torch.view_as_real(z.prod()),
    torch.view_as_real(torch.stack([z, z]).prod(0)),
    z.var(),
    z.std(unbiased=False),
)
show("tan", torch.view_as_real(z.tan()), torch.view_as_real(z.repeat_interleave(2)))
show("new", z.new_zeros(2).dtype, z.new_ones(1, 2).shape, z.new_empty(3, dtype=torch.float32).dtype)
show("counts", z.any(), z.all(), z.count_nonzero(), torch.zeros(2, dtype=torch.complex64).any())
show(
    "of itself", z.data.shape, z.is_leaf, z.is_contiguous(), z.element_size(), z.nbytes, z.is_cuda, z.layout, z.grad_fn
)

print(torch.is_tensor(z), torch.is_tensor(a), torch.is_tensor(z.real), torch.is_tensor([1.0]))

# ---- others ----
x = torch.sin(torch.arange(12.0)).reshape(6, 2).requires_grad_()
lengths = torch.tensor([2, 0, 3, 1])
for reduce in ("sum", "mean", "max", "min", "prod"):
    found = torch.segment_reduce(x, reduce, lengths=lengths, axis=0)
    (grad,) = torch.autograd.grad(torch.nan_to_num(found, 0, 0, 0).sum(), x)
    show(f"segment_reduce {reduce}", found, grad)
show("offsets", torch.segment_reduce(x.detach(), "max", offsets=torch.tensor([0, 4, 6]), initial=0.5))
y = x.detach().softmax(1)
show("softmax backward", torch._softmax_backward_data(x.detach(), y, 1, torch.float32))
show("log_softmax backward", torch._log_softmax_backward_data(x.detach(), y.log(), 1, torch.float32))
points = torch.tensor([[0.0, 1.0], [1.0, 0.0], [2.0, 0.0], [2.0, 2.0]])
counts = torch.histogramdd(points, bins=[3, 2], weight=torch.tensor([1.0, 2.0, 4.0, 8.0]))
show("histogramdd", counts.hist, *counts.bin_edges)
show("density", torch.histogramdd(points, [2, 2], range=[0.0, 1.0, 0.0, 1.0], density=True).hist)
matrix = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
show("norms", torch.frobenius_norm(matrix, dim=(0, 1)), torch.nuclear_norm(matrix))
show(
    "nonzero_static",
    torch.nonzero_static(torch.tensor([0, 2, 3]), size=3),
    torch.tensor([1, 2, 3]).nonzero_static(size=2),
)
show("binomial", torch.binomial(torch.full((3,), 5.0), torch.tensor([0.0, 1.0, 1.0])))
torch.linalg.norm(matrix)  # imports the module of that name
show(
    "norm_except_dim",
    torch.norm_except_dim(matrix, 2, 0),
    torch.norm_except_dim(matrix, 1, 1),
    torch.norm_except_dim(matrix, 2, -1),
)
show("dense", torch.spmm(matrix, matrix), torch.dsmm(matrix, matrix))
for name in ("arccos_", "digamma_", "lgamma_", "sinc_"):
    try:
        print(getattr(torch.tensor([1, 2]), name)())
    except RuntimeError:
        print(name, "RuntimeError")
print(
    torch.tensor([1.0, 2.0]).eq_(torch.tensor([1, 3])),
    torch.tensor([5, 2]).cumsum_(0),
    torch.tensor([5, 2]).negative_(),
)
show(
    "rank",
    torch.linalg.matrix_rank(matrix),
    torch.linalg.matrix_rank(matrix, 1.0),
    torch.linalg.matrix_rank(matrix, atol=9.0),
)
