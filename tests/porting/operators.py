"""Functions of PyTorch's operator table that have other forms too, and what they give."""

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

rng = np.random.default_rng(0)


def T(*s):
    return torch.tensor(rng.standard_normal(s).astype(np.float32))


def show(name, v):
    print(name, str(v.dtype), tuple(v.shape), [float(f"{x:.4g}") + 0.0 for x in v.detach().double().flatten().tolist()])


loss = nn.LinearCrossEntropyLoss(4, 3, out_features=(2,), bias=True, reduction="sum", ignore_index=1)
print(loss.linear, sorted(loss.state_dict()), nn.LinearCrossEntropyOptions().allow_retain_graph)
with torch.no_grad():
    loss.linear.weight.copy_(T(6, 4))
    loss.linear.bias.copy_(T(6))
show("loss", loss(T(5, 4), torch.tensor([[0, 1], [2, 0], [1, 1], [0, 0], [2, 2]])))
options = {"weight": torch.tensor([0.5, 1.0, 2.0]), "label_smoothing": 0.1, "reduction": "none"}
show("loss", F.linear_cross_entropy(T(4), T(3, 4), torch.tensor(2), **options))
show("loss", F.linear_cross_entropy(T(2, 4), T(3, 4), torch.softmax(T(2, 3), 1)))

pool = nn.FractionalMaxPool3d(2, output_size=(2, 3, 2), _random_samples=torch.full((1, 1, 3), 0.3))
show("pool", pool(T(1, 1, 4, 5, 6)))
show("pool", F.fractional_max_pool3d(T(1, 4, 4, 4), (2, 1, 2), output_ratio=0.5, return_indices=True)[0][0, 0, 0, :0])

bag = nn.EmbeddingBag(4, 2, max_norm=1.0, norm_type=1.0, scale_grad_by_freq=True, _weight=T(4, 2), mode="sum")
bag(torch.tensor([1, 3, 3, 0]), torch.tensor([0, 3])).sum().backward()
show("bag", bag.weight)
show("bag", bag.weight.grad)

x = torch.arange(6.0).reshape(2, 3)
for reduce in ("add", "multiply"):
    index = torch.tensor([[0, 1, 1]])
    show("scatter", x.scatter(0, index, torch.full((1, 3), 2.0), reduce=reduce))
    show("scatter", torch.scatter(x, 1, index, 3.0, reduce=reduce))
    show("scatter", x.clone().scatter_(1, index, 3.0, reduce=reduce))
show("scatter", torch.scatter(x, 1, torch.tensor([[0]]), value=7.0, out=torch.empty(2, 3)))
show("strided", x.clone().as_strided_((2, 2), (1, 3)))
print(x.new_empty_strided((2, 3), (1, 2)).stride(), torch.empty_permuted((2, 3, 4), (1, 2, 0)).stride())
for name in ("bfloat16", "bool", "byte", "char", "double", "float", "half", "int", "long", "short"):
    show(name, getattr(x, name)(memory_format=torch.preserve_format))
print(x.cfloat().dtype, x.cdouble().dtype, x.conj_physical_().dtype)
show("rdiv", (x + 1).__rdiv__(2.0))
show("select", torch.select_copy(x, 1, -1))
show("slice", torch.slice_copy(x, 1, 1, None, 2))
show("slice", torch.ops.aten.slice(x, 1, -2))
for part in (*torch.split_copy(x, 2, 1), *torch.unbind_copy(x, 1), *torch.split_with_sizes_copy(x, [1, 2], 1)):
    show("part", part)
y, mask = torch.native_dropout(torch.ones(3), 0.5, False)
show("dropout", y * mask)
print(tuple(torch.native_dropout(torch.ones(5), 0.5, True)[1].shape))

a = torch.tensor([[0.0, 2.0, 1.0], [2.0, 0.0, 3.0], [1.0, 3.0, 0.0]])
factors, pivots = torch.linalg.ldl_factor(a)
show("ldl", factors.tril())
show("ldl", pivots)
show("ldl", torch.linalg.ldl_solve(factors, pivots, T(2, 3, 1)))
show("ldl", torch.linalg.ldl_factor_ex(torch.zeros(2, 2)).info)
q = torch.geqrf(T(4, 3))
show("qr", torch.ormqr(q.a, q.tau, T(4, 2), transpose=True))
show("qr", torch.ormqr(q.a, q.tau, T(2, 4), left=False))
show("solve", torch.triangular_solve(T(3, 1), a + torch.eye(3), upper=False, transpose=True).solution)
show("rank", torch.linalg.matrix_rank(torch.stack([a, a * 0]), atol=torch.tensor([1.5, 1.0]), hermitian=True))
for driver in ("gels", "gelsy", "gelsd"):
    found = torch.linalg.lstsq(T(4, 2), T(4, 1), driver=driver)
    print(driver, [tuple(part.shape) for part in found], found.rank.tolist())
show("segments", torch.segment_reduce(T(2, 4), "mean", lengths=torch.tensor([[1, 3], [4, 0]]), axis=1))
show("segments", torch.segment_reduce(T(4, 2), "max", offsets=torch.tensor([0, 0, 3, 4]), initial=0.5))
show(
    "trapezoid", torch.trapezoid(torch.tensor([1, 2, 4], dtype=torch.uint8), torch.tensor([9, 3, 1], dtype=torch.uint8))
)
show("logit", torch.logit(torch.tensor([False, True])))
image = torch.tensor([[[[0, 200], [100, 50]]]], dtype=torch.uint8)
show("image", F.interpolate(image, size=(3, 4), mode="bilinear"))
show("image", F.interpolate(image, scale_factor=2, mode="bicubic"))
show("reversed", reversed(T(3, 2)))
show("reversed", reversed(torch.tensor(2)))
