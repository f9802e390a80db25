"""Expressions of PyTorch, and what they give: run under PyTorch, and by `python -m spirograd run`."""

import numpy as np  # noqa: F401  (for the expressions)
import torch
import torch.nn as nn  # noqa: F401
import torch.nn.functional as F  # noqa: F401

a = torch.arange(12.0).reshape(3, 4) / 3 - 1.5
b = (torch.arange(12.0) * 7 % 5).reshape(3, 4) - 1
sq = torch.tensor([[4.0, 1, 0], [1, 3, 0.5], [0, 0.5, 2]])
v = torch.tensor([1.0, 2, 2, 5])
i3 = torch.arange(6.0).reshape(2, 3)

EXPRESSIONS = """
torch.addr(torch.zeros(4, 4), v, v, alpha=2)
a.adjoint()
torch.cdist(a, b)
torch.cdist(a, b, p=1)
torch.cross(i3, i3.flip(1), dim=1)
sq.det()
torch.diagflat(v, 1)
torch.dist(a, b)
sq.inverse()
a.put(torch.tensor([0, 5]), torch.tensor([9.0, 8.0]))
a.clone().put_(torch.tensor([0, 0]), torch.tensor([9.0, 8.0]), accumulate=True)
torch.range(1, 4)
torch.range(0, 1, 0.3)
torch.renorm(a, 2, 0, 1.0)
torch.select_scatter(a, torch.zeros(3), 1, 2)
torch.slice_scatter(a, torch.zeros(3, 2), 1, 1, 3)
torch.diagonal_scatter(a, torch.zeros(3))
torch.svd(sq)[1]
torch.trace(a)
torch.vander(v)
torch.vander(v, 3, increasing=True)
torch.combinations(v)
torch.column_stack([v, v])
torch.scalar_tensor(3)
torch.copysign(a, b)
torch.float_power(a, 2)
torch.fmax(a, b)
torch.fmin(torch.tensor([float('nan'), 1.0]), torch.tensor([2.0, float('nan')]))
torch.heaviside(b, torch.tensor(0.5))
torch.ldexp(v, torch.tensor([1, 2, 3, 4]))
torch.logaddexp2(a, b)
torch.logit(torch.tensor([0.1, 0.9]))
torch.mvlgamma(v + 1, 2)
torch.polygamma(1, v)
torch.rsub(a, 1, alpha=2)
torch.signbit(torch.tensor([-0.0, 0.0, -1])).float()
torch.sinc(a)
torch.histc(a, 5)
torch.histc(a, 4, -1, 1)
list(torch.histogram(a, 4))
list(torch.histogram(a, 4, range=(-1.0, 1.0), density=True))
list(torch.mode(torch.tensor([[1, 2, 2, 3], [4, 4, 1, 1]])))
torch.trapz(a)
torch.trapezoid(a, v)
torch.cumulative_trapezoid(a)
a.sum_to_size(1, 4)
a.clone().fill_diagonal_(7)
torch.zeros(7, 3).fill_diagonal_(5, wrap=True)
a[None].clone().squeeze_(0)
a.clone().unsqueeze_(1)
a.clone().t_()
torch.arange(6.0).resize_(2, 2)
a.new(2).shape
a.new([1, 2])
a.clone().eq_(a)
v.clone().lgamma_()
v.clone().cumsum_(0)
a.where(a > 0, b)
a.clone().apply_(lambda x: x * 2)
torch.Tensor([1, 2])
torch.Tensor(2, 3).shape
torch.Tensor().shape
torch.Tensor(np.array([1, 2]))
torch.Tensor(torch.Size([2, 2])).shape
torch.LongTensor([1, 2])
torch.ByteTensor([1, 0])
torch.BoolTensor([1, 0]).float()
a.type()
a.type('torch.LongTensor')
a.type(torch.DoubleTensor)
a.type(torch.int32)
a.long().type()
isinstance(a, torch.FloatTensor), isinstance(a, torch.LongTensor)
isinstance(nn.Parameter(a), torch.Tensor), issubclass(nn.Parameter, torch.Tensor), type(a) == torch.Tensor
a.shape
a.shape.numel()
a.shape[1:]
a.shape[:1] + (2,)
a.size()
a.size(-1)
torch.add(a, b, out=torch.empty(0))
torch.max(a, 1, out=(torch.empty(0), torch.empty(0, dtype=torch.long)))
a.contiguous(memory_format=torch.contiguous_format)
torch.zeros(1, 2, 3, 4).to(memory_format=torch.channels_last).shape
torch.zeros(2, pin_memory=False, layout=torch.strided)
torch.zeros_like(a, memory_format=torch.preserve_format)
F.mse_loss(a, b, size_average=False)
F.mse_loss(a, b, reduce=False)
nn.CrossEntropyLoss(size_average=False)(a, torch.tensor([0, 1, 2]))
F.softmax(a)
F.log_softmax(a)
F.relu_(a.clone())
torch.relu_(a.clone())
F.upsample(torch.arange(4.0).reshape(1, 1, 2, 2), scale_factor=2, mode='bilinear')
torch.layer_norm(a, (4,))
torch.cosine_similarity(a, b)
(torch.inf, torch.pi, torch.e)
a[:, torch.newaxis].shape
(a.dtype, str(a.dtype))
a.is_sparse
torch.autograd.Variable(a, requires_grad=True).requires_grad
torch.is_nonzero(torch.tensor(1.0))
torch.detach(a)
torch.get_float32_matmul_precision()
torch.is_storage(a)
torch.typename(a)
torch.compile(nn.ReLU(), mode='reduce-overhead')(a)
torch.compile(lambda x: x + 1, backend='eager')(a)
torch.tensor([torch.tensor([1.0])])
torch.tensor([np.float32(1), 2.0])
torch.tensor([torch.tensor(1.0), 2.0])
torch.utils._pytree.tree_map(lambda x: x * 2, {'a': [a[0]]})['a']
torch.backends.mps.is_available()
torch.jit.script(nn.ReLU())(a)
torch.no_grad()(lambda x: x)(a)
torch.random.initial_seed.__name__
torch.special.expm1(a)
(hasattr(torch, 'nope'), hasattr(torch.nn, 'Nope'))
torch.frombuffer(bytearray(np.arange(3, dtype=np.float32).tobytes()), dtype=torch.float32)
v.polygamma(1)
a.to(torch.float64).type()
repr(torch.Size([2]))
torch.row_stack([v, v])
torch.device('cpu')
torch.device('cpu').type, torch.device('cpu').index
torch.linalg.cond(sq), torch.linalg.cond(sq, 1), torch.linalg.cond(sq, -2)
torch.linalg.matrix_rank(sq), torch.linalg.matrix_rank(torch.ones(2, 3)), torch.linalg.matrix_rank(sq, atol=3.0)
torch.linalg.lstsq(sq[:, :2], sq[:, 2:]).solution
torch.linalg.lstsq(sq[:2], torch.ones(2, 1)).solution
torch.linalg.inv_ex(sq), torch.linalg.cholesky_ex(sq).L
torch.linalg.cross(i3, i3.flip(1)), torch.linalg.vander(v, N=3)
torch.pdist(a), F.pdist(a, 1)
a.hardshrink(0.5), a.prelu(torch.tensor(0.1)), a.unsafe_chunk(2)
F.lp_pool2d(torch.arange(16.0).view(1, 1, 4, 4), 2, 2), F.lp_pool2d(torch.arange(16.0).view(1, 1, 4, 4), 3, (2, 1), 1)
F.triplet_margin_with_distance_loss(a, b, -b, swap=True)
F.triplet_margin_with_distance_loss(a, b, -a, reduction='none')
torch.cholesky_solve(torch.eye(2), torch.tensor([[2., 0.], [1., 3.]]))
torch.cholesky_solve(torch.eye(2), torch.tensor([[2., 1.], [0., 3.]]), upper=True)
torch.cholesky_inverse(torch.tensor([[2., 0.], [1., 3.]]))
torch.distributions.transform_to(torch.distributions.constraints.interval(1., 3.))(v)
torch.tensor([torch.tensor([1.]), 2])
torch.tensor([torch.tensor(1), 2.5])
torch.tensor([torch.tensor(1., dtype=torch.float64)])
torch.tensor([[np.int32(1), 2], [3, True]])
torch.tensor([np.float64(1), 2])
torch.tensor(np.float32(1))
torch.tensor([True, False]).float()
torch.tensor([(1, 2), [3, 4]])
torch.tensor([torch.tensor(1, dtype=torch.int8), 2])
torch.linalg.lu(sq.flip(0))
torch.linalg.lu_solve(*torch.linalg.lu_factor(sq), torch.eye(3))
torch.linalg.lu_solve(*torch.linalg.lu_factor(sq + i3.T @ i3), torch.ones(2, 3), left=False)
torch.linalg.lu_solve(*torch.linalg.lu_factor(sq.triu()), torch.eye(3), adjoint=True)
torch.linalg.lu_factor(sq.flip(0))
torch.lu_solve(torch.eye(3), *torch.lu(sq.flip(0)))
torch.lu_unpack(*torch.lu(sq.flip(0)))
torch.linalg.lu(torch.stack([sq, sq.flip(0)]))
torch.matrix_exp(sq - 3), torch.linalg.matrix_exp(torch.stack([sq, -sq]).double())
torch.autograd.functional.jacobian(lambda x: torch.matrix_exp(x).sum(0), sq - 3)
torch.autograd.functional.jacobian(lambda x: torch.linalg.lu_factor(x)[0].diagonal(), sq.flip(0))
torch.linalg.vecdot(a, b), torch.linalg.diagonal(a), torch.linalg.matmul(a, b.T), torch.linalg.solve_ex(sq, sq)[0]
torch.linalg.tensorsolve((torch.eye(6) + 0.1).reshape(2, 3, 6), i3)
torch.linalg.tensorinv((torch.eye(6) + 0.1).reshape(2, 3, 6), ind=2)
torch.i0(a), torch.special.i0e(20 * a), torch.special.i1(a), torch.special.i1e(20 * a)
torch.autograd.functional.jacobian(lambda x: torch.special.i0e(x).sum() + torch.special.i1(x).sum(), 3 * a.double())
torch.autograd.functional.jacobian(lambda x: torch.special.i1e(x).sum() + torch.special.i0(x).sum(), a)
torch.gcd(torch.tensor([12, -18, 0, 7]), torch.tensor([18, 12, 5, 0])), torch.tensor([12, 8]).gcd(torch.tensor(6))
torch.lcm(torch.tensor([12, -18, 0, 7]), torch.tensor([18, 12, 5, 0]))
torch.frexp(torch.tensor([1.0, 0.5, 3.7, -1e-30, 0.0, 255.99998]))
torch.nextafter(torch.tensor([1.0, -1.0, 4.0]), torch.tensor([2.0, 0.0, 4.0])) - torch.tensor([1.0, -1.0, 4.0])
torch.gradient(v.square(), spacing=2.0, edge_order=2)
torch.gradient(a.square(), spacing=[2.0, 0.5]), torch.gradient(a[:2], dim=0)
torch.fake_quantize_per_tensor_affine(a, 0.1, 3, -8, 7)
torch.fake_quantize_per_channel_affine(a, torch.tensor([0.1, 0.2, 0.3]), torch.tensor([0, 1, -1]).int(), 0, -4, 7)
torch.autograd.functional.jacobian(lambda x: torch.fake_quantize_per_tensor_affine(x, 0.1, 3, -8, 7).sum(), a)
torch.gradient(v.square(), spacing=(torch.tensor([0.0, 1, 1.5, 4]),))
"""


def text(value):
    if isinstance(value, torch.Tensor):
        numbers = [round(x, 4) + 0.0 for x in value.detach().double().flatten().tolist()]
        return f"{tuple(value.shape)} {value.dtype} {numbers}"
    if isinstance(value, (tuple, list)) and not isinstance(value, torch.Size):
        return "; ".join(text(x) for x in value)
    return repr(value)


for expression in EXPRESSIONS.strip().splitlines():
    print(expression, "->", text(eval(expression)))
