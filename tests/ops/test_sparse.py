"""Sparse tensors against dense ones: products, gradients, shapes, what is refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import spirograd as sg

Array = np.ndarray[Any, Any]
random = np.random.default_rng(0)
DENSE = np.where(random.random((4, 6)) < 0.4, random.normal(size=(4, 6)), 0).astype(np.float32)
DENSE[2] = 0
X, Y, V = (random.normal(size=s).astype(np.float32) for s in ((6, 3), (2, 4), (6,)))
PLACES = np.array([[0, 3, 0, 1, 3], [5, 2, 5, 0, 1]])  # one of them twice, and not in order
VALUES = random.normal(size=5).astype(np.float32)


def coo(device: Any = "cpu", dtype: Any = sg.float32) -> Any:
    return sg.sparse_coo_tensor(PLACES, sg.tensor(VALUES, dtype=dtype, device=device), (4, 6))


def coo_dense() -> Array:
    dense = np.zeros((4, 6), np.float32)
    np.add.at(dense, tuple(PLACES), VALUES)
    return dense


def near(got: Any, want: Array) -> None:
    got = got.to_dense() if isinstance(got, sg.sparse.SparseTensor) else got
    assert tuple(got.shape) == want.shape
    np.testing.assert_allclose(got.detach().cpu().numpy(), want, rtol=1e-5, atol=1e-6)


def both(device: Any) -> list[tuple[Any, Array]]:
    dense = sg.tensor(DENSE, device=device)
    return [(coo(device), coo_dense()), (dense.to_sparse(), DENSE), (dense.to_sparse().to_sparse_csr(), DENSE)]


def test_dense_and_back(device: sg.Device) -> None:
    for sparse, dense in both(device):
        near(sparse, dense)
        near(sparse.coalesce(), dense)
        near(sparse.to_sparse_csr(), dense)
        near(sparse.to_sparse_csr().to_sparse_coo(), dense)
        near(sparse.T, dense.T)
        done = sparse.coalesce()
        rows, columns = np.nonzero(dense)
        assert done.indices().tolist() == [rows.tolist(), columns.tolist()]
        near(done.values(), dense[rows, columns])
        assert sparse.shape == (4, 6) and sparse.device == device and sparse.is_sparse and sparse.dtype == sg.float32


def test_compressed_rows(device: sg.Device) -> None:
    columns, values = [5, 0, 3], sg.tensor([1.0, 2.0, 3.0], device=device)
    sparse = sg.sparse_csr_tensor([0, 1, 1, 3], columns, values, (3, 6))
    want = np.zeros((3, 6), np.float32)
    want[0, 5], want[2, 0], want[2, 3] = 1, 2, 3
    near(sparse, want)
    near(sparse @ sg.tensor(X, device=device), want @ X)
    again = sg.tensor(want, device=device).to_sparse().to_sparse_csr()
    for made in (sparse, again):
        assert made.crow_indices().tolist() == [0, 1, 1, 3] and made.col_indices().tolist() == columns
        assert made.is_sparse_csr and made.values().tolist() == [1, 2, 3]


def test_products(device: sg.Device) -> None:
    x, y, v = (sg.tensor(a, device=device) for a in (X, Y, V))
    for sparse, dense in both(device):
        near(sparse @ x, dense @ X)
        near(sparse @ v, dense @ V)
        near(y @ sparse, Y @ dense)
        near(y[0] @ sparse, Y[0] @ dense)
        near(sparse.T @ y.T, dense.T @ Y.T)
        for product in (sg.mm, sg.matmul, sg.spmm, sg.sparse.mm, lambda a, b: a.mm(b)):
            near(product(sparse, x), dense @ X)
        near(sg.mm(sparse, x.T.contiguous().T[:, ::2]), dense @ X[:, ::2])
        bias = sg.ones(3, device=device)
        near(sg.sparse.addmm(bias, sparse, x, beta=2, alpha=0.5), 2 + 0.5 * dense @ X)
        near(sg.addmm(bias, sparse, x), 1 + dense @ X)


def test_elements(device: sg.Device) -> None:
    full = sg.tensor(DENSE + 1, device=device)
    for sparse, dense in both(device):
        near(sparse * 2.0, dense * 2)
        near(-sparse / 4, -dense / 4)
        near(sg.mul(sparse, sg.tensor(3.0, device=device)), dense * 3)
        near(sparse.coalesce() * full, dense * (DENSE + 1))
        near(sparse.coalesce() / full[:1], dense / (DENSE + 1)[:1])
        near(sparse + sparse, dense * 2)
        near(sparse - sparse.T.T, dense * 0)
        near(full + sparse, DENSE + 1 + dense)
        near(full - sparse, DENSE + 1 - dense)
        near(sg.relu(sparse.coalesce()), np.maximum(dense, 0))
        near(sg.sparse.sum(sparse), dense.sum())
        near(sg.sparse.sum(sparse, 0), dense.sum(0))
        near(sparse.sum(-1), dense.sum(1))
        exp = np.where(dense == 0, 0, np.exp(dense))
        totals = exp.sum(1, keepdims=True)
        near(sg.sparse.softmax(sparse, 1), exp / np.where(totals == 0, 1, totals))
        near(sg.sparse.softmax(sparse, -2), exp / np.where(exp.sum(0) == 0, 1, exp.sum(0)))


def test_more_dimensions(device: sg.Device) -> None:
    dense = np.zeros((2, 3, 4, 2), np.float32)
    dense[1, 0, 3], dense[0, 2, 1] = [1, 2], [3, 4]
    places = [[1, 0], [0, 2], [3, 1]]
    sparse = sg.sparse_coo_tensor(places, [[1.0, 2.0], [3.0, 4.0]], (2, 3, 4, 2), device=device)
    near(sparse, dense)
    near(sparse.coalesce(), dense)
    near(sparse.transpose(0, 2), dense.swapaxes(0, 2))
    near(sparse.sum(3), dense.sum(3))
    near(sparse.sum(1), dense.sum(1))
    assert sparse.sparse_dim() == 3 and sparse.dense_dim() == 1 and sparse.numel() == 48
    near(sg.tensor(dense, device=device).to_sparse(), dense)
    near(sg.tensor([0.0, 2.0], device=device).to_sparse(), np.float32([0, 2]))


def test_nothing_is_sparse_too(device: sg.Device) -> None:
    empty = sg.zeros(3, 2, device=device).to_sparse()
    near(empty, np.zeros((3, 2), np.float32))
    near(empty @ sg.ones(2, 4, device=device), np.zeros((3, 4), np.float32))
    assert empty._nnz() == 0 and empty.coalesce().values().shape == (0,)
    assert sg.sparse_coo_tensor([[1, 2]], [1.0, 2.0]).shape == (3,)
    assert sg.sparse_csr_tensor([0, 1], [4], [1.0]).shape == (1, 5)


def test_gradients_are_those_of_differences() -> None:
    values = sg.tensor(VALUES, dtype=sg.float64).requires_grad_()
    x, y = (sg.tensor(a, dtype=sg.float64).requires_grad_() for a in (X, Y))

    def call(values: sg.Tensor, x: sg.Tensor, y: sg.Tensor) -> sg.Tensor:
        a = sg.sparse_coo_tensor(PLACES, values, (4, 6))
        soft = sg.sparse.softmax(a, 1)
        return (y @ (a * x[:, 0]) @ x).sum(0) + (soft @ x).square().sum(0) + (y @ a.coalesce()).sin()[:, :3].sum(0)

    assert sg.autograd.gradcheck(call, [values, x, y])
    assert sg.autograd.gradgradcheck(call, [values, x, y])


def test_a_gradient_is_at_the_places(device: sg.Device) -> None:
    sparse = sg.sparse_coo_tensor(PLACES, sg.tensor(VALUES, device=device), (4, 6), requires_grad=True)
    x = sg.tensor(X, device=device)
    (sparse @ x).sum().backward()
    np.testing.assert_allclose(sparse.grad._values().cpu().numpy(), X.sum(1)[PLACES[1]], rtol=1e-5)
    dense = sg.tensor(DENSE, device=device).requires_grad_()
    (dense.to_sparse() * 3).to_dense().sum().backward()
    assert dense.grad.tolist() == np.where(DENSE == 0, 0, 3).tolist()


def test_it_moves_and_prints() -> None:
    sparse = coo().to(sg.float64)
    assert sparse.dtype == sg.float64 and sparse.cpu().double().device == sg.device("cpu")
    csr = sg.eye(2).to_sparse().to_sparse_csr()
    assert csr.to(sg.float64).is_sparse_csr
    assert repr(csr) == "tensor(crow_indices=[0, 1, 2], values=[1.0, 1.0], size=(2, 2), nnz=2, layout=sparse_csr)"
    assert not coo().is_coalesced() and coo().coalesce().is_coalesced() and len(coo()) == 4


def test_pytorch_says_the_same() -> None:
    torch = pytest.importorskip("torch")
    theirs, ours = torch.sparse_coo_tensor(PLACES, VALUES, (4, 6)), coo()
    near(ours @ sg.tensor(X), (theirs @ torch.tensor(X)).numpy())
    near(ours.coalesce().values(), theirs.coalesce().values().numpy())
    assert ours.coalesce().indices().tolist() == theirs.coalesce().indices().tolist()
    near(sg.sparse.softmax(ours, 1), torch.sparse.softmax(theirs, 1).to_dense().numpy())
    near(sg.sparse.sum(ours, 0), torch.sparse.sum(theirs, 0).to_dense().numpy())
    assert ours.to_sparse_csr().crow_indices().tolist() == theirs.coalesce().to_sparse_csr().crow_indices().tolist()


A = coo()


def test_products_of_two_sparse_matrices(device: sg.Device) -> None:
    a, b = coo().to(device).detach().coalesce(), coo().to(device).detach().T.coalesce()
    values = [x.values().requires_grad_() for x in (a, b)]
    x, y = (sg.sparse_coo_tensor(m.indices(), v, m.shape) for m, v in zip((a, b), values, strict=True))
    made = x @ y
    assert made.is_sparse and made.is_coalesced() and made.shape == (4, 4)
    assert sg.allclose(made.to_dense(), x.to_dense() @ y.to_dense(), atol=1e-5)
    weight = sg.arange(16.0, device=device).reshape(4, 4)
    grads = sg.autograd.grad((made.to_dense() * weight).sum(), values)
    dense = sg.autograd.grad(((x.to_dense() @ y.to_dense()) * weight).sum(), values)
    assert all(sg.allclose(g, h, atol=1e-4) for g, h in zip(grads, dense, strict=True))
    both = (a * b.T).to_dense()
    assert sg.allclose(both, a.to_dense() * b.T.to_dense())


@pytest.mark.parametrize(
    ("wrong", "error", "words"),
    [
        (lambda: A.indices(), RuntimeError, r"places may occur more than once; call coalesce\(\) first, or use _ind"),
        (lambda: A.values(), RuntimeError, r"values: places may occur more than once"),
        (lambda: A.crow_indices(), RuntimeError, r"the rows are not compressed; call to_sparse_csr\(\)"),
        (lambda: A @ A, ValueError, r"matmul: \[4, 6\] times \[4, 6\]; make the inner sizes equal"),
        (lambda: A * A.T, ValueError, r"mul: shapes \[4, 6\] and \[6, 4\]"),
        (lambda: A**0, TypeError, "pow: the exponent must be a number above 0"),
        (lambda: A[4], IndexError, "select: index 4 of 4; use -4 to 3"),
        (lambda: A[:2], TypeError, "index: a slice into sparse tensors"),
        (lambda: sg.cat([A, sg.ones(4, 6)]), TypeError, "cat: some are sparse, others are not"),
        (lambda: sg.cat([A, A.T]), ValueError, r"cat: shapes \[\[4, 6\], \[6, 4\]\] along 0"),
        (lambda: sg.bmm(A, sg.ones(1, 6, 2)), ValueError, r"bmm: \[4, 6\] times \[1, 6, 2\]"),
        (lambda: sg.sparse.sampled_addmm(A, sg.ones(4, 2), sg.ones(3, 6)), ValueError, "make the sizes equal"),
        (lambda: sg.sparse.spdiags(sg.ones(2, 3), sg.tensor([0]), (3, 3)), ValueError, r"spdiags: diagonals \[2, 3\]"),
        (lambda: A @ sg.ones(5, 2), ValueError, r"matmul: \[4, 6\] times \[5, 2\]; give a dense matrix or vector of 6"),
        (lambda: A + 1.0, TypeError, "add: a number would fill all places"),
        (lambda: A + A.T, ValueError, r"add: shapes \[4, 6\] and \[6, 4\]"),
        (lambda: sg.exp(A), TypeError, r"exp: sparse tensors are not supported; use to_dense\(\)"),
        (lambda: A.exp(), AttributeError, "SparseTensor: there is no exp; use to_dense"),
        (lambda: sg.sparse.sum(A, 2), IndexError, "sum: dim is 2 for 2 dimension"),
        (lambda: sg.tensor(1.0).to_sparse(), ValueError, "to_sparse: a tensor without dimensions"),
        (lambda: sg.sparse_coo_tensor([0, 1], [1.0, 2.0]), ValueError, r"indices \[2\], values \[2\]; give \[dim"),
        (lambda: sg.sparse_coo_tensor([[0], [1]], [1.0], (2,)), ValueError, r"size \[2\] for indices \[2, 1\]"),
        (lambda: sg.sparse_coo_tensor([[0], [9]], [1.0], (2, 2)).to_dense().tolist(), IndexError, "out of range"),
        (lambda: sg.sparse_csr_tensor([0, 1], [0, 1], [1.0]), ValueError, r"crow_indices \[2\], col_indices \[2\]"),
        (lambda: sg.sparse_csr_tensor([0, 1], [0], [1.0], (2, 2)), ValueError, r"size \[2, 2\] for crow_indices \[2\]"),
        (lambda: sg.ones(2, 2, 2).to_sparse() @ sg.ones(2), ValueError, "give a matrix of numbers"),
    ],
)
def test_what_is_wrong_is_said(wrong: Callable[[], Any], error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        wrong()
