"""Functions of PyTorch's operator table that have other forms too."""

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from checking import check, drawn

x = torch.arange(6.0).reshape(2, 3)


def test_linear_cross_entropy_loss():
    loss = nn.LinearCrossEntropyLoss(4, 3, out_features=(2,), bias=True, reduction="sum", ignore_index=1)
    check(loss.linear, sorted(loss.state_dict()), nn.LinearCrossEntropyOptions().allow_retain_graph)
    with torch.no_grad():
        loss.linear.weight.copy_(drawn(6, 4))
        loss.linear.bias.copy_(drawn(6))
    check(loss(drawn(5, 4), torch.tensor([[0, 1], [2, 0], [1, 1], [0, 0], [2, 2]])))


def test_linear_cross_entropy():
    options = {"weight": torch.tensor([0.5, 1.0, 2.0]), "label_smoothing": 0.1, "reduction": "none"}
    check(F.linear_cross_entropy(drawn(4), drawn(3, 4), torch.tensor(2), **options))
    check(F.linear_cross_entropy(drawn(2, 4), drawn(3, 4), torch.softmax(drawn(2, 3), 1)))


def test_fractional_max_pool3d():
    pool = nn.FractionalMaxPool3d(2, output_size=(2, 3, 2), _random_samples=torch.full((1, 1, 3), 0.3))
    check(pool(drawn(1, 1, 4, 5, 6)))
    pooled = F.fractional_max_pool3d(drawn(1, 4, 4, 4), (2, 1, 2), output_ratio=0.5, return_indices=True)
    check([part.shape for part in pooled])


def test_embedding_bag():
    options = {"max_norm": 1.0, "norm_type": 1.0, "scale_grad_by_freq": True, "mode": "sum"}
    bag = nn.EmbeddingBag(4, 2, _weight=drawn(4, 2), **options)
    bag(torch.tensor([1, 3, 3, 0]), torch.tensor([0, 3])).sum().backward()
    check(bag.weight, bag.weight.grad)


@pytest.mark.parametrize("reduce", ["add", "multiply"])
def test_scatter(reduce):
    index = torch.tensor([[0, 1, 1]])
    check(x.scatter(0, index, torch.full((1, 3), 2.0), reduce=reduce))
    check(torch.scatter(x, 1, index, 3.0, reduce=reduce))
    check(x.clone().scatter_(1, index, 3.0, reduce=reduce))


def test_scatter_into():
    check(torch.scatter(x, 1, torch.tensor([[0]]), value=7.0, out=torch.empty(2, 3)))


def test_strides():
    check(x.clone().as_strided_((2, 2), (1, 3)))
    check(x.new_empty_strided((2, 3), (1, 2)).stride(), torch.empty_permuted((2, 3, 4), (1, 2, 0)).stride())


TYPES = ["bfloat16", "bool", "byte", "char", "double", "float", "half", "int", "long", "short"]


@pytest.mark.parametrize("name", TYPES)
def test_conversion_with_a_memory_format(name):
    check(getattr(x, name)(memory_format=torch.preserve_format))


def test_complex_types():
    check(x.cfloat().dtype, x.cdouble().dtype, x.clone().conj_physical_().dtype)


def test_rdiv():
    check((x + 1).__rdiv__(2.0))


def test_copies_of_views():
    check(torch.select_copy(x, 1, -1), torch.slice_copy(x, 1, 1, None, 2), torch.ops.aten.slice(x, 1, -2))
    check([*torch.split_copy(x, 2, 1), *torch.unbind_copy(x, 1), *torch.split_with_sizes_copy(x, [1, 2], 1)])


def test_native_dropout():
    y, mask = torch.native_dropout(torch.ones(3), 0.5, False)
    check(y * mask, tuple(torch.native_dropout(torch.ones(5), 0.5, True)[1].shape))


a = torch.tensor([[0.0, 2.0, 1.0], [2.0, 0.0, 3.0], [1.0, 3.0, 0.0]])


def test_ldl():
    factors, pivots = torch.linalg.ldl_factor(a)
    check(factors.tril(), pivots, torch.linalg.ldl_solve(factors, pivots, drawn(2, 3, 1)))
    check(torch.linalg.ldl_factor_ex(torch.zeros(2, 2)).info)


def test_ormqr():
    q = torch.geqrf(drawn(4, 3))
    check(torch.ormqr(q.a, q.tau, drawn(4, 2), transpose=True), torch.ormqr(q.a, q.tau, drawn(2, 4), left=False))


def test_triangular_solve():
    check(torch.triangular_solve(drawn(3, 1), a + torch.eye(3), upper=False, transpose=True).solution)


def test_matrix_rank():
    check(torch.linalg.matrix_rank(torch.stack([a, a * 0]), atol=torch.tensor([1.5, 1.0]), hermitian=True))


@pytest.mark.parametrize("driver", ["gels", "gelsy", "gelsd"])
def test_lstsq(driver):
    found = torch.linalg.lstsq(drawn(4, 2), drawn(4, 1), driver=driver)
    check([tuple(part.shape) for part in found], found.rank, found.solution)


def test_segment_reduce():
    check(torch.segment_reduce(drawn(2, 4), "mean", lengths=torch.tensor([[1, 3], [4, 0]]), axis=1))
    check(torch.segment_reduce(drawn(4, 2), "max", offsets=torch.tensor([0, 0, 3, 4]), initial=0.5))


def test_functions_of_integers():
    y, at = torch.tensor([1, 2, 4], dtype=torch.uint8), torch.tensor([9, 3, 1], dtype=torch.uint8)
    check(torch.trapezoid(y, at), torch.logit(torch.tensor([False, True])))


def test_interpolate_bytes():
    image = torch.tensor([[[[0, 200], [100, 50]]]], dtype=torch.uint8)
    check(F.interpolate(image, size=(3, 4), mode="bilinear"), F.interpolate(image, scale_factor=2, mode="bicubic"))


def test_reversed():
    check(reversed(drawn(3, 2)), reversed(torch.tensor(2)))
