"""Sparse and complex tensors, and functions that few programs use."""

import pytest
import torch

from checking import check

# ---- sparse ----------------------------------------------------------------------------------------------------------
indices, values = torch.tensor([[0, 1, 1, 2], [2, 0, 2, 1]]), torch.tensor([3.0, 4.0, 5.0, -1.0])
a = torch.sparse_coo_tensor(indices, values, (3, 3))
c, d = a.coalesce(), torch.sparse_coo_tensor(indices.flip(0), values * 2, (3, 3)).coalesce()
csr = a.to_sparse_csr()


def test_how_sparse_tensors_print():
    check(str(a), str(a.double().coalesce()), str(torch.sparse_coo_tensor(indices, torch.tensor([1, 2, 3, 4]), (3, 4))))


@pytest.mark.filterwarnings("ignore")
def test_how_a_csr_tensor_prints():
    check(str(csr))


def test_attributes_of_sparse_tensors():
    check(a.layout, csr.layout, a.shape, a.t().size(), a.is_cuda)


def test_gradient_of_a_sparse_product():
    values_ = values.clone().requires_grad_()
    a = torch.sparse_coo_tensor(indices, values_, (3, 3))
    b = torch.sparse_coo_tensor(indices.flip(0), values * 2, (3, 3), requires_grad=True)
    product = torch.sparse.mm(a, b)
    (product.to_dense() * torch.arange(9.0).reshape(3, 3)).sum().backward()
    check(product.is_sparse, product.to_dense(), values_.grad)


def test_sparse_products():
    check((a @ d).to_dense(), torch.mm(a, d).to_dense(), (csr @ csr).to_dense())


def test_sparse_elementwise():
    check((c * d).to_dense(), (c * torch.eye(3).to_sparse()).to_dense(), (c / 2).to_dense(), (c * 2).to_dense())
    check(c.pow(2).to_dense(), (c**2).to_dense())


def test_functions_of_a_place_that_is_there_twice():
    twice = torch.sparse_coo_tensor(torch.tensor([[0, 0], [1, 1]]), torch.tensor([-1.0, 3.0]), (2, 2))
    check(twice.abs().to_dense(), twice.sqrt().to_dense(), torch.square(twice).to_dense(), (-twice).to_dense())


def test_sparse_cat():
    check(torch.cat([c, d]).to_dense(), torch.cat([c, d, c], dim=1).shape)


def test_sparse_index_select():
    check(c.index_select(0, torch.tensor([1, 1, 0])).to_dense(), c.index_select(1, torch.tensor([2])).to_dense())


def test_sparse_rows():
    check(c[1].to_dense(), c[-1].to_dense(), c[1, 2], c.select(1, 2).to_dense())


def test_sparse_bmm():
    cube = torch.stack([torch.eye(2), torch.ones(2, 2)]).to_sparse()
    check(torch.bmm(cube, torch.arange(12.0).reshape(2, 2, 3)))


def test_sparse_mask():
    check(torch.arange(9.0).reshape(3, 3).sparse_mask(c).to_dense())


def test_sparse_softmax():
    check(torch.sparse.softmax(c, 1).to_dense(), torch.sparse.log_softmax(c, 1).to_dense())
    check(torch.sparse.log_softmax(c, 0).coalesce().values())


def test_spdiags():
    diagonals = torch.arange(1.0, 7.0).reshape(2, 3)
    check(torch.sparse.spdiags(diagonals, torch.tensor([0, -1]), (3, 3)).to_dense())
    check(torch.sparse.spdiags(diagonals, torch.tensor([1, 2]), (2, 4)).to_dense())


def test_sampled_addmm():
    left, right = torch.arange(6.0).reshape(3, 2), torch.arange(6.0).reshape(2, 3)
    check(torch.sparse.sampled_addmm(csr, left, right, beta=0.5, alpha=2.0).to_dense())


# ---- complex ---------------------------------------------------------------------------------------------------------
z = torch.complex(torch.tensor([1.0, 2.0, 0.0]), torch.tensor([3.0, -1.0, 0.5]))
IN_PLACE = {"add_": (1j,), "sub_": (2.0,), "mul_": (1 + 1j,), "div_": (2j,)}
IN_PLACE |= dict.fromkeys(("neg_", "square_", "exp_", "sqrt_"), ())


