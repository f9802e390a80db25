"""Layers and losses of PyTorch that few programs use, and what they give."""

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.utils import parametrizations

rng = np.random.default_rng(0)


def T(*s):
    return torch.tensor(rng.standard_normal(s).astype(np.float32))


def show(name, v):
    if v.is_complex():
        v = torch.view_as_real(v)
    v = v.detach().double()
    print(
        name,
        tuple(v.shape),
        [float(f"{x:.4g}") + 0.0 for x in v.flatten()[:12].tolist()],
        f"{v.abs().sum().item():.5g}",
    )


places = torch.tensor([[5, 22], [0, 59]])
show("unravel", torch.stack(torch.unravel_index(places, (3, 4, 5))))
show("unravel", torch.stack(torch.unravel_index(torch.tensor(7), (3, 4))))

x = T(3, 5).requires_grad_()
y = torch.tensor([[3, 0, -1, 1, 2], [-1, 1, 1, 1, 1], [4, 1, 0, 2, 3]])
for reduction in ("mean", "sum", "none"):
    show("multilabel", nn.MultiLabelMarginLoss(reduction=reduction)(x, y))
F.multilabel_margin_loss(x, y).backward()
show("grad", x.grad)
show("multilabel", F.multilabel_margin_loss(x[0], y[0]))

net = nn.AdaptiveLogSoftmaxWithLoss(16, 30, [4, 10, 20], div_value=2.0, head_bias=True)
for name, p in net.named_parameters():
    print(name, tuple(p.shape))
    p.data.copy_(T(*p.shape))
x = T(9, 16).requires_grad_()
target = torch.tensor([0, 3, 4, 9, 10, 19, 20, 29, 1])
out = net(x, target)
show("output", out.output)
show("loss", out.loss)
out.loss.backward()
show("grad", x.grad)
show("grad", net.head.weight.grad)
show("grad", net.tail[1][0].weight.grad)
show("log_prob", net.log_prob(x))
print(net.predict(x).tolist())
show("one", net(x[0], target[0]).output)

for n, k in ((4, 4), (5, 3), (3, 5)):
    for orthogonal_map in (None, "matrix_exp", "cayley", "householder"):
        for trivial in (True, False):
            net = nn.Linear(k, n, bias=False)
            net.weight.data.copy_(T(n, k) / 2)
            if trivial and n == k:
                net.weight.data.copy_(torch.linalg.qr(net.weight.detach())[0])
            parametrizations.orthogonal(net, orthogonal_map=orthogonal_map, use_trivialization=trivial)
            w = net.weight
            square = w @ w.T if n <= k else w.T @ w
            near = bool((square - torch.eye(min(n, k))).abs().max() < 1e-5)
            original = net.parametrizations.weight.original
            print((n, k), orthogonal_map, trivial, near, tuple(original.shape), sorted(net.state_dict()))
            if not trivial or n == k:  # else it starts from random columns
                show("weight", w)
                net.weight.square().mul(torch.arange(1.0, k + 1)).sum().backward()
                show("grad", original.grad)
show("householder", torch.linalg.householder_product(T(5, 3), torch.tensor([1.5, 0.0, 0.7])))
a, z = T(4).abs(), T(4).abs()
show("gammainc", torch.special.gammainc(a, z))
show("gammaincc", torch.special.gammaincc(a, z))

image = T(2, 3, 7, 6)
samples = torch.linspace(0, 0.9, 12).reshape(2, 3, 2)
for size in ((3, 4), (1, 6), (6, 1)):
    pool = nn.FractionalMaxPool2d((2, 1), output_size=size, return_indices=True, _random_samples=samples)
    for found in pool(image):
        show("fractional", found)
show("fractional", F.fractional_max_pool2d(image[0], 2, output_ratio=(0.5, 0.6), _random_samples=samples[:1]))
far = nn.TripletMarginWithDistanceLoss(distance_function=lambda a, b: (a - b).abs().sum(-1), margin=2.0, swap=True)
show("triplet", far(T(4, 3), T(4, 3), T(4, 3)))
low = T(5, 2) @ T(2, 3)
for matrix, right in ((low, T(5, 2)), (low.T, T(3, 2)), (T(5, 3), T(5, 1))):
    show("lstsq", torch.linalg.lstsq(matrix, right).solution)
