"""Layers, losses and optimisers of PyTorch that few programs use."""

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.utils import parametrizations

from checking import check, drawn, draws


def test_unravel_index():
    check(torch.stack(torch.unravel_index(torch.tensor([[5, 22], [0, 59]]), (3, 4, 5))))
    check(torch.stack(torch.unravel_index(torch.tensor(7), (3, 4))))


LABELS = torch.tensor([[3, 0, -1, 1, 2], [-1, 1, 1, 1, 1], [4, 1, 0, 2, 3]])


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_multilabel_margin_loss(reduction):
    x = drawn(3, 5).requires_grad_()
    loss = nn.MultiLabelMarginLoss(reduction=reduction)(x, LABELS)
    loss.sum().backward()
    check(loss, x.grad, F.multilabel_margin_loss(x[0], LABELS[0]))


def test_adaptive_log_softmax_with_loss():
    net = nn.AdaptiveLogSoftmaxWithLoss(16, 30, [4, 10, 20], div_value=2.0, head_bias=True)
    for name, p in net.named_parameters():
        check(name, tuple(p.shape))
        p.data.copy_(drawn(*p.shape))
    x = drawn(9, 16).requires_grad_()
    target = torch.tensor([0, 3, 4, 9, 10, 19, 20, 29, 1])
    out = net(x, target)
    out.loss.backward()
    check(out.output, out.loss, x.grad, net.head.weight.grad, net.tail[1][0].weight.grad)
    check(net.log_prob(x), net.predict(x), net(x[0], target[0]).output)


@pytest.mark.parametrize("trivial", [True, False], ids=["trivialized", "plain"])
@pytest.mark.parametrize("orthogonal_map", [None, "matrix_exp", "cayley", "householder"])
@pytest.mark.parametrize(("n", "k"), [(4, 4), (5, 3), (3, 5)])
def test_orthogonal(n, k, orthogonal_map, trivial):
    net = nn.Linear(k, n, bias=False)
    net.weight.data.copy_(drawn(n, k) / 2)
    if trivial and n == k:
        net.weight.data.copy_(torch.linalg.qr(net.weight.detach())[0])
    parametrizations.orthogonal(net, orthogonal_map=orthogonal_map, use_trivialization=trivial)
    w = net.weight
    square = w @ w.T if n <= k else w.T @ w
    assert bool((square - torch.eye(min(n, k))).abs().max() < 1e-5)
    original = net.parametrizations.weight.original
    check(tuple(original.shape), sorted(net.state_dict()))
    if not trivial or n == k:  # else it starts from random columns
        net.weight.square().mul(torch.arange(1.0, k + 1)).sum().backward()
        check(w, original.grad)


def test_householder_product():
    check(torch.linalg.householder_product(drawn(5, 3), torch.tensor([1.5, 0.0, 0.7])))


def test_incomplete_gamma():
    a, z = drawn(4).abs(), drawn(4).abs()
    check(torch.special.gammainc(a, z), torch.special.gammaincc(a, z))


SAMPLES = torch.linspace(0, 0.9, 12).reshape(2, 3, 2)


@pytest.mark.parametrize("size", [(3, 4), (1, 6), (6, 1)])
def test_fractional_max_pool2d(size):
    pool = nn.FractionalMaxPool2d((2, 1), output_size=size, return_indices=True, _random_samples=SAMPLES)
    check(pool(drawn(2, 3, 7, 6)))


def test_fractional_max_pool2d_by_a_ratio():
    check(F.fractional_max_pool2d(drawn(3, 7, 6), 2, output_ratio=(0.5, 0.6), _random_samples=SAMPLES[:1]))


def test_triplet_margin_with_distance_loss():
    far = nn.TripletMarginWithDistanceLoss(distance_function=lambda a, b: (a - b).abs().sum(-1), margin=2.0, swap=True)
    check(far(drawn(4, 3), drawn(4, 3), drawn(4, 3)))


@pytest.mark.parametrize("kind", ["tall", "wide", "full"])
def test_lstsq(kind):
    low = drawn(5, 2) @ drawn(2, 3)
    matrix = {"tall": low, "wide": low.T, "full": drawn(5, 3)}[kind]
    check(torch.linalg.lstsq(matrix, drawn(matrix.shape[0], 2)).solution, within=(2e-4, 2e-5))