@pytest.mark.parametrize("name", IN_PLACE)
def test_complex_in_place(name):
    w = z.clone()
    check(getattr(w, name)(*IN_PLACE[name]) is w, w)


def test_gradient_of_a_complex_in_place_operation():
    w = torch.ones(2, dtype=torch.complex64, requires_grad=True)
    u = w * 2
    u.mul_(w)
    u.real.sum().backward()
    check(w.grad)


def test_complex_reductions():
    check(z.prod(), torch.stack([z, z]).prod(0), z.var(), z.std(unbiased=False))
    check(z.any(), z.all(), z.count_nonzero(), torch.zeros(2, dtype=torch.complex64).any())


def test_complex_functions():
    check(z.tan(), z.repeat_interleave(2))


def test_new_tensors_like_a_complex_one():
    check(z.new_zeros(2).dtype, z.new_ones(1, 2).shape, z.new_empty(3, dtype=torch.float32).dtype)


def test_attributes_of_complex_tensors():
    check(z.data.shape, z.is_leaf, z.is_contiguous(), z.element_size(), z.nbytes, z.is_cuda, z.layout, z.grad_fn)


def test_is_tensor():
    check(torch.is_tensor(z), torch.is_tensor(a), torch.is_tensor(z.real), torch.is_tensor([1.0]))


# ---- others ----------------------------------------------------------------------------------------------------------
x = torch.sin(torch.arange(12.0)).reshape(6, 2)
matrix = torch.tensor([[1.0, 2.0], [3.0, 4.0]])


@pytest.mark.parametrize("reduce", ["sum", "mean", "max", "min", "prod"])
def test_segment_reduce(reduce):
    leaf = x.clone().requires_grad_()
    found = torch.segment_reduce(leaf, reduce, lengths=torch.tensor([2, 0, 3, 1]), axis=0)
    check(found, torch.autograd.grad(torch.nan_to_num(found, 0, 0, 0).sum(), leaf))


def test_segment_reduce_by_offsets():
    check(torch.segment_reduce(x, "max", offsets=torch.tensor([0, 4, 6]), initial=0.5))


def test_softmax_backward():
    y = x.softmax(1)
    check(torch._softmax_backward_data(x, y, 1, torch.float32))
    check(torch._log_softmax_backward_data(x, y.log(), 1, torch.float32))


def test_histogramdd():
    points = torch.tensor([[0.0, 1.0], [1.0, 0.0], [2.0, 0.0], [2.0, 2.0]])
    counts = torch.histogramdd(points, bins=[3, 2], weight=torch.tensor([1.0, 2.0, 4.0, 8.0]))
    check(counts.hist, list(counts.bin_edges))
    check(torch.histogramdd(points, [2, 2], range=[0.0, 1.0, 0.0, 1.0], density=True).hist)


def test_norms():
    check(torch.frobenius_norm(matrix, dim=(0, 1)), torch.nuclear_norm(matrix))


def test_nonzero_static():
    check(torch.nonzero_static(torch.tensor([0, 2, 3]), size=3), torch.tensor([1, 2, 3]).nonzero_static(size=2))


def test_binomial():
    check(torch.binomial(torch.full((3,), 5.0), torch.tensor([0.0, 1.0, 1.0])))


@pytest.mark.parametrize(("power", "dim"), [(2, 0), (1, 1), (2, -1)])
def test_norm_except_dim(power, dim):
    torch.linalg.norm(matrix)  # imports the module of that name
    check(torch.norm_except_dim(matrix, power, dim))


def test_products_of_dense_matrices():
    check(torch.spmm(matrix, matrix), torch.dsmm(matrix, matrix))


@pytest.mark.parametrize("name", ["arccos_", "digamma_", "lgamma_", "sinc_"])
def test_integers_do_not_hold_fractions(name):
    with pytest.raises(RuntimeError):
        getattr(torch.tensor([1, 2]), name)()


def test_in_place_functions():
    check(torch.tensor([1.0, 2.0]).eq_(torch.tensor([1, 3])), torch.tensor([5, 2]).cumsum_(0))
    check(torch.tensor([5, 2]).negative_())


def test_matrix_rank():
    check(torch.linalg.matrix_rank(matrix), torch.linalg.matrix_rank(matrix, 1.0))
    check(torch.linalg.matrix_rank(matrix, atol=9.0))