layer = nn.MultiheadAttention(4, 2, add_bias_kv=True, add_zero_attn=True, batch_first=True)
with torch.no_grad():
    for p in layer.parameters():
        p.copy_(T(*p.shape))
print(sorted(layer.state_dict()))
x = T(2, 3, 4).requires_grad_()
padding = torch.tensor([[False, True, False], [False, False, False]])
y, weights = layer(x, x, x, key_padding_mask=padding, attn_mask=torch.ones(3, 3).triu(1).bool())
show("attention", y)
show("weights", weights)
y.square().sum().backward()
for p in (x, layer.bias_k, layer.bias_v):
    show("gradient", p.grad)

# ---- complex numbers ----
z = torch.complex(torch.tensor([[1.0, 2.0]]), torch.tensor([[3.0, 0.0]]))
print(torch.conj(z).imag.tolist(), torch.conj(z.T).imag.tolist(), torch.conj_physical(z).imag.tolist())
print(
    torch.real(z).tolist(), torch.imag(z).tolist(), torch.isreal(z).tolist(), torch.resolve_conj(z.conj()).imag.tolist()
)
print(f"{float(z.norm()):.5g} {float(torch.norm(z)):.5g}", [f"{v:.5g}" for v in z.norm(dim=0).tolist()])
a, b, c = (torch.complex(torch.arange(6.0).reshape(2, 3) - i, torch.ones(2, 3) * i) for i in (1, 2, 3))
for equation in ("ij,kj,kl->il", "ij,kj,kl", "ij,ij,ij->", "ij,kl,mj->km"):
    print(equation, torch.view_as_real(torch.einsum(equation, a, b, c)).flatten().tolist())

# ---- rows of tables ----
for options in ({}, {"lr": 0.1, "betas": (0.8, 0.95), "eps": 1e-4}, {"maximize": True, "lr": 0.01}):
    table = nn.Embedding(7, 3, sparse=True)
    table.weight.data = T(7, 3)
    adam = torch.optim.SparseAdam(table.parameters(), **options)
    for _ in range(5):
        adam.zero_grad()
        (table(torch.tensor(rng.integers(0, 7, 3).tolist())) * T(3, 3)).square().sum().backward()
        adam.step()
    kept = adam.state_dict()["state"][0]
    show(f"rows {kept['step']}", table.weight)
    show("means", kept["exp_avg"])
bag = nn.EmbeddingBag(5, 2, mode="sum", sparse=True)
bag.weight.data = T(5, 2)
for kind in (torch.optim.SGD, torch.optim.SparseAdam):
    step = kind(list(bag.parameters()), lr=0.1)
    bag.zero_grad()
    (bag(torch.tensor([0, 1, 1, 3]), torch.tensor([0, 2])) * T(2, 2)).sum().backward()
    step.step()
    show(kind.__name__, bag.weight)
for wrong in ({"lr": 0.0}, {"eps": -1.0}, {"betas": (1.0, 0.9)}):
    try:
        torch.optim.SparseAdam([torch.ones(1, requires_grad=True)], **wrong)
    except ValueError:
        print("refused", wrong)

# ---- normalisation across channels ----
for size, channels in ((5, 9), (3, 4), (4, 8), (7, 3), (2, 6)):
    x = T(2, channels, 3, 2).requires_grad_()
    layer = nn.CrossMapLRN2d(size, alpha=0.3, beta=0.6, k=2.0)
    y = layer(x)
    (y * T(2, channels, 3, 2)).sum().backward()
    show(str(layer), y)
    show("gradient", x.grad)
x = torch.arange(7)
for parts in (
    x.tensor_split(3),
    torch.tensor_split(x, indices=(2, 5)),
    x.tensor_split(sections=2),
    x.tensor_split([1]),
):
    print([p.tolist() for p in parts])
print([p.tolist() for p in torch.tensor_split(x, torch.tensor([3, 4])) + torch.tensor_split(x, torch.tensor(2), dim=0)])