def test_attention_with_bias_and_zeros():
    layer = nn.MultiheadAttention(4, 2, add_bias_kv=True, add_zero_attn=True, batch_first=True)
    with torch.no_grad():
        for p in layer.parameters():
            p.copy_(drawn(*p.shape))
    x = drawn(2, 3, 4).requires_grad_()
    padding = torch.tensor([[False, True, False], [False, False, False]])
    y, weights = layer(x, x, x, key_padding_mask=padding, attn_mask=torch.ones(3, 3).triu(1).bool())
    y.square().sum().backward()
    check(sorted(layer.state_dict()), y, weights, x.grad, layer.bias_k.grad, layer.bias_v.grad, within=(2e-5, 1e-4))


# ---- complex numbers -------------------------------------------------------------------------------------------------
z = torch.complex(torch.tensor([[1.0, 2.0]]), torch.tensor([[3.0, 0.0]]))


def test_conjugates():
    check(torch.conj(z).imag, torch.conj(z.T).imag, torch.conj_physical(z).imag, torch.resolve_conj(z.conj()).imag)


def test_real_and_imaginary_parts():
    check(torch.real(z), torch.imag(z), torch.isreal(z))


def test_norm():
    check(z.norm(), torch.norm(z), z.norm(dim=0))


@pytest.mark.parametrize("equation", ["ij,kj,kl->il", "ij,kj,kl", "ij,ij,ij->", "ij,kl,mj->km"])
def test_einsum_of_three(equation):
    parts = [torch.complex(torch.arange(6.0).reshape(2, 3) - i, torch.ones(2, 3) * i) for i in (1, 2, 3)]
    check(torch.einsum(equation, *parts))


# ---- rows of tables --------------------------------------------------------------------------------------------------
SPARSE_ADAM = {
    "plain": {},
    "options": {"lr": 0.1, "betas": (0.8, 0.95), "eps": 1e-4},
    "maximize": {"maximize": True, "lr": 0.01},
}


@pytest.mark.parametrize("options", SPARSE_ADAM)
def test_sparse_adam(options):
    table = nn.Embedding(7, 3, sparse=True)
    table.weight.data = drawn(7, 3)
    adam = torch.optim.SparseAdam(table.parameters(), **SPARSE_ADAM[options])
    for _ in range(5):
        adam.zero_grad()
        rows = torch.tensor(draws().integers(0, 7, 3).tolist())
        (table(rows) * drawn(3, 3)).square().sum().backward()
        adam.step()
    kept = adam.state_dict()["state"][0]
    check(kept["step"], table.weight, kept["exp_avg"], within=(2e-5, 1e-4))


@pytest.mark.parametrize("name", ["SGD", "SparseAdam"])
def test_a_sparse_embedding_bag(name):
    bag = nn.EmbeddingBag(5, 2, mode="sum", sparse=True)
    bag.weight.data = drawn(5, 2)
    optimiser = getattr(torch.optim, name)(list(bag.parameters()), lr=0.1)
    (bag(torch.tensor([0, 1, 1, 3]), torch.tensor([0, 2])) * drawn(2, 2)).sum().backward()
    optimiser.step()
    check(bag.weight)


@pytest.mark.parametrize("wrong", [{"lr": 0.0}, {"eps": -1.0}, {"betas": (1.0, 0.9)}], ids=str)
def test_sparse_adam_refuses(wrong):
    with pytest.raises(ValueError):
        torch.optim.SparseAdam([torch.ones(1, requires_grad=True)], **wrong)


# ---- normalisation across channels, and parts of tensors -------------------------------------------------------------
@pytest.mark.parametrize(("size", "channels"), [(5, 9), (3, 4), (4, 8), (7, 3), (2, 6)])
def test_cross_map_lrn2d(size, channels):
    x = drawn(2, channels, 3, 2).requires_grad_()
    layer = nn.CrossMapLRN2d(size, alpha=0.3, beta=0.6, k=2.0)
    y = layer(x)
    (y * drawn(2, channels, 3, 2)).sum().backward()
    check(str(layer), y, x.grad)


def test_tensor_split():
    x = torch.arange(7)
    check(x.tensor_split(3), torch.tensor_split(x, indices=(2, 5)), x.tensor_split(sections=2), x.tensor_split([1]))
    check(torch.tensor_split(x, torch.tensor([3, 4])), torch.tensor_split(x, torch.tensor(2), dim=0))
